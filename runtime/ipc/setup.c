/* SPDX-License-Identifier: MIT */
#include "ipc/setup.h"
#include "ipc/row.h"

#include <errno.h>
#include <stdlib.h>

/* One field a group, one a variable of the environment. */
enum { TAG_GROUP = 60, TAG_ENVIRONMENT };

static const struct row setup_rows[] = {
    { .tag = 62,
      .kind = ROW_BOOL,
      .optional = true,
      .offset = offsetof(struct message_setup, apart) },
    { .tag = 63,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_setup, working_dir) },
    { .tag = 64,
      .kind = ROW_I64,
      .optional = true,
      .offset = offsetof(struct message_setup, limits.memory_bytes) },
    { .tag = 65,
      .kind = ROW_I64,
      .optional = true,
      .offset = offsetof(struct message_setup, limits.cpu_time_ms) },
    { .tag = 66,
      .kind = ROW_I64,
      .optional = true,
      .offset = offsetof(struct message_setup, limits.open_files) },
    { .tag = 67,
      .kind = ROW_I64,
      .optional = true,
      .offset = offsetof(struct message_setup, limits.processes) },
    { .tag = 68,
      .kind = ROW_I64,
      .optional = true,
      .offset = offsetof(struct message_setup, limits.file_size_bytes) },
    { .tag = 69,
      .kind = ROW_I64,
      .optional = true,
      .offset = offsetof(struct message_setup, limits.core_bytes) },
    { .tag = 70,
      .kind = ROW_BOOL,
      .optional = true,
      .offset = offsetof(struct message_setup, no_network) },
    { .tag = 71,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_setup, cgroup) },
    { .tag = 72,
      .kind = ROW_TEXT,
      .optional = true,
      .offset = offsetof(struct message_setup, credentials) },
    { .kind = ROW_END },
};

void setup_put(struct frame *f, const struct message_setup *setup)
{
    row_put(f, setup_rows, setup);
    for (uint32_t i = 0; i < setup->group_count; i++)
        frame_put_integer(f, TAG_GROUP, setup->groups[i]);
    for (uint32_t i = 0; i < setup->environment_count; i++)
        frame_put_text(f, TAG_ENVIRONMENT, setup->environment[i]);
}

static int take_group(const struct field *field, uint32_t *group)
{
    int64_t value;
    int r = field_integer(field, &value);

    if (r < 0 || value < 0 || value > UINT32_MAX)
        return -EBADMSG;
    *group = (uint32_t)value;
    return 0;
}

static int fill_lists(struct frame *f, const char **variable, uint32_t *group)
{
    struct field field;
    int r;

    f->read_at = FRAME_HEADER_SIZE;
    while ((r = frame_next(f, &field)) > 0) {
        if (field.tag == TAG_ENVIRONMENT)
            r = field_text(&field, variable++);
        else if (field.tag == TAG_GROUP)
            r = take_group(&field, group++);
        if (r < 0)
            return r;
    }
    return r;
}

/* One heap block: the pointers to the variables, then the groups. */
static int take_lists(struct frame *f, struct message_setup *setup)
{
    uint32_t variables = 0, groups = 0;
    const char **block;
    struct field field;
    int r;

    f->read_at = FRAME_HEADER_SIZE;
    while ((r = frame_next(f, &field)) > 0) {
        variables += field.tag == TAG_ENVIRONMENT;
        groups += field.tag == TAG_GROUP;
    }
    if (r < 0 || variables + groups == 0)
        return r;
    block = calloc(1, variables * sizeof(*block) + groups * sizeof(*setup->groups));
    if (!block)
        return -ENOMEM;
    r = fill_lists(f, block, (uint32_t *)(void *)(block + variables));
    if (r < 0) {
        free(block);
        return r;
    }
    setup->environment = block;
    setup->environment_count = variables;
    setup->groups = (const uint32_t *)(const void *)(block + variables);
    setup->group_count = groups;
    return 0;
}

int setup_take(struct frame *f, struct message_setup *setup)
{
    int r;

    setup->limits = (struct limits)LIMITS_NONE;
    r = row_unpack(f, setup_rows, setup);
    return r < 0 ? r : take_lists(f, setup);
}

void message_free_setup(const struct message_setup *setup)
{
    free((void *)(uintptr_t)setup->environment);
}
