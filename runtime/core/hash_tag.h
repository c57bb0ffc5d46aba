/* SPDX-License-Identifier: MIT
 * core/hash_tag.h: which part of a key Redis Cluster hashes. */
#ifndef ROTA_CORE_HASH_TAG_H
#define ROTA_CORE_HASH_TAG_H
#include <stddef.h>

/* The text between the key's first { and the } after that, where there is any: its length, and its
 * begin in *ret_tag. 0: there is none, and all of the key is hashed. */
size_t hash_tag(const char *key, const char **ret_tag);
#endif
