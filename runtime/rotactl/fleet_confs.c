/* SPDX-License-Identifier: MIT */
#include "rotactl/fleet_confs.h"
#include "base/text.h"
#include "rotactl/output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As many as Redis keeps; more digests are rubbish. */
#define DIGESTS_MAX 64
/* Of a text that was perhaps cut, since no more is told. */
#define TEXT_BYTES 32000
#define TEXT_LINES 1000
/* Before a line that says when a job is due. */
#define SCHEDULE '@'

/* --- a line --- */

/* Cuts the word off that *at begins with, and moves behind it; NULL: there is none. */
static char *cut_word(char **at)
{
    char *word = *at;
    size_t length = strcspn(word, " ");

    if (length == 0)
        return NULL;
    *at += length;
    if (**at)
        *(*at)++ = '\0';
    return word;
}

/* False: it is none. */
static bool read_line(struct fleet_line *line)
{
    char *at = line->text;

    line->key = cut_word(&at);
    if (line->key && line->key[0] == SCHEDULE) {
        line->schedule = at;
        return *at && text_is_job_name(line->key + 1);
    }
    line->fingerprint = line->key ? cut_word(&at) : NULL;
    line->kind = at;
    return line->fingerprint && *at && text_is_job_name(line->key);
}

static int add_line(struct fleet_confs *f, const char *text, const struct fleet_tally *digest)
{
    struct fleet_line line = { .digest = digest->text, .devices = digest->devices };
    void *lines = f->lines;
    int rc = kept_grow(&lines, f->count, sizeof *f->lines);

    f->lines = lines;
    if (rc < 0)
        return rc;
    line.text = strdup(text);
    if (!line.text)
        return -ENOMEM;
    if (read_line(&line))
        f->lines[f->count++] = line;
    else
        free(line.text);
    return 0;
}

static int read_lines(sd_bus_message *m, struct fleet_confs *f, const struct fleet_tally *digest)
{
    const char *word, *text;
    size_t bytes = 0, count = 0;
    int64_t now_ms;
    int rc = sd_bus_message_read(m, "sx", &word, &now_ms);

    if (rc > 0)
        rc = sd_bus_message_enter_container(m, 'a', "s");
    while (rc > 0 && (rc = sd_bus_message_read_basic(m, 's', &text)) > 0) {
        bytes += strlen(text) + 1;
        count++;
        rc = add_line(f, text, digest);
        if (rc < 0)
            return rc;
        rc = 1;
    }
    if (count == 0 || count >= TEXT_LINES || bytes >= TEXT_BYTES)
        f->whole = false;
    return rc;
}

/* --- all of them --- */

static const char *digest_of(const struct fleet_device *device)
{
    return device->digest;
}

/* As rota writes it, or a later version. */
static bool is_digest(const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

    return text[strspn(text, plain)] == '\0';
}

/* What somebody has damaged is passed over. 0, an exit status, or -ENOMEM. */
static int ask_lines(struct call *c, struct kept *k, struct fleet_confs *f,
                     const struct fleet_tally *digest)
{
    sd_bus_message *m = NULL;
    char why[CALL_WHY_SIZE];
    int rc = -ENODATA;

    if (is_digest(digest->text))
        rc = call_try(c, &m, why, "FleetConfig", "s", digest->text);
    if (rc == -ENODATA)
        f->whole = false;
    if (rc != 0)
        return rc == -ENODATA ? 0 : rc;
    rc = kept_add(k, m);
    if (rc >= 0)
        rc = read_lines(m, f, digest);
    return rc == -ENOMEM ? rc : rc < 0 ? call_say_odd(c) : 0;
}

/* The lines of schedules behind the others, and of one job by fingerprint. */
static int by_key(const void *a, const void *b)
{
    const struct fleet_line *one = a, *other = b;
    bool late = one->key[0] == SCHEDULE, other_late = other->key[0] == SCHEDULE;
    int order = (int)late - (int)other_late;

    if (order == 0)
        order = strcmp(one->key, other->key);
    return order != 0 || late ? order : strcmp(one->fingerprint, other->fingerprint);
}

