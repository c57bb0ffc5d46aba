/* SPDX-License-Identifier: MIT
 * Conf files: whatever they hold, loading ends with a configuration or a problem, and a
 * configuration without one is printed as a file that means the same.
 *
 * An input is rotad.conf; each line "%%" begins a further file, of jobs.d. */
#include "config/config.h"
#include "config/fleet_summary.h"
#include "core/store.h"
#include "fuzz_place.h"
#include "supervisor/check_syntax.h"
#include "supervisor/check_unknown.h"
#include <unistd.h>

#define PARTS_MAX 3
#define DIVIDER "\n%%\n"

int LLVMFuzzerInitialize(int *argc, char ***argv);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 loses the text that it has just read where a syntax error follows it: once a broken
 * file, at start or in a reload's child. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:strbuf_append\nleak:libconfig_yylex\n"; /* the latter where it is empty */
}

__attribute__((visibility("default"))) int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    assert(mkdir(place_path("plugins"), 0755) == 0 && mkdir(place_path("jobs.d"), 0755) == 0);
    assert(mkdir(place_path("again"), 0755) == 0);
    place_write("plugins/exec.so", "", 0);
    return 0;
}

static struct config *load(const char *name)
{
    struct config_source source = { .file = place_path(name),
                                    .plugin_dir_default = place_path("plugins"),
                                    .explain = check_syntax_explain,
                                    .advise = check_unknown_advise };
    struct config *c = NULL;

    assert(config_load(&source, &c) == 0 && c);
    place_forget_secret();
    return c;
}

static char *print(const struct config *c, size_t *ret_size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_size);

    assert(out && config_print(c, out) == 0);
    assert(fclose(out) == 0);
    return text;
}

static void check_problems(const struct config *c)
{
    size_t errors = 0;

    for (size_t i = 0; i < c->problems.count; i++) {
        assert(c->problems.items[i].text[0] != '\0' && c->problems.items[i].line >= 0);
        errors += c->problems.items[i].level == PROBLEM_ERROR;
    }
    assert(errors <= c->problems.errors);
    assert(!c->fatal || c->problems.errors > 0);
}

static void check_jobs(const struct config *c)
{
    for (size_t i = 0; i < c->job_count; i++) {
        const struct job_config *job = &c->jobs[i];

        assert(job->name && job->file && job->line > 0);
        if (job->invalid) {
            assert(c->problems.errors > 0 && !config_job_runs(job));
            continue;
        }
        assert(job->spec.timing.worst_case_ms > 0 && job->spec.attempts > 0);
        assert((job->spec.schedule.every_ms > 0) != (job->cron != NULL));
        assert(i == 0 || strcmp(c->jobs[i - 1].name, job->name) <= 0);
    }
}

/* The jobs of `c` that are valid are those of `again`. */
static void check_same_jobs(const struct config *c, struct config *again)
{
    size_t valid = 0;

    for (size_t i = 0; i < c->job_count; i++) {
        const struct job_config *there;

        if (c->jobs[i].invalid)
            continue;
        there = config_find_job(again, c->jobs[i].name);
        assert(there && config_job_equal(&c->jobs[i], there));
        valid++;
    }
    assert(again->job_count == valid);
}

/* What is printed is read again. */
static void check_print(const struct config *c)
{
    size_t size, size_again;
    char *text = print(c, &size), *text_again;
    struct config *again;

    place_write("again/rotad.conf", text, size);
    again = load("again/rotad.conf");
    assert(!(again->fatal && again->job_count > 0 && c->redis.configured));
    assert(!config_fixed_change(c, again));
    if (c->problems.errors == 0) {
        assert(again->problems.errors == 0);
        check_same_jobs(c, again);
        text_again = print(again, &size_again);
        assert(size == size_again && memcmp(text, text_again, size) == 0);
        free(text_again);
    }
    free(text);
    config_free(again);
}

static void check_summary(const struct config *c)
{
    char digest[FINGERPRINT_SIZE], *text;

    fleet_summary_digest(c, digest);
    assert(fleet_summary_text(c, &text) == 0);
    assert(strlen(text) <= STORE_CONFIG_TEXT_MAX && (digest[0] == '\0') == (text[0] == '\0'));
    free(text);
}

/* The bytes of the next file; what is left of the input moves behind it. */
static size_t next_part(const char **at, size_t *left)
{
    const char *end = memmem(*at, *left, DIVIDER, strlen(DIVIDER));
    size_t size = end ? (size_t)(end - *at) + 1 : *left;
    size_t taken = end ? size - 1 + strlen(DIVIDER) : size;

    *at += taken;
    *left -= taken;
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[PARTS_MAX] = { "rotad.conf", "jobs.d/a.conf", "jobs.d/b.conf" };
    const char *at = (const char *)data;
    struct config *c;

    for (int i = 0; i < PARTS_MAX; i++) {
        const char *part = at;
        size_t part_size = next_part(&at, &size);

        if (i > 0 && part_size == 0)
            unlink(place_path(names[i]));
        else
            place_write(names[i], part, part_size);
    }
    c = load("rotad.conf");
    check_problems(c);
    check_jobs(c);
    check_summary(c);
    if (!c->fatal)
        check_print(c);
    config_free(c);
    return 0;
}
