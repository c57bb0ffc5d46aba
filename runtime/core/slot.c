/* SPDX-License-Identifier: MIT */
#include "core/slot.h"
#include "core/hash_tag.h"
#include <string.h>

#define CRC16_POLYNOMIAL 0x1021

/* Bit by bit: it is asked for once a job. */
static uint16_t crc16(const char *text, size_t length)
{
    unsigned crc = 0;

    for (size_t i = 0; i < length; i++) {
        crc ^= (unsigned)(unsigned char)text[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? crc << 1 ^ CRC16_POLYNOMIAL : crc << 1;
    }
    return (uint16_t)crc;
}

uint16_t slot_of_key(const char *key)
{
    const char *tag = key;
    size_t length = hash_tag(key, &tag);

    return crc16(tag, length > 0 ? length : strlen(tag)) % SLOT_COUNT;
}

uint16_t slot_of_job(const struct job_spec *spec)
{
    return slot_of_key(spec->lock_key ? spec->lock_key : spec->key);
}
