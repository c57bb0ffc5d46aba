/* SPDX-License-Identifier: MIT
 * A bad citizen: breaks its own process in the way that its parameter `as` names, after the line
 * "last words". */
#include <rota/plugin.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096

static const struct rota_param params[] = {
    { .name = "as", .type = ROTA_STRING, .flags = ROTA_REQUIRED, .help = "The way." },
    { .name = "text", .type = ROTA_STRING, .def = "", .help = "What some ways read." },
    { .name = "list", .type = ROTA_STRINGS, .def = "[]", .help = "What some ways read." },
    { .name = NULL },
};

static jmp_buf loading;
static volatile int loaded;

/* Its frame is gone by the time that somebody jumps here. */
__attribute__((constructor)) static void remember(void)
{
    if (setjmp(loading) != 0)
        abort();
    loaded = 1;
}

static void hang(void)
{
    for (;;)
        pause();
}

static int as_double_free(const struct rota_run *r)
{
    char *volatile block = malloc(64);

    (void)r;
    free(block);
    free(block);
    return ROTA_SUCCEEDED;
}

/* Over the end of a block, into what the allocator keeps there. */
static int as_overflow(const struct rota_run *r)
{
    char *volatile first = malloc(100000);
    char *volatile second = malloc(100000);

    (void)r;
    for (int i = 0; i < 100100; i++)
        ((volatile char *)first)[i] = 'A';
    free(second);
    free(first);
    return ROTA_SUCCEEDED;
}

static int deeper(volatile char *above)
{
    volatile char here[PAGE_BYTES];

    here[0] = above[0];
    return deeper(here) + here[0];
}

static int as_recursion(const struct rota_run *r)
{
    char first = (char)r->attempt;

    return deeper(&first);
}

static int as_wild_pointer(const struct rota_run *r)
{
    (void)r;
    *(volatile int *)16 = 1;
    return ROTA_SUCCEEDED;
}

static int as_divides(const struct rota_run *r)
{
    volatile int zero = (int)r->attempt - (int)r->attempt;

    (void)!raise(SIGFPE); /* not every processor minds the division */
    return 1 / zero;
}

static int as_writes_constants(const struct rota_run *r)
{
    *(char *)(uintptr_t) "constant" = 'C';
    return rota_is_set(r, "as") ? ROTA_SUCCEEDED : ROTA_FAILED;
}

/* All that the host has told it, and what lies behind that. */
static int as_scribbles_on_host(const struct rota_run *r)
{
    memset((void *)(uintptr_t)r, 0xa5, PAGE_BYTES);
    return ROTA_SUCCEEDED;
}

static int as_aborts(const struct rota_run *r)
{
    (void)r;
    abort();
}

static int as_exits(const struct rota_run *r)
{
    (void)r;
    exit(0);
}

static int as_quick_exits(const struct rota_run *r)
{
    (void)r;
    _exit(ROTA_SUCCEEDED);
}

static void *exit_there(void *unused)
{
    (void)unused;
    exit(0);
}

static int as_thread_exits(const struct rota_run *r)
{
    pthread_t thread;

    (void)r;
    pthread_create(&thread, NULL, exit_there, NULL);
    pthread_join(thread, NULL);
    return ROTA_SUCCEEDED;
}

static void *crash_there(void *run)
{
    as_wild_pointer(run);
    return NULL;
}

static int as_thread_crashes(const struct rota_run *r)
{
    pthread_t thread;

    pthread_create(&thread, NULL, crash_there, (void *)(uintptr_t)r);
    pthread_join(thread, NULL);
    return ROTA_SUCCEEDED;
}

static void *work_on(void *unused)
{
    (void)unused;
    for (;;)
        continue;
}

static int as_leaves_threads(const struct rota_run *r)
{
    pthread_t thread;

    (void)r;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, work_on, NULL);
    return ROTA_SUCCEEDED;
}

/* Its first thread is gone, and with it whoever could come back from run(). */
static int as_ends_its_thread(const struct rota_run *r)
{
    (void)r;
    pthread_exit(NULL);
}

static void block_all(void)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static int as_masks_signals(const struct rota_run *r)
{
    (void)r;
    block_all();
    return ROTA_SUCCEEDED;
}

static int as_masks_and_hangs(const struct rota_run *r)
{
    (void)r;
    block_all();
    hang();
    return ROTA_SUCCEEDED;
}

static int as_handles_all_signals(const struct rota_run *r)
{
    (void)r;
    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_IGN);
    hang();
    return ROTA_SUCCEEDED;
}

