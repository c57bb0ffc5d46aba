/* SPDX-License-Identifier: MIT
 * guard/values.h: one value's text, read by a declared type and held against the declared limits.
 */
#ifndef ROTA_GUARD_VALUES_H
#define ROTA_GUARD_VALUES_H
#include "guard/params.h"

/* Reads `given` as `decl` wants it. 0; -EINVAL and a sentence that begins with the parameter's
 * name; -ENOMEM (then the sentence is written too). A list's pointers are on the heap: free((void
 * *)strings). */
int values_read(const struct rota_param *decl, const struct param_value *given, bool loose,
                struct value *ret_value, char *sentence);

/* NULL, or what is wrong with a declaration's limits and choices ("a min that ..."): a slip there
 * would turn them off. */
const char *values_check_limits(const struct rota_param *decl);

/* Reads a declaration's default, which is written as in a conf file: a list as [ "a", "b" ].
 * *ret_block: what a list's texts stand in; it must live as long, free() it. Errors as above. */
int values_read_default(const struct rota_param *decl, struct value *ret_value, char **ret_block,
                        char *sentence);
#endif
