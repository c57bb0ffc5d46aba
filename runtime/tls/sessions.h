/* SPDX-License-Identifier: MIT
 * tls/sessions.h: the newest session of each endpoint, as bytes: a tenth of what OpenSSL's own form
 * takes, and a connection that ends badly cannot spoil them. Private to the module. */
#ifndef ROTA_TLS_SESSIONS_H
#define ROTA_TLS_SESSIONS_H
#include <openssl/ssl.h>
#include <stddef.h>

struct tls_session {
    unsigned char *bytes; /* NULL: none */
    size_t size;
};

struct tls_sessions {
    struct tls_session *of; /* by the endpoint's number */
    size_t count;
};

/* 0 or -ENOMEM. */
int sessions_init(struct tls_sessions *sessions, size_t count);
/* Wiped, since they hold keys. Accepts zeroes. */
void sessions_done(struct tls_sessions *sessions);
void sessions_forget(struct tls_sessions *sessions, size_t number);
/* Replaces the one that is there. Where memory is short there is none. */
void sessions_keep(struct tls_sessions *sessions, size_t number, const SSL_SESSION *session);
/* Offers it to the server, unless the certificate that it rests on has expired by `now_s`. */
void sessions_offer(struct tls_sessions *sessions, size_t number, SSL *ssl, time_t now_s);
#endif
