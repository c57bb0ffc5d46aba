/* SPDX-License-Identifier: MIT
 * Who has a slot is learned from MOVED alone: for the few slots that a device uses that is fewer
 * bytes than the whole map, and it is never older than the last answer. */
#include "redis/cluster.h"
#include "base/text.h"
#include "redis/cluster_internal.h"
#include "redis/cluster_redirect.h"
#include "redis/link.h"
#include "redis/settings.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bits of redis_parcel.hops. */
#define HOP_MOVED 1
#define HOP_ASKED 2

static struct cluster *cluster_of(struct redis_store *s)
{
    return (struct cluster *)s; /* its first member */
}

static const struct cluster *cluster_of_const(const struct redis_store *s)
{
    return (const struct cluster *)s;
}

/* --- where a command goes --- */

static struct cluster_node *get_named(struct cluster_node *from, const struct cluster_redirect *to)
{
    char text[REDIS_HOST_SIZE + sizeof "[]:65535"];
    struct redis_endpoint endpoint = {
        .host = to->host[0] ? to->host : from->host,
        .port = to->port,
        .tls = from->cluster->settings->tls.module != NULL,
        .text = text,
    };

    if (!to->host[0] && from->is_unix)
        return NULL;
    text_format(text, sizeof text, strchr(endpoint.host, ':') ? "[%s]:%u" : "%s:%u", endpoint.host,
                (unsigned)endpoint.port);
    return cluster_nodes_get(from->cluster, &endpoint);
}

static bool refuse(struct redis_parcel *parcel, enum fault class, const char *words)
{
    redis_node_refuse(parcel, class, words);
    return true;
}

static bool refuse_away(struct redis_parcel *parcel, const struct cluster_node *node)
{
    char words[REDIS_FAULT_REASON_SIZE];

    text_format(words, sizeof words, REDIS_NODE_AWAY, node->text);
    return refuse(parcel, FAULT_BUSY, words);
}

/* At most one MOVED and one ASK: two nodes that send to each other end it. */
static bool follow(struct redis_parcel *parcel, struct cluster_node *node, bool asks)
{
    uint8_t hop = asks ? HOP_ASKED : HOP_MOVED;

    if (parcel->hops & hop)
        return refuse(parcel, FAULT_BUSY,
                      "its nodes do not agree which of them has the job's keys");
    parcel->hops |= hop;
    node->used = redis_link_now();
    cluster_nodes_expect(node->cluster, node);
    redis_node_carry(node->store, parcel, asks);
    return true;
}

static bool answer_other(struct cluster_node *from, const struct redis_parcel *parcel,
                         const char *error)
{
    struct cluster_node *other;

    /* It is cut off from the others, or nobody has the slot: somebody else may know more. */
    if (strncmp(error, "CLUSTERDOWN", strlen("CLUSTERDOWN")) != 0)
        return false;
    other = cluster_nodes_choose(from->cluster, from);
    if (other)
        cluster_nodes_give(from->cluster, parcel->slot, other);
    return false;
}

bool cluster_redirect(void *context, struct redis_parcel *parcel, const char *error)
{
    struct cluster_node *from = context, *node;
    struct cluster_redirect to;
    int r = cluster_redirect_read(error, &to);

    if (r == -ENOENT)
        return answer_other(from, parcel, error);
    if (r == -EDESTADDRREQ)
        return refuse(parcel, FAULT_OPERATOR,
                      "the node that has the job's keys has no name; see its "
                      "cluster-announce-hostname and cluster-preferred-endpoint-type");
    if (r < 0)
        return refuse(parcel, FAULT_UNKNOWN, "it says MOVED or ASK, but not to which node");
    node = get_named(from, &to);
    if (!node)
        return refuse(parcel, FAULT_OURS, "no connection can be made to the node that it names");
    /* It has its own back-off, but for the first try. Who says so is asked again meanwhile, and
     * knows when another node has taken its slots over. */
    if (node->state == REDIS_LINK_WAITING && !node->was_up)
        return refuse_away(parcel, node);
    if (!to.asks)
        cluster_nodes_give(from->cluster, parcel->slot, node);
    return follow(parcel, node, to.asks);
}

/* --- the store --- */

static void free_cluster(struct redis_store *s)
{
    struct cluster *c = cluster_of(s);

    c->env.watch = NULL;
    c->people.node = NULL;
    redis_lookups_done(&c->lookups); /* first: where one is cancelled, the next is asked */
    for (size_t i = 0; i < c->count; i++)
        cluster_nodes_free(c->nodes[i]);
    sd_event_source_disable_unref(c->sweep);
    redis_settings_free(c->settings);
    free(c);
}

static void submit(struct redis_store *s, struct store_call *call, bool urgent)
{
    struct cluster *c = cluster_of(s);
    struct cluster_node *node = cluster_nodes_owner(c, call->slot);

    if (!node) {
        node = cluster_nodes_choose(c, NULL);
        if (!node)
            node = c->nodes[0]; /* all wait for their next try */
        cluster_nodes_give(c, call->slot, node);
    }
    node->used = redis_link_now();
    redis_store_submit(node->store, call, urgent);
}

