/* SPDX-License-Identifier: MIT
 * redis/finder.h: who knows the address of a link's server, where that is not configured but asked
 * for anew for every connection. librota-topology.so has the one there is: redis/sentinel.h. */
#ifndef ROTA_REDIS_FINDER_H
#define ROTA_REDIS_FINDER_H
#include "redis/fault.h"
#include "redis/store.h"

struct redis_finder_env {
    /* The link's own, which stay as long as the finder; a password may be replaced meanwhile. */
    const struct redis_settings *settings;
    const struct redis_store_env *loop;
    /* The answer to find(), once: `names`, and finder.server is theirs; or the fault. From the
     * event loop only, as the next one. */
    void (*found)(void *context, const struct redis_names *names, const struct redis_fault *fault);
    /* Between questions: the server is another one now; in words. */
    void (*moved)(void *context, const struct redis_fault *fault);
    void *context;
};

/* Begins each finder. Where there is one, the settings' endpoints are not used, but it is one. */
struct redis_finder {
    struct redis_endpoint server; /* before it is known, words for people alone */
};

struct redis_finder_ops {
    /* Copies env. 0, -ENOMEM, or an error of sd-event. */
    int (*make)(const struct redis_finder_env *env, struct redis_finder **ret_finder);
    /* Accepts NULL. */
    void (*free)(struct redis_finder *finder);
    /* Asks; a question that is out is forgotten. `others`: what the last answer led to has not
     * served, so somebody else is asked first. From here on, until rest(), the finder watches where
     * the server is. */
    void (*find)(struct redis_finder *finder, bool others);
    /* No connection is wanted: closes its own. May be called from within moved(). */
    void (*rest)(struct redis_finder *finder);
};
#endif
