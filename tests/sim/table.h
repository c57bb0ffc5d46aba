/* SPDX-License-Identifier: MIT
 * sim/table.h: what a turn costs a fleet, by its size: how many commands, how late the start, and
 * how many takeovers come too late. */
#ifndef ROTA_SIM_TABLE_H
#define ROTA_SIM_TABLE_H
#include <stdbool.h>
#include <stdint.h>

/* Prints the table as Markdown, by `turns` turns of each size; docs/turns.md holds it. False where
 * a turn costs more than 20 commands on average, or 80 with the size wrong by a factor of four. */
bool table_print(uint64_t seed, unsigned turns);
#endif
