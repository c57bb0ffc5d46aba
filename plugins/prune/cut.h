/* SPDX-License-Identifier: MIT
 * cut.h: which files are old. All are ordered by time of change, then by inode number; what goes is
 * whatever comes before one key, so that a second walk needs to remember nothing of the first. */
#ifndef PRUNE_CUT_H
#define PRUNE_CUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files that are remembered, the newest, at 24 bytes each. */
#define CUT_FILES_MAX 1000000

struct cut_key {
    int64_t changed_ns; /* of the file's contents, since the epoch */
    uint64_t inode;
};

/* Before every file, and after all. */
#define CUT_NOTHING ((struct cut_key){ INT64_MIN, 0 })
#define CUT_ALL ((struct cut_key){ INT64_MAX, UINT64_MAX })

bool cut_is_before(struct cut_key a, struct cut_key b);

struct cut_file {
    struct cut_key key;
    int64_t bytes;
};

/* The newest files that fit into a limit. Set `files_max` (at most CUT_FILES_MAX) and `bytes_max`,
 * the rest zero. */
struct cut {
    size_t files_max;
    int64_t bytes_max;
    struct cut_file *heap; /* the oldest first */
    size_t count, room;
    int64_t bytes;
    bool left_out; /* some did not fit: */
    struct cut_key newest_out;
};

/* 0 or -ENOMEM. */
int cut_add(struct cut *c, struct cut_file file);

/* Files before this key did not fit. Of equal keys (hard links) either all fit or none. */
struct cut_key cut_at(const struct cut *c);
/* The oldest that fits; CUT_NOTHING where all do. Of equal keys all are kept. */
struct cut_key cut_oldest_kept(const struct cut *c);

void cut_done(struct cut *c);
#endif
