/* SPDX-License-Identifier: MIT */
#include "redis/secure.h"
#include "base/cleanup.h"
#include "base/library.h"
#include "base/text.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `why` names the file that is missing: the module, or OpenSSL's library. */
static int refuse(const char *why, struct tls_fault *ret_fault)
{
    ret_fault->kind = TLS_FAULT_OPERATOR;
    ret_fault->file = TLS_FILE_NONE;
    text_format(ret_fault->reason, sizeof ret_fault->reason,
                "TLS is not to be had: %.160s; install all of rota, and libssl3 (from Debian 13 on "
                "libssl3t64)",
                why);
    return -EPROTO;
}

static int distrust(const char *why, struct tls_fault *ret_fault)
{
    ret_fault->kind = TLS_FAULT_OPERATOR;
    ret_fault->file = TLS_FILE_NONE;
    text_format(ret_fault->reason, sizeof ret_fault->reason, "TLS is not to be had: %.280s", why);
    return -EPROTO;
}

/* Of a file that is cut off the loader touches what is not there, which ends this process. A whole
 * one ends with the table of its sections. */
static bool is_whole(int fd)
{
    ElfW(Ehdr) head;
    struct stat st;

    return pread(fd, &head, sizeof head, 0) != sizeof head || fstat(fd, &st) < 0 ||
           (uint64_t)st.st_size >= head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
}

/* Whoever may replace the module may do all that rotad may. */
static int find_module(const char *path, struct trust_place *ret_place, struct tls_fault *ret_fault)
{
    struct trust_place place = { 0 };
    char why[TLS_REASON_SIZE] = "";
    CLEANUP_CLOSE int fd = -1;
    int r = trust_walk("", path, &place, why);

    if (r == 0)
        r = trust_open(&place, &fd, why);
    if (r == 0 && is_whole(fd)) {
        *ret_place = place;
        return 0;
    }
    if (r == 0)
        text_format(why, sizeof why, "'%s' is not whole; install all of rota again", place.path);
    else if (r == -EBADF)
        text_format(why, sizeof why, "'%s' is no regular file", place.path);
    trust_done(&place);
    if (why[0] != '\0')
        return distrust(why, ret_fault);
    text_format(why, sizeof why, "%s: %s", path, strerror(-r));
    return refuse(why, ret_fault);
}

/* NULL: *ret_fault. */
static const struct tls_module *load_module(const char *path, struct tls_fault *ret_fault)
{
    struct trust_place place = { 0 };
    const struct tls_module *module;
    char why[LIBRARY_WHY_SIZE] = "";
    void *library;
    int r = find_module(path, &place, ret_fault);

    if (r < 0)
        return NULL;
    /* Never unloaded: OpenSSL does not like that. */
    r = library_open(&place, &library, why);
    trust_done(&place);
    module = r == 0 ? dlsym(library, TLS_SYMBOL) : NULL;
    if (module && module->interface == TLS_INTERFACE)
        return module;
    if (r == 0)
        text_copy(why, sizeof why, "librota-tls.so is of another version");
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
