/* SPDX-License-Identifier: MIT
 * The tree of another device: its files, never this machine's. */
#include "test_config_support.h"

#include "base/text.h"
#include "base/trust.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVER "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; };\n"
#define JOB "plugin = \"exec\"; every = \"5m\"; worst_case = \"1m\";"

static void link_to(const struct place *p, const char *target, const char *name)
{
    assert_int_equal(symlink(target, place_path(p, name)), 0);
}

static void expect_path(const struct place *p, const char *path, const char *resolved)
{
    char expected[PATH_SIZE], *found;

    assert_int_equal(trust_where(p->folder, path, &found), 0);
    assert_true(text_format(expected, sizeof(expected), "%s%s", p->folder, resolved));
    assert_string_equal(found, expected);
    free(found);
}

static void test_links_stay_in_the_tree(void **state)
{
    const struct place *p = *state;
    char *found;

    place_write(p, "etc/real", "");
    link_to(p, "/etc/real", "absolute");
    link_to(p, "etc/real", "relative");
    link_to(p, "../../../../etc/real", "upward");
    link_to(p, "/absolute", "second");
    link_to(p, "/etc", "folder");
    link_to(p, "loop", "loop");
    expect_path(p, "/etc/real", "/etc/real");
    expect_path(p, "//etc/./real/", "/etc/real");
    expect_path(p, "/absolute", "/etc/real");
    expect_path(p, "/relative", "/etc/real");
    expect_path(p, "/upward", "/etc/real");
    expect_path(p, "/second", "/etc/real");
    expect_path(p, "/folder/real", "/etc/real");
    expect_path(p, "/folder/../etc/real", "/etc/real");
    expect_path(p, "/../../etc/passwd", "/etc/passwd");
    expect_path(p, "/nowhere/at/all", "/nowhere/at/all");
    expect_path(p, "/", "");
    assert_int_equal(trust_where(p->folder, "/loop", &found), -ELOOP);
}

static void test_files_behind_links(void **state)
{
    const struct place *p = *state;
    struct config *c;

    place_write(p, "srv/rotad.conf", SERVER "device = \"d\"; plugin_dir = \"/opt\";");
    place_write(p, "etc/rota/jobs.d/b.conf", "jobs = { b = { " JOB " }; };");
    place_write(p, "srv/a.conf", "jobs = { a = { " JOB " }; };");
    place_write(p, "usr/lib/rota/jobs.d/c.conf", "jobs = { c = { " JOB " }; };");
    link_to(p, "/srv/rotad.conf", "etc/rota/rotad.conf");
    link_to(p, "/srv/a.conf", "etc/rota/jobs.d/a.conf");
    link_to(p, "/dev/null", "etc/rota/jobs.d/c.conf");
    link_to(p, "/plugins", "opt");
    c = place_load_system(p);
    place_expect(p, c, "");
    assert_int_equal(c->job_count, 2);
    assert_string_equal(c->jobs[0].plugin_path, place_path(p, "plugins/exec.so"));
    config_free(c);
}

static void test_a_link_that_leads_nowhere(void **state)
{
    const struct place *p = *state;
    struct config *c;

    place_write(p, "etc/rota/jobs.d/b.conf", "");
    link_to(p, "rotad.conf", "etc/rota/rotad.conf");
    c = place_load_system(p);
    place_expect(p, c,
                 "error /etc/rota/rotad.conf: this file is not used: its links lead nowhere\n");
    config_free(c);
}

static void test_a_folder_that_leads_nowhere(void **state)
{
    const struct place *p = *state;
    struct config *c;

    place_write(p, "etc/rota/rotad.conf", "device = \"d\";");
    link_to(p, "jobs.d", "etc/rota/jobs.d");
    c = place_load_system(p);
    place_expect(p, c,
                 "error /etc/rota/jobs.d: this folder cannot be read: its links lead nowhere\n");
    config_free(c);
}

static struct config *load_named(const struct place *p, const char *file)
{
    struct config_source source = { .file = file, .root = p->folder };
    struct config *c;

    assert_int_equal(config_load(&source, &c), 0);
    return c;
}

static void test_a_file_that_is_named_lies_in_the_tree(void **state)
{
    static const char *const names[] = { "/srv/other.conf", "srv/other.conf" };

    place_write(*state, "srv/other.conf", "max_running = 7; x = 1;");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct config *c = load_named(*state, names[i]);

        place_expect(*state, c, "error /srv/other.conf:1: unknown key 'x'\n");
        assert_int_equal(c->max_running, 7);
        config_free(c);
    }
}

