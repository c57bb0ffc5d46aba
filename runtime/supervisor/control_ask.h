/* SPDX-License-Identifier: MIT
 * supervisor/control_ask.h: questions about the fleet, and changes of it, that rotad puts to Redis
 * for a client, who so needs no secret: one script each, on the connection that the jobs use.
 * control_question.c has them all; control_ask.c asks; control_reply.c answers.
 * Each client has one at a time.
 */
#ifndef ROTA_SUPERVISOR_CONTROL_ASK_H
#define ROTA_SUPERVISOR_CONTROL_ASK_H
#include "redis/ask.h"
#include "redis/scripts.h"
#include "supervisor/control_internal.h"

/* EVAL, the script, the number of keys, 7 keys, 3 arguments. */
#define CONTROL_WORDS_MAX 13
/* All keys and arguments of one command. */
#define CONTROL_WORDS_SIZE 3072

struct control_words {
    size_t count;
    const char *words[CONTROL_WORDS_MAX];
    size_t lengths[CONTROL_WORDS_MAX];
    char *body;  /* the script's, on the heap, to be freed */
    size_t used; /* of text; more than its size: something did not fit */
    char text[CONTROL_WORDS_SIZE];
};

/* What can be asked. */
struct control_question {
    const char *method;
    const struct redis_script *script;
    const char *keys; /* kinds, a blank between two; with '_' ahead: those of {_fleet} */
    /* As D-Bus has them: s, u, x, b; and texts: "j", the job whose keys it has; "n", the same,
     * which nobody may have any more; "w", a reason; "h", a lock's holder. And
     * what is not the client's: "c", how long a configuration is in use. */
    const char *arguments;
    const char *more;       /* a last argument that is always the same; or NULL */
    const char *reply;      /* what follows a word and the server's time: s, u, x, a(...), as */
    const char *first_good; /* the word of `first` with which this one is asked, too */
    const struct control_question *first;
    bool changes;
};

struct control_ask;

/* A method of the interface, whichever: its name says what is asked. */
int control_asked(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* The client is gone. Accepts NULL. */
void control_ask_drop(struct control_ask *ask);

/* control_question.c */

#define CONTROL_NO_REASON "a reason is one line of 1 to 180 bytes, without control characters"

/* Whether the text may be a reason for a pause. */
bool control_question_is_reason(const char *text);
/* NULL: there is none. */
const struct control_question *control_question_find(const char *method);
/* The command, of what the client has said, which is read from its begin. 0; -EBADMSG where the
 * client's words are none that can be asked, and *ret_why a sentence about that; another negative
 * errno. ret_words must not move. */
int control_question_compose(const struct control_question *q, const struct control_client *client,
                             sd_bus_message *m, struct control_words *ret_words,
                             const char **ret_why);

/* control_reply.c */

/* Redis's reply as D-Bus has it, by `signature`, as the question has that: appends the word, the
 * server's time and the rest. Text is escaped. 0; -EBADMSG where it is no such reply; another
 * negative errno. */
int control_reply_append(sd_bus_message *answer, const struct redisReply *reply,
                         const char *signature);
#endif
