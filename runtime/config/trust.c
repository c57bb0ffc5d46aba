/* SPDX-License-Identifier: MIT */
#include "config/trust.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
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

int trust_find(const char *root, const char *path, struct trust_place *ret_place,
               char why[TRUST_WHY_SIZE])
{
    size_t length = strlen(root);

    why[0] = '\0';
    if (length > 0 && path[length] != '/') {
        text_copy(why, TRUST_WHY_SIZE, "its links lead nowhere");
        return -ELOOP;
    }
    return trust_walk(root, path + length, ret_place, why);
}

/* 0 and *ret_fd, of a file that passed the rule. */
static int open_file(const char *path, const struct trust_rule *rule, int *ret_fd,
                     char why[TRUST_WHY_SIZE])
{
    struct trust_place place = { 0 };
    CLEANUP_CLOSE int fd = -1;
    int r = trust_find(rule->root, path, &place, why);

    if (r >= 0)
        r = trust_open(&place, &fd, why);
    trust_done(&place);
    if (r == -EBADF)
        text_copy(why, TRUST_WHY_SIZE, "it is no regular file");
    if (r >= 0)
        r = check_open(fd, rule, why);
    if (r >= 0)
        *ret_fd = cleanup_take_fd(&fd);
    return r;
}

int trust_read(const char *path, const struct trust_rule *rule, struct trust_text *ret_text,
               char why[TRUST_WHY_SIZE])
{
    CLEANUP_CLOSE int fd = -1;
    int r = open_file(path, rule, &fd, why);

    if (r >= 0)
        r = read_whole(fd, rule->max, ret_text);
    if (r < 0 && why[0] == '\0')
        text_format(why, TRUST_WHY_SIZE, "it cannot be read: %s", strerror(-r));
    return r;
}