/* Above the tree all is the build host's; in it, modes are what the device will find. */
static void test_trust_is_that_of_the_tree(void **state)
{
    struct place *p = *state;
    char folder[PATH_SIZE];
    struct config *c;

    place_write(p, "tree/etc/rota/rotad.conf", "device = \"d\";");
    assert_int_equal(chmod(p->folder, 0777), 0);
    assert_true(text_copy(folder, sizeof(folder), p->folder));
    assert_true(text_format(p->folder, PATH_SIZE, "%s/tree", folder));
    assert_int_equal(chmod(p->folder, 0777), 0);
    c = place_load_system(p);
    place_expect(p, c, "");
    config_free(c);
    assert_int_equal(chmod(place_path(p, "etc/rota"), 0775), 0);
    c = place_load_system(p);
    place_expect(p, c,
                 "error /etc/rota/rotad.conf: this file is not used: '/etc/rota' can be changed by "
                 "its group; chmod it go-w\n");
    config_free(c);
    assert_true(text_copy(p->folder, PATH_SIZE, folder));
}

static void expect_plugin(const struct place *p, const char *default_folder, const char *said)
{
    struct config_source source = { .root = p->folder, .plugin_dir_default = default_folder };
    char expected[512];
    struct config *c;

    snprintf(expected, sizeof(expected),
             "error /etc/rota/rotad.conf:2: job 'a': plugin 'exec' is not in %s\n", said);
    assert_int_equal(config_load(&source, &c), 0);
    place_expect(p, c, expected);
    config_free(c);
}

/* The folder that nobody has written is that of the program that checks. */
static void test_the_folder_of_plugins_is_another(void **state)
{
    const struct place *p = *state;

    place_write(p, "etc/rota/rotad.conf", SERVER "device = \"d\"; jobs = { a = { " JOB " }; };");
    expect_plugin(p, "/opt/x/lib/rota",
                  "/opt/x/lib/rota; write plugin_dir = [ \"/usr/lib/rota\" ], or where else the "
                  "device has its plugins");
    expect_plugin(p, "/usr/lib/rota", "/usr/lib/rota");
    place_write(p, "etc/rota/rotad.conf",
                SERVER "device = \"d\"; plugin_dir = [ \"/a\", \"/b\" ]; jobs = { a = { " JOB
                       " }; };");
    expect_plugin(p, "/opt/x/lib/rota", "/a or /b");
}

static void expect_open(const struct place *p, const char *top, bool open, bool elsewhere)
{
    char text[512];
    struct config *c;

    snprintf(text, sizeof(text), SERVER "%s jobs = { a = { " JOB " devices = \"gate-*\"; }; };",
             top);
    place_write(p, "etc/rota/rotad.conf", text);
    c = place_load_system(p);
    place_expect(p, c, "");
    assert_int_equal(c->device_open, open);
    assert_int_equal(c->jobs[0].elsewhere, elsewhere);
    config_free(c);
}

/* Neither this machine's names, nor warnings of an id that the device will get. */
static void test_the_name_is_made_on_the_device(void **state)
{
    const struct place *p = *state;

    expect_open(p, "", true, false);
    expect_open(p, "device = \"%b\";", true, false);
    expect_open(p, "device = \"gate-7\";", false, false);
    expect_open(p, "device = \"door-7\";", false, true);
    expect_open(p, "device_file = \"/etc/name\";", true, false);
    place_write(p, "etc/name", "door-7\n");
    expect_open(p, "device_file = \"/etc/name\";", false, true);
}

static void expect_of_tree(const struct place *p, const char *text, const char *problems)
{
    struct config *c;

    place_write(p, "etc/rota/rotad.conf", text);
    c = place_load_system(p);
    place_expect(p, c, problems);
    config_free(c);
}

/* What is wrong for every device is wrong already in the tree. */
static void test_a_template_is_checked_in_the_tree(void **state)
{
    const struct place *p = *state;

    expect_of_tree(p, "device = \"%H-%q\";",
                   "error /etc/rota/rotad.conf:1: device has a % without meaning; write %H (host), "
                   "%m (machine), %b (boot) or %%\n");
    expect_of_tree(
        p, "device = \"a gate-%m\";",
        "error /etc/rota/rotad.conf:1: device holds a space or a character beyond ASCII; "
        "use letters, digits and signs\n");
    expect_open(p, "device = \"gate-%%\";", false, false);
}

