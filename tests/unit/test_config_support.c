/* SPDX-License-Identifier: MIT */
#include "test_config_support.h"
#include "base/text.h"
#include "support/folder.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* libconfig 1.5 loses the text that it has just read where a syntax error follows it: once a broken
 * file, at start or in a reload's child. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:strbuf_append\nleak:libconfig_yylex\n"; /* the latter where it is empty */
}

const char *place_path(const struct place *p, const char *name)
{
    static char paths[4][PATH_SIZE];
    static unsigned next;
    char *path = paths[next++ % COUNT_OF(paths)];

    assert_true(text_format(path, PATH_SIZE, "%s/%s", p->folder, name));
    return path;
}

static void make_folders(const struct place *p, const char *name)
{
    char path[PATH_SIZE];
    size_t start = strlen(p->folder) + 1;

    assert_true(text_copy(path, sizeof(path), place_path(p, name)));
    for (char *slash = strchr(path + start, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

void place_write_bytes(const struct place *p, const char *name, const void *data, size_t size)
{
    FILE *f;

    make_folders(p, name);
    f = fopen(place_path(p, name), "we");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

void place_write(const struct place *p, const char *name, const char *text)
{
    place_write_bytes(p, name, text, strlen(text));
}

int place_setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    umask(022);
    assert_true(text_copy(p->folder, sizeof(p->folder), "/tmp/rota-config-XXXXXX"));
    assert_non_null(mkdtemp(p->folder));
    place_write(p, "plugins/exec.so", "");
    place_write(p, "plugins/upload.so", "");
    *state = p;
    return 0;
}

int place_teardown(void **state)
{
    struct place *p = *state;
    int error = folder_remove(p->folder);

    free(p);
    return error;
}

static struct config *load(const struct place *p, const char *file, const char *root)
{
    struct config_source source = { .file = file, .root = root };
    struct config *c = NULL;

    source.plugin_dir_default = root ? "/plugins" : place_path(p, "plugins");
    assert_int_equal(config_load(&source, &c), 0);
    assert_non_null(c);
    return c;
}

struct config *place_load(const struct place *p, const char *name)
{
    return load(p, place_path(p, name), NULL);
}

struct config *place_load_system(const struct place *p)
{
    return load(p, NULL, p->folder);
}

struct config *place_load_text(const struct place *p, const char *text)
{
    place_write(p, "rotad.conf", text);
    return place_load(p, "rotad.conf");
}

static void remove_all(char *text, const char *part)
{
    size_t length = strlen(part);

    for (char *at = strstr(text, part); at; at = strstr(at, part))
        memmove(at, at + length, strlen(at + length) + 1);
}

char *place_problems(const struct place *p, const struct config *c)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);

    assert_non_null(out);
    for (size_t i = 0; i < c->problems.count; i++) {
        const struct problem *problem = &c->problems.items[i];
        char *text;

        if (strncmp(problem->text, "/etc/machine-id holds ", 22) == 0)
            continue; /* true of this machine, not of the file */
        text = config_problem_text(problem);
        assert_non_null(text);
        fprintf(out, "%s %s\n", problem->level == PROBLEM_ERROR ? "error" : "warning", text);
        free(text);
    }
    assert_int_equal(fclose(out), 0);
    remove_all(all, p->folder);
    return all;
}

void place_expect(const struct place *p, const struct config *c, const char *problems)
{
    char *all = place_problems(p, c);

    assert_string_equal(all, problems);
    free(all);
}
