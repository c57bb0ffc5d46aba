/* SPDX-License-Identifier: MIT */
#include "config/zones.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "config/trust.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define ZONEINFO "/usr/share/zoneinfo"
/* The largest zone of a tzdata with all that it can hold is 4 KiB. */
#define ZONE_BYTES_MAX ((size_t)64 * 1024)
#define ZONE_NAME_SIZE 65
/* What "did you mean" looks at: more than any tzdata has. */
#define FOLDERS_MAX 64
#define ENTRIES_MAX 4000

struct search {
    const char *word;
    char folders[FOLDERS_MAX][ZONE_NAME_SIZE]; /* below ZONEINFO, still to be looked at */
    size_t folder_count, entry_count;
    char best[ZONE_NAME_SIZE]; /* "": none yet */
    bool same_city;            /* best ends in the word itself, so that none is better */
};

/* What trust_read() said of a path. */
struct unread {
    const char *path;
    int error;
    char why[TRUST_WHY_SIZE];
};

#define ZONE_ADVICE "; write such as \"Europe/Berlin\", or \"UTC\""

/* "CEST" or "UTC+2": whatever is a letter away from it is another zone, and not what is meant. */
static bool is_abbreviation(const char *word)
{
    return word[strcspn(word, "/abcdefghijklmnopqrstuvwxyz")] == '\0';
}

/* "Berlin" and "berlin" mean Europe/Berlin, however many letters that is away. */
static void consider(struct search *s, const char *name)
{
    const char *candidates[] = { name, s->best }, *slash = strrchr(name, '/'), *nearest;

    if (s->same_city)
        return;
    s->same_city = slash && strcasecmp(slash + 1, s->word) == 0;
    if (!s->same_city && is_abbreviation(s->word))
        return;
    nearest = s->same_city ? name : text_nearest(s->word, candidates, s->best[0] != '\0' ? 2 : 1);
    if (nearest == name)
        text_copy(s->best, sizeof(s->best), name);
}

/* Copies of all zones, which nobody means. */
static bool is_copy(const char *name)
{
    return strcmp(name, "posix") == 0 || strcmp(name, "right") == 0;
}

static void look_at(struct search *s, const char *folder, const char *path, const char *entry)
{
    char name[ZONE_NAME_SIZE], full[PATH_MAX];
    struct stat st;

    if (entry[0] == '.' || is_copy(entry) ||
        !text_format(name, sizeof(name), "%s%s%s", folder, folder[0] != '\0' ? "/" : "", entry) ||
        !text_format(full, sizeof(full), "%s/%s", path, entry) || lstat(full, &st) < 0)
        return;
    if (!S_ISDIR(st.st_mode))
        consider(s, name);
    else if (s->folder_count < FOLDERS_MAX)
        text_copy(s->folders[s->folder_count++], ZONE_NAME_SIZE, name);
}

static void search_folder(struct search *s, const char *zoneinfo, const char *folder)
{
    char path[PATH_MAX];
    const struct dirent *e;
    DIR *d;

    if (!text_format(path, sizeof(path), "%s/%s", zoneinfo, folder) || !(d = opendir(path)))
        return;
    while (s->entry_count++ < ENTRIES_MAX && (e = readdir(d)))
        look_at(s, folder, path, e->d_name);
    closedir(d);
}

static char *say_absent(const char *zoneinfo, const char *name)
{
    struct search s = { .word = name, .folder_count = 1 };
    struct stat st;

    if (stat(zoneinfo, &st) < 0)
        return text_print(", but there is no %s; install the package tzdata, or write timezone = "
                          "\"UTC\"",
                          zoneinfo);
    for (size_t i = 0; i < s.folder_count; i++)
        search_folder(&s, zoneinfo, s.folders[i]);
    if (s.best[0] == '\0')
        return text_print(", and there is no such zone in %s" ZONE_ADVICE, zoneinfo);
    return text_print(", and there is no such zone in %s; did you mean \"%s\"?", zoneinfo, s.best);
}

static char *say_unusable(const char *path, int error)
{
    if (error == -ENOTSUP)
        return text_print(", and %s is not used: it counts leap seconds, which the system's clock "
                          "does not; write the zone's name without \"right/\", such as "
                          "\"Europe/Berlin\"",
                          path);
    return text_print(", and %s is not used: it is damaged, or no zone file of version 2 or later; "
                      "install the package tzdata anew, or write another zone",
                      path);
}