/* As job_user and device_file: it is written when the device is set up. */
static void test_a_password_that_is_not_in_the_tree_yet(void **state)
{
    const struct place *p = *state;
    static const char text[] = "device = \"d\"; redis = { address = \"127.0.0.1:6379\";\n"
                               "password_file = \"/etc/rota/password\"; };";

    expect_of_tree(p, text,
                   "warning /etc/rota/rotad.conf:2: redis.password_file is \"/etc/rota/password\", "
                   "and there is no such file in the tree; the device needs it before rotad "
                   "starts\n");
    place_write(p, "etc/rota/password", "");
    assert_int_equal(chmod(place_path(p, "etc/rota/password"), 0600), 0);
    expect_of_tree(p, text,
                   "error /etc/rota/rotad.conf:2: redis.password_file '/etc/rota/password' is not "
                   "used: its first line is empty; write the password there\n");
}

static void test_print_keeps_the_template(void **state)
{
    const struct place *p = *state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct config *c;

    assert_non_null(out);
    place_write(p, "etc/rota/rotad.conf", "device = \"gate-%m\";");
    c = place_load_system(p);
    assert_int_equal(config_print(c, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "device = \"gate-%m\";\n"));
    config_free(c);
    free(text);
}

static void test_users_are_those_of_the_tree(void **state)
{
    const struct place *p = *state;
    struct config *c;

    place_write(p, "etc/rota/rotad.conf", "device = \"d\"; job_user = \"root\";");
    c = place_load_system(p);
    place_expect(p, c,
                 "warning /etc/rota/rotad.conf:1: job_user is \"root\", and no user has that name "
                 "in /etc/passwd; the device needs it before rotad starts\n");
    config_free(c);
    place_write(p, "etc/passwd", "runner:x:990:990::/:/bin/false\n");
    place_write(p, "etc/rota/rotad.conf", "device = \"d\"; job_user = \"runner\";");
    c = place_load_system(p);
    place_expect(p, c, "");
    config_free(c);
}

static void test_descriptions(void **state)
{
    const struct place *p = *state;
    struct config_source source = { .root = p->folder,
                                    .plugin_dir_default = "/plugins",
                                    .described = true };
    struct config *c;

    place_write(p, "etc/rota/rotad.conf",
                SERVER "device = \"d\"; jobs = { a = { " JOB " };\n b = { " JOB " };\n"
                       "c = { plugin = \"/plugins/upload.so\"; every = \"5m\"; worst_case = "
                       "\"1m\"; }; };");
    place_write(p, "plugins/upload.description", "");
    assert_int_equal(config_load(&source, &c), 0);
    place_expect(p, c,
                 "warning /etc/rota/rotad.conf:2: job 'a': plugin 'exec': its parameters were not "
                 "checked, for any job: there is no /plugins/exec.description; write it on the "
                 "device with rota-guard --describe /plugins/exec.so > "
                 "/plugins/exec.description\n");
    assert_null(config_job_probe_path(c, &c->jobs[0]));
    assert_string_equal(config_job_probe_path(c, &c->jobs[2]),
                        place_path(p, "plugins/upload.description"));
    config_free(c);
}

/* The guard would load what is asked for by another name than that of a description. */
static void test_a_description_that_leads_to_a_plugin(void **state)
{
    const struct place *p = *state;
    struct config_source source = { .root = p->folder,
                                    .plugin_dir_default = "/plugins",
                                    .described = true };
    struct config *c;

    place_write(p, "etc/rota/rotad.conf", SERVER "device = \"d\"; jobs = { a = { " JOB " }; };");
    link_to(p, "exec.so", "plugins/exec.description");
    assert_int_equal(config_load(&source, &c), 0);
    assert_int_equal((int)c->problems.count, 1);
    assert_non_null(strstr(c->problems.items[0].text, "/plugins/exec.description is a link to "));
    assert_null(config_job_probe_path(c, &c->jobs[0]));
    config_free(c);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_links_stay_in_the_tree),
        TEST(test_files_behind_links),
        TEST(test_a_link_that_leads_nowhere),
        TEST(test_a_folder_that_leads_nowhere),
        TEST(test_a_file_that_is_named_lies_in_the_tree),
        TEST(test_trust_is_that_of_the_tree),
        TEST(test_the_folder_of_plugins_is_another),
        TEST(test_the_name_is_made_on_the_device),
        TEST(test_a_template_is_checked_in_the_tree),
        TEST(test_a_password_that_is_not_in_the_tree_yet),
        TEST(test_print_keeps_the_template),
        TEST(test_users_are_those_of_the_tree),
        TEST(test_descriptions),
        TEST(test_a_description_that_leads_to_a_plugin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
