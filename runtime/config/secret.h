/* SPDX-License-Identifier: MIT
 * config/secret.h: a password, from a file or from a credential of systemd. */
#ifndef ROTA_CONFIG_SECRET_H
#define ROTA_CONFIG_SECRET_H
#include "base/trust.h"
#include <stdbool.h>

/* What a credential's name stands behind in a conf file. */
#define SECRET_CREDENTIAL "credential:"

/* Whether `from` names a credential, well or badly. */
bool secret_is_credential(const char *from);
/* What forbids this name, as a sentence's end; or NULL. For texts that name a credential. */
const char *secret_name_fault(const char *from);

/* Reads the first line of a file, a path as trust_read() takes it with its root, or of a credential
 * (root ""), which systemd has put into $CREDENTIALS_DIRECTORY. From then on this process leaves no
 * core and cannot be traced by its user's other programs. 0 and the line on the heap, which
 * secret_free() takes; -ENOMEM; -ENOKEY: systemd has given this process no credentials; or another
 * negative errno. A sentence about it is in `why`, but for -ENOMEM. */
int secret_read(const char *root, const char *from, char **ret_secret, char why[TRUST_WHY_SIZE]);
/* Overwrites it first. Accepts NULL. */
void secret_free(char *secret);
#endif
