/* SPDX-License-Identifier: MIT
 * The module for TLS, byte by byte, against OpenSSL's own server in memory: what sockets cannot
 * show as exactly. */
#include "tls/tls.h"
#include "unit.h"
#include <errno.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAME "redis.test"
#define LONG_SIZE 100000

extern const struct tls_module rota_tls;

static struct {
    SSL_CTX *server;
    char ca[64];
} all;

/* A connection's two ends. */
struct pair {
    struct tls *tls;
    struct tls_stream *client;
    SSL *server;
    BIO *to_server, *to_client;
    struct tls_fault fault;
};

static void add_name(X509 *cert)
{
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:" NAME);

    assert_non_null(names);
    assert_int_equal(X509_add_ext(cert, names, -1), 1);
    X509_EXTENSION_free(names);
}

static X509 *new_certificate(EVP_PKEY *key)
{
    X509 *cert = X509_new();

    assert_non_null(cert);
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    add_name(cert);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    return cert;
}

static void write_ca(X509 *cert)
{
    FILE *f;
    int fd;

    strcpy(all.ca, "/tmp/rota-test-tls-XXXXXX");
    fd = mkstemp(all.ca);
    assert_true(fd >= 0);
    f = fdopen(fd, "w");
    assert_non_null(f);
    assert_int_equal(PEM_write_X509(f, cert), 1);
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = new_certificate(key);

    (void)state;
    all.server = SSL_CTX_new(TLS_server_method());
    assert_non_null(all.server);
    assert_int_equal(SSL_CTX_use_certificate(all.server, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(all.server, key), 1);
    write_ca(cert);
    X509_free(cert);
    EVP_PKEY_free(key);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    SSL_CTX_free(all.server);
    return unlink(all.ca);
}

static struct tls *open_tls(void)
{
    struct tls_fault fault;
    struct tls *tls = rota_tls.open(&(struct tls_files){ .ca = all.ca }, 1, &fault);

    assert_non_null(tls);
    return tls;
}

/* Begins; the tls is the pair's from now on. */
static void pair_begin(struct pair *p, struct tls *tls, int version)
{
    struct tls_peer peer = { .name = NAME, .clock_s = time(NULL) };

    *p = (struct pair){ .tls = tls };
    assert_int_equal(rota_tls.begin(p->tls, &peer, &p->client, &p->fault), 0);
    p->server = SSL_new(all.server);
    p->to_server = BIO_new(BIO_s_mem());
    p->to_client = BIO_new(BIO_s_mem());
    SSL_set_bio(p->server, p->to_server, p->to_client);
    SSL_set_max_proto_version(p->server, version);
    SSL_set_accept_state(p->server);
}

/* The connection, and what it has of the tls. */
static void pair_end(struct pair *p)
{
    rota_tls.end(p->client);
    SSL_free(p->server);
}

static void pair_close(struct pair *p)
{
    pair_end(p);
    rota_tls.close(p->tls);
}

/* What the client has for the socket. */
static void carry_up(struct pair *p)
{
    char bytes[4096];
    size_t size;

    while ((size = rota_tls.take(p->client, bytes, sizeof bytes)) > 0)
        BIO_write(p->to_server, bytes, (int)size);
}

/* What the server has for it, on the heap. */
static unsigned char *take_down(struct pair *p, size_t *ret_size)
{
    size_t size = BIO_ctrl_pending(p->to_client);
    unsigned char *bytes = malloc(size + 1);

    assert_non_null(bytes);
    if (size > 0)
        assert_int_equal(BIO_read(p->to_client, bytes, (int)size), (int)size);
    *ret_size = size;
    return bytes;
}

/* Feeds in pieces; 1 where the handshake is over, 0, or -EPROTO. */
static int feed_handshake(struct pair *p, const unsigned char *bytes, size_t size, size_t piece)
{
    int r = 0;

    for (size_t at = 0; at < size && r >= 0; at += piece) {
        size_t n = size - at < piece ? size - at : piece;

        r = rota_tls.feed(p->client, bytes + at, n, &p->fault);
        if (r >= 0)
            r = rota_tls.shake(p->client, &p->fault);
    }
    return r;
}

/* Until it is over, in `pieces` of so many bytes. */
static void shake_hands(struct pair *p, size_t piece)
{
    int done = 0;

    while (done == 0) {
        unsigned char *bytes;
        size_t size;

        carry_up(p);
        (void)SSL_do_handshake(p->server);
        bytes = take_down(p, &size);
        assert_true(size > 0);
        done = feed_handshake(p, bytes, size, piece);
        free(bytes);
    }
    assert_int_equal(done, 1);
    carry_up(p);
    (void)SSL_do_handshake(p->server);
    assert_true(SSL_is_init_finished(p->server));
}

/* All that the client can read of what the server has sent, fed in pieces. */
static size_t read_all(struct pair *p, char *text, size_t room, size_t piece)
{
    size_t size, got = 0;
    unsigned char *bytes = take_down(p, &size);

    for (size_t at = 0; at < size; at += piece) {
        ssize_t n;

        assert_int_equal(
            rota_tls.feed(p->client, bytes + at, size - at < piece ? size - at : piece, &p->fault),
            0);
        while ((n = rota_tls.read(p->client, text + got, room - got, &p->fault)) > 0)
            got += (size_t)n;
        assert_int_equal(n, 0);
    }
    free(bytes);
    return got;
}

static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

static void test_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tls_facts facts;
        struct pair p;
        char text[64];

        pair_begin(&p, open_tls(), versions[i]);
        shake_hands(&p, 1);
        rota_tls.facts(p.client, &facts);
        assert_string_equal(facts.version, i == 0 ? "TLSv1.2" : "TLSv1.3");
        assert_false(facts.resumed);
        assert_in_range(facts.expires_s, time(NULL) + 3500, time(NULL) + 3700);
        assert_int_equal(rota_tls.write(p.client, "ping", 4, &p.fault), 0);
        carry_up(&p);
        assert_int_equal(SSL_read(p.server, text, sizeof text), 4);
        assert_int_equal(SSL_write(p.server, "pong", 4), 4);
        assert_int_equal(read_all(&p, text, sizeof text, 1), 4);
        assert_memory_equal(text, "pong", 4);
        pair_close(&p);
    }
}

