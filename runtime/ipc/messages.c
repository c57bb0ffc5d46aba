/* SPDX-License-Identifier: MIT */
#include "ipc/messages.h"
#include "ipc/row.h"
#include "ipc/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A parameter is written as its name, its kind, then one text, or one item an element. */
enum { TAG_PARAM_NAME = 40, TAG_PARAM_KIND, TAG_PARAM_TEXT, TAG_PARAM_ITEM };
/* One thing that is wrong: the parameter's index, then the sentence. */
enum { TAG_ERROR_PARAM = 50, TAG_ERROR_TEXT };

static const struct row start_rows[] = {
    { .tag = 1, .kind = ROW_TEXT, .offset = offsetof(struct message_start, plugin_path) },
    { .tag = 2, .kind = ROW_TEXT, .offset = offsetof(struct message_start, job) },
    { .tag = 3, .kind = ROW_TEXT, .offset = offsetof(struct message_start, device) },
    { .tag = 4, .kind = ROW_I64, .offset = offsetof(struct message_start, turn_ms) },
    { .tag = 5, .kind = ROW_I64, .offset = offsetof(struct message_start, fence) },
    { .tag = 6, .kind = ROW_U32, .offset = offsetof(struct message_start, attempt) },
    { .tag = 7, .kind = ROW_U32, .offset = offsetof(struct message_start, attempts) },
    { .tag = 8, .kind = ROW_I64, .offset = offsetof(struct message_start, worst_case_ms) },
    { .tag = 9, .kind = ROW_I64, .offset = offsetof(struct message_start, stop_grace_ms) },
    { .tag = 10, .kind = ROW_I64, .offset = offsetof(struct message_start, margin_ms) },
    { .tag = 11, .kind = ROW_I64, .offset = offsetof(struct message_start, deadline.ms) },
    { .tag = 12, .kind = ROW_U32, .offset = offsetof(struct message_start, purpose) },
    { .tag = 13, .kind = ROW_BOOL, .offset = offsetof(struct message_start, setup.switch_user) },
    { .tag = 14, .kind = ROW_U32, .offset = offsetof(struct message_start, setup.uid) },
    { .tag = 15, .kind = ROW_U32, .offset = offsetof(struct message_start, setup.gid) },
    { .tag = 16,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_start, setup.user) },
    { .tag = 17,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_start, setup.home) },
    { .tag = 18, .kind = ROW_U32, .offset = offsetof(struct message_start, output_lines) },
    { .tag = 19,
      .kind = ROW_I64,
      .optional = true,
      .offset = offsetof(struct message_start, max_runtime_ms) },
    { .kind = ROW_END },
};

static const struct row deadline_rows[] = {
    { .tag = 1, .kind = ROW_I64, .offset = offsetof(struct message_deadline, deadline.ms) },
    { .kind = ROW_END },
};

static const struct row stop_rows[] = {
    { .tag = 1, .kind = ROW_U32, .offset = offsetof(struct message_stop, reason) },
    { .kind = ROW_END },
};

static const struct row probe_rows[] = {
    { .tag = 1, .kind = ROW_TEXT, .offset = offsetof(struct message_probe, plugin_path) },
    { .tag = 2, .kind = ROW_TEXT, .offset = offsetof(struct message_probe, job) },
    { .tag = 3, .kind = ROW_U32, .offset = offsetof(struct message_probe, index) },
    { .tag = 4,
      .kind = ROW_BOOL,
      .optional = true,
      .offset = offsetof(struct message_probe, setup.switch_user) },
    { .tag = 5,
      .kind = ROW_U32,
      .optional = true,
      .offset = offsetof(struct message_probe, setup.uid) },
    { .tag = 6,
      .kind = ROW_U32,
      .optional = true,
      .offset = offsetof(struct message_probe, setup.gid) },
    { .tag = 7,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_probe, setup.user) },
    { .tag = 8,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_probe, setup.home) },
    { .kind = ROW_END },
};

