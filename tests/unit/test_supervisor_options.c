/* SPDX-License-Identifier: MIT
 * rotad's command line. */
#include "supervisor/options.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define ARGS_MAX 6

struct row {
    const char *args[ARGS_MAX];
    const char *environment; /* $RUNTIME_DIRECTORY */
    int result;
    enum options_mode mode;
    const char *config_file;
    const char *runtime_dir;
    const char *root;
    const char *device;
    bool no_probe, online;
    const char *said; /* part of the line on stderr */
};

static const struct row rows[] = {
    { .args = { NULL }, .mode = MODE_RUN, .runtime_dir = "/run/rota" },
    { .args = { "-c", "a.conf" }, .config_file = "a.conf", .runtime_dir = "/run/rota" },
    { .args = { "--config=a.conf", "--check" },
      .mode = MODE_CHECK,
      .config_file = "a.conf",
      .runtime_dir = "/run/rota" },
    { .args = { "--print-config" }, .mode = MODE_PRINT, .runtime_dir = "/run/rota" },
    { .args = { "--version" }, .mode = MODE_VERSION, .runtime_dir = "/run/rota" },
    { .args = { "--help" }, .mode = MODE_HELP, .runtime_dir = "/run/rota" },
    { .args = { "--runtime-dir", "/x" }, .runtime_dir = "/x" },
    { .args = { "--runtime-dir", "/x" }, .environment = "/e:/f", .runtime_dir = "/e" },
    { .args = { "--runtime-dir", "/x" }, .environment = "", .runtime_dir = "/x" },
    { .args = { NULL }, .environment = "/e", .runtime_dir = "/e" },
    { .args = { "-c" }, .result = EX_USAGE, .said = "-c needs a file" },
    { .args = { "-c", "" }, .result = EX_USAGE, .said = "-c needs a file" },
    { .args = { "--runtime-dir" }, .result = EX_USAGE, .said = "--runtime-dir needs a folder" },
    { .args = { "--chek" }, .result = EX_USAGE, .said = "did you mean '--check'?" },
    { .args = { "--check", "--online" },
      .mode = MODE_CHECK,
      .runtime_dir = "/run/rota",
      .online = true },
    { .args = { "--online" }, .result = EX_USAGE, .said = "--online goes with --check" },
    { .args = { "--online", "--print-config" },
      .result = EX_USAGE,
      .said = "--online goes with --check" },
    { .args = { "--check", "--online", "--root", "tree" },
      .result = EX_USAGE,
      .said = "without --root" },
    { .args = { "-x" }, .result = EX_USAGE, .said = "there is no option '-x'" },
    { .args = { "--check=yes" }, .result = EX_USAGE, .said = "'--check=yes' takes no value" },
    { .args = { "a.conf" }, .result = EX_USAGE, .said = "'a.conf' is no option" },
    { .args = { "--check", "--version" }, .result = EX_USAGE, .said = "do not go together" },
    { .args = { "--check", "--root", "tree", "--no-probe" },
      .mode = MODE_CHECK,
      .runtime_dir = "/run/rota",
      .root = "tree",
      .no_probe = true },
    { .args = { "--root=tree", "--print-config" },
      .mode = MODE_PRINT,
      .runtime_dir = "/run/rota",
      .root = "tree" },
    { .args = { "--root" }, .result = EX_USAGE, .said = "--root needs a folder" },
    { .args = { "--check", "--root", "" }, .result = EX_USAGE, .said = "--root needs a folder" },
    { .args = { "--check", "--device", "gate-7" },
      .mode = MODE_CHECK,
      .runtime_dir = "/run/rota",
      .device = "gate-7" },
    { .args = { "--check", "--device", "" }, .result = EX_USAGE, .said = "--device needs a name" },
    { .args = { "--device", "x" }, .result = EX_USAGE, .said = "--device goes with --check" },
    { .args = { "--root", "tree" }, .result = EX_USAGE, .said = "--root goes with --check" },
    { .args = { "--no-probe" }, .result = EX_USAGE, .said = "--no-probe goes with --check" },
    { .args = { "--check", "--check" }, .mode = MODE_CHECK, .runtime_dir = "/run/rota" },
};

/* It takes what is for a start and is right, and means the same by it as the whole parser. */
static void check_plain(int argc, char **argv, int result, const struct options *whole)
{
    bool to_start = whole->mode == MODE_RUN || whole->mode == MODE_VERSION;
    struct options o;

    optind = 0; /* glibc: begin anew */
    assert_int_equal(options_plain(argc, argv, &o), result == 0 && to_start);
    if (result != 0 || !to_start)
        return;
    assert_int_equal(o.mode, whole->mode);
    assert_ptr_equal(o.config_file, whole->config_file);
    assert_string_equal(o.runtime_dir, whole->runtime_dir);
}

static int parse(const struct row *row, struct options *o, char *said, size_t size)
{
    char *argv[ARGS_MAX + 2] = { (char[]){ "rotad" } };
    FILE *lines = tmpfile();
    int argc = 1, real = dup(STDERR_FILENO), r;
    size_t n;

    assert_non_null(lines);
    for (int i = 0; i < ARGS_MAX && row->args[i]; i++)
        assert_non_null(argv[argc++] = strdup(row->args[i]));
    dup2(fileno(lines), STDERR_FILENO);
    r = options_parse(argc, argv, o);
    dup2(real, STDERR_FILENO);
    close(real);
    rewind(lines);
    n = fread(said, 1, size - 1, lines);
    said[n] = '\0';
    fclose(lines);
    check_plain(argc, argv, r, o);
    if (r == 0 && row->config_file)
        assert_string_equal(o->config_file, row->config_file);
    if (r == 0)
        assert_string_equal(o->runtime_dir, row->runtime_dir);
    if (r == 0 && row->root)
        assert_string_equal(o->root, row->root);
    if (r == 0 && row->device)
        assert_string_equal(o->device, row->device);
    for (int i = 1; i < argc; i++)
        free(argv[i]);
    return r;
}

static void test_each_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct options o;
        char said[512];

        if (row->environment)
            setenv("RUNTIME_DIRECTORY", row->environment, 1);
        else
            unsetenv("RUNTIME_DIRECTORY");
        assert_int_equal(parse(row, &o, said, sizeof(said)), row->result);
        if (row->result == 0) {
            assert_int_equal(o.mode, row->mode);
            assert_int_equal(o.config_file == NULL, row->config_file == NULL);
            assert_int_equal(o.root == NULL, row->root == NULL);
            assert_int_equal(o.device == NULL, row->device == NULL);
            assert_int_equal(o.no_probe, row->no_probe);
            assert_int_equal(o.online, row->online);
            assert_string_equal(said, "");
        } else {
            assert_non_null(strstr(said, row->said));
            assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
        }
    }
    unsetenv("RUNTIME_DIRECTORY");
}

static void test_a_folder_that_is_too_long_is_refused(void **state)
{
    struct row row = { .result = EX_USAGE };
    struct options o;
    char folder[400], said[512];

    (void)state;
    memset(folder, 'a', sizeof(folder) - 1);
    folder[0] = '/';
    folder[sizeof(folder) - 1] = '\0';
    setenv("RUNTIME_DIRECTORY", folder, 1);
    assert_int_equal(parse(&row, &o, said, sizeof(said)), EX_USAGE);
    assert_non_null(strstr(said, "399 bytes"));
    unsetenv("RUNTIME_DIRECTORY");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_row),
        cmocka_unit_test(test_a_folder_that_is_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
