/* SPDX-License-Identifier: MIT
 * supervisor/control_gate.h: what of a client's bytes sd-bus gets to see.
 *
 * sd-bus takes messages of up to 128 MiB, and reads one as fast as it comes. The gate follows the
 * same bytes, and refuses a message by what its header says of its size, before any of it is passed
 * on. It looks at nothing else: what the bytes mean is sd-bus's affair. Pure.
 *
 * It sees the greeting's end wherever sd-bus does, but also where sd-bus goes on with the greeting:
 * behind a line that ends in \n alone, or where it refuses the client. Then the two are no longer
 * of one mind, so who uses it passes nothing of what follows before sd-bus is ready for messages.
 */
#ifndef ROTA_SUPERVISOR_CONTROL_GATE_H
#define ROTA_SUPERVISOR_CONTROL_GATE_H
#include <stddef.h>
#include <stdint.h>

/* What a client says before its first message, and a message, at most. */
#define CONTROL_GREETING_MAX_BYTES 512
#define CONTROL_MESSAGE_MAX_BYTES 8192

#define CONTROL_HEADER_BYTES 16

enum control_gate_state { CONTROL_GATE_GREETING, CONTROL_GATE_HEADER, CONTROL_GATE_BODY };

/* Zeroed: a client that has said nothing yet. */
struct control_gate {
    enum control_gate_state state;
    uint32_t count;   /* GREETING: bytes so far; HEADER: of it; BODY: bytes to come */
    uint32_t matched; /* GREETING: bytes of this line, as long as it may be the last one */
    uint8_t header[CONTROL_HEADER_BYTES];
};

/* The client's next bytes. 0; -EBADMSG: this is no D-Bus; -EMSGSIZE: more than the limits above.
 * After an error the client is to be dropped, with these bytes. */
int control_gate_pass(struct control_gate *g, const uint8_t *bytes, size_t count);
#endif
