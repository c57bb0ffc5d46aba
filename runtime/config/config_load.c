/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "base/text.h"
#include "base/user.h"
#include "config/config.h"
#include "config/device.h"
#include "config/job.h"
#include "config/job_sharing.h"
#include "config/pack.h"
#include "config/server.h"
#include "config/sources.h"
#include "config/trust.h"
#include "config/version.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)256 * 1024)
#define JOBS_MAX SCAN_JOBS_MAX

static void note_missing_file(struct reading *r)
{
    char target[PATH_MAX];
    ssize_t n = readlink(r->file, target, sizeof(target) - 1);

    if (n <= 0) {
        reading_problem(r, PROBLEM_ERROR, 0,
                        "there is no such file; write it, or name another with -c%s",
                        r->root[0] != '\0' ? ", whose path is one below --root" : "");
        return;
    }
    target[n] = '\0';
    reading_problem(r, PROBLEM_ERROR, 0, "this link leads to %s, which is not there; %s", target,
                    r->main_file ? "write that file, or name another with -c"
                                 : "remove the link, or let it lead to /dev/null, which masks the "
                                   "files of its name");
}

/* Reads and parses r->file. False: noted. */
static bool open_file(struct reading *r, struct parse *ret_parse)
{
    CLEANUP_FREE char *path = reading_path(r, r->file + strlen(r->root));
    struct trust_text file = { 0 };
    char why[TRUST_WHY_SIZE];
    bool good;
    int error;

    if (!path)
        return false;
    error = trust_read(path, &(struct trust_rule){ r->root, FILE_BYTES_MAX, TRUST_ANYBODY }, &file,
                       why);
    if (error == -ENOMEM)
        r->no_memory = true;
    else if (error == -ENOENT)
        note_missing_file(r);
    else if (error < 0)
        reading_problem(r, PROBLEM_ERROR, 0, "this file is not used: %s", why);
    good = error == 0 && parse_text(r, file.text, file.size, ret_parse);
    free(file.text);
    return good;
}

static void read_jobs(struct reading *r, const config_setting_t *s)
{
    char quoted[PARSE_QUOTE_SIZE];
    int length = config_setting_length(s);

    if (!config_setting_is_group(s)) {
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "jobs is %s; write a group, jobs = { NAME = { ... }; };",
                        parse_quote(s, quoted, sizeof(quoted)));
        return;
    }
    if ((size_t)length > JOBS_MAX - r->config->job_count) {
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "with these %d jobs there would be more than %d, which is the most that "
                        "one rotad takes; give the others to a second rotad, by -c and "
                        "--runtime-dir",
                        length, JOBS_MAX);
        r->config->fatal = true;
        return;
    }
    for (int i = 0; i < length; i++)
        job_read(r, config_setting_get_elem(s, (unsigned)i));
}

static void default_folders(struct reading *r)
{
    char **folders;

    if (r->config->plugin_dirs)
        return;
    folders = calloc(2, sizeof(*folders));
    if (!folders) {
        r->no_memory = true;
        return;
    }
    folders[0] = reading_copy(r, r->source->plugin_dir_default);
    r->config->plugin_dirs = folders;
    r->own_plugin_dir = true;
}

/* No mistake where it is not there: systemd-sysusers may create it when the device starts. */
static void check_user_of_tree(struct reading *r, int line)
{
    CLEANUP_FREE char *passwd = reading_path(r, USER_PASSWD_FILE);
    struct user user;

    if (passwd && user_by_name_in(passwd, r->config->job_user, &user) < 0)
        reading_problem(r, PROBLEM_WARNING, line,
                        "job_user is \"%s\", and no user has that name in %s; the device needs it "
                        "before rotad starts",
                        r->config->job_user, passwd);
}

static void check_job_user(struct reading *r, int line)
{
    struct config *c = r->config;
    struct user user;

    c->job_user_written = line > 0;
    if (!c->job_user)
        return;
    if (r->root[0] != '\0')
        check_user_of_tree(r, line);
    else if (user_by_name(c->job_user, &user) < 0)
        reading_problem(
            r, PROBLEM_ERROR, line,
            "job_user is \"%s\", and no user has that name here; create it, or name another",
            c->job_user);
}

/* Where the keys that only jobs need are missed. */
struct needs {
    struct group_lines top;
    const char *file;
    bool too_old; /* this rota, for the main file */
};

/* One device has nobody to share with. */
static void check_local(struct reading *r, const struct group_lines *lines)
{
    const struct config *c = r->config;
    const struct schema_group *top = schema_group(SCHEMA_TOP);
    const struct {
        const char *name;
        bool chosen;
    } shared[] = { { "checkin", c->fleet.checkin_ms > 0 }, { "turns", c->fleet.turns_all } };

    if (c->store != CONFIG_STORE_LOCAL)
        return;
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
        if (shared[i].chosen)
            reading_problem(r, PROBLEM_WARNING, group_line(top, lines, shared[i].name),
                            "%s has no meaning with store = \"local\"; leave it out",
                            shared[i].name);
    if (c->redis.configured)
        reading_problem(r, PROBLEM_WARNING, group_line(top, lines, "redis"),
                        "redis is not used, since store is \"local\"; leave one of them out");
}

