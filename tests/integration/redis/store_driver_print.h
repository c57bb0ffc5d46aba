/* SPDX-License-Identifier: MIT
 * store_driver_print.h: what store_driver says of a reply, as members of a line of JSON. */
#ifndef ROTA_TESTS_STORE_DRIVER_PRINT_H
#define ROTA_TESTS_STORE_DRIVER_PRINT_H
#include "core/store.h"

void store_driver_text(const char *key, const char *text);
void store_driver_number(const char *key, int64_t number);
/* All that an answered reply holds. */
void store_driver_answer(enum store_verb verb, const struct store_reply *reply);
#endif
