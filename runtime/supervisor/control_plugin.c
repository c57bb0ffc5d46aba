/* SPDX-License-Identifier: MIT
 * What a plugin says of itself: by its description, the file that is installed beside it
 * (rota-guard --describe). The plugin itself is not asked: no code of it runs here. */
#include "base/cleanup.h"
#include "base/text.h"
#include "supervisor/control_internal.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".so"
/* The version stands in one of the first lines. */
#define HEAD_SIZE 1024
#define VERSION_KEY "\nversion: "

static int open_description(const char *plugin_path)
{
    size_t length = strlen(plugin_path), suffix = strlen(SUFFIX);
    char path[PATH_MAX];

    if (length > suffix && strcmp(plugin_path + length - suffix, SUFFIX) == 0)
        length -= suffix;
    if (snprintf(path, sizeof path, "%.*s.description", (int)length, plugin_path) >= PATH_MAX)
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* What a reload has found there is what the next run loads, so it is read anew each time. */
bool control_plugin_version(const char *plugin_path, char *ret_version, size_t size)
{
    CLEANUP_CLOSE int fd = open_description(plugin_path);
    char head[HEAD_SIZE], *at;
    struct stat st;
    ssize_t got;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    got = read(fd, head, sizeof head - 1);
    if (got <= 0)
        return false;
    head[got] = '\0';
    at = strstr(head, VERSION_KEY);
    if (!at)
        return false;
    at += strlen(VERSION_KEY);
    at[strcspn(at, "\n")] = '\0';
    return text_copy(ret_version, size, at);
}
