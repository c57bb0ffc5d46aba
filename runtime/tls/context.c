/* SPDX-License-Identifier: MIT */
#include "tls/context.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "tls/words.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <sys/prctl.h>

/* Forward secrecy and authenticated encryption alone; TLS 1.3 has nothing else. So short a list is
 * also so short a hello. */
#define CIPHERS_1_2 "ECDHE+AESGCM:ECDHE+CHACHA20"
/* The hybrids that newer OpenSSLs put first cost 2.3 KB a handshake. */
#define GROUPS "X25519:P-256:P-384"

struct tls *context_open(const struct tls_files *files, size_t endpoints)
{
    struct tls *tls = calloc(1, sizeof *tls);

    if (!tls)
        return NULL;
    if (files_init(&tls->files, files) < 0 || sessions_init(&tls->sessions, endpoints) < 0) {
        context_close(tls);
        return NULL;
    }
    return tls;
}

void context_close(struct tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->ctx);
    sessions_done(&tls->sessions);
    files_done(&tls->files);
    free(tls);
}

/* Never asks anybody for a passphrase. */
static int no_passphrase(char *buffer, int size, int writing, void *context)
{
    (void)writing;
    (void)context;
    if (size > 0)
        buffer[0] = '\0';
    return -1;
}

/* OpenSSL opens files by their names: this one is that of a descriptor, of which each opening
 * begins at the start again. */
struct fd_name {
    char text[32];
};

static struct fd_name name_of(int fd)
{
    struct fd_name name = { "" };

    text_format(name.text, sizeof name.text, "/proc/self/fd/%d", fd);
    return name;
}

/* How many are whole before the one that is not; *ret_damaged: there is such a one. */
static int count_whole(int fd, bool *ret_damaged)
{
    BIO *bio = BIO_new_file(name_of(fd).text, "r");
    X509 *certificate = NULL;
    int count = 0;

    ERR_clear_error();
    while (bio && (certificate = PEM_read_bio_X509_AUX(bio, NULL, no_passphrase, NULL))) {
        X509_free(certificate);
        count++;
    }
    *ret_damaged = bio && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
    BIO_free(bio);
    return count;
}

static int refuse_certificates(const struct files *files, enum tls_file file, int fd,
                               struct tls_fault *ret_fault)
{
    char why[TLS_REASON_SIZE] = "it holds no certificate in PEM form";
    unsigned long error = ERR_peek_last_error();
    bool damaged;
    int whole = count_whole(fd, &damaged);

    if (damaged)
        text_format(why, sizeof why, "certificate %d of it cannot be read", whole + 1);
    else if (whole > 0)
        text_format(why, sizeof why, "OpenSSL refuses it (openssl errstr %08lX)", error);
    return files_refuse(files, file, why, ret_fault);
}

static int read_ca(struct tls *tls, int fd, SSL_CTX *ctx, struct tls_fault *ret_fault)
{
    if (SSL_CTX_load_verify_file(ctx, name_of(fd).text) != 1)
        return refuse_certificates(&tls->files, TLS_FILE_CA, fd, ret_fault);
    return 0;
}

static int read_cert(struct tls *tls, int fd, SSL_CTX *ctx, struct tls_fault *ret_fault)
{
    if (SSL_CTX_use_certificate_chain_file(ctx, name_of(fd).text) != 1)
        return refuse_certificates(&tls->files, TLS_FILE_CERT, fd, ret_fault);
    return 0;
}

static int use_key(struct tls *tls, SSL_CTX *ctx, EVP_PKEY *key, struct tls_fault *ret_fault)
{
    const struct files *files = &tls->files;
    char why[TLS_REASON_SIZE];

    if (!key)
        return files_refuse(files, TLS_FILE_KEY,
                            ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_BAD_PASSWORD_READ
                                ? "it has a passphrase; write it without one (openssl pkey), mode "
                                  "0600"
                                : "it holds no key in PEM form",
                            ret_fault);
    if (SSL_CTX_use_PrivateKey(ctx, key) == 1)
        return 0;
    text_format(why, sizeof why, "it is not the key of the certificate '%.100s'",
                files->path[TLS_FILE_CERT] + files->root_length);
    return files_refuse(files, TLS_FILE_KEY, why, ret_fault);
}

static int read_key(struct tls *tls, int fd, SSL_CTX *ctx, struct tls_fault *ret_fault)
{
    EVP_PKEY *key;
    BIO *bio;
    int r;

    /* From now on a core of this process would hold it. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    bio = BIO_new_fd(fd, BIO_NOCLOSE);
    if (!bio) {
        words_of_memory(ret_fault);
        return -EPROTO;
    }
    key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    BIO_free(bio);
    r = use_key(tls, ctx, key, ret_fault);
    EVP_PKEY_free(key);
    return r;
}

static int read_files(struct tls *tls, SSL_CTX *ctx, struct tls_fault *ret_fault)
{
    static int (*const read[FILES_END])(struct tls *, int, SSL_CTX *, struct tls_fault *) = {
        [TLS_FILE_CA] = read_ca, [TLS_FILE_CERT] = read_cert, [TLS_FILE_KEY] = read_key
    };
    int r = 0;

    if (!tls->files.path[TLS_FILE_CA])
        /* Folder and file need not be there: the words for an unknown CA say so. */
        (void)SSL_CTX_set_default_verify_paths(ctx);
    for (enum tls_file f = TLS_FILE_CA; f < FILES_END && r == 0; f++) {
        CLEANUP_CLOSE int fd = -1;

        if (!tls->files.path[f])
            continue;
        r = files_open(&tls->files, f, &fd, ret_fault);
        if (r == 0)
            r = read[f](tls, fd, ctx, ret_fault);
    }
    return r;
}

static SSL_CTX *new_context(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    char groups[] = GROUPS; /* OpenSSL's macro casts const away */

    if (!ctx)
        return NULL;
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(ctx, CIPHERS_1_2) != 1 ||
        SSL_CTX_set1_groups_list(ctx, groups) != 1) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    /* 112 bits and more: Debian's own default, but not everybody's. */
    SSL_CTX_set_security_level(ctx, 2);
    SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    return ctx;
}

static void forget(struct tls *tls)
{
    SSL_CTX_free(tls->ctx);
    tls->ctx = NULL;
    for (size_t i = 0; i < tls->sessions.count; i++)
        sessions_forget(&tls->sessions, i);
}

static bool is_fresh(const struct tls *tls, const struct files_stamp now[FILES_END])
{
    for (int f = 0; f < FILES_END; f++)
        if (!files_same(&now[f], &tls->stamps[f]))
            return false;
    return tls->ctx != NULL;
}

int context_load(struct tls *tls, struct tls_fault *ret_fault)
{
    struct files_stamp now[FILES_END] = { 0 };
    SSL_CTX *ctx;
    int r = files_stamp(&tls->files, now, ret_fault);

    if (r < 0 || is_fresh(tls, now))
        return r;
    forget(tls);
    ctx = new_context();
    if (!ctx) {
        words_of_error("", ret_fault);
        return -EPROTO;
    }
    r = read_files(tls, ctx, ret_fault);
    if (r < 0) {
        SSL_CTX_free(ctx);
        return r;
    }
    memcpy(tls->stamps, now, sizeof now);
    tls->ctx = ctx;
    return 0;
}
