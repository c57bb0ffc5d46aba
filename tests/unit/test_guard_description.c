/* SPDX-License-Identifier: MIT
 * Descriptions of plugins: what is written reads back the same, and no byte of a file is trusted.
 */
#include "guard/description.h"
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int run(const struct rota_run *r)
{
    (void)r;
    return ROTA_SUCCEEDED;
}

static struct rota_param all[] = {
    { .name = "text", .type = ROTA_STRING, .min = "2", .max = "8", .help = " two\nlines\\ " },
    { .name = "mode", .type = ROTA_STRING, .def = "fast", .choices = "fast|slow" },
    { .name = "where", .type = ROTA_STRING, .flags = ROTA_REQUIRED | ROTA_SECRET | ROTA_PATH },
    { .name = "count", .type = ROTA_INTEGER, .flags = ROTA_REQUIRED, .min = "-1", .max = "10" },
    { .name = "ratio", .type = ROTA_NUMBER, .def = "0.5", .max = "1" },
    { .name = "really", .type = ROTA_BOOLEAN, .def = "true" },
    { .name = "wait", .type = ROTA_DURATION, .def = "1m30s", .min = "1s", .max = "1h" },
    { .name = "room", .type = ROTA_SIZE, .flags = ROTA_SECRET, .max = "1GiB" },
    { .name = "names", .type = ROTA_STRINGS, .def = "[ \"a\", \"b c\" ]", .help = "" },
    { .name = "odd",
      .type = ROTA_STRING,
      .def = "gr\xc3\xb6\xc3\x9f"
             "e\x1b[31m\xff\xc3",
      .help = " " },
    { .name = NULL },
};

static struct plugin whole(void)
{
    return (struct plugin){
        .contract = { .abi = ROTA_ABI,
                      .name = "all-1",
                      .version = "1.0",
                      .summary = "S.",
                      .run = run },
        .params = all,
        .param_count = sizeof(all) / sizeof(all[0]) - 1,
    };
}

/* On the heap, with room for one more. */
static char *written(const struct plugin *p, size_t *ret_length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_length);

    assert_non_null(out);
    description_write(out, p);
    assert_int_equal(fclose(out), 0);
    return text;
}

static char *copy_of(const char *text, size_t length)
{
    char *copy = malloc(length + 1);

    assert_non_null(copy);
    memcpy(copy, text, length);
    return copy;
}

static int parse(const char *text, size_t length, struct plugin *ret_plugin,
                 struct problems *problems)
{
    *problems = (struct problems){ 0 };
    return description_parse(copy_of(text, length), length, "x", ret_plugin, problems);
}

static void assert_same(const char *a, const char *b)
{
    if (a && b)
        assert_string_equal(a, b);
    else
        assert_ptr_equal(a, b);
}

static void test_reads_back_the_same(void **state)
{
    struct plugin p = whole(), back;
    struct problems problems;
    size_t length;
    char *text = written(&p, &length);

    (void)state;
    assert_int_equal(parse(text, length, &back, &problems), 0);
    free(text);
    assert_string_equal(back.contract.name, "all-1");
    assert_string_equal(back.contract.version, "1.0");
    assert_string_equal(back.contract.summary, "S.");
    assert_int_equal(back.contract.abi, ROTA_ABI);
    assert_null(back.contract.run);
    assert_int_equal(back.param_count, p.param_count);
    for (size_t i = 0; i < p.param_count; i++) {
        assert_string_equal(back.params[i].name, all[i].name);
        assert_int_equal(back.params[i].type, all[i].type);
        assert_int_equal(back.params[i].flags, all[i].flags);
        assert_same(back.params[i].def, all[i].def);
        assert_same(back.params[i].min, all[i].min);
        assert_same(back.params[i].max, all[i].max);
        assert_same(back.params[i].choices, all[i].choices);
        assert_same(back.params[i].help, all[i].help);
    }
    loader_done(&back);
}

static void test_is_fit_for_a_terminal(void **state)
{
    struct plugin p = whole();
    size_t length;
    char *text = written(&p, &length);

    (void)state;
    for (size_t i = 0; i < length; i++)
        assert_true(text[i] == '\n' || (unsigned char)text[i] >= 0x20);
    assert_non_null(strstr(text, "  help: \\x20two\\x0alines\\\\\\x20\n"));
    assert_non_null(strstr(text, "  default: gr\xc3\xb6\xc3\x9f"
                                 "e\\x1b[31m\\xff\\xc3\n"));
    assert_non_null(strstr(text, "  flags: required, secret, path\n"));
    free(text);
}

