/* SPDX-License-Identifier: MIT
 * Addresses of Redis servers: what is read has all that a connection needs, is printed as it was
 * written, and is read the same again; what is not has a problem that says so. */
#include "config/address.h"
#include "config/reading.h"
#include "fuzz.h"
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

struct loaded {
    struct config config;
    config_t tree;
};

/* As the schema reads `redis.address`. */
static void load(const char *text, struct loaded *l)
{
    struct reading r = { .config = &l->config, .root = "", .file = "x" };
    const struct schema_key *key = schema_find(schema_group(SCHEMA_REDIS), "address");
    config_setting_t *s;

    *l = (struct loaded){ 0 };
    config_init(&l->tree);
    s = config_setting_add(config_root_setting(&l->tree), "address", CONFIG_TYPE_STRING);
    assert(key && s && config_setting_set_string(s, text));
    address_read(&r, key, s, &l->config.redis.addresses);
    assert(!r.no_memory);
}

static void done(struct loaded *l)
{
    for (size_t i = 0; i < l->config.problems.count; i++) {
        free(l->config.problems.items[i].file);
        free(l->config.problems.items[i].text);
    }
    free(l->config.problems.items);
    address_free(&l->config.redis.addresses);
    config_destroy(&l->tree);
}

static void check_address(const struct redis_address *a)
{
    assert(a->host[0] != '\0');
    if (a->kind == ADDRESS_UNIX) {
        assert(a->host[0] == '/' && strlen(a->host) < sizeof((struct sockaddr_un *)0)->sun_path);
        assert(address_is_local(a));
        return;
    }
    assert(a->kind == ADDRESS_TCP && a->port > 0);
    assert(strlen(a->host) <= 254 && !strpbrk(a->host, " /[]@"));
    address_is_local(a);
}

/* Put together from its parts it is what was written, and the same address. */
static void check_again(const struct redis_address *a)
{
    struct loaded back;
    char text[512];
    const struct redis_address *b;

    if (a->kind == ADDRESS_UNIX)
        snprintf(text, sizeof(text), "unix:%s", a->host);
    else
        snprintf(text, sizeof(text), strchr(a->host, ':') ? "[%s]:%u" : "%s:%u", a->host, a->port);
    assert(strcmp(text, a->text) == 0);
    load(text, &back);
    assert(back.config.redis.addresses.count == 1);
    b = &back.config.redis.addresses.items[0];
    assert(b->kind == a->kind && b->port == a->port && strcmp(b->host, a->host) == 0);
    done(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct loaded l;

    load(text, &l);
    assert(l.config.redis.addresses.count + l.config.problems.count == 1);
    if (l.config.redis.addresses.count == 1) {
        check_address(&l.config.redis.addresses.items[0]);
        check_again(&l.config.redis.addresses.items[0]);
    } else {
        assert(l.config.problems.items[0].text[0] != '\0');
    }
    done(&l);
    free(text);
    return 0;
}
