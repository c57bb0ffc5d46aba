/* SPDX-License-Identifier: MIT */
#include "config/secret.h"
#include "base/text.h"
#include "config/trust.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define BYTES_MAX 4096

bool secret_is_credential(const char *from)
{
    return strncmp(from, SECRET_CREDENTIAL, strlen(SECRET_CREDENTIAL)) == 0;
}

const char *secret_name_fault(const char *from)
{
    const char *name = from + strlen(SECRET_CREDENTIAL);

    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/'))
        return "names no credential; write credential:NAME, as in LoadCredential=NAME:PATH";
    return NULL;
}

/* `from` itself where it is a path. NULL with *ret_error set: there is none. */
static char *find(const char *from, int *ret_error, char why[TRUST_WHY_SIZE])
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");

    *ret_error = -ENOMEM;
    if (!secret_is_credential(from))
        return strdup(from);
    if (!folder) {
        *ret_error = -ENOKEY;
        text_copy(why, TRUST_WHY_SIZE,
                  "systemd gives it with LoadCredential= in the unit, and has given none here");
        return NULL;
    }
    return text_print("%s/%s", folder, from + strlen(SECRET_CREDENTIAL));
}

/* Cuts the line off. */
static int check_line(struct trust_text *text, char why[TRUST_WHY_SIZE])
{
    size_t length = strcspn(text->text, "\n");
    const char *fault = NULL;

    if (memchr(text->text, '\0', text->size))
        fault = "it holds a NUL byte";
    else if (length == 0)
        fault = "its first line is empty; write the password there";
    else if (text->text[length - 1] == '\r')
        fault = "it has a carriage return at the end of its first line, which would be part of the "
                "password; write the file with plain line ends";
    if (fault) {
        text_copy(why, TRUST_WHY_SIZE, fault);
        return -EINVAL;
    }
    text->text[length] = '\0';
    return 0;
}

static void wipe(struct trust_text *text)
{
    if (text->text)
        explicit_bzero(text->text, text->size);
    free(text->text);
}

int secret_read(const char *root, const char *from, char **ret_secret, char why[TRUST_WHY_SIZE])
{
    enum trust_reader reader = secret_is_credential(from) ? TRUST_CREDENTIAL : TRUST_OWNER;
    struct trust_text text = { 0 };
    char *path, *secret = NULL;
    int r;

    path = find(from, &r, why);
    if (!path)
        return r;
    (void)prctl(PR_SET_DUMPABLE, 0);
    r = trust_read(path, &(struct trust_rule){ root, BYTES_MAX, reader }, &text, why);
    free(path);
    if (r == -ENOENT && reader == TRUST_CREDENTIAL)
        text_copy(why, TRUST_WHY_SIZE,
                  "systemd gave none by this name when the unit started; write the file that its "
                  "LoadCredential= reads, then restart rotad");
    if (r >= 0)
        r = check_line(&text, why);
    if (r >= 0) {
        secret = strdup(text.text);
        r = secret ? 0 : -ENOMEM;
    }
    wipe(&text);
    if (r >= 0)
        *ret_secret = secret;
    return r;
}

void secret_free(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}
