/* SPDX-License-Identifier: MIT */
#include "config/address.h"
#include "base/text.h"
#include "config/value.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define UNIX_PREFIX "unix:"
#define HOST_NAME_BYTES_MAX 253
#define UNIX_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

/* Where an address and its setting are, for the messages about it. */
struct origin {
    struct reading *r;
    const struct schema_key *k;
    const config_setting_t *s;
};

static void note(const struct origin *o, const char *fault)
{
    char quoted[PARSE_QUOTE_SIZE];

    reading_problem(o->r, PROBLEM_ERROR, parse_line(o->s), "%s is %s%s", o->k->path,
                    parse_quote(o->s, quoted, sizeof(quoted)), fault);
}

static bool is_numeric(const char *host)
{
    struct in6_addr any;

    return inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1;
}

/* 1 ... 63 letters, digits, - and _; a - neither first nor last. */
static bool is_label(const char *text, size_t length)
{
    if (length < 1 || length > 63 || text[0] == '-' || text[length - 1] == '-')
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '-' && text[i] != '_')
            return false;
    return true;
}

/* Labels with dots between, and perhaps one behind the last, which is not all digits: that would be
 * an address with a slip in it. */
static bool is_name(const char *host)
{
    size_t length = strlen(host);
    const char *label = host;

    if (length > HOST_NAME_BYTES_MAX)
        return false;
    if (length > 1 && host[length - 1] == '.')
        length--;
    for (;;) {
        size_t part = strcspn(label, ".");

        if (!is_label(label, part))
            return false;
        if (label + part >= host + length)
            return strspn(label, "0123456789") < part;
        label += part + 1;
    }
}

/* 1 ... 65535, or 0 where it is no port. */
static uint16_t to_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    long port = strtol(text, NULL, 10);

    if (digits == 0 || digits > 5 || text[digits] != '\0' || text[0] == '0' || port > UINT16_MAX)
        return 0;
    return (uint16_t)port;
}

static bool split_unix(const struct origin *o, const char *text, struct redis_address *a)
{
    const char *path = text + strlen(UNIX_PREFIX);

    if (path[0] != '/') {
        note(o, "; the path of a socket is absolute, such as \"unix:/run/redis/redis.sock\"");
        return false;
    }
    if (strlen(path) > UNIX_PATH_MAX) {
        note(o, "; the path of a socket has at most 107 bytes");
        return false;
    }
    a->kind = ADDRESS_UNIX;
    a->host = reading_copy(o->r, path);
    return true;
}

static void note_host(const struct origin *o, const char *host)
{
    if (strchr(host, ':'))
        note(o, "; an IPv6 address stands in brackets: \"[2001:db8::1]:6379\"");
    else
        note(o, ", in which the host is neither an address nor a name; write such as "
                "\"192.0.2.10:6379\" or \"redis.example:6379\"");
}

/* Brackets are for IPv6 alone, and it is never without. */
static bool is_host(const char *host, bool bracketed)
{
    bool has_colon = strchr(host, ':') != NULL;

    return bracketed == has_colon && (is_numeric(host) || (!bracketed && is_name(host)));
}

static bool split_tcp(const struct origin *o, const char *text, struct redis_address *a)
{
    const char *colon = strrchr(text, ':');
    bool bracketed = text[0] == '[' && colon && colon > text && colon[-1] == ']';
    char *host;

    a->port = colon ? to_port(colon + 1) : 0;
    if (strstr(text, "://") || a->port == 0) {
        note(o, o->k->flags & SCHEMA_HOSTS
                    ? "; write \"host:port\" or \"[v6]:port\", such as \"127.0.0.1:26379\""
                    : "; write \"host:port\", \"[v6]:port\" or \"unix:/path\", such as "
                      "\"127.0.0.1:6379\"; a port is at most 65535");
        return false;
    }
    host = bracketed ? strndup(text + 1, (size_t)(colon - text) - 2)
                     : strndup(text, (size_t)(colon - text));
    if (!host) {
        o->r->no_memory = true;
        return false;
    }
    if (!is_host(host, bracketed)) {
        note_host(o, host);
        free(host);
        return false;
    }
    a->kind = ADDRESS_TCP;
    a->host = host;
    return true;
}

static void read_one(const struct origin *o, struct redis_addresses *all)
{
    const char *text = config_setting_get_string(o->s);
    struct redis_address a = { 0 };
    struct redis_address *items;
    bool good;

    if (!text) {
        note(o, o->k->flags & SCHEMA_HOSTS ? "; write text in quotes, such as \"127.0.0.1:26379\""
                                           : "; write text in quotes, such as \"127.0.0.1:6379\"");
        return;
    }
    good = !(o->k->flags & SCHEMA_HOSTS) && strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0
               ? split_unix(o, text, &a)
               : split_tcp(o, text, &a);
    if (!good)
        return;
    a.text = reading_copy(o->r, text);
    items = realloc(all->items, (all->count + 1) * sizeof(*items));
    if (!items || !a.text || !a.host) {
        all->items = items ? items : all->items;
        o->r->no_memory = true;
        free(a.text);
        free(a.host);
        return;
    }
    all->items = items;
    items[all->count++] = a;
}

void address_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                  void *dest)
{
    struct origin o = { r, k, s };
    int length = config_setting_length(s);

    if (config_setting_type(s) != CONFIG_TYPE_LIST && config_setting_type(s) != CONFIG_TYPE_ARRAY) {
        read_one(&o, dest);
        return;
    }
    if (length < k->min || length > k->max) {
        reading_problem(r, PROBLEM_ERROR, parse_line(s), "%s has %d servers; write %lld to %lld",
                        k->path, length, (long long)k->min, (long long)k->max);
        return;
    }
    for (int i = 0; i < length; i++) {
        o.s = config_setting_get_elem(s, (unsigned)i);
        read_one(&o, dest);
    }
}

bool address_equal(const void *a, const void *b, size_t size)
{
    const struct redis_addresses *x = a, *y = b;

    (void)size;
    if (x->count != y->count)
        return false;
    for (size_t i = 0; i < x->count; i++)
        if (strcmp(x->items[i].text, y->items[i].text) != 0)
            return false;
    return true;
}

void address_free(void *dest)
{
    struct redis_addresses *all = dest;

    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].text);
        free(all->items[i].host);
    }
    free(all->items);
    *all = (struct redis_addresses){ 0 };
}

bool address_is_local(const struct redis_address *a)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (a->kind == ADDRESS_UNIX || strcmp(a->host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, a->host, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    if (inet_pton(AF_INET6, a->host, &v6) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}
