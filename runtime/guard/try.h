/* SPDX-License-Identifier: MIT
 * guard/try.h: `rota-guard --try FILE name=value…`: one run from a shell, with a worker and a guard
 * as in production but without a lock. */
#ifndef ROTA_GUARD_TRY_H
#define ROTA_GUARD_TRY_H
#include <stdint.h>

/* sysexits.h's EX_CONFIG: the parameters are wrong. */
#define TRY_EXIT_PARAMS 78

struct try_options {
    const char *file;
    int64_t worst_case_ms, stop_grace_ms;
    char *const *settings; /* name=value texts, ended by NULL */
};

/* The program's exit status: 0 where the run succeeded or had nothing to do, TRY_EXIT_PARAMS,
 * else 1. */
int try_main(const struct try_options *options);
#endif
