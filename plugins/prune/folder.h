/* SPDX-License-Identifier: MIT
 * folder.h: the folder that is pruned. */
#ifndef PRUNE_FOLDER_H
#define PRUNE_FOLDER_H

/* Its descriptor, or -errno. A link on the way to it or to itself is resolved, once and here;
 * -EPERM where one belongs to neither root nor this process's user; -ESTALE where the path led
 * elsewhere meanwhile. `mode`: O_RDONLY or O_PATH. */
int folder_open(const char *path, int mode);
/* Such an error (positive), for people. */
const char *folder_say(int error);

/* Why the operator cannot mean that folder ("is ..."), or NULL. */
const char *folder_why_not(int fd);
#endif