/* Gives each job's line the schedule that the same configuration has of it, and forgets the lines
 * that say only that. */
static void join_schedules(struct fleet_confs *f)
{
    size_t jobs = 0;

    while (jobs < f->count && f->lines[jobs].key[0] != SCHEDULE)
        jobs++;
    for (size_t i = 0, from = jobs; i < jobs; i++) {
        struct fleet_line *line = &f->lines[i];

        while (from < f->count && strcmp(f->lines[from].key + 1, line->key) < 0)
            from++;
        for (size_t j = from; j < f->count && strcmp(f->lines[j].key + 1, line->key) == 0; j++)
            if (strcmp(f->lines[j].digest, line->digest) == 0)
                line->schedule = f->lines[j].schedule;
    }
}

/* One of each key and fingerprint. */
static int make_confs(struct fleet_confs *f)
{
    struct fleet_conf *last = NULL;

    f->confs = calloc(f->count + 1, sizeof *f->confs);
    if (!f->confs)
        return -ENOMEM;
    for (size_t i = 0; i < f->count && f->lines[i].key[0] != SCHEDULE; i++) {
        const struct fleet_line *line = &f->lines[i];

        if (!last || strcmp(last->key, line->key) != 0 ||
            strcmp(last->fingerprint, line->fingerprint) != 0) {
            last = &f->confs[f->conf_count++];
            *last = (struct fleet_conf){ .key = line->key,
                                         .fingerprint = line->fingerprint,
                                         .kind = line->kind };
        }
        if (!last->schedule)
            last->schedule = line->schedule;
        last->devices += line->devices;
    }
    return 0;
}

/* Of one job, the commonest first. */
static int by_devices(const void *a, const void *b)
{
    const struct fleet_conf *one = a, *other = b;
    int order = strcmp(one->key, other->key);

    if (order == 0)
        order = (one->devices < other->devices) - (one->devices > other->devices);
    return order != 0 ? order : strcmp(one->fingerprint, other->fingerprint);
}

int fleet_confs_ask(struct call *c, struct kept *k, const struct fleet_devices *d,
                    struct fleet_confs *f)
{
    int rc = fleet_devices_tally(d, digest_of, &f->digests, &f->digest_count);

    f->whole = f->digest_count > 0 && f->digest_count <= DIGESTS_MAX;
    for (size_t i = 0; i < f->digest_count && i < DIGESTS_MAX && rc == 0; i++)
        rc = ask_lines(c, k, f, &f->digests[i]);
    if (rc == 0 && f->count > 0) {
        qsort(f->lines, f->count, sizeof *f->lines, by_key);
        join_schedules(f);
    }
    if (rc == 0)
        rc = make_confs(f);
    if (rc == 0 && f->conf_count > 0)
        qsort(f->confs, f->conf_count, sizeof *f->confs, by_devices);
    return rc == -ENOMEM ? output_say_no_memory() : rc;
}

void fleet_confs_done(struct fleet_confs *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->lines[i].text);
    free(f->lines);
    free(f->digests);
    free(f->confs);
    *f = (struct fleet_confs){ 0 };
}

size_t fleet_confs_find(const struct fleet_confs *f, const char *key,
                        const struct fleet_conf **ret_first)
{
    size_t first = 0, count = 0;

    while (first < f->conf_count && strcmp(f->confs[first].key, key) != 0)
        first++;
    while (first + count < f->conf_count && strcmp(f->confs[first + count].key, key) == 0)
        count++;
    *ret_first = count > 0 ? &f->confs[first] : NULL;
    return count;
}

bool fleet_confs_has(const struct fleet_confs *f, const char *key, const char *digest)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->lines[i].digest, digest) == 0 && strcmp(f->lines[i].key, key) == 0)
            return true;
    return false;
}
