/* SPDX-License-Identifier: MIT */
#include "supervisor/machine.h"
#include "base/text.h"

void machine_read(const char *device, struct machine *ret_machine)
{
    struct machine *m = ret_machine;
    char id[IDENTITY_SIZE], hex[FINGERPRINT_SIZE];
    struct fingerprint f;

    identity_read_boot(m->boot);
    if (m->boot[0] == '\0')
        text_copy(m->boot, sizeof m->boot, "-");
    if (identity_read("/etc", id) != IDENTITY_STAYS) {
        text_copy(m->name, sizeof m->name, device);
        return;
    }
    /* Not the id itself, which is nobody else's to know (machine-id(5)). */
    fingerprint_init(&f);
    fingerprint_text(&f, "rota machine", id);
    fingerprint_final(&f, hex);
    text_format(m->name, sizeof m->name, "%s:%s", device, hex);
}
