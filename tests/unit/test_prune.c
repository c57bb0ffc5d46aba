/* SPDX-License-Identifier: MIT
 * The parts of the plugin prune: patterns, the choice of what is old, and a walk during which the
 * tree is changed at the worst instants. */
#include "cut.h"
#include "unit.h"
#include "walk.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void test_match(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool is;
    } cases[] = {
        { "*", "", true },
        { "*", "a", true },
        { "", "", true },
        { "", "a", false },
        { "?", "", false },
        { "?", "a", true },
        { "?", "ab", false },
        { "a*", "b", false },
        { "*.log", "x.log", true },
        { "*.log", "x.log.1", false },
        { "*.log*", "x.log.1", true },
        { "a*b*c", "a-b-b-c", true },
        { "a*b*c", "a-b-b-d", false },
        { "**", "x", true },
        { "[a]", "a", false },
        { "[a]", "[a]", true },
        { "\\*", "\\x", true },
        { "*a", "aaab", false },
        { "?.\xc3\xb6", "\xc3\xb6.\xc3\xb6", true },
        { "?", "\xe2\x82\xac", true },
        { "*??", "\xe2\x82\xac", false },
        { "?", "\xff", true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (words_match(cases[i].pattern, cases[i].name) != cases[i].is)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
}

static void test_words(void **state)
{
    char buf[16], size[WORDS_SIZE];

    (void)state;
    assert_string_equal(words_escape("a\nb\x1b[1m\x7f", buf, 16), "a\\x0ab\\x1b[1...");
    assert_string_equal(words_escape("a b", buf, 16), "a b");
    assert_string_equal(words_escape("123456789012345", buf, 16), "123456789012345");
    assert_string_equal(words_escape("1234567890123456", buf, 16), "123456789012...");
    assert_string_equal(words_escape("123456", buf, 4), "...");
    assert_string_equal(words_size(0, size), "0 B");
    assert_string_equal(words_size(1023, size), "1023 B");
    assert_string_equal(words_size(1024, size), "1.0 KiB");
    assert_string_equal(words_size(1024 * 1024 - 1, size), "1023.9 KiB");
    assert_string_equal(words_size(INT64_C(1288490188), size), "1.1 GiB");
    assert_string_equal(words_size(INT64_MAX, size), "8191.9 PiB");
}

static int by_key(const void *a, const void *b)
{
    const struct cut_file *x = a, *y = b;

    return cut_is_before(x->key, y->key) ? 1 : cut_is_before(y->key, x->key) ? -1 : 0;
}

/* Against the plain way: sort all, the newest first, and count. */
static void test_cut_is_what_sorting_finds(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct cut_file files[40];
        size_t count = (size_t)unit_random_in(&random, 0, 40), fit = 0;
        struct cut c = { .files_max = (size_t)unit_random_in(&random, 1, 45),
                         .bytes_max = unit_random_in(&random, 0, 1500) };
        struct cut_key kept;
        int64_t bytes = 0;

        for (size_t i = 0; i < count; i++) {
            /* Few instants, so that many are equal. */
            files[i].key.changed_ns = unit_random_in(&random, -3, 3);
            files[i].key.inode = i;
            files[i].bytes = unit_random_in(&random, 0, 100);
            assert_int_equal(cut_add(&c, files[i]), 0);
        }
        qsort(files, count, sizeof(files[0]), by_key);
        while (fit < count && fit < c.files_max && bytes + files[fit].bytes <= c.bytes_max)
            bytes += files[fit++].bytes;
        kept = cut_oldest_kept(&c);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(cut_is_before(files[i].key, cut_at(&c)), i >= fit);
            assert_int_equal(cut_is_before(files[i].key, kept), i >= fit);
        }
        cut_done(&c);
    }
}

/* Two names of one file: a count keeps both, a size keeps both or none. */
static void test_equal_keys(void **state)
{
    const struct cut_file twin = { .key = { 5, 1 }, .bytes = 10 },
                          old = { .key = { 4, 2 }, .bytes = 1 };
    struct cut c = { .files_max = 1, .bytes_max = INT64_MAX };

    (void)state;
    assert_int_equal(cut_add(&c, twin), 0);
    assert_int_equal(cut_add(&c, twin), 0);
    assert_int_equal(cut_add(&c, old), 0);
    assert_false(cut_is_before(twin.key, cut_oldest_kept(&c)));
    assert_true(cut_is_before(old.key, cut_oldest_kept(&c)));
    cut_done(&c);
    c = (struct cut){ .files_max = 10, .bytes_max = 15 };
    assert_int_equal(cut_add(&c, twin), 0);
    assert_int_equal(cut_add(&c, twin), 0);
    assert_true(cut_is_before(twin.key, cut_at(&c)));
    cut_done(&c);
}

