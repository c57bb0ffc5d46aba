/* SPDX-License-Identifier: MIT */
#include "rotactl/fleet_locals.h"
#include "rotactl/facts.h"
#include "rotactl/output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rotad {
    const char *fleet, *server;
};
static const struct fact rotad_facts[] = {
    { "fleet", FACT_TEXT, offsetof(struct rotad, fleet) },
    { "server", FACT_TEXT, offsetof(struct rotad, server) },
};

struct settings {
    const char *fingerprint;
    int64_t attempts;
};
static const struct fact settings_facts[] = {
    { "fingerprint", FACT_TEXT, offsetof(struct settings, fingerprint) },
    { "attempts", FACT_NUMBER, offsetof(struct settings, attempts) },
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int add_name(sd_bus_message *m, struct fleet_locals *l)
{
    struct fleet_local local = { .attempts = FACT_NONE };
    void *items = l->items;
    int rc = sd_bus_message_enter_container(m, 'r', "sa{sv}");

    if (rc > 0)
        rc = sd_bus_message_read(m, "s", &local.name);
    if (rc > 0)
        rc = sd_bus_message_skip(m, "a{sv}");
    if (rc > 0)
        rc = sd_bus_message_exit_container(m);
    if (rc <= 0)
        return rc;
    rc = kept_grow(&items, l->count, sizeof *l->items);
    l->items = items;
    if (rc < 0)
        return rc;
    local.key = local.name;
    l->items[l->count++] = local;
    return 1;
}

static int read_status(sd_bus_message *m, struct fleet_locals *l)
{
    struct rotad rotad;
    int rc = sd_bus_message_skip(m, "ss");

    if (rc >= 0)
        rc = facts_read(m, rotad_facts, COUNT(rotad_facts), &rotad);
    if (rc < 0)
        return rc;
    l->prefix = rotad.fleet ? rotad.fleet : "";
    l->address = rotad.server;
    rc = sd_bus_message_enter_container(m, 'a', "(sa{sv})");
    while (rc > 0 && (rc = add_name(m, l)) > 0)
        ;
    return rc;
}

/* A job that has left meanwhile has no settings. */
static int ask_settings(struct call *c, struct kept *k, struct fleet_local *local)
{
    struct settings settings;
    sd_bus_message *m = NULL;
    int rc = call_about(c, "Show", local->name, &m);

    if (rc != 0)
        return rc == -ENOENT ? 0 : rc;
    rc = kept_add(k, m);
    if (rc >= 0)
        rc = facts_read(m, settings_facts, COUNT(settings_facts), &settings);
    if (rc < 0)
        return rc == -ENOMEM ? rc : call_say_odd(c);
    local->fingerprint = settings.fingerprint;
    local->attempts = settings.attempts;
    return 0;
}

int fleet_locals_ask(struct call *c, struct kept *k, struct fleet_locals *l)
{
    sd_bus_message *m = NULL;
    int rc = call_now(c, "Status", &m);

    if (rc != 0)
        return rc;
    rc = kept_add(k, m);
    if (rc >= 0)
        rc = read_status(m, l);
    if (rc < 0)
        return rc == -ENOMEM ? output_say_no_memory() : call_say_odd(c);
    for (size_t i = 0; i < l->count && rc == 0; i++)
        rc = ask_settings(c, k, &l->items[i]);
    return rc == -ENOMEM ? output_say_no_memory() : rc;
}

void fleet_locals_done(struct fleet_locals *l)
{
    free(l->items);
    *l = (struct fleet_locals){ 0 };
}

void fleet_locals_match(struct fleet_locals *l, const struct fleet_confs *f)
{
    const struct fleet_conf *first;

    for (size_t i = 0; i < l->count; i++) {
        struct fleet_local *local = &l->items[i];

        if (!local->fingerprint || fleet_confs_find(f, local->name, &first) > 0)
            continue;
        for (size_t j = 0; j < f->conf_count; j++)
            if (strcmp(f->confs[j].fingerprint, local->fingerprint) == 0)
                local->key = f->confs[j].key;
    }
}

const struct fleet_local *fleet_locals_by_key(const struct fleet_locals *l, const char *key)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i].key, key) == 0)
            return &l->items[i];
    return NULL;
}

const struct fleet_local *fleet_locals_by_name(const struct fleet_locals *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i].name, name) == 0)
            return &l->items[i];
    return NULL;
}
