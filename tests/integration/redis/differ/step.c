/* SPDX-License-Identifier: MIT */
#include "redis/differ/step.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define F(name) (UINT64_C(1) << FIELD_##name)

static const char *const field_names[FIELD_COUNT] = {
    [FIELD_AT] = "at",
    [FIELD_JOB] = "job",
    [FIELD_SCOPE] = "scope",
    [FIELD_DEVICE] = "device",
    [FIELD_BOOT] = "boot",
    [FIELD_TOKEN] = "token",
    [FIELD_TURN] = "turn",
    [FIELD_NEXT] = "next",
    [FIELD_TTL] = "ttl",
    [FIELD_ATTEMPT] = "attempt",
    [FIELD_ATTEMPTS] = "attempts",
    [FIELD_FENCE] = "fence",
    [FIELD_FRESH] = "fresh",
    [FIELD_KEEP] = "keep",
    [FIELD_HISTORY] = "history",
    [FIELD_FIRST] = "first",
    [FIELD_CONFIG] = "config",
    [FIELD_PRINT] = "print",
    [FIELD_VERSION] = "version",
    [FIELD_MOST] = "most",
    [FIELD_BRAKE] = "brake",
    [FIELD_LEASE] = "lease",
    [FIELD_OUTCOME] = "outcome",
    [FIELD_COVERS] = "covers",
    [FIELD_DELAY] = "delay",
    [FIELD_CLEAN] = "clean",
    [FIELD_DETAIL] = "detail",
    [FIELD_WEIGHT] = "weight",
    [FIELD_DIGEST] = "digest",
    [FIELD_JOBS] = "jobs",
    [FIELD_VALUE] = "value",
    [FIELD_PX] = "px",
    [FIELD_CATCH_UP] = "catch_up",
};

#define RUN (F(JOB) | F(SCOPE) | F(DEVICE) | F(BOOT) | F(TOKEN) | F(TURN) | F(KEEP) | F(FENCE))
#define JOB (F(ATTEMPTS) | F(HISTORY) | F(VERSION) | F(BRAKE))

static const struct kind {
    const char *name;
    uint64_t fields;
} kinds[STEP_KIND_COUNT] = {
    [STEP_CLOCK] = { "clock", F(AT) },
    [STEP_TIME] = { "time", 0 },
    [STEP_ACQUIRE] = { "acquire", RUN | JOB | F(NEXT) | F(TTL) | F(FRESH) | F(FIRST) | F(CONFIG) |
                                      F(PRINT) | F(MOST) },
    [STEP_RENEW] = { "renew", RUN | F(TTL) | F(ATTEMPT) | F(LEASE) | F(MOST) },
    [STEP_FINISH] = { "finish", RUN | JOB | F(ATTEMPT) | F(OUTCOME) | F(COVERS) | F(DELAY) |
                                    F(CLEAN) | F(DETAIL) | F(LEASE) },
    [STEP_HELLO] = { "hello", F(DEVICE) | F(BOOT) | F(WEIGHT) | F(DIGEST) | F(JOBS) | F(KEEP) },
    [STEP_INDEX] = { "index", F(JOB) | F(TURN) | F(KEEP) },
    [STEP_CONFIG_GET] = { "config_get", F(DIGEST) },
    [STEP_CONFIG_PUT] = { "config_put", F(DIGEST) | F(VALUE) | F(KEEP) },
    [STEP_PAUSE] = { "pause", F(JOB) | F(VALUE) | F(PX) },
    [STEP_RESUME] = { "resume", F(JOB) | F(CATCH_UP) },
    [STEP_LOCK] = { "lock", F(JOB) | F(VALUE) | F(PX) },
    [STEP_UNLOCK] = { "unlock", F(JOB) },
    [STEP_LAYOUT] = { "layout", F(JOB) | F(VALUE) },
    [STEP_FORGET] = { "forget", F(JOB) },
    [STEP_FLUSH] = { "flush", 0 },
    [STEP_COMPARE] = { "compare", 0 },
};

void step_print(FILE *file, const struct step *step)
{
    const struct kind *kind = &kinds[step->kind];

    fputs(kind->name, file);
    for (unsigned i = 0; i < FIELD_COUNT; i++)
        if ((kind->fields & UINT64_C(1) << i) && step->field[i] != 0)
            fprintf(file, " %s=%" PRId64, field_names[i], step->field[i]);
    fputc('\n', file);
}

static bool parse_field(char *word, uint64_t allowed, struct step *step)
{
    char *value = strchr(word, '=');

    if (!value)
        return false;
    *value++ = '\0';
    for (unsigned i = 0; i < FIELD_COUNT; i++)
        if ((allowed & UINT64_C(1) << i) && strcmp(word, field_names[i]) == 0) {
            char *end;

            step->field[i] = strtoll(value, &end, 10);
            return end != value && !*end;
        }
    return false;
}

bool step_parse(char *line, struct step *ret_step)
{
    char *rest, *word = strtok_r(line, " \n", &rest);
    struct step step = { 0 };
    unsigned kind = 0;

    while (word && kind < STEP_KIND_COUNT && strcmp(word, kinds[kind].name) != 0)
        kind++;
    if (!word || kind == STEP_KIND_COUNT)
        return false;
    step.kind = (enum step_kind)kind;
    while ((word = strtok_r(NULL, " \n", &rest)))
        if (!parse_field(word, kinds[kind].fields, &step))
            return false;
    *ret_step = step;
    return true;
}
