/* SPDX-License-Identifier: MIT
 * rotactl/facts.h: what rotad says by name, "a{sv}": read into a struct, and printed as JSON, by
 * one table. */
#ifndef ROTA_ROTACTL_FACTS_H
#define ROTA_ROTACTL_FACTS_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-bus.h>

/* A number that rotad did not say. */
#define FACT_NONE INT64_MIN

enum fact_kind {
    FACT_TEXT,   /* const char *; NULL: not said */
    FACT_NUMBER, /* int64_t */
    FACT_FLAG    /* bool */
};

struct fact {
    const char *name;
    enum fact_kind kind;
    size_t offset; /* in the struct */
};

/* Fills the struct at `into`; facts that the table has not, or that are of another type, are left
 * out. Texts live as long as the message. 0 or negative errno. */
int facts_read(sd_bus_message *m, const struct fact *table, size_t count, void *into);
/* `, "name": value` for each that was said. */
void facts_print_json(FILE *out, const struct fact *table, size_t count, const void *from);
#endif
