/* SPDX-License-Identifier: MIT
 * tls/context.h: what all connections share: OpenSSL's settings, what was read from files, and the
 * sessions that are kept. Private to the module. */
#ifndef ROTA_TLS_CONTEXT_H
#define ROTA_TLS_CONTEXT_H
#include "tls/files.h"
#include "tls/sessions.h"
#include "tls/tls.h"
#include <openssl/ssl.h>

struct tls {
    struct files files;
    struct files_stamp stamps[FILES_END]; /* when they were read */
    SSL_CTX *ctx;                         /* NULL: not loaded, or a file was wrong */
    struct tls_sessions sessions;
};

/* See struct tls_module for all three; NULL: memory is short. */
struct tls *context_open(const struct tls_files *files, size_t endpoints);
void context_close(struct tls *tls);
int context_load(struct tls *tls, struct tls_fault *ret_fault);
#endif
