/* SPDX-License-Identifier: MIT */
#include "supervisor/check_online_words.h"

#include "base/text.h"
#include "base/units.h"
#include "redis/sentinel_answer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define COLUMNS 80
#define INDENT 14
/* From here on a difference of the clocks is worth a look: rotad says such jumps, too. */
#define CLOCK_FAR_MS (2 * SECOND_MS)
/* Of a stranger's text, and of what ACL SETUSER takes. */
#define SHOWN "%.80s"
#define LIST_SHOWN "%.1000s"
/* Of a line, with its end: whole lists, each byte of them escaped. */
#define LINE_SIZE 4096

static const char marks[] = " !xx";

static const char names[REDIS_SURVEY_DONE][11] = {
    [REDIS_SURVEY_NAME] = "name",      [REDIS_SURVEY_CONNECTION] = "connection",
    [REDIS_SURVEY_TLS] = "tls",        [REDIS_SURVEY_LOGIN] = "login",
    [REDIS_SURVEY_RIGHTS] = "scripts", [REDIS_SURVEY_SERVER] = "server",
};

struct line {
    FILE *out;
    unsigned int level; /* of all of it, or-ed */
    enum check_online_role role;
};

static void raise_level(struct line *line, enum check_online_level level)
{
    line->level |= level;
}

static const char *user(const struct redis_settings *s)
{
    return s->username ? s->username : "default";
}

static void say_missing(const struct redis_settings *s, const char *what, const char *cannot,
                        const char *rights, struct line *line)
{
    fprintf(line->out, LIST_SHOWN " %s; write at %s: ACL SETUSER %s " LIST_SHOWN, what, cannot,
            line->role == ONLINE_SENTINEL ? "the sentinel" : "Redis", user(s), rights);
}

static void say_name(const struct redis_settings *s, const struct redis_survey_end *end,
                     struct line *line)
{
    char took[UNITS_SIZE];

    if (end->addresses == 0)
        fputs("none is needed", line->out);
    else
        fprintf(line->out, "%s is %s, of %zu in all, found in %s", s->endpoints->host, end->address,
                end->addresses, units_say_duration(end->named_ms, took, sizeof(took)));
}

static void say_connection(const struct redis_survey_end *end, struct line *line)
{
    char took[UNITS_SIZE];

    fprintf(line->out, "%s in %s", end->address,
            units_say_duration(end->connected_ms, took, sizeof(took)));
}

