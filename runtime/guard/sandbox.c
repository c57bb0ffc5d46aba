/* SPDX-License-Identifier: MIT */
#include "guard/sandbox.h"
#include "guard/cgroup.h"
#include "guard/network.h"
#include "guard/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

void sandbox_reset_signals(void)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigset_t none;

    /* SIGKILL, SIGSTOP and those that libc keeps for itself refuse, which is as it should be. */
    for (int signo = 1; signo < NSIG; signo++)
        sigaction(signo, &action, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In two steps, since a source's number may be another's target. */
int sandbox_place_descriptors(const struct sandbox *s)
{
    int high[SANDBOX_FDS], count = s->fds[SANDBOX_FOLDER] < 0 ? SANDBOX_FOLDER : SANDBOX_FDS;

    for (int i = 0; i < count; i++) {
        int source = s->fds[i] >= 0 ? s->fds[i] : open("/dev/null", O_RDWR | O_CLOEXEC);

        high[i] = source < 0 ? -1 : fcntl(source, F_DUPFD_CLOEXEC, SANDBOX_FDS);
        if (high[i] < 0)
            return -errno;
    }
    for (int i = 0; i < count; i++)
        if (dup3(high[i], i, i > STDERR_FILENO ? O_CLOEXEC : 0) < 0)
            return -errno;
    return close_range((unsigned)count, ~0U, 0) < 0 ? -errno : 0;
}

static int begin(const struct sandbox *s)
{
    sigset_t none;

    (void)s;
    /* All others are as sandbox_reset_signals() left them. */
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid(); /* fails only where this is a leader already */
    umask(022);
    return 0;
}

static int join_group(const struct sandbox *s)
{
    return s->group ? cgroup_join(s->setup->cgroup, s->group) : 0;
}

/* Of the two ways to leave the network that by a user namespace needs no right; but it shows the
 * files of all others as nobody's, and only after the change of user it can have the job's. */
static bool takes_user_namespace;

static int leave_network(const struct sandbox *s)
{
    int r = s->setup->no_network ? network_leave() : 0;

    takes_user_namespace = r == -EPERM;
    return takes_user_namespace ? 0 : r;
}

static int leave_network_as_user(const struct sandbox *s)
{
    (void)s;
    return takes_user_namespace ? network_leave_as(geteuid(), getegid()) : 0;
}

static int set_limits(const struct sandbox *s)
{
    return limits_apply(s->limits);
}

static int switch_user(const struct sandbox *s)
{
    return s->setup->switch_user ? rights_switch_user(s->setup) : 0;
}

/* Root keeps its own, which are what it is; but for those in a user namespace that is only there to
 * leave the network. */
static int drop_capabilities(const struct sandbox *s)
{
    (void)s;
    return geteuid() != 0 || takes_user_namespace ? rights_drop() : 0;
}

static int refuse_new_rights(const struct sandbox *s)
{
    (void)s;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static int stay_apart(const struct sandbox *s)
{
    return s->setup->apart ? rights_stay_apart() : 0;
}

static int go_to_folder(const struct sandbox *s)
{
    return chdir(s->setup->working_dir ? s->setup->working_dir : "/") < 0 ? -errno : 0;
}

static bool is_given(const struct message_setup *setup, const char *name)
{
    size_t length = strlen(name);

    for (uint32_t i = 0; i < setup->environment_count; i++)
        if (strncmp(setup->environment[i], name, length) == 0 &&
            setup->environment[i][length] == '=')
            return true;
    return false;
}

static char *variable(const char *name, const char *value)
{
    char *text = malloc(strlen(name) + strlen(value) + 2);

    if (text)
        stpcpy(stpcpy(stpcpy(text, name), "="), value);
    return text;
}

/* The whole list at once: setenv() keeps track of what may be set again, which no run needs and
 * each would pay for. */
static int set_environment(const struct sandbox *s)
{
    const struct message_setup *setup = s->setup;
    const struct {
        const char *name, *value;
    } rows[] = {
        { "PATH", PATH_DEFAULT }, { "LANG", "C.UTF-8" },
        { "SHELL", "/bin/sh" },   { "HOME", setup->home ? setup->home : "/" },
        { "USER", setup->user },  { "LOGNAME", setup->user },
    };
    size_t count = 0, row_count = sizeof(rows) / sizeof(rows[0]);
    char **list = calloc(setup->environment_count + row_count + 1, sizeof(*list));

    if (!list)
        return -ENOMEM;
    environ = list;
    for (uint32_t i = 0; i < setup->environment_count; i++) {
        list[count] = strdup(setup->environment[i]);
        if (!list[count++])
            return -ENOMEM;
    }
    for (size_t i = 0; i < row_count; i++) {
        if (!rows[i].value || is_given(setup, rows[i].name))
            continue;
        list[count] = variable(rows[i].name, rows[i].value);
        if (!list[count++])
            return -ENOMEM;
    }
    return 0;
}

static int close_memory(const struct sandbox *s)
{
    return prctl(PR_SET_DUMPABLE, s->may_be_dumped) < 0 ? -errno : 0;
}

/* It is no help where the parent died before. */
static int die_with_parent(const struct sandbox *s)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -errno;
    return getppid() == s->parent ? 0 : -ESRCH;
}

/* The order. First what takes the guard's rights: the group's file, the network, and hard limits
 * that rise. Then those rights are given up, for good. What is left is done as the job's user: a
 * folder that it may not enter is none for it to start in. Staying apart needs no_new_privs. A
 * change of user, and a user namespace, change whether the memory is open, and forget whose death
 * ends the process: these two are last. */
static const struct {
    const char *what; /* to follow "cannot" */
    int (*act)(const struct sandbox *s);
} steps[] = {
    { "begin a session", begin },
    { "join its control group", join_group },
    { "leave the network", leave_network },
    { "set its limits", set_limits },
    { "become the job's user", switch_user },
    { "leave the network (run rotad as root, allow user namespaces, or write network = true)",
      leave_network_as_user },
    { "give up its capabilities", drop_capabilities },
    { "give up new rights", refuse_new_rights },
    { "be kept apart from other jobs", stay_apart },
    { "go to its working_dir", go_to_folder },
    { "set its environment", set_environment },
    { "close its memory", close_memory },
    { "be bound to the guard's life", die_with_parent },
};

int sandbox_enter(const struct sandbox *s, const char **ret_step)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int r = steps[i].act(s);

        if (r < 0) {
            *ret_step = steps[i].what;
            return r;
        }
    }
    return 0;
}
