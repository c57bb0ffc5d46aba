/* SPDX-License-Identifier: MIT */
#include "guard/limits.h"
#include "base/units.h"
#include "base/user.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Between SIGXCPU, at which a process may tidy up, and SIGKILL. */
#define CPU_TIME_GRACE_S 1

static const struct {
    unsigned resource;
    const char *name;
} rows[LIMIT_COUNT] = {
    [LIMIT_MEMORY] = { RLIMIT_AS, "memory" },
    [LIMIT_CPU_TIME] = { RLIMIT_CPU, "cpu_time" },
    [LIMIT_OPEN_FILES] = { RLIMIT_NOFILE, "open_files" },
    [LIMIT_PROCESSES] = { RLIMIT_NPROC, "processes" },
    [LIMIT_FILE_SIZE] = { RLIMIT_FSIZE, "file_size" },
    [LIMIT_CORE] = { RLIMIT_CORE, "core" },
};

void limits_look(struct limits_ground *ground)
{
    for (int i = 0; i < LIMIT_COUNT; i++)
        getrlimit(rows[i].resource, &ground->now[i]);
    ground->may_raise = user_has_right(CAP_SYS_RESOURCE);
}

static void tell(struct limits_plan *plan, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(struct limits_plan *plan, const char *format, ...)
{
    size_t used = strlen(plan->unapplied), room = sizeof(plan->unapplied) - used;
    int n = snprintf(plan->unapplied + used, room, "%slimits.", used > 0 ? "; " : "");
    va_list args;

    if (n < 0 || (size_t)n >= room)
        return;
    va_start(args, format);
    vsnprintf(plan->unapplied + used + n, room - (size_t)n, format, args);
    va_end(args);
}

/* As a conf file has it. */
static const char *write_value(enum limit limit, rlim_t value, char *buf, size_t size)
{
    switch (limit) {
    case LIMIT_CPU_TIME:
        return units_write_duration((int64_t)value * SECOND_MS, buf, size);
    case LIMIT_OPEN_FILES:
        snprintf(buf, size, "%llu", (unsigned long long)value);
        return buf;
    case LIMIT_PROCESSES:
        snprintf(buf, size, "%llu",
                 (unsigned long long)(value > 0 ? value - LIMITS_OWN_THREADS : 0));
        return buf;
    default:
        return units_write_size((int64_t)value, buf, size);
    }
}

static rlim_t fit(int64_t value)
{
    return (uint64_t)value < (uint64_t)RLIM_INFINITY ? (rlim_t)value : RLIM_INFINITY;
}

static void want(struct limits_plan *plan, const struct limits_ground *ground, enum limit limit,
                 int64_t value)
{
    const rlim_t most = ground->may_raise ? RLIM_INFINITY : ground->now[limit].rlim_max;
    struct rlimit *wanted = &plan->wanted[limit];
    char buf[UNITS_SIZE];

    *wanted = (struct rlimit){ .rlim_cur = fit(value), .rlim_max = fit(value) };
    if (limit == LIMIT_CPU_TIME)
        wanted->rlim_max = fit(value + CPU_TIME_GRACE_S);
    if (wanted->rlim_max > most)
        wanted->rlim_max = most;
    if (wanted->rlim_cur > most) {
        wanted->rlim_cur = most;
        tell(plan, "%s is %s, as the system allows no more", rows[limit].name,
             write_value(limit, most, buf, sizeof(buf)));
    }
    plan->is_set[limit] = true;
}

/* Of each process. */
static void plan_memory(struct limits_plan *plan, const struct limits_ground *ground, int64_t bytes)
{
    want(plan, ground, LIMIT_MEMORY, bytes);
    if (ground->wants_group)
        tell(plan, "memory holds for each process, not for all together, since %s",
             ground->no_group ? ground->no_group : "its group has no memory controller");
}

/* Of the user. */
static void plan_processes(struct limits_plan *plan, const struct limits_ground *ground,
                           int64_t processes)
{
    if (ground->is_root) {
        tell(plan, "processes is not kept, since the job runs as root");
        return;
    }
    want(plan, ground, LIMIT_PROCESSES, processes + LIMITS_OWN_THREADS);
    if (ground->wants_group)
        tell(plan, "processes counts all processes of the job's user, since %s",
             ground->no_group ? ground->no_group : "its group has no pids controller");
}

void limits_plan(const struct limits *limits, const struct limits_ground *ground,
                 struct limits_plan *ret_plan)
{
    struct limits_plan *plan = ret_plan;

    memset(plan, 0, sizeof(*plan));
    if (limits->memory_bytes > 0 && !ground->group_has_memory)
        plan_memory(plan, ground, limits->memory_bytes);
    if (limits->cpu_time_ms > 0)
        want(plan, ground, LIMIT_CPU_TIME, (limits->cpu_time_ms + SECOND_MS - 1) / SECOND_MS);
    if (limits->open_files > 0)
        want(plan, ground, LIMIT_OPEN_FILES, limits->open_files);
    if (limits->processes > 0 && !ground->group_has_processes)
        plan_processes(plan, ground, limits->processes);
    if (limits->file_size_bytes >= 0)
        want(plan, ground, LIMIT_FILE_SIZE, limits->file_size_bytes);
    want(plan, ground, LIMIT_CORE, limits->core_bytes);
}

int limits_apply(const struct limits_plan *plan)
{
    for (int i = 0; i < LIMIT_COUNT; i++)
        if (plan->is_set[i] && setrlimit(rows[i].resource, &plan->wanted[i]) < 0)
            return -errno;
    return 0;
}

const char *limits_death(int signo)
{
    switch (signo) {
    case SIGXCPU:
        return "it used up its limits.cpu_time";
    case SIGXFSZ:
        return "it wrote more than its limits.file_size";
    default:
        return NULL;
    }
}
