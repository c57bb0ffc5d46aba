/* SPDX-License-Identifier: MIT
 * supervisor/local_module.h: the contract between rotad and librota-local.so, which is the store of
 * local.h. It is loaded for the first job that needs it, as its job is opened, and stays, so that a
 * rotad all of whose turns are the fleet's has none of it in memory, nor in its own file; it calls
 * functions of rotad, those of lent.list. */
#ifndef ROTA_SUPERVISOR_LOCAL_MODULE_H
#define ROTA_SUPERVISOR_LOCAL_MODULE_H
#include "supervisor/local.h"
#include "supervisor/module.h"

/* The module's one symbol, a const struct local_module. */
#define LOCAL_SYMBOL "rota_local"

struct local_module {
    struct module module;
    /* Copies env. 0, -ENOMEM, or an error of sd-event or of the kernel's timers. */
    int (*make)(const struct local_store_env *env, struct local_store **ret_store);
    /* Calls that are still queued are dropped without an answer. Accepts NULL. */
    void (*free)(struct local_store *s);

    /* A job whose spec->key this is takes turns from now on: where the key is new here, those that
     * were due before have passed. Jobs of the same key share a record. Before the first submit().
     * 0 or -ENOMEM. */
    int (*open)(struct local_store *s, const char *key);
    /* The end of one open(). The record stays for as long as its retention. */
    void (*close)(struct local_store *s, const char *key);

    /* As redis_store_submit() and redis_store_cancel(). */
    void (*submit)(struct local_store *s, struct store_call *call);
    void (*cancel)(struct local_store *s, struct store_call *call);

    /* Reads the clocks. False where there is no time that can be believed. */
    bool (*time)(struct local_store *s, struct boot now, struct wall *ret_time);
    const struct device_clock *(*clock)(const struct local_store *s);
};
#endif