static const struct row started_rows[] = {
    { .tag = 1, .kind = ROW_I32, .offset = offsetof(struct message_started, worker_pid) },
    { .tag = 2, .kind = ROW_I64, .offset = offsetof(struct message_started, started.ms) },
    { .tag = 3,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_started, unapplied) },
    { .kind = ROW_END },
};

static const struct row output_rows[] = {
    { .tag = 1, .kind = ROW_U32, .offset = offsetof(struct message_output, stream) },
    { .tag = 2, .kind = ROW_TEXT, .offset = offsetof(struct message_output, text) },
    { .tag = 3, .kind = ROW_U32, .offset = offsetof(struct message_output, dropped) },
    { .kind = ROW_END },
};

static const struct row log_rows[] = {
    { .tag = 1, .kind = ROW_U32, .offset = offsetof(struct message_log, level) },
    { .tag = 2, .kind = ROW_TEXT, .offset = offsetof(struct message_log, text) },
    { .kind = ROW_END },
};

static const struct row progress_rows[] = {
    { .tag = 1, .kind = ROW_I32, .offset = offsetof(struct message_progress, permille) },
    { .tag = 2, .kind = ROW_TEXT, .offset = offsetof(struct message_progress, text) },
    { .kind = ROW_END },
};

/* An enum of this ABI is kept in 32 bits. */
_Static_assert(sizeof(enum ended_how) == sizeof(uint32_t), "enums are 32 bits");

static const struct row ended_rows[] = {
    { .tag = 1, .kind = ROW_U32, .offset = offsetof(struct message_ended, how) },
    { .tag = 2, .kind = ROW_U32, .offset = offsetof(struct message_ended, stop) },
    { .tag = 3, .kind = ROW_U32, .offset = offsetof(struct message_ended, reason) },
    { .tag = 4, .kind = ROW_I32, .offset = offsetof(struct message_ended, result) },
    { .tag = 5, .kind = ROW_I32, .offset = offsetof(struct message_ended, code) },
    { .tag = 6, .kind = ROW_BOOL, .offset = offsetof(struct message_ended, clean) },
    { .tag = 7, .kind = ROW_BOOL, .offset = offsetof(struct message_ended, killed) },
    { .tag = 8, .kind = ROW_U32, .offset = offsetof(struct message_ended, leftovers) },
    { .tag = 9, .kind = ROW_I64, .offset = offsetof(struct message_ended, ran_ms) },
    { .tag = 10, .kind = ROW_TEXT, .offset = offsetof(struct message_ended, detail) },
    { .kind = ROW_END },
};

static const struct row probed_rows[] = {
    { .tag = 1, .kind = ROW_U32, .offset = offsetof(struct message_probed, index) },
    { .tag = 2, .kind = ROW_BOOL, .offset = offsetof(struct message_probed, loaded) },
    { .tag = 3,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_probed, name) },
    { .tag = 4,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_probed, version) },
    { .tag = 5,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_probed, summary) },
    { .kind = ROW_END },
};

static void put_params(struct frame *f, const struct param_value *params, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        frame_put_text(f, TAG_PARAM_NAME, params[i].name);
        frame_put_integer(f, TAG_PARAM_KIND, params[i].kind);
        if (params[i].kind != PARAM_LIST)
            frame_put_text(f, TAG_PARAM_TEXT, params[i].text);
        else
            for (uint32_t k = 0; k < params[i].count; k++)
                frame_put_text(f, TAG_PARAM_ITEM, params[i].items[k]);
    }
}

static int take_param_field(const struct field *field, struct param_value *param,
                            const char ***next_item)
{
    int64_t kind;
    int r;

    switch (field->tag) {
    case TAG_PARAM_KIND:
        r = field_integer(field, &kind);
        if (r < 0 || kind < PARAM_TEXT || kind > PARAM_LIST)
            return -EBADMSG;
        param->kind = (enum param_kind)kind;
        return 0;
    case TAG_PARAM_TEXT:
        return field_text(field, &param->text);
    case TAG_PARAM_ITEM:
        r = field_text(field, *next_item);
        if (r < 0)
            return r;
        if (param->count++ == 0)
            param->items = *next_item;
        (*next_item)++;
        return 0;
    default:
        return 0;
    }
}

