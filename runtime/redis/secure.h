/* SPDX-License-Identifier: MIT
 * redis/secure.h: the module for TLS, loaded when it is first needed, and its faults as the link
 * knows them. */
#ifndef ROTA_REDIS_SECURE_H
#define ROTA_REDIS_SECURE_H
#include "redis/fault.h"
#include "redis/store.h"
#include "tls/tls.h"

struct redis_secure {
    const struct tls_module *module; /* NULL: not needed yet, or not to be had */
    struct tls *tls;
};

/* Loads the module, once. 0; or -EPROTO and *ret_fault: it may be to be had later. */
int redis_secure_open(struct redis_secure *secure, const struct redis_settings *settings,
                      struct redis_fault *ret_fault);
/* Accepts zeroes. The module itself stays. */
void redis_secure_done(struct redis_secure *secure);
void redis_secure_fault(const struct tls_fault *fault, struct redis_fault *ret_fault);
/* Whether all files can be used; `root` as in struct tls_files. 0; or -EPROTO and *ret_fault. */
int redis_secure_check(const struct redis_tls *tls, const char *root, struct tls_fault *ret_fault);
#endif
