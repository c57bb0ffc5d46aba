/* SPDX-License-Identifier: MIT
 * A whole plugin, as C11 or C++20: fails when a file system is too full. */
#include <errno.h>
#include <rota/plugin.h>
#include <string.h>
#include <sys/statvfs.h>

static const struct rota_param params[] = {
    { .name = "path", .type = ROTA_STRING, .flags = ROTA_REQUIRED, .help = "Any file on it." },
    { .name = "limit", .type = ROTA_INTEGER, .def = "90", .max = "100", .help = "Per cent." },
    { .name = NULL },
};

static int run(const struct rota_run *r)
{
    const char *path = rota_string(r, "path");
    struct statvfs fs;
    if (statvfs(path, &fs) != 0)
        return rota_fail(r, ROTA_FAILED, "%s: %s", path, strerror(errno));
    int used = fs.f_blocks ? 100 - (int)((uint64_t)fs.f_bavail * 100 / fs.f_blocks) : 0;
    if (used > rota_integer(r, "limit"))
        return rota_fail(r, ROTA_FAILED, "%s is %d %% full", path, used);
    return ROTA_SUCCEEDED;
}

ROTA_PLUGIN(.name = "disk_room", .version = "1", .summary = "Fails when a file system is too full.",
            .params = params, .run = run);
