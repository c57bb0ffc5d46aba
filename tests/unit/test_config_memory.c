/* SPDX-License-Identifier: MIT
 * Memory that runs out at each allocation of a load in turn: the load says -ENOMEM and has lost
 * nothing. The linker leads our own calls here (--wrap); libconfig's do not come by. */
#include "test_config_support.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Allocations of the load below, and some to spare. */
#define POINTS_MAX 3000

static const char text[] =
    "prefix = \"a:\"; device = \"gate-%m\"; plugin_dir = [ \"/nowhere\" ]; unknown = 1;\n"
    "redis = { address = [ \"127.0.0.1:6379\", \"unix:/r\", \"host:1\" ]; password_file = \"/x\"; "
    "sentinels = ( \"127.0.0.1:1\", \"[::1]:2\" ); master = \"m\"; sentinel_password_file = "
    "\"/x\";\n"
    "  quorum = ( { address = \"a:1\"; username = \"u\"; }, { address = \"unix:/b\"; tls = true; "
    "},\n    { address = \"c:3\"; password_file = \"/y\"; } ); };\n"
    "jobs = {\n"
    "  a = { plugin = \"/bin/sh\"; every = \"5m\"; worst_case = \"10s\"; attempts = 010;\n"
    "    params = { t = \"x\"; n = 1.5; b = true; l = [ \"a\", \"b\" ]; }; };\n"
    "  b = { plugin = \"exec\"; every = \"1h\"; worst_case = 10; };\n"
    "  c = { plugin = \"/bin/sh\"; cron = \"@daily\"; timezone = \"Europe/Berlin\"; worst_case = "
    "\"10s\";\n"
    "    was = \"a\"; devices = [ \"gate-*\", \"x\" ]; lock_key = \"l\"; require_fence = true; };\n"
    "  e = { plugin = \"/bin/sh\"; every = \"1h\"; worst_case = \"10s\"; user = \"root\"; group = "
    "\"root\";\n"
    "    environment = [ \"A=1\", \"B=\" ]; working_dir = \"/\"; limits = { core = \"1B\"; }; };\n"
    "  d = { plugin = \"/bin/sh\"; cron = \"@daily\"; timezone = \"Nowhere\"; worst_case = "
    "\"10s\"; lock_key = \"l\"; };\n"
    "};\n";

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t size);
char *__real_realpath(const char *path, char *resolved);
int __real_vasprintf(char **ret, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
int __real___vasprintf_chk(char **ret, int flag, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t size);
char *__wrap_realpath(const char *path, char *resolved);
int __wrap_vasprintf(char **ret, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* What a fortified build calls. */
int __wrap___vasprintf_chk(char **ret, int flag, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static bool counting;
static int left;

static bool fails(void)
{
    bool now = counting && left == 0;

    if (counting)
        left--;
    if (now)
        errno = ENOMEM;
    return now;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t size)
{
    return fails() ? NULL : __real_strndup(s, size);
}

char *__wrap_realpath(const char *path, char *resolved)
{
    return fails() ? NULL : __real_realpath(path, resolved);
}

int __wrap_vasprintf(char **ret, const char *format, va_list args)
{
    return fails() ? -1 : __real_vasprintf(ret, format, args);
}

int __wrap___vasprintf_chk(char **ret, int flag, const char *format, va_list args)
{
    return fails() ? -1 : __real___vasprintf_chk(ret, flag, format, args);
}

/* The result of a load whose allocation number `point` fails; *ret_reached: there was one. */
static int load_until(const struct place *p, bool rooted, int point, bool *ret_reached)
{
    struct config_source source = { .file = rooted ? "/rotad.conf" : place_path(p, "rotad.conf"),
                                    .root = rooted ? p->folder : NULL,
                                    .described = rooted };
    struct config *c = NULL;
    int result;

    left = point;
    counting = true;
    result = config_load(&source, &c);
    counting = false;
    *ret_reached = left < 0;
    if (result == 0)
        config_free(c);
    return result;
}

static void fail_each_allocation(const struct place *p, bool rooted)
{
    int forgiven = 0, point = 0;
    bool reached = true;

    for (; reached && point < POINTS_MAX; point++) {
        int result = load_until(p, rooted, point, &reached);

        assert_true(result == 0 || result == -ENOMEM);
        forgiven += reached && result == 0;
    }
    assert_true(point > 100 && point < POINTS_MAX);
    /* "did you mean" may be left out, once for each of the two names that are looked up. */
    assert_in_range(forgiven, 0, 2);
}

static void test_each_allocation(void **state)
{
    place_write(*state, "rotad.conf", text);
    place_write(*state, "jobs.d/a.conf", "jobs = { a = { }; };");
    place_write(*state, "bin/sh", "");
    place_write(*state, "bin/sh.description", "");
    fail_each_allocation(*state, false);
    fail_each_allocation(*state, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_allocation, place_setup, place_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