static void test_a_file_that_was_cut_is_noticed(void **state)
{
    struct plugin p = whole(), back;
    struct problems problems;
    size_t length;
    char *text = written(&p, &length);

    (void)state;
    for (size_t cut = 0; cut < length; cut++) {
        assert_int_equal(parse(text, cut, &back, &problems), -EBADMSG);
        assert_true(problems.count > 0);
    }
    free(text);
}

/* Whatever a byte becomes: a table that was checked, or problems. The sanitizers see the rest. */
static void test_each_byte_changed(void **state)
{
    static const char others[] = { '\0', '\n', '\\', ':', ' ', 'x', '0', (char)0x80, (char)0xff };
    struct plugin p = whole(), back;
    struct problems problems;
    size_t length;
    char *text = written(&p, &length);

    (void)state;
    for (size_t at = 0; at < length; at++) {
        char was = text[at];

        for (size_t i = 0; i < sizeof(others); i++) {
            text[at] = others[i];
            if (parse(text, length, &back, &problems) < 0) {
                assert_true(problems.count > 0);
                continue;
            }
            for (size_t k = 0; k < back.param_count; k++)
                assert_null(loader_param_mistake(&back, k));
            loader_done(&back);
        }
        text[at] = was;
    }
    free(text);
}

#define HEAD "plugin: a\nversion: 1\ncontract: 1\nsummary: s\n"

static void test_mistakes_have_their_line(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        { "", "x is empty; write it by rota-guard --describe" },
        { "\n", "x:1: it ends without the line that counts the parameters" },
        { "plugin: A\n", "x:1: 'A' is no plugin's name" },
        { HEAD "\nno line\n", "x:6: this is no line of a description" },
        { HEAD "colour: red\n", "x:5: a description has no key 'colour'" },
        { HEAD "version: 1\n", "x:5: version is there twice" },
        { HEAD "type: string\n", "x:5: type belongs after the line of the first parameter" },
        { "version: 1\ncontract: 2\n",
          "x:2: it describes a plugin of contract 2, this rota has 1" },
        { HEAD "parameter: p\nversion: 1\n", "x:6: version belongs before the first parameter" },
        { HEAD "parameter: p\ntype: lst\n", "x:6: 'lst' is no type; write string, integer" },
        { HEAD "parameter: p\nflags: required, x\n", "x:6: 'x' is no flag" },
        { HEAD "parameter: p\nhelp: a\nhelp: b\n", "x:7: help is there twice" },
        { HEAD "parameter: p\nparameters: 1\n", "x:5: the parameter 'p' has no type" },
        { HEAD "parameter: P\ntype: size\nparameters: 1\n", "x:5: the parameter 'P' has a name" },
        { HEAD "parameter: p\ntype: size\nmax: 5\nparameters: 1\n",
          "x:5: the parameter 'p' has a max that is no value of its type" },
        { HEAD "parameter: p\ntype: size\nparameter: p\ntype: size\nparameters: 2\n",
          "x:7: the parameter 'p' has the name of another one" },
        { HEAD "parameters: 2\n", "x:5: it says that there are 2 parameters and has 0" },
        { HEAD "parameters: 0\nhelp: x\n", "x:6: nothing comes after the count" },
        { HEAD "parameters: 0", "x:5: the line has no end; the file was cut short" },
        { HEAD "parameter: p\nhelp: \\d\n", "x:6: a backslash is written" },
        { HEAD "parameter: p\nhelp: \\x00\n", "x:6: a backslash is written" },
        { HEAD "parameter: p\nhelp: a\tb\n", "x:6: byte 8 is a control character, 0x09" },
        { "plugin: a\ncontract: 1\nsummary: s\nparameters: 0\n", "x:4: it has no version" },
    };
    struct plugin back;
    struct problems problems;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(parse(cases[i].text, strlen(cases[i].text), &back, &problems), -EBADMSG);
        if (strncmp(problems.text[0], cases[i].said, strlen(cases[i].said)) != 0)
            fail_msg("case %zu: %s", i, problems.text[0]);
        assert_int_equal(problems.param[0], -1);
    }
}

static void test_every_mistake_is_told(void **state)
{
    static const char text[] = HEAD "a: 1\nb: 2\nparameter: p\ntype: x\nparameters: 1\n";
    struct plugin back;
    struct problems problems;

    (void)state;
    assert_int_equal(parse(text, strlen(text), &back, &problems), -EBADMSG);
    assert_int_equal(problems.count, 3);
}

