/* SPDX-License-Identifier: MIT
 * calendar_tool ZONEINFO: the calendar under a test's hand. Reads lines of expression, zone,
 * instant and a second instant, with tabs between them, and answers each with a line: the next turn
 * after the instant, the newest at or before it, how many lie in (first, second], all in Unix
 * milliseconds; or "error: " and a sentence part. */
#include "core/calendar.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 4

struct place {
    uint8_t *bytes; /* of the zone that was read last */
    char name[128];
    struct zone zone;
};

static int read_file(const char *path, uint8_t **ret_bytes, size_t *ret_size)
{
    enum { ROOM = 1 << 20 };
    FILE *file = fopen(path, "rbe");
    uint8_t *bytes;

    if (!file)
        return -errno;
    bytes = malloc(ROOM);
    if (!bytes) {
        fclose(file);
        return -ENOMEM;
    }
    *ret_size = fread(bytes, 1, ROOM, file);
    *ret_bytes = bytes;
    fclose(file);
    return 0;
}

static int read_zone(struct place *p, const char *folder, const char *name)
{
    char path[512];
    size_t size = 0;
    int r;

    if (p->bytes && strcmp(p->name, name) == 0)
        return 0;
    free(p->bytes);
    p->bytes = NULL;
    snprintf(p->name, sizeof(p->name), "%s", name);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    r = read_file(path, &p->bytes, &size);
    if (r < 0)
        return r;
    r = zone_parse(p->bytes, size, &p->zone);
    if (r < 0) {
        free(p->bytes);
        p->bytes = NULL;
    }
    return r;
}

static void answer(struct place *p, const char *folder, char *fields[FIELDS])
{
    struct wall at = { strtoll(fields[2], NULL, 10) }, until = { strtoll(fields[3], NULL, 10) };
    struct cron cron;
    char why[CRON_WHY_SIZE];
    int r;

    if (cron_parse(fields[0], &cron, why) < 0) {
        printf("error: %s\n", why);
        return;
    }
    r = read_zone(p, folder, fields[1]);
    if (r < 0) {
        printf("error: %s: %s\n", fields[1], strerror(-r));
        return;
    }
    printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", calendar_next(&cron, &p->zone, at).ms,
           calendar_latest(&cron, &p->zone, at).ms, calendar_count(&cron, &p->zone, at, until));
}

int main(int argc, char *argv[])
{
    struct place place = { 0 };
    char line[1024];

    if (argc != 2) {
        fprintf(stderr, "usage: %s ZONEINFO\n", argv[0]);
        return EXIT_FAILURE;
    }
    while (fgets(line, sizeof(line), stdin)) {
        char *fields[FIELDS], *rest = line;

        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < FIELDS; i++)
            fields[i] = strsep(&rest, "\t");
        if (!fields[FIELDS - 1]) {
            fprintf(stderr, "not four fields\n");
            return EXIT_FAILURE;
        }
        answer(&place, argv[1], fields);
    }
    free(place.bytes);
    return EXIT_SUCCESS;
}
