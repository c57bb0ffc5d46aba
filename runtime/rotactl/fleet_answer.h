/* SPDX-License-Identifier: MIT
 * rotactl/fleet_answer.h: what rotad's methods FleetJob and History answer (rotad(8)). Texts are
 * the message's; they and the numbers come from Redis, where anybody may have put anything. */
#ifndef ROTA_ROTACTL_FLEET_ANSWER_H
#define ROTA_ROTACTL_FLEET_ANSWER_H
#include <stdint.h>
#include <systemd/sd-bus.h>

/* Of FleetJob. */
struct fleet_look {
    const char *word, *token, *state, *detail, *scope, *fingerprint, *holder, *pause;
    int64_t now, turn, fence, done, retry, started, ended, version, paused_turn, left_ms,
        pause_left_ms;
    int64_t layout; /* of its record; 0: there is none */
    uint32_t attempt, fails, streak, seats, devices;
};

/* 0 or negative errno. */
int fleet_answer_look(sd_bus_message *m, struct fleet_look *ret);

/* Of History, a run. */
struct fleet_run {
    int64_t written, turn, fence, ran_ms;
    uint32_t attempt;
    const char *token, *outcome, *detail;
};

/* The server's time; what follows are runs. 0 or negative errno. */
int fleet_answer_runs(sd_bus_message *m, int64_t *ret_now_ms);
/* The next one: 1; 0 where there is none any more; negative errno. */
int fleet_answer_run(sd_bus_message *m, struct fleet_run *ret);
#endif
