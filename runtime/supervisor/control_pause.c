/* SPDX-License-Identifier: MIT
 * Jobs that are paused on this device: their turns pass, those of others go on. It is known by
 * name, and so outlives reloads and drains; it ends with rotad. */
#include "base/text.h"
#include "base/units.h"
#include "base/user.h"
#include "supervisor/control_ask.h"
#include "supervisor/control_hand.h"
#include "supervisor/journal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who: a name; why: what control_question_is_reason() takes. */
#define TEXT_SIZE (USER_NAME_SIZE + 256)

struct control_pause {
    struct control_pause *next;
    struct control *control;
    sd_event_source *end; /* NULL: it has none */
    struct wall passed;   /* the newest turn by it; 0: none */
    char job[JOB_NAME_MAX + 1];
    char text[TEXT_SIZE]; /* "WHO: WHY" */
};

static struct control_pause *find(const struct control *c, const char *job)
{
    struct control_pause *p = c->paused;

    while (p && strcmp(p->job, job) != 0)
        p = p->next;
    return p;
}

static void end(struct control_pause *p)
{
    struct control_pause **at = &p->control->paused;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    p->control->manager->status_stale = true;
    sd_event_source_disable_unref(p->end);
    free(p);
}

void control_pause_end_all(struct control *c)
{
    while (c->paused)
        end(c->paused);
}

bool control_pause_holds(struct control *c, const struct job *job, struct wall turn)
{
    struct control_pause *p = find(c, job->spec->name);

    if (p && turn.ms > p->passed.ms)
        p->passed = turn;
    return p != NULL;
}

const char *control_pause_text(const struct control *c, const char *job)
{
    const struct control_pause *p = find(c, job);

    return p ? p->text : NULL;
}

static void say(const char *job, int what, const char *before, const char *words)
{
    const struct journal_field fields[] = { { "ROTA_JOB", job }, { NULL, NULL } };

    journal_log(LOG_NOTICE | what, fields, "%s: %s%s", job, before, words);
}

/* --- the methods --- */

static int answer_before(sd_bus_message *m, const char *before, bool taken_up)
{
    static char shown[4 * TEXT_SIZE]; /* in the one thread */

    return sd_bus_reply_method_return(
        m, "sb", text_escape(shown, sizeof shown, before, strlen(before)), (int)taken_up);
}

static int on_end(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct control_pause *p = userdata;

    (void)source;
    (void)usec;
    say(p->job, MESSAGE_RESUMED_HERE, "its pause on this device is over", "");
    end(p);
    return 0;
}

static int set_end(struct control_pause *p, int64_t for_ms)
{
    uint64_t us = for_ms > INT64_MAX / 1000 ? INT64_MAX : (uint64_t)for_ms * 1000;
    int rc;

    if (for_ms == 0)
        return 0;
    rc = sd_event_add_time_relative(p->control->manager->event, &p->end, CLOCK_BOOTTIME, us, 0,
                                    on_end, p);
    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(p->end, "pause");
    return sd_event_source_set_priority(p->end, PRIORITY_CONTROL);
}

/* In place of the one before, whose `passed` it goes on with. */
static int begin(struct control_client *client, const char *job, const char *why, int64_t for_ms)
{
    struct control_pause *p = calloc(1, sizeof *p), *before = find(client->control, job);
    char name[USER_NAME_SIZE];
    int rc;

    if (!p)
        return -ENOMEM;
    p->control = client->control;
    text_copy(p->job, sizeof p->job, job);
    snprintf(p->text, sizeof p->text, "%s: %s", control_access_name(client->uid, name, sizeof name),
             why);
    rc = set_end(p, for_ms);
    if (rc < 0) {
        sd_event_source_disable_unref(p->end);
        free(p);
        return rc;
    }
    if (before) {
        p->passed = before->passed;
        end(before);
    }
    p->next = client->control->paused;
    client->control->paused = p;
    client->control->manager->status_stale = true;
    say(job, MESSAGE_PAUSED_HERE, "paused on this device by ", p->text);
    return 0;
}

/* The job of that name, which the client may change. `before`: what its pause says; "": none. */
static int find_job(struct control_client *client, const char *name, sd_bus_error *error,
                    struct device_job **ret_device, char before[TEXT_SIZE])
{
    const struct control_pause *p = find(client->control, name);
    const struct job_config *config;

    text_copy(before, TEXT_SIZE, p ? p->text : "");
    *ret_device = NULL;
    if (p) /* it may have left the configuration since */
        (void)control_hand_find(client->control->manager, name, NULL, &config, ret_device);
    else
        return control_hand_find(client->control->manager, name, error, &config, ret_device);
    return 0;
}

int control_pause_here(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    char before[TEXT_SIZE];
    struct device_job *d;
    const char *name, *why;
    int64_t for_ms;
    int rc = client->access == CONTROL_MAY_CHANGE ? 0 : -EACCES;

    if (rc >= 0)
        rc = sd_bus_message_read(m, "ssx", &name, &why, &for_ms);
    if (rc < 0)
        return rc;
    if (!control_question_is_reason(why))
        return sd_bus_error_set(error, CONTROL_ERROR_WORDS, CONTROL_NO_REASON);
    if (for_ms < 0)
        return sd_bus_error_set(error, CONTROL_ERROR_WORDS, "a time has to be 0 or more");
    rc = find_job(client, name, error, &d, before);
    if (rc >= 0)
        rc = begin(client, name, why, for_ms);
    return rc < 0 ? rc : answer_before(m, before, false);
}

int control_resume_here(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    char before[TEXT_SIZE], who[USER_NAME_SIZE];
    struct control_pause *p;
    struct device_job *d;
    struct wall passed = { 0 };
    const char *name;
    int catch_up, rc = client->access == CONTROL_MAY_CHANGE ? 0 : -EACCES;

    if (rc >= 0)
        rc = sd_bus_message_read(m, "sb", &name, &catch_up);
    if (rc >= 0)
        rc = find_job(client, name, error, &d, before);
    if (rc < 0)
        return rc;
    p = find(client->control, name);
    if (p) {
        passed = p->passed;
        say(name, MESSAGE_RESUMED_HERE, "resumed on this device by ",
            control_access_name(client->uid, who, sizeof who));
        end(p);
    }
    return answer_before(
        m, before, catch_up && d && job_take_up(&d->job, control_clock(CLOCK_BOOTTIME), passed));
}