/* Records of 16 KiB, read by 4 KiB: nothing may be left inside when the socket has no more. */
static void test_nothing_stays_inside(void **state)
{
    char *sent = malloc(LONG_SIZE), *got = malloc(LONG_SIZE);
    struct pair p;

    (void)state;
    assert_non_null(sent);
    assert_non_null(got);
    for (size_t i = 0; i < LONG_SIZE; i++)
        sent[i] = (char)(i * 7);
    pair_begin(&p, open_tls(), TLS1_3_VERSION);
    shake_hands(&p, 4096);
    assert_int_equal(SSL_write(p.server, sent, LONG_SIZE), LONG_SIZE);
    assert_int_equal(read_all(&p, got, LONG_SIZE, 4096), LONG_SIZE);
    assert_memory_equal(got, sent, LONG_SIZE);
    free(sent);
    free(got);
    pair_close(&p);
}

static void test_the_newest_session_is_resumed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tls *tls = open_tls();

        for (int round = 0; round < 3; round++) {
            struct tls_facts facts;
            struct pair p;
            char text[8];

            pair_begin(&p, tls, versions[i]);
            shake_hands(&p, 4096);
            assert_int_equal(read_all(&p, text, sizeof text, 4096), 0); /* tickets */
            rota_tls.facts(p.client, &facts);
            assert_int_equal(facts.resumed, round > 0);
            assert_int_equal(SSL_session_reused(p.server), round > 0);
            pair_end(&p); /* cut off: that does not spoil it */
        }
        rota_tls.close(tls);
    }
}

