/* SPDX-License-Identifier: MIT
 * config/pack.h: what a configuration keeps of its jobs, made tight: 1,000 jobs have some 12,000
 * texts, most of them alike, and the allocator's share of each would be more than the texts. */
#ifndef ROTA_CONFIG_PACK_H
#define ROTA_CONFIG_PACK_H
#include "config/config.h"

/* Moves the jobs' texts, each once, and arrays into one block, c->job_block; all but invalid_why,
 * which may still come. From then on none of them may be changed or freed by itself. Once, when all
 * is read. 0, or -ENOMEM and nothing is changed. */
int pack_jobs(struct config *c);
#endif