/* A tree in a folder of its own, in which "in" is walked and "out" must stay as it is. */
struct tree {
    char folder[32];
    int fd, root;
    struct walk walk;
    char seen[512]; /* files that were looked at, "a b " */
    char troubles[256];
    const char *when; /* once this file is looked at: */
    void (*then)(struct tree *t);
};

static void make_folder(struct tree *t, const char *path)
{
    assert_int_equal(mkdirat(t->fd, path, 0700), 0);
}

static void make_file(struct tree *t, const char *path)
{
    int fd = openat(t->fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static bool exists(struct tree *t, const char *path)
{
    return faccessat(t->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool wants(void *context, const char *name)
{
    (void)context;
    (void)name;
    return true;
}

static bool remove_file(void *context, int fd, const char *name, const struct statx *st)
{
    struct tree *t = context;

    strncat(t->seen, name, sizeof(t->seen) - strlen(t->seen) - 1);
    strncat(t->seen, " ", sizeof(t->seen) - strlen(t->seen) - 1);
    if (t->when && strcmp(t->when, name) == 0)
        t->then(t);
    return S_ISREG(st->stx_mode) && unlinkat(fd, name, 0) == 0;
}

static bool remove_folder(void *context, int fd, const struct walk_level *level)
{
    (void)context;
    return unlinkat(fd, level->name, AT_REMOVEDIR) == 0;
}

static void trouble(void *context, const char *name, int error)
{
    struct tree *t = context;
    char path[64];
    size_t used = strlen(t->troubles);

    walk_path(&t->walk, name, path, sizeof(path));
    snprintf(t->troubles + used, sizeof(t->troubles) - used, "%s: %d ", path, error);
}

static bool stop(void *context)
{
    (void)context;
    return false;
}

static const struct walk_calls calls = { wants, remove_file, remove_folder, trouble, stop };

static int begin(void **state)
{
    static struct tree t;

    t = (struct tree){ .folder = "/tmp/prune-XXXXXX" };
    if (!mkdtemp(t.folder))
        return -1;
    t.fd = open(t.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_folder(&t, "in");
    make_folder(&t, "out");
    make_folder(&t, "out/z");
    make_file(&t, "out/z/stays");
    t.root = openat(t.fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    t.walk = (struct walk){
        .root = t.root, .recursive = true, .one_file_system = true, .calls = &calls, .context = &t
    };
    *state = &t;
    return t.root < 0 ? -1 : 0;
}

static int end(void **state)
{
    struct tree *t = *state;
    char command[64];

    close(t->root);
    close(t->fd);
    snprintf(command, sizeof(command), "rm -rf %s", t->folder);
    return system(command); /* NOLINT(cert-env33-c): a path of ours alone */
}

static void test_walk_removes_all_below(void **state)
{
    struct tree *t = *state;

    make_folder(t, "in/a");
    make_folder(t, "in/a/b");
    make_file(t, "in/a/b/f");
    make_file(t, "in/g");
    assert_int_equal(symlinkat("../out/z", t->fd, "in/link"), 0);
    assert_int_equal(walk_run(&t->walk), 0);
    assert_string_equal(t->troubles, "");
    assert_false(exists(t, "in/a"));
    assert_false(exists(t, "in/g"));
    assert_true(exists(t, "in/link"));
    assert_true(exists(t, "out/z/stays"));
}

/* In the place of the folder that waits, whichever the other was. */
static void put_link(struct tree *t)
{
    bool in_y = strcmp(t->walk.levels[1].name, "y") == 0;

    t->when = NULL;
    assert_int_equal(renameat(t->fd, in_y ? "in/z" : "in/y", t->fd, "out/was"), 0);
    assert_int_equal(symlinkat("../out/z", t->fd, in_y ? "in/z" : "in/y"), 0);
}

static void test_a_link_in_the_place_of_a_folder(void **state)
{
    struct tree *t = *state;

    make_folder(t, "in/y");
    make_file(t, "in/y/now");
    make_folder(t, "in/z");
    make_file(t, "in/z/now");
    t->when = "now";
    t->then = put_link;
    assert_int_equal(walk_run(&t->walk), 0);
    assert_true(exists(t, "out/z/stays"));
    assert_true(exists(t, "out/was/now"));
    assert_true(exists(t, "in/y") != exists(t, "in/z"));
    assert_string_equal(t->troubles, "");
}

static void move_out(struct tree *t)
{
    assert_int_equal(renameat(t->fd, "in/a", t->fd, "out/a"), 0);
}

/* From the moved folder ".." leads out, where a folder has the name of one that waits. */
static void test_a_folder_is_moved_out_while_it_is_open(void **state)
{
    struct tree *t = *state;

    make_folder(t, "in/a");
    make_file(t, "in/a/now");
    make_folder(t, "in/z");
    make_file(t, "in/z/goes");
    t->when = "now";
    t->then = move_out;
    assert_int_equal(walk_run(&t->walk), 0);
    assert_true(exists(t, "out/z/stays"));
    assert_true(exists(t, "out/a"));
    assert_false(exists(t, "in/z"));
}

static void move_middle(struct tree *t)
{
    assert_int_equal(renameat(t->fd, "in/a/b", t->fd, "out/b"), 0);
}

static void test_two_levels_are_moved_out(void **state)
{
    struct tree *t = *state;

    make_folder(t, "in/a");
    make_folder(t, "in/a/b");
    make_folder(t, "in/a/b/c");
    make_file(t, "in/a/b/c/now");
    make_folder(t, "in/a/y");
    make_file(t, "in/a/y/goes");
    t->when = "now";
    t->then = move_middle;
    assert_int_equal(walk_run(&t->walk), 0);
    assert_true(exists(t, "out/z/stays"));
    assert_false(exists(t, "in/a/y"));
    assert_true(exists(t, "in/a"));
}

static void replace_parent(struct tree *t)
{
    t->when = NULL;
    assert_int_equal(renameat(t->fd, "in/a/b/c", t->fd, "out/c"), 0);
    assert_int_equal(renameat(t->fd, "in/a/b/d", t->fd, "out/d"), 0);
    assert_int_equal(renameat(t->fd, "in/a/b", t->fd, "out/b"), 0);
    make_folder(t, "in/a/b");
    make_folder(t, "in/a/b/c");
    make_file(t, "in/a/b/c/fresh");
    make_folder(t, "in/a/b/d");
    make_file(t, "in/a/b/d/fresh");
}

/* Another folder has the name of the one to go back to: the names that wait are not of it. */
static void test_another_folder_in_its_place(void **state)
{
    struct tree *t = *state;

    make_folder(t, "in/a");
    make_folder(t, "in/a/b");
    make_folder(t, "in/a/b/c");
    make_file(t, "in/a/b/c/now");
    make_folder(t, "in/a/b/d");
    make_file(t, "in/a/b/d/now");
    t->when = "now";
    t->then = replace_parent;
    assert_int_equal(walk_run(&t->walk), 0);
    assert_true(exists(t, "in/a/b/c/fresh"));
    assert_true(exists(t, "in/a/b/d/fresh"));
    assert_string_equal(t->troubles, "a: 116 "); /* ESTALE */
}

static void test_paths_in_messages(void **state)
{
    struct tree *t = *state;
    struct walk_level levels[3] = { { .name = NULL },
                                    { .name = (char[]){ "a\n" } },
                                    { .name = (char[]){ "bcdefgh" } } };
    struct walk w = { .levels = levels, .depth = 3 };
    char buf[32];

    (void)t;
    assert_string_equal(walk_path(&w, "f", buf, 32), "a\\x0a/bcdefgh/f");
    assert_string_equal(walk_path(&w, NULL, buf, 32), "a\\x0a/bcdefgh");
    assert_string_equal(walk_path(&w, "f", buf, 15), ".../bcdefgh/f");
    w.depth = 1;
    assert_string_equal(walk_path(&w, "f", buf, 32), "f");
    assert_string_equal(walk_path(&w, NULL, buf, 32), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_cut_is_what_sorting_finds),
        cmocka_unit_test(test_equal_keys),
        cmocka_unit_test_setup_teardown(test_walk_removes_all_below, begin, end),
        cmocka_unit_test_setup_teardown(test_a_link_in_the_place_of_a_folder, begin, end),
        cmocka_unit_test_setup_teardown(test_a_folder_is_moved_out_while_it_is_open, begin, end),
        cmocka_unit_test_setup_teardown(test_two_levels_are_moved_out, begin, end),
        cmocka_unit_test_setup_teardown(test_another_folder_in_its_place, begin, end),
        cmocka_unit_test_setup_teardown(test_paths_in_messages, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
