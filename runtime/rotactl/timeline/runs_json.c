/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/runs_json.h"
#include "base/text.h"
#include "rotactl/output.h"
#include "rotactl/timeline/json_line.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Of a line, with its end: a detail is 256 bytes at most, or six times that in JSON. */
#define LINE_SIZE 16002

/* What a line says. The places in `line` are NULL, or 0, where it does not say it. */
struct entry {
    struct run run;
    int64_t due, now;
    bool has_turn, has_due, has_now;
};

static int refuse(struct runs_json_fault *f, const char *key, const char *why)
{
    text_format(f->why, sizeof f->why, "%s %s", key, why);
    return -EINVAL;
}

static int take_text(const struct json_member *m, const char **ret_text, struct runs_json_fault *f)
{
    if (m->kind == JSON_NULL)
        return 0;
    if (m->kind != JSON_TEXT)
        return refuse(f, m->key, "is no text in quotes");
    *ret_text = m->text;
    return 0;
}

static int take_number(const struct json_member *m, int64_t *ret_number, struct runs_json_fault *f)
{
    if (m->kind == JSON_NULL)
        return 0;
    if (m->kind != JSON_NUMBER || m->number < 0)
        return refuse(f, m->key, "is no whole number from 0 on");
    *ret_number = m->number;
    return 0;
}

static int take_member(struct entry *e, const struct json_member *m, struct runs_json_fault *f)
{
    const struct {
        const char *key;
        const char **text;
        int64_t *number;
        bool *there;
    } members[] = {
        { .key = "job", .text = &e->run.job },
        { .key = "device", .text = &e->run.device },
        { .key = "outcome", .text = &e->run.word },
        { .key = "detail", .text = &e->run.detail },
        { .key = "turn", .number = &e->run.turn, .there = &e->has_turn },
        { .key = "attempt", .number = &e->run.attempt },
        { .key = "fence", .number = &e->run.fence },
        { .key = "started", .number = &e->run.started },
        { .key = "ended", .number = &e->run.ended },
        { .key = "due", .number = &e->due, .there = &e->has_due },
        { .key = "now", .number = &e->now, .there = &e->has_now },
    };

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (strcmp(members[i].key, m->key) != 0)
            continue;
        if (members[i].there)
            *members[i].there = m->kind != JSON_NULL;
        return members[i].text ? take_text(m, members[i].text, f)
                               : take_number(m, members[i].number, f);
    }
    return 0;
}

static int check_run(const struct entry *e, struct runs_json_fault *f)
{
    const struct run *run = &e->run;

    if (!run->device || !run->word)
        return refuse(f, run->device ? "outcome" : "device", "is missing");
    if (!e->has_turn)
        return refuse(f, "turn", "is missing");
    if (run->ended == RUNS_NO_TIME && runs_outcome(run->word) != RUN_RUNNING)
        return refuse(f, "ended", "is missing, and the outcome is not \"running\"");
    if (run->ended == RUNS_NO_TIME && run->started == RUNS_NO_TIME)
        return refuse(f, "started", "is missing, and so is ended");
    return 0;
}

static int add(struct runs *runs, const struct entry *e, struct runs_json_fault *f)
{
    int rc;

    if (!e->run.job && e->has_now) {
        runs->now = e->now < RUNS_TIME_MAX ? e->now : RUNS_TIME_MAX;
        return 0;
    }
    if (!e->run.job || !*e->run.job)
        return refuse(f, "job", "is missing");
    if (e->has_due)
        return runs_add_due(runs, e->run.job, e->due);
    rc = check_run(e, f);
    return rc < 0 ? rc : runs_add(runs, &e->run);
}

int runs_json_read_line(struct runs *runs, char *line, struct runs_json_fault *ret_fault)
{
    struct entry e = {
        .run = { .detail = "", .attempt = 1, .started = RUNS_NO_TIME, .ended = RUNS_NO_TIME }
    };
    struct json_member member;
    struct json_line json;
    int rc;

    if (line[strspn(line, " \t\r\n")] == '\0')
        return 0;
    json_line_begin(&json, line);
    while ((rc = json_line_next(&json, &member)) > 0) {
        rc = take_member(&e, &member, ret_fault);
        if (rc < 0)
            return rc;
    }
    if (rc < 0) {
        text_copy(ret_fault->why, sizeof ret_fault->why, json.why);
        return rc;
    }
    return add(runs, &e, ret_fault);
}

/* 1: a line; 0: there is none any more; -EINVAL; the file's own error. */
static int get_line(FILE *in, char *line, struct runs_json_fault *f)
{
    size_t length;

    errno = 0;
    if (!fgets(line, LINE_SIZE, in))
        return feof(in) ? 0 : errno ? -errno : -EIO;
    f->line++;
    length = strlen(line);
    if ((length > 0 && line[length - 1] == '\n') || (feof(in) && length > 0))
        return 1;
    text_copy(f->why, sizeof f->why,
              length + 1 == LINE_SIZE ? "it is longer than 16,000 bytes" : "a NUL is in it");
    return -EINVAL;
}

int runs_json_read(struct runs *runs, FILE *in, struct runs_json_fault *ret_fault)
{
    struct runs_json_fault fault = { 0 };
    char line[LINE_SIZE];
    int rc;

    while ((rc = get_line(in, line, &fault)) > 0) {
        rc = runs_json_read_line(runs, line, &fault);
        if (rc < 0)
            break;
    }
    if (rc == -E2BIG)
        text_format(fault.why, sizeof fault.why,
                    "there are more than %d runs or due instants; take fewer jobs or days",
                    RUNS_MAX);
    if (rc == -EINVAL || rc == -E2BIG)
        *ret_fault = fault;
    return rc;
}

/* --- written --- */

static void write_text(FILE *out, const char *before, const char *text)
{
    fputs(before, out);
    output_json(out, text);
}

static void write_time(FILE *out, const char *key, int64_t time)
{
    if (time == RUNS_NO_TIME)
        fprintf(out, ", \"%s\": null", key);
    else
        fprintf(out, ", \"%s\": %" PRId64, key, time);
}

void runs_json_write(FILE *out, const struct run *run)
{
    write_text(out, "{\"job\": ", run->job);
    write_text(out, ", \"device\": ", run->device);
    write_time(out, "turn", run->turn);
    fprintf(out, ", \"attempt\": %" PRId64, run->attempt);
    if (run->fence > 0)
        fprintf(out, ", \"fence\": %" PRId64, run->fence);
    write_text(out, ", \"outcome\": ", run->word);
    write_time(out, "started", run->started);
    write_time(out, "ended", run->ended);
    if (run->detail[0])
        write_text(out, ", \"detail\": ", run->detail);
    fputs("}\n", out);
}

void runs_json_write_now(FILE *out, int64_t now)
{
    fprintf(out, "{\"now\": %" PRId64 "}\n", now);
}

void runs_json_write_due(FILE *out, const struct due *due)
{
    write_text(out, "{\"job\": ", due->job);
    write_time(out, "due", due->at);
    fputs("}\n", out);
}
