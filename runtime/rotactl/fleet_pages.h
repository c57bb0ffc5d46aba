/* SPDX-License-Identifier: MIT
 * rotactl/fleet_pages.h: what Redis has much of is asked for in pages, so that it never stands
 * still for one who looks. */
#ifndef ROTA_ROTACTL_FLEET_PAGES_H
#define ROTA_ROTACTL_FLEET_PAGES_H
#include "rotactl/call.h"
#include <stddef.h>

/* Answers whose texts are in use. Zeroed at first. */
struct kept {
    sd_bus_message **messages;
    size_t count;
};

/* It owns the message from now on, also where this fails. 0 or -ENOMEM. */
int kept_add(struct kept *k, sd_bus_message *m);
void kept_done(struct kept *k);

/* A growing array: room for one more after `count` items, of `size` bytes each. 0 or -ENOMEM. */
int kept_grow(void **items, size_t count, size_t size);

struct pages {
    const char *method;
    const char *job; /* or NULL */
    const char *row; /* D-Bus's type of one: "(sx)" */
    /* Reads one: 1; 0 where there is none any more; negative errno. */
    int (*read)(sd_bus_message *m, void *context);
    void *context;
};

/* All of them, in whatever order; one may come twice. 0 and the server's time; or an exit status,
 * with a line. */
int pages_ask(struct call *c, struct kept *k, const struct pages *p, int64_t *ret_now_ms);
#endif
