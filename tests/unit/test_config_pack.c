/* SPDX-License-Identifier: MIT
 * The jobs' texts and arrays in one block: each load here is looked at before and after it is
 * packed, and with no memory for that. The linker leads pack_jobs() and its allocations here
 * (--wrap). */
#include "config/pack.h"
#include "test_config_support.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define SERVER "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; };\n"

static const char text[] = SERVER
    "jobs = {\n"
    "  a = { plugin = \"exec\"; every = \"5m\"; worst_case = \"10s\"; was = \"c\";\n"
    "    devices = [ \"*-*\", \"*\" ];\n"
    "    params = { l = [ \"/bin/echo\", \"exec\", \"\" ]; n = 1.5; t = \"exec\"; };\n"
    "  };\n"
    "  broken = { plugin = \"exec\"; every = \"5m\"; worst_case = 10;\n"
    "    params = { l = [ \"/bin/echo\" ]; }; };\n"
    "  b = { plugin = \"exec\"; cron = \"@daily\"; timezone = \"Europe/Berlin\";\n"
    "    worst_case = \"10s\"; devices = [ \"*-*\", \"gate-?\" ];\n"
    "    params = { t = \"@daily\"; }; lock_key = \"exec\"; user = \"exec\"; group = \"exec\";\n"
    "    environment = [ \"A=1\", \"B=2\" ]; working_dir = \"/bin/echo\"; };\n"
    "  d = { plugin = \"upload\"; cron = \"@daily\"; worst_case = \"10s\"; params = { }; };\n"
    "  number = 1;\n"
    "};\n";

int __real_pack_jobs(struct config *c);
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
int __wrap_pack_jobs(struct config *c);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

/* Allocations until one fails; negative: none does. */
static int left = -1;
/* Every allocation of a packing has been made to fail once. */
static bool each_failed;
/* What the load holds before it is packed; to be freed. */
static char *before;

void *__wrap_malloc(size_t size)
{
    return left >= 0 && left-- == 0 ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return left >= 0 && left-- == 0 ? NULL : __real_calloc(count, size);
}

static const char *shown(const char *value)
{
    return value ? value : "-";
}

static void show_param(FILE *out, const struct param_value *v, int line)
{
    fprintf(out, " %s:%d:%s", v->name, line, shown(v->text));
    for (uint32_t i = 0; i < v->count; i++)
        fprintf(out, ",%s", v->items[i]);
}

static void show_job(FILE *out, const struct job_config *job)
{
    fprintf(out, "%s %s:%d %s %s %s", job->name, job->file, job->line, shown(job->plugin),
            shown(job->plugin_path), shown(job->description));
    fprintf(out, " %s %s %s %s", shown(job->was), shown(job->cron), shown(job->timezone),
            shown(job->spec.lock_key));
    fprintf(out, " %s %s %s", job->spec.name, job->spec.key, shown(job->invalid_why));
    for (char **device = job->devices; device && *device; device++)
        fprintf(out, " %s", *device);
    for (uint32_t i = 0; i < job->param_count; i++)
        show_param(out, &job->params[i], job->param_lines[i]);
    fprintf(out, " %s", shown(job->setup->identity.home));
    for (uint32_t i = 0; i < job->setup->identity.group_count; i++)
        fprintf(out, " %u", (unsigned)job->setup->identity.groups[i]);
    fputs("\n", out);
}

/* As for a user that this machine may not have. */
static void identify(struct job_config *job)
{
    static const uint32_t groups[] = { 20, 4294967294u, 0 };

    free(job->setup->identity.home);
    free(job->setup->identity.groups);
    job->setup->identity.home = strdup("/bin/echo");
    job->setup->identity.groups = __real_malloc(sizeof(groups));
    assert_non_null(job->setup->identity.groups);
    memcpy(job->setup->identity.groups, groups, sizeof(groups));
    job->setup->identity.group_count = COUNT_OF(groups);
}

/* All that a configuration holds of its jobs, and how it is printed. To be freed. */
static char *show(const struct config *c)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);

    assert_non_null(out);
    for (size_t i = 0; i < c->job_count; i++)
        show_job(out, &c->jobs[i]);
    assert_int_equal(config_print(c, out), 0);
    assert_int_equal(fclose(out), 0);
    return all;
}

static void expect_as_before(const struct config *c)
{
    char *now = show(c);

    assert_string_equal(now, before);
    free(now);
}

/* Packs only when memory has run out at each of the allocations, which changed nothing. */
int __wrap_pack_jobs(struct config *c)
{
    int result, point = 0;

    if (c->job_count > 0)
        identify(&c->jobs[c->job_count - 1]);
    free(before);
    before = show(c);
    do {
        left = point++;
        result = __real_pack_jobs(c);
        if (result < 0) {
            assert_int_equal(result, -ENOMEM);
            assert_null(c->job_block);
            expect_as_before(c);
        }
    } while (result < 0 && point < 10);
    each_failed = point == 3 && left == 0;
    left = -1;
    return result;
}

