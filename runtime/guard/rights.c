/* SPDX-License-Identifier: MIT */
#include "guard/rights.h"
#include "base/cleanup.h"
#include "base/user.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/landlock.h and asm/unistd.h, whose Debian 12 versions are older than this. The numbers
 * are the same on every architecture. */
#define NR_LANDLOCK_CREATE_RULESET 444
#define NR_LANDLOCK_RESTRICT_SELF 446
#define LANDLOCK_SCOPES_SIGNALS (1U << 1)

/* struct landlock_ruleset_attr from its version 6 on. One that handled file rights would forbid to
 * rename and link across folders. */
struct ruleset {
    uint64_t handled_files, handled_network, scoped;
};

int rights_check_kill(const struct message_setup *setup, const char **ret_why)
{
    if (!setup->switch_user || setup->uid == geteuid() || user_has_right(CAP_KILL))
        return 0;
    *ret_why = "rotad may not kill what another user runs; give it the ambient capability CAP_KILL";
    return -EPERM;
}

int rights_drop(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

    /* The ambient ones go with the permitted. */
    return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

static int set_groups(const struct message_setup *setup)
{
    gid_t *groups = calloc((size_t)setup->group_count + 1, sizeof(*groups));
    int r;

    if (!groups)
        return -ENOMEM;
    groups[0] = setup->gid;
    for (uint32_t i = 0; i < setup->group_count; i++)
        groups[i + 1] = setup->groups[i];
    r = setgroups((size_t)setup->group_count + 1, groups) < 0 ? -errno : 0;
    free(groups);
    return r;
}

int rights_switch_user(const struct message_setup *setup)
{
    uid_t ruid, euid, suid, uid = setup->uid;
    gid_t rgid, egid, sgid, gid = setup->gid;
    int r = set_groups(setup);

    if (r < 0)
        return r;
    if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
        return -errno;
    if (getresuid(&ruid, &euid, &suid) < 0 || getresgid(&rgid, &egid, &sgid) < 0)
        return -errno;
    if (ruid != uid || euid != uid || suid != uid || rgid != gid || egid != gid || sgid != gid)
        return -EPERM;
    return 0;
}

int rights_stay_apart(void)
{
    const struct ruleset rules = { .scoped = LANDLOCK_SCOPES_SIGNALS };
    CLEANUP_CLOSE int fd = (int)syscall(NR_LANDLOCK_CREATE_RULESET, &rules, sizeof(rules), 0);

    /* All other errors are those of a kernel, or of a container's filter, that cannot do it. */
    if (fd < 0)
        return errno == ENOMEM || errno == EMFILE || errno == ENFILE ? -errno : 0;
    return syscall(NR_LANDLOCK_RESTRICT_SELF, fd, 0) < 0 ? -errno : 0;
}
