/* SPDX-License-Identifier: MIT */
#include "config/device.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "config/identity.h"
#include "config/trust.h"
#include "core/fingerprint.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define FILE_BYTES_MAX 4096
#define MACHINE_DIGITS 4
#define BOOT_DIGITS 8

struct device {
    struct reading *r;
    int line;
    char text[256]; /* longer than any name may be, so that a long one is seen and said */
    size_t length;
    bool cut;
    bool open; /* some of it is left out of `text`, since only the device has it */
};

static void append(struct device *d, const char *text, size_t length)
{
    if (length >= sizeof(d->text) - d->length) {
        d->cut = true;
        return;
    }
    memcpy(d->text + d->length, text, length);
    d->length += length;
    d->text[d->length] = '\0';
}

static void append_host(struct device *d)
{
    struct utsname name;
    size_t room = DEVICE_NAME_MAX - MACHINE_DIGITS - 1;

    if (uname(&name) < 0)
        return;
    for (char *p = name.nodename; *p; p++)
        if (*p <= ' ' || *p >= 0x7f)
            *p = '-';
    /* The default must be a valid name with the longest host name too. */
    append(d, name.nodename,
           d->line == 0 && strlen(name.nodename) > room ? room : strlen(name.nodename));
}

static void append_boot(struct device *d)
{
    char id[IDENTITY_SIZE];

    identity_read_boot(id);
    if (id[0] != '\0')
        append(d, id, BOOT_DIGITS);
}

static void append_machine(struct device *d)
{
    char id[IDENTITY_SIZE], hex[FINGERPRINT_SIZE];
    enum identity identity = identity_read("/etc", id);
    struct fingerprint f;

    if (identity != IDENTITY_STAYS)
        reading_problem(d->r, PROBLEM_WARNING, d->line,
                        "/etc/machine-id holds %s, so that this device's name changes at each "
                        "boot; write for example device = \"gate-0007\"",
                        identity == IDENTITY_ABSENT ? "no machine-id"
                                                    : "a machine-id for this boot only");
    if (identity == IDENTITY_ABSENT)
        identity_read_boot(id);
    fingerprint_init(&f);
    fingerprint_text(&f, "rota device name", id);
    fingerprint_final(&f, hex);
    append(d, hex, MACHINE_DIGITS);
}

static bool is_of_device(char letter)
{
    return letter == 'H' || letter == 'm' || letter == 'b';
}

/* False where the letter has no meaning. */
static bool append_special(struct device *d, char letter)
{
    if (is_of_device(letter) && d->r->root[0] != '\0') {
        d->open = true;
        return true;
    }
    switch (letter) {
    case 'H':
        append_host(d);
        return true;
    case 'm':
        append_machine(d);
        return true;
    case 'b':
        append_boot(d);
        return true;
    case '%':
        append(d, "%", 1);
        return true;
    default:
        return false;
    }
}

static bool is_printable(const char *name)
{
    for (; *name; name++)
        if (*name <= ' ' || *name >= 0x7f)
            return false;
    return true;
}

static void check(struct device *d)
{
    if (d->cut || (d->length == 0 && !d->open) || d->length > DEVICE_NAME_MAX)
        reading_problem(d->r, PROBLEM_ERROR, d->line, "device is '%s'; a name has 1 to %d bytes",
                        d->open ? d->r->config->device : d->text, DEVICE_NAME_MAX);
    else if (!is_printable(d->text))
        reading_problem(
            d->r, PROBLEM_ERROR, d->line,
            "device holds a space or a character beyond ASCII; use letters, digits and signs");
}

static void expand(struct device *d, const char *template)
{
    for (const char *p = template; *p; p++) {
        if (*p != '%') {
            append(d, p, 1);
        } else if (append_special(d, p[1])) {
            p++;
        } else {
            reading_problem(
                d->r, PROBLEM_ERROR, d->line,
                "device has a %% without meaning; write %%H (host), %%m (machine), %%b (boot) or "
                "%%%%");
            return;
        }
    }
    check(d);
}

