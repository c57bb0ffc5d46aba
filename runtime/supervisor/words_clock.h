/* SPDX-License-Identifier: MIT
 * supervisor/words_clock.h: every sentence about clocks. */
#ifndef ROTA_SUPERVISOR_WORDS_CLOCK_H
#define ROTA_SUPERVISOR_WORDS_CLOCK_H
#include "core/device_clock.h"
#include <stddef.h>

/* Fleet time has moved at once: Redis's clock, or this device's own. */
void words_clock_jump(int64_t moved_ms, bool own);
/* News of the device's own clock. */
void words_clock_news(const struct device_clock *c, enum device_clock_news news, struct boot now);
/* What is wrong with a clock that is doubted, as the part of a sentence. Returns buf. */
const char *words_clock_doubt(const struct device_clock *c, char *buf, size_t size);
#endif
