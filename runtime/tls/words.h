/* SPDX-License-Identifier: MIT
 * tls/words.h: what is out of order with TLS, for people. Private to the module. */
#ifndef ROTA_TLS_WORDS_H
#define ROTA_TLS_WORDS_H
#include "tls/tls.h"

/* The newest error of OpenSSL's queue, which is then empty. `name`: the server's. */
void words_of_error(const char *name, struct tls_fault *ret_fault);
/* What answers does not even begin as TLS does. */
void words_of_clear_text(struct tls_fault *ret_fault);
void words_of_memory(struct tls_fault *ret_fault);
#endif