/* Takes another name for the present one. */
static void set_name(struct reading *r, const char *name)
{
    free(r->config->device);
    r->config->device = reading_copy(r, name);
}

static void settle_template(struct reading *r, int line)
{
    struct config *c = r->config;
    struct device d = { .r = r, .line = line };

    if (!c->device)
        return;
    if (line > 0)
        c->device_written = reading_copy(r, c->device);
    expand(&d, c->device);
    c->device_open = d.open;
    if (!d.open)
        set_name(r, d.text);
}

/* The first line, without spaces around it. */
static char *first_line(char *text)
{
    char *start = text + strspn(text, " \t"), *end = start + strcspn(start, "\r\n");

    while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
    return start;
}

static void take_line(struct reading *r, int line, struct trust_text *file)
{
    const char *path = r->config->device_file, *nul = memchr(file->text, '\0', file->size);
    const char *name = first_line(file->text);

    if (nul)
        reading_problem(r, PROBLEM_ERROR, line,
                        "device_file '%s' is no text: its byte %zu is a NUL; write the device's "
                        "name there, and the end of the line",
                        path, (size_t)(nul - file->text) + 1);
    else if (name[0] == '\0')
        reading_problem(r, PROBLEM_ERROR, line,
                        "device_file '%s' has an empty first line; write the device's name there",
                        path);
    else if (strlen(name) > DEVICE_NAME_MAX)
        reading_problem(r, PROBLEM_ERROR, line,
                        "device_file '%s' has a first line of %zu bytes; a name has 1 to %d", path,
                        strlen(name), DEVICE_NAME_MAX);
    else if (!is_printable(name))
        reading_problem(r, PROBLEM_ERROR, line,
                        "device_file '%s' holds a space or a character beyond ASCII in its first "
                        "line; use letters, digits and signs",
                        path);
    else
        set_name(r, name);
}

/* In a tree the file may be absent: it is written when the device is set up. */
static void settle_file(struct reading *r, int line)
{
    struct config *c = r->config;
    CLEANUP_FREE char *path = reading_path(r, c->device_file);
    struct trust_text file = { 0 };
    char why[TRUST_WHY_SIZE];
    int error;

    set_name(r, "unknown");
    if (!path)
        return;
    error = trust_read(path, &(struct trust_rule){ r->root, FILE_BYTES_MAX, TRUST_ANYBODY }, &file,
                       why);
    if (error == -ENOMEM)
        r->no_memory = true;
    else if (error == -ENOENT && r->root[0] != '\0')
        c->device_open = true;
    else if (error == -ENOENT)
        reading_problem(r, PROBLEM_ERROR, line,
                        "device_file is \"%s\", and there is no such file; write this device's "
                        "name into it",
                        c->device_file);
    else if (error < 0)
        reading_problem(r, PROBLEM_ERROR, line, "device_file '%s' is not used: %s", c->device_file,
                        why);
    else
        take_line(r, line, &file);
    free(file.text);
}

void device_settle(struct reading *r, const struct device_lines *lines)
{
    if (lines->device_file > 0 && lines->device > 0)
        reading_problem(r, PROBLEM_ERROR, lines->device_file,
                        "device and device_file are both written; keep one of them");
    if (r->config->device_file)
        settle_file(r, lines->device_file);
    else
        settle_template(r, lines->device);
}

/* One star at a time can be undone: a later one makes all before it final. */
static bool matches(const char *pattern, const char *name)
{
    const char *star = NULL, *star_name = NULL;

    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            star_name = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            name = ++star_name;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

bool device_is_meant(char *const *patterns, const char *name)
{
    if (!patterns || !name)
        return true;
    for (; *patterns; patterns++)
        if (matches(*patterns, name))
            return true;
    return false;
}
