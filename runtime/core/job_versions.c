/* SPDX-License-Identifier: MIT
 * Two configurations, or two versions, of a job in one fleet, or something else that keeps it: what
 * is said of it, once.
 */
#include "base/text.h"
#include "core/job_internal.h"
#include <string.h>

/* Never 0, which is none. Two prints that look alike so are told of once. */
static uint32_t shorten(const char *print)
{
    struct fingerprint f;

    fingerprint_init(&f);
    fingerprint_text(&f, "print", print);
    return (uint32_t)f.hash | 1;
}

static bool was_said(struct job *j, const char *print)
{
    uint32_t sum = shorten(print);

    for (size_t i = 0; i < JOB_PRINTS_SAID; i++)
        if (j->prints_said[i] == sum)
            return true;
    j->prints_said[j->prints++ % JOB_PRINTS_SAID] = sum;
    return false;
}

/* A print that is longer than ours is cut; so is what is said of it. */
static void note_print(struct job *j, const struct store_reply *reply)
{
    char print[FINGERPRINT_SIZE], device[DEVICE_NAME_MAX + 1] = "";
    struct report r = { .kind = REPORT_MIXED, .text = print, .device = device };

    if (reply->acquire.printer)
        lease_token_device(reply->acquire.printer, device);
    /* What this device had before it was edited is not another's. */
    j->mixed = reply->acquire.print && reply->acquire.print[0] &&
               !text_equal(device, j->fleet->lease_env.device);
    if (!j->mixed)
        return;
    text_copy(print, sizeof print, reply->acquire.print);
    if (!was_said(j, print))
        job_report(j, &r);
}

static void note_mismatch(struct job *j, const struct store_reply *reply)
{
    char device[DEVICE_NAME_MAX + 1] = "";
    struct report r = { .kind = REPORT_MISMATCH, .text = reply->acquire.why, .device = device };

    j->bar = JOB_MISMATCHED;
    if (j->mismatch_said)
        return;
    j->mismatch_said = true;
    if (reply->acquire.holder)
        lease_token_device(reply->acquire.holder, device);
    job_report(j, &r);
}

static void note_version(struct job *j, enum job_bar bar, enum report_kind kind, uint64_t version)
{
    struct report r = { .kind = kind, .version = version };
    bool said = j->bar == bar && j->bar_version == (uint32_t)version;

    j->bar = bar;
    j->bar_version = (uint32_t)version;
    if (!said)
        job_report(j, &r);
}

static void note_stop(struct job *j, enum job_bar bar, enum report_kind kind, const char *text,
                      int64_t left_ms)
{
    struct report r = { .kind = kind, .text = text, .silent_ms = left_ms };

    if (j->bar != bar)
        job_report(j, &r);
    j->bar = bar;
}

static void note_free(struct job *j)
{
    struct report r = { .kind = REPORT_RESUMED };

    if (j->bar == JOB_PAUSED)
        job_report(j, &r);
    j->bar = JOB_NOT_BARRED;
}

static void note_held(struct job *j, const struct store_reply *reply)
{
    if (reply->acquire.left_ms < 0)
        note_stop(j, JOB_BLOCKED, REPORT_BLOCKED, reply->acquire.holder, 0);
    else
        note_free(j);
}

/* That a turn fell due while the job was paused does not tell whether it still is. */
static bool is_of_a_pause(const struct store_reply *reply)
{
    return reply->acquire.answer == ACQUIRE_DONE && text_equal(reply->acquire.why, "paused");
}

static void report_peer(struct job *j, enum report_kind kind, const char *theirs, const char *ours)
{
    struct report r = { .kind = kind, .text = theirs, .ours = ours, .device = "" };

    job_report(j, &r);
}

static void set_apart(struct job *j, struct boot now)
{
    if (j->apart)
        return;
    j->apart = true;
    if (!job_time(j)->known)
        return;
    j->left_out = job_latest_due(j, now);
    j->drawn_for.ms = 0;
    job_plan_resized(j, now);
}

void job_versions_peer(struct job *j, const struct fleet_text_line *ours,
                       const struct fleet_text_line *theirs, struct boot now)
{
    enum fleet_text_match match = fleet_text_compare(ours, theirs);

    if (match == FLEET_TEXT_THEIR_LOCK)
        set_apart(j, now);
    if (match == FLEET_TEXT_SAME || was_said(j, theirs->fingerprint))
        return;
    if (match == FLEET_TEXT_THEIR_LOCK)
        report_peer(j, REPORT_APART, theirs->lock, ours->lock);
    else if (match == FLEET_TEXT_OUR_LOCK)
        report_peer(j, REPORT_AHEAD, theirs->lock, ours->lock);
    else if (match == FLEET_TEXT_MIXED)
        report_peer(j, REPORT_MIXED, theirs->fingerprint, NULL);
    else if (!j->mismatch_said)
        report_peer(j, REPORT_MISMATCH, theirs->scope, ours->scope);
    j->mismatch_said = j->mismatch_said || match == FLEET_TEXT_OTHER_SCOPE;
}

void job_versions_alone(struct job *j, struct boot now)
{
    if (!j->apart)
        return;
    j->apart = false;
    memset(j->prints_said, 0, sizeof j->prints_said); /* where it is so again, that is news */
    job_plan_resized(j, now);
}

/* Each turn is asked for anew: what is mended elsewhere is seen here by the next. */
void job_versions_heard(struct job *j, const struct store_reply *reply)
{
    note_print(j, reply);
    switch (reply->acquire.answer) {
    case ACQUIRE_MISMATCH:
        note_mismatch(j, reply);
        break;
    case ACQUIRE_OUTDATED:
        note_version(j, JOB_OUTDATED, REPORT_OUTDATED, reply->acquire.version);
        break;
    case ACQUIRE_NEWER:
        note_version(j, JOB_NEWER, REPORT_NEWER, reply->acquire.version);
        break;
    case ACQUIRE_PAUSED:
        note_stop(j, JOB_PAUSED, REPORT_PAUSED, reply->acquire.why, reply->acquire.left_ms);
        break;
    case ACQUIRE_HELD:
        note_held(j, reply);
        break;
    default:
        if (!is_of_a_pause(reply))
            note_free(j);
        break;
    }
}
