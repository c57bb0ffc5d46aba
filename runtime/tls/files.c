/* SPDX-License-Identifier: MIT */
#include "tls/files.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/trust.h"
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <string.h>

#define CREDENTIAL "credential:"
/* The bundles of whole systems have 250 KiB. All is read at once, while everything else waits. */
#define BYTES_MAX 1048576

int files_refuse(const struct files *files, enum tls_file file, const char *why,
                 struct tls_fault *ret_fault)
{
    static const char *const keys[FILES_END] = {
        [TLS_FILE_CA] = "redis.tls_ca",
        [TLS_FILE_CERT] = "redis.tls_cert",
        [TLS_FILE_KEY] = "redis.tls_key",
    };

    ERR_clear_error();
    ret_fault->kind = TLS_FAULT_OPERATOR;
    ret_fault->file = file;
    text_format(ret_fault->reason, sizeof ret_fault->reason, "%s '%.100s' is not used: %s",
                keys[file], files->path[file] + files->root_length, why);
    return -EPROTO;
}

/* Where systemd gives this process no credentials, the text stays as it is: no path. */
static char *find(const char *given, bool *ret_credential)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");

    *ret_credential = strncmp(given, CREDENTIAL, strlen(CREDENTIAL)) == 0;
    return *ret_credential && folder ? text_print("%s/%s", folder, given + strlen(CREDENTIAL))
                                     : strdup(given);
}

int files_init(struct files *files, const struct tls_files *given)
{
    const char *const texts[FILES_END] = {
        [TLS_FILE_CA] = given->ca, [TLS_FILE_CERT] = given->cert, [TLS_FILE_KEY] = given->key
    };

    *files = (struct files){ .root_length = given->root ? strlen(given->root) : 0 };
    for (int i = 0; i < FILES_END; i++) {
        if (!texts[i])
            continue;
        files->path[i] = find(texts[i], &files->credential[i]);
        if (!files->path[i])
            return -ENOMEM;
    }
    return 0;
}

void files_done(struct files *files)
{
    for (int i = 0; i < FILES_END; i++)
        free(files->path[i]);
    *files = (struct files){ 0 };
}

static struct files_stamp stamp_of(const struct stat *st)
{
    return (struct files_stamp){ st->st_dev, st->st_ino, st->st_size, st->st_mtim };
}

/* One of the two places where OpenSSL looks for the system's bundle; it may not be there. */
static struct files_stamp stamp_bundle(const char *variable, const char *usual)
{
    const char *given = getenv(variable);
    struct stat st;

    if (stat(given ? given : usual, &st) < 0)
        return (struct files_stamp){ 0 };
    return stamp_of(&st);
}

static int refuse_size(const struct files *files, enum tls_file file, off_t size,
                       struct tls_fault *ret_fault)
{
    char why[TLS_REASON_SIZE];

    text_format(why, sizeof why, "it has %lld bytes; at most %d are read", (long long)size,
                BYTES_MAX);
    return files_refuse(files, file, why, ret_fault);
}

static int stamp(const struct files *files, enum tls_file file, struct files_stamp *ret_stamp,
                 struct tls_fault *ret_fault)
{
    struct stat st;

    if (files->path[file][0] != '/')
        return files_refuse(files, file,
                            "systemd gives it with LoadCredential= in the unit, and has given none "
                            "here",
                            ret_fault);
    if (stat(files->path[file], &st) < 0)
        return files_refuse(files, file, strerror(errno), ret_fault);
    /* A FIFO would hold us up. */
    if (!S_ISREG(st.st_mode))
        return files_refuse(files, file, "it is no regular file", ret_fault);
    if (st.st_size > BYTES_MAX)
        return refuse_size(files, file, st.st_size, ret_fault);
    *ret_stamp = stamp_of(&st);
    return 0;
}

int files_stamp(const struct files *files, struct files_stamp ret_now[FILES_END],
                struct tls_fault *ret_fault)
{
    int r = 0;

    ret_now[TLS_FILE_NONE] = (struct files_stamp){ 0 };
    for (enum tls_file f = TLS_FILE_CA; f < FILES_END && r == 0; f++) {
        ret_now[f] = (struct files_stamp){ 0 };
        if (files->path[f])
            r = stamp(files, f, &ret_now[f], ret_fault);
    }
    if (!files->path[TLS_FILE_CA]) {
        ret_now[TLS_FILE_NONE] =
            stamp_bundle(X509_get_default_cert_file_env(), X509_get_default_cert_file());
        ret_now[TLS_FILE_CA] =
            stamp_bundle(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
    }
    return r;
}

bool files_same(const struct files_stamp *a, const struct files_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* A key is of no use to us if others may read it. */
static int check_reader(const struct files *files, int fd, struct tls_fault *ret_fault)
{
    /* In systemd's files the group's bits are the limit of an ACL. */
    mode_t others = files->credential[TLS_FILE_KEY] ? S_IRWXO : S_IRWXG | S_IRWXO;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return files_refuse(files, TLS_FILE_KEY, strerror(errno), ret_fault);
    if (st.st_mode & others)
        return files_refuse(files, TLS_FILE_KEY,
                            "it holds a secret, but others than its owner may read it; chmod it "
                            "0600",
                            ret_fault);
    return 0;
}

int files_open(const struct files *files, enum tls_file file, int *ret_fd,
               struct tls_fault *ret_fault)
{
    const char *path = files->path[file];
    struct trust_place place = { 0 };
    char why[TRUST_WHY_SIZE] = "", root[PATH_MAX];
    CLEANUP_CLOSE int fd = -1;
    int r;

    text_format(root, sizeof root, "%.*s", (int)files->root_length, path);
    r = trust_walk(root, path + files->root_length, &place, why);
    if (r >= 0)
        r = trust_open(&place, &fd, why);
    trust_done(&place);
    if (r == -EBADF)
        text_copy(why, sizeof why, "it is no regular file");
    if (r < 0)
        return files_refuse(files, file, why[0] ? why : strerror(-r), ret_fault);
    if (file == TLS_FILE_KEY && check_reader(files, fd, ret_fault) < 0)
        return -EPROTO;
    *ret_fd = cleanup_take_fd(&fd);
    return 0;
}
