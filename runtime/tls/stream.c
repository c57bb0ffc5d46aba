/* SPDX-License-Identifier: MIT */
#include "tls/stream.h"
#include "base/text.h"
#include "tls/context.h"
#include "tls/verify.h"
#include "tls/words.h"
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

/* A host name's length, with its end. */
#define NAME_SIZE 256
/* The first byte of what a server says first: a handshake's record, or an alert's. */
#define RECORD_ALERT 21
#define RECORD_HANDSHAKE 22

struct tls_stream {
    struct tls *tls;
    SSL *ssl;
    BIO *in, *out; /* the SSL's: bytes of the socket, bytes for it */
    size_t number;
    bool heard;                /* something was fed */
    bool failed;               /* OpenSSL must not be called any more */
    bool unverified;           /* `fault` says why */
    struct verify_claim claim; /* its texts are `name` and the context's */
    struct tls_fault fault;
    char name[NAME_SIZE];
};

static int fail(struct tls_stream *s, struct tls_fault *ret_fault)
{
    s->failed = true;
    /* Whatever it was: the next handshake owes nothing to the last one. */
    sessions_forget(&s->tls->sessions, s->number);
    if (s->unverified) {
        ERR_clear_error();
        *ret_fault = s->fault;
    } else {
        words_of_error(s->name, ret_fault);
    }
    return -EPROTO;
}

/* Certificates are judged by OpenSSL alone; here it is only asked why. */
static int on_verified(int good, X509_STORE_CTX *verification)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_stream *s = SSL_get_app_data(ssl);

    if (!good && !s->unverified) {
        s->unverified = true;
        verify_explain(verification, &s->claim, &s->fault);
    }
    return good;
}

/* 1.3 gives them after the handshake, one or several; the newest counts. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_stream *s = SSL_get_app_data(ssl);

    sessions_keep(&s->tls->sessions, s->number, session);
    return 0; /* it stays OpenSSL's */
}

static bool attach_buffers(struct tls_stream *s)
{
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());

    if (!in || !out) {
        BIO_free(in);
        BIO_free(out);
        return false;
    }
    SSL_set_bio(s->ssl, in, out);
    s->in = in;
    s->out = out;
    return true;
}

/* "redis.example." is the name redis.example. */
static void copy_name(struct tls_stream *s, const char *name)
{
    size_t length;

    text_copy(s->name, sizeof s->name, name);
    length = strlen(s->name);
    if (length > 1 && s->name[length - 1] == '.')
        s->name[length - 1] = '\0';
}

/* Who it must be. A name that only the certificate's subject has does not count: that was never
 * meant for it (RFC 9525). */
static bool set_name(struct tls_stream *s)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(s->ssl);

    if (s->name[0] == '\0')
        return false;
    if (X509_VERIFY_PARAM_set1_ip_asc(param, s->name) == 1)
        return true;
    SSL_set_hostflags(s->ssl,
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return SSL_set1_host(s->ssl, s->name) == 1 && SSL_set_tlsext_host_name(s->ssl, s->name) == 1;
}

static bool prepare(struct tls_stream *s, const struct tls_peer *peer)
{
    time_t now_s = (time_t)(peer->clock_s > peer->earliest_s ? peer->clock_s : peer->earliest_s);

    s->ssl = SSL_new(s->tls->ctx);
    if (!s->ssl || !attach_buffers(s))
        return false;
    SSL_set_app_data(s->ssl, s);
    SSL_set_verify(s->ssl, SSL_VERIFY_PEER, on_verified);
    X509_VERIFY_PARAM_set_time(SSL_get0_param(s->ssl), now_s);
    if (!set_name(s))
        return false;
    SSL_CTX_sess_set_new_cb(s->tls->ctx, on_session);
    sessions_offer(&s->tls->sessions, s->number, s->ssl, now_s);
    SSL_set_connect_state(s->ssl);
    return true;
}

