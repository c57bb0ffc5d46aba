/* SPDX-License-Identifier: MIT
 * As whom a job runs, where, and within what limits. A place is the tree of another device; what
 * this machine knows is loaded without one. */
#include "base/user.h"
#include "test_config_support.h"

#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVER "device = \"d\"; prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; };\n"
#define JOB "plugin = \"exec\"; every = \"5m\"; worst_case = \"1m\"; "
#define HERE "plugin = \"/bin/sh\"; every = \"5m\"; worst_case = \"1m\"; "
/* None of the users that a device may have. */
#define NOBODY 65534
#define MIB (INT64_C(1) << 20)
#define LONG 16384

static struct config *load_job(const struct place *p, const char *keys)
{
    char text[LONG + 2048];

    assert_in_range(snprintf(text, sizeof(text), SERVER "jobs = { a = { %s }; };", keys), 1,
                    sizeof(text) - 1);
    place_write(p, "etc/passwd", "runner:x:990:991::/:/bin/false\n");
    place_write(p, "etc/group", "dialout:x:20:runner\n");
    place_write(p, "etc/rota/rotad.conf", text);
    return place_load_system(p);
}

/* On this machine, not in a tree. */
static struct config *load_here(const struct place *p, const char *keys, bool for_people)
{
    const struct config_source source = { .file = place_path(p, "rotad.conf"),
                                          .for_people = for_people };
    char text[2048];
    struct config *c;

    assert_in_range(
        snprintf(text, sizeof(text),
                 "store = \"local\"; device = \"d\"; jobs = {\n a = { " HERE "\n%s }; };", keys),
        1, sizeof(text) - 1);
    place_write(p, "rotad.conf", text);
    assert_int_equal(config_load(&source, &c), 0);
    return c;
}

static void test_defaults(void **state)
{
    struct config *c = load_job(*state, JOB);
    const struct job_config *job = &c->jobs[0];

    assert_null(job->setup->user);
    assert_null(job->setup->group);
    assert_null(job->setup->working_dir);
    assert_null(job->setup->environment);
    assert_true(job->setup->network);
    assert_true(job->setup->limits.memory_bytes == 0 && job->setup->limits.cpu_time_ms == 0);
    assert_int_equal(job->setup->limits.open_files, 1024);
    assert_int_equal(job->setup->limits.processes, 0);
    assert_true(job->setup->limits.file_size_bytes == -1);
    assert_int_equal(job->setup->limits.core_bytes, 0);
    config_free(c);
}

static void test_values(void **state)
{
    const struct place *p = *state;
    struct config *c = load_job(
        p, JOB "working_dir = \"/data\"; network = false; environment = [ \"A=1 2\", \"B=\" ];"
               "limits = { memory = \"1.5MiB\"; cpu_time = \"1m30s\"; open_files = 1048576;"
               "processes = 32768; file_size = \"0B\"; core = \"2GiB\"; };");
    const struct job_config *job = &c->jobs[0];

    place_expect(p, c, "");
    assert_string_equal(job->setup->working_dir, "/data");
    assert_false(job->setup->network);
    assert_string_equal(job->setup->environment[0], "A=1 2");
    assert_string_equal(job->setup->environment[1], "B=");
    assert_null(job->setup->environment[2]);
    assert_true(job->setup->limits.memory_bytes == MIB * 3 / 2);
    assert_int_equal(job->setup->limits.cpu_time_ms, 90000);
    assert_int_equal(job->setup->limits.open_files, 1048576);
    assert_int_equal(job->setup->limits.processes, 32768);
    assert_true(job->setup->limits.file_size_bytes == 0);
    assert_true(job->setup->limits.core_bytes == 2048 * MIB);
    config_free(c);
}

