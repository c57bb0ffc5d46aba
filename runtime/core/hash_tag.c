/* SPDX-License-Identifier: MIT */
#include "core/hash_tag.h"
#include <string.h>

size_t hash_tag(const char *key, const char **ret_tag)
{
    const char *open = strchr(key, '{');
    const char *close = open ? strchr(open, '}') : NULL;

    if (!close || close == open + 1)
        return 0;
    *ret_tag = open + 1;
    return (size_t)(close - open - 1);
}