static int teardown(void **state)
{
    free(before);
    before = NULL;
    return place_teardown(state);
}

static struct config *load(const struct place *p)
{
    return place_load_text(p, text);
}

static void test_means_the_same(void **state)
{
    struct config *c = load(*state);

    assert_int_equal(c->job_count, 5);
    assert_non_null(c->job_block);
    assert_true(each_failed);
    expect_as_before(c);
    config_free(c);
}

static void test_equal_texts_are_one(void **state)
{
    struct config *c = load(*state);
    const struct job_config *a = config_find_job(c, "a"), *b = config_find_job(c, "b"),
                            *d = config_find_job(c, "d");

    assert_string_equal(a->plugin, "exec");
    assert_ptr_equal(a->plugin, b->plugin);
    assert_ptr_equal(a->plugin_path, b->plugin_path);
    assert_ptr_equal(a->file, d->file);
    assert_ptr_equal(b->cron, d->cron);
    assert_ptr_equal(a->devices[0], b->devices[0]);
    /* Of whatever they are texts. */
    assert_ptr_equal(a->params[0].items[1], a->plugin);
    assert_ptr_equal(a->params[2].text, a->plugin);
    assert_ptr_equal(b->spec.lock_key, a->plugin);
    assert_ptr_equal(a->params[2].name, b->params[0].name);
    assert_ptr_equal(b->params[0].text, d->cron);
    assert_ptr_not_equal(a->plugin, d->plugin);
    config_free(c);
}

static void test_equal_settings_are_kept_once(void **state)
{
#define JOB "{ plugin = \"exec\"; every = \"5m\"; worst_case = \"10s\"; "
    struct config *c = place_load_text(
        *state, SERVER "jobs = { a = " JOB "working_dir = \"/x\"; }; b = " JOB
                       "working_dir = \"/x\"; }; c = " JOB "working_dir = \"/y\"; };\n"
                       "d = " JOB "}; e = " JOB "}; f = " JOB "}; };\n");
    const struct job_config *jobs = c->jobs;

    assert_int_equal(c->job_count, 6);
    expect_as_before(c);
    assert_ptr_equal(jobs[0].setup, jobs[1].setup);
    assert_string_equal(jobs[1].setup->working_dir, "/x");
    assert_string_equal(jobs[2].setup->working_dir, "/y");
    assert_ptr_equal(jobs[3].setup, jobs[4].setup);
    assert_null(jobs[4].setup->working_dir);
    assert_string_equal(jobs[5].setup->identity.home, "/bin/echo");
    config_free(c);
}

static void test_names_follow(void **state)
{
    struct config *c = load(*state);
    const struct job_config *a = config_find_job(c, "a"), *b = config_find_job(c, "b");

    assert_ptr_equal(a->spec.name, a->name);
    assert_ptr_equal(a->spec.key, a->was);
    assert_ptr_equal(b->spec.name, b->name);
    assert_ptr_equal(b->spec.key, b->name);
    config_free(c);
}

static void test_mistakes_may_still_come(void **state)
{
    struct config *c = load(*state);
    struct job_config *a = config_find_job(c, "a"), *broken = config_find_job(c, "broken");
    char *why = broken->invalid_why;

    assert_non_null(why);
    assert_int_equal(config_job_problem(c, a, 1, "n is odd"), 0);
    assert_true(a->invalid);
    assert_non_null(strstr(a->invalid_why, "rotad.conf:5: n is odd"));
    assert_int_equal(config_job_problem(c, broken, 0, "l is short"), 0);
    assert_ptr_equal(broken->invalid_why, why);
    config_free(c);
}

static void test_no_jobs(void **state)
{
    struct config *c = place_load_text(*state, SERVER);

    assert_int_equal(c->job_count, 0);
    assert_null(c->job_block);
    expect_as_before(c);
    config_free(c);
}

/* Of the second of the two, nothing is left to be packed. */
static void test_a_job_written_twice(void **state)
{
    struct config *c;

    place_write(*state, "jobs.d/x.conf", "jobs = { a = { plugin = \"upload\"; }; };");
    c = load(*state);
    assert_int_equal(c->job_count, 5);
    assert_true(config_find_job(c, "a")->invalid);
    expect_as_before(c);
    config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_means_the_same, place_setup, teardown),
        cmocka_unit_test_setup_teardown(test_equal_texts_are_one, place_setup, teardown),
        cmocka_unit_test_setup_teardown(test_equal_settings_are_kept_once, place_setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_follow, place_setup, teardown),
        cmocka_unit_test_setup_teardown(test_mistakes_may_still_come, place_setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_jobs, place_setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_job_written_twice, place_setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
