/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "base/units.h"
#include "redis/cluster_internal.h"
#include "redis/link.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- nodes --- */

void cluster_nodes_free(struct cluster_node *node)
{
    if (!node)
        return;
    redis_store_free(node->store);
    free(node->host);
    free(node->text);
    free(node);
}

static int open_node(struct cluster_node *node, const struct redis_endpoint *endpoint)
{
    struct redis_settings settings = *node->cluster->settings;
    struct redis_store_env env;

    node->host = strdup(endpoint->host);
    node->text = strdup(endpoint->text);
    if (!node->host || !node->text)
        return -ENOMEM;
    settings.endpoints = endpoint;
    settings.endpoint_count = 1;
    cluster_links_fill(node, &env);
    return redis_node_new(&settings, &env, &node->store);
}

static struct cluster_node *add_node(struct cluster *c, const struct redis_endpoint *endpoint)
{
    struct cluster_node *node = calloc(1, sizeof *node);

    if (!node)
        return NULL;
    node->cluster = c;
    node->is_unix = endpoint->is_unix;
    node->port = endpoint->port;
    node->used = redis_link_now();
    if (open_node(node, endpoint) < 0) {
        cluster_nodes_free(node);
        return NULL;
    }
    c->nodes[c->count++] = node;
    return node;
}

/* What is configured by a name, the others may know by an address. */
static bool is_at(const struct cluster_node *node, const char *host)
{
    struct redis_store_facts facts;

    redis_store_facts(node->store, &facts);
    return strcmp(node->host, host) == 0 || (facts.up > 0 && strcmp(facts.address, host) == 0);
}

static struct cluster_node *find_node(const struct cluster *c, const struct redis_endpoint *e)
{
    for (size_t i = 0; i < c->count; i++) {
        struct cluster_node *node = c->nodes[i];

        if (node->is_unix == e->is_unix && node->port == e->port && is_at(node, e->host))
            return node;
    }
    return NULL;
}

struct cluster_node *cluster_nodes_get(struct cluster *c, const struct redis_endpoint *endpoint)
{
    struct cluster_node *node = find_node(c, endpoint);

    if (node)
        return node;
    if (c->count < CLUSTER_NODES_MAX)
        return add_node(c, endpoint);
    cluster_nodes_tidy(c);
    return NULL;
}

/* The greatest is the best; 0: not to be asked. */
enum rank { RANK_NONE, RANK_FAILED, RANK_AT_REST, RANK_CONNECTING, RANK_UP };

static enum rank rank_of(const struct cluster_node *node)
{
    switch (node->state) {
    case REDIS_LINK_UP:
        return RANK_UP;
    case REDIS_LINK_CONNECTING:
        return RANK_CONNECTING;
    case REDIS_LINK_IDLE:
        return node->fault == FAULT_NONE ? RANK_AT_REST : RANK_FAILED;
    case REDIS_LINK_WAITING:
        break;
    }
    return RANK_NONE;
}

/* The next of the configured nodes that nothing is known of. */
static struct cluster_node *get_seed(struct cluster *c)
{
    size_t count = c->settings->endpoint_count;

    for (size_t i = 0; i < count; i++) {
        const struct redis_endpoint *endpoint = &c->settings->endpoints[(c->seed + i) % count];

        if (find_node(c, endpoint))
            continue;
        c->seed = (c->seed + i + 1) % count;
        return cluster_nodes_get(c, endpoint);
    }
    return NULL;
}

struct cluster_node *cluster_nodes_choose(struct cluster *c, const struct cluster_node *but)
{
    struct cluster_node *best = NULL, *seed = NULL;
    enum rank highest = RANK_NONE;

    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i] != but && rank_of(c->nodes[i]) > highest) {
            best = c->nodes[i];
            highest = rank_of(best);
        }
    if (highest <= RANK_FAILED)
        seed = get_seed(c);
    return seed ? seed : best;
}

/* What has failed is kept for a while: its link knows how soon it may be tried again, and people
 * have to mend it. */
