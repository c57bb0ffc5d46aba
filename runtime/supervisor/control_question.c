/* SPDX-License-Identifier: MIT */
#include "base/units.h"
#include "base/user.h"
#include "core/hash_tag.h"
#include "supervisor/control_ask.h"
#include "supervisor/control_scripts.h"
#include "supervisor/manager.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a reason, as Redis keeps it behind the name of who gave it. */
#define WHY_MAX 180
/* What one that asks may write beside that: a digest, where a scan goes on. */
#define TEXT_MAX 128
/* Of a lock's holder, as it was shown: four bytes for each that FleetJob gives. */
#define HOLDER_MAX 516
/* A time that Redis can add to its own. */
#define TIME_MAX_MS (INT64_C(36525) * DAY_MS)

#define KEYS_LOOK "lock claim pause seats devices"
#define KEYS_FORGET "lock claim pause history seats devices queue"
#define REPLY_LOOK "xussxxxxxsssxxxuusxsxuu"

static const struct control_question unlist = { .script = &redis_script_unlist,
                                                .keys = "_jobs _confs _seen",
                                                .arguments = "nc",
                                                .reply = "s",
                                                .changes = true };

static const struct control_question questions[] = {
    { .method = "Server",
      .script = &redis_script_server,
      .keys = "_jobs _devices",
      .arguments = "",
      .reply = "ssuu" },
    { .method = "FleetJobs",
      .script = &redis_script_page,
      .keys = "_jobs",
      .arguments = "s",
      .more = "jobs",
      .reply = "sa(sx)" },
    { .method = "FleetDevices",
      .script = &redis_script_page,
      .keys = "_devices",
      .arguments = "s",
      .more = "devices",
      .reply = "sa(sxss)" },
    { .method = "FleetConfig",
      .script = &redis_script_config_lines,
      .keys = "_confs",
      .arguments = "s",
      .reply = "as" },
    { .method = "FleetJob",
      .script = &redis_script_look,
      .keys = KEYS_LOOK,
      .arguments = "j",
      .reply = REPLY_LOOK },
    { .method = "JobDevices",
      .script = &redis_script_page,
      .keys = "devices",
      .arguments = "js",
      .more = "seats",
      .reply = "sa(sxuxxs)" },
    { .method = "History",
      .script = &redis_script_history,
      .keys = "history",
      .arguments = "ju",
      .reply = "a(xxussxxs)" },
    { .method = "Pause",
      .script = &redis_script_pause,
      .keys = "pause",
      .arguments = "jwx",
      .reply = "s",
      .changes = true },
    { .method = "Resume",
      .script = &redis_script_resume,
      .keys = "pause claim",
      .arguments = "jb",
      .reply = "s",
      .changes = true },
    { .method = "Release",
      .script = &redis_script_release,
      .keys = "lock claim",
      .arguments = "jh",
      .reply = "s",
      .changes = true },
    { .method = "Forget",
      .script = &redis_script_forget,
      .keys = KEYS_FORGET,
      .arguments = "n",
      .reply = "s",
      .changes = true,
      .first = &unlist,
      .first_good = "unlisted" },
};

const struct control_question *control_question_find(const char *method)
{
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        if (strcmp(questions[i].method, method) == 0)
            return &questions[i];
    return NULL;
}

/* --- words --- */

static void add_text(struct control_words *w, const char *text)
{
    w->words[w->count] = text;
    w->lengths[w->count++] = strlen(text);
}

/* A text that does not fit is left out, and `used` then says so. */
static void __attribute__((format(printf, 2, 3)))
add(struct control_words *w, const char *format, ...)
{
    size_t room = w->used < sizeof w->text ? sizeof w->text - w->used : 0;
    char *text = w->text + sizeof w->text - room;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room) {
        w->used = sizeof w->text + 1;
        return;
    }
    add_text(w, text);
    w->used += (size_t)length + 1;
}

/* --- keys --- */

/* As in redis/codec.c. A job that is not configured here has keys of its own, as far as one can
 * know. */
static void add_job_key(struct control_words *w, const char *prefix, const char *name,
                        const struct job_config *job, const char *kind)
{
    const char *lock_key = job ? job->spec.lock_key : NULL, *tag = lock_key;
    const char *key = job && job->spec.key ? job->spec.key : name;
    size_t length;

    if (!lock_key) {
        add(w, "%s{%s}:%s", prefix, key, kind);
    } else if (strcmp(kind, "lock") == 0) {
        add(w, "%s", lock_key);
    } else {
        length = hash_tag(lock_key, &tag);
        if (length == 0)
            length = strlen(tag);
        add(w, "%s{%.*s}:%s:%s", prefix, (int)length, tag, key, kind);
    }
}

static void add_keys(struct control_words *w, const struct control_question *q, const char *prefix,
                     const char *name, const struct job_config *job)
{
    static const char *const numbers[] = { "0", "1", "2", "3", "4", "5", "6", "7" };
    char kinds[64], *rest = kinds, *kind;
    size_t count = 0;

    snprintf(kinds, sizeof kinds, "%s", q->keys);
    add_text(w, ""); /* their number */
    while ((kind = strsep(&rest, " "))) {
        count++;
        if (kind[0] == '_')
            add(w, "%s{_fleet}:%s", prefix, kind + 1);
        else
            add_job_key(w, prefix, name, job, kind);
    }
    w->words[2] = numbers[count];
    w->lengths[2] = 1;
}

