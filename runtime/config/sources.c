/* SPDX-License-Identifier: MIT */
#include "config/sources.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define SUFFIX ".conf"

/* A later one overrides an earlier one. */
static const char *const places[] = { "/usr/lib/rota/jobs.d", "/etc/rota/jobs.d",
                                      "/run/rota/jobs.d" };

static bool is_conf(const char *name)
{
    return name[0] != '.' && text_ends_with(name, SUFFIX);
}

static struct source *find(struct sources *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->parts[i].name, name) == 0)
            return &s->parts[i];
    return NULL;
}

static int append(struct sources *s, const char *name, char *path)
{
    struct source *parts = realloc(s->parts, (s->count + 1) * sizeof(*parts));

    if (!parts)
        return -ENOMEM;
    s->parts = parts;
    parts[s->count].name = strdup(name);
    if (!parts[s->count].name)
        return -ENOMEM;
    parts[s->count++].path = path;
    return 0;
}

static int put(struct sources *s, const char *folder, const char *name)
{
    struct source *same = find(s, name);
    char *path = text_print("%s/%s", folder, name);

    if (!path)
        return -ENOMEM;
    if (same) {
        free(same->path);
        same->path = path;
        return 0;
    }
    if (append(s, name, path) < 0) {
        free(path);
        return -ENOMEM;
    }
    return 0;
}

/* Where a file or folder lies that is named with the root in front. NULL: for want of memory. */
static char *find_named(struct reading *r, const char *name)
{
    return reading_path(r, name + strlen(r->root));
}

static void note_unread(struct reading *r, const char *folder, const char *why)
{
    r->file = folder;
    reading_problem(r, PROBLEM_ERROR, 0, "this folder cannot be read: %s", why);
}

static int add_folder(struct reading *r, struct sources *s, const char *folder)
{
    CLEANUP_FREE char *path = find_named(r, folder);
    const struct dirent *e;
    int error = 0;
    DIR *d;

    if (!path)
        return -ENOMEM;
    if (r->root[0] != '\0' && strcmp(path, r->root) == 0) {
        note_unread(r, folder, "its links lead nowhere");
        return 0;
    }
    d = opendir(path);
    if (!d) {
        if (errno != ENOENT)
            note_unread(r, folder, strerror(errno));
        return 0;
    }
    while (error == 0 && (e = readdir(d)))
        if (is_conf(e->d_name))
            error = put(s, folder, e->d_name);
    closedir(d);
    return error;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct source *)a)->name, ((const struct source *)b)->name);
}

/* A tree of another device has perhaps no /dev. */
static bool is_masked(struct reading *r, const char *name)
{
    CLEANUP_FREE char *path = find_named(r, name);
    struct stat st;

    if (!path)
        return false;
    if (strcmp(path + strlen(r->root), "/dev/null") == 0)
        return true;
    return stat(path, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static void source_done(struct source *s)
{
    free(s->name);
    free(s->path);
}

static void drop_masked(struct reading *r, struct sources *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (is_masked(r, s->parts[i].path))
            source_done(&s->parts[i]);
        else
            s->parts[kept++] = s->parts[i];
    }
    s->count = kept;
}

static int add_places(struct reading *r, struct sources *s)
{
    int error = 0;

    s->main_file = text_print("%s/etc/rota/rotad.conf", r->root);
    for (size_t i = 0; error == 0 && i < sizeof(places) / sizeof(places[0]); i++) {
        CLEANUP_FREE char *folder = text_print("%s%s", r->root, places[i]);

        error = folder ? add_folder(r, s, folder) : -ENOMEM;
    }
    return s->main_file ? error : -ENOMEM;
}

static int add_beside(struct reading *r, struct sources *s, const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *top = r->root[0] != '\0' && file[0] != '/' ? "/" : "";
    CLEANUP_FREE char *folder =
        text_print("%s%s%.*sjobs.d", r->root, top, slash ? (int)(slash - file) + 1 : 0, file);

    s->main_file = text_print("%s%s%s", r->root, top, file);
    if (!folder || !s->main_file)
        return -ENOMEM;
    return add_folder(r, s, folder);
}

int sources_find(struct reading *r, const char *file, struct sources *ret_sources)
{
    struct sources s = { 0 };
    int error = file ? add_beside(r, &s, file) : add_places(r, &s);

    if (error < 0) {
        sources_done(&s);
        return error;
    }
    if (s.count > 0)
        qsort(s.parts, s.count, sizeof(*s.parts), by_name);
    drop_masked(r, &s);
    *ret_sources = s;
    return 0;
}

void sources_done(struct sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        source_done(&s->parts[i]);
    free(s->parts);
    free(s->main_file);
    *s = (struct sources){ 0 };
}
