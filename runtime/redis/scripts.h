/* SPDX-License-Identifier: MIT
 * redis/scripts.h: the Lua scripts, embedded when rota is built (embed.cmake). They are kept
 * packed, a quarter of their size: a body is sent only where the server has lost it. */
#ifndef ROTA_REDIS_SCRIPTS_H
#define ROTA_REDIS_SCRIPTS_H
#include <stdint.h>

struct redis_script {
    char sha1[41];        /* of the body, 40 lower-case hex digits: what EVALSHA asks for */
    uint16_t begin, size; /* where the body is in the text of all scripts */
};

/* What devices ask is rotad's. librota-control.so has a text of its own of what people ask
 * (supervisor/control_scripts.h), and librota-check.so one of the survey (check_online.h). */
extern const struct redis_script redis_script_acquire, redis_script_renew, redis_script_finish,
    redis_script_seat_acquire, redis_script_seat_renew, redis_script_seat_finish,
    redis_script_hello, redis_script_index, redis_script_config_get, redis_script_config_put,
    redis_script_pause, redis_script_resume;

/* The text of all scripts, packed. A byte below 128 is a byte of the text; plain ASCII is thus
 * packed text too. A byte of 128 + 8 * N + B stands for REDIS_SCRIPTS_COPY_MIN + N bytes that the
 * text has had before. How far back, from 1 on: B has the highest 3 bits, and bytes of 7 bits
 * follow, each but the last with the eighth bit set. Where N is REDIS_SCRIPTS_COPY_LONG, one byte
 * more says how many more bytes are copied. */
#define REDIS_SCRIPTS_COPY_MIN 3
#define REDIS_SCRIPTS_COPY_LONG 15
#define REDIS_SCRIPTS_COPY_MAX (REDIS_SCRIPTS_COPY_MIN + REDIS_SCRIPTS_COPY_LONG + 255)
extern const unsigned char redis_scripts_packed[];

/* The script's `size` bytes and a NUL, on the heap; the caller frees them. NULL: no memory. */
char *redis_scripts_body(const struct redis_script *script);
#endif
