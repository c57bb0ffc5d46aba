/* SPDX-License-Identifier: MIT
 * base/limits.h: what a job's processes may use, as the configuration says it and the guard keeps
 * it. */
#ifndef ROTA_BASE_LIMITS_H
#define ROTA_BASE_LIMITS_H
#include <stdint.h>

struct limits {
    int64_t memory_bytes;    /* of the whole tree, or where that cannot be, of each process; 0: no
                                limit */
    int64_t cpu_time_ms;     /* of each process; 0: no limit */
    int64_t open_files;      /* of each process; 0: as it is */
    int64_t processes;       /* of the whole tree, or where that cannot be, of the user; 0: no
                                limit */
    int64_t file_size_bytes; /* the greatest file that may be written; -1: no limit */
    int64_t core_bytes;      /* the greatest core dump */
};

/* Nothing is limited, and no core is dumped. */
#define LIMITS_NONE                                                                                \
    {                                                                                              \
        .file_size_bytes = -1                                                                      \
    }
#endif