/* A call that is sent may be at any node. */
static void cancel(struct redis_store *s, struct store_call *call)
{
    struct cluster *c = cluster_of(s);
    struct cluster_node *owner = cluster_nodes_owner(c, call->slot);

    if (owner)
        redis_store_cancel(owner->store, call);
    for (size_t i = 0; i < c->count; i++)
        redis_store_cancel(c->nodes[i]->store, call);
}

static int set_password(struct redis_store *s, size_t of, const char *password)
{
    struct cluster *c = cluster_of(s);
    int r = redis_settings_set_password(c->settings, false, password);

    for (size_t i = 0; i < c->count; i++) {
        int one = redis_store_set_password(c->nodes[i]->store, of, password);

        r = one < 0 || (r == 0 && one > 0) ? one : r;
    }
    return r;
}

static void retry(struct redis_store *s)
{
    struct cluster *c = cluster_of(s);

    for (size_t i = 0; i < c->count; i++)
        redis_store_retry(c->nodes[i]->store);
}

static void expect(struct redis_store *s, const struct store_need *need)
{
    struct cluster *c = cluster_of(s);

    c->need = *need;
    if (need->next.ms != STORE_NEED_NOW.ms)
        c->calm = redis_link_now();
    for (size_t i = 0; i < c->count; i++)
        cluster_nodes_expect(c, c->nodes[i]);
    cluster_nodes_tidy(c);
}

static bool sound(const struct redis_store *s, struct boot now, int64_t slack_ms)
{
    const struct cluster *c = cluster_of_const(s);

    for (size_t i = 0; i < c->count; i++)
        if (!redis_store_sound(c->nodes[i]->store, now, slack_ms))
            return false;
    return true;
}

static size_t pending(const struct redis_store *s)
{
    const struct cluster *c = cluster_of_const(s);
    size_t sum = 0;

    for (size_t i = 0; i < c->count; i++)
        sum += redis_store_pending(c->nodes[i]->store);
    return sum;
}

static void facts(const struct redis_store *s, struct redis_store_facts *ret_facts)
{
    const struct cluster *c = cluster_of_const(s);
    struct redis_store_facts sum = { .traffic = c->gone, .endpoint = c->nodes[0]->text };

    for (size_t i = 0; i < c->count; i++) {
        const struct cluster_node *node = c->nodes[i];
        struct redis_store_facts one;

        redis_store_facts(node->store, &one);
        sum.traffic.sent_bytes += one.traffic.sent_bytes;
        sum.traffic.received_bytes += one.traffic.received_bytes;
        sum.traffic.connections += one.traffic.connections;
        if (node->slots > 0) {
            sum.servers++;
            sum.up += one.up;
        }
    }
    if (c->shown)
        sum.endpoint = c->shown->text;
    *ret_facts = sum;
}

static int on_sweep(sd_event_source *source, void *context)
{
    (void)source;
    cluster_nodes_sweep(context);
    return 0;
}

static int open_cluster(struct cluster *c)
{
    int r = sd_event_add_defer(c->env.event, &c->sweep, on_sweep, c);

    if (r >= 0)
        r = sd_event_source_set_enabled(c->sweep, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_priority(c->sweep, c->env.priority);
    if (r >= 0)
        r = sd_event_source_set_description(c->sweep, "cluster-sweep");
    if (r < 0)
        return r;
    return cluster_nodes_choose(c, NULL) ? 0 : -ENOMEM;
}

static const struct redis_store_ops ops = {
    .free = free_cluster,
    .submit = submit,
    .cancel = cancel,
    .set_password = set_password,
    .retry = retry,
    .expect = expect,
    .sound = sound,
    .pending = pending,
    .facts = facts,
};

int redis_cluster_new(const struct redis_settings *settings, const struct redis_store_env *env,
                      const struct redis_cluster_people *people, struct redis_store **ret_store)
{
    struct cluster *c = calloc(1, sizeof *c);
    uint32_t random = 0;
    int r;

    if (!c)
        return -ENOMEM;
    c->store.ops = &ops;
    c->env = *env;
    if (people)
        c->people = *people;
    c->lookups.env = &c->env;
    c->need = (struct store_need){ .next = STORE_NEED_NOW, .watch = BOOT_NEVER };
    c->calm = redis_link_now();
    c->home_slot = slot_of_key(SLOT_FLEET_TAG);
    /* A fleet whose devices have one list does not crowd its first node. */
    env->random(env->context, &random, sizeof random);
    c->seed = random % settings->endpoint_count;
    r = redis_settings_copy(settings, &c->settings);
    if (r == 0)
        r = open_cluster(c);
    if (r < 0) {
        free_cluster(&c->store);
        return r;
    }
    *ret_store = &c->store;
    return 0;
}
