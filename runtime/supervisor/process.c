/* SPDX-License-Identifier: MIT */
#include "supervisor/process.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Where the guard finds its socket (DESIGN section 3). */
#define GUARD_SOCKET 3

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The order matters: the socket first, since our end may have any number, also below 3. */
static int add_guard_files(posix_spawn_file_actions_t *files, int socket)
{
    int r = posix_spawn_file_actions_adddup2(files, socket, GUARD_SOCKET);

    if (r == 0)
        r = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(files, STDERR_FILENO, STDOUT_FILENO);
    /* On itself, so that it is kept even where it was close-on-exec. */
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(files, STDERR_FILENO, STDERR_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(files, GUARD_SOCKET + 1);
    return -r;
}

/* A session of its own: Ctrl-C at rotad's terminal is rotad's to handle, not the guard's. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    int r;

    sigfillset(&all);
    sigemptyset(&none);
    r = posix_spawnattr_setsigdefault(attributes, &all);
    if (r == 0)
        r = posix_spawnattr_setsigmask(attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                     POSIX_SPAWN_SETSID);
    return -r;
}

#define CREDENTIALS "CREDENTIALS_DIRECTORY"

/* Only what a program needs to be found and to print: no NOTIFY_SOCKET, no LD_*; and only rotad
 * itself, program NULL, finds the credentials. */
static int spawn_with(const char *program, char *const argv[],
                      const posix_spawn_file_actions_t *files, const posix_spawnattr_t *attributes,
                      pid_t *ret_pid)
{
    CLEANUP_FREE char *path = NULL, *lang = NULL, *credentials = NULL;
    const char *our_path = getenv("PATH"), *our_lang = getenv("LANG");
    const char *ours = program ? NULL : getenv(CREDENTIALS);

    path = text_print("PATH=%s", our_path && *our_path ? our_path : PATH_DEFAULT);
    lang = text_print("LANG=%s", our_lang && *our_lang ? our_lang : "C.UTF-8");
    if (ours)
        credentials = text_print(CREDENTIALS "=%s", ours);
    if (!path || !lang || (ours && !credentials))
        return -ENOMEM;
    return -posix_spawn(ret_pid, program ? program : "/proc/self/exe", files, attributes, argv,
                        (char *const[]){ path, lang, credentials, NULL });
}

/* add() says which descriptors the program gets; theirs is handed to it. program NULL: rotad. */
static int spawn(const char *program, char *const argv[],
                 int (*add)(posix_spawn_file_actions_t *files, int theirs), int theirs,
                 pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int r = -posix_spawn_file_actions_init(&files);

    if (r < 0)
        return r;
    r = -posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = set_attributes(&attributes);
        if (r == 0)
            r = add(&files, theirs);
        if (r == 0)
            r = spawn_with(program, argv, &files, &attributes, ret_pid);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return r;
}

int process_spawn_guard(const char *guard_path, const char *mode, const char *name, int *ret_fd,
                        pid_t *ret_pid)
{
    /* argv's strings are not const in C, and posix_spawn does not write to them. */
    char *const argv[] = { (char[]){ "rota-guard" }, (char *)(uintptr_t)mode,
                           (char *)(uintptr_t)name, NULL };
    CLEANUP_CLOSE int ours = -1, theirs = -1;
    int pair[2], r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    ours = pair[0];
    theirs = pair[1];
    r = spawn(guard_path, argv, add_guard_files, theirs, ret_pid);
    if (r == 0)
        *ret_fd = cleanup_take_fd(&ours);
    return r;
}

static int add_check_files(posix_spawn_file_actions_t *files, int words)
{
    int r = posix_spawn_file_actions_adddup2(files, words, STDERR_FILENO);

    if (r == 0)
        r = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
    return -r;
}

static int add_resolver_files(posix_spawn_file_actions_t *files, int answer)
{
    int r = posix_spawn_file_actions_adddup2(files, answer, STDOUT_FILENO);

    if (r == 0)
        r = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
    return -r;
}

/* This same program, with the writing end of a pipe for `add`. */
static int spawn_self(char *const argv[], int (*add)(posix_spawn_file_actions_t *files, int theirs),
                      int *ret_fd, pid_t *ret_pid)
{
    CLEANUP_CLOSE int ours = -1, theirs = -1;
    int ends[2], r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    ours = ends[0];
    theirs = ends[1];
    if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    r = spawn(NULL, argv, add, theirs, ret_pid);
    if (r == 0)
        *ret_fd = cleanup_take_fd(&ours);
    return r;
}

int process_spawn_check(const char *config_file, const char *device, int *ret_fd, pid_t *ret_pid)
{
    /* argv's strings are not const in C, and posix_spawn does not write to them. */
    char file_option[] = "-c", device_option[] = "--device";
    char *argv[7] = { (char[]){ "rotad" }, (char[]){ "--check" } };
    size_t count = 2;

    if (config_file) {
        argv[count++] = file_option;
        argv[count++] = (char *)(uintptr_t)config_file;
    }
    if (device) {
        argv[count++] = device_option;
        argv[count++] = (char *)(uintptr_t)device;
    }
    return spawn_self(argv, add_check_files, ret_fd, ret_pid);
}

int process_spawn_resolver(const char *host, uint16_t port, int *ret_fd, pid_t *ret_pid)
{
    char number[8];
    char *const argv[] = { (char[]){ "rotad" }, (char[]){ "--resolve" }, (char *)(uintptr_t)host,
                           number, NULL };

    text_format(number, sizeof number, "%u", port);
    return spawn_self(argv, add_resolver_files, ret_fd, ret_pid);
}

/* Cuts the last component off: "/a/b" becomes "/a". */
static void cut_name(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash)
        *slash = '\0';
}

