/* SPDX-License-Identifier: MIT
 * tls/verify.h: why a certificate is not accepted. Private to the module. */
#ifndef ROTA_TLS_VERIFY_H
#define ROTA_TLS_VERIFY_H
#include "tls/tls.h"
#include <openssl/x509_vfy.h>

/* What a certificate was verified against. */
struct verify_claim {
    const char *name;
    const char *ca; /* the file; NULL: the system's bundle */
    int64_t clock_s, earliest_s;
};

/* Where `verification` stands, which has failed. */
void verify_explain(X509_STORE_CTX *verification, const struct verify_claim *claim,
                    struct tls_fault *ret_fault);
#endif