static int as_closes_all(const struct rota_run *r)
{
    (void)r;
    close_range(0, ~0u, 0);
    return ROTA_SUCCEEDED;
}

static int as_closes_output(const struct rota_run *r)
{
    close(1);
    close(2);
    puts("to nobody");
    rota_log(r, ROTA_INFO, "a line");
    return ROTA_SUCCEEDED;
}

static int as_jumps(const struct rota_run *r)
{
    (void)r;
    if (loaded)
        longjmp(loading, 1);
    return ROTA_SUCCEEDED;
}

static int as_becomes_another(const struct rota_run *r)
{
    (void)r;
    execl("/bin/true", "true", (char *)NULL);
    return ROTA_FAILED;
}

static int as_rings(const struct rota_run *r)
{
    (void)r;
    alarm(1);
    for (;;)
        if (pause() < 0 && errno != EINTR)
            return ROTA_FAILED;
}

static int as_kills_its_group(const struct rota_run *r)
{
    (void)r;
    kill(0, SIGKILL);
    return ROTA_SUCCEEDED;
}

/* Within a limit of its own, so that it is its process that has none left, and not the machine. */
static int as_fills_memory(const struct rota_run *r)
{
    const struct rlimit room = { .rlim_cur = 256u << 20, .rlim_max = 256u << 20 };
    char *block;

    (void)r;
    setrlimit(RLIMIT_AS, &room);
    while ((block = malloc(1u << 20)))
        memset(block, 1, 1u << 20);
    abort();
}

static long resident_pages(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long all = 0, resident = 0;

    if (f && fscanf(f, "%ld %ld", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident;
}

/* Asks for its parameters until 1 GiB of text has been read: nothing is kept a call. */
static int as_reads_a_gibibyte(const struct rota_run *r)
{
    size_t left = (size_t)1 << 30, round, before_pages;

    before_pages = (size_t)resident_pages();
    while (left > 0) {
        const char *const *list = rota_strings(r, "list");

        for (round = strlen(rota_string(r, "text")); *list; list++)
            round += strlen(*list);
        if (round == 0 || !rota_is_set(r, "text"))
            return rota_fail(r, ROTA_REFUSED, "there is nothing to read");
        left -= round < left ? round : left;
    }
    printf("grown by %ld pages\n", resident_pages() - (long)before_pages);
    return ROTA_SUCCEEDED;
}

/* On from where a parameter's text ends. */
static int as_reads_too_far(const struct rota_run *r)
{
    const volatile char *at = rota_string(r, "text");
    unsigned sum = 0;

    for (size_t i = 0; i < (size_t)1 << 30; i++)
        sum += (unsigned char)at[i];
    return sum ? ROTA_SUCCEEDED : ROTA_NOTHING;
}

static int as_wrong_type(const struct rota_run *r)
{
    return (int)rota_integer(r, "text");
}

static int as_no_type(const struct rota_run *r)
{
    return (int)r->integer(r, "text", 4711);
}

static int as_undeclared(const struct rota_run *r)
{
    return (int)rota_number(r, "nowhere");
}

static int as_no_name(const struct rota_run *r)
{
    return rota_string(r, NULL) != NULL;
}

#define WAY(name)                                                                                  \
    {                                                                                              \
#name, as_##name                                                                           \
    }

static const struct {
    const char *name;
    int (*run)(const struct rota_run *);
} ways[] = {
    WAY(double_free),
    WAY(overflow),
    WAY(recursion),
    WAY(wild_pointer),
    WAY(divides),
    WAY(writes_constants),
    WAY(scribbles_on_host),
    WAY(aborts),
    WAY(exits),
    WAY(quick_exits),
    WAY(thread_exits),
    WAY(thread_crashes),
    WAY(leaves_threads),
    WAY(ends_its_thread),
    WAY(masks_signals),
    WAY(masks_and_hangs),
    WAY(handles_all_signals),
    WAY(closes_all),
    WAY(closes_output),
    WAY(jumps),
    WAY(becomes_another),
    WAY(rings),
    WAY(kills_its_group),
    WAY(fills_memory),
    WAY(reads_a_gibibyte),
    WAY(reads_too_far),
    WAY(wrong_type),
    WAY(no_type),
    WAY(undeclared),
    WAY(no_name),
};

static int run(const struct rota_run *r)
{
    fputs("last words\n", stderr);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].name, rota_string(r, "as")) == 0)
            return ways[i].run(r);
    return rota_fail(r, ROTA_REFUSED, "no such way: %s", rota_string(r, "as"));
}

ROTA_PLUGIN(.name = "citizen", .version = "1", .summary = "Breaks.", .params = params, .run = run);
