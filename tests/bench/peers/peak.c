/* SPDX-License-Identifier: MIT */
/* FILE COMMAND...: writes the largest RSS, in KiB, of the command and of all that it waited for.
 * Python cannot ask for it: what it starts begins with Python's own memory, and the kernel counts
 * that. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage used;
    int status;
    FILE *file;
    pid_t pid;

    if (argc < 3 || (pid = fork()) < 0)
        return 1;
    if (pid == 0) {
        execv(argv[2], argv + 2);
        _exit(127);
    }
    if (wait4(pid, &status, 0, &used) != pid || !(file = fopen(argv[1], "w")))
        return 1;
    fprintf(file, "%ld\n", used.ru_maxrss);
    return fclose(file) || !WIFEXITED(status) ? 1 : WEXITSTATUS(status);
}
