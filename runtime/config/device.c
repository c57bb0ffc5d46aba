/* SPDX-License-Identifier: MIT */
#include "config/device.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "core/fingerprint.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define MACHINE_ID "/etc/machine-id"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define MACHINE_DIGITS 4
#define BOOT_DIGITS 8

struct device {
    struct reading *r;
    int line;
    char text[256]; /* longer than any name may be, so that a long one is seen and said */
    size_t length;
    bool cut;
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

/* An id's digits, of at least `least`, into buf; false where the file is absent or holds none. */
static bool read_id(const char *path, size_t least, char *buf, size_t size)
{
    FILE *f = fopen(path, "re");
    bool got = f && fgets(buf, (int)size, f);
    size_t digits;

    if (f)
        fclose(f);
    if (!got)
        return false;
    digits = strspn(buf, "0123456789abcdef");
    buf[digits] = '\0';
    return digits >= least;
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
    char id[64];

    if (read_id(BOOT_ID, BOOT_DIGITS, id, sizeof(id)))
        append(d, id, BOOT_DIGITS);
}

static void append_machine(struct device *d)
{
    CLEANUP_FREE char *path = reading_path(d->r, MACHINE_ID);
    char id[64] = "", hex[FINGERPRINT_SIZE];
    struct fingerprint f;

    if (!path)
        return;
    if (!read_id(path, 32, id, sizeof(id))) {
        reading_problem(d->r, PROBLEM_WARNING, d->line,
                        "%s holds no machine-id, so that this device's name changes at each boot; "
                        "write for example "
                        "device = \"gate-0007\"",
                        path);
        if (!read_id(BOOT_ID, BOOT_DIGITS, id, sizeof(id)))
            return;
    }
    fingerprint_init(&f);
    fingerprint_text(&f, "rota device name", id);
    fingerprint_final(&f, hex);
    append(d, hex, MACHINE_DIGITS);
}

/* False where the letter has no meaning. */
static bool append_special(struct device *d, char letter)
{
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

static void check(struct device *d)
{
    if (d->cut || d->length == 0 || d->length > DEVICE_NAME_MAX) {
        reading_problem(d->r, PROBLEM_ERROR, d->line, "device is '%s'; a name has 1 to %d bytes",
                        d->text, DEVICE_NAME_MAX);
        return;
    }
    for (const char *p = d->text; *p; p++)
        if (*p <= ' ' || *p >= 0x7f) {
            reading_problem(
                d->r, PROBLEM_ERROR, d->line,
                "device holds a space or a character beyond ASCII; use letters, digits and signs");
            return;
        }
}

void device_expand(struct reading *r, int line)
{
    struct device d = { .r = r, .line = line };
    const char *template = r->config->device;

    for (const char *p = template; p && *p; p++) {
        if (*p != '%') {
            append(&d, p, 1);
        } else if (append_special(&d, p[1])) {
            p++;
        } else {
            reading_problem(r, PROBLEM_ERROR, line,
                            "device has a %% without meaning; write %%H, %%m, %%b or %%%%");
            return;
        }
    }
    check(&d);
    if (line > 0)
        r->config->device_written = reading_copy(r, template);
    free(r->config->device);
    r->config->device = reading_copy(r, d.text);
}