/* The server may ask for new keys in the middle of a read: the answer must get out. */
static void test_new_keys(void **state)
{
    struct pair p;
    char text[8];

    (void)state;
    pair_begin(&p, open_tls(), TLS1_3_VERSION);
    shake_hands(&p, 4096);
    (void)read_all(&p, text, sizeof text, 4096);
    assert_int_equal(SSL_key_update(p.server, SSL_KEY_UPDATE_REQUESTED), 1);
    assert_int_equal(SSL_write(p.server, "x", 1), 1);
    assert_int_equal(read_all(&p, text, sizeof text, 1), 1);
    assert_int_equal(rota_tls.write(p.client, "y", 1, &p.fault), 0);
    carry_up(&p);
    assert_int_equal(SSL_read(p.server, text, sizeof text), 1);
    assert_int_equal(text[0], 'y');
    pair_close(&p);
}

static void test_the_ends(void **state)
{
    unsigned char *bytes;
    size_t size;
    struct pair p;
    char text[8];

    (void)state;
    pair_begin(&p, open_tls(), TLS1_3_VERSION);
    rota_tls.leave(p.client); /* too early: there is nothing to say */
    shake_hands(&p, 4096);
    (void)read_all(&p, text, sizeof text, 4096);
    assert_int_equal(SSL_shutdown(p.server), 0);
    bytes = take_down(&p, &size);
    assert_int_equal(rota_tls.feed(p.client, bytes, size, &p.fault), 0);
    assert_int_equal(rota_tls.read(p.client, text, sizeof text, &p.fault), -EPIPE);
    free(bytes);
    rota_tls.leave(p.client);
    carry_up(&p);
    assert_int_equal(SSL_shutdown(p.server), 1);
    pair_close(&p);
}

/* One bit of what the server says is another: that is found, or makes no difference, and nothing
 * worse. Only a record's version, which nobody looks at, may differ unnoticed. */
static void test_each_bit_counts(void **state)
{
    unsigned int accepted = 0, tried = 0;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        size_t size = 1;

        for (size_t at = 0; at < size; at += 1 + at / 97) {
            unsigned char *bytes;
            struct pair p;

            pair_begin(&p, open_tls(), versions[i]);
            carry_up(&p);
            (void)SSL_do_handshake(p.server);
            bytes = take_down(&p, &size);
            bytes[at] ^= (unsigned char)(1 << at % 8);
            tried++;
            accepted += feed_handshake(&p, bytes, size, 4096) == 1;
            free(bytes);
            pair_close(&p);
        }
    }
    assert_true(tried > 100);
    assert_true(accepted <= 8);
}

static void test_noise(void **state)
{
    static const char *const noises[] = { "-ERR\r\n", "\x16\x03\x03\x40\x01xxxx", "\x15\x03\x03",
                                          "\x16\x03\x03\xff\xff", "HTTP/1.1 400\r\n" };

    (void)state;
    for (size_t i = 0; i < sizeof noises / sizeof noises[0]; i++) {
        struct pair p;
        int r;

        pair_begin(&p, open_tls(), TLS1_3_VERSION);
        r = feed_handshake(&p, (const unsigned char *)noises[i], strlen(noises[i]), 1);
        if (r < 0)
            assert_true(p.fault.reason[0] != '\0');
        else
            assert_int_equal(r, 0);
        assert_true(r < 0 || noises[i][0] < 0x20);
        pair_close(&p);
    }
}

/* With the certificate's end the session that rests on it ends too. */
static void test_no_session_outlives_its_certificate(void **state)
{
    struct tls_peer peer = { .name = NAME, .clock_s = time(NULL) + 7200 };
    struct tls *tls = open_tls();
    struct pair p;
    char text[8];

    (void)state;
    pair_begin(&p, tls, TLS1_3_VERSION);
    shake_hands(&p, 4096);
    (void)read_all(&p, text, sizeof text, 4096);
    pair_end(&p);
    pair_begin(&p, tls, TLS1_3_VERSION);
    rota_tls.end(p.client);
    assert_int_equal(rota_tls.begin(tls, &peer, &p.client, &p.fault), 0);
    carry_up(&p);
    (void)SSL_do_handshake(p.server);
    assert_false(SSL_session_reused(p.server));
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_nothing_stays_inside),
        cmocka_unit_test(test_the_newest_session_is_resumed),
        cmocka_unit_test(test_new_keys),
        cmocka_unit_test(test_the_ends),
        cmocka_unit_test(test_each_bit_counts),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_no_session_outlives_its_certificate),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
