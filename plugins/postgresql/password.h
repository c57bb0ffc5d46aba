/* SPDX-License-Identifier: MIT
 * password.h: the password, from the file or the credential that password_file names. */
#ifndef PASSWORD_H
#define PASSWORD_H
#include <rota/plugin.h>
#include <stddef.h>

/* ROTA_SUCCEEDED; or another result, and why is told. A file that is not there is good for
 * check(): it may come later. */
int password_check(const struct rota_run *r);
/* The same, and the password, "" where password_file is not set. */
int password_read(const struct rota_run *r, char *buf, size_t size);
#endif
