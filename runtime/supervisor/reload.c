/* SPDX-License-Identifier: MIT
 * A reload is tried by `rotad --check` in a child first, so that nothing that a parser or a plugin
 * does can hurt the supervisor that runs. What the child finds wrong goes to the journal. */
#include "base/cleanup.h"
#include "base/text.h"
#include "supervisor/clock.h"
#include "supervisor/control.h"
#include "supervisor/journal.h"
#include "supervisor/manager.h"
#include "supervisor/process.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define RELOAD_LIMIT_WORDS "2 min" /* RELOAD_LIMIT_MS */
/* Lines of the child that are passed on. */
#define RELOAD_LINES_MAX 100

struct reload {
    reload_done *done;
    struct control *control;
    void *context;
    pid_t pid;
    const struct config *running; /* whose warnings were said before; NULL: it is only a check */
    int fd;                       /* the child's stderr */
    int lines;
    size_t used;
    sd_event_source *io, *limit;
    char line[1024];
};

/* What --check adds to a line that is no mistake. */
#define WARNING_MARK " (a warning)"

/* In the journal the level says it, so the mark is cut off. */
static int take_level(char *line)
{
    size_t length = strlen(line), mark = strlen(WARNING_MARK);

    if (length < mark || strcmp(line + length - mark, WARNING_MARK) != 0)
        return LOG_ERR;
    line[length - mark] = '\0';
    return LOG_WARNING;
}

static bool ends_in(const char *line, const char *text)
{
    size_t length = strlen(line), end = strlen(text) + strlen(WARNING_MARK);

    return length > end && strncmp(line + length - end, text, strlen(text)) == 0 &&
           strcmp(line + length - strlen(WARNING_MARK), WARNING_MARK) == 0;
}

/* By its text: an edit above it moves it to another line. */
static bool was_said(const struct config *running, const char *line)
{
    for (size_t i = 0; running && i < running->problems.count; i++)
        if (running->problems.items[i].level == PROBLEM_WARNING &&
            ends_in(line, running->problems.items[i].text))
            return true;
    return false;
}

static void say(const struct reload *r, int level, const char *line)
{
    if (r->running)
        journal_log(level, NULL, "%s", line);
    control_reload_line(r->control, line);
}

static void pass_on(struct reload *r)
{
    int level;

    r->line[r->used] = '\0';
    if (r->used > 0 && !was_said(r->running, r->line) && r->lines++ < RELOAD_LINES_MAX) {
        control_reload_line(r->control, r->line);
        level = take_level(r->line); /* it shortens the line */
        if (r->running)
            journal_log(level, NULL, "%s", r->line);
    }
    r->used = 0;
}

static void take(struct reload *r, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n')
            pass_on(r);
        else if (r->used < sizeof r->line - 1)
            r->line[r->used++] = bytes[i];
    }
}

/* False at the end of what is there. */
static bool read_some(struct reload *r)
{
    char bytes[1024];
    ssize_t n = read(r->fd, bytes, sizeof bytes);

    if (n > 0)
        take(r, bytes, (size_t)n);
    if (n == 0)
        (void)sd_event_source_set_enabled(r->io, SD_EVENT_OFF);
    return n > 0;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)fd;
    (void)events;
    (void)read_some(userdata);
    return 0;
}

static int on_limit(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct reload *r = userdata;

    (void)source;
    (void)usec;
    say(r, LOG_ERR, "reload: reading the new configuration took more than " RELOAD_LIMIT_WORDS);
    kill(r->pid, SIGKILL);
    return 0;
}

static int watch(struct reload *r, sd_event *event)
{
    uint64_t limit = clock_to_us(boot_add(clock_boot(), RELOAD_LIMIT_MS));
    int rc = sd_event_add_io(event, &r->io, r->fd, EPOLLIN, on_io, r);

    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(r->io, "reload's words");
    rc = sd_event_add_time(event, &r->limit, CLOCK_BOOTTIME, limit, 0, on_limit, r);
    if (rc >= 0)
        (void)sd_event_source_set_description(r->limit, "reload's limit");
    return rc;
}

int reload_new(const struct reload_env *env, struct reload **ret_reload)
{
    struct reload *r = calloc(1, sizeof *r);
    int rc;

    if (!r)
        return -ENOMEM;
    *r = (struct reload){ .done = env->done,
                          .control = env->control,
                          .context = env->context,
                          .running = env->running,
                          .fd = -1 };
    rc = process_spawn_check(env->config_file, env->device, &r->fd, &r->pid);
    if (rc >= 0)
        rc = watch(r, env->event);
    if (rc < 0) {
        reload_free(r);
        return rc;
    }
    *ret_reload = r;
    return 0;
}

bool reload_child_ended(struct reload *r, pid_t pid, int status)
{
    if (pid != r->pid)
        return false;
    while (read_some(r))
        ;
    pass_on(r);
    if (WIFSIGNALED(status)) {
        text_format(r->line, sizeof r->line,
                    "reload: reading the new configuration ended by signal %d (%s)",
                    WTERMSIG(status), strsignal(WTERMSIG(status)));
        say(r, LOG_ERR, r->line);
    }
    r->pid = 0;
    r->done(r->context, WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return true;
}

pid_t reload_pid(const struct reload *r)
{
    return r->pid;
}

void reload_free(struct reload *r)
{
    if (!r)
        return;
    if (r->pid > 0)
        kill(r->pid, SIGKILL);
    sd_event_source_disable_unref(r->io);
    sd_event_source_disable_unref(r->limit);
    if (r->fd >= 0)
        close(r->fd);
    free(r);
}