/* How much of it fits into a start is the probe's to say. */
static void test_a_long_variable(void **state)
{
    char keys[LONG + 128];
    struct config *c;

    snprintf(keys, sizeof(keys), JOB "environment = \"A=%0*d\";", LONG, 0);
    c = load_job(*state, keys);
    place_expect(*state, c, "");
    assert_int_equal(strlen(c->jobs[0].setup->environment[0]), 2 + LONG);
    config_free(c);
}

static void test_names_are_those_of_the_tree(void **state)
{
    const struct place *p = *state;
    struct config *c;

    c = load_job(p, JOB "user = \"runner\"; group = \"dialout\";");
    place_expect(p, c, "");
    assert_int_equal(c->jobs[0].setup->identity.group_count, 0); /* numbers of another device */
    config_free(c);
    c = load_job(p, JOB "\nuser = \"root\";\ngroup = \"root\";");
    place_expect(
        p, c,
        "warning /etc/rota/rotad.conf:3: job 'a': user is \"root\", and no user has that name in "
        "/etc/passwd; the device needs it before rotad starts\n"
        "warning /etc/rota/rotad.conf:4: job 'a': group is \"root\", and no group has that name in "
        "/etc/group; the device needs it before rotad starts\n");
    config_free(c);
}

static void test_print_parses_again(void **state)
{
    const struct place *p = *state;
    struct config *c = load_job(p, JOB "user = \"runner\"; group = \"dialout\";"
                                       "environment = [ \"A= \\\"\\n\" ];"
                                       "limits = { file_size = \"0B\"; };");
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct config *again;

    place_expect(p, c, "");
    assert_non_null(out);
    assert_int_equal(config_print(c, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "    user = \"runner\";\n    group = \"dialout\";\n"));
    place_write_bytes(p, "etc/rota/rotad.conf", text, size);
    again = place_load_system(p);
    place_expect(p, again, "");
    assert_true(config_job_equal(&c->jobs[0], &again->jobs[0]));
    assert_string_equal(again->jobs[0].setup->environment[0], "A= \"\n");
    config_free(c);
    config_free(again);
    free(text);
}

/* A device may lack the users of a job that it does not run. */
static void test_names_of_jobs_elsewhere(void **state)
{
    struct config *c = load_job(*state, JOB "devices = \"other\"; user = \"x\"; group = \"x\";");

    place_expect(*state, c, "");
    config_free(c);
}

static void test_users_of_this_machine(void **state)
{
    struct config *c;
    struct user own;

    if (user_by_uid(geteuid(), &own) < 0)
        skip();
    c = load_here(*state, "user = \"root\";", false);
    if (geteuid() == 0) {
        assert_int_equal(c->problems.errors, 0);
        assert_int_equal(c->jobs[0].setup->identity.uid, 0);
        assert_string_equal(c->jobs[0].setup->identity.home, own.home);
    }
    config_free(c);
    c = load_here(*state, "user = \"no-such\";\n group = \"none-such\";", false);
    assert_false(c->fatal);
    assert_true(c->jobs[0].invalid);
    place_expect(*state, c,
                 "error /rotad.conf:3: job 'a': user is \"no-such\", and no user has that name "
                 "in /etc/passwd; create it, or name another\n"
                 "error /rotad.conf:4: job 'a': group is \"none-such\", and no group has that name "
                 "in /etc/group; create it, or name another\n");
    config_free(c);
}

static void test_groups_of_this_machine(void **state)
{
    struct group *g = getgrgid(getegid() == 0 ? 1 : getegid());
    char keys[128];
    struct config *c;

    if (!g || !user_may_switch())
        skip();
    snprintf(keys, sizeof(keys), "group = \"%s\";", g->gr_name);
    c = load_here(*state, keys, false);
    place_expect(*state, c, "");
    assert_int_equal(c->jobs[0].setup->identity.gid, g->gr_gid);
    config_free(c);
}

