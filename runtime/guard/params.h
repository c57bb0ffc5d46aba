/* SPDX-License-Identifier: MIT
 * guard/params.h: the values that a conf file or a command line gave, read by the types that a
 * plugin declares. */
#ifndef ROTA_GUARD_PARAMS_H
#define ROTA_GUARD_PARAMS_H
#include "guard/loader.h"
#include "ipc/messages.h"
#include <stdbool.h>

/* What is wrong, in the order in which it was found. Those past the last place are not kept. */
struct problems {
    uint32_t count;
    int32_t param[PROBE_ERRORS_MAX]; /* index into the given values; -1: none of them */
    char text[PROBE_ERRORS_MAX][SENTENCE_SIZE];
};

void problems_add(struct problems *problems, int32_t param, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One declared parameter's value. */
struct value {
    bool set; /* given, or by its default */
    union {
        const char *string;
        const char *const *strings; /* ends with NULL */
        int64_t integer;            /* ROTA_BOOLEAN: 0 or 1; ROTA_DURATION: ms; ROTA_SIZE: bytes */
        double number;
    };
};

struct params {
    const struct plugin *plugin;
    struct value *values; /* one a declared parameter */
    char **blocks;        /* what the texts of a default list stand in, or NULL */
};

/* Binds the given values and the defaults. `loose`: values come from a command line, where
 * everything is text. Texts stay the giver's and must outlive the result. 0, -EINVAL with problems,
 * -ENOMEM. The result is freed by params_done() in every case. */
int params_bind(struct params *p, const struct plugin *plugin, const struct message_probe *given,
                bool loose, struct problems *problems);
void params_done(struct params *p);

/* The value of a declared parameter, or NULL where the name was not declared by that type (0: any
 * type). */
const struct value *params_find(const struct params *p, const char *name, uint32_t type);

/* "string", "duration" ...: as people read it. */
const char *params_type_name(uint32_t type);
/* "required" ... of one bit; NULL: it has no meaning. Bits with one have no gaps from 1 on. */
const char *params_flag_name(uint32_t flag);
#endif
