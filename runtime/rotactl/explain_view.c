/* SPDX-License-Identifier: MIT */
#include "rotactl/explain_view.h"
#include "base/text.h"
#include "base/units.h"
#include "rotactl/explain_block.h"
#include "rotactl/output.h"
#include <inttypes.h>
#include <string.h>

#define COLUMNS 80
/* A time has so many, with what stands before it. */
#define TIME_COLUMNS 8
/* From here on times are told as people say them. */
#define SECONDS_MS (2 * MINUTE_MS)

#define FACT(name, kind)                                                                           \
    {                                                                                              \
#name, kind, offsetof(struct explain, name)                                                \
    }

const struct fact explain_facts[] = {
    FACT(why, FACT_TEXT),
    FACT(worst_case_ms, FACT_NUMBER),
    FACT(max_runtime_ms, FACT_NUMBER),
    FACT(stop_grace_ms, FACT_NUMBER),
    FACT(lease_ms, FACT_NUMBER),
    FACT(margin_ms, FACT_NUMBER),
    FACT(command_timeout_ms, FACT_NUMBER),
    FACT(renew_ms, FACT_NUMBER),
    FACT(repeat_end_ms, FACT_NUMBER),
    FACT(must_stop_ms, FACT_NUMBER),
    FACT(renewals, FACT_NUMBER),
    FACT(takeover_ms, FACT_NUMBER),
    FACT(hello_ms, FACT_NUMBER),
    FACT(run_bytes, FACT_NUMBER),
    FACT(pass_bytes, FACT_NUMBER),
    FACT(attempts, FACT_NUMBER),
    FACT(retry_delay_ms, FACT_NUMBER),
    FACT(concurrency, FACT_NUMBER),
    FACT(stop_after_failures, FACT_NUMBER),
    FACT(servers, FACT_NUMBER),
    FACT(longest_ms, FACT_NUMBER),
    FACT(enough_ms, FACT_NUMBER),
    FACT(write_ms, FACT_NUMBER),
    FACT(write_lease_ms, FACT_NUMBER),
    FACT(unlocked, FACT_FLAG),
    FACT(local, FACT_FLAG),
    FACT(too_short, FACT_FLAG),
};
const size_t explain_facts_count = sizeof explain_facts / sizeof explain_facts[0];

/* --- times --- */

/* "54.4 s": to a tenth, below a second to a hundredth, never later than it is. */
static void say_seconds(int64_t ms, char *buf)
{
    int64_t part = ms % SECOND_MS / 10;
    int digits = 2;

    if (ms >= SECOND_MS)
        part -= part % 10;
    if (part % 10 == 0) {
        part /= 10;
        digits = 1;
    }
    if (part > 0)
        text_format(buf, UNITS_SIZE, "%" PRId64 ".%0*" PRId64 " s", ms / SECOND_MS, digits, part);
    else
        text_format(buf, UNITS_SIZE, "%" PRId64 " s", ms / SECOND_MS);
}

/* "10 min" is "10m", "10 min 5 s" is "10m 5s". */
static void make_short(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (*at == ' ' && at[1] >= 'a' && at[1] <= 'z')
            continue;
        *to++ = *at;
        if (*at >= 'a' && *at <= 'z') /* its first letter says which unit it is */
            at += strcspn(at, " ") - 1;
    }
    *to = '\0';
}

/* As it stands before what happens then. */
static const char *at(const char *before, int64_t ms, char *buf)
{
    char text[UNITS_SIZE];

    if (ms < SECONDS_MS)
        say_seconds(ms, text);
    else
        units_say_duration(ms, text, sizeof text);
    if (strlen(before) + strlen(text) > TIME_COLUMNS)
        make_short(text);
    text_format(buf, UNITS_SIZE, "%s%s", before, text);
    return buf;
}

static const char *say(int64_t ms, char *buf)
{
    return units_say_duration(ms, buf, UNITS_SIZE);
}

/* "18 KB", "2.4 KB". */
static const char *say_bytes(int64_t bytes, char *buf)
{
    int64_t tenths = (bytes + 50) / 100;

    if (tenths < 100)
        text_format(buf, UNITS_SIZE, "%" PRId64 ".%" PRId64 " KB", tenths / 10, tenths % 10);
    else
        text_format(buf, UNITS_SIZE, "%" PRId64 " KB", (bytes + 500) / 1000);
    return buf;
}

/* --- which kind of job it is --- */

static bool is_renewed(const struct explain *e)
{
    return e->renew_ms > 0;
}

static bool has_seats(const struct explain *e)
{
    return e->concurrency > 0;
}

/* No other device is asked, or told. */
static bool is_alone(const struct explain *e)
{
    return e->unlocked || e->local;
}

static bool extends(const struct explain *e)
{
    return e->max_runtime_ms > 0;
}

static const char *lock_of(const struct explain *e)
{
    return has_seats(e) ? "seat" : "lock";
}

