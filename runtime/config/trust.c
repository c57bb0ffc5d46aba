/* SPDX-License-Identifier: MIT */
#include "config/trust.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_open(int fd, const struct trust_rule *rule, char why[TRUST_WHY_SIZE])
{
    mode_t others = rule->reader == TRUST_CREDENTIAL ? S_IRWXO : S_IRWXG | S_IRWXO;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode)) {
        text_copy(why, TRUST_WHY_SIZE, "it is no regular file");
        return -EBADF;
    }
    if (rule->reader != TRUST_ANYBODY && (st.st_mode & others)) {
        text_copy(why, TRUST_WHY_SIZE,
                  "it holds a secret, but others than its owner may read it; chmod it 0600");
        return -EPERM;
    }
    if (st.st_size > (off_t)rule->max) {
        text_format(why, TRUST_WHY_SIZE, "it has %lld bytes; at most %zu are read",
                    (long long)st.st_size, rule->max);
        return -EFBIG;
    }
    return 0;
}

static int read_whole(int fd, size_t max, struct trust_text *ret_text)
{
    CLEANUP_FREE char *buf = malloc(max + 2);
    size_t have = 0;

    if (!buf)
        return -ENOMEM;
    while (have <= max) {
        ssize_t n = read(fd, buf + have, max + 1 - have);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0) {
            buf[have] = '\0';
            *ret_text = (struct trust_text){ buf, have };
            buf = NULL;
            return 0;
        }
        if (n > 0)
            have += (size_t)n;
    }
    return -EFBIG;
}

int trust_find(const char *root, const char *path, char **ret_path, char why[TRUST_WHY_SIZE])
{
    CLEANUP_FREE char *copy = NULL;
    int r;

    why[0] = '\0';
    if (root[0] == '\0')
        return trust_resolve(path, ret_path, why);
    if (path[strlen(root)] != '/') {
        text_copy(why, TRUST_WHY_SIZE, "its links lead nowhere");
        return -ELOOP;
    }
    copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    r = trust_check_below(copy, strlen(root), why);
    if (r < 0)
        return r;
    *ret_path = copy;
    copy = NULL;
    return 0;
}

int trust_read(const char *path, const struct trust_rule *rule, struct trust_text *ret_text,
               char why[TRUST_WHY_SIZE])
{
    CLEANUP_FREE char *resolved = NULL;
    CLEANUP_CLOSE int fd = -1;
    int r;

    r = trust_find(rule->root, path, &resolved, why);
    if (r >= 0) {
        /* O_NONBLOCK: a FIFO without a writer would hold us up for ever. */
        fd = open(resolved, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        r = fd < 0 ? -errno : check_open(fd, rule, why);
    }
    if (r >= 0)
        r = read_whole(fd, rule->max, ret_text);
    if (r < 0 && why[0] == '\0')
        text_format(why, TRUST_WHY_SIZE, "it cannot be read: %s", strerror(-r));
    return r;
}
