/* SPDX-License-Identifier: MIT
 * guard/description.h: a plugin's contract as a text, X.description beside X.so. `--describe`
 * writes it; `--probe` reads it where the plugin itself cannot be loaded, as on a build host that
 * checks the configuration of another machine.
 *
 *   plugin: exec
 *   version: 1.0
 *   contract: 1
 *   summary: Runs a program.
 *
 *   parameter: command
 *     type: list of strings
 *     flags: required
 *     min: 1
 *     help: The program and its arguments; no shell reads them.
 *
 *   parameters: 1
 *
 * One line a key. What a parameter does not have has no line. Values are fit for a terminal: other
 * bytes are \xNN, as are spaces at an end, and a backslash is \\. The last line counts the
 * parameters, so that a file that was cut short is noticed. */
#ifndef ROTA_GUARD_DESCRIPTION_H
#define ROTA_GUARD_DESCRIPTION_H
#include "guard/loader.h"
#include "guard/params.h"
#include <stdio.h>

/* Of a file, and of one of its lines; longer ones are refused, not cut. */
#define DESCRIPTION_SIZE_MAX ((size_t)1024 * 1024)
#define DESCRIPTION_LINE_MAX ((size_t)16 * 1024)

/* Whether the path says that it is one. */
bool description_is_named(const char *path);

/* Errors are the stream's. */
void description_write(FILE *out, const struct plugin *p);

/* Reads `length` bytes of `text`, which has room for one more, is on the heap, and is the
 * callee's from here on. 0 and *ret_plugin, which has no functions; or -EBADMSG and what is wrong,
 * each with `path` and line; or -ENOMEM with a problem. */
int description_parse(char *text, size_t length, const char *path, struct plugin *ret_plugin,
                      struct problems *problems);

/* The same from a file, in its folder where the place has one. Besides: -EBADMSG where it describes
 * another plugin, which lies beside it; -errno with a problem where it cannot be read. */
int description_load(const struct trust_place *place, struct plugin *ret_plugin,
                     struct problems *problems);
#endif
