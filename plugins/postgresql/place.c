/* SPDX-License-Identifier: MIT */
#include "place.h"
#include "password.h"
#include "words.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MS_PER_S 1000
/* No value of sslmode: PQconndefaults() would not tell libpq's own default from somebody's. */
#define NO_SSLMODE "none was given"
/* Of the silence in which a dead connection is found: seconds before the first probe, and probes.
 */
#define IDLE_S_MIN 5
#define IDLE_S_MAX 60
#define PROBES 3

static const char *find(const PQconninfoOption *options, const char *name)
{
    for (; options && options->keyword; options++)
        if (strcmp(options->keyword, name) == 0)
            return options->val && options->val[0] ? options->val : NULL;
    return NULL;
}

static const char *value(const struct place *p, const char *name)
{
    const char *v = find(p->given, name);

    return v ? v : find(p->other, name);
}

/* libpq's words may quote a piece of the string. */
static int say_unreadable(const struct place *p, const char *text, const char *why)
{
    char line[256];

    if (strstr(text, "pass") || strchr(text, '@') || !why)
        return rota_fail(p->run, ROTA_REFUSED,
                         "connection is no connection string of libpq's; write it like \"host=db "
                         "dbname=shop user=reports\" or postgresql://reports@db/shop, the password "
                         "into a file (password_file)");
    return rota_fail(p->run, ROTA_REFUSED, "connection: %s",
                     words_flatten(why, line, sizeof(line)));
}

static int read_connection(struct place *p)
{
    const char *text = rota_string(p->run, "connection");
    char *why = NULL;
    int result;

    if (!text == !rota_string(p->run, "service"))
        return rota_fail(p->run, ROTA_REFUSED,
                         text ? "both connection and service are given; write one of them"
                              : "neither connection nor service is given; write one of them");
    if (!text)
        return ROTA_SUCCEEDED;
    p->given = PQconninfoParse(text, &why);
    if (!p->given) {
        result = say_unreadable(p, text, why);
        PQfreemem(why);
        return result;
    }
    for (const PQconninfoOption *o = p->given; o->keyword; o++)
        /* So libpq marks what a dialog would not show. */
        if (o->val && o->val[0] && o->dispchar[0] == '*')
            return rota_fail(p->run, ROTA_REFUSED,
                             "connection holds a password (%s), which others can read here; %s",
                             o->keyword,
                             strcmp(o->keyword, "password") == 0
                                 ? "write it into a file and name that with password_file"
                                 : "keep it where others cannot read it, in a service file");
    return ROTA_SUCCEEDED;
}

/* libpq reads a service for PQconndefaults() only where the environment names it. */
static int read_other(struct place *p)
{
    const char *service = find(p->given, "service");
    bool marked = !getenv("PGSSLMODE");

    if (!service)
        service = rota_string(p->run, "service");
    if ((service && setenv("PGSERVICE", service, 1) < 0) ||
        (marked && setenv("PGSSLMODE", NO_SSLMODE, 1) < 0))
        return rota_fail(p->run, ROTA_FAILED, "no memory");
    p->other = PQconndefaults();
    if (marked)
        unsetenv("PGSSLMODE");
    return p->other ? ROTA_SUCCEEDED : rota_fail(p->run, ROTA_FAILED, "no memory");
}

/* Where hostaddr has no address for one, the name counts. */
static const char *where(const struct place *p)
{
    const char *addresses = value(p, "hostaddr");

    if (!addresses || addresses[0] == ',' || addresses[strlen(addresses) - 1] == ',' ||
        strstr(addresses, ",,"))
        return value(p, "host");
    return addresses;
}

