/* SPDX-License-Identifier: MIT
 * What a client of the control socket sends: it is judged the same however it is cut, and of a
 * message that is larger than the limit, none of what follows its header is let in. */
#include "fuzz.h"
#include "supervisor/control_gate.h"
#include <errno.h>

static void check(const struct control_gate *g, int rc)
{
    assert(rc == 0 || rc == -EBADMSG || rc == -EMSGSIZE);
    if (rc < 0)
        return;
    if (g->state == CONTROL_GATE_GREETING)
        assert(g->count <= CONTROL_GREETING_MAX_BYTES);
    else if (g->state == CONTROL_GATE_HEADER)
        assert(g->count < CONTROL_HEADER_BYTES);
    else
        assert(g->count > 0 && g->count <= CONTROL_MESSAGE_MAX_BYTES - CONTROL_HEADER_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct control_gate whole = { .state = CONTROL_GATE_GREETING }, cut = whole;
    int rc = control_gate_pass(&whole, data, size), cut_rc = 0;

    check(&whole, rc);
    for (size_t i = 0; i < size && cut_rc == 0; i++) {
        cut_rc = control_gate_pass(&cut, data + i, 1);
        check(&cut, cut_rc);
    }
    assert(rc == cut_rc);
    assert(rc < 0 || (whole.state == cut.state && whole.count == cut.count));
    return 0;
}