/* NULL where the zone's file is no link, or its link is not what is wrong; or where memory runs
 * out. A path that leads round in a circle is resolved to the root itself. */
static char *say_link(const struct reading *r, const char *path, const char *file, int error)
{
    bool circle = error == -ELOOP || (r->root[0] != '\0' && strcmp(path, r->root) == 0);
    struct stat st;

    if (lstat(file, &st) < 0 || !S_ISLNK(st.st_mode) || (!circle && error != -ENOENT))
        return NULL;
    return text_print(", and %s is a link %s; install the package tzdata anew, or write another "
                      "zone",
                      file, circle ? "that leads back to itself" : "to a file that is not there");
}

/* Why the zone's file, which was looked for at `path`, could not be read; NULL where memory runs
 * out. */
static char *say_unread(const struct reading *r, const char *zoneinfo, const char *name,
                        const struct unread *u)
{
    CLEANUP_FREE char *file = text_print("%s/%s", zoneinfo, name);
    struct stat st;
    char *why;

    if (!file)
        return NULL;
    why = say_link(r, u->path, file, u->error);
    if (why)
        return why;
    if (u->error == -ENOENT || u->error == -ENOTDIR)
        return say_absent(zoneinfo, name);
    if (stat(u->path, &st) == 0 && S_ISDIR(st.st_mode))
        return text_print(", and %s is a folder of zones" ZONE_ADVICE, u->path);
    return text_print(", and %s is not used: %s", u->path, u->why);
}

/* Sets z->bytes, or z->why; neither where memory runs out. */
static void read_zone(struct reading *r, struct config_zone *z)
{
    CLEANUP_FREE char *zoneinfo = reading_path(r, ZONEINFO);
    CLEANUP_FREE char *named = text_print(ZONEINFO "/%s", z->name);
    CLEANUP_FREE char *path = named ? reading_path(r, named) : NULL;
    struct unread unread = { .path = path };
    struct trust_text file = { 0 };
    uint8_t *bytes;
    int error;

    if (!zoneinfo || !path)
        return;
    error = trust_read(path, &(struct trust_rule){ r->root, ZONE_BYTES_MAX, TRUST_ANYBODY }, &file,
                       unread.why);
    unread.error = error;
    if (error < 0 && error != -ENOMEM)
        z->why = say_unread(r, zoneinfo, z->name, &unread);
    if (error < 0)
        return;
    /* trust_read's buffer has room for the largest file. */
    bytes = malloc(file.size + 1);
    if (bytes)
        memcpy(bytes, file.text, file.size);
    free(file.text);
    error = bytes ? zone_parse(bytes, file.size, &z->zone) : 0;
    if (error < 0) {
        z->why = say_unusable(path, error);
        free(bytes);
        return;
    }
    z->bytes = bytes;
}

static void zone_free(struct config_zone *z)
{
    free(z->name);
    free(z->bytes);
    free(z->why);
    free(z);
}

static struct config_zone *add(struct reading *r, const char *name)
{
    struct config_zone *z = calloc(1, sizeof(*z));

    if (z)
        z->name = reading_copy(r, name);
    if (z && z->name)
        read_zone(r, z);
    if (!z || (!z->bytes && !z->why)) {
        r->no_memory = true;
        if (z)
            zone_free(z);
        return NULL;
    }
    z->next = r->config->zones;
    r->config->zones = z;
    return z;
}

static struct config_zone *find(struct reading *r, const char *name)
{
    for (struct config_zone *z = r->config->zones; z; z = z->next)
        if (strcmp(z->name, name) == 0)
            return z;
    return add(r, name);
}

void zones_settle(struct reading *r, int line)
{
    struct job_config *job = r->job;
    const struct config_zone *z;
    const char *name = job->timezone;

    if (!name || strcmp(name, "UTC") == 0)
        return;
    if (name[0] == '/' || name[strlen(name) - 1] == '/') {
        reading_problem(r, PROBLEM_ERROR, line,
                        "timezone is \"%s\", which is no zone's name; write such as "
                        "\"Europe/Berlin\", or \"UTC\"",
                        name);
        return;
    }
    z = find(r, name);
    if (z && z->why)
        reading_problem(r, PROBLEM_ERROR, line, "timezone is \"%s\"%s", name, z->why);
    else if (z)
        job->spec.schedule.zone = &z->zone;
}

void zones_free(struct config *c)
{
    while (c->zones) {
        struct config_zone *next = c->zones->next;

        zone_free(c->zones);
        c->zones = next;
    }
}