static bool stays_here(const struct redis_endpoint *endpoint, const char *address)
{
    return endpoint->is_unix || strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static void say_tls(const struct redis_settings *s, const struct redis_survey_end *end,
                    struct line *line)
{
    time_t expires = (time_t)end->tls_expires_s;
    char day[16];
    struct tm tm;

    if (end->tls_version) {
        fprintf(line->out, "%s, with the certificate of %s", end->tls_version,
                s->tls.name ? s->tls.name : s->endpoints->host);
        if (expires > 0 && gmtime_r(&expires, &tm) && strftime(day, sizeof(day), "%F", &tm) > 0)
            fprintf(line->out, ", which is good until %s", day);
    } else if (stays_here(s->endpoints, end->address)) {
        fputs("none: it does not leave this machine", line->out);
    } else {
        raise_level(line, ONLINE_LOOK);
        fputs("none: who is on the way can read and change all that is sent; write tls = true",
              line->out);
    }
}

static void say_login(const struct redis_settings *s, const struct redis_survey_end *end,
                      struct line *line)
{
    fprintf(line->out, "user %s%s", user(s), s->password ? "" : " without a password");
    if (line->role != ONLINE_SENTINEL)
        fprintf(line->out, ", database %d", s->database);
    if (!s->password && !stays_here(s->endpoints, end->address)) {
        raise_level(line, ONLINE_LOOK);
        fputs(line->role == ONLINE_SENTINEL
                  ? ": whoever reaches it may do the same; write redis.sentinel_username and "
                    "sentinel_password_file"
                  : ": whoever reaches this Redis may do the same; write redis.username and "
                    "password_file",
              line->out);
    }
}

static bool is_of_prefix(const struct redis_settings *s, const char *rights)
{
    return rights[0] == '~' && strncmp(rights + 1, s->prefix, strlen(s->prefix)) == 0;
}

static void say_scripts(const struct redis_settings *s, const struct redis_survey_facts *f,
                        size_t keys_left, struct line *line)
{
    if (f->rights[0] == '\0') {
        fputs("all may run", line->out);
        if (keys_left > 0) {
            raise_level(line, ONLINE_LOOK);
            fprintf(line->out, "; the first %d lock keys may be used, %zu more were not looked up",
                    REDIS_SURVEY_KEYS_MAX, keys_left);
        }
    } else if (strcmp(f->rights, "?") == 0) {
        raise_level(line, ONLINE_LOOK);
        fputs("cannot be checked before Redis 7", line->out);
    } else {
        raise_level(line, ONLINE_BAD);
        say_missing(s, f->barred,
                    is_of_prefix(s, f->rights) ? "may not run with this prefix" : "may not run",
                    f->rights, line);
    }
    if (f->people_rights[0] == '\0')
        return;
    raise_level(line, ONLINE_LOOK);
    fputs("; of what rotactl asks of the whole fleet, ", line->out);
    say_missing(s, f->people_barred, "may not run", f->people_rights, line);
}

static void say_full(const struct redis_survey_facts *f, struct line *line)
{
    if (f->full_bytes == 0)
        return;
    raise_level(line, ONLINE_BAD);
    fprintf(line->out,
            ": it is out of memory and refuses writes; raise its maxmemory of %lld bytes",
            (long long)f->full_bytes);
}

static void say_saved(const struct redis_survey_facts *f, struct line *line)
{
    char age[UNITS_SIZE];

    units_say_duration(f->age_s * SECOND_MS, age, sizeof(age));
    switch (f->saved) {
    case REDIS_SAVED_UNKNOWN:
        break;
    case REDIS_SAVED_FAILED:
        raise_level(line, ONLINE_LOOK);
        fputs("; its last try to save to disk failed, see its log", line->out);
        break;
    case REDIS_SAVED_LOG:
        fputs("; saved in an append-only file", line->out);
        break;
    case REDIS_SAVED_SNAPSHOT:
        fprintf(line->out, "; saved to disk %s ago", age);
        break;
    case REDIS_SAVED_NEVER:
        fprintf(line->out, "; not saved to disk since its start %s ago", age);
        break;
    case REDIS_SAVED_OVERDUE:
        raise_level(line, ONLINE_LOOK);
        fprintf(line->out,
                "; not saved to disk since its start %s ago: a restart of it costs each job a turn "
                "or the wait for one lease; write appendonly yes there",
                age);
        break;
    }
}

/* Without it, a master that has lost its replicas, and is replaced by one of them, goes on giving
 * locks until it hears of that. Where there is one replica alone, the setting would refuse all
 * writes whenever that one is away, and after each failover: the remedy costs more. */
static void say_replicas(const struct redis_survey_facts *f, struct line *line)
{
    if (f->close_replicas == 1) {
        raise_level(line, ONLINE_BAD);
        fputs("; no replica follows it closely, and it refuses writes (its min-replicas-to-write)",
              line->out);
    } else if (f->replicas > 1 && f->close_replicas == 0) {
        raise_level(line, ONLINE_LOOK);
        fputs("; it takes writes that reach none of its replicas: around a failover two devices "
              "may hold one lock; write min-replicas-to-write 1 there",
              line->out);
    }
}

static void say_load(const struct redis_settings *s, const struct redis_survey_facts *f,
                     struct line *line)
{
    char took[UNITS_SIZE];

    if (f->crowded > 0) {
        raise_level(line, ONLINE_LOOK);
        fprintf(line->out,
                "; of the %lld connections that it takes nine in ten are in use; raise its "
                "maxclients",
                (long long)f->crowded);
    }
    if (f->fork_ms >= s->command_timeout_ms / 2) {
        raise_level(line, ONLINE_LOOK);
        fprintf(line->out, "; its last fork took %s, in which it answered nobody",
                units_say_duration(f->fork_ms, took, sizeof(took)));
    }
}

static void say_clock(const struct redis_survey_end *end, struct line *line)
{
    struct timespec ts;
    int64_t ahead_ms, apart_ms;
    char apart[UNITS_SIZE];

    clock_gettime(CLOCK_REALTIME, &ts);
    ahead_ms =
        end->facts.time_ms + end->answered_ms / 2 - (ts.tv_sec * SECOND_MS + ts.tv_nsec / 1000000);
    apart_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;
    if (apart_ms >= CLOCK_FAR_MS)
        raise_level(line, ONLINE_LOOK);
    fprintf(line->out, "; its clock is %s %s ours",
            units_say_duration(apart_ms, apart, sizeof(apart)),
            ahead_ms > 0 ? "ahead of" : "behind");
    if (apart_ms >= CLOCK_FAR_MS)
        fputs(", and turns go by it", line->out);
}

/* What keeps a server of this kind from being one that is meant. NULL: nothing does. */
static const char *misfit(const struct redis_survey_facts *f, enum check_online_role role)
{
    static const char *const replicas[] = {
        [ONLINE_ALONE] = "a replica, which takes no writes; write its master in redis.address",
        [ONLINE_MASTER] = "a replica, which takes no writes, though sentinels name it: a failover "
                          "is under way, or they are mistaken",
        [ONLINE_VOICE] = "a replica, which takes no writes; each server of a quorum is a master "
                         "that has nothing of the others",
    };

    if (f->cluster)
        return role == ONLINE_NODE    ? NULL
               : role == ONLINE_ALONE ? "a node of a Redis Cluster; write redis.cluster = true"
                                      : "a node of a Redis Cluster; write a single server";
    return f->replica && role != ONLINE_NODE ? replicas[role] : NULL;
}

static void say_server(const struct redis_settings *s, const struct redis_survey_end *end,
                       struct line *line)
{
    const struct redis_survey_facts *f = &end->facts;

    if (f->mute) {
        raise_level(line, ONLINE_LOOK);
        fputs("all but its clock cannot be checked: it lacks the command INFO", line->out);
    } else if (f->server[0] == '\0') {
        raise_level(line, ONLINE_LOOK);
        say_missing(s, "all but its clock", "cannot be checked", "+info", line);
    } else if (misfit(f, line->role)) {
        raise_level(line, ONLINE_BAD);
        fprintf(line->out, SHOWN ", %s", f->server, misfit(f, line->role));
    } else {
        fprintf(line->out, SHOWN "%s; maxmemory-policy " SHOWN, f->server,
                f->cluster ? ", a node of a Redis Cluster" : "", f->policy);
        if (strcmp(f->policy, "noeviction") != 0) {
            raise_level(line, ONLINE_LOOK);
            fputs(": where memory is short, locks and claims are lost, and a turn may run twice; "
                  "write noeviction there",
                  line->out);
        }
        say_full(f, line);
        say_saved(f, line);
        say_replicas(f, line);
        say_load(s, f, line);
    }
    if (f->server[0] != '\0' && line->role == ONLINE_NODE && !f->cluster) {
        raise_level(line, ONLINE_LOOK);
        fputs("; it is no Redis Cluster: leave redis.cluster out", line->out);
    }
    if (f->time_ms > 1)
        say_clock(end, line);
}

static void say_failed(const struct redis_settings *s, const struct redis_survey_end *end,
                       struct line *line)
{
    raise_level(line, ONLINE_BAD);
    if (line->role == ONLINE_SENTINEL && end->step == REDIS_SURVEY_LOGIN &&
        end->fault == FAULT_OPERATOR) {
        struct sentinel_round round = { 0 };

        sentinel_round_failed(&round, "", end->fault, end->reason);
        fputs(round.reason, line->out);
    } else if (end->step == REDIS_SURVEY_RIGHTS)
        say_missing(s, "none", "may run", "+eval +evalsha", line);
    else if (end->step == REDIS_SURVEY_CONNECTION)
        fprintf(line->out, "%s: %s", end->address, end->reason);
    else if (end->step == REDIS_SURVEY_LOGIN && strstr(end->reason, "(NOPERM)"))
        say_missing(s, "SELECT", "may not be sent", "+select", line);
    else if (end->step == REDIS_SURVEY_LOGIN && end->fault == FAULT_LINK && !end->tls_version &&
             !s->endpoints->is_unix)
        fprintf(line->out, "%s (is that its port for TLS?)", end->reason);
    else
        fputs(end->fault == FAULT_ALIEN && end->step != REDIS_SURVEY_TLS
                  ? "what answers there is no Redis"
                  : end->reason,
              line->out);
}

static void say_line(const struct redis_settings *s, const struct redis_survey_end *end,
                     enum redis_survey_step step, size_t keys_left, struct line *line)
{
    bool known = !end->reason || step < REDIS_SURVEY_RIGHTS;

    if (step == end->step)
        say_failed(s, end, line);
    else if (step > end->step || !known)
        fputs("not reached", line->out);
    else if (step == REDIS_SURVEY_NAME)
        say_name(s, end, line);
    else if (step == REDIS_SURVEY_CONNECTION)
        say_connection(end, line);
    else if (step == REDIS_SURVEY_TLS)
        say_tls(s, end, line);
    else if (step == REDIS_SURVEY_LOGIN)
        say_login(s, end, line);
    else if (step == REDIS_SURVEY_RIGHTS)
        say_scripts(s, &end->facts, keys_left, line);
    else
        say_server(s, end, line);
}

/* Word by word, in as many lines of the terminal as it needs. */
static void print_line(const char *name, unsigned int level, const char *said)
{
    char text[LINE_SIZE], *rest = text, *word;
    size_t column = INDENT;

    text_escape(text, sizeof(text), said, strlen(said));
    printf("%c %-*s", marks[level], INDENT - 3, name);
    while ((word = strsep(&rest, " "))) {
        size_t length = strlen(word) + 1;

        if (column > INDENT && column + length > COLUMNS) {
            printf("\n%*s", INDENT - 1, "");
            column = INDENT;
        }
        printf(" %s", word);
        column += length;
    }
    puts("");
}

void check_online_words_line(const char *name, unsigned int level, const char *format, ...)
{
    char said[LINE_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(said, sizeof(said), format, args);
    va_end(args);
    print_line(name, level, said);
}

static int status_of(const struct redis_survey_end *end, enum redis_survey_step worst)
{
    bool refused = worst == REDIS_SURVEY_LOGIN && end->fault == FAULT_OPERATOR;

    if (worst == REDIS_SURVEY_DONE)
        return 0;
    return refused || worst == REDIS_SURVEY_RIGHTS ? EX_NOPERM : EX_UNAVAILABLE;
}

/* Up to the step `last`. */
static int print_steps(const struct redis_settings *s, const struct redis_survey_end *end,
                       enum check_online_role role, enum redis_survey_step last, size_t keys_left)
{
    enum redis_survey_step worst = REDIS_SURVEY_DONE; /* the first that is bad */

    for (enum redis_survey_step step = 0; step <= last; step++) {
        struct line line = { .role = role };
        char *said = NULL;
        size_t size;

        line.out = open_memstream(&said, &size);
        if (!line.out)
            return -ENOMEM;
        say_line(s, end, step, keys_left, &line);
        if (fclose(line.out) == 0)
            print_line(names[step], line.level, said);
        free(said);
        if ((line.level & ONLINE_BAD) != 0 && worst == REDIS_SURVEY_DONE)
            worst = step;
    }
    return status_of(end, worst);
}

int check_online_words_print(const struct redis_settings *s, const struct redis_survey_end *end,
                             enum check_online_role role, size_t keys_left)
{
    printf("\n%s%s%s\n", s->endpoints->text, role == ONLINE_MASTER ? ", the master " : "",
           role == ONLINE_MASTER ? s->master : "");
    return print_steps(s, end, role, REDIS_SURVEY_SERVER, keys_left);
}

int check_online_words_sentinel(const struct redis_settings *s, const struct redis_survey_end *end)
{
    printf("\n%s, a sentinel\n", s->endpoints->text);
    return print_steps(s, end, ONLINE_SENTINEL, REDIS_SURVEY_LOGIN, 0);
}
