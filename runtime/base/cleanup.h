/* SPDX-License-Identifier: MIT
 * base/cleanup.h: release at the end of a scope. */
#ifndef ROTA_BASE_CLEANUP_H
#define ROTA_BASE_CLEANUP_H
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_p(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_close_p(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_fclose_p(FILE **f)
{
    if (*f)
        fclose(*f);
}

#define CLEANUP_FREE __attribute__((cleanup(cleanup_free_p)))
#define CLEANUP_CLOSE __attribute__((cleanup(cleanup_close_p)))
#define CLEANUP_FCLOSE __attribute__((cleanup(cleanup_fclose_p)))

/* The descriptor, which the variable then no longer owns. */
static inline int cleanup_take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}
#endif
