/* SPDX-License-Identifier: MIT */
#include "rotactl/fleet_answer.h"
#include <errno.h>

int fleet_answer_look(sd_bus_message *m, struct fleet_look *ret)
{
    struct fleet_look l;
    int rc = sd_bus_message_read(
        m, "sxxussxxxxxsssxxxuusxsxuu", &l.word, &l.now, &l.turn, &l.attempt, &l.token, &l.state,
        &l.fence, &l.done, &l.retry, &l.started, &l.ended, &l.detail, &l.scope, &l.fingerprint,
        &l.version, &l.layout, &l.paused_turn, &l.fails, &l.streak, &l.holder, &l.left_ms, &l.pause,
        &l.pause_left_ms, &l.seats, &l.devices);

    if (rc <= 0)
        return rc < 0 ? rc : -EBADMSG;
    *ret = l;
    return 0;
}

#define RUN "(xxussxxs)"

int fleet_answer_runs(sd_bus_message *m, int64_t *ret_now_ms)
{
    const char *word;
    int rc = sd_bus_message_read(m, "sx", &word, ret_now_ms);

    if (rc >= 0)
        rc = sd_bus_message_enter_container(m, 'a', RUN);
    return rc < 0 ? rc : 0;
}

int fleet_answer_run(sd_bus_message *m, struct fleet_run *ret)
{
    struct fleet_run run;
    int rc = sd_bus_message_read(m, RUN, &run.written, &run.turn, &run.attempt, &run.token,
                                 &run.outcome, &run.fence, &run.ran_ms, &run.detail);

    if (rc <= 0)
        return rc;
    *ret = run;
    return 1;
}
