/* SPDX-License-Identifier: MIT
 * The walk down a path by descriptors: what is refused, what is read, and that nobody gets between
 * the two. */
#include "unit.h"

#include "base/text.h"
#include "base/trust.h"
#include "support/folder.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Not the tests' own user, whoever that is. */
#define FOREIGN_USER 4242
/* Links that the kernel follows, too. */
#define LINKS_MAX 40

struct place {
    char folder[64];
    char buffers[4][PATH_MAX];
    int next;
    pid_t swapper; /* or 0 */
};

static const char *at(struct place *p, const char *name)
{
    char *buf = p->buffers[p->next++ % 4];

    assert_true(text_format(buf, PATH_MAX, "%s/%s", p->folder, name));
    return buf;
}

static void write_file(struct place *p, const char *name, const char *text)
{
    FILE *f = fopen(at(p, name), "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(at(p, name), 0644), 0);
}

static void make_folder(struct place *p, const char *name, mode_t mode)
{
    assert_int_equal(mkdir(at(p, name), 0755), 0);
    assert_int_equal(chmod(at(p, name), mode), 0);
}

static void link_to(struct place *p, const char *target, const char *name)
{
    assert_int_equal(symlink(target, at(p, name)), 0);
}

static void give_away(struct place *p, const char *name)
{
    assert_int_equal(lchown(at(p, name), FOREIGN_USER, (gid_t)-1), 0);
}

static void need_root(void)
{
    if (geteuid() != 0)
        skip();
}

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    text_copy(p->folder, sizeof(p->folder), "/tmp/trust-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    assert_int_equal(chmod(p->folder, 0755), 0);
    make_folder(p, "good", 0755);
    write_file(p, "good/file", "ours");
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    int error;

    if (p->swapper > 0) {
        kill(p->swapper, SIGKILL);
        waitpid(p->swapper, NULL, 0);
    }
    error = folder_remove(p->folder);
    free(p);
    return error;
}

/* The result; with 0, what it led to and what is read there. */
static int look(const char *path, char *text, size_t size, char *ret_path)
{
    char why[TRUST_WHY_SIZE];
    struct trust_place found = { 0 };
    ssize_t n = 0;
    int fd, r = trust_walk("", path, &found, why);

    if (r < 0)
        return r;
    if (ret_path)
        text_copy(ret_path, PATH_MAX, found.path);
    r = trust_open(&found, &fd, why);
    if (r == 0) {
        n = read(fd, text, size - 1);
        text[n > 0 ? n : 0] = '\0';
        close(fd);
    }
    trust_done(&found);
    return r;
}

static void expect(struct place *p, const char *name, const char *resolved)
{
    char text[32], path[PATH_MAX];

    assert_int_equal(look(at(p, name), text, sizeof(text), path), 0);
    assert_string_equal(text, "ours");
    assert_string_equal(path, at(p, resolved));
}

static void expect_error(struct place *p, const char *name, int error)
{
    char text[32];

    assert_int_equal(look(at(p, name), text, sizeof(text), NULL), error);
}

/* `part` is the one that the sentence names; `words` are of it. */
static void expect_refused(struct place *p, const char *name, const char *part, const char *words)
{
    struct trust_place found;
    char why[TRUST_WHY_SIZE] = "", start[PATH_MAX];

    snprintf(start, sizeof(start), "'%s' %s", at(p, part), words);
    assert_int_equal(trust_walk("", at(p, name), &found, why), -EPERM);
    assert_memory_equal(why, start, strlen(start));
}

static void test_paths(void **state)
{
    struct place *p = *state;
    char name[64];

    snprintf(name, sizeof(name), "../%s/good/file", strrchr(p->folder, '/') + 1);
    expect(p, "good/file", "good/file");
    expect(p, "/good//./file", "good/file");
    expect(p, "good/../good/file", "good/file");
    expect(p, name, "good/file");
    expect_error(p, "good/../../../../../nowhere", -ENOENT);
    expect_error(p, "nothing", -ENOENT);
    expect_error(p, "nothing/file", -ENOENT);
    expect_error(p, "good/file/x", -ENOTDIR);
    expect_error(p, "good/file/..", -ENOTDIR);
    expect_error(p, "good/file/", -ENOTDIR);
    expect_error(p, "good", -EBADF);
    expect_error(p, "good/", -EBADF);
    assert_int_equal(look("", name, sizeof(name), NULL), -ENOENT);
    assert_int_equal(look("/", name, sizeof(name), NULL), -EBADF);
}

static void test_relative_paths_are_of_the_working_directory(void **state)
{
    struct place *p = *state;
    char text[8], path[PATH_MAX];

    assert_int_equal(chdir(at(p, "good")), 0);
    assert_int_equal(look("file", text, sizeof(text), path), 0);
    assert_string_equal(path, at(p, "good/file"));
    assert_int_equal(look("../good/file", text, sizeof(text), path), 0);
    assert_int_equal(chdir("/"), 0);
}

static void test_what_is_too_long(void **state)
{
    struct place *p = *state;
    char name[NAME_MAX + 2], path[PATH_MAX + 8], text[8];

    memset(name, 'n', sizeof(name));
    name[NAME_MAX + 1] = '\0';
    expect_error(p, name, -ENAMETOOLONG);
    name[NAME_MAX] = '\0';
    expect_error(p, name, -ENOENT);
    memset(path, '/', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(look(path, text, sizeof(text), NULL), -ENAMETOOLONG);
}

static void test_links(void **state)
{
    struct place *p = *state;
    char absolute[PATH_MAX], before[32], name[32];

    text_copy(absolute, sizeof(absolute), at(p, "good/file"));
    link_to(p, absolute, "absolute");
    link_to(p, "good/file", "relative");
    link_to(p, "../good/./file", "good/upward");
    link_to(p, "good", "folder");
    link_to(p, "good/", "slash");
    link_to(p, "loop", "loop");
    link_to(p, "gone", "dangling");
    expect(p, "absolute", "good/file");
    expect(p, "relative", "good/file");
    expect(p, "good/upward", "good/file");
    expect(p, "folder/file", "good/file");
    expect(p, "slash/file", "good/file");
    expect(p, "folder/../good/file", "good/file");
    expect_error(p, "relative/", -ENOTDIR);
    expect_error(p, "loop", -ELOOP);
    expect_error(p, "dangling", -ENOENT);
    text_copy(before, sizeof(before), "good/file");
    for (int i = 1; i <= LINKS_MAX + 1; i++) {
        snprintf(name, sizeof(name), "chain%d", i);
        link_to(p, before, name);
        text_copy(before, sizeof(before), name);
    }
    expect(p, "chain40", "good/file");
    expect_error(p, "chain41", -ELOOP);
}

static void test_who_may_write(void **state)
{
    struct place *p = *state;

    assert_int_equal(chmod(at(p, "good/file"), 0664), 0);
    expect_refused(p, "good/file", "good/file", "can be changed by its group");
    assert_int_equal(chmod(at(p, "good/file"), 0602), 0);
    expect_refused(p, "good/file", "good/file", "can be changed by everybody");
    assert_int_equal(chmod(at(p, "good/file"), 0644), 0);
    make_folder(p, "open", 0777);
    link_to(p, "../good/file", "open/link");
    expect_refused(p, "open/link", "open", "can be changed by everybody");
    expect_refused(p, "open/../good/file", "open", "can be changed by everybody");
    link_to(p, "open/link", "to");
    expect_refused(p, "to", "open", "can be changed by everybody");
    assert_int_equal(chmod(at(p, "open"), 01777), 0);
    expect(p, "open/link", "good/file");
    assert_int_equal(link(at(p, "good/file"), at(p, "open/hard")), 0);
    expect(p, "open/hard", "open/hard");
}

static void test_whose_it_is(void **state)
{
    struct place *p = *state;

    need_root();
    make_folder(p, "sticky", 01777);
    link_to(p, "../good/file", "sticky/link");
    write_file(p, "sticky/file", "theirs");
    make_folder(p, "theirs", 0755);
    link_to(p, "../good/file", "theirs/link");
    expect(p, "sticky/link", "good/file");
    give_away(p, "sticky/link");
    give_away(p, "sticky/file");
    give_away(p, "theirs");
    expect_refused(p, "sticky/link", "sticky/link", "belongs to user 4242");
    expect_refused(p, "sticky/file", "sticky/file", "belongs to user 4242");
    expect_refused(p, "theirs/link", "theirs", "belongs to user 4242");
    expect_refused(p, "theirs/../good/file", "theirs", "belongs to user 4242");
    give_away(p, "sticky"); /* who owns a sticky folder may rename what is in it */
    expect_refused(p, "sticky/link", "sticky", "belongs to user 4242");
}

/* struct posix_acl_xattr_header and its entries, as the kernel has them. */
struct acl {
    uint32_t version;
    struct {
        uint16_t tag, bits;
        uint32_t id;
    } entries[5];
};

/* The mask is what the group's bits of the mode show. */
static void test_an_acl_shows_in_the_mode(void **state)
{
    struct place *p = *state;
    struct acl acl = { htole32(2),
                       { { htole16(1), htole16(6), UINT32_MAX },
                         { htole16(2), htole16(6), htole32(FOREIGN_USER) },
                         { htole16(4), htole16(4), UINT32_MAX },
                         { htole16(16), htole16(6), UINT32_MAX },
                         { htole16(32), htole16(4), UINT32_MAX } } };

    if (setxattr(at(p, "good/file"), "system.posix_acl_access", &acl, sizeof(acl), 0) < 0 &&
        errno == ENOTSUP)
        skip();
    expect_refused(p, "good/file", "good/file", "can be changed by its group");
    acl.entries[3].bits = htole16(4); /* the entry is there, but the mask takes its right away */
    assert_int_equal(setxattr(at(p, "good/file"), "system.posix_acl_access", &acl, sizeof(acl), 0),
                     0);
    expect(p, "good/file", "good/file");
}

/* It opens none of them; whoever did would wait. */
static void test_what_is_no_file(void **state)
{
    struct place *p = *state;

    assert_int_equal(mkfifo(at(p, "fifo"), 0600), 0);
    link_to(p, "fifo", "link");
    expect_error(p, "fifo", -EBADF);
    expect_error(p, "link", -EBADF);
    expect_error(p, "fifo/x", -ENOTDIR);
}

/* Their links are texts like others'. */
static void test_links_of_proc(void **state)
{
    struct place *p = *state;
    char path[64], text[8], found[PATH_MAX];
    int fds[2], fd = open(at(p, "good/file"), O_RDONLY | O_CLOEXEC);

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_int_equal(look(path, text, sizeof(text), found), 0);
    assert_string_equal(found, at(p, "good/file"));
    assert_int_equal(unlink(at(p, "good/file")), 0);
    assert_int_equal(look(path, text, sizeof(text), NULL), -ENOENT);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
    assert_int_equal(look(path, text, sizeof(text), NULL), -ENOENT);
    close(fds[0]);
    close(fds[1]);
    close(fd);
}

/* What was looked at is what is read, wherever its folder is by then, and whatever has its name. */
static void test_nothing_between_look_and_use(void **state)
{
    struct place *p = *state;
    char why[TRUST_WHY_SIZE], text[8] = "";
    struct trust_place found;
    int fd;

    assert_int_equal(trust_walk("", at(p, "good/file"), &found, why), 0);
    assert_string_equal(trust_name(&found), "file");
    assert_int_equal(rename(at(p, "good"), at(p, "away")), 0);
    make_folder(p, "good", 0777);
    write_file(p, "good/file", "theirs");
    assert_int_equal(trust_open(&found, &fd, why), 0);
    assert_int_equal(read(fd, text, sizeof(text)), 4);
    assert_string_equal(text, "ours");
    close(fd);
    assert_int_equal(chmod(at(p, "away/file"), 0666), 0);
    assert_int_equal(trust_open(&found, &fd, why), -EPERM);
    assert_int_equal(unlink(at(p, "away/file")), 0);
    assert_int_equal(mkfifo(at(p, "away/file"), 0600), 0);
    assert_int_equal(trust_open(&found, &fd, why), -EBADF);
    assert_int_equal(unlink(at(p, "away/file")), 0);
    link_to(p, "../good/file", "away/file");
    assert_int_equal(trust_open(&found, &fd, why), -ELOOP);
    trust_done(&found);
    trust_done(&found);
}

static void test_a_folder_without_a_way_for_us(void **state)
{
    struct place *p = *state;
    struct trust_place found;
    char why[TRUST_WHY_SIZE], path[PATH_MAX];
    int status;
    pid_t child;

    need_root();
    text_copy(path, sizeof(path), at(p, "good/file"));
    assert_int_equal(chmod(at(p, "good"), 0700), 0);
    child = fork();
    if (child == 0)
        _exit(seteuid(FOREIGN_USER) < 0 || trust_walk("", path, &found, why) != -EACCES);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_below_a_root(void **state)
{
    struct place *p = *state;
    struct trust_place found;
    char why[TRUST_WHY_SIZE], tree[PATH_MAX];
    int fd;

    make_folder(p, "tree", 0777);
    text_copy(tree, sizeof(tree), at(p, "tree"));
    make_folder(p, "tree/good", 0755);
    write_file(p, "tree/good/file", "ours");
    link_to(p, "/good/file", "tree/absolute");
    link_to(p, "../../../../good/file", "tree/upward");
    assert_int_equal(chmod(p->folder, 0777), 0);
    for (int i = 0; i < 3; i++) {
        const char *const paths[] = { "/good/file", "/absolute", "upward" };

        assert_int_equal(trust_walk(tree, paths[i], &found, why), 0);
        assert_string_equal(found.path, at(p, "tree/good/file"));
        assert_int_equal(trust_open(&found, &fd, why), 0);
        close(fd);
        trust_done(&found);
    }
    assert_int_equal(trust_walk(tree, "/good/nothing", &found, why), -ENOENT);
    assert_int_equal(chmod(at(p, "tree/good"), 0775), 0);
    assert_int_equal(trust_walk(tree, "/good/file", &found, why), -EPERM);
    assert_int_equal(trust_walk("", at(p, "tree/good/file"), &found, why), -EPERM);
}

/* As fast as it can, until it is killed: in a folder of its own, and in one that is sticky, every
 * trick by which a name can lead elsewhere. */
static void swap_for_ever(struct place *p)
{
    char own[PATH_MAX], sticky[PATH_MAX];

    text_copy(own, sizeof(own), at(p, "own"));
    text_copy(sticky, sizeof(sticky), at(p, "sticky"));
    if (setresuid(FOREIGN_USER, FOREIGN_USER, FOREIGN_USER) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        _exit(1);
    for (;;) {
        if (chdir(own) < 0)
            _exit(1);
        /* A folder of ours that lies in theirs, for one of their own, or a link to one of ours. */
        renameat2(AT_FDCWD, "way", AT_FDCWD, "theirs", RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "way", AT_FDCWD, "theirs", RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "way", AT_FDCWD, "link", RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "way", AT_FDCWD, "theirs", RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "way", AT_FDCWD, "theirs", RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "way", AT_FDCWD, "link", RENAME_EXCHANGE);
        if (chdir(sticky) < 0)
            _exit(1);
        rename("ours", "gone");
        rename("gone", "ours");
        (void)!symlink("../own/theirs", "gone");
        rename("gone", "ours");
        unlink("ours/file");
        unlink("gone");
    }
}

static void start_swapping(struct place *p)
{
    make_folder(p, "own", 0755);
    make_folder(p, "own/theirs", 0755);
    write_file(p, "own/theirs/file", "theirs");
    make_folder(p, "own/way", 0755);
    write_file(p, "own/way/file", "ours");
    link_to(p, "../good", "own/link");
    make_folder(p, "sticky", 01777);
    make_folder(p, "sticky/ours", 0755);
    write_file(p, "sticky/ours/file", "ours");
    give_away(p, "own/theirs/file");
    give_away(p, "own/theirs");
    give_away(p, "own");
    p->swapper = fork();
    assert_true(p->swapper >= 0);
    if (p->swapper == 0)
        swap_for_ever(p);
}

#define RACES 20000

static void test_swaps_by_another_user(void **state)
{
    struct place *p = *state;
    char text[32] = "";

    need_root();
    start_swapping(p);
    for (int i = 0; i < RACES; i++) {
        int r = look(at(p, "own/way/file"), text, sizeof(text), NULL);

        assert_string_not_equal(text, "theirs");
        assert_int_equal(r, -EPERM);
        assert_int_equal(look(at(p, "sticky/ours/file"), text, sizeof(text), NULL), 0);
        assert_string_equal(text, "ours");
    }
    assert_int_equal(waitpid(p->swapper, NULL, WNOHANG), 0); /* it has gone on all the time */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_paths),
        TEST(test_relative_paths_are_of_the_working_directory),
        TEST(test_what_is_too_long),
        TEST(test_links),
        TEST(test_who_may_write),
        TEST(test_whose_it_is),
        TEST(test_an_acl_shows_in_the_mode),
        TEST(test_what_is_no_file),
        TEST(test_links_of_proc),
        TEST(test_nothing_between_look_and_use),
        TEST(test_a_folder_without_a_way_for_us),
        TEST(test_below_a_root),
        TEST(test_swaps_by_another_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
