/* SPDX-License-Identifier: MIT
 * metrics_file: a collector may read it at any moment, so it is replaced whole, by a rename in its
 * folder. Where it is on flash each time costs a write, so it is left alone while nothing has
 * changed: what is in it are counts and instants, no ages. */
#include "base/cleanup.h"
#include "base/units.h"
#include "supervisor/control_metrics.h"
#include "supervisor/journal.h"
#include "supervisor/manager.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* From one time to the next, at least. */
#define PERIOD_MS MINUTE_MS
/* From a change: most come as several. */
#define CALM_MS SECOND_MS

struct control_metrics_file {
    sd_event_source *timer;
    struct boot written; /* or tried; 0: never */
    /* By which configuration: only to be compared. */
    const struct generation *generation;
    char *path;   /* of what was written; NULL: nothing, or it is deleted */
    char *failed; /* the path of which it was said; NULL: of none */
};

/* --- the file --- */

/* Anything by that name is what an earlier rotad left, or was put there for us to follow. */
static int create(const char *path)
{
    int fd;

    if (unlink(path) < 0 && errno != ENOENT)
        return -errno;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    /* Whatever the umask: collectors are other users. */
    if (fchmod(fd, 0644) == 0)
        return fd;
    close(fd);
    return -EPERM;
}

static int fill(const char *path, const struct manager *m)
{
    CLEANUP_CLOSE int fd = create(path);
    FILE *out;
    int rc = 0;

    if (fd < 0)
        return fd;
    out = fdopen(fd, "we");
    if (!out)
        return -errno;
    (void)cleanup_take_fd(&fd);
    errno = 0;
    control_metrics_write(&(struct openmetrics){ .out = out }, m);
    if (ferror(out))
        rc = errno ? -errno : -EIO;
    if (fclose(out) != 0 && rc == 0)
        rc = -errno;
    return rc;
}

static int replace(const char *path, const struct manager *m)
{
    char fresh[PATH_MAX];
    int rc;

    if (snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh)
        return -ENAMETOOLONG;
    rc = fill(fresh, m);
    if (rc >= 0 && rename(fresh, path) < 0)
        rc = -errno;
    if (rc < 0)
        (void)unlink(fresh);
    return rc;
}

static void take_away(struct control_metrics_file *f)
{
    if (f->path)
        (void)unlink(f->path);
    free(f->path);
    f->path = NULL;
}

/* --- what is said --- */

static const char *advice(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "make its folder, or write another path";
    case ENOSPC:
    case EDQUOT:
        return "make room there";
    case EACCES:
    case EPERM:
    case EROFS:
        return "let the user that rotad runs as write in its folder, or write another path, such "
               "as /run/rota/rota.prom";
    case EISDIR:
        return "write the path of a file";
    default:
        return "it is tried again after each change";
    }
}

static void forget_failed(struct control_metrics_file *f)
{
    free(f->failed);
    f->failed = NULL;
}

/* Once of a path, until it is over. */
static void say(struct control_metrics_file *f, const char *path, int rc)
{
    bool said = f->failed && strcmp(f->failed, path) == 0;

    if (rc < 0 && !said)
        journal_log(LOG_WARNING | MESSAGE_METRICS_UNWRITTEN, NULL,
                    "metrics_file '%s' cannot be written: %s; %s", path, strerror(-rc),
                    advice(-rc));
    else if (rc >= 0 && said)
        journal_log(LOG_NOTICE | MESSAGE_METRICS_WRITTEN, NULL,
                    "metrics_file '%s' is written again", path);
    if (rc < 0 && said)
        return;
    forget_failed(f);
    if (rc < 0)
        f->failed = strdup(path); /* where memory is short it is said again */
}

/* --- when --- */

/* Only the file of the present path is kept up to date, so no other stays. */
static void follow_path(struct control_metrics_file *f, const char *path, bool written)
{
    if (f->path && strcmp(f->path, path) == 0)
        return;
    take_away(f);
    if (written)
        f->path = strdup(path); /* where memory is short the file stays when rotad ends */
}

static void arm(struct control_metrics_file *f, struct boot at)
{
    if (sd_event_source_set_time(f->timer, (uint64_t)at.ms * 1000) >= 0)
        (void)sd_event_source_set_enabled(f->timer, SD_EVENT_ONESHOT);
}

static void bring_up_to_date(struct control_metrics_file *f, const struct manager *m)
{
    const char *path = m->generation->config->metrics_file;
    int rc;

    if (!path) {
        take_away(f);
        forget_failed(f);
        return;
    }
    rc = replace(path, m);
    follow_path(f, path, rc >= 0);
    say(f, path, rc);
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct control *c = userdata;
    struct control_metrics_file *f = c->metrics;
    struct boot now = control_clock(CLOCK_BOOTTIME);

    (void)source;
    (void)usec;
    /* Which jobs there are is not known before the probe is done. */
    if (!c->manager->began) {
        arm(f, boot_add(now, CALM_MS));
        return 0;
    }
    f->written = now;
    f->generation = c->manager->generation;
    bring_up_to_date(f, c->manager);
    return 0;
}

static int make(struct control *c)
{
    struct control_metrics_file *f = calloc(1, sizeof *f);
    int rc;

    if (!f)
        return -ENOMEM;
    rc = sd_event_add_time(c->manager->event, &f->timer, CLOCK_BOOTTIME, 0, 0, on_time, c);
    if (rc >= 0)
        rc = sd_event_source_set_priority(f->timer, PRIORITY_CONTROL);
    if (rc >= 0)
        rc = sd_event_source_set_enabled(f->timer, SD_EVENT_OFF);
    if (rc < 0) {
        sd_event_source_disable_unref(f->timer);
        free(f);
        return rc;
    }
    (void)sd_event_source_set_description(f->timer, "metrics_file");
    c->metrics = f;
    return 0;
}

/* It may name another file after a reload, or none: for that nobody waits a minute. */
static struct boot when(const struct control_metrics_file *f, const struct control *c)
{
    struct boot soon = boot_add(control_clock(CLOCK_BOOTTIME), CALM_MS);

    if (f->generation != c->manager->generation)
        return soon;
    return boot_max(soon, boot_add(f->written, PERIOD_MS));
}

void control_metrics_file_changed(struct control *c)
{
    struct boot at;
    uint64_t armed_us;

    /* Where memory is short, the next change tries again. */
    if (!c->metrics && make(c) < 0)
        return;
    at = when(c->metrics, c);
    if (sd_event_source_get_enabled(c->metrics->timer, NULL) <= 0 ||
        sd_event_source_get_time(c->metrics->timer, &armed_us) < 0 ||
        armed_us > (uint64_t)at.ms * 1000)
        arm(c->metrics, at);
}

void control_metrics_file_done(struct control *c)
{
    struct control_metrics_file *f = c->metrics;

    if (!f)
        return;
    take_away(f);
    forget_failed(f);
    sd_event_source_disable_unref(f->timer);
    free(f);
    c->metrics = NULL;
}
