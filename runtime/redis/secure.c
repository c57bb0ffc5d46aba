/* SPDX-License-Identifier: MIT */
#include "redis/secure.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/trust.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What dlopen() says of it names the file that is missing: the module, or OpenSSL's library. */
static int refuse(const char *error, struct tls_fault *ret_fault)
{
    ret_fault->kind = TLS_FAULT_OPERATOR;
    ret_fault->file = TLS_FILE_NONE;
    text_format(ret_fault->reason, sizeof ret_fault->reason,
                "TLS is not to be had: %.160s; install all of rota, and libssl3 (from Debian 13 on "
                "libssl3t64)",
                error ? error : "librota-tls.so is of another version");
    return -EPROTO;
}

static int distrust(const char *why, struct tls_fault *ret_fault)
{
    ret_fault->kind = TLS_FAULT_OPERATOR;
    ret_fault->file = TLS_FILE_NONE;
    text_format(ret_fault->reason, sizeof ret_fault->reason, "TLS is not to be had: %.280s", why);
    return -EPROTO;
}

/* dlopen() waits at a FIFO for who writes, and of a file that is cut off it touches what is not
 * there, which ends this process. A whole one ends with the table of its sections. */
static const char *find_damage(const char *path)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ElfW(Ehdr) head;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return NULL;
    if (!S_ISREG(st.st_mode))
        return "is no regular file";
    if (pread(fd, &head, sizeof head, 0) == sizeof head &&
        (uint64_t)st.st_size < head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize)
        return "is not whole; install all of rota again";
    return NULL;
}

/* Whoever may replace the module may do all that rotad may. Its file and folder are looked at;
 * above them stands rotad's own program, too. Then whether it can be loaded at all. */
static int trust_module(const char *path, struct tls_fault *ret_fault)
{
    CLEANUP_FREE char *resolved = realpath(path, NULL);
    char why[TRUST_WHY_SIZE] = "", *name, *folder;
    const char *damage;

    name = resolved ? strrchr(resolved, '/') : NULL;
    if (!name)
        return 0; /* dlopen() says what is wrong */
    *name = '\0';
    folder = strrchr(resolved, '/');
    *name = '/';
    if (trust_check_below(resolved, folder ? (size_t)(folder - resolved) : 0, why) != -EPERM) {
        damage = find_damage(resolved);
        if (!damage)
            return 0;
        text_format(why, sizeof why, "'%s' %s", resolved, damage);
    }
    return distrust(why, ret_fault);
}

static int open_module(const struct redis_tls *tls, const char *root, size_t endpoints,
                       struct redis_secure *ret, struct tls_fault *ret_fault)
{
    struct tls_files files = { .ca = tls->ca, .cert = tls->cert, .key = tls->key, .root = root };
    const struct tls_module *module;
    void *library;
    int r = trust_module(tls->module, ret_fault);

    if (r < 0)
        return r;
    /* Never unloaded: OpenSSL does not like that. */
    library = dlopen(tls->module, RTLD_NOW | RTLD_LOCAL);
    module = library ? dlsym(library, TLS_SYMBOL) : NULL;
    if (!module || module->interface != TLS_INTERFACE)
        return refuse(dlerror(), ret_fault);
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