/* The rest of a test in a process without a right to switch. */
static void without_rights(void (*rest)(const struct place *p), const struct place *p)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { 0 };
    gid_t group = NOBODY;
    int status;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    assert_return_code(chmod(p->folder, 0755), 0);
    pid = fork();
    if (pid == 0) {
        if (setgroups(1, &group) < 0 || setresgid(group, group, group) < 0 ||
            setresuid(NOBODY, NOBODY, NOBODY) < 0 || syscall(SYS_capset, &header, none) < 0)
            _exit(2);
        rest(p);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void load_without_rights(const struct place *p)
{
    const struct config_source source = { .file = place_path(p, "rotad.conf") };
    struct config *c;
    struct user own;

    if (user_may_switch() || config_load(&source, &c) < 0 || c->problems.count != 2)
        _exit(3);
    if (!strstr(c->problems.items[0].text, "has no right to be another user than its own; ") ||
        !strstr(c->problems.items[1].text, "has no right to be another group than its own; "))
        _exit(4);
    if (c->problems.items[0].line != 3 || c->problems.items[1].line != 4)
        _exit(5);
    /* `own` names what this process is already. */
    if (user_by_uid(NOBODY, &own) == 0 && c->jobs[1].invalid)
        _exit(6);
    config_free(c);
}

static void test_a_rotad_that_may_not_switch(void **state)
{
    struct user own = { .name = "" };
    char keys[256] = "user = \"root\";\n group = \"root\";";

    if (user_by_uid(NOBODY, &own) == 0)
        snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys),
                 " };\n own = { " HERE "user = \"%s\";", own.name);
    config_free(load_here(*state, keys, false));
    without_rights(load_without_rights, *state);
}

static void test_folder_that_is_not_there(void **state)
{
    static const char keys[] =
        "working_dir = \"/no/such/folder\"; };\n b = { " HERE
        "working_dir = \"/etc/passwd\"; };\n c = { " HERE "working_dir = \"/etc\";";
    struct config *c = load_here(*state, keys, true);

    place_expect(*state, c,
                 "warning /rotad.conf:3: job 'a': working_dir is \"/no/such/folder\", and there is "
                 "no such folder now; it has to be there when a run begins\n"
                 "warning /rotad.conf:4: job 'b': working_dir is \"/etc/passwd\", and there is no "
                 "such folder now; it has to be there when a run begins\n");
    config_free(c);
    c = load_here(*state, keys, false);
    place_expect(*state, c, "");
    config_free(c);
}

static void test_changes(void **state)
{
    static const char *const jobs[] = {
        "working_dir = \"/x\";",
        "network = false;",
        "environment = [ \"A=1\" ];",
        "limits = { memory = \"1MiB\"; };",
        "limits = { cpu_time = \"1s\"; };",
        "limits = { open_files = 8; };",
        "limits = { processes = 64; };",
        "limits = { file_size = \"0B\"; };",
        "limits = { core = \"1B\"; };",
        "user = \"runner\";",
        "group = \"dialout\";",
    };
    struct config *c = load_job(*state, JOB), *other;

    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        char keys[256];

        snprintf(keys, sizeof(keys), JOB "%s", jobs[i]);
        other = load_job(*state, keys);
        place_expect(*state, other, "");
        assert_false(config_job_equal(&c->jobs[0], &other->jobs[0]));
        assert_string_equal(c->jobs[0].spec.fingerprint, other->jobs[0].spec.fingerprint);
        config_free(other);
    }
    other = load_job(*state, JOB "environment = []; limits = { };");
    assert_true(config_job_equal(&c->jobs[0], &other->jobs[0]));
    config_free(other);
    config_free(c);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_defaults),
        TEST(test_values),
        TEST(test_a_long_variable),
        TEST(test_names_are_those_of_the_tree),
        TEST(test_print_parses_again),
        TEST(test_names_of_jobs_elsewhere),
        TEST(test_users_of_this_machine),
        TEST(test_groups_of_this_machine),
        TEST(test_a_rotad_that_may_not_switch),
        TEST(test_folder_that_is_not_there),
        TEST(test_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
