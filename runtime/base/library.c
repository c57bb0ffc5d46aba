/* SPDX-License-Identifier: MIT */
#include "base/library.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In a folder, what the loader knows the file by: a slash keeps it from searching elsewhere. Not
 * "/proc/self/fd/N/...": $ORIGIN would be that, also for what is loaded later, when N is closed, or
 * another folder. Of a relative name the loader makes $ORIGIN with the working directory's path. */
#define HERE "./"

static void take_error(const char *path, const char *name, char why[LIBRARY_WHY_SIZE])
{
    const char *error = dlerror(), *rest = error ? error : "", *at = strstr(rest, name);

    text_format(why, LIBRARY_WHY_SIZE, "%.*s%s%s", at ? (int)(at - rest) : 0, rest, at ? path : "",
                at ? at + strlen(name) : rest);
}

/* Debuggers, backtraces and the file's own dladdr() are to find it. The former text stays: the
 * loader has made it, and may have it elsewhere too. */
static void tell_path(void *handle, const char *name, const char *path)
{
    struct link_map *map;
    char *copy;

    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) < 0 || strcmp(map->l_name, name) != 0)
        return;
    copy = strdup(path);
    if (copy)
        map->l_name = copy;
}

static void *load(const char *path, const char *name, char why[LIBRARY_WHY_SIZE])
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (!handle)
        take_error(path, name, why);
    return handle;
}

/* `back`: the working directory. NULL: `why`. */
static void *load_in_folder(const struct trust_place *place, int back, char why[LIBRARY_WHY_SIZE])
{
    char name[sizeof(HERE) + NAME_MAX] = HERE;
    void *handle;

    text_copy(name + strlen(HERE), sizeof(name) - strlen(HERE), trust_name(place));
    if (fchdir(place->folder) == 0) {
        handle = load(place->path, name, why);
        if (handle)
            tell_path(handle, name, place->path);
        if (fchdir(back) == 0)
            return handle;
    }
    text_format(why, LIBRARY_WHY_SIZE, "the way to the folder of %s and back is closed: %s",
                place->path, strerror(errno));
    return NULL;
}

int library_open(const struct trust_place *place, void **ret_handle, char why[LIBRARY_WHY_SIZE])
{
    CLEANUP_CLOSE int back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool in_folder = place->folder >= 0 && back >= 0;
    void *handle =
        in_folder ? load_in_folder(place, back, why) : load(place->path, place->path, why);

    if (!handle)
        return -ENOEXEC;
    *ret_handle = handle;
    return 0;
}

/* Of a file that is cut off the loader touches what is not there, which ends this process. A whole
 * one ends with the table of its sections. */
static bool is_whole(int fd)
{
    ElfW(Ehdr) head;
    struct stat st;

    return read(fd, &head, sizeof(head)) != sizeof(head) || fstat(fd, &st) < 0 ||
           (uint64_t)st.st_size >= head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
}

static int check_module(const struct trust_place *place, char why[LIBRARY_WHY_SIZE])
{
    CLEANUP_CLOSE int fd = -1;
    int r = trust_open(place, &fd, why);

    if (r == -EBADF)
        text_format(why, LIBRARY_WHY_SIZE, "'%s' is no regular file", place->path);
    if (r < 0 || is_whole(fd))
        return r;
    text_format(why, LIBRARY_WHY_SIZE, "'%s' is not whole", place->path);
    return -ENOEXEC;
}

int library_load(const char *path, void **ret_handle, char why[LIBRARY_WHY_SIZE])
{
    struct trust_place place = { 0 };
    int r;

    why[0] = '\0';
    r = trust_walk("", path, &place, why);
    if (r == 0)
        r = check_module(&place, why);
    if (r == 0)
        r = library_open(&place, ret_handle, why);
    trust_done(&place);
    if (r < 0 && why[0] == '\0')
        text_format(why, LIBRARY_WHY_SIZE, "%s: %s", path, strerror(-r));
    return r;
}
