/* SPDX-License-Identifier: MIT
 * Frames between supervisor, guard and worker, each type by its own unpack: what is taken from one
 * packs into a frame that says the same.
 *
 * An input that begins with "ROTA" is a packet. Any other is a recipe of one, so that the numbers
 * in it need not be guessed: the type, then a line for each step.
 *   TAG t TEXT      a text                 AT p BYTE   afterwards, at AT: another byte
 *   TAG i NUMBER    an integer             AT c        afterwards, cut there
 *   TAG b BYTES     neither: no NUL at its end */
#include "fuzz.h"
#include "ipc/messages.h"
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#define TYPES_END 128

union message {
    struct message_start start;
    struct message_deadline deadline;
    struct message_stop stop;
    struct message_probe probe;
    struct message_started started;
    struct message_output output;
    struct message_log log;
    struct message_progress progress;
    struct message_ended ended;
    struct message_probed probed;
};

static struct frame packet, received, first, second;

static void put_step(struct frame *f, unsigned at, char step, const char *rest)
{
    switch (step) {
    case 't':
        frame_put_text(f, (uint16_t)at, rest);
        break;
    case 'i':
        frame_put_integer(f, (uint16_t)at, strtoll(rest, NULL, 10));
        break;
    case 'b':
        frame_put(f, (uint16_t)at, rest, strlen(rest));
        break;
    case 'p':
        if (at < f->length)
            f->bytes[at] = (unsigned char)strtol(rest, NULL, 10);
        break;
    case 'c':
        if (at < f->length)
            f->length = at;
        break;
    default:
        break;
    }
}

static void cook(char *recipe)
{
    char *save = NULL, *line = strtok_r(recipe, "\n", &save);

    frame_begin(&packet, line ? (uint16_t)strtol(line, NULL, 10) : 0);
    while ((line = strtok_r(NULL, "\n", &save))) {
        unsigned at;
        char step;
        int used = 0;

        if (sscanf(line, "%5u %c%n", &at, &step, &used) == 2)
            put_step(&packet, at, step, line + used + (line[used] == ' '));
    }
}

static void fill_packet(const uint8_t *data, size_t size)
{
    char *recipe;

    if (size >= 4 && size <= FRAME_MAX && memcmp(data, "ROTA", 4) == 0) {
        memcpy(packet.bytes, data, size);
        packet.length = size;
        packet.overflow = false;
        return;
    }
    recipe = fuzz_text(data, size);
    cook(recipe);
    free(recipe);
}

/* What frame_receive() gives for it. */
static int pass(const struct frame *f, struct frame *ret_frame)
{
    static int pair[2] = { -1, -1 };

    if (pair[0] < 0)
        assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    assert(frame_send(pair[0], f) == 0);
    return frame_receive(pair[1], ret_frame);
}

static int unpack(struct frame *f, int type, union message *ret_m)
{
    switch (type) {
    case MESSAGE_START:
        return message_unpack_start(f, &ret_m->start);
    case MESSAGE_DEADLINE:
        return message_unpack_deadline(f, &ret_m->deadline);
    case MESSAGE_STOP:
        return message_unpack_stop(f, &ret_m->stop);
    case MESSAGE_PROBE:
        return message_unpack_probe(f, &ret_m->probe);
    case MESSAGE_STARTED:
        return message_unpack_started(f, &ret_m->started);
    case MESSAGE_OUTPUT:
        return message_unpack_output(f, &ret_m->output);
    case MESSAGE_LOG:
        return message_unpack_log(f, &ret_m->log);
    case MESSAGE_PROGRESS:
        return message_unpack_progress(f, &ret_m->progress);
    case MESSAGE_ENDED:
        return message_unpack_ended(f, &ret_m->ended);
    case MESSAGE_PROBED:
        return message_unpack_probed(f, &ret_m->probed);
    default:
        return -EBADMSG;
    }
}

