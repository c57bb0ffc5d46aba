/* SPDX-License-Identifier: MIT */
#include "rotactl/replace.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void drop(struct replace *r)
{
    free(r->name);
    free(r->temporary);
    *r = (struct replace){ 0 };
}

/* In the same folder, as rename() wants it. */
static char *temporary_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    int folder = slash ? (int)(slash + 1 - name) : 0;

    return text_print("%.*s.%s.%ld", folder, name, name + folder, (long)getpid());
}

/* Beside a file that is there with the mode of that; else as the umask has it. */
static int open_temporary(struct replace *r, const struct stat *old)
{
    CLEANUP_CLOSE int fd = open(r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return -errno;
    if (old && fchmod(fd, old->st_mode & 0777) < 0)
        return -errno;
    r->out = fdopen(fd, "w");
    if (!r->out)
        return -errno;
    (void)cleanup_take_fd(&fd); /* the stream's */
    return 0;
}

int replace_begin(struct replace *r, const char *name)
{
    struct stat old;
    bool is_there = stat(name, &old) == 0;
    int rc;

    if (is_there && !S_ISREG(old.st_mode)) {
        r->out = fopen(name, "we");
        return r->out ? 0 : -errno;
    }
    r->name = is_there ? realpath(name, NULL) : strdup(name);
    if (!r->name)
        return -errno;
    r->temporary = temporary_of(r->name);
    rc = r->temporary ? open_temporary(r, is_there ? &old : NULL) : -ENOMEM;
    if (rc < 0) {
        if (r->temporary && rc != -EEXIST)
            (void)unlink(r->temporary);
        drop(r);
    }
    return rc;
}

int replace_end(struct replace *r)
{
    int rc = 0;

    if (fflush(r->out) != 0 || ferror(r->out))
        rc = errno ? -errno : -EIO;
    if (fclose(r->out) != 0 && rc == 0)
        rc = -errno;
    if (r->temporary && rc == 0 && rename(r->temporary, r->name) < 0)
        rc = -errno;
    if (r->temporary && rc < 0)
        (void)unlink(r->temporary);
    drop(r);
    return rc;
}
