/* SPDX-License-Identifier: MIT */
#include "tls/sessions.h"
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int sessions_init(struct tls_sessions *sessions, size_t count)
{
    sessions->of = calloc(count, sizeof *sessions->of);
    sessions->count = sessions->of ? count : 0;
    return sessions->of ? 0 : -ENOMEM;
}

void sessions_forget(struct tls_sessions *sessions, size_t number)
{
    struct tls_session *kept = &sessions->of[number];

    if (kept->bytes)
        explicit_bzero(kept->bytes, kept->size);
    free(kept->bytes);
    *kept = (struct tls_session){ 0 };
}

void sessions_done(struct tls_sessions *sessions)
{
    for (size_t i = 0; i < sessions->count; i++)
        sessions_forget(sessions, i);
    free(sessions->of);
    *sessions = (struct tls_sessions){ 0 };
}

void sessions_keep(struct tls_sessions *sessions, size_t number, const SSL_SESSION *session)
{
    struct tls_session *kept = &sessions->of[number];
    int size = i2d_SSL_SESSION(session, NULL);
    unsigned char *end;

    sessions_forget(sessions, number);
    if (size <= 0)
        return;
    kept->bytes = malloc((size_t)size);
    if (!kept->bytes)
        return;
    kept->size = (size_t)size;
    end = kept->bytes;
    (void)i2d_SSL_SESSION(session, &end);
}

static bool has_expired(SSL_SESSION *session, time_t now_s)
{
    const X509 *peer = SSL_SESSION_get0_peer(session);

    return !peer || X509_cmp_time(X509_get0_notAfter(peer), &now_s) <= 0;
}

void sessions_offer(struct tls_sessions *sessions, size_t number, SSL *ssl, time_t now_s)
{
    const struct tls_session *kept = &sessions->of[number];
    const unsigned char *bytes = kept->bytes;
    SSL_SESSION *session;

    if (!bytes)
        return;
    session = d2i_SSL_SESSION(NULL, &bytes, (long)kept->size);
    if (!session || has_expired(session, now_s) || SSL_set_session(ssl, session) != 1)
        sessions_forget(sessions, number);
    SSL_SESSION_free(session);
    ERR_clear_error();
}
