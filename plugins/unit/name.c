/* SPDX-License-Identifier: MIT */
#include "name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TYPE ".service"

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || (c && strchr(":-_.\\@", c));
}

static bool is_clean(const char *name)
{
    for (; *name; name++)
        if (!is_name_byte(*name))
            return false;
    return true;
}

const char *name_why_not(const char *name, char *buf, size_t size)
{
    const char *type = strrchr(name, '.'), *at = strchr(name, '@');
    size_t length = strlen(name);

    if (length > NAME_MAX_BYTES)
        return "is longer than a unit's name can be, which is 255 bytes";
    if (length == 0)
        return "is no name; write one such as \"backup.service\"";
    if (strchr(name, '/'))
        return "is a path; write the unit's name alone, such as \"backup.service\"";
    if (!is_clean(name))
        return "has a character that no unit's name has; systemd-escape(1) writes an instance so "
               "that it can stand there";
    if (!type) {
        snprintf(buf, size, "has no type; write \"%s" TYPE "\"", name);
        return buf;
    }
    if (strcmp(type, TYPE) != 0)
        return "is no service; write the name of a unit that ends in " TYPE;
    if (type == name || at == name)
        return "has no name before its type; write one such as \"backup.service\"";
    if (at && at + 1 == type) {
        snprintf(buf, size,
                 "is a template; write an instance of it, such as \"%.*s@daily" TYPE "\"",
                 (int)(at - name), name);
        return buf;
    }
    return NULL;
}