static bool is_installed(const char *folder)
{
    char installed[PATH_MAX];

    return strcmp(folder, ROTA_SBINDIR) == 0 ||
           (realpath(ROTA_SBINDIR, installed) && strcmp(folder, installed) == 0);
}

/* What belongs to a rotad: as installed; in a build folder, or in a tree that was installed below
 * another root, seen from the folder above rotad's. */
struct part {
    const char *installed, *built, *below;
};

/* A rotad elsewhere is one of a build folder, or of a tree below another root: the part beside it
 * is the one that belongs to it. */
static void find_beside(const char *folder, const struct part *part, char found[PATH_MAX])
{
    if (text_format(found, PATH_MAX, "%s/%s", folder, part->below) && access(found, F_OK) == 0)
        return;
    text_format(found, PATH_MAX, "%s/%s", folder, part->built);
}

static const char *find_part(const struct part *part, char found[PATH_MAX])
{
    char exe[PATH_MAX];
    ssize_t n;

    if (found[0])
        return found;
    text_copy(found, PATH_MAX, part->installed);
    n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (n <= 0)
        return found;
    exe[n] = '\0';
    cut_name(exe);
    if (is_installed(exe))
        return found;
    cut_name(exe);
    find_beside(exe, part, found);
    return found;
}

const char *process_guard_path(void)
{
    static const struct part guard = { ROTA_LIBEXECDIR "/rota-guard", "guard/rota-guard",
                                       "libexec/rota-guard" };
    static char found[PATH_MAX];

    return find_part(&guard, found);
}

const char *process_check_path(void)
{
    static const struct part module = { ROTA_PLUGINDIR "/librota-check.so",
                                        "supervisor/librota-check.so",
                                        "lib/rota/librota-check.so" };
    static char found[PATH_MAX];

    return find_part(&module, found);
}

const char *process_control_path(void)
{
    static const struct part module = { ROTA_PLUGINDIR "/librota-control.so",
                                        "supervisor/librota-control.so",
                                        "lib/rota/librota-control.so" };
    static char found[PATH_MAX];

    return find_part(&module, found);
}

const char *process_local_path(void)
{
    static const struct part module = { ROTA_PLUGINDIR "/librota-local.so",
                                        "supervisor/librota-local.so",
                                        "lib/rota/librota-local.so" };
    static char found[PATH_MAX];

    return find_part(&module, found);
}

const char *process_topology_path(void)
{
    static const struct part module = { ROTA_PLUGINDIR "/librota-topology.so",
                                        "supervisor/librota-topology.so",
                                        "lib/rota/librota-topology.so" };
    static char found[PATH_MAX];

    return find_part(&module, found);
}

const char *process_tls_path(void)
{
    static const struct part module = { ROTA_PLUGINDIR "/librota-tls.so", "tls/librota-tls.so",
                                        "lib/rota/librota-tls.so" };
    static char found[PATH_MAX];

    return find_part(&module, found);
}
