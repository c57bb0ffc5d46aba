/* SPDX-License-Identifier: MIT
 * What the states and events of a job are called. */
#include "core/job.h"

#define JOB_NAME_STATE(name, text) [JOB_##name] = #name,
#define JOB_TEXT_STATE(name, text) [JOB_##name] = (text),
#define JOB_NAME_EVENT(name, text) [JOB_EVENT_##name] = #name,

const char *job_state_name(enum job_state state)
{
    static const char *const names[] = { JOB_STATES(JOB_NAME_STATE) };

    return names[state];
}

const char *job_state_text(enum job_state state)
{
    static const char *const texts[] = { JOB_STATES(JOB_TEXT_STATE) };

    return texts[state];
}

const char *job_event_name(enum job_event event)
{
    static const char *const names[] = { JOB_EVENTS(JOB_NAME_EVENT) };

    return names[event];
}
