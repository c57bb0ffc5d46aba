/* SPDX-License-Identifier: MIT
 * A job is run by hand, or its run is stopped. Who asks for that waits for what becomes of it, and
 * may go away: the run goes on. */
#include "supervisor/control_hand.h"
#include "base/text.h"
#include "base/user.h"
#include "supervisor/journal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct control_hand {
    struct control_client *client;
    sd_bus_message *question;
    bool stops;      /* a run; else begins one */
    bool to_the_end; /* of the run */
    bool ended;      /* the run has, and Redis is being told; then this is said: */
    struct control_said said;
    char job[JOB_NAME_MAX + 1];
};

void control_hand_drop(struct control_hand *hand)
{
    if (!hand)
        return;
    hand->client->hand = NULL;
    sd_bus_message_unref(hand->question);
    free(hand);
}

static int hand_new(struct control_client *client, sd_bus_message *m, const char *job,
                    struct control_hand **ret_hand)
{
    struct control_hand *hand = calloc(1, sizeof *hand);

    if (!hand)
        return -ENOMEM;
    hand->client = client;
    hand->question = sd_bus_message_ref(m);
    text_copy(hand->job, sizeof hand->job, job);
    client->hand = hand;
    *ret_hand = hand;
    return 0;
}

/* The end of the question. Where memory is short the client waits in vain, until it goes. */
static void answer(struct control_hand *hand, const struct control_said *said)
{
    struct control_client *client = hand->client;
    sd_bus_message *reply = NULL;
    int rc = sd_bus_message_new_method_return(hand->question, &reply);

    if (rc >= 0)
        rc = sd_bus_message_append(reply, "bss", (int)said->good, said->word, said->sentence);
    control_hand_drop(hand);
    control_client_send(client, rc < 0 ? NULL : reply);
    sd_bus_message_unref(reply);
}

/* --- what the core reports --- */

static void answer_started(struct control_hand *hand)
{
    answer(hand, &(struct control_said){ true, "started", "started here" });
}

static bool is_redis_away(const struct control_hand *hand, const struct job *job)
{
    return hand->client->control->manager->link_words.down || job->fault != FAULT_NONE;
}

/* Who runs it again then finds it free: it is answered when the end is recorded, or cannot be. */
static void answer_ended(struct control_hand *hand, const struct job *job)
{
    struct control_said said = hand->said;

    hand->ended = true;
    if (is_redis_away(hand, job))
        answer(hand, &said);
}

static void hear_of_record(struct control_hand *hand, const struct report *r)
{
    struct control_said said = hand->said;

    if (r->kind == REPORT_UNANSWERED || (r->kind == REPORT_STATE && r->from == JOB_CLOSING))
        answer(hand, &said);
}

static void hear_run(struct control_hand *hand, const struct job *job, const struct report *r)
{
    struct control_said said;

    switch (r->kind) {
    case REPORT_BY_HAND:
        if (r->answer && r->answer->acquire.answer == ACQUIRE_GRANTED)
            return;
        control_hand_say_answer(hand->client->control->manager, job, r->answer, &said);
        break;
    case REPORT_STARTED:
        if (!hand->to_the_end)
            answer_started(hand);
        return;
    case REPORT_STILLBORN:
        control_hand_say_stillborn(r, &said);
        break;
    case REPORT_ENDED:
        control_hand_say_end(r, &hand->said);
        answer_ended(hand, job);
        return;
    default:
        return;
    }
    answer(hand, &said);
}

static void hear_stop(struct control_hand *hand, const struct job *job, const struct report *r)
{
    if (r->kind != REPORT_ENDED)
        return;
    control_hand_say_stopped(job, r, &hand->said);
    answer_ended(hand, job);
}

void control_hand_report(struct control *c, const struct job *job, const struct report *r)
{
    for (struct control_client *client = c->clients; client; client = client->next) {
        struct control_hand *hand = client->hand;

        if (!hand || strcmp(hand->job, job->spec->name) != 0)
            continue;
        if (hand->ended)
            hear_of_record(hand, r);
        else if (hand->stops)
            hear_stop(hand, job, r);
        else
            hear_run(hand, job, r);
    }
}

/* --- the methods --- */

int control_hand_find(const struct manager *m, const char *name, sd_bus_error *error,
                      const struct job_config **ret_config, struct device_job **ret_device)
{
    const struct job_config *config = config_find_job(m->generation->config, name);
    struct device_job *device = m->jobs;

    while (device && strcmp(device->config->name, name) != 0)
        device = device->next;
    if (!config && !device) {
        sd_bus_error_set(error, CONTROL_ERROR_WORDS,
                         "there is no such job in this device's configuration; "
                         "rotactl status has all");
        return -ENOENT;
    }
    *ret_config = config;
    *ret_device = device;
    return 0;
}

