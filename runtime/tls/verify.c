/* SPDX-License-Identifier: MIT */
#include "tls/verify.h"
#include "base/text.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

/* "2026-11-30" */
#define DAY_SIZE 16
/* Of a certificate's names. */
#define NAMES_SHOWN 3
#define NAME_SHOWN_SIZE 49
#define NAMES_SIZE (NAMES_SHOWN * (NAME_SHOWN_SIZE + 2) + 24)

static void write_day(char day[DAY_SIZE], const struct tm *t)
{
    text_format(day, DAY_SIZE, "%04u-%02u-%02u", (unsigned)(t->tm_year + 1900) % 10000,
                (unsigned)(t->tm_mon + 1) % 100, (unsigned)t->tm_mday % 100);
}

static void day_of_seconds(char day[DAY_SIZE], int64_t seconds)
{
    time_t s = (time_t)seconds;
    struct tm t = { 0 };

    gmtime_r(&s, &t);
    write_day(day, &t);
}

static void day_of_asn1(char day[DAY_SIZE], const ASN1_TIME *time)
{
    struct tm t = { 0 };

    if (time && ASN1_TIME_to_tm(time, &t) == 1)
        write_day(day, &t);
    else
        text_copy(day, DAY_SIZE, "no date");
}

static const char *whose(X509_STORE_CTX *verification)
{
    return X509_STORE_CTX_get_error_depth(verification) == 0 ? "its certificate"
                                                             : "the certificate of its CA";
}

static void say_early(X509_STORE_CTX *verification, const struct verify_claim *claim,
                      struct tls_fault *fault)
{
    char from[DAY_SIZE], clock[DAY_SIZE], built[DAY_SIZE];

    day_of_asn1(from, X509_get0_notBefore(X509_STORE_CTX_get_current_cert(verification)));
    day_of_seconds(clock, claim->clock_s);
    day_of_seconds(built, claim->earliest_s);
    fault->kind = TLS_FAULT_EARLY;
    if (claim->clock_s < claim->earliest_s)
        text_format(fault->reason, sizeof fault->reason,
                    "%s is not valid before %s; this device's clock says %s, so %s counts, the day "
                    "on which rota was built; set the clock",
                    whose(verification), from, clock, built);
    else
        text_format(
            fault->reason, sizeof fault->reason,
            "%s is not valid before %s, and this device's clock says %s; set it if it is wrong",
            whose(verification), from, clock);
}

static void say_expired(X509_STORE_CTX *verification, const struct verify_claim *claim,
                        struct tls_fault *fault)
{
    char until[DAY_SIZE], clock[DAY_SIZE];

    day_of_asn1(until, X509_get0_notAfter(X509_STORE_CTX_get_current_cert(verification)));
    day_of_seconds(clock, claim->clock_s);
    text_format(fault->reason, sizeof fault->reason,
                "%s expired on %s; renew it there (this device's clock says %s)",
                whose(verification), until, clock);
}

/* A name of the certificate, as people write it; false: of a kind that is not verified. */
static bool write_name(const GENERAL_NAME *name, char *shown, size_t size)
{
    char address[INET6_ADDRSTRLEN];
    const ASN1_STRING *text;
    int type, family;

    text = GENERAL_NAME_get0_value(name, &type);
    if (type == GEN_DNS) {
        text_escape(shown, size, (const char *)ASN1_STRING_get0_data(text),
                    (size_t)ASN1_STRING_length(text));
        return true;
    }
    if (type != GEN_IPADD || (ASN1_STRING_length(text) != 4 && ASN1_STRING_length(text) != 16))
        return false;
    family = ASN1_STRING_length(text) == 4 ? AF_INET : AF_INET6;
    inet_ntop(family, ASN1_STRING_get0_data(text), address, sizeof address);
    text_copy(shown, size, address);
    return true;
}

/* "a.example, b.example and 7 more"; "" where there is none. */
static void write_names(const GENERAL_NAMES *names, char *list, size_t size)
{
    int count = 0;
    size_t used = 0;
    char shown[NAME_SHOWN_SIZE];

    list[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        if (!write_name(sk_GENERAL_NAME_value(names, i), shown, sizeof shown))
            continue;
        if (count++ >= NAMES_SHOWN)
            continue;
        text_format(list + used, size - used, "%s%s", count > 1 ? ", " : "", shown);
        used = strlen(list);
    }
    if (count > NAMES_SHOWN)
        text_format(list + used, size - used, " and %d more", count - NAMES_SHOWN);
}

static void say_names(X509_STORE_CTX *verification, const struct verify_claim *claim,
                      struct tls_fault *fault)
{
    X509 *cert = X509_STORE_CTX_get0_cert(verification);
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    char list[NAMES_SIZE] = "";

    if (names)
        write_names(names, list, sizeof list);
    GENERAL_NAMES_free(names);
    if (list[0] == '\0')
        text_format(fault->reason, sizeof fault->reason,
                    "its certificate names no host, so it may be anybody's; make one whose "
                    "subjectAltName has %.80s",
                    claim->name);
    else
        text_format(fault->reason, sizeof fault->reason,
                    "its certificate is for %s, not for %.60s; see redis.tls_name", list,
                    claim->name);
}

static bool is_empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    bool empty = true;

    if (!folder)
        return true;
    for (const struct dirent *e = readdir(folder); e && empty; e = readdir(folder))
        empty = e->d_name[0] == '.';
    closedir(folder);
    return empty;
}

static void say_unknown_ca(bool self_signed, const struct verify_claim *claim,
                           struct tls_fault *fault)
{
    const char *what = self_signed ? "its certificate is signed by itself"
                                   : "the CA of its certificate is not known here";

    if (claim->ca)
        text_format(fault->reason, sizeof fault->reason,
                    "%s: it is not in '%.100s', the file of redis.tls_ca", what, claim->ca);
    else if (is_empty_folder(X509_get_default_cert_dir()))
        text_format(fault->reason, sizeof fault->reason,
                    "%s: this system has no bundle of CAs; write redis.tls_ca, or install the "
                    "package ca-certificates",
                    what);
    else
        text_format(fault->reason, sizeof fault->reason,
                    "%s: it is not in this system's bundle; write redis.tls_ca", what);
}

void verify_explain(X509_STORE_CTX *verification, const struct verify_claim *claim,
                    struct tls_fault *ret_fault)
{
    int error = X509_STORE_CTX_get_error(verification);

    ret_fault->kind = TLS_FAULT_OPERATOR;
    ret_fault->file = TLS_FILE_NONE;
    switch (error) {
    case X509_V_ERR_CERT_NOT_YET_VALID:
        say_early(verification, claim, ret_fault);
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        say_expired(verification, claim, ret_fault);
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        say_names(verification, claim, ret_fault);
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        say_unknown_ca(true, claim, ret_fault);
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        say_unknown_ca(false, claim, ret_fault);
        break;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
        text_format(ret_fault->reason, sizeof ret_fault->reason,
                    "%s is too weak; make one with an EC or a 2048-bit RSA key, and SHA-256",
                    whose(verification));
        break;
    default:
        text_format(ret_fault->reason, sizeof ret_fault->reason, "%s is not accepted: %s",
                    whose(verification), X509_verify_cert_error_string(error));
    }
}
