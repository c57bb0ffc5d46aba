/* SPDX-License-Identifier: MIT
 * fake_settings.h: what fake_systemd plays, by NAME=VALUE, with the defaults:
 *   load=loaded type=oneshot remain=0 limit=infinity   what the unit's file says
 *   active=inactive    where the unit is at first; deactivating: being stopped, down after run_ms
 *   queued=0           1: a start of it is waiting already
 *   run_ms=100         from the start to its end; below 0: it runs until it is stopped
 *   stop_ms=0          from asking it to stop to its end; below 0: until it is killed
 *   job=done           how its start ends; other than done: it never runs
 *   result=success code=1 status=0 condition=1         what is known after its end
 *   lifeline=done      how the start of the transient unit ends
 *   keeps=1            0: that lets go of its socket at once
 *   cut_ms=0           how long that takes to end, where its socket closes without a line
 *   answer_ms=0        how long StartUnit and StopUnit take to be answered
 *   id=                the unit's own name, where it is asked for by an alias
 *   lost=NAME          the first call or question of that name gets no answer
 *   closes=NAME        a call of that name closes the bus
 *   silent=0           1: what changes after the start is not told
 *   taken=0            1: someone else starts the unit while the transient one starts
 *   kills=1            how often it has to be killed
 *   refuse=METHOD:ERROR  that call is answered so */
#ifndef FAKE_SETTINGS_H
#define FAKE_SETTINGS_H

/* Ends the program where r is an -errno, and says what that was about. */
void must(int r, const char *what);
void take_settings(int count, char **words);
/* Of a name in the list above. */
const char *setting(const char *name);
#endif