static int check_client(const struct control_client *client, sd_bus_error *error)
{
    if (client->access != CONTROL_MAY_CHANGE)
        return -EACCES;
    if (client->hand)
        return sd_bus_error_set(error, CONTROL_ERROR_BUSY, "one run at a time");
    return 0;
}

static void log_act(const struct control_client *client, const char *job, int what,
                    const char *does)
{
    const struct journal_field fields[] = { { "ROTA_JOB", job }, { NULL, NULL } };
    char name[USER_NAME_SIZE];

    journal_log(LOG_NOTICE | what, fields, "%s: %s %s", job,
                control_access_name(client->uid, name, sizeof name), does);
}

/* As control_ask.c's: where Redis is known to be out of reach, nobody waits for it to be found. */
static int64_t patience_ms(const struct manager *m)
{
    const struct redis_config *redis = &m->generation->config->redis;

    return redis->command_timeout_ms + (m->link_words.down ? 0 : redis->connect_timeout_ms);
}

static const char *run_words(const struct job_order *order)
{
    if (order->way == LEASE_BY_SCHEDULE)
        return "runs its open turn by hand";
    return order->way == LEASE_WITHOUT_LOCK ? "runs it by hand, without its lock"
                                            : "runs it by hand";
}

/* What becomes of it may be told, and the question over, from inside. */
static void run_job(struct control_hand *hand, struct device_job *d, const struct job_order *order)
{
    struct control_client *client = hand->client;
    enum job_obstacle obstacle = job_run_by_hand(&d->job, control_clock(CLOCK_BOOTTIME), order);
    struct control_said said;

    if (obstacle == JOB_NO_OBSTACLE) {
        log_act(client, d->config->name, MESSAGE_HAND_RUN, run_words(order));
        return;
    }
    control_hand_say_obstacle(client->control->manager, d, obstacle, &said);
    answer(hand, &said);
}

static enum lease_way way_of(bool open_turn, bool force, bool unlocked)
{
    if (open_turn)
        return LEASE_BY_SCHEDULE;
    if (unlocked)
        return LEASE_WITHOUT_LOCK;
    return force ? LEASE_BY_FORCE : LEASE_BY_HAND;
}

int control_run(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    const struct manager *manager = client->control->manager;
    const struct job_config *config;
    struct device_job *d;
    struct control_hand *hand;
    struct control_said said;
    const char *name;
    int to_the_end, open_turn, force, unlocked;
    int rc = check_client(client, error);

    if (rc >= 0)
        rc = sd_bus_message_read(m, "sbbbb", &name, &to_the_end, &open_turn, &force, &unlocked);
    if (rc >= 0)
        rc = control_hand_find(manager, name, error, &config, &d);
    if (rc < 0)
        return rc;
    if (open_turn && (force || unlocked))
        return sd_bus_error_set(error, CONTROL_ERROR_WORDS,
                                "the open turn is run as it is, with its lock and its pause: "
                                "--as-due goes with neither --force nor --ignore-lock");
    rc = hand_new(client, m, name, &hand);
    if (rc < 0)
        return rc;
    hand->to_the_end = to_the_end;
    if (!d) {
        control_hand_say_absent(manager, config, &said);
        answer(hand, &said);
        return 1;
    }
    run_job(hand, d,
            &(struct job_order){
                .way = way_of(open_turn, force, unlocked),
                .until = boot_add(control_clock(CLOCK_BOOTTIME), patience_ms(manager)),
                .in_spite_of_here = force,
            });
    return 1;
}

int control_stop(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    const struct job_config *config;
    struct device_job *d;
    struct control_hand *hand;
    const char *name;
    int hand_over, rc = check_client(client, error);

    if (rc >= 0)
        rc = sd_bus_message_read(m, "sb", &name, &hand_over);
    if (rc >= 0)
        rc = control_hand_find(client->control->manager, name, error, &config, &d);
    if (rc >= 0)
        rc = hand_new(client, m, name, &hand);
    if (rc < 0)
        return rc;
    hand->stops = true;
    if (d && job_stop_run(&d->job, control_clock(CLOCK_BOOTTIME),
                          hand_over ? STOP_FOR_OTHERS : STOP_FOR_GOOD))
        log_act(client, name, MESSAGE_HAND_STOP,
                hand_over ? "stops its run, for another device" : "stops its run");
    else if (!d || d->job.state != JOB_STOPPING)
        answer(hand, &(struct control_said){ false, "idle", "it does not run here" });
    return 1;
}
