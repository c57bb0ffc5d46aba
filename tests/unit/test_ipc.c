/* SPDX-License-Identifier: MIT
 * ipc: frames and messages, whole and damaged. */
#include "ipc/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct frame out, in;
static int pair[2];

static int open_pair(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
}

static int close_pair(void **state)
{
    (void)state;
    close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
    return 0;
}

/* Sends `out` and receives it into `in`. The type. */
static int pass(void)
{
    assert_int_equal(frame_send(pair[0], &out), 0);
    return frame_receive(pair[1], &in);
}

static int pass_bytes(const void *bytes, size_t length)
{
    assert_int_equal(send(pair[0], bytes, length, 0), length);
    return frame_receive(pair[1], &in);
}

static const char *const items[] = { "/bin/sh", "", "a b" };
static const struct param_value params[] = {
    { .name = "command", .kind = PARAM_LIST, .items = items, .count = 3 },
    { .name = "empty", .kind = PARAM_LIST },
    { .name = "text", .kind = PARAM_TEXT, .text = "" },
    { .name = "number", .kind = PARAM_NUMBER, .text = "1.5" },
    { .name = "yes", .kind = PARAM_BOOLEAN, .text = "true" },
};

static const uint32_t groups[] = { 0, 4294967294u, 20 };
static const char *const variables[] = { "A=1 2", "B=" };

static const struct message_start start = {
    .plugin_path = "/usr/lib/rota/exec.so",
    .job = "nightly",
    .device = "gate-1",
    .turn_ms = -5,
    .fence = INT64_C(9007199254740991),
    .attempt = 2,
    .attempts = UINT32_MAX,
    .worst_case_ms = 600000,
    .stop_grace_ms = 5000,
    .margin_ms = 600,
    .max_runtime_ms = INT64_C(2400000),
    .deadline = { INT64_MAX },
    .purpose = 1,
    .setup = {
        .switch_user = true,
        .uid = 4294967294u,
        .gid = 7,
        .groups = groups,
        .group_count = 3,
        .user = "rota-job",
        .apart = true,
        .working_dir = "/data",
        .environment = variables,
        .environment_count = 2,
        .limits = { .memory_bytes = INT64_C(1) << 40,
                    .cpu_time_ms = 1000,
                    .open_files = 8,
                    .processes = 9,
                    .file_size_bytes = -1,
                    .core_bytes = 10 },
        .no_network = true,
        .cgroup = "/sys/fs/cgroup/x",
        .credentials = "/run/credentials/x",
    },
    .output_lines = 20,
    .params = params,
    .param_count = 5,
};

