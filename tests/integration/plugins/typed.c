/* SPDX-License-Identifier: MIT
 * A plugin with a parameter of each type, which prints them. */
#include <rota/plugin.h>

static const struct rota_param params[] = {
    { .name = "text", .type = ROTA_STRING, .min = "2", .max = "8" },
    { .name = "mode", .type = ROTA_STRING, .def = "fast", .choices = "fast|slow" },
    { .name = "where", .type = ROTA_STRING, .flags = ROTA_PATH },
    { .name = "count", .type = ROTA_INTEGER, .flags = ROTA_REQUIRED, .min = "1", .max = "10" },
    { .name = "ratio", .type = ROTA_NUMBER, .def = "0.5", .max = "1" },
    { .name = "really", .type = ROTA_BOOLEAN, .def = "true" },
    { .name = "wait", .type = ROTA_DURATION, .def = "1m30s", .min = "1s", .max = "1h" },
    { .name = "room", .type = ROTA_SIZE, .def = "64KiB", .max = "1GiB" },
    { .name = "names", .type = ROTA_STRINGS, .def = "[ \"a\", \"b c\" ]", .max = "3" },
    { .name = "password", .type = ROTA_STRING, .flags = ROTA_SECRET, .max = "4" },
    { .name = "hidden", .type = ROTA_DURATION, .flags = ROTA_SECRET, .max = "1h" },
    { .name = NULL },
};

static int run(const struct rota_run *r)
{
    const char *text = rota_string(r, "text"), *where = rota_string(r, "where");

    printf("text=%s mode=%s where=%s count=%lld ratio=%.3f really=%d wait=%lld room=%lld set=%d%d",
           text ? text : "-", rota_string(r, "mode"), where ? where : "-",
           (long long)rota_integer(r, "count"), rota_number(r, "ratio"), rota_boolean(r, "really"),
           (long long)rota_duration_ms(r, "wait"), (long long)rota_size_bytes(r, "room"),
           rota_is_set(r, "text"), rota_is_set(r, "mode"));
    for (const char *const *at = rota_strings(r, "names"); *at; at++)
        printf(" names=%s", *at);
    printf("\n");
    return ROTA_SUCCEEDED;
}

ROTA_PLUGIN(.name = "typed", .version = "1", .summary = "Types.", .params = params, .run = run);