/* --- the four parts --- */

static void add_renewals(struct block *b, const struct explain *e)
{
    char bytes[UNITS_SIZE];

    if (e->run_bytes == FACT_NONE)
        return;
    say_bytes(e->run_bytes, bytes);
    if (e->renewals > 0)
        block_add(b, "", "%" PRId64 " renewal%s, %s", e->renewals, e->renewals == 1 ? "" : "s",
                  bytes);
    else
        block_add(b, "", "no renewal, %s", bytes);
}

static void add_good_run(struct block *b, const struct explain *e)
{
    int64_t end_ms = extends(e) ? e->max_runtime_ms : e->worst_case_ms;
    char time[UNITS_SIZE], every[UNITS_SIZE];

    block_head(b, "A good run");
    if (is_alone(e))
        block_add(b, "0 s", e->unlocked ? "the worker starts, no lock" : "the worker starts");
    else
        block_add(b, "0 s", "%s asked for, granted", lock_of(e));
    if (!is_alone(e))
        block_add(b, at("<= ", e->command_timeout_ms, time), "the worker starts");
    if (is_renewed(e) && !is_alone(e)) {
        at("", e->renew_ms, every);
        block_add(b, at("", e->renew_ms, time), "renewed, and every %s", every);
    }
    if (is_alone(e))
        block_add(b, at("<= ", end_ms, time), "ends; nobody else is told");
    else
        block_add(b, at("<= ", end_ms, time), "ends; result kept, %s %s", lock_of(e),
                  has_seats(e) ? "free" : "gone");
    add_renewals(b, e);
}

static void add_pass(struct block *b, const struct explain *e)
{
    char bytes[UNITS_SIZE];

    if (is_alone(e) || e->pass_bytes == FACT_NONE)
        return;
    block_head(b, "");
    block_head(b, has_seats(e) ? "No seat is free" : "Taken by another device");
    block_say(b, "one question, %s", say_bytes(e->pass_bytes, bytes));
    if (has_seats(e))
        block_say(b, "the answer says when to ask again");
}

static void add_broken_link(struct block *b, const struct explain *e)
{
    char time[UNITS_SIZE];

    block_head(b, "The link breaks during it");
    if (is_alone(e)) {
        block_say(b, "nothing happens: no other device and no Redis is needed");
        return;
    }
    if (!is_renewed(e)) {
        block_say(b, "nothing happens: its lease is as long as a run may be. The result is sent "
                     "again until Redis has it");
        block_add(b, at("", e->lease_ms, time), "the %s expires", lock_of(e));
        return;
    }
    block_add(b, "0 s", "last renewal that succeeded");
    block_add(b, at("", e->renew_ms, time), "renewal sent, no reply");
    block_add(b, at("", e->renew_ms + e->command_timeout_ms, time), "given up; connecting anew");
    block_add(b, at("", e->repeat_end_ms, time), "the repeat has failed too");
    block_add(b, at("", e->must_stop_ms, time), "SIGTERM to all it started");
    block_add(b, at("", e->must_stop_ms + e->stop_grace_ms, time), "SIGKILL");
    block_add(b, at("", e->lease_ms, time), "the %s expires", lock_of(e));
}

static void add_next_device(struct block *b, const struct explain *e)
{
    char time[UNITS_SIZE], within[UNITS_SIZE];

    if (e->attempts == 1) {
        block_add(b, "", "not run again: attempts = 1");
        return;
    }
    block_add(b, at("", e->takeover_ms, time), "a watching device runs it");
    if (e->hello_ms == FACT_NONE)
        block_add(b, "later", "if there is no other: when this one is back");
    else
        block_add(b, e->hello_ms < 10 * MINUTE_MS ? "minutes" : "hours",
                  "if nobody watched: the next to ask, usually within %s",
                  at("", e->hello_ms, within));
}

static void add_death(struct block *b, const struct explain *e)
{
    char time[UNITS_SIZE];

    block_head(b, "This device dies");
    if (is_alone(e)) {
        block_add(b, "later", "when it is back: its next turn");
        return;
    }
    block_add(b, at("", e->lease_ms, time), "the %s expires", lock_of(e));
    if (!has_seats(e))
        add_next_device(b, e);
    else if (e->attempts > 1)
        block_add(b, "later", "when it is back: its next try");
    else
        block_add(b, "later", "not run again: attempts = 1");
}

