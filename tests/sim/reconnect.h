/* SPDX-License-Identifier: MIT
 * sim/reconnect.h: Redis is gone for some minutes, in which every job falls due, and comes back to
 * a large fleet (S16). */
#ifndef ROTA_SIM_RECONNECT_H
#define ROTA_SIM_RECONNECT_H
#include <stdbool.h>
#include <stdint.h>

/* Plays it twice: a few devices ask for each turn, and all do. Says what happened; false where they
 * came back in a heap, or not all of them, or where a job was silent or cost too many commands. All
 * the time of all the devices is put into *ret_device_ms, in any case. */
bool reconnect_play(uint64_t seed, unsigned devices, int64_t *ret_device_ms);
#endif
