/* SPDX-License-Identifier: MIT */
#include "guard/probe.h"
#include "guard/probe_answer.h"
#include "guard/probe_file.h"
#include "guard/rights.h"
#include "guard/run.h"
#include "guard/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct {
    struct probe_file file; /* of the last question */
    struct frame question, answer;
} probe;

void probe_ask(const struct message_probe *question, struct frame *answer)
{
    int r;

    message_pack_probe(&probe.question, question);
    r = probe.question.overflow ? -EMSGSIZE
                                : probe_file_init(&probe.file, &probe.question, true, -1);
    if (r < 0) {
        probe_answer_error(answer, question->index, "the plugin could not be probed: %s",
                           strerror(-r));
        return;
    }
    probe_file_ask(&probe.file, &probe.question, question->index, answer);
    probe_file_done(&probe.file);
}

/* -EPIPE: the supervisor needs no more. */
static int receive_question(struct message_probe *ret_question)
{
    int type = frame_receive(CONTROL_SOCKET, &probe.question);

    if (type == 0)
        return -EPIPE;
    if (type < 0)
        return type;
    return type == MESSAGE_PROBE ? message_unpack_probe(&probe.question, ret_question) : -EPROTO;
}

static int send_answer(void)
{
    struct pollfd room = { .fd = CONTROL_SOCKET, .events = POLLOUT };
    int r;

    while ((r = frame_send(CONTROL_SOCKET, &probe.answer)) == -EAGAIN)
        if (poll(&room, 1, -1) < 0 && errno != EINTR)
            return -errno;
    return r;
}

static int answer_next(void)
{
    struct message_probe question;
    const char *why = NULL; /* no run of the job could be started */
    uint32_t index;
    int r = receive_question(&question);

    if (r < 0)
        return r == -EAGAIN ? 0 : r;
    index = question.index;
    if (rights_check_kill(&question.setup, &why) == 0 &&
        !probe_file_is_of(&probe.file, &question)) {
        probe_file_done(&probe.file);
        r = probe_file_init(&probe.file, &probe.question, false, CONTROL_SOCKET);
    }
    message_free_params(question.params, question.param_count);
    message_free_setup(&question.setup);
    if (r < 0)
        return r;
    if (why)
        probe_answer_error(&probe.answer, index, "%s", why);
    else
        probe_file_ask(&probe.file, &probe.question, index, &probe.answer);
    return send_answer();
}

int probe_main(void)
{
    struct pollfd fd = { .fd = CONTROL_SOCKET, .events = POLLIN };
    int r;

    sandbox_reset_signals();
    if (close_range(CONTROL_SOCKET + 1, ~0U, 0) < 0 ||
        fcntl(CONTROL_SOCKET, F_SETFD, FD_CLOEXEC) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ||
        /* Parameters may be secrets: see run_main(). */
        prctl(PR_SET_DUMPABLE, 0) < 0) {
        fprintf(stderr, "rota-guard: it cannot be set up: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    do {
        poll(&fd, 1, -1);
        r = answer_next();
    } while (r == 0);
    probe_file_done(&probe.file);
    if (r == -EPIPE)
        return EXIT_SUCCESS;
    fprintf(stderr, "rota-guard: the supervisor's message is no PROBE: %s\n", strerror(-r));
    return EXIT_FAILURE;
}
