/* SPDX-License-Identifier: MIT */
#include "core/fleet_text.h"
#include "base/text.h"
#include <string.h>

/* A lock that is a lock_key begins so. */
#define KEY "key "
/* What names, prints and the words for scope and lock are made of. */
#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

static void describe_lock(const struct job_spec *job, char ret_lock[FLEET_TEXT_LOCK_SIZE])
{
    if (job->lock == LOCK_NONE || !job->lock_key)
        text_copy(ret_lock, FLEET_TEXT_LOCK_SIZE, job->lock == LOCK_NONE ? "none" : "own");
    else
        text_format(ret_lock, FLEET_TEXT_LOCK_SIZE, KEY "%s", job->lock_key);
    for (char *at = ret_lock; *at != '\0'; at++)
        if (*at == '\n') /* which would end the line */
            *at = ' ';
}

void fleet_text_describe(const struct job_spec *job, struct fleet_text_line *ret_line)
{
    text_copy(ret_line->key, sizeof(ret_line->key), job->key);
    text_copy(ret_line->fingerprint, sizeof(ret_line->fingerprint), job->fingerprint);
    text_copy(ret_line->scope, sizeof(ret_line->scope),
              job->scope == SCOPE_DEVICE ? "device" : "fleet");
    describe_lock(job, ret_line->lock);
}

size_t fleet_text_format(const struct fleet_text_line *line, char ret_text[FLEET_TEXT_LINE_SIZE])
{
    text_format(ret_text, FLEET_TEXT_LINE_SIZE, "%s %s %s %s\n", line->key, line->fingerprint,
                line->scope, line->lock);
    return strlen(ret_text);
}

/* Takes a word and the blank behind it. False: there is none, or one that is too long. */
static bool take_word(const char **at, char *ret_word, size_t size)
{
    size_t length = strspn(*at, WORD);

    if (length == 0 || length >= size)
        return false;
    memcpy(ret_word, *at, length);
    ret_word[length] = '\0';
    *at += length;
    if (**at == ' ')
        ++*at;
    else if (**at != '\n' && **at != '\0')
        return false;
    return true;
}

static bool take_lock(const char *at, char ret_lock[FLEET_TEXT_LOCK_SIZE])
{
    size_t length = strcspn(at, "\n");

    if (strncmp(at, KEY, strlen(KEY)) != 0)
        return take_word(&at, ret_lock, FLEET_TEXT_LOCK_SIZE);
    if (length == strlen(KEY) || length >= FLEET_TEXT_LOCK_SIZE)
        return false;
    memcpy(ret_lock, at, length);
    ret_lock[length] = '\0';
    return true;
}

static bool take_line(const char *at, struct fleet_text_line *line)
{
    return take_word(&at, line->key, sizeof(line->key)) &&
           take_word(&at, line->fingerprint, sizeof(line->fingerprint)) &&
           take_word(&at, line->scope, sizeof(line->scope)) && take_lock(at, line->lock);
}

bool fleet_text_next(const char **text, struct fleet_text_line *ret_line)
{
    struct fleet_text_line line;
    bool good = false;

    while (!good && **text != '\0') {
        good = take_line(*text, &line);
        *text += strcspn(*text, "\n");
        if (**text == '\n')
            ++*text;
    }
    if (good)
        *ret_line = line;
    return good;
}

const char *fleet_text_lock_key(const char *lock)
{
    return strncmp(lock, KEY, strlen(KEY)) == 0 ? lock + strlen(KEY) : NULL;
}

/* A later version's words are the last: that version knows what it has to do. */
static int rank(const char *lock)
{
    if (strcmp(lock, "own") == 0)
        return 0;
    return fleet_text_lock_key(lock) ? 1 : 2;
}

static bool goes_first(const char *ours, const char *theirs)
{
    int before = rank(ours) - rank(theirs);

    return (before != 0 ? before : strcmp(ours, theirs)) < 0;
}

enum fleet_text_match fleet_text_compare(const struct fleet_text_line *ours,
                                         const struct fleet_text_line *theirs)
{
    if (strcmp(ours->scope, theirs->scope) != 0)
        return FLEET_TEXT_OTHER_SCOPE;
    if (strcmp(ours->lock, theirs->lock) != 0)
        return goes_first(ours->lock, theirs->lock) ? FLEET_TEXT_OUR_LOCK : FLEET_TEXT_THEIR_LOCK;
    return strcmp(ours->fingerprint, theirs->fingerprint) == 0 ? FLEET_TEXT_SAME : FLEET_TEXT_MIXED;
}