static void test_limits(void **state)
{
    struct rota_param many[PLUGIN_PARAMS_MAX + 2] = { { 0 } };
    char names[PLUGIN_PARAMS_MAX + 1][16], longest[DESCRIPTION_LINE_MAX + 1];
    struct plugin p = whole(), back;
    struct problems problems;
    size_t length;
    char *text;

    (void)state;
    for (size_t i = 0; i <= PLUGIN_PARAMS_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "p%zu", i);
        many[i] = (struct rota_param){ .name = names[i], .type = ROTA_SIZE };
    }
    p.params = many;
    p.param_count = PLUGIN_PARAMS_MAX;
    text = written(&p, &length);
    assert_int_equal(parse(text, length, &back, &problems), 0);
    loader_done(&back);
    free(text);
    p.param_count++;
    text = written(&p, &length);
    assert_int_equal(parse(text, length, &back, &problems), -EBADMSG);
    assert_non_null(strstr(problems.text[0], "a plugin has at most 255 parameters"));
    free(text);
    memset(longest, 's', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    p.param_count = 0;
    p.contract.summary = longest;
    text = written(&p, &length);
    assert_int_equal(parse(text, length, &back, &problems), -EBADMSG);
    assert_non_null(strstr(problems.text[0], "x:4: the line has 16393 bytes; the most is 16384"));
    free(text);
}

static int load(char *path, struct plugin *ret_plugin, struct problems *problems)
{
    struct trust_place place = { .path = path, .folder = -1 };

    return description_load(&place, ret_plugin, problems);
}

static void test_files(void **state)
{
    char folder[] = "/tmp/description-XXXXXX", path[64], fifo[64];
    struct plugin p = whole(), back;
    struct problems problems = { 0 };
    FILE *out;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a.description", folder);
    snprintf(fifo, sizeof(fifo), "%s/b.description", folder);
    assert_true(description_is_named(path));
    assert_false(description_is_named("a.so"));
    assert_int_equal(load(path, &back, &problems), -ENOENT);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(load(fifo, &back, &problems), -EINVAL);
    assert_int_equal(load(folder, &back, &problems), -EINVAL);
    out = fopen(path, "we");
    assert_non_null(out);
    description_write(out, &p);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(load(path, &back, &problems), 0);
    loader_done(&back);
    out = fopen(path, "we");
    assert_non_null(out);
    for (size_t i = 0; i <= DESCRIPTION_SIZE_MAX; i++)
        fputc('\n', out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(load(path, &back, &problems), -EFBIG);
    assert_int_equal(problems.count, 4);
    unlink(path);
    unlink(fifo);
    rmdir(folder);
}

static void write_to(const char *path, const char *text)
{
    FILE *out = fopen(path, "we");

    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

/* Of the plugin that lies beside it: written to the wrong place. A plugin whose file has another
 * name than itself is none of it. */
static void test_of_its_neighbour(void **state)
{
    char folder[] = "/tmp/description-XXXXXX", path[64], other[64], expected[256];
    struct problems problems = { 0 };
    struct plugin back;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a.description", folder);
    snprintf(other, sizeof(other), "%s/b.so", folder);
    write_to(path, "plugin: b\nversion: 1\ncontract: 1\nsummary: s\n\nparameters: 0\n");
    assert_int_equal(load(path, &back, &problems), 0);
    loader_done(&back);
    write_to(other, "");
    assert_int_equal(load(path, &back, &problems), -EBADMSG);
    snprintf(expected, sizeof(expected),
             "%s describes the plugin 'b', which is %s; write it anew, by rota-guard --describe of "
             "the plugin that it is beside",
             path, other);
    assert_string_equal(problems.text[0], expected);
    write_to(path, "plugin: a\nversion: 1\ncontract: 1\nsummary: s\n\nparameters: 0\n");
    assert_int_equal(load(path, &back, &problems), 0);
    loader_done(&back);
    unlink(other);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_back_the_same),
        cmocka_unit_test(test_is_fit_for_a_terminal),
        cmocka_unit_test(test_a_file_that_was_cut_is_noticed),
        cmocka_unit_test(test_each_byte_changed),
        cmocka_unit_test(test_mistakes_have_their_line),
        cmocka_unit_test(test_every_mistake_is_told),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_of_its_neighbour),
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
