/* SPDX-License-Identifier: MIT
 * What can be asked at the control socket: object CONTROL_PATH, interface CONTROL_INTERFACE. */
#include "supervisor/control_ask.h"
#include "supervisor/control_hand.h"
#include "supervisor/manager.h"
#include <errno.h>
#include <string.h>

/* --- what changes something, and is answered when that is done --- */

typedef void change(struct manager *m);

/* sd-bus has a name for each error here, and so for its client. Who asks while rotad stops waits
 * for its end. */
static int do_change(sd_bus_message *m, struct control_client *client, enum control_wait wait,
                     change *act)
{
    int rc = -EACCES;

    if (client->access == CONTROL_MAY_CHANGE)
        rc = control_client_hold(client, m, wait);
    if (rc < 0)
        return rc;
    act(client->control->manager);
    return 1;
}

static int reload(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    (void)error;
    return do_change(m, userdata, CONTROL_WAITS_RELOAD, manager_reload);
}

static int drain(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    (void)error;
    return do_change(m, userdata, CONTROL_WAITS_DRAIN, manager_drain);
}

static int hand_over(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    (void)error;
    return do_change(m, userdata, CONTROL_WAITS_DRAIN, manager_hand_over);
}

/* It answers all that wait for the drain. */
static int undrain(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    (void)error;
    return do_change(m, userdata, CONTROL_WAITS_DRAIN, manager_undrain);
}

