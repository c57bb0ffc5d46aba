/* SPDX-License-Identifier: MIT */
#include "redis/lookups.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A question that is out (the first) or waits. */
struct redis_lookups_entry {
    struct redis_lookups_entry *next;
    struct redis_lookup *lookup;
    uint16_t port;
    char host[];
};

static void take_out(struct redis_lookups *l, struct redis_lookups_entry *entry)
{
    struct redis_lookups_entry **at = &l->first;

    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    free(entry);
}

static void on_names(struct redis_lookup *out, const struct redis_names *names, const char *why);

static int ask_first(struct redis_lookups *l)
{
    l->out.done = on_names;
    return l->env->resolve(l->env->context, l->first->host, l->first->port, &l->out);
}

static void go_on(struct redis_lookups *l)
{
    while (l->first && ask_first(l) < 0) {
        struct redis_lookup *lookup = l->first->lookup;

        take_out(l, l->first);
        lookup->done(lookup, NULL, "its name cannot be resolved");
    }
}

static void on_names(struct redis_lookup *out, const struct redis_names *names, const char *why)
{
    struct redis_lookups *l =
        (struct redis_lookups *)((char *)out - offsetof(struct redis_lookups, out));
    struct redis_lookup *lookup = l->first->lookup;

    take_out(l, l->first);
    go_on(l); /* first: who is answered may ask again */
    lookup->done(lookup, names, why);
}

int redis_lookups_ask(struct redis_lookups *l, const char *host, uint16_t port,
                      struct redis_lookup *lookup)
{
    size_t size = strlen(host) + 1;
    struct redis_lookups_entry *entry = calloc(1, sizeof *entry + size), **at = &l->first;
    int r = 0;

    if (!l->env->resolve)
        r = -ENOTSUP;
    if (!entry || r < 0) {
        free(entry);
        return r < 0 ? r : -ENOMEM;
    }
    entry->lookup = lookup;
    entry->port = port;
    memcpy(entry->host, host, size);
    while (*at)
        at = &(*at)->next;
    *at = entry;
    if (l->first == entry)
        r = ask_first(l);
    if (r < 0)
        take_out(l, entry);
    return r;
}

void redis_lookups_cancel(struct redis_lookups *l, struct redis_lookup *lookup)
{
    struct redis_lookups_entry *entry = l->first;
    bool is_out;

    while (entry && entry->lookup != lookup)
        entry = entry->next;
    if (!entry)
        return;
    is_out = entry == l->first;
    if (is_out)
        l->env->resolve_cancel(l->env->context, &l->out);
    take_out(l, entry);
    if (is_out)
        go_on(l);
}

void redis_lookups_done(struct redis_lookups *l)
{
    if (l->first)
        l->env->resolve_cancel(l->env->context, &l->out);
    while (l->first)
        take_out(l, l->first);
}
