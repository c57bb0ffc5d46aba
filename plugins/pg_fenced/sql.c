/* SPDX-License-Identifier: MIT */
#include "sql.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX ((size_t)1024 * 1024)

const char *sql_name(const struct rota_run *r)
{
    const char *path = rota_string(r, "sql_file");

    return path ? path : "sql";
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n;")] == '\0';
}

int sql_check(const struct rota_run *r)
{
    const char *text = rota_string(r, "sql");

    if (!text == !rota_string(r, "sql_file"))
        return rota_fail(r, ROTA_REFUSED,
                         text ? "both sql and sql_file are given; write one of them"
                              : "neither sql nor sql_file is given; write one of them");
    if (text && is_blank(text))
        return rota_fail(r, ROTA_REFUSED, "sql is empty; write the statements that do the work");
    return ROTA_SUCCEEDED;
}

static int say(const struct rota_run *r, int result, const char *why)
{
    return rota_fail(r, result, "sql_file: %s %s", rota_string(r, "sql_file"), why);
}

static int read_all(const struct rota_run *r, int fd, char **ret_sql)
{
    char *text = malloc(BYTES_MAX + 2); /* one more, to see that it is too many; and the end */
    size_t used = 0;
    ssize_t n = 1;

    if (!text)
        return rota_fail(r, ROTA_FAILED, "no memory");
    while (n > 0 && used <= BYTES_MAX) {
        n = read(fd, text + used, BYTES_MAX + 1 - used);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            used += (size_t)n;
    }
    text[used] = '\0';
    *ret_sql = text;
    if (n < 0)
        return say(r, ROTA_FAILED, strerror(errno));
    if (used > BYTES_MAX)
        return say(r, ROTA_REFUSED, "has more than 1 MiB; let it call a function of the database");
    if (memchr(text, '\0', used))
        return say(r, ROTA_REFUSED, "holds a NUL byte");
    if (is_blank(text))
        return say(r, ROTA_REFUSED, "is empty; write the statements that do the work");
    return ROTA_SUCCEEDED;
}

static int read_file(const struct rota_run *r, char **ret_sql)
{
    /* A FIFO blocks nobody. */
    int fd = open(rota_string(r, "sql_file"), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    int result;

    if (fd < 0)
        return rota_fail(r, ROTA_FAILED, "sql_file: %s: %s", rota_string(r, "sql_file"),
                         strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        result = say(r, ROTA_REFUSED, "is no file");
    else
        result = read_all(r, fd, ret_sql);
    close(fd);
    return result;
}

int sql_read(const struct rota_run *r, char **ret_sql)
{
    char *text = NULL;
    int result = ROTA_SUCCEEDED;

    if (rota_string(r, "sql_file")) {
        result = read_file(r, &text);
    } else {
        text = strdup(rota_string(r, "sql"));
        if (!text)
            return rota_fail(r, ROTA_FAILED, "no memory");
    }
    if (result == ROTA_SUCCEEDED)
        *ret_sql = text;
    else
        free(text);
    return result;
}
