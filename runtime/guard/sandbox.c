/* SPDX-License-Identifier: MIT */
#include "guard/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
    int high[SANDBOX_FDS];

    for (int i = 0; i < s->fd_count; i++) {
        int source = s->fds[i] >= 0 ? s->fds[i] : open("/dev/null", O_RDWR | O_CLOEXEC);

        high[i] = source < 0 ? -1 : fcntl(source, F_DUPFD_CLOEXEC, SANDBOX_FDS);
        if (high[i] < 0)
            return -errno;
    }
    for (int i = 0; i < s->fd_count; i++)
        if (dup3(high[i], i, i > STDERR_FILENO ? O_CLOEXEC : 0) < 0)
            return -errno;
    return close_range((unsigned)s->fd_count, ~0U, 0) < 0 ? -errno : 0;
}

static int set_environment(const struct sandbox *s)
{
    const struct {
        const char *name, *value;
    } rows[] = {
        { "PATH", PATH_DEFAULT }, { "LANG", "C.UTF-8" },
        { "SHELL", "/bin/sh" },   { "HOME", s->home ? s->home : "/" },
        { "USER", s->user },      { "LOGNAME", s->user },
    };

    if (clearenv() != 0)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].value && setenv(rows[i].name, rows[i].value, 1) < 0)
            return -errno;
    return 0;
}

static int switch_user(const struct sandbox *s)
{
    uid_t ruid, euid, suid;
    gid_t rgid, egid, sgid;

    if (setgroups(1, &s->gid) < 0 || setresgid(s->gid, s->gid, s->gid) < 0 ||
        setresuid(s->uid, s->uid, s->uid) < 0)
        return -errno;
    if (getresuid(&ruid, &euid, &suid) < 0 || getresgid(&rgid, &egid, &sgid) < 0)
        return -errno;
    if (ruid != s->uid || euid != s->uid || suid != s->uid || rgid != s->gid || egid != s->gid ||
        sgid != s->gid)
        return -EPERM;
    return 0;
}

/* Set last: a change of user clears it. It is no help where the parent died before. */
static int die_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -errno;
    return getppid() == parent ? 0 : -ESRCH;
}

int sandbox_enter(const struct sandbox *s, const char **ret_step)
{
    const struct rlimit no_core = { 0 };
    int r;

    sandbox_reset_signals();
    setsid(); /* fails only where this is a leader already */
    umask(022);
    *ret_step = "go to /";
    if (chdir("/") < 0)
        return -errno;
    *ret_step = "set its environment";
    r = set_environment(s);
    if (r < 0)
        return r;
    *ret_step = "give up core dumps and new privileges";
    if (setrlimit(RLIMIT_CORE, &no_core) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    *ret_step = "become the job's user";
    r = s->switch_user ? switch_user(s) : 0;
    if (r < 0)
        return r;
    *ret_step = "be bound to the guard's life";
    return die_with(s->parent);
}
