/* SPDX-License-Identifier: MIT */
#include "rotactl/watch.h"
#include "rotactl/call.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

/* From one picture to the next. */
#define WATCH_S 2
#define CLEAR "\x1b[2J"
/* No colour, lines are broken again (screen_draw()), and a line of its own for what comes next. */
#define LEAVE "\x1b[0m\x1b[?7h\n"

/* Then the signal does what it does without this: who started rotactl sees by what it ended. */
static void on_end(int number)
{
    ssize_t n = write(STDOUT_FILENO, LEAVE, strlen(LEAVE));

    (void)n;
    raise(number);
}

static void take_signals(void)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction end = { .sa_handler = on_end, .sa_flags = (int)SA_RESETHAND };

    /* One that was ignored when this was started stays so. */
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction before;

        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(ends[i], &end, NULL);
    }
}

/* True: it has another size, perhaps for a while already. That is a signal, which would break off a
 * question to rotad: it is heard here alone. */
static bool wait_for_resize(const sigset_t *resize)
{
    const struct timespec pause = { .tv_sec = WATCH_S };

    return sigtimedwait(resize, NULL, &pause) == SIGWINCH;
}

int watch(watch_picture *draw, void *context)
{
    sigset_t resize;
    bool resized = true;
    int rc;

    if (!isatty(STDOUT_FILENO)) {
        fputs("rotactl: --watch draws on a terminal, which standard output is not; leave it out\n",
              stderr);
        return EX_USAGE;
    }
    take_signals();
    sigemptyset(&resize);
    sigaddset(&resize, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &resize, NULL);
    for (;;) {
        if (resized)
            fputs(CLEAR, stdout);
        rc = draw(context);
        /* Nobody would see the next one where the terminal is gone. */
        if ((rc != 0 && rc != STATUS_LOOK) || ferror(stdout))
            return rc;
        resized = wait_for_resize(&resize);
    }
}
