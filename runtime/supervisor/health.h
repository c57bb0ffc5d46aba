/* SPDX-License-Identifier: MIT
 * supervisor/health.h: what rotad tells the service manager, by the protocol of sd_notify(3).
 *
 * Without $NOTIFY_SOCKET nothing is sent and every call returns 0. Where a watchdog is asked for
 * ($WATCHDOG_USEC, $WATCHDOG_PID), a timer of its own pings every 0.45 to 0.5 of the interval, and
 * only while sound() says true: a loop that merely turns is no sign of health. */
#ifndef ROTA_SUPERVISOR_HEALTH_H
#define ROTA_SUPERVISOR_HEALTH_H
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/* Longest status, with its end; longer ones are cut. */
#define HEALTH_STATUS_SIZE 384

struct health;

/* Whether the supervisor's own invariants hold. false: *ret_why is a sentence part that lives
 * until the next call ("a reply is 40 s overdue"). */
typedef bool health_sound(void *context, const char **ret_why);

/* Takes $NOTIFY_SOCKET's and the watchdog's variables out of the environment, so that no child
 * sees them, and sends the first ping at once. `priority` is the pings': after the timers that
 * sound() looks at, since they are all late together when the machine was suspended. 0, -ENOMEM, or
 * an error of sd-event. */
int health_new(sd_event *event, int64_t priority, health_sound *sound, void *context,
               struct health **ret_health);
/* Accepts NULL. Sends nothing. */
void health_free(struct health *h);

/* Each is one datagram, sent without waiting. 0, or -errno where it could not be sent. -EAGAIN: the
 * service manager's queue is full; what it must hear is kept and sent by a timer of its own, in the
 * order RELOADING, READY, STATUS, STOPPING. */
int health_ready(struct health *h);
/* One line for people; control characters are escaped; sent only where it differs from the last. */
int health_status(struct health *h, const char *text);
/* The newest status, escaped. */
const char *health_text(const struct health *h);
/* A reload has begun, which may take limit_ms; health_ready() says that it is over. The manager
 * hears of 5 s above that, so that its limit is not the instant at which rotad itself gives up. May
 * be called again, to extend. */
int health_reloading(struct health *h, int64_t limit_ms);
/* The daemon winds down; the same holds. */
int health_stopping(struct health *h, int64_t limit_ms);
#endif