/* What to think of worst_case, by the runs that there were. */
static void add_longest(struct block *b, const struct explain *e)
{
    const char *key = extends(e) ? "max_runtime" : "worst_case";
    char longest[UNITS_SIZE], limit[UNITS_SIZE], value[UNITS_SIZE], lease[UNITS_SIZE] = "";
    int64_t limit_ms = extends(e) ? e->max_runtime_ms : e->worst_case_ms;

    if (e->longest_ms == FACT_NONE) {
        block_say(b, "longest seen: none has succeeded here yet");
        return;
    }
    say(e->longest_ms, longest);
    say(limit_ms, limit);
    units_write_duration(e->write_ms == FACT_NONE ? e->enough_ms : e->write_ms, value,
                         sizeof value);
    if (e->write_lease_ms > 0)
        units_write_duration(e->write_lease_ms, lease, sizeof lease);
    if (e->write_ms != FACT_NONE)
        block_say(b, "longest seen: %s; %s is too %s, write %s = \"%s\"%s%s%s", longest, limit,
                  e->too_short ? "short" : "long", key, value, *lease ? " and lease = \"" : "",
                  lease, *lease ? "\"" : "");
    else if (e->enough_ms < limit_ms)
        block_say(b, "longest seen: %s; %s is good, \"%s\" would do", longest, limit, value);
    else
        block_say(b, "longest seen: %s; %s is good", longest, limit);
}

static void add_overrun(struct block *b, const struct explain *e)
{
    int64_t end_ms = extends(e) ? e->max_runtime_ms : e->worst_case_ms;
    char time[UNITS_SIZE];

    block_head(b, "It takes too long");
    if (extends(e))
        block_add(b, at("", e->worst_case_ms, time),
                  "SIGTERM, if it tells of no progress any more");
    block_add(b, at("", end_ms, time), "SIGTERM, overrun, attempt used");
    block_add(b, at("", end_ms + e->stop_grace_ms, time), "SIGKILL");
    add_longest(b, e);
}

/* --- around them --- */

static void print_title(FILE *out, const char *job, const struct explain *e)
{
    char worst[UNITS_SIZE], grace[UNITS_SIZE], lease[UNITS_SIZE], margin[UNITS_SIZE];

    output_text(out, job);
    fprintf(out, ": worst case %s, grace %s", say(e->worst_case_ms, worst),
            e->stop_grace_ms == FACT_NONE ? "0 s" : say(e->stop_grace_ms, grace));
    if (is_alone(e)) {
        fputs(e->unlocked ? ", no lock\n\n" : ", this device alone\n\n", out);
        return;
    }
    say_seconds(e->margin_ms, margin);
    fprintf(out, ", lease %s (margin %s)\n\n", say(e->lease_ms, lease), margin);
}

static void print_failure(FILE *out, const struct explain *e)
{
    char retry[UNITS_SIZE];

    if (e->attempts == 1) {
        fputs("It fails: no second try; attempts = 1 means at most once a turn.\n", out);
    } else {
        fprintf(out, "It fails: %" PRId64 " tries %s, ", e->attempts,
                has_seats(e) || is_alone(e) ? "on this device" : "in the whole fleet");
        if (e->retry_delay_ms == FACT_NONE)
            fputs("one after the other", out);
        else
            fprintf(out, "%s apart", say(e->retry_delay_ms, retry));
        fputs("; then not before next turn.\n", out);
    }
    if (e->stop_after_failures > 0)
        fprintf(out,
                "After %" PRId64 " failure%s in a row no device runs it, until it is resumed.\n",
                e->stop_after_failures, e->stop_after_failures == 1 ? "" : "s");
}

static void print_promise(FILE *out, const struct explain *e)
{
    static const char page[] = "man rota-guide, \"When two runs hurt\".\n";

    if (e->unlocked) {
        fputs("Every device runs each turn, at the same time as others.\n"
              "If that would break data, the work itself has to prevent it:\n",
              out);
        fputs(page, out);
    } else if (e->local) {
        fputs("No other device is asked: each that has this job runs it too.\n", out);
    } else if (has_seats(e)) {
        fputs("More runs at once than seats stay possible (Redis failover, clock jump,\n"
              "suspended device). If that would break data:\n",
              out);
        fputs(page, out);
    } else if (e->servers > 0) {
        fputs("Two runs at once stay possible (servers that lose writes, clock jump,\n"
              "suspended device), and a quorum gives no fence. If that would break data:\n",
              out);
        fputs(page, out);
    } else {
        fputs("Two runs at once stay possible (Redis failover, clock jump, suspended device).\n"
              "If that would break data, use the fence: ",
              out);
        fputs(page, out);
    }
}

void explain_print(FILE *out, const char *job, const struct explain *e)
{
    struct block left = { .width = BLOCK_BESIDE }, right = { .width = COLUMNS - BLOCK_BESIDE };
    struct explain known = *e;

    if (known.stop_grace_ms == FACT_NONE) /* numbers that are 0 are not told */
        known.stop_grace_ms = 0;
    print_title(out, job, e);
    add_good_run(&left, &known);
    add_pass(&left, &known);
    add_broken_link(&right, &known);
    block_print(out, &left, &right);
    left.count = right.count = 0;
    add_death(&left, &known);
    add_overrun(&right, &known);
    block_print(out, &left, &right);
    print_failure(out, &known);
    print_promise(out, &known);
}
