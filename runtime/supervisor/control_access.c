/* SPDX-License-Identifier: MIT */
#include "supervisor/control_access.h"
#include "base/cleanup.h"
#include "base/user.h"
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of a process that is in more, none of the supplementary ones counts. */
#define GROUPS_MAX 1024

struct groups {
    gid_t ids[GROUPS_MAX + 1]; /* the supplementary ones, then its own */
    size_t count;
};

static void read_groups(int fd, gid_t own, struct groups *ret_groups)
{
    socklen_t size = GROUPS_MAX * sizeof ret_groups->ids[0];

    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, ret_groups->ids, &size) < 0)
        size = 0;
    ret_groups->count = size / sizeof ret_groups->ids[0];
    ret_groups->ids[ret_groups->count++] = own;
}

static enum control_access access_by(const char *group)
{
    if (strcmp(group, CONTROL_CHANGERS) == 0)
        return CONTROL_MAY_CHANGE;
    return strcmp(group, CONTROL_READERS) == 0 ? CONTROL_MAY_READ : CONTROL_NO_ACCESS;
}

static bool is_in(const struct groups *g, gid_t wanted)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->ids[i] == wanted)
            return true;
    return false;
}

/* From the file alone: base/user.h says why. */
static enum control_access access_of(const struct groups *g)
{
    CLEANUP_FCLOSE FILE *file = fopen("/etc/group", "re");
    enum control_access most = CONTROL_NO_ACCESS;
    const struct group *group;

    while (file && (group = fgetgrent(file))) {
        enum control_access access = access_by(group->gr_name);

        if (access > most && is_in(g, group->gr_gid))
            most = access;
    }
    return most;
}

char *control_access_name(uid_t uid, char *buf, size_t size)
{
    struct user user;

    if (user_by_uid(uid, &user) >= 0 && !strchr(user.name, ':'))
        (void)snprintf(buf, size, "%s", user.name);
    else
        (void)snprintf(buf, size, "user %u", (unsigned)uid);
    return buf;
}

enum control_access control_access_of(int fd, uid_t *ret_uid)
{
    static struct groups groups; /* in the one thread: much for a stack */
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return CONTROL_NO_ACCESS;
    *ret_uid = peer.uid;
    if (peer.uid == 0 || peer.uid == geteuid())
        return CONTROL_MAY_CHANGE;
    read_groups(fd, peer.gid, &groups);
    return access_of(&groups);
}