static int fill_params(struct frame *f, struct param_value *params, const char **next_item)
{
    struct param_value *param = NULL, *next = params;
    struct field field;
    int r;

    f->read_at = FRAME_HEADER_SIZE;
    while ((r = frame_next(f, &field)) > 0) {
        if (field.tag == TAG_PARAM_NAME) {
            param = next++;
            r = field_text(&field, &param->name);
        } else if (field.tag > TAG_PARAM_NAME && field.tag <= TAG_PARAM_ITEM) {
            r = param ? take_param_field(&field, param, &next_item) : -EBADMSG;
        }
        if (r < 0)
            return r;
    }
    for (param = params; r == 0 && param < next; param++)
        if (param->kind == 0 || (param->kind != PARAM_LIST && !param->text))
            return -EBADMSG;
    return r;
}

/* One heap block: the parameters, then the pointers to all their items. */
static int unpack_params(struct frame *f, const struct param_value **ret_params,
                         uint32_t *ret_count)
{
    uint32_t count = 0, items = 0;
    struct param_value *params;
    struct field field;
    int r;

    f->read_at = FRAME_HEADER_SIZE;
    while ((r = frame_next(f, &field)) > 0) {
        count += field.tag == TAG_PARAM_NAME;
        items += field.tag == TAG_PARAM_ITEM;
    }
    if (r < 0)
        return r;
    if (count == 0 && items == 0)
        return 0;
    params = calloc(1, count * sizeof(*params) + items * sizeof(char *));
    if (!params)
        return -ENOMEM;
    r = fill_params(f, params, (const char **)(void *)(params + count));
    if (r < 0) {
        free(params);
        return r;
    }
    *ret_params = params;
    *ret_count = count;
    return 0;
}

void message_free_params(const struct param_value *params, uint32_t count)
{
    (void)count;
    free((void *)(uintptr_t)params);
}

void message_pack_start(struct frame *f, const struct message_start *m)
{
    row_pack(f, MESSAGE_START, start_rows, m);
    setup_put(f, &m->setup);
    put_params(f, m->params, m->param_count);
}

void message_pack_deadline(struct frame *f, const struct message_deadline *m)
{
    row_pack(f, MESSAGE_DEADLINE, deadline_rows, m);
}

void message_pack_stop(struct frame *f, const struct message_stop *m)
{
    row_pack(f, MESSAGE_STOP, stop_rows, m);
}

void message_pack_probe(struct frame *f, const struct message_probe *m)
{
    row_pack(f, MESSAGE_PROBE, probe_rows, m);
    setup_put(f, &m->setup);
    put_params(f, m->params, m->param_count);
}

void message_pack_started(struct frame *f, const struct message_started *m)
{
    row_pack(f, MESSAGE_STARTED, started_rows, m);
}

void message_pack_output(struct frame *f, const struct message_output *m)
{
    row_pack(f, MESSAGE_OUTPUT, output_rows, m);
}

void message_pack_log(struct frame *f, const struct message_log *m)
{
    row_pack(f, MESSAGE_LOG, log_rows, m);
}

void message_pack_progress(struct frame *f, const struct message_progress *m)
{
    row_pack(f, MESSAGE_PROGRESS, progress_rows, m);
}

void message_pack_ended(struct frame *f, const struct message_ended *m)
{
    row_pack(f, MESSAGE_ENDED, ended_rows, m);
}

void message_pack_probed(struct frame *f, const struct message_probed *m)
{
    row_pack(f, MESSAGE_PROBED, probed_rows, m);
    for (uint32_t i = 0; i < m->error_count; i++) {
        frame_put_integer(f, TAG_ERROR_PARAM, m->errors[i].param);
        frame_put_text(f, TAG_ERROR_TEXT, m->errors[i].text);
    }
}

/* The messages that are their rows and nothing else. */
union plain {
    struct message_deadline deadline;
    struct message_stop stop;
    struct message_started started;
    struct message_output output;
    struct message_log log;
    struct message_progress progress;
};

