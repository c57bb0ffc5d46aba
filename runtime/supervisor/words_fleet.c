/* SPDX-License-Identifier: MIT
 *
 * What a job is told of the fleet: that it is paused there or new, that its record or lock is not
 * as it should be, that others have it otherwise. */
#include "base/text.h"
#include "base/units.h"
#include "core/fleet_text.h"
#include "supervisor/journal.h"
#include "supervisor/words.h"
#include "supervisor/words_internal.h"
#include <inttypes.h>
#include <string.h>

void words_fleet_brake(const struct words_context *c)
{
    uint32_t failures = c->job->spec->stop_after_failures;

    words_say(c, LOG_ERR | MESSAGE_BRAKE,
              "paused in the whole fleet after %" PRIu32
              " failure%s in a row; mend it, then rotactl resume --fleet",
              failures, failures == 1 ? "" : "s");
}

void words_fleet_paused(const struct words_context *c)
{
    struct wall now = words_now(c);
    char end[WORDS_INSTANT_SIZE], until[WORDS_INSTANT_SIZE + 8] = "";

    if (c->report->silent_ms >= 0)
        text_format(until, sizeof until, " until %s",
                    words_instant(wall_add(now, c->report->silent_ms), now, end, sizeof end));
    words_say(c, LOG_NOTICE | MESSAGE_PAUSED, "paused in the whole fleet%s, by %s", until, c->text);
}

void words_fleet_blocked(const struct words_context *c)
{
    const struct job_spec *spec = c->job->spec;
    const char *lock = spec->lock_key ? spec->lock_key : spec->key;
    char key[WORDS_FOREIGN_SIZE];

    words_say(
        c, LOG_WARNING | MESSAGE_LOCK_BLOCKED,
        "its lock in Redis (%s%s%s) has no expiry, so no device has set it; it waits until that is "
        "gone. Its value: %s",
        spec->lock_key ? "" : "PREFIX{", text_escape(key, sizeof key, lock, strlen(lock)),
        spec->lock_key ? "" : "}:lock", c->text);
}

void words_fleet_resumed(const struct words_context *c)
{
    words_say(c, LOG_NOTICE | MESSAGE_RESUMED, "not paused any more");
}

void words_fleet_first_sight(const struct words_context *c)
{
    char wait[UNITS_SIZE];

    if (c->report->silent_ms > 0)
        words_say(c, LOG_INFO | MESSAGE_FIRST_SIGHT,
                  "there is no record of it by this schedule; its turn of %s waits %s for a holder "
                  "that may still run",
                  c->turn, units_say_duration(c->report->silent_ms, wait, sizeof wait));
    else
        words_say(
            c, LOG_INFO | MESSAGE_FIRST_SIGHT,
            "there is no record of it by this schedule, so its past turn of %s is not run; it "
            "waits for its next one",
            c->turn);
}

void words_fleet_void(const struct words_context *c)
{
    words_say(c, LOG_WARNING | MESSAGE_RECORD_VOID,
              "its record lay in the future (a clock was ahead for a while) and is void; it waits "
              "for its next turn");
}

/* Schedules are told apart by their prints: a claim holds no more of another configuration. */
void words_fleet_mixed(const struct words_context *c)
{
    words_say(c, LOG_WARNING | MESSAGE_MIXED,
              "this device has it by configuration %s, and %s by %s; it runs by both until all "
              "devices agree",
              c->job->spec->fingerprint, c->device[0] ? c->device : "another device", c->text);
}

void words_fleet_mismatch(const struct words_context *c)
{
    words_say(
        c, LOG_ERR | MESSAGE_MISMATCH,
        "not run here: this device has scope = \"%s\", and %s runs it by scope = \"%s\"; give "
        "all devices the same, or the job another name",
        c->job->spec->scope == SCOPE_DEVICE ? "device" : "fleet",
        c->device[0] ? c->device : "another device", c->text);
}

static const char *lock_words(const char *lock, char *buf, size_t size)
{
    const char *key = fleet_text_lock_key(lock);

    if (key)
        text_format(buf, size, "lock_key = \"%s\"", key);
    else if (strcmp(lock, "own") == 0)
        text_copy(buf, size, "no lock_key");
    else
        text_format(buf, size, "lock = \"%s\"", lock);
    return buf;
}

void words_fleet_apart(const struct words_context *c)
{
    char ours[WORDS_FOREIGN_SIZE + 16], theirs[WORDS_FOREIGN_SIZE + 16];
    bool aside = c->report->kind == REPORT_APART;

    words_say(
        c, LOG_ERR | MESSAGE_MISMATCH,
        "%s: this device has %s, and others have %s, so that one lock would not keep the "
        "other's runs away; give all devices the same, or the job another name%s",
        aside ? "not run here" : "run here, and not there once they know of it",
        lock_words(c->report->ours, ours, sizeof ours), lock_words(c->text, theirs, sizeof theirs),
        aside ? ". It runs again when no device has had the other configuration for a day, or four "
                "times checkin"
              : "");
}

void words_fleet_outdated(const struct words_context *c)
{
    words_say(c, LOG_NOTICE | MESSAGE_OUTDATED,
              "stands aside: version %" PRIu64
              " has succeeded elsewhere, and this device has %" PRIu32
              "; give it the newer configuration",
              c->report->version, c->job->spec->version);
}

void words_fleet_newer(const struct words_context *c)
{
    words_say(c, LOG_ERR | MESSAGE_NEWER,
              "stands aside: a newer rota keeps its record in Redis (layout %" PRIu64
              "); upgrade this device",
              c->report->version);
}

void words_twin(const char *device)
{
    journal_log(LOG_WARNING | MESSAGE_TWIN, NULL,
                "another machine of this fleet has this one's name, %s; give each its own "
                "(device or device_file)",
                device);
}