int stream_begin(struct tls *tls, const struct tls_peer *peer, struct tls_stream **ret_stream,
                 struct tls_fault *ret_fault)
{
    struct tls_stream *s;
    int r = context_load(tls, ret_fault);

    if (r < 0)
        return r;
    s = calloc(1, sizeof *s);
    if (!s) {
        words_of_memory(ret_fault);
        return -EPROTO;
    }
    s->tls = tls;
    s->number = peer->number;
    copy_name(s, peer->name);
    s->claim = (struct verify_claim){ .name = s->name,
                                      .ca = tls->files.path[TLS_FILE_CA],
                                      .clock_s = peer->clock_s,
                                      .earliest_s = peer->earliest_s };
    r = prepare(s, peer) ? stream_shake(s, ret_fault) : fail(s, ret_fault);
    if (r < 0) {
        stream_end(s);
        return r;
    }
    *ret_stream = s;
    return 0;
}

int stream_feed(struct tls_stream *s, const void *bytes, size_t size, struct tls_fault *ret_fault)
{
    unsigned char first = *(const unsigned char *)bytes;

    if (!s->heard && first != RECORD_HANDSHAKE && first != RECORD_ALERT) {
        s->failed = true;
        words_of_clear_text(ret_fault);
        return -EPROTO;
    }
    s->heard = true;
    if (size > INT_MAX || BIO_write(s->in, bytes, (int)size) != (int)size) {
        s->failed = true;
        words_of_memory(ret_fault);
        return -EPROTO;
    }
    return 0;
}

int stream_shake(struct tls_stream *s, struct tls_fault *ret_fault)
{
    int r;

    ERR_clear_error();
    r = SSL_do_handshake(s->ssl);
    if (r == 1)
        return 1;
    return SSL_get_error(s->ssl, r) == SSL_ERROR_WANT_READ ? 0 : fail(s, ret_fault);
}

ssize_t stream_read(struct tls_stream *s, void *buffer, size_t size, struct tls_fault *ret_fault)
{
    size_t count;

    ERR_clear_error();
    if (SSL_read_ex(s->ssl, buffer, size, &count) == 1)
        return (ssize_t)count;
    switch (SSL_get_error(s->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        return -EPIPE;
    default:
        return fail(s, ret_fault);
    }
}

int stream_write(struct tls_stream *s, const void *bytes, size_t size, struct tls_fault *ret_fault)
{
    size_t count;

    ERR_clear_error();
    /* Into memory, and without renegotiation: nothing that it could wait for. */
    return SSL_write_ex(s->ssl, bytes, size, &count) == 1 ? 0 : fail(s, ret_fault);
}

void stream_leave(struct tls_stream *s)
{
    if (s->failed || !SSL_is_init_finished(s->ssl))
        return;
    ERR_clear_error();
    (void)SSL_shutdown(s->ssl);
    ERR_clear_error();
}

size_t stream_take(struct tls_stream *s, void *buffer, size_t size)
{
    int n = BIO_read(s->out, buffer, size > INT_MAX ? INT_MAX : (int)size);

    return n > 0 ? (size_t)n : 0;
}

static int64_t expiry(const SSL *ssl)
{
    const X509 *cert = SSL_get0_peer_certificate(ssl);
    struct tm t = { 0 };
    time_t end = 0;

    if (cert && ASN1_TIME_to_tm(X509_get0_notAfter(cert), &t) == 1)
        end = timegm(&t);
    return end > 0 ? end : 0; /* beyond a time_t: not known */
}

void stream_facts(const struct tls_stream *s, struct tls_facts *ret_facts)
{
    *ret_facts = (struct tls_facts){ .version = SSL_get_version(s->ssl),
                                     .cipher = SSL_get_cipher_name(s->ssl),
                                     .resumed = SSL_session_reused(s->ssl) == 1,
                                     .expires_s = expiry(s->ssl) };
}

void stream_end(struct tls_stream *s)
{
    if (!s)
        return;
    SSL_free(s->ssl);
    free(s);
}
