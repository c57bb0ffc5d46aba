/* SPDX-License-Identifier: MIT
 * redis/fault.h: the one table of what a server can refuse, and the words for it. core/fault.h says
 * what follows from the class. */
#ifndef ROTA_REDIS_FAULT_H
#define ROTA_REDIS_FAULT_H
#include "core/fault.h"
#include <stdbool.h>
#include <stddef.h>

/* The longest reason, with its end. */
#define REDIS_FAULT_REASON_SIZE 320

struct redis_fault {
    enum fault class;
    /* Nobody is served on this connection: it is closed, and the link's back-off rules. */
    bool closes;
    /* EVALSHA of a script that the server does not have (any more). */
    bool wants_body;
    /* A sentence part for people: words of ours and the error's first word, never the server's
     * text, which may hold what was sent to it, the password too. */
    char reason[REDIS_FAULT_REASON_SIZE];
};

/* An error reply by its first word, since the rest differs between servers; for a plain ERR by how
 * its text begins. A server before 7.0 wraps an error from within a script in an ERR of its own. */
void redis_fault_of_error(const char *error, struct redis_fault *ret_fault);
/* A lost connection, by its (negative) errno; -EPIPE is an end of file. */
void redis_fault_of_errno(int error, struct redis_fault *ret_fault);
/* Whatever answers is not what rota speaks to. */
void redis_fault_of_alien(struct redis_fault *ret_fault);
/* "no reply within 3 s", "no connection within 10 s". */
void redis_fault_of_silence(const char *missing, int64_t timeout_ms, struct redis_fault *ret_fault);
/* A name without an address; `why` as in redis/store.h. */
void redis_fault_of_name(const char *why, struct redis_fault *ret_fault);
#endif