/* --- what the client says --- */

/* A job here has these keys, by its own name or by its former one. */
static bool has_keys(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->job_count; i++)
        if (strcmp(c->jobs[i].spec.key, name) == 0)
            return true;
    return false;
}

static bool is_name(const char *name)
{
    size_t length = 0;

    for (; name[length]; length++)
        if (!isalnum((unsigned char)name[length]) && !strchr("_-", name[length]))
            return false;
    return isalpha((unsigned char)name[0]) && length <= JOB_NAME_MAX;
}

static bool is_line(const char *text, size_t most)
{
    size_t length = 0;

    for (; text[length]; length++)
        if ((unsigned char)text[length] < ' ' || text[length] == 0x7f)
            return false;
    return length > 0 && length <= most;
}

bool control_question_is_reason(const char *text)
{
    return is_line(text, WHY_MAX);
}

/* A reason, with who gave it: by the kernel's word. */
static void add_why(struct control_words *w, uid_t uid, const char *why)
{
    char name[USER_NAME_SIZE];

    add(w, "%s: %s", control_access_name(uid, name, sizeof name), why);
}

static int refuse(const char **ret_why, const char *sentence)
{
    *ret_why = sentence;
    return -EBADMSG;
}

static int add_number(struct control_words *w, sd_bus_message *m, char type, const char **ret_why)
{
    uint32_t number = 0;
    int64_t time = 0;
    int flag = 0, rc;

    if (type == 'x')
        rc = sd_bus_message_read(m, "x", &time);
    else if (type == 'u')
        rc = sd_bus_message_read(m, "u", &number);
    else
        rc = sd_bus_message_read(m, "b", &flag);
    if (rc < 0)
        return rc;
    if (time < 0 || time > TIME_MAX_MS)
        return refuse(ret_why, "a time has to be from 0 to 100 years");
    add(w, "%" PRId64, time + number + (flag ? 1 : 0));
    return 0;
}

static int add_argument(struct control_words *w, const struct control_client *client,
                        sd_bus_message *m, char type, const char **ret_why)
{
    const struct config *config = client->control->manager->generation->config;
    const char *text;
    int rc;

    if (strchr("xub", type))
        return add_number(w, m, type, ret_why);
    if (type == 'c') {
        add(w, "%" PRId64, fleet_hello_used_ms(config->fleet.checkin_ms));
        return 0;
    }
    rc = sd_bus_message_read(m, "s", &text);
    if (rc < 0)
        return rc;
    if (type == 'w') {
        if (!control_question_is_reason(text))
            return refuse(ret_why, CONTROL_NO_REASON);
        add_why(w, client->uid, text);
    } else if (type == 'h') {
        if (!is_line(text, HOLDER_MAX))
            return refuse(ret_why, "a holder is one line of 1 to 516 bytes, as it was shown");
        add(w, "%s", text);
    } else if (!is_line(text, TEXT_MAX)) {
        return refuse(ret_why, "a text has to be one line of 1 to 128 bytes");
    } else {
        add(w, "%s", text);
    }
    return 0;
}

struct asked_job {
    const char *name;
    const struct job_config *config; /* NULL: it is not configured here */
};

/* 'j': a job's name, whose keys are asked for. 'n': the same, of a job that has left; its name is
 * the script's, too. */
static int read_job(struct config *c, sd_bus_message *m, char type, struct asked_job *ret_job,
                    const char **ret_why)
{
    int rc = sd_bus_message_read(m, "s", &ret_job->name);

    if (rc < 0)
        return rc;
    if (!is_name(ret_job->name))
        return refuse(ret_why, "that cannot be a job's name: write 1 to 63 letters, digits, _ or "
                               "-, a letter first");
    ret_job->config = config_find_job(c, ret_job->name);
    if (type == 'n' && (ret_job->config || has_keys(c, ret_job->name)))
        return refuse(ret_why, "the job is in this device's configuration; take it out there, on "
                               "all devices, first");
    return 0;
}

int control_question_compose(const struct control_question *q, const struct control_client *client,
                             sd_bus_message *m, struct control_words *ret_words,
                             const char **ret_why)
{
    struct config *c = client->control->manager->generation->config;
    const char *at = q->arguments;
    struct asked_job job = { 0 };
    struct control_words *w = ret_words;
    int rc = sd_bus_message_rewind(m, true);

    w->count = w->used = 0;
    free(w->body);
    w->body = redis_scripts_body(q->script);
    if (!w->body)
        return -ENOMEM;
    if (rc >= 0 && strchr("jn", *at) && *at)
        rc = read_job(c, m, *at++, &job, ret_why);
    if (rc < 0)
        return rc;
    add_text(w, "EVAL");
    add_text(w, w->body);
    add_keys(w, q, c->prefix, job.name, job.config);
    if (at > q->arguments && at[-1] == 'n')
        add(w, "%s", job.name);
    for (; *at && rc >= 0; at++)
        rc = add_argument(w, client, m, *at, ret_why);
    if (q->more)
        add_text(w, q->more);
    if (rc < 0)
        return rc;
    return w->used > sizeof w->text ? refuse(ret_why, "that is too long") : 0;
}