/* libpq's default falls back to the clear, by whoever is on the way. */
static int check_tls(const struct place *p)
{
    static const char *const modes[] = { "disable", "allow",     "prefer",
                                         "require", "verify-ca", "verify-full" };
    const char *mode = value(p, "sslmode");
    bool is_given = mode && strcmp(mode, NO_SSLMODE) != 0, is_known = !is_given;

    for (size_t i = 0; is_given && i < sizeof(modes) / sizeof(modes[0]); i++)
        is_known |= strcmp(mode, modes[i]) == 0;
    if (!is_known)
        return rota_fail(
            p->run, ROTA_REFUSED,
            "sslmode is \"%.64s\"; write disable, allow, prefer, require, verify-ca or "
            "verify-full",
            mode);
    if (words_is_local(where(p)) || is_given)
        return ROTA_SUCCEEDED;
    return rota_fail(p->run, ROTA_REFUSED,
                     "%s is another machine, and no sslmode says how the way there is protected; "
                     "write sslmode=verify-full sslrootcert=FILE into the %s, or sslmode=disable, "
                     "prefer or require where that is meant",
                     where(p), rota_string(p->run, "service") ? "service" : "connection");
}

int place_init(struct place *p, const struct rota_run *r, bool for_run)
{
    int result;

    *p = (struct place){ .run = r };
    result = read_connection(p);
    /* A service's file may be on the device alone that runs the job. */
    if (result == ROTA_SUCCEEDED)
        result = read_other(p);
    if (result == ROTA_SUCCEEDED && (for_run || !getenv("PGSERVICE")))
        result = check_tls(p);
    if (result == ROTA_SUCCEEDED)
        result = for_run ? password_read(r, p->password, sizeof(p->password)) : password_check(r);
    return result;
}

void place_done(struct place *p)
{
    PQconninfoFree(p->given);
    PQconninfoFree(p->other);
    explicit_bzero(p->password, sizeof(p->password));
}

static void put(struct place *p, const char *name, const char *text)
{
    size_t at = 0;

    while (p->names[at])
        at++;
    p->names[at] = name;
    p->values[at] = text;
}

static void put_unless_given(struct place *p, const char *name, const char *text)
{
    if (!value(p, name))
        put(p, name, text);
}

void place_options(struct place *p, int64_t connect_ms, int64_t left_ms)
{
    const char *connection = rota_string(p->run, "connection");
    int64_t idle_s = left_ms / MS_PER_S / (PROBES + 1);
    int interval_s;

    idle_s = idle_s < IDLE_S_MIN ? IDLE_S_MIN : idle_s > IDLE_S_MAX ? IDLE_S_MAX : idle_s;
    interval_s = (int)(idle_s + PROBES - 1) / PROBES;
    p->silence_ms = ((int)idle_s + PROBES * interval_s) * MS_PER_S;
    snprintf(p->idle_s, sizeof(p->idle_s), "%d", (int)idle_s);
    snprintf(p->interval_s, sizeof(p->interval_s), "%d", interval_s);
    /* Each host gets its share: the second one is tried where the first is switched off. */
    snprintf(p->timeout_ms, sizeof(p->timeout_ms), "%lld",
             (long long)connect_ms / (long long)words_count(where(p)));
    snprintf(p->application, sizeof(p->application), "rota %s", p->run->job);
    put_unless_given(p, "keepalives_idle", p->idle_s);
    put_unless_given(p, "keepalives_interval", p->interval_s);
    put_unless_given(p, "keepalives_count", "3");
    put_unless_given(p, "tcp_user_timeout", p->timeout_ms);
    /* As conf files are. */
    put_unless_given(p, "client_encoding", "UTF8");
    put(p, "fallback_application_name", p->application);
    if (connection)
        put(p, "dbname", connection);
    else
        put(p, "service", rota_string(p->run, "service"));
    if (p->password[0])
        put(p, "password", p->password);
}

/* The kernel lets it count for the probes, too: one that is lost would be the end of a connection
 * that has been silent for longer. A socket of this machine has none. */
void place_connected(const struct place *p, int fd)
{
    if (!value(p, "tcp_user_timeout"))
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &p->silence_ms, sizeof(p->silence_ms));
}
