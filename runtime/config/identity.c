/* SPDX-License-Identifier: MIT */
#include "config/identity.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define MACHINE_DIGITS_MIN 32
#define BOOT_DIGITS_MIN 8

/* Digits of an id, of at least `least`, into buf; false and "" where the file holds none. An id of
 * zeros alone is what images are given to have none. */
static bool read_id(const char *path, size_t least, char buf[IDENTITY_SIZE])
{
    FILE *f = fopen(path, "re");

    if (!f || !fgets(buf, IDENTITY_SIZE, f))
        buf[0] = '\0';
    if (f)
        fclose(f);
    buf[strspn(buf, "0123456789abcdef")] = '\0';
    if (strlen(buf) < least || buf[strspn(buf, "0")] == '\0')
        buf[0] = '\0';
    return buf[0] != '\0';
}

/* Where /etc cannot be written, systemd makes an id in /run, in memory, and mounts it over the
 * file. */
static bool is_transient(const char *etc, const char *path)
{
    struct stat folder, file;
    struct statfs fs;

    if (stat(etc, &folder) < 0 || stat(path, &file) < 0 || statfs(path, &fs) < 0)
        return false;
    return file.st_dev != folder.st_dev &&
           (fs.f_type == TMPFS_MAGIC || (unsigned long)fs.f_type == RAMFS_MAGIC);
}

enum identity identity_read(const char *etc, char ret_id[IDENTITY_SIZE])
{
    char path[PATH_MAX];

    ret_id[0] = '\0';
    if (!text_format(path, sizeof(path), "%s/machine-id", etc) ||
        !read_id(path, MACHINE_DIGITS_MIN, ret_id))
        return IDENTITY_ABSENT;
    return is_transient(etc, path) ? IDENTITY_TRANSIENT : IDENTITY_STAYS;
}

void identity_read_boot(char ret_id[IDENTITY_SIZE])
{
    read_id(BOOT_ID, BOOT_DIGITS_MIN, ret_id);
}
