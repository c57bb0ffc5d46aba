/* SPDX-License-Identifier: MIT */
#include "password.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARAM "password_file"
#define CREDENTIAL "credential:"
#define OTHERS_MODE 077
#define GROUP_READ 040

static int refuse(const struct rota_run *r, const char *path, const char *why)
{
    return rota_fail(r, ROTA_REFUSED, PARAM ": %s %s", path, why);
}

/* The job's user's own, for nobody else; or root's, for the job's group at most. */
static int check_file(const struct rota_run *r, const char *path, const struct stat *st)
{
    bool roots = st->st_uid == 0 && geteuid() != 0;
    mode_t others = st->st_mode & OTHERS_MODE;

    if (!S_ISREG(st->st_mode))
        return refuse(r, path, "is no file");
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return rota_fail(r, ROTA_REFUSED,
                         PARAM ": %s belongs to neither root nor the job's user (uid %u); chown it",
                         path, (unsigned)geteuid());
    if (others && roots && st->st_gid != getegid())
        return rota_fail(r, ROTA_REFUSED,
                         PARAM
                         ": %s can be read or changed by others (mode %04o), and is not of the "
                         "job's group; chgrp %u %s, and chmod o=,g=r %s",
                         path, (unsigned)(st->st_mode & 07777U), (unsigned)getegid(), path, path);
    if (others & ~(mode_t)(roots ? GROUP_READ : 0))
        return rota_fail(r, ROTA_REFUSED,
                         PARAM ": %s can be read or changed by others (mode %04o); chmod %s %s",
                         path, (unsigned)(st->st_mode & 07777U), roots ? "o=,g=r" : "go=", path);
    return ROTA_SUCCEEDED;
}

static int open_file(const struct rota_run *r, int *ret_fd)
{
    const char *path = rota_string(r, PARAM);
    struct stat st;
    int fd, result;

    if (path[0] != '/')
        return rota_fail(r, ROTA_REFUSED,
                         PARAM " is \"%s\"; write an absolute path, or credential:NAME", path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0) {
        int e = errno;

        if (fd >= 0)
            close(fd);
        *ret_fd = -e;
        return rota_fail(r, ROTA_FAILED, PARAM ": %s: %s", path, strerror(e));
    }
    result = check_file(r, path, &st);
    if (result != ROTA_SUCCEEDED)
        close(fd);
    *ret_fd = result == ROTA_SUCCEEDED ? fd : -EPERM;
    return result;
}

int password_check(const struct rota_run *r)
{
    const char *from = rota_string(r, PARAM);
    int fd, result;

    if (!from)
        return ROTA_SUCCEEDED;
    if (strncmp(from, CREDENTIAL, strlen(CREDENTIAL)) == 0)
        return from[strlen(CREDENTIAL)] && !strchr(from, '/')
                   ? ROTA_SUCCEEDED
                   : rota_fail(r, ROTA_REFUSED,
                               PARAM ": \"%s\" names no credential; write credential:NAME, as in "
                                     "LoadCredential=NAME:PATH",
                               from);
    fd = -1;
    result = open_file(r, &fd);
    if (fd >= 0)
        close(fd);
    return fd == -ENOENT ? ROTA_SUCCEEDED : result;
}

static int first_line(const struct rota_run *r, int fd, char *buf, size_t size)
{
    const char *path = rota_string(r, PARAM);
    ssize_t n = read(fd, buf, size);
    size_t length;

    if (n < 0)
        return rota_fail(r, ROTA_FAILED, PARAM ": %s: %s", path, strerror(errno));
    if ((size_t)n < size)
        buf[n] = '\0';
    length = strnlen(buf, (size_t)n);
    if (length == size && !memchr(buf, '\n', size))
        return refuse(r, path, "has a first line that is too long for a password");
    length = strcspn(buf, "\n");
    if (length == 0)
        return refuse(r, path, "has an empty first line; write the password there");
    buf[length] = '\0';
    return ROTA_SUCCEEDED;
}

static int check_end(const struct rota_run *r, const char *password)
{
    if (password[strlen(password) - 1] != '\r')
        return ROTA_SUCCEEDED;
    return refuse(r, rota_string(r, PARAM),
                  "has a carriage return at the end of its first line, which would be part of the "
                  "password; write it with plain line ends");
}

int password_read(const struct rota_run *r, char *buf, size_t size)
{
    const char *from = rota_string(r, PARAM), *line;
    int fd = -1, result;

    buf[0] = '\0';
    if (!from)
        return ROTA_SUCCEEDED;
    if (strncmp(from, CREDENTIAL, strlen(CREDENTIAL)) == 0) {
        line = rota_credential(r, PARAM);
        if (!line)
            return ROTA_FAILED; /* the host has told why */
        if (strlen(line) >= size)
            return refuse(r, from, "has a first line that is too long for a password");
        memcpy(buf, line, strlen(line) + 1);
        return check_end(r, buf);
    }
    result = open_file(r, &fd);
    if (result != ROTA_SUCCEEDED)
        return result;
    result = first_line(r, fd, buf, size);
    close(fd);
    return result == ROTA_SUCCEEDED ? check_end(r, buf) : result;
}
