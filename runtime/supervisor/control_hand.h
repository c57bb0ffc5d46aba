/* SPDX-License-Identifier: MIT
 * supervisor/control_hand.h: what operators do with a job of this device alone. control_hand.c runs
 * it by hand, and stops it; control_hand_words.c has the sentences for that; control_pause.c lets
 * its turns pass; control_reread.c reads the files anew. */
#ifndef ROTA_SUPERVISOR_CONTROL_HAND_H
#define ROTA_SUPERVISOR_CONTROL_HAND_H
#include "core/report.h"
#include "supervisor/control_internal.h"
#include "supervisor/manager.h"

#define CONTROL_ERROR_WORDS CONTROL_INTERFACE ".Error.Words"
#define CONTROL_ERROR_BUSY CONTROL_INTERFACE ".Error.Busy"
/* Longer than any foreign text in it. */
#define CONTROL_SENTENCE_SIZE 768

/* --- control_hand.c --- */

/* A client that waits for a run; it has one at a time. */
struct control_hand;

/* The methods Run and Stop. */
int control_run(sd_bus_message *m, void *userdata, sd_bus_error *error);
int control_stop(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* What the core reports of a job. */
void control_hand_report(struct control *c, const struct job *job, const struct report *r);
/* The client is gone; the run is none of its business. Accepts NULL. */
void control_hand_drop(struct control_hand *hand);
/* The job of that name, of the configuration and as it takes turns here; NULL where it does not.
 * -ENOENT, and an error that says so, where there is neither. */
int control_hand_find(const struct manager *m, const char *name, sd_bus_error *error,
                      const struct job_config **ret_config, struct device_job **ret_device);

/* --- control_hand_words.c --- */

/* What is answered: a word for programs, a sentence for people. */
struct control_said {
    bool good;
    const char *word;
    char sentence[CONTROL_SENTENCE_SIZE];
};

/* Why it does not even come to a question. */
void control_hand_say_obstacle(const struct manager *m, const struct device_job *d,
                               enum job_obstacle obstacle, struct control_said *ret);
/* The same, where the job takes no turns here. config: NULL where it was taken out. */
void control_hand_say_absent(const struct manager *m, const struct job_config *config,
                             struct control_said *ret);
/* What the store answered, which is no grant; NULL: nothing. */
void control_hand_say_answer(const struct manager *m, const struct job *job,
                             const struct store_reply *reply, struct control_said *ret);
void control_hand_say_stillborn(const struct report *r, struct control_said *ret);
/* The end of a run: as who runs it wants it, or who stops it. */
void control_hand_say_end(const struct report *r, struct control_said *ret);
void control_hand_say_stopped(const struct job *job, const struct report *r,
                              struct control_said *ret);

/* --- control_pause.c --- */

struct control_pause;

/* The methods PauseHere and ResumeHere. */
int control_pause_here(sd_bus_message *m, void *userdata, sd_bus_error *error);
int control_resume_here(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* Whether the job is paused here; `turn`, unless 0, passes by that. */
bool control_pause_holds(struct control *c, const struct job *job, struct wall turn);
/* "WHO: WHY"; NULL: it is not paused here. */
const char *control_pause_text(const struct control *c, const char *job);
void control_pause_end_all(struct control *c);

/* --- control_reread.c --- */

/* The method Check. */
int control_check_files(sd_bus_message *m, void *userdata, sd_bus_error *error);
#endif
