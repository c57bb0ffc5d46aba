/* SPDX-License-Identifier: MIT */
#include "core/fleet_peers.h"

#include "base/text.h"
#include "core/fleet_text.h"
#include "core/job_internal.h"
#include "core/slot.h"
#include <string.h>

/* --- verdicts --- */

static void compare(struct job *j, const struct fleet_text_line *theirs, struct boot now)
{
    struct fleet_text_line ours;

    if (strcmp(j->spec->key, theirs->key) != 0)
        return;
    fleet_text_describe(j->spec, &ours);
    job_versions_peer(j, &ours, theirs, now);
}

static void read_text(struct fleet *f, const char *text, struct boot now)
{
    struct fleet_text_line line;

    while (fleet_text_next(&text, &line))
        for (struct job *j = f->jobs; j; j = j->next_in_fleet)
            compare(j, &line, now);
}

void fleet_peers_forget(struct fleet *f)
{
    for (size_t i = 0; i < STORE_HELLO_OTHERS_MAX; i++)
        f->peers.peers[i].read = false;
}

/* A configuration that is in use no more stands in no job's way: the others are read anew, since
 * whose verdict it was is not kept. */
static void start_over(struct fleet *f, struct boot now)
{
    fleet_peers_forget(f);
    for (struct job *j = f->jobs; j; j = j->next_in_fleet)
        job_versions_alone(j, now);
}

/* --- what is in use --- */

static struct fleet_peer *find(struct fleet *f, const char *digest)
{
    for (size_t i = 0; i < STORE_HELLO_OTHERS_MAX; i++)
        if (strcmp(f->peers.peers[i].digest, digest) == 0)
            return &f->peers.peers[i];
    return NULL;
}

static bool is_named(const struct store_reply *reply, const char *digest)
{
    for (size_t i = 0; i < reply->hello.others; i++)
        if (text_equal(reply->hello.other[i], digest))
            return true;
    return false;
}

/* True where one that was read is gone. */
static bool drop_gone(struct fleet *f, const struct store_reply *reply)
{
    bool was_read = false;

    for (size_t i = 0; i < STORE_HELLO_OTHERS_MAX; i++) {
        struct fleet_peer *p = &f->peers.peers[i];

        if (p->digest[0] == '\0' || is_named(reply, p->digest))
            continue;
        was_read = was_read || p->read;
        *p = (struct fleet_peer){ 0 };
    }
    return was_read;
}

static void add_new(struct fleet *f, const struct store_reply *reply)
{
    for (size_t i = 0; i < reply->hello.others; i++) {
        const char *digest = reply->hello.other[i];
        struct fleet_peer *p;

        /* One that is longer is of a rota that tells them otherwise. */
        if (digest[0] == '\0' || strlen(digest) >= FINGERPRINT_SIZE || find(f, digest))
            continue;
        p = find(f, "");
        if (p)
            text_copy(p->digest, sizeof p->digest, digest);
    }
}

/* --- calls --- */

static struct fleet *fleet_of(struct store_call *call)
{
    return (struct fleet *)((char *)call - offsetof(struct fleet, peers.call));
}

static size_t next_unread(const struct fleet *f)
{
    size_t i = 0;

    while (i < STORE_HELLO_OTHERS_MAX &&
           (f->peers.peers[i].digest[0] == '\0' || f->peers.peers[i].read))
        i++;
    return i;
}

static void talk(struct fleet *f)
{
    struct fleet_peers *p = &f->peers;

    p->out = p->wanted || next_unread(f) < STORE_HELLO_OTHERS_MAX;
    if (p->out)
        f->port->submit(f->port->context, &p->call, false);
}

static bool compose_put(struct fleet *f, struct store_request *ret_request)
{
    f->peers.wanted = false;
    f->self.describe(f->port->context, &f->peers.text);
    *ret_request =
        (struct store_request){ .verb = STORE_CONFIG_PUT,
                                .config = { .digest = f->self.digest,
                                            .text = f->peers.text ? f->peers.text : "",
                                            .retention_ms = fleet_hello_retention_ms(f) } };
    return f->peers.text != NULL;
}

static bool compose_get(struct fleet *f, struct store_request *ret_request)
{
    size_t i = next_unread(f);

    if (i == STORE_HELLO_OTHERS_MAX)
        return false;
    text_copy(f->peers.asked, sizeof f->peers.asked, f->peers.peers[i].digest);
    *ret_request =
        (struct store_request){ .verb = STORE_CONFIG_GET, .config = { .digest = f->peers.asked } };
    return true;
}

static bool compose(struct store_call *call, struct boot now, struct store_request *ret_request)
{
    struct fleet *f = fleet_of(call);

    (void)now;
    if (f->peers.wanted && f->self.describe && compose_put(f, ret_request))
        return true;
    f->peers.out = compose_get(f, ret_request);
    return f->peers.out;
}

/* Where there was no answer, or an error, the next hello begins anew. */
static void answer(struct store_call *call, const struct store_reply *reply)
{
    struct fleet *f = fleet_of(call);
    struct fleet_peers *p = &f->peers;
    struct fleet_peer *peer;

    f->port->keep(f->port->context, &p->text, NULL);
    p->out = false;
    fleet_sample(f, reply);
    if (reply->status != STORE_ANSWERED)
        return;
    if (call->verb == STORE_CONFIG_GET && (peer = find(f, p->asked))) {
        peer->read = true;
        read_text(f, reply->config.text, reply->received);
    }
    talk(f);
}

void fleet_peers_heard(struct fleet *f, const struct store_reply *reply)
{
    if (drop_gone(f, reply))
        start_over(f, reply->received);
    add_new(f, reply);
    f->peers.wanted = reply->hello.wanted && f->self.describe;
    if (!f->peers.out)
        talk(f);
}

void fleet_peers_init(struct fleet *f)
{
    f->peers.call = (struct store_call){ .compose = compose,
                                         .answer = answer,
                                         .slot = slot_of_key(SLOT_FLEET_TAG) };
}

void fleet_peers_done(struct fleet *f)
{
    f->port->cancel(f->port->context, &f->peers.call);
    f->port->keep(f->port->context, &f->peers.text, NULL);
}
