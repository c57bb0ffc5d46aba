/* SPDX-License-Identifier: MIT
 * Plugins that are wrong before run(): one a -D, for the probe's tests. */
#include <rota/plugin.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int run(const struct rota_run *r)
{
    (void)r;
    puts("run");
    return ROTA_SUCCEEDED;
}

#if defined(NO_SYMBOL)
int something_else(const struct rota_run *r);
int something_else(const struct rota_run *r)
{
    return run(r);
}
#elif defined(OTHER_ABI)
const struct rota_plugin rota_plugin = { .abi = 2,
                                         .size = sizeof(struct rota_plugin),
                                         .param_size = sizeof(struct rota_param),
                                         .name = "x",
                                         .version = "1",
                                         .summary = "x",
                                         .run = run };
#elif defined(TINY)
const struct rota_plugin rota_plugin = { .abi = ROTA_ABI,
                                         .size = 24,
                                         .param_size = sizeof(struct rota_param),
                                         .name = "x",
                                         .version = "1",
                                         .summary = "x",
                                         .run = run };
#elif defined(BOASTER)
const struct rota_plugin rota_plugin = { .abi = ROTA_ABI,
                                         .size = 4000,
                                         .param_size = sizeof(struct rota_param),
                                         .name = "x",
                                         .version = "1",
                                         .summary = "x",
                                         .run = run };
#elif defined(NEEDY)
ROTA_PLUGIN(.needs = 1ull << 40, .name = "x", .version = "1", .summary = "x", .run = run);
#elif defined(BAD_NAME)
ROTA_PLUGIN(.name = "X y", .version = "1", .summary = "x", .run = run);
#elif defined(NO_RUN)
ROTA_PLUGIN(.name = "x", .version = "1", .summary = "x");
#elif defined(BAD_DEFAULT)
static const struct rota_param params[] = {
    { .name = "wait", .type = ROTA_DURATION, .def = "10" },
    { .name = NULL },
};
ROTA_PLUGIN(.name = "x", .version = "1", .summary = "x", .params = params, .run = run);
#elif defined(ODD_ROW)
ROTA_EXPORT const struct rota_plugin rota_plugin = { .abi = ROTA_ABI,
                                                     .size = sizeof(struct rota_plugin),
                                                     .param_size = sizeof(struct rota_param) + 1,
                                                     .name = "x",
                                                     .version = "1",
                                                     .summary = "x",
                                                     .run = run };
#elif defined(LIMITED)
static const struct rota_param params[] = {
    { .name = "wait", .type = TYPE, LIMITED },
    { .name = NULL },
};
ROTA_PLUGIN(.name = "x", .version = "1", .summary = "x", .params = params, .run = run);
#elif defined(TALKER)
static char summary[200000];
__attribute__((constructor)) static void fill(void)
{
    memset(summary, 's', sizeof(summary) - 1);
}
ROTA_PLUGIN(.name = "x", .version = summary, .summary = summary, .run = run);
#elif defined(WHO)
static int uid;
__attribute__((constructor)) static void look(void)
{
    uid = (int)geteuid();
}
static int check(const struct rota_run *r)
{
    return rota_fail(r, ROTA_REFUSED, "user %d, then %d, group %d, home %s", uid, (int)geteuid(),
                     (int)getegid(), getenv("HOME"));
}
ROTA_PLUGIN(.name = "x", .version = "1", .summary = "x", .run = run, .check = check);
#elif defined(BAD_TYPE)
static const struct rota_param params[] = {
    { .name = "wait", .type = 99 },
    { .name = NULL },
};
ROTA_PLUGIN(.name = "x", .version = "1", .summary = "x", .params = params, .run = run);
#elif defined(MISSING)
int nobody_has_this(void);
static int check(const struct rota_run *r)
{
    (void)r;
    return nobody_has_this();
}
ROTA_PLUGIN(.name = "x", .version = "1", .summary = "x", .run = run, .check = check);
#elif defined(CHECK_REFUSES)
static int check(const struct rota_run *r)
{
    return rota_fail(r, ROTA_REFUSED, "nothing listens on port %d", 80);
}
ROTA_PLUGIN(.name = "x", .version = "1", .summary = "x", .run = run, .check = check);
#elif defined(CHECK_MUTTERS)
static int check(const struct rota_run *r)
{
    rota_log(r, ROTA_INFO, "half way");
    rota_progress(r, 0.5, "half way");
    return ROTA_REFUSED;
}
ROTA_PLUGIN(.name = "x", .version = "1", .summary = "x", .run = run, .check = check);
#elif defined(CHECK_ASKS)
static int check(const struct rota_run *r)
{
    return rota_boolean(r, "nowhere");
}
ROTA_PLUGIN(.name = "x", .version = "1", .summary = "x", .run = run, .check = check);
#elif defined(SMALL)
/* As a plugin of before `check` and before `help` would be: smaller structs. */
struct old_param {
    const char *name;
    uint32_t type, flags;
    const char *def, *min, *max, *choices;
};
static const struct old_param params[] = {
    { .name = "mode", .type = ROTA_STRING, .def = "fast", .choices = "fast|slow" },
    { .name = "wait", .type = ROTA_DURATION, .def = "1s", .max = "1m" },
    { .name = NULL },
};
static int run_small(const struct rota_run *r)
{
    printf("%s %lld\n", rota_string(r, "mode"), (long long)rota_duration_ms(r, "wait"));
    return ROTA_SUCCEEDED;
}
struct old_plugin {
    uint32_t abi, size, param_size, reserved;
    uint64_t needs;
    const char *name, *version, *summary;
    const struct old_param *params;
    int (*run)(const struct rota_run *);
};
ROTA_EXPORT const struct old_plugin old_plugin __asm__("rota_plugin") = {
    .abi = ROTA_ABI,
    .size = sizeof(struct old_plugin),
    .param_size = sizeof(struct old_param),
    .name = "old",
    .version = "0.9",
    .summary = "Old.",
    .params = params,
    .run = run_small
};
#elif defined(LARGE)
/* As a plugin of a later minor version would be. */
struct new_plugin {
    struct rota_plugin now;
    int (*later)(void);
};
ROTA_EXPORT const struct new_plugin new_plugin __asm__("rota_plugin") = {
    .now = { .abi = ROTA_ABI,
             .size = sizeof(struct new_plugin),
             .param_size = sizeof(struct rota_param),
             .name = "new",
             .version = "2",
             .summary = "New.",
             .run = run }
};
#else
__attribute__((constructor)) static void first(void)
{
#if defined(CRASHES)
    abort();
#elif defined(EXITS)
    exit(7);
#elif defined(SLOW)
    const struct timespec nap = { .tv_nsec = 500000000 };

#if defined(DEAF)
    signal(SIGTERM, SIG_IGN);
#endif
    puts("loading");
    nanosleep(&nap, NULL);
#elif defined(MUTE)
    close(3);
    for (;;)
        pause();
#elif defined(HANGS)
    if (fork() >= 0)
        for (;;)
            pause();
#elif defined(FORKS)
    fork(); /* both come back from here, and the child goes on as if it were the worker */
#elif defined(LEAVES)
    if (fork() == 0) {
        setsid();
        for (;;)
            pause();
    }
#endif
}
ROTA_PLUGIN(.name = "x", .version = "1", .summary = "x", .run = run);
#endif
