/* SPDX-License-Identifier: MIT */
#include "guard/credential.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "credential:"
#define CREDENTIALS_MAX 8
#define LINE_SIZE 4096

/* Touched only where there is one. */
static struct {
    const struct param_value *param;
    int error; /* 0, or why there is no line */
    char line[LINE_SIZE];
} credentials[CREDENTIALS_MAX];

static const char *name_in(const struct param_value *p)
{
    return p->text + strlen(PREFIX);
}

static int read_line(const char *folder, const char *name, char line[LINE_SIZE])
{
    CLEANUP_CLOSE int at = open(folder ? folder : "", O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP_CLOSE int fd = -1;
    size_t length;
    ssize_t n;

    if (at < 0)
        return errno;
    if (strchr(name, '/'))
        return EINVAL;
    fd = openat(at, name, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, line, LINE_SIZE - 1);
    if (n < 0)
        return errno;
    line[n] = '\0';
    length = strcspn(line, "\n");
    /* Never a part of it: a NUL byte ends it, or there is no room for the rest. */
    if (length < (size_t)n && line[length] == '\0')
        return EILSEQ;
    if (length == LINE_SIZE - 1)
        return EFBIG;
    line[length] = '\0';
    return length > 0 ? 0 : ENODATA;
}

void credential_read(const char *folder, const struct param_value *params, uint32_t count)
{
    size_t n = 0;

    for (uint32_t i = 0; i < count && n < CREDENTIALS_MAX; i++)
        if (params[i].kind == PARAM_TEXT && strncmp(params[i].text, PREFIX, strlen(PREFIX)) == 0) {
            credentials[n].param = &params[i];
            credentials[n].error = read_line(folder, name_in(&params[i]), credentials[n].line);
            n++;
        }
}

const char *credential_of(const char *name, char *why, size_t size)
{
    for (size_t i = 0; i < CREDENTIALS_MAX && credentials[i].param; i++) {
        if (strcmp(credentials[i].param->name, name) != 0)
            continue;
        if (credentials[i].error == 0)
            return credentials[i].line;
        text_format(why, size,
                    "%s: systemd gave rotad no credential '%.64s' (%s); its unit needs "
                    "LoadCredential=NAME:FILE",
                    name, name_in(credentials[i].param), strerror(credentials[i].error));
        break;
    }
    return NULL;
}
