/* SPDX-License-Identifier: MIT
 * config/rooted.h: paths of another device, whose tree lies below a folder of this machine. */
#ifndef ROTA_CONFIG_ROOTED_H
#define ROTA_CONFIG_ROOTED_H

/* Where the device's `path` lies here: `root` and a path without links, since each link, absolute
 * or upward, is followed inside `root`. What is not there is kept as it is written. 0 and a heap
 * string; -ENOMEM; -ELOOP; -ENAMETOOLONG. */
int rooted_resolve(const char *root, const char *path, char **ret_path);
#endif
