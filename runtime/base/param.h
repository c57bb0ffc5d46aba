/* SPDX-License-Identifier: MIT
 * base/param.h: a plugin's parameter as the conf file wrote it. The configuration reads it, the
 * frames carry it, and the guard turns it into the type that the plugin declares. */
#ifndef ROTA_BASE_PARAM_H
#define ROTA_BASE_PARAM_H
#include <stdint.h>

/* How the conf file wrote the value. */
enum param_kind {
    PARAM_TEXT = 1,
    PARAM_INTEGER = 2,
    PARAM_NUMBER = 3,
    PARAM_BOOLEAN = 4,
    PARAM_LIST = 5
};

/* `text` holds strings as they are, numbers as the file wrote them, booleans as "true"/"false". A
 * list (of strings) has its elements in `items`. Who owns the texts is said by whoever hands the
 * value out. */
struct param_value {
    const char *name;
    enum param_kind kind;
    const char *text;         /* not with PARAM_LIST */
    const char *const *items; /* PARAM_LIST: `count` texts */
    uint32_t count;
};
#endif
