/* SPDX-License-Identifier: MIT
 * supervisor/journal.h: where rotad's sentences go: one entry an event.
 *
 * Where stderr is the journal's own stream ($JOURNAL_STREAM names its device and inode),
 * entries go to the journal with fields. Elsewhere each is one line on stderr, in UTC:
 *   2026-11-29T17:30:01.123Z info: nightly_report: succeeded in 4 min 51 s
 * written by one write(2). Neither way ever waits: what does not fit is dropped and counted,
 * and the next line that fits is preceded by the count. This is the only module with a state of
 * its own.
 *
 * `what` is a level of syslog.h, and with | one of enum message_id (messages.h): that becomes
 * MESSAGE_ID, and says whether many like lines are counted in place of being said. */
#ifndef ROTA_SUPERVISOR_JOURNAL_H
#define ROTA_SUPERVISOR_JOURNAL_H
#include "base/time.h"
#include "supervisor/messages.h"
#include <stdbool.h>
#include <syslog.h>

/* The sentence is cut to this many bytes, with its end. */
#define JOURNAL_TEXT_SIZE 2048
/* Fields of one entry; more are left out. */
#define JOURNAL_FIELDS_MAX 16

struct journal_field {
    const char *name;  /* ROTA_JOB ...; NULL ends the array */
    const char *value; /* NULL: left out */
};

/* Finds out where entries go. level: the least one that is logged, LOG_ERR ... LOG_DEBUG. */
void journal_init(int level);
void journal_set_level(int level);
/* Whether an entry of this level may be logged. */
bool journal_wants(int what);
/* Logs one sentence. fields: ended by a NULL name, or NULL. errno is left as it was. What
 * may not stand in a line (text_escape) is escaped here, so one event is one line. */
void journal_log(int what, const struct journal_field *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A line that somebody else wrote, as the entry of `identity`, which is in no need of escaping: the
 * journal's SYSLOG_IDENTIFIER; elsewhere "identity| " stands before the text. Else as
 * journal_log(). */
void journal_pass_on(int level, const char *identity, const struct journal_field *fields,
                     const char *text);
/* When journal_tell_held() has something to tell; BOOT_NEVER: while no line is held back. */
struct boot journal_due(void);
/* Says how many lines were held back where that is due; or all, before rotad ends. The last one of
 * a kind is said with their number. */
void journal_tell_held(bool all);
#endif
