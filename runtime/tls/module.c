/* SPDX-License-Identifier: MIT
 * librota-tls.so: its one symbol. */
#include "tls/context.h"
#include "tls/stream.h"
#include "tls/words.h"
#include <openssl/ssl.h>

/* Without openssl.cnf, whose engines and providers nobody needs here, and without OpenSSL's texts:
 * memory. What is left at the end of the process goes with it. */
#define LIBRARY_OPTIONS                                                                            \
    (OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_SSL_STRINGS |     \
     OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS)

static struct tls *open_first(const struct tls_files *files, size_t endpoints,
                              struct tls_fault *ret_fault)
{
    struct tls *tls = NULL;

    /* At its second call it does nothing. */
    if (OPENSSL_init_ssl(LIBRARY_OPTIONS, NULL) == 1)
        tls = context_open(files, endpoints);
    if (!tls)
        words_of_memory(ret_fault);
    return tls;
}

extern const struct tls_module rota_tls;

__attribute__((visibility("default"))) const struct tls_module rota_tls = {
    .interface = TLS_INTERFACE,
    .open = open_first,
    .close = context_close,
    .load = context_load,
    .begin = stream_begin,
    .feed = stream_feed,
    .shake = stream_shake,
    .read = stream_read,
    .write = stream_write,
    .leave = stream_leave,
    .take = stream_take,
    .facts = stream_facts,
    .end = stream_end,
};
