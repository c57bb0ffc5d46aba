/* SPDX-License-Identifier: MIT */
#include "supervisor/control_gate.h"
#include <errno.h>
#include <string.h>

static const char greeting_end[] = "BEGIN\r\n";
#define GREETING_END_BYTES (sizeof greeting_end - 1)
/* This line is another. */
#define NO_MATCH (GREETING_END_BYTES + 1)

/* The first byte is 0, then lines come; after the line BEGIN, messages. */
static int pass_greeting(struct control_gate *g, uint8_t byte)
{
    if (g->count++ == 0)
        return byte == 0 ? 0 : -EBADMSG;
    if (g->count > CONTROL_GREETING_MAX_BYTES)
        return -EMSGSIZE;
    if (g->matched < GREETING_END_BYTES && byte == (uint8_t)greeting_end[g->matched])
        g->matched++;
    else
        g->matched = NO_MATCH;
    if (byte != '\n')
        return 0;
    if (g->matched == GREETING_END_BYTES) {
        g->state = CONTROL_GATE_HEADER;
        g->count = 0;
    }
    g->matched = 0;
    return 0;
}

/* D-Bus specification, "Message Format": byte order, type, flags, version, length of the body,
 * serial, length of the fields, which are padded to 8 bytes. Who speaks on this machine has its
 * byte order. */
static int pass_header(struct control_gate *g, uint8_t byte)
{
    uint32_t body, fields;
    uint64_t rest;

    g->header[g->count++] = byte;
    if (g->count < CONTROL_HEADER_BYTES)
        return 0;
    if (g->header[0] != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 'B' : 'l'))
        return -EBADMSG;
    memcpy(&body, g->header + 4, sizeof body);
    memcpy(&fields, g->header + 12, sizeof fields);
    rest = (((uint64_t)fields + 7) & ~(uint64_t)7) + body;
    if (rest > CONTROL_MESSAGE_MAX_BYTES - CONTROL_HEADER_BYTES)
        return -EMSGSIZE;
    g->count = (uint32_t)rest;
    if (rest > 0)
        g->state = CONTROL_GATE_BODY;
    return 0;
}

static int pass_byte(struct control_gate *g, uint8_t byte)
{
    if (g->state == CONTROL_GATE_GREETING)
        return pass_greeting(g, byte);
    if (g->state == CONTROL_GATE_HEADER)
        return pass_header(g, byte);
    g->count--;
    if (g->count == 0)
        g->state = CONTROL_GATE_HEADER;
    return 0;
}

int control_gate_pass(struct control_gate *g, const uint8_t *bytes, size_t count)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc >= 0; i++)
        rc = pass_byte(g, bytes[i]);
    return rc;
}
