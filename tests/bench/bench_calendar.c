/* SPDX-License-Identifier: MIT
 * bench_calendar [BOUND]: what the next turn and the latest one cost, in µs of processor time: for
 * each expression the dearest of many instants, in the dearest zone. Each instant's cost is the
 * median of repeated batches, so that what else the machine does is not counted. Fails where one is
 * over BOUND. */
#include "core/calendar.h"
#include "core/date.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define BATCHES 5
#define CALLS 40
#define INSTANTS 48
#define FILE_MAX 65536

typedef struct wall (*calendar_function)(const struct cron *, const struct zone *, struct wall);

static const char *const expressions[] = {
    "* * * * *",
    "*/5 * * * *",
    "30 2 * * *",
    "30 2 * * 1-5",
    "1,2,3,57,58,59 * * * *",
    "0-59/7 1,13 */3 * *",
    "0 0 31 * *",
    "0 0 29 2 *",
    "0 0 29 2 */7",
    "59 23 31 12 *",
    "0 0 1 1 *",
    "0 0 13 * 5",
    "30 * 29 3 */7",
    "0 2 25-31 3 */7",
    "0 0 30 1,3,5 */6",
};

/* Four changes a year in the file up to 2087, and then none; a rule with two; one change ever; UTC.
 */
static const char *const zones[] = { "Africa/Casablanca", "Europe/Berlin", "Pacific/Apia", "UTC" };

struct place {
    uint8_t bytes[FILE_MAX];
    struct zone zone;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const int64_t *first = a, *second = b;

    return *first < *second ? -1 : *first > *second;
}

/* Nanoseconds of one call. */
static int64_t cost(calendar_function f, const struct cron *c, const struct zone *zone,
                    struct wall at)
{
    int64_t batches[BATCHES], sum = 0;

    for (int i = 0; i < BATCHES; i++) {
        int64_t begin = now_ns();

        for (int n = 0; n < CALLS; n++)
            sum += f(c, zone, at).ms;
        batches[i] = (now_ns() - begin) / CALLS;
    }
    /* The result is used, so that no call may be left out. */
    if (sum == 1)
        puts("");
    qsort(batches, BATCHES, sizeof(batches[0]), compare);
    return batches[BATCHES / 2];
}

/* Over 1971 to 2109, in steps that hit every season. */
static int64_t dearest(calendar_function f, const struct cron *c, const struct place *places)
{
    int64_t worst = 0;

    for (size_t z = 0; z < COUNT_OF(zones); z++)
        for (int i = 0; i < INSTANTS; i++) {
            struct wall at = { (date_month(1971, 1) + i * INT64_C(1051)) * 86400000 + i * 7000003 };
            int64_t ns = cost(f, c, &places[z].zone, at);

            worst = ns > worst ? ns : worst;
        }
    return worst;
}

static int read_zone(const char *name, struct place *p)
{
    char path[128];
    size_t size;
    FILE *file;

    snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
    file = fopen(path, "rbe");
    if (!file) {
        fprintf(stderr, "%s is not there; install tzdata\n", path);
        return -1;
    }
    size = fread(p->bytes, 1, sizeof(p->bytes), file);
    fclose(file);
    return zone_parse(p->bytes, size, &p->zone);
}

static int64_t show(const char *expression, const struct place *places)
{
    struct cron c;
    char why[CRON_WHY_SIZE];
    int64_t next, latest;

    if (cron_parse(expression, &c, why) < 0) {
        fprintf(stderr, "%s: %s\n", expression, why);
        return INT64_MAX;
    }
    next = dearest(calendar_next, &c, places);
    latest = dearest(calendar_latest, &c, places);
    printf("%-26s %6" PRId64 ".%02" PRId64 " %6" PRId64 ".%02" PRId64 "\n", expression, next / 1000,
           next % 1000 / 10, latest / 1000, latest % 1000 / 10);
    return next > latest ? next : latest;
}

int main(int argc, char *argv[])
{
    static struct place places[COUNT_OF(zones)];
    int64_t bound_ns = argc > 1 ? strtoll(argv[1], NULL, 10) * 1000 : INT64_MAX, worst = 0;

    for (size_t z = 0; z < COUNT_OF(zones); z++)
        if (read_zone(zones[z], &places[z]) < 0)
            return EXIT_FAILURE;
    printf("%-26s %9s %9s\n", "at most, in us", "next", "latest");
    for (size_t i = 0; i < COUNT_OF(expressions); i++) {
        int64_t ns = show(expressions[i], places);

        worst = ns > worst ? ns : worst;
    }
    if (worst <= bound_ns)
        return EXIT_SUCCESS;
    printf("over the bound of %" PRId64 " us\n", bound_ns / 1000);
    return EXIT_FAILURE;
}
