/* SPDX-License-Identifier: MIT
 * support/folder.h: the end of a test's own folder. */
#ifndef ROTA_TESTS_FOLDER_H
#define ROTA_TESTS_FOLDER_H
#include <ftw.h>
#include <stdio.h>

static inline int folder_remove_entry(const char *path, const struct stat *st, int type,
                                      struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* With all that is in it; links are not followed. 0; else what could not be removed is left. */
static inline int folder_remove(const char *folder)
{
    return nftw(folder, folder_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
#endif
