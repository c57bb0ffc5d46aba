/* SPDX-License-Identifier: MIT
 * name.h: what a service may be called, as systemd.unit(5) has it. */
#ifndef UNIT_NAME_H
#define UNIT_NAME_H
#include <stddef.h>

/* The longest that systemd takes. */
#define NAME_MAX_BYTES 255

/* NULL where NAME.service or NAME@INSTANCE.service it is; else what is wrong and what to write, a
 * sentence part that lies in buf or lives for ever ("has no type; write \"backup.service\""). */
const char *name_why_not(const char *name, char *buf, size_t size);
#endif