static void read_main(struct reading *r, struct needs *needs)
{
    const struct schema_group *g = schema_group(SCHEMA_TOP);
    const config_setting_t *root, *jobs;
    struct parse p;

    if (!open_file(r, &p)) {
        device_settle(r, &(struct device_lines){ 0 });
        server_read(r, NULL);
        default_folders(r);
        return;
    }
    root = config_root_setting(&p.tree);
    if (!version_suffices(r, config_setting_get_member(root, "requires"))) {
        parse_done(&p);
        needs->too_old = true;
        return;
    }
    group_read(r, g, root, r->config, &needs->top);
    version_check(r, group_line(g, &needs->top, "requires"));
    device_settle(r, &(struct device_lines){
                         .device = group_line(g, &needs->top, "device"),
                         .device_file = group_line(g, &needs->top, "device_file"),
                     });
    check_job_user(r, group_line(g, &needs->top, "job_user"));
    server_read(r, config_setting_get_member(root, "redis"));
    default_folders(r);
    check_local(r, &needs->top);
    jobs = config_setting_get_member(root, "jobs");
    if (jobs)
        read_jobs(r, jobs);
    parse_done(&p);
}

static void read_part(struct reading *r)
{
    const config_setting_t *root;
    struct parse p;

    if (!open_file(r, &p))
        return;
    root = config_root_setting(&p.tree);
    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *s = config_setting_get_elem(root, (unsigned)i);

        if (strcmp(config_setting_name(s), "jobs") == 0)
            read_jobs(r, s);
        else
            reading_problem(r, PROBLEM_ERROR, parse_line(s),
                            "'%.80s' does not belong here; a file in jobs.d holds one jobs = { "
                            "NAME = { ... }; }; and all else stands in rotad.conf",
                            config_setting_name(s));
    }
    parse_done(&p);
}

static int by_name(const void *a, const void *b)
{
    const struct job_config *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order == 0)
        order = strcmp(x->file, y->file);
    return order;
}

static void note_twice(struct reading *r, struct job_config *job, const struct job_config *other)
{
    r->job = job;
    r->file = job->file;
    reading_problem(r, PROBLEM_ERROR, job->line, "it stands here and in %s:%d; keep one of them",
                    other->file, other->line);
    r->job = NULL;
}

/* Brings the jobs into their order and keeps one of each name. */
static void sort_jobs(struct reading *r)
{
    struct config *c = r->config;
    size_t kept = 0;

    if (c->job_count == 0)
        return;
    qsort(c->jobs, c->job_count, sizeof(*c->jobs), by_name);
    for (size_t i = 1; i < c->job_count; i++) {
        if (strcmp(c->jobs[kept].name, c->jobs[i].name) != 0) {
            c->jobs[++kept] = c->jobs[i];
            continue;
        }
        note_twice(r, &c->jobs[kept], &c->jobs[i]);
        note_twice(r, &c->jobs[i], &c->jobs[kept]);
        job_free(&c->jobs[i]);
    }
    c->job_count = kept + 1;
}

/* No jobs means no traffic, and then nothing of Redis has to be known. */
static void check_needs(struct reading *r, const struct needs *needs)
{
    const struct schema_group *top = schema_group(SCHEMA_TOP), *redis = schema_group(SCHEMA_REDIS);
    int redis_line = group_line(top, &needs->top, "redis");

    if (r->config->job_count == 0 || r->config->fatal)
        return;
    r->file = needs->file;
    r->main_file = true;
    if (r->config->store == CONFIG_STORE_LOCAL)
        return;
    if (group_line(top, &needs->top, "prefix") == 0)
        group_note_missing(r, schema_find(top, "prefix"), 0);
    if (redis_line == 0)
        group_note_missing(r, schema_find(top, "redis"), 0);
    else if (!r->config->redis.configured)
        group_note_missing(r, schema_find(redis, "address"), redis_line);
}

static void read_all(struct reading *r, const struct sources *s)
{
    struct needs needs = { .file = s->main_file };

    group_defaults(r, schema_group(SCHEMA_TOP), r->config);
    r->file = s->main_file;
    r->main_file = true;
    read_main(r, &needs);
    r->main_file = false;
    for (size_t i = 0; i < s->count && !needs.too_old; i++) {
        r->file = s->parts[i].path;
        read_part(r);
    }
    sort_jobs(r);
    job_note_same_keys(r);
    job_sharing_note_same_locks(r);
    check_needs(r, &needs);
    if (!r->config->prefix)
        r->config->prefix = text_print("%s", "");
    if (!r->config->prefix || !r->config->device)
        r->no_memory = true;
}

int config_load(const struct config_source *source, struct config **ret_config)
{
    struct reading r = { .source = source, .root = source->root ? source->root : "" };
    struct sources sources = { 0 };

    r.config = calloc(1, sizeof(*r.config));
    if (!r.config)
        return -ENOMEM;
    r.config->described = source->described;
    if (sources_find(&r, source->file, &sources) < 0)
        r.no_memory = true;
    else
        read_all(&r, &sources);
    sources_done(&sources);
    if (r.no_memory || pack_jobs(r.config) < 0) {
        config_free(r.config);
        return -ENOMEM;
    }
    *ret_config = r.config;
    return 0;
}
