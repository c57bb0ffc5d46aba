/* SPDX-License-Identifier: MIT */
#include "rotactl/fleet_pages.h"
#include "base/text.h"
#include "rotactl/output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A page has a hundred rows or so: more than any fleet has. A server that never comes to an end is
 * not followed. */
#define PAGES_MAX 100000
/* Where the next page begins: a number of 20 digits at most. */
#define FROM_SIZE 32

int kept_grow(void **items, size_t count, size_t size)
{
    void *more;

    /* Doubled at each power of two. */
    if ((count & (count - 1)) != 0)
        return 0;
    more = reallocarray(*items, count ? 2 * count : 1, size);
    if (!more)
        return -ENOMEM;
    *items = more;
    return 0;
}

int kept_add(struct kept *k, sd_bus_message *m)
{
    void *messages = k->messages;
    int rc = kept_grow(&messages, k->count, sizeof(sd_bus_message *));

    k->messages = messages;
    if (rc < 0) {
        sd_bus_message_unref(m);
        return rc;
    }
    k->messages[k->count++] = m;
    return 0;
}

void kept_done(struct kept *k)
{
    for (size_t i = 0; i < k->count; i++)
        sd_bus_message_unref(k->messages[i]);
    free(k->messages);
    *k = (struct kept){ 0 };
}

static int read_rows(sd_bus_message *m, const struct pages *p)
{
    int rc = sd_bus_message_enter_container(m, 'a', p->row);

    while (rc >= 0 && (rc = p->read(m, p->context)) > 0)
        ;
    return rc;
}

/* `from` moves to the next one. 0, an exit status, or -ENOMEM. */
static int ask_page(struct call *c, struct kept *k, const struct pages *p, char *from,
                    int64_t *ret_now_ms)
{
    const char *word, *next;
    sd_bus_message *m = NULL;
    int rc;

    if (p->job)
        rc = call_ask(c, &m, p->method, "ss", p->job, from);
    else
        rc = call_ask(c, &m, p->method, "s", from);
    if (rc != 0)
        return rc;
    rc = kept_add(k, m);
    if (rc < 0)
        return rc;
    rc = sd_bus_message_read(m, "sxs", &word, ret_now_ms, &next);
    if (rc > 0 && !text_copy(from, FROM_SIZE, next))
        rc = -EBADMSG;
    if (rc > 0)
        rc = read_rows(m, p);
    return rc == -ENOMEM ? rc : rc < 0 ? call_say_odd(c) : 0;
}

int pages_ask(struct call *c, struct kept *k, const struct pages *p, int64_t *ret_now_ms)
{
    char from[FROM_SIZE] = "0";
    int64_t now_ms = 0;
    size_t pages = 0;
    int rc;

    do
        rc = ask_page(c, k, p, from, &now_ms);
    while (rc == 0 && strcmp(from, "0") != 0 && ++pages < PAGES_MAX);
    if (rc == -ENOMEM)
        return output_say_no_memory();
    if (rc == 0)
        *ret_now_ms = now_ms;
    return rc;
}
