/* SPDX-License-Identifier: MIT
 * supervisor/process.h: starting rota-guard, with nothing of ours in it. */
#ifndef ROTA_SUPERVISOR_PROCESS_H
#define ROTA_SUPERVISOR_PROCESS_H
#include <stdint.h>
#include <sys/types.h>

/* Starts `guard_path` as "rota-guard MODE [NAME]". mode: "--run" or "--probe"; name: the job's,
 * for ps, or NULL. The child has descriptor 0 = /dev/null, 1 and 2 = our stderr, 3 = its end of
 * a socket pair, and no other; an empty signal mask, default dispositions, and of the
 * environment PATH and LANG only. 0, *ret_fd (SOCK_SEQPACKET, close-on-exec, non-blocking; the
 * caller's) and *ret_pid (a child that the caller reaps); or -errno, where exec's own error is
 * reported too (-ENOENT: no such program). */
int process_spawn_guard(const char *guard_path, const char *mode, const char *name, int *ret_fd,
                        pid_t *ret_pid);

/* Starts this same program as `rotad --check [-c config_file] [--device device]`. *ret_fd is the
 * end of a pipe that its stderr goes to (close-on-exec, non-blocking; the caller's). 0 or -errno.
 */
int process_spawn_check(const char *config_file, const char *device, int *ret_fd, pid_t *ret_pid);

/* Starts this same program as `rotad --resolve host port`. *ret_fd is the end of a pipe that its
 * stdout goes to (close-on-exec, non-blocking; the caller's); it has no other descriptor but
 * /dev/null. 0 or -errno. */
int process_spawn_resolver(const char *host, uint16_t port, int *ret_fd, pid_t *ret_pid);

/* Where rota-guard is: in libexec where this program runs from sbin as installed, else the one
 * of the same build folder. Found once; valid for the life of the process. */
const char *process_guard_path(void);
/* The same for the modules for --check, for the control socket's clients, for turns of this device
 * alone and for TLS, which are installed where the plugins are. */
const char *process_check_path(void);
const char *process_control_path(void);
const char *process_local_path(void);
const char *process_tls_path(void);
const char *process_topology_path(void);
#endif
