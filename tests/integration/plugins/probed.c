/* SPDX-License-Identifier: MIT
 * A plugin whose check() does what its parameter `way` says, for the tests of probing many jobs.
 * NOTE is a file that gets a line each time this one is loaded, THREADED gives it a thread, BREAKS
 * crashes its constructor and leaves a daemon. */
#include <rota/plugin.h>

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int state = 1;
static sem_t asked, answered;

static void note(const char *path, int value)
{
    FILE *out = fopen(path, "a");

    if (out) {
        fprintf(out, "%d\n", value);
        fclose(out);
    }
}

/* Comes back once the child has said who it is; that holds every descriptor that this one has. */
static void leave_child(const char *path, int daemonised)
{
    int ready[2];
    char byte;

    if (pipe(ready) < 0)
        abort();
    if (fork() == 0) {
        if (daemonised)
            setsid();
        note(path, (int)getpid());
        if (write(ready[1], "", 1) == 1)
            for (;;)
                pause();
    }
    if (read(ready[0], &byte, 1) != 1)
        abort();
}

#ifdef THREADED
static void *answer_all(void *unused)
{
    (void)unused;
    for (;;) {
        sem_wait(&asked);
        sem_post(&answered);
    }
}
#endif

__attribute__((constructor)) static void load(void)
{
    note(NOTE, (int)getpid());
#ifdef BREAKS
    leave_child("/dev/null", 1);
    abort();
#endif
#ifdef THREADED
    pthread_t thread;

    sem_init(&asked, 0, 0);
    sem_init(&answered, 0, 0);
    pthread_create(&thread, NULL, answer_all, NULL);
#endif
}

static int check(const struct rota_run *r)
{
    const char *way = rota_string(r, "way"), *path = rota_string(r, "pids");

    if (state != 1)
        return rota_fail(r, ROTA_REFUSED, "its state is %d", state);
    if (strcmp(way, "scribble") == 0)
        state = 2;
    if (strcmp(way, "leave") == 0) {
        leave_child(path, 0);
        leave_child(path, 1);
    }
    if (strcmp(way, "leave and crash") == 0)
        leave_child(path, 1);
    if (strstr(way, "crash"))
        abort();
    if (strcmp(way, "exit") == 0)
        exit(9);
    if (strcmp(way, "kill all") == 0)
        kill(0, SIGKILL);
    if (strcmp(way, "close") == 0)
        close_range(0, ~0u, 0);
    if (strcmp(way, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(way, "thread") == 0) {
        sem_post(&asked);
        sem_wait(&answered);
    }
    return ROTA_SUCCEEDED;
}

static int run(const struct rota_run *r)
{
    (void)r;
    return ROTA_SUCCEEDED;
}

static const struct rota_param params[] = {
    { .name = "way", .type = ROTA_STRING, .flags = ROTA_REQUIRED },
    { .name = "pids", .type = ROTA_STRING, .def = "/dev/null" },
    { .name = NULL },
};
ROTA_PLUGIN(.name = "probed", .version = "1", .summary = "x", .params = params, .run = run,
            .check = check);
