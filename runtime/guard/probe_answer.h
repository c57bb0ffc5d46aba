/* SPDX-License-Identifier: MIT
 * guard/probe_answer.h: what a PROBED says, packed into a frame. */
#ifndef ROTA_GUARD_PROBE_ANSWER_H
#define ROTA_GUARD_PROBE_ANSWER_H
#include "guard/params.h"

/* `plugin` is NULL where none could be loaded; `problems` then say why. */
void probe_answer_pack(struct frame *answer, uint32_t index, const struct plugin *plugin,
                       const struct problems *problems);

/* Nothing could be loaded, for this one reason. */
void probe_answer_error(struct frame *answer, uint32_t index, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The process that loaded or checked ended by itself; its status, of waitpid(). */
void probe_answer_death(struct frame *answer, uint32_t index, int status);
#endif