static void check_params(const struct param_value *got, uint32_t count)
{
    assert_int_equal(count, 5);
    assert_string_equal(got[0].name, "command");
    assert_int_equal(got[0].count, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(got[0].items[i], items[i]);
    assert_int_equal(got[1].kind, PARAM_LIST);
    assert_int_equal(got[1].count, 0);
    for (int i = 2; i < 5; i++) {
        assert_int_equal(got[i].kind, params[i].kind);
        assert_string_equal(got[i].name, params[i].name);
        assert_string_equal(got[i].text, params[i].text);
    }
}

/* That of `start`. */
static void check_setup(const struct message_setup *got)
{
    const struct message_setup *sent = &start.setup;

    assert_true(got->switch_user);
    assert_int_equal(got->uid, 4294967294u);
    assert_int_equal(got->gid, 7);
    assert_int_equal(got->group_count, 3);
    assert_memory_equal(got->groups, groups, sizeof(groups));
    assert_string_equal(got->user, "rota-job");
    assert_null(got->home);
    assert_true(got->apart);
    assert_string_equal(got->working_dir, "/data");
    assert_int_equal(got->environment_count, 2);
    assert_string_equal(got->environment[0], "A=1 2");
    assert_string_equal(got->environment[1], "B=");
    assert_memory_equal(&got->limits, &sent->limits, sizeof(sent->limits));
    assert_true(got->no_network);
    assert_string_equal(got->cgroup, sent->cgroup);
    assert_string_equal(got->credentials, sent->credentials);
}

static void test_start(void **state)
{
    struct message_start m;

    (void)state;
    message_pack_start(&out, &start);
    assert_int_equal(pass(), MESSAGE_START);
    assert_int_equal(message_unpack_start(&in, &m), 0);
    assert_string_equal(m.plugin_path, start.plugin_path);
    assert_string_equal(m.job, "nightly");
    assert_string_equal(m.device, "gate-1");
    assert_int_equal(m.turn_ms, -5);
    assert_int_equal(m.fence, start.fence);
    assert_int_equal(m.attempts, UINT32_MAX);
    assert_int_equal(m.deadline.ms, INT64_MAX);
    check_setup(&m.setup);
    message_free_setup(&m.setup);
    assert_int_equal(m.output_lines, 20);
    assert_int_equal(m.max_runtime_ms, 2400000);
    check_params(m.params, m.param_count);
    message_free_params(m.params, m.param_count);
}

static void test_probe(void **state)
{
    struct message_probe p = { .plugin_path = "/p.so",
                               .job = "j",
                               .index = 3,
                               .setup = start.setup,
                               .params = params,
                               .param_count = 5 },
                         m;

    (void)state;
    message_pack_probe(&out, &p);
    assert_int_equal(pass(), MESSAGE_PROBE);
    assert_int_equal(message_unpack_probe(&in, &m), 0);
    assert_int_equal(m.index, 3);
    check_setup(&m.setup);
    message_free_setup(&m.setup);
    check_params(m.params, m.param_count);
    message_free_params(m.params, m.param_count);
    p.param_count = 0;
    p.setup = (struct message_setup){ .limits = LIMITS_NONE };
    message_pack_probe(&out, &p);
    assert_int_equal(pass(), MESSAGE_PROBE);
    assert_int_equal(message_unpack_probe(&in, &m), 0);
    assert_int_equal(m.param_count, 0);
    assert_int_equal(m.setup.group_count + m.setup.environment_count, 0);
    message_free_params(m.params, m.param_count);
}

static void test_small_messages(void **state)
{
    struct message_deadline deadline = { .deadline = { 77 } };
    struct message_stop stop = { .reason = 9 };
    struct message_started started = { .worker_pid = 12, .started = { 34 } };
    struct message_output output = { .stream = 2, .text = "\x1b[31m\xff", .dropped = 4 };
    struct message_log line = { .level = 4, .text = "l" };
    struct message_progress progress = { .permille = -1, .text = "p" };

    (void)state;
    message_pack_deadline(&out, &deadline);
    assert_int_equal(pass(), MESSAGE_DEADLINE);
    assert_int_equal(message_unpack_deadline(&in, &deadline), 0);
    assert_int_equal(deadline.deadline.ms, 77);
    message_pack_stop(&out, &stop);
    assert_int_equal(pass(), MESSAGE_STOP);
    assert_int_equal(message_unpack_stop(&in, &stop), 0);
    assert_int_equal(stop.reason, 9);
    message_pack_started(&out, &started);
    assert_int_equal(pass(), MESSAGE_STARTED);
    assert_int_equal(message_unpack_started(&in, &started), 0);
    assert_int_equal(started.worker_pid, 12);
    assert_int_equal(started.started.ms, 34);
    assert_null(started.unapplied);
    started.unapplied = "no limits";
    message_pack_started(&out, &started);
    assert_int_equal(pass(), MESSAGE_STARTED);
    assert_int_equal(message_unpack_started(&in, &started), 0);
    assert_string_equal(started.unapplied, "no limits");
    message_pack_output(&out, &output);
    assert_int_equal(pass(), MESSAGE_OUTPUT);
    assert_int_equal(message_unpack_output(&in, &output), 0);
    assert_string_equal(output.text, "\x1b[31m\xff");
    assert_int_equal(output.dropped, 4);
    message_pack_log(&out, &line);
    assert_int_equal(pass(), MESSAGE_LOG);
    assert_int_equal(message_unpack_log(&in, &line), 0);
    assert_string_equal(line.text, "l");
    message_pack_progress(&out, &progress);
    assert_int_equal(pass(), MESSAGE_PROGRESS);
    assert_int_equal(message_unpack_progress(&in, &progress), 0);
    assert_int_equal(progress.permille, -1);
}

static const struct message_ended ended = {
    .how = ENDED_SIGNALLED,
    .stop = STOP_OVERRUN,
    .reason = 1,
    .result = -110,
    .code = 9,
    .clean = true,
    .killed = true,
    .leftovers = 2,
    .ran_ms = 1234,
    .detail = "why",
};

static void test_ended(void **state)
{
    struct message_ended m = ended, bad = ended;

    (void)state;
    message_pack_ended(&out, &ended);
    assert_int_equal(pass(), MESSAGE_ENDED);
    assert_int_equal(message_unpack_ended(&in, &m), 0);
    assert_int_equal(m.how, ENDED_SIGNALLED);
    assert_int_equal(m.result, -110);
    assert_true(m.clean && m.killed);
    assert_int_equal(m.ran_ms, 1234);
    assert_string_equal(m.detail, "why");
    bad.how = 6;
    message_pack_ended(&out, &bad);
    assert_int_equal(pass(), MESSAGE_ENDED);
    assert_int_equal(message_unpack_ended(&in, &m), -EBADMSG);
    bad = ended;
    bad.detail = NULL;
    message_pack_ended(&out, &bad);
    assert_int_equal(pass(), MESSAGE_ENDED);
    assert_int_equal(message_unpack_ended(&in, &m), -EBADMSG);
}

static void test_probed(void **state)
{
    struct message_probed p = { .index = 1,
                                .loaded = true,
                                .name = "exec",
                                .version = "1",
                                .summary = "s" },
                          m;

    (void)state;
    for (int i = 0; i < PROBE_ERRORS_MAX; i++)
        p.errors[p.error_count++] = (struct probe_error){ .param = i - 1, .text = "wrong" };
    message_pack_probed(&out, &p);
    assert_int_equal(pass(), MESSAGE_PROBED);
    assert_int_equal(message_unpack_probed(&in, &m), 0);
    assert_int_equal(m.error_count, PROBE_ERRORS_MAX);
    assert_int_equal(m.errors[0].param, -1);
    assert_int_equal(m.errors[PROBE_ERRORS_MAX - 1].param, PROBE_ERRORS_MAX - 2);
    assert_string_equal(m.errors[3].text, "wrong");
    /* One that does not say why it was not loaded. */
    p = (struct message_probed){ .index = 1 };
    message_pack_probed(&out, &p);
    assert_int_equal(pass(), MESSAGE_PROBED);
    assert_int_equal(message_unpack_probed(&in, &m), -EBADMSG);
}

/* One that was built before the settings of a job were. */
static void test_setup_of_an_earlier_peer(void **state)
{
    struct message_probe m;

    (void)state;
    frame_begin(&out, MESSAGE_PROBE);
    frame_put_text(&out, 1, "/x");
    frame_put_text(&out, 2, "j");
    frame_put_integer(&out, 3, 0);
    assert_int_equal(pass(), MESSAGE_PROBE);
    assert_int_equal(message_unpack_probe(&in, &m), 0);
    assert_false(m.setup.switch_user || m.setup.apart || m.setup.no_network);
    assert_null(m.setup.environment);
    assert_null(m.setup.groups);
    assert_null(m.setup.cgroup);
    assert_int_equal(m.setup.limits.open_files, 0);
    assert_true(m.setup.limits.file_size_bytes == -1);
    message_free_setup(&m.setup);
}

static void refuse_start(uint16_t tag, int64_t value)
{
    struct message_start m;

    message_pack_start(&out, &start);
    if (value == INT64_MAX)
        frame_put(&out, tag, "x", 1);
    else
        frame_put_integer(&out, tag, value);
    assert_int_equal(pass(), MESSAGE_START);
    assert_int_equal(message_unpack_start(&in, &m), -EBADMSG);
}

static void test_setup_that_is_none(void **state)
{
    (void)state;
    refuse_start(60, -1);
    refuse_start(60, INT64_C(4294967296));
    refuse_start(60, INT64_MAX);
    refuse_start(61, INT64_MAX);
    refuse_start(61, 5);
    refuse_start(62, 2);
    refuse_start(64, INT64_MAX);
}

static void test_unknown_tags_are_skipped(void **state)
{
    struct message_stop m;

    (void)state;
    message_pack_stop(&out, &(struct message_stop){ .reason = 5 });
    frame_put_text(&out, 999, "from a newer peer");
    assert_int_equal(pass(), MESSAGE_STOP);
    assert_int_equal(message_unpack_stop(&in, &m), 0);
    assert_int_equal(m.reason, 5);
}

static void test_ranges(void **state)
{
    struct message_stop m;
    static const int64_t wrong[] = { -1, INT64_C(1) << 32 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        frame_begin(&out, MESSAGE_STOP);
        frame_put_integer(&out, 1, wrong[i]);
        assert_int_equal(pass(), MESSAGE_STOP);
        assert_int_equal(message_unpack_stop(&in, &m), -EBADMSG);
    }
    frame_begin(&out, MESSAGE_STOP);
    frame_put(&out, 1, "1234567", 7);
    assert_int_equal(pass(), MESSAGE_STOP);
    assert_int_equal(message_unpack_stop(&in, &m), -EBADMSG);
    frame_begin(&out, MESSAGE_STOP);
    assert_int_equal(pass(), MESSAGE_STOP);
    assert_int_equal(message_unpack_stop(&in, &m), -EBADMSG);
}

/* Neither one that lacks a member, nor one with a member of the wrong kind behind a good one. */
static void test_what_is_refused_leaves_no_trace(void **state)
{
    struct message_started started = { .worker_pid = 7 };
    struct message_log line = { .level = 7 };

    (void)state;
    frame_begin(&out, MESSAGE_STARTED);
    frame_put_integer(&out, 1, 8);
    assert_int_equal(pass(), MESSAGE_STARTED);
    assert_int_equal(message_unpack_started(&in, &started), -EBADMSG);
    assert_int_equal(started.worker_pid, 7);
    frame_begin(&out, MESSAGE_LOG);
    frame_put_integer(&out, 1, 8);
    frame_put(&out, 2, "no end", 6);
    assert_int_equal(pass(), MESSAGE_LOG);
    assert_int_equal(message_unpack_log(&in, &line), -EBADMSG);
    assert_int_equal(line.level, 7);
}

static void test_texts_end_once(void **state)
{
    static const struct field bad[] = { { .data = "", .length = 0 },
                                        { .data = "ab", .length = 2 },
                                        { .data = "a\0b", .length = 4 } };
    const char *text;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(field_text(&bad[i], &text), -EBADMSG);
}

static void test_packets_that_are_none(void **state)
{
    (void)state;
    message_pack_stop(&out, &(struct message_stop){ .reason = 5 });
    for (size_t length = 1; length < out.length; length++)
        assert_int_equal(pass_bytes(out.bytes, length), -EBADMSG);
    out.bytes[out.length] = 0;
    assert_int_equal(pass_bytes(out.bytes, out.length + 1), -EBADMSG);
    for (int i = 0; i < 6; i++) { /* magic and version */
        out.bytes[i] ^= 1;
        assert_int_equal(pass_bytes(out.bytes, out.length), -EBADMSG);
        out.bytes[i] ^= 1;
    }
    assert_int_equal(pass(), MESSAGE_STOP);
}

static void test_overlong(void **state)
{
    static char large[FRAME_MAX + 16];

    (void)state;
    frame_begin(&out, MESSAGE_LOG);
    frame_put(&out, 1, large, FRAME_MAX - FRAME_HEADER_SIZE - FRAME_FIELD_SIZE);
    assert_false(out.overflow);
    assert_int_equal(out.length, FRAME_MAX);
    assert_int_equal(pass(), MESSAGE_LOG);
    frame_put(&out, 2, "", 0);
    assert_true(out.overflow);
    assert_int_equal(frame_send(pair[0], &out), -EMSGSIZE);
    frame_begin(&out, MESSAGE_LOG);
    frame_put(&out, 1, large, SIZE_MAX);
    assert_int_equal(frame_send(pair[0], &out), -EMSGSIZE);
    assert_int_equal(pass_bytes(large, sizeof(large)), -EBADMSG);
}

static void test_nobody_and_nothing(void **state)
{
    (void)state;
    assert_int_equal(frame_receive(pair[1], &in), -EAGAIN);
    message_pack_stop(&out, &(struct message_stop){ .reason = 5 });
    for (int r = 0; r == 0;) {
        r = frame_send(pair[0], &out);
        assert_true(r == 0 || r == -EAGAIN);
    }
    close(pair[1]);
    pair[1] = -1;
    assert_int_equal(frame_send(pair[0], &out), -EPIPE);
    assert_int_equal(frame_receive(pair[0], &in), 0);
}

/* The kernel tells first that a packet was never read, and then hands on what the peer had sent. */
static void test_last_word_of_who_did_not_listen(void **state)
{
    (void)state;
    message_pack_stop(&out, &(struct message_stop){ .reason = 5 });
    assert_int_equal(frame_send(pair[1], &out), 0);
    assert_int_equal(frame_send(pair[1], &out), 0);
    assert_int_equal(frame_send(pair[0], &out), 0);
    close(pair[1]);
    pair[1] = -1;
    assert_int_equal(frame_receive(pair[0], &in), MESSAGE_STOP);
    assert_int_equal(frame_receive(pair[0], &in), MESSAGE_STOP);
    assert_int_equal(frame_receive(pair[0], &in), 0);
}

static void send_descriptor(int fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = { 0 };
    struct iovec packet = { out.bytes, out.length };
    struct msghdr m = { .msg_iov = &packet,
                        .msg_iovlen = 1,
                        .msg_control = control,
                        .msg_controllen = sizeof(control) };
    struct cmsghdr *head = CMSG_FIRSTHDR(&m);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    assert_int_equal(sendmsg(pair[0], &m, 0), out.length);
}

/* It is not closed: that could wait for ever. */
static void test_descriptors_are_refused_and_left_open(void **state)
{
    int given[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(given), 0);
    message_pack_stop(&out, &(struct message_stop){ .reason = 5 });
    send_descriptor(given[1]);
    assert_int_equal(frame_receive(pair[1], &in), -EPERM);
    /* With none that can write, a read would be at an end. */
    close(given[1]);
    assert_int_equal(fcntl(given[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(read(given[0], &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
    close(given[0]);
    assert_int_equal(pass(), MESSAGE_STOP);
}

static void free_start(const struct message_start *m)
{
    message_free_params(m->params, m->param_count);
    message_free_setup(&m->setup);
}

/* Whatever stands in a packet, unpacking reads inside it: shown by the sanitizers. */
static void test_damage(void **state)
{
    struct message_start m;

    (void)state;
    message_pack_start(&out, &start);
    for (size_t i = FRAME_HEADER_SIZE; i < out.length; i++) {
        for (int flip = 1; flip < 256; flip <<= 1) {
            memcpy(&in, &out, offsetof(struct frame, bytes) + out.length);
            in.bytes[i] ^= (unsigned char)flip;
            if (message_unpack_start(&in, &m) == 0)
                free_start(&m);
        }
    }
    for (size_t length = FRAME_HEADER_SIZE; length < out.length; length++) {
        memcpy(&in, &out, offsetof(struct frame, bytes) + out.length);
        in.length = length;
        if (message_unpack_start(&in, &m) == 0)
            free_start(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_start, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_probe, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_small_messages, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_ended, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_probed, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_setup_of_an_earlier_peer, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_setup_that_is_none, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_unknown_tags_are_skipped, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_ranges, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_what_is_refused_leaves_no_trace, open_pair,
                                        close_pair),
        cmocka_unit_test(test_texts_end_once),
        cmocka_unit_test_setup_teardown(test_packets_that_are_none, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_overlong, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_nobody_and_nothing, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_last_word_of_who_did_not_listen, open_pair,
                                        close_pair),
        cmocka_unit_test_setup_teardown(test_descriptors_are_refused_and_left_open, open_pair,
                                        close_pair),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