/* "Unprivileged": not for the library, which asks for capabilities, but for do_change() to say. */
const sd_bus_vtable control_methods[] = {
    SD_BUS_VTABLE_START(0),
    /* device: its name; status: one line for people; facts: of rotad; jobs: by name, each with its
     * facts, of which "state" is always there (core/job.h, or INVALID, DISABLED, ELSEWHERE). Facts
     * are texts, numbers or true, and left out where they are not known or not so; instants are in
     * ms since 1970. */
    SD_BUS_METHOD_WITH_ARGS(
        "Status", SD_BUS_NO_ARGS,
        SD_BUS_RESULT("s", device, "s", status, "a{sv}", facts, "a(sa{sv})", jobs), control_status,
        SD_BUS_VTABLE_UNPRIVILEGED),
    /* Of a job of the configuration: the facts that Status has, and what its settings are; its next
     * turns; and the end of its newest run's output, each line with its instant. */
    SD_BUS_METHOD_WITH_ARGS("Show", SD_BUS_ARGS("s", job),
                            SD_BUS_RESULT("a{sv}", facts, "ax", next, "a(xs)", output),
                            control_show, SD_BUS_VTABLE_UNPRIVILEGED),
    /* Of a job of the configuration: the numbers by which it runs (core/timing.h), about how many
     * bytes a run and a refused question are, how long runs took here, and what would do as
     * worst_case. Those that do not apply are left out. */
    SD_BUS_METHOD_WITH_ARGS("Explain", SD_BUS_ARGS("s", job), SD_BUS_RESULT("a{sv}", facts),
                            control_explain, SD_BUS_VTABLE_UNPRIVILEGED),
    /* Of a job that takes turns here, since rotad was started or the job was changed: its last
     * runs, the newest first (turn, attempt, duration, how it ended and why; times in ms, a turn
     * since 1970); how long runs that succeeded took in the last weeks (median, 95 %, longest, and
     * about how many there were: core/digest.h); the setting that does not fit them, what to write,
     * and the lease to write besides, or ""; how many runs ended how, how many turns were not run
     * here, by reason, and the like; of all renewals, the least time that was left before the run
     * would have been stopped. */
    SD_BUS_METHOD_WITH_ARGS("Past", SD_BUS_ARGS("s", job),
                            SD_BUS_RESULT("a(xuxss)", runs, "(xxxu)", times, "(sss)", advice,
                                          "a{su}", counts, "x", least_left),
                            control_past, SD_BUS_VTABLE_UNPRIVILEGED),
    /* When a job of the configuration is due: the instants behind `after` up to `until`, in ms
     * since 1970, the earliest first, at most 500 of them. */
    SD_BUS_METHOD_WITH_ARGS("Turns", SD_BUS_ARGS("s", job, "x", after, "x", until),
                            SD_BUS_RESULT("ax", turns), control_turns, SD_BUS_VTABLE_UNPRIVILEGED),
    /* All numbers of rotad and its jobs (base/openmetrics.h), to the letter of OpenMetrics or as
     * Prometheus's text format has them. */
    SD_BUS_METHOD_WITH_ARGS("Metrics", SD_BUS_ARGS("b", strict), SD_BUS_RESULT("s", text),
                            control_metrics, SD_BUS_VTABLE_UNPRIVILEGED),
    /* Runs a job by hand: a turn of its own, or its open one; `force`: also where it is paused;
     * without its lock. Answered when it has started, or has not; to_the_end: when it has ended. A
     * word for programs, such as "started", "held" or an outcome, and a sentence for people. */
    SD_BUS_METHOD_WITH_ARGS(
        "Run",
        SD_BUS_ARGS("s", job, "b", to_the_end, "b", open_turn, "b", force, "b", without_lock),
        SD_BUS_RESULT("b", good, "s", word, "s", sentence), control_run,
        SD_BUS_VTABLE_UNPRIVILEGED),
    /* Asks what runs of a job here to stop, and closes its turn, or leaves it to other devices.
     * Answered when it has ended, as above. */
    SD_BUS_METHOD_WITH_ARGS("Stop", SD_BUS_ARGS("s", job, "b", hand_over),
                            SD_BUS_RESULT("b", good, "s", word, "s", sentence), control_stop,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* On this device, until rotad ends: turns of the job pass. For so long, 0: until it is resumed.
     * Both tell what stood there before, as Pause does, and whether a turn that has passed so is
     * asked for after all. */
    SD_BUS_METHOD_WITH_ARGS("PauseHere", SD_BUS_ARGS("s", job, "s", why, "x", for_ms),
                            SD_BUS_RESULT("s", before, "b", taken_up), control_pause_here,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("ResumeHere", SD_BUS_ARGS("s", job, "b", catch_up),
                            SD_BUS_RESULT("s", before, "b", taken_up), control_resume_here,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* What a reload would find, without one: each mistake and warning, and whether it would be
     * taken. */
    SD_BUS_METHOD_WITH_ARGS("Check", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", lines, "b", good),
                            control_check_files, SD_BUS_VTABLE_UNPRIVILEGED),
    /* Answered when the new configuration is in use, or refused: what was said, and which. */
    SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", lines, "b", good), reload,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* Nothing is started any more. Answered when nothing runs, perhaps never; or, not good, when
     * jobs take turns again. */
    SD_BUS_METHOD_WITH_ARGS("Drain", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", lines, "b", good), drain,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* The same, and what runs is asked to stop, as when rotad stops. */
    SD_BUS_METHOD_WITH_ARGS("HandOver", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", lines, "b", good),
                            hand_over, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Undrain", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", lines, "b", good),
                            undrain, SD_BUS_VTABLE_UNPRIVILEGED),
    /* --- what Redis is asked (control_ask.h): each answer begins with a word and the server's time
     * (ms since 1970, as all times here; 0 or a text that is empty: none). Where Redis cannot be
     * asked the error says why. A client has one such question at a time. --- */
    /* What the server is and does when it is full, if it may be asked; jobs and devices known. */
    SD_BUS_METHOD_WITH_ARGS(
        "Server", SD_BUS_NO_ARGS,
        SD_BUS_RESULT("s", word, "x", now, "s", server, "s", policy, "u", jobs, "u", devices),
        control_asked, SD_BUS_VTABLE_UNPRIVILEGED),
    /* A page of the fleet's jobs, with the newest settled turn of each. `from` is "0", then what
     * the answer before had as `next`, until that is "0"; a row may come twice. */
    SD_BUS_METHOD_WITH_ARGS("FleetJobs", SD_BUS_ARGS("s", from),
                            SD_BUS_RESULT("s", word, "x", now, "s", next, "a(sx)", jobs),
                            control_asked, SD_BUS_VTABLE_UNPRIVILEGED),
    /* The same of its devices: when each was heard of, rota's version, its configuration. */
    SD_BUS_METHOD_WITH_ARGS("FleetDevices", SD_BUS_ARGS("s", from),
                            SD_BUS_RESULT("s", word, "x", now, "s", next, "a(sxss)", devices),
                            control_asked, SD_BUS_VTABLE_UNPRIVILEGED),
    /* A configuration's lines (core/fleet_text.h); none where it is gone. */
    SD_BUS_METHOD_WITH_ARGS("FleetConfig", SD_BUS_ARGS("s", digest),
                            SD_BUS_RESULT("s", word, "x", now, "as", lines), control_asked,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* What is known of a job. The lock's holder, and how long it still has; who paused the job, and
     * for how long: -1 has no end, -2 is not there. Seats taken, and devices with a record, where
     * it is of device scope; failures in a row there, and turns given up in a row. `layout` is 0
     * where there is no record. */
    SD_BUS_METHOD_WITH_ARGS("FleetJob", SD_BUS_ARGS("s", job),
                            SD_BUS_RESULT("s", word, "x", now, "x", turn, "u", attempt, "s", token,
                                          "s", state, "x", fence, "x", done, "x", retry, "x",
                                          started, "x", ended, "s", detail, "s", scope, "s",
                                          fingerprint, "x", version, "x", layout, "x", paused_turn,
                                          "u", fails, "u", streak, "s", holder, "x", left, "s",
                                          pause, "x", pause_left, "u", seats, "u", devices),
                            control_asked, SD_BUS_VTABLE_UNPRIVILEGED),
    /* A page of a device scope job's devices, as above: the turn and attempt that each had last,
     * its newest settled turn, when that run ended, how. */
    SD_BUS_METHOD_WITH_ARGS("JobDevices", SD_BUS_ARGS("s", job, "s", from),
                            SD_BUS_RESULT("s", word, "x", now, "s", next, "a(sxuxxs)", devices),
                            control_asked, SD_BUS_VTABLE_UNPRIVILEGED),
    /* The newest runs in the whole fleet, at most 100: when each was written down, its turn,
     * attempt and token, how it ended, its fence, how long it took, why. */
    SD_BUS_METHOD_WITH_ARGS("History", SD_BUS_ARGS("s", job, "u", count),
                            SD_BUS_RESULT("s", word, "x", now, "a(xxussxxs)", runs), control_asked,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* For so long, 0: until it is resumed. Both tell what stood there before, "": it was not
     * paused. */
    SD_BUS_METHOD_WITH_ARGS("Pause", SD_BUS_ARGS("s", job, "s", why, "x", for_ms),
                            SD_BUS_RESULT("s", word, "x", now, "s", before), control_asked,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Resume", SD_BUS_ARGS("s", job, "b", catch_up),
                            SD_BUS_RESULT("s", word, "x", now, "s", before), control_asked,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* Frees the lock, and marks the claim of its run; not where the holder is another: "other". */
    SD_BUS_METHOD_WITH_ARGS("Release", SD_BUS_ARGS("s", job, "s", token),
                            SD_BUS_RESULT("s", word, "x", now, "s", holder), control_asked,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* All that is known of a job that no configuration has any more: "forgotten"; "used": the one
     * of that digest has it; "held": it runs, by that token. */
    SD_BUS_METHOD_WITH_ARGS("Forget", SD_BUS_ARGS("s", job),
                            SD_BUS_RESULT("s", word, "x", now, "s", by), control_asked,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END
};
