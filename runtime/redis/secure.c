/* SPDX-License-Identifier: MIT */
#include "redis/secure.h"
#include "base/library.h"
#include "base/text.h"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* `why` names the file that is missing: the module, or OpenSSL's library. */
static void refuse(const char *why, struct tls_fault *ret_fault)
{
    ret_fault->kind = TLS_FAULT_OPERATOR;
    ret_fault->file = TLS_FILE_NONE;
    text_format(ret_fault->reason, sizeof ret_fault->reason,
                "TLS is not to be had: %.160s; install all of rota, and libssl3 (from Debian 13 on "
                "libssl3t64)",
                why);
}

static void distrust(const char *why, struct tls_fault *ret_fault)
{
    ret_fault->kind = TLS_FAULT_OPERATOR;
    ret_fault->file = TLS_FILE_NONE;
    text_format(ret_fault->reason, sizeof ret_fault->reason, "TLS is not to be had: %.280s", why);
}

/* Whoever may replace the module may do all that rotad may. NULL: *ret_fault. */
static const struct tls_module *load_module(const char *path, struct tls_fault *ret_fault)
{
    const struct tls_module *module;
    char why[LIBRARY_WHY_SIZE] = "";
    void *library;
    /* Never unloaded: OpenSSL does not like that. */
    int r = library_load(path, &library, why);

    module = r == 0 ? dlsym(library, TLS_SYMBOL) : NULL;
    if (module && module->interface == TLS_INTERFACE)
        return module;
    if (r == 0)
        text_copy(why, sizeof why, "librota-tls.so is of another version");
    if (r == -EPERM || r == -EBADF)
        distrust(why, ret_fault);
    else
        refuse(why, ret_fault);
    return NULL;
}

static int open_module(const struct redis_tls *tls, const char *root, size_t endpoints,
                       struct redis_secure *ret, struct tls_fault *ret_fault)
{
    struct tls_files files = { .ca = tls->ca, .cert = tls->cert, .key = tls->key, .root = root };
    const struct tls_module *module = load_module(tls->module, ret_fault);

    if (!module)
        return -EPROTO;
    ret->tls = module->open(&files, endpoints, ret_fault);
    if (!ret->tls)
        return -EPROTO;
    ret->module = module;
    return 0;
}

int redis_secure_open(struct redis_secure *secure, const struct redis_settings *settings,
                      struct redis_fault *ret_fault)
{
    struct tls_fault fault;
    int r;

    if (secure->module)
        return 0;
    r = open_module(&settings->tls, "", settings->endpoint_count, secure, &fault);
    if (r < 0)
        redis_secure_fault(&fault, ret_fault);
    return r;
}

void redis_secure_done(struct redis_secure *secure)
{
    if (secure->module)
        secure->module->close(secure->tls);
    *secure = (struct redis_secure){ 0 };
}

void redis_secure_fault(const struct tls_fault *fault, struct redis_fault *ret_fault)
{
    static const enum fault classes[] = {
        [TLS_FAULT_OPERATOR] = FAULT_OPERATOR,
        [TLS_FAULT_EARLY] = FAULT_CLOCK,
        [TLS_FAULT_ALIEN] = FAULT_ALIEN,
        [TLS_FAULT_MEMORY] = FAULT_OURS,
    };

    ret_fault->class = classes[fault->kind];
    ret_fault->closes = true;
    ret_fault->wants_body = false;
    text_copy(ret_fault->reason, sizeof ret_fault->reason, fault->reason);
}

int redis_secure_check(const struct redis_tls *tls, const char *root, struct tls_fault *ret_fault)
{
    struct redis_secure secure = { 0 };
    int r = open_module(tls, root, 1, &secure, ret_fault);

    if (r == 0)
        r = secure.module->load(secure.tls, ret_fault);
    redis_secure_done(&secure);
    return r;
}