static void pack(struct frame *f, int type, const union message *m)
{
    switch (type) {
    case MESSAGE_START:
        message_pack_start(f, &m->start);
        break;
    case MESSAGE_DEADLINE:
        message_pack_deadline(f, &m->deadline);
        break;
    case MESSAGE_STOP:
        message_pack_stop(f, &m->stop);
        break;
    case MESSAGE_PROBE:
        message_pack_probe(f, &m->probe);
        break;
    case MESSAGE_STARTED:
        message_pack_started(f, &m->started);
        break;
    case MESSAGE_OUTPUT:
        message_pack_output(f, &m->output);
        break;
    case MESSAGE_LOG:
        message_pack_log(f, &m->log);
        break;
    case MESSAGE_PROGRESS:
        message_pack_progress(f, &m->progress);
        break;
    case MESSAGE_ENDED:
        message_pack_ended(f, &m->ended);
        break;
    default:
        message_pack_probed(f, &m->probed);
        break;
    }
}

static void check_params(const struct param_value *params, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert(params[i].name);
        assert(params[i].kind >= PARAM_TEXT && params[i].kind <= PARAM_LIST);
        assert(params[i].kind == PARAM_LIST || params[i].text);
        for (uint32_t k = 0; k < params[i].count; k++)
            assert(memchr(params[i].items[k], '\0', FRAME_MAX));
    }
}

static void check_setup(const struct message_setup *setup)
{
    for (uint32_t i = 0; i < setup->environment_count; i++)
        assert(memchr(setup->environment[i], '\0', FRAME_MAX));
    assert(setup->group_count == 0 || setup->groups);
}

static void check_message(int type, const union message *m)
{
    switch (type) {
    case MESSAGE_START:
        assert(m->start.plugin_path && m->start.job && m->start.device);
        check_params(m->start.params, m->start.param_count);
        check_setup(&m->start.setup);
        break;
    case MESSAGE_PROBE:
        assert(m->probe.plugin_path && m->probe.job);
        check_params(m->probe.params, m->probe.param_count);
        check_setup(&m->probe.setup);
        break;
    case MESSAGE_ENDED:
        assert(m->ended.how >= ENDED_RETURNED && m->ended.how <= ENDED_UNSTARTED);
        assert(m->ended.stop <= STOP_ORPHANED && m->ended.detail);
        break;
    case MESSAGE_PROBED:
        assert(m->probed.error_count <= PROBE_ERRORS_MAX);
        for (uint32_t i = 0; i < m->probed.error_count; i++)
            assert(m->probed.errors[i].text && m->probed.errors[i].param >= -1);
        break;
    default:
        break;
    }
}

static void free_message(int type, const union message *m)
{
    if (type == MESSAGE_START) {
        message_free_params(m->start.params, m->start.param_count);
        message_free_setup(&m->start.setup);
    } else if (type == MESSAGE_PROBE) {
        message_free_params(m->probe.params, m->probe.param_count);
        message_free_setup(&m->probe.setup);
    }
}

/* What `from` says, packed anew; false where it says nothing. */
static bool repack(struct frame *from, int type, struct frame *ret_frame)
{
    union message m = { 0 };

    if (unpack(from, type, &m) < 0)
        return false;
    check_message(type, &m);
    pack(ret_frame, type, &m);
    free_message(type, &m);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int type;

    fill_packet(data, size);
    if (packet.overflow || packet.length == 0)
        return 0;
    type = pass(&packet, &received);
    if (type < 0) {
        /* No frame: whoever takes it for one all the same is told so, at the worst. */
        assert(type == -EBADMSG);
        return 0;
    }
    for (int other = 1; other < TYPES_END; other++)
        repack(&received, other, &first);
    /* Optional fields that were absent make it longer. */
    if (!repack(&received, type, &first) || first.overflow)
        return 0;
    assert(pass(&first, &received) == type);
    assert(repack(&received, type, &second) && !second.overflow);
    assert(first.length == second.length);
    assert(memcmp(first.bytes, second.bytes, first.length) == 0);
    return 0;
}
