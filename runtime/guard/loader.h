/* SPDX-License-Identifier: MIT
 * guard/loader.h: from a file to a plugin whose contract was checked. */
#ifndef ROTA_GUARD_LOADER_H
#define ROTA_GUARD_LOADER_H
#include "base/trust.h"
#include <rota/plugin.h>
#include <stdbool.h>
#include <stddef.h>

/* Room for a sentence about what is wrong. */
#define SENTENCE_SIZE 512
#define PLUGIN_PARAMS_MAX 255

/* Our own copies: a plugin's structs may be smaller or larger than ours. Texts stay in the plugin's
 * file, which is never unloaded. */
struct plugin {
    struct rota_plugin contract; /* .params is not used, see below */
    struct rota_param *params;   /* param_count of them, on the heap */
    size_t param_count;
    char *texts; /* where it was read from a description: what the texts stand in, on the heap */
};

/* [a-z][a-z0-9_]*, in a plugin's own name ('dash') also '-'; NULL is none. */
bool loader_is_name(const char *name, bool dash);

/* NULL, or what is wrong with a declaration ("a type that ..."), held against those before it. */
const char *loader_param_mistake(const struct plugin *p, size_t index);

/* Where a plugin's file or description is that nobody can replace but root and this process's own
 * user, by the rule of base/trust.h; or, `loose`, anybody's, which is then known by its path alone
 * (its folder is -1). 0 and *ret_place, trust_done() is the caller's; else -errno and a sentence.
 */
int loader_find(const char *path, bool loose, struct trust_place *ret_place, char *sentence);
/* Opens that file for reading, in its folder where the place has one; does not wait for who writes
 * to a FIFO. The descriptor or -errno. */
int loader_open(const struct trust_place *place);

/* Loads into this process, which runs the file's constructors. 0 and *ret_plugin; else -errno and a
 * sentence: -ENOEXEC no plugin (a description is none), -EPROTO another contract, -EBADMSG a
 * contract with a mistake. */
int loader_load(const struct trust_place *place, struct plugin *ret_plugin, char *sentence);

void loader_done(struct plugin *p);
#endif