static bool is_useless(const struct cluster_node *node)
{
    int64_t kept_ms =
        cluster_is_for_people(node->fault) ? DAY_MS : node->cluster->settings->backoff_max_ms;
    struct boot until = boot_add(node->used, kept_ms);

    return node->slots == 0 && node->state == REDIS_LINK_IDLE &&
           redis_store_pending(node->store) == 0 &&
           (node->fault == FAULT_NONE || boot_reached(redis_link_now(), until));
}

void cluster_nodes_tidy(struct cluster *c)
{
    bool any = false;

    for (size_t i = 0; i < c->count; i++)
        any = any || is_useless(c->nodes[i]);
    if (any && c->count > 1)
        (void)sd_event_source_set_enabled(c->sweep, SD_EVENT_ONESHOT); /* else with the next one */
}

static void remember_traffic(struct cluster *c, const struct cluster_node *node)
{
    struct redis_store_facts facts;

    redis_store_facts(node->store, &facts);
    c->gone.sent_bytes += facts.traffic.sent_bytes;
    c->gone.received_bytes += facts.traffic.received_bytes;
    c->gone.connections += facts.traffic.connections;
}

/* Another one takes its number. */
static void remove_node(struct cluster *c, size_t number)
{
    struct cluster_node *node = c->nodes[number];
    size_t last = c->count - 1;

    remember_traffic(c, node);
    if (c->shown == node)
        c->shown = NULL;
    c->nodes[number] = c->nodes[last];
    c->nodes[last] = NULL;
    c->count = last;
    for (size_t slot = 0; slot < SLOT_COUNT; slot++)
        if (c->owners[slot] == last + 1)
            c->owners[slot] = (uint8_t)(number + 1);
    cluster_nodes_free(node);
}

void cluster_nodes_sweep(struct cluster *c)
{
    for (size_t i = c->count; i > 0; i--)
        if (c->count > 1 && is_useless(c->nodes[i - 1]))
            remove_node(c, i - 1);
}

/* --- slots --- */

static uint8_t number_of(const struct cluster *c, const struct cluster_node *node)
{
    size_t i = 0;

    while (c->nodes[i] != node)
        i++;
    return (uint8_t)(i + 1);
}

struct cluster_node *cluster_nodes_owner(const struct cluster *c, uint16_t slot)
{
    uint8_t number = c->owners[slot % SLOT_COUNT];

    return number > 0 ? c->nodes[number - 1] : NULL;
}

void cluster_nodes_give(struct cluster *c, uint16_t slot, struct cluster_node *node)
{
    struct cluster_node *before = cluster_nodes_owner(c, slot);

    if (before == node)
        return;
    c->owners[slot % SLOT_COUNT] = number_of(c, node);
    node->slots++;
    cluster_nodes_expect(c, node);
    if (!before)
        return;
    before->slots--;
    redis_node_hand_over(before->store, slot, node->store);
    cluster_nodes_expect(c,
                         before); /* without a slot it closes its connection, and is freed then */
    cluster_nodes_tidy(c);
}

void cluster_nodes_give_all(struct cluster *c, struct cluster_node *from, struct cluster_node *to)
{
    uint8_t number = number_of(c, from);

    for (uint16_t slot = 0; slot < SLOT_COUNT && from->slots > 0; slot++)
        if (c->owners[slot] == number)
            cluster_nodes_give(c, slot, to);
}

/* A node that has not been used for long is not kept for what others are needed for; while a lease
 * is held, only if it was used since then, or shortly before. */
void cluster_nodes_expect(struct cluster *c, struct cluster_node *node)
{
    struct store_need need = { .next = BOOT_NEVER, .watch = BOOT_NEVER };
    struct boot until = boot_add(node->used, c->settings->idle_timeout_ms);

    if (node->slots > 0 && !boot_reached(c->calm, until))
        need.next = c->need.next;
    if (node->slots > 0 && cluster_nodes_owner(c, c->need.watch_slot) == node)
        need.watch = c->need.watch;
    redis_store_expect(node->store, &need);
}
