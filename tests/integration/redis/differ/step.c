/* SPDX-License-Identifier: MIT */
#include "redis/differ/step.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define F(name) (1U << FIELD_##name)

static const char *const field_names[FIELD_COUNT] = {
    [FIELD_AT] = "at",           [FIELD_JOB] = "job",           [FIELD_TOKEN] = "token",
    [FIELD_TURN] = "turn",       [FIELD_NEXT] = "next",         [FIELD_TTL] = "ttl",
    [FIELD_ATTEMPT] = "attempt", [FIELD_ATTEMPTS] = "attempts", [FIELD_FENCE] = "fence",
    [FIELD_FRESH] = "fresh",     [FIELD_KEEP] = "keep",         [FIELD_HISTORY] = "history",
    [FIELD_FIRST] = "first",     [FIELD_PRINT] = "print",       [FIELD_LEASE] = "lease",
    [FIELD_OUTCOME] = "outcome", [FIELD_COVERS] = "covers",     [FIELD_DELAY] = "delay",
    [FIELD_CLEAN] = "clean",     [FIELD_VALUE] = "value",       [FIELD_PX] = "px",
};

static const struct kind {
    const char *name;
    uint32_t fields;
} kinds[STEP_KIND_COUNT] = {
    [STEP_CLOCK] = { "clock", F(AT) },
    [STEP_TIME] = { "time", 0 },
    [STEP_ACQUIRE] = { "acquire", F(JOB) | F(TOKEN) | F(TURN) | F(NEXT) | F(TTL) | F(ATTEMPTS) |
                                      F(FENCE) | F(FRESH) | F(KEEP) | F(HISTORY) | F(FIRST) |
                                      F(PRINT) },
    [STEP_RENEW] = { "renew", F(JOB) | F(TOKEN) | F(TTL) | F(TURN) | F(ATTEMPT) | F(FENCE) |
                                  F(LEASE) | F(KEEP) },
    [STEP_FINISH] = { "finish", F(JOB) | F(TOKEN) | F(TURN) | F(ATTEMPT) | F(FENCE) | F(OUTCOME) |
                                    F(COVERS) | F(DELAY) | F(ATTEMPTS) | F(KEEP) | F(HISTORY) |
                                    F(CLEAN) },
    [STEP_LOCK] = { "lock", F(JOB) | F(VALUE) | F(PX) },
    [STEP_UNLOCK] = { "unlock", F(JOB) },
    [STEP_PAUSE] = { "pause", F(JOB) | F(VALUE) },
    [STEP_FORGET] = { "forget", F(JOB) },
    [STEP_FLUSH] = { "flush", 0 },
    [STEP_COMPARE] = { "compare", 0 },
};

void step_print(FILE *file, const struct step *step)
{
    const struct kind *kind = &kinds[step->kind];

    fputs(kind->name, file);
    for (unsigned i = 0; i < FIELD_COUNT; i++)
        if (kind->fields & 1U << i)
            fprintf(file, " %s=%" PRId64, field_names[i], step->field[i]);
    fputc('\n', file);
}

static bool parse_field(char *word, uint32_t allowed, struct step *step)
{
    char *value = strchr(word, '=');

    if (!value)
        return false;
    *value++ = '\0';
    for (unsigned i = 0; i < FIELD_COUNT; i++)
        if ((allowed & 1U << i) && strcmp(word, field_names[i]) == 0) {
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
