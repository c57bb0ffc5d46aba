/* SPDX-License-Identifier: MIT */
#include "tls/words.h"
#include "base/text.h"
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

static void say(struct tls_fault *fault, enum tls_fault_kind kind, const char *text)
{
    fault->kind = kind;
    fault->file = TLS_FILE_NONE;
    text_copy(fault->reason, sizeof fault->reason, text);
}

void words_of_memory(struct tls_fault *ret_fault)
{
    say(ret_fault, TLS_FAULT_MEMORY, "memory is short");
}

void words_of_clear_text(struct tls_fault *ret_fault)
{
    say(ret_fault, TLS_FAULT_OPERATOR,
        "it answers without TLS; write the port that it has for TLS (tls = false only where nobody "
        "else is on the way)");
}

struct row {
    int reason; /* of OpenSSL's library for TLS */
    enum tls_fault_kind kind;
    const char *words; /* may hold a %s: the server's name */
};

#define OLD "it speaks no TLS newer than 1.1, and rota none older than 1.2; upgrade it"
#define NO_PART_IN_COMMON                                                                          \
    "it refuses the handshake: it may demand a client certificate (redis.tls_cert and tls_key), "  \
    "or its tls-protocols and tls-ciphers leave nothing that rota has"

static const struct row rows[] = {
    { SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, TLS_FAULT_OPERATOR,
      "it demands a client certificate; write redis.tls_cert and tls_key" },
    { SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, TLS_FAULT_OPERATOR, NO_PART_IN_COMMON },
    { SSL_R_TLSV1_ALERT_INSUFFICIENT_SECURITY, TLS_FAULT_OPERATOR, NO_PART_IN_COMMON },
    { SSL_R_SSLV3_ALERT_NO_CERTIFICATE, TLS_FAULT_OPERATOR, NO_PART_IN_COMMON },
    { SSL_R_TLSV1_ALERT_UNKNOWN_CA, TLS_FAULT_OPERATOR,
      "it does not know the CA of this device's certificate; see redis.tls_cert, and its "
      "tls-ca-cert-file" },
    { SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, TLS_FAULT_OPERATOR,
      "it says that this device's certificate has expired; renew the file of redis.tls_cert" },
    { SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, TLS_FAULT_OPERATOR,
      "it says that this device's certificate is revoked; see redis.tls_cert" },
    { SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, TLS_FAULT_OPERATOR,
      "it does not accept this device's certificate; see redis.tls_cert" },
    { SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, TLS_FAULT_OPERATOR,
      "it does not accept this kind of certificate from a client; see redis.tls_cert" },
    { SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, TLS_FAULT_OPERATOR,
      "it does not accept this device's certificate; see redis.tls_cert" },
    { SSL_R_TLSV1_ALERT_ACCESS_DENIED, TLS_FAULT_OPERATOR,
      "it refuses this device; see redis.tls_cert" },
    { SSL_R_TLSV1_ALERT_DECRYPT_ERROR, TLS_FAULT_OPERATOR,
      "it does not accept this device's certificate; see redis.tls_cert and tls_key" },
    { SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, TLS_FAULT_OPERATOR,
      "it has no version of TLS that rota has, which are 1.2 and 1.3; see its tls-protocols" },
    { SSL_R_UNSUPPORTED_PROTOCOL, TLS_FAULT_OPERATOR, OLD },
    { SSL_R_TLSV1_UNRECOGNIZED_NAME, TLS_FAULT_OPERATOR,
      "it does not serve the name %s; see redis.tls_name" },
    { SSL_R_NO_CIPHERS_AVAILABLE, TLS_FAULT_OPERATOR,
      "OpenSSL on this device has none of the ciphers that rota uses" },
    { SSL_R_DH_KEY_TOO_SMALL, TLS_FAULT_OPERATOR, "its key is too weak" },
    { SSL_R_WRONG_SIGNATURE_TYPE, TLS_FAULT_OPERATOR, "its certificate's key is too weak" },
};

static const struct row *find(unsigned long error)
{
    if (ERR_GET_LIB(error) != ERR_LIB_SSL)
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].reason == ERR_GET_REASON(error))
            return &rows[i];
    return NULL;
}

static void say_row(struct tls_fault *fault, const struct row *row, const char *name)
{
    const char *place = strstr(row->words, "%s");

    if (!place) {
        say(fault, row->kind, row->words);
        return;
    }
    fault->kind = row->kind;
    fault->file = TLS_FILE_NONE;
    text_format(fault->reason, sizeof fault->reason, "%.*s%.100s%s", (int)(place - row->words),
                row->words, name, place + 2);
}

/* OpenSSL's own texts are not loaded: they take more memory than the rest of the module. */
static void say_number(struct tls_fault *fault, unsigned long error)
{
    fault->kind = TLS_FAULT_ALIEN;
    fault->file = TLS_FILE_NONE;
    text_format(fault->reason, sizeof fault->reason,
                "it does not speak TLS as it should (what OpenSSL found: openssl errstr %08lX)",
                error);
}

void words_of_error(const char *name, struct tls_fault *ret_fault)
{
    unsigned long error = ERR_peek_last_error();
    const struct row *row = find(error);

    ERR_clear_error();
    if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE)
        words_of_memory(ret_fault);
    else if (row)
        say_row(ret_fault, row, name);
    else
        say_number(ret_fault, error);
}
