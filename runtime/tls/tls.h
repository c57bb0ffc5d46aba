/* SPDX-License-Identifier: MIT
 * tls/tls.h: the contract between rotad and librota-tls.so, which is loaded only where TLS is
 * configured, so that nobody else pays for OpenSSL.
 *
 * The module is a codec: bytes of the socket go in, bytes for the socket come out, and it touches
 * no descriptor. So it never blocks, has nothing to wait for, and works the same whatever the
 * pieces are in which the bytes come. All is done by one thread. Verification cannot be switched
 * off: nothing here says how. */
#ifndef ROTA_TLS_TLS_H
#define ROTA_TLS_TLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A module with another number is not used. Grows with every change of this file. */
#define TLS_INTERFACE 1
/* The module's one symbol, a const struct tls_module. */
#define TLS_SYMBOL "rota_tls"
/* A sentence part for people, with its end: words of ours, and names from certificates, escaped and
 * bounded. */
#define TLS_REASON_SIZE 320

/* Absolute paths, or "credential:NAME" for what systemd has put into $CREDENTIALS_DIRECTORY, or
 * NULL. Nobody but root and our own user may be able to change a file, nor read the key. */
struct tls_files {
    const char *ca;         /* NULL: the system's bundle */
    const char *cert, *key; /* the client's, both or neither */
    /* What all paths begin with, where they are in another device's tree; "" or NULL: this
     * machine's. Then they have no links. */
    const char *root;
};

enum tls_fault_kind {
    TLS_FAULT_OPERATOR, /* a setting or a file is wrong, here or there */
    TLS_FAULT_EARLY,    /* the server's certificate is not valid yet, by this device's clock */
    TLS_FAULT_ALIEN,    /* what answers does not speak TLS, or not as it should */
    TLS_FAULT_MEMORY,
};

enum tls_file { TLS_FILE_NONE, TLS_FILE_CA, TLS_FILE_CERT, TLS_FILE_KEY };

struct tls_fault {
    enum tls_fault_kind kind;
    enum tls_file file; /* the one that is wrong */
    char reason[TLS_REASON_SIZE];
};

struct tls_peer {
    const char *name;   /* to verify, and to send (SNI) where it is no address */
    size_t number;      /* of its endpoint: sessions are kept for each */
    int64_t clock_s;    /* what this device's clock says, Unix seconds */
    int64_t earliest_s; /* it cannot be earlier than this: a clock that says less is not believed */
};

struct tls_facts {
    const char *version, *cipher; /* "TLSv1.3", "TLS_AES_256_GCM_SHA384" */
    bool resumed;
    int64_t expires_s; /* the server's certificate; Unix seconds, 0: not known */
};

/* The settings, what was read from their files, and the sessions. */
struct tls;
/* One connection. */
struct tls_stream;

/* Functions that return an int give 0 or more; or -EPROTO, and *ret_fault is why, and the stream is
 * of no further use but to be ended. */
struct tls_module {
    unsigned int interface; /* TLS_INTERFACE, at this place in every version */

    /* Copies the paths. `endpoints`: how many have sessions. NULL where memory is short. */
    struct tls *(*open)(const struct tls_files *files, size_t endpoints,
                        struct tls_fault *ret_fault);
    /* Accepts NULL. No stream may be left. */
    void (*close)(struct tls *tls);
    /* Reads the files, where they have changed since they were last read; sessions of before are
     * forgotten then. 0 or -EPROTO. */
    int (*load)(struct tls *tls, struct tls_fault *ret_fault);

    /* Loads, and begins a handshake, whose first bytes are then to be taken. 0 or -EPROTO. `peer`
     * is not kept. */
    int (*begin)(struct tls *tls, const struct tls_peer *peer, struct tls_stream **ret_stream,
                 struct tls_fault *ret_fault);
    /* Bytes of the socket. All that they hold must be read before more is fed. 0 or -EPROTO. */
    int (*feed)(struct tls_stream *s, const void *bytes, size_t size, struct tls_fault *ret_fault);
    /* Goes on with the handshake. 1: it is over, and the server is who it should be. 0: it needs
     * more bytes. Or -EPROTO. Also then there may be bytes to take. */
    int (*shake)(struct tls_stream *s, struct tls_fault *ret_fault);
    /* Once the handshake is over. The count of bytes in the clear; 0: none (any more); -EPIPE: the
     * peer has said that it closes; or -EPROTO. */
    ssize_t (*read)(struct tls_stream *s, void *buffer, size_t size, struct tls_fault *ret_fault);
    /* Once the handshake is over: all of them. 0 or -EPROTO. */
    int (*write)(struct tls_stream *s, const void *bytes, size_t size, struct tls_fault *ret_fault);
    /* Says that this side closes. */
    void (*leave)(struct tls_stream *s);
    /* Bytes for the socket: at most `size` of them, each once. How many. */
    size_t (*take)(struct tls_stream *s, void *buffer, size_t size);
    /* Once the handshake is over. The texts live as long as the module. */
    void (*facts)(const struct tls_stream *s, struct tls_facts *ret_facts);
    /* Accepts NULL. */
    void (*end)(struct tls_stream *s);
};
#endif
