/* SPDX-License-Identifier: MIT
 * tls/files.h: the files of the settings: where they are, whether they have changed, and whether
 * anybody but root and our own user could have written them. Private to the module. */
#ifndef ROTA_TLS_FILES_H
#define ROTA_TLS_FILES_H
#include "tls/tls.h"
#include <sys/stat.h>
#include <time.h>

#define FILES_END (TLS_FILE_KEY + 1)

/* How a file is, or was when it was read. */
struct files_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

/* All by enum tls_file. */
struct files {
    size_t root_length;
    char *path[FILES_END]; /* NULL: not given */
    bool credential[FILES_END];
};

/* 0 or -ENOMEM; done() in both cases. */
int files_init(struct files *files, const struct tls_files *given);
void files_done(struct files *files);
/* Where no CA file is given, its place and that of TLS_FILE_NONE are those of the system's bundle:
 * a folder and a file. 0 or -EPROTO. */
int files_stamp(const struct files *files, struct files_stamp ret_now[FILES_END],
                struct tls_fault *ret_fault);
bool files_same(const struct files_stamp *a, const struct files_stamp *b);
/* Opens a file that is given, if nobody else can replace it and, the key, nobody else may read it:
 * 0 and *ret_fd, the caller's; or -EPROTO. */
int files_open(const struct files *files, enum tls_file file, int *ret_fd,
               struct tls_fault *ret_fault);
/* Says why a file is not used, and empties OpenSSL's queue. Returns -EPROTO. */
int files_refuse(const struct files *files, enum tls_file file, const char *why,
                 struct tls_fault *ret_fault);
#endif