static int unpack_plain(struct frame *f, const struct row *rows, void *ret_m, size_t size)
{
    union plain m;
    int r;

    memset(&m, 0, sizeof(m));
    r = row_unpack(f, rows, &m);
    if (r == 0)
        memcpy(ret_m, &m, size);
    return r;
}

static int unpack_lists(struct frame *f, struct message_setup *setup,
                        const struct param_value **ret_params, uint32_t *ret_count)
{
    int r = setup_take(f, setup);

    if (r < 0)
        return r;
    r = unpack_params(f, ret_params, ret_count);
    if (r < 0)
        message_free_setup(setup);
    return r;
}

int message_unpack_start(struct frame *f, struct message_start *ret_m)
{
    struct message_start m = { 0 };
    int r = row_unpack(f, start_rows, &m);

    if (r == 0)
        r = unpack_lists(f, &m.setup, &m.params, &m.param_count);
    if (r == 0)
        *ret_m = m;
    return r;
}

int message_unpack_deadline(struct frame *f, struct message_deadline *ret_m)
{
    return unpack_plain(f, deadline_rows, ret_m, sizeof(*ret_m));
}

int message_unpack_stop(struct frame *f, struct message_stop *ret_m)
{
    return unpack_plain(f, stop_rows, ret_m, sizeof(*ret_m));
}

int message_unpack_probe(struct frame *f, struct message_probe *ret_m)
{
    struct message_probe m = { 0 };
    int r = row_unpack(f, probe_rows, &m);

    if (r == 0)
        r = unpack_lists(f, &m.setup, &m.params, &m.param_count);
    if (r == 0)
        *ret_m = m;
    return r;
}

int message_unpack_started(struct frame *f, struct message_started *ret_m)
{
    return unpack_plain(f, started_rows, ret_m, sizeof(*ret_m));
}

int message_unpack_output(struct frame *f, struct message_output *ret_m)
{
    return unpack_plain(f, output_rows, ret_m, sizeof(*ret_m));
}

int message_unpack_log(struct frame *f, struct message_log *ret_m)
{
    return unpack_plain(f, log_rows, ret_m, sizeof(*ret_m));
}

int message_unpack_progress(struct frame *f, struct message_progress *ret_m)
{
    return unpack_plain(f, progress_rows, ret_m, sizeof(*ret_m));
}

int message_unpack_ended(struct frame *f, struct message_ended *ret_m)
{
    struct message_ended m = { 0 };
    int r = row_unpack(f, ended_rows, &m);

    if (r < 0)
        return r;
    if (m.how < ENDED_RETURNED || m.how > ENDED_UNSTARTED || m.stop > STOP_ORPHANED)
        return -EBADMSG;
    *ret_m = m;
    return 0;
}

static int unpack_errors(struct frame *f, struct message_probed *m)
{
    struct probe_error error = { .param = -1 };
    struct field field;
    int64_t param;
    int r;

    f->read_at = FRAME_HEADER_SIZE;
    while ((r = frame_next(f, &field)) > 0) {
        if (field.tag == TAG_ERROR_PARAM) {
            r = field_integer(&field, &param);
            if (r < 0 || param < -1 || param > INT32_MAX)
                return -EBADMSG;
            error.param = (int32_t)param;
        } else if (field.tag == TAG_ERROR_TEXT) {
            r = field_text(&field, &error.text);
            if (r < 0)
                return r;
            if (m->error_count < PROBE_ERRORS_MAX)
                m->errors[m->error_count++] = error;
            error.param = -1;
        }
    }
    return r;
}

int message_unpack_probed(struct frame *f, struct message_probed *ret_m)
{
    struct message_probed m = { 0 };
    int r = row_unpack(f, probed_rows, &m);

    if (r == 0)
        r = unpack_errors(f, &m);
    if (r < 0)
        return r;
    if (m.loaded ? !m.name || !m.version || !m.summary : m.error_count == 0)
        return -EBADMSG;
    *ret_m = m;
    return 0;
}
