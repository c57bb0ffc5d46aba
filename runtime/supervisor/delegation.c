/* SPDX-License-Identifier: MIT */
#include "supervisor/delegation.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The group that rotad itself lives in; no job has such a name. */
#define OWN_GROUP "_supervisor"
/* Of a group's path: what is longer is not ours. Small, since the stack's pages stay with the
 * process. */
#define FOLDER_SIZE 1024
#define CONTROLLER_SIZE 32
#define CPU "+cpu "

/* The path of this process in the one hierarchy of version 2: "0::/path". */
static bool read_own_path(const char *file, char path[FOLDER_SIZE])
{
    CLEANUP_FCLOSE FILE *in = fopen(file, "re");
    char line[FOLDER_SIZE];

    while (in && fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) == 0)
            return text_copy(path, FOLDER_SIZE, line + 3);
    }
    return false;
}

/* systemd marks what it has given away; for root every folder is writable. */
static bool is_delegated(const char *folder)
{
    static const char *const marks[] = { "user.delegate", "trusted.delegate" };
    char value;

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (getxattr(folder, marks[i], &value, 1) == 1 && value == '1')
            return access(folder, W_OK) == 0;
    return false;
}

/* systemd itself may have put us into `_supervisor` (DelegateSubgroup=): then the folder is the one
 * above. */
static bool is_ours(char folder[FOLDER_SIZE])
{
    if (is_delegated(folder))
        return true;
    if (!text_ends_with(folder, "/" OWN_GROUP))
        return false;
    folder[strlen(folder) - strlen("/" OWN_GROUP)] = '\0';
    return is_delegated(folder);
}

/* Where a system has groups of version 1 too, those of version 2 are one level down. */
static bool find_delegated(const struct delegation_source *source, char folder[FOLDER_SIZE])
{
    static const char *const places[] = { "", "/unified" };
    char path[FOLDER_SIZE];

    if (!read_own_path(source->cgroup, path))
        return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (text_format(folder, FOLDER_SIZE, "%s%s%s", source->mounts, places[i], path) &&
            is_ours(folder))
            return true;
    return false;
}

/* `name` in the folder; "" where that is too long. */
static const char *join(const char *folder, const char *name, char path[FOLDER_SIZE])
{
    return text_format(path, FOLDER_SIZE, "%s/%s", folder, name) ? path : "";
}

/* One write, as the kernel wants it. */
static int write_file(const char *folder, const char *name, const char *text)
{
    char path[FOLDER_SIZE];
    CLEANUP_CLOSE int fd = open(join(folder, name, path), O_WRONLY | O_CLOEXEC);

    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int move_self(const char *folder)
{
    char path[FOLDER_SIZE];

    if (mkdir(join(folder, OWN_GROUP, path), 0755) < 0 && errno != EEXIST)
        return -errno;
    return write_file(folder, OWN_GROUP "/cgroup.procs", "0");
}

/* Enables those that there are; whether pids is among them. By cpu the groups share the processors
 * as equals, so that no number of processes of a job keeps rotad waiting; no limit needs it, and a
 * kernel may refuse it where something runs in real time. */
static int enable(const char *folder, bool *ret_pids)
{
    char path[FOLDER_SIZE], name[CONTROLLER_SIZE], wanted[sizeof(CPU "+memory +pids")];
    CLEANUP_FCLOSE FILE *in = fopen(join(folder, "cgroup.controllers", path), "re");
    bool cpu = false, memory = false, pids = false;
    int r;

    if (!in)
        return -errno;
    while (fscanf(in, "%31s", name) == 1) {
        cpu = cpu || strcmp(name, "cpu") == 0;
        memory = memory || strcmp(name, "memory") == 0;
        pids = pids || strcmp(name, "pids") == 0;
    }
    text_format(wanted, sizeof(wanted), "%s%s%s", cpu ? CPU : "", memory ? "+memory " : "",
                pids ? "+pids" : "");
    r = write_file(folder, "cgroup.subtree_control", wanted);
    if (r < 0 && cpu)
        r = write_file(folder, "cgroup.subtree_control", wanted + strlen(CPU));
    if (r == 0)
        *ret_pids = pids;
    return r;
}

/* The groups of jobs that an earlier rotad left; one with processes in it stays, by the kernel. */
static void remove_empty(const char *folder)
{
    char path[FOLDER_SIZE];
    DIR *d = opendir(folder);
    const struct dirent *e;

    while (d && (e = readdir(d)))
        if (text_is_job_name(e->d_name))
            (void)rmdir(join(folder, e->d_name, path));
    if (d)
        closedir(d);
}

static int take(const char *folder, struct delegation *d)
{
    int r = move_self(folder);

    if (r < 0)
        return r;
    remove_empty(folder);
    r = enable(folder, &d->counts_processes);
    if (r < 0)
        return r;
    d->folder = strdup(folder);
    return d->folder ? 0 : -ENOMEM;
}

int delegation_take(const struct delegation_source *source, struct delegation *ret_delegation)
{
    struct delegation d = { 0 };
    char folder[FOLDER_SIZE];
    int r = 0;

    if (find_delegated(source, folder))
        r = take(folder, &d);
    if (r == 0)
        *ret_delegation = d;
    return r;
}

void delegation_done(struct delegation *d)
{
    free(d->folder);
    d->folder = NULL;
}
