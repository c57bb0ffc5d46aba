/* SPDX-License-Identifier: MIT */
#include "config/job_setup.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/user.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_PREFIX "ROTA_"

/* A name that is written, and the file that knows it: that of the tree, where there is one. */
struct lookup {
    struct reading *r;
    int line;
    const char *key; /* "user" */
    const char *name;
    const char *file; /* where it was looked for */
};

/* What a look-up has ended with. In a tree it is no mistake where it is not there: systemd-sysusers
 * may create it when the device starts. */
static void note_lookup(const struct lookup *l, int error)
{
    struct reading *r = l->r;

    bool tree = r->root[0] != '\0';

    if (error == -ENOENT)
        reading_problem(
            r, tree ? PROBLEM_WARNING : PROBLEM_ERROR, l->line,
            "%s is \"%s\", and no %s has that name in %s; %s", l->key, l->name, l->key, l->file,
            tree ? "the device needs it before rotad starts" : "create it, or name another");
    else if (error == -E2BIG)
        reading_problem(r, PROBLEM_ERROR, l->line,
                        "user \"%s\" is in more than %d groups; name a user with fewer", l->name,
                        USER_GROUPS_MAX);
    else
        reading_problem(r, PROBLEM_ERROR, l->line, "%s is \"%s\", and %s cannot be read: %s",
                        l->key, l->name, l->file, strerror(-error));
}

/* A rotad without the right to switch is one user, with one primary group. */
static void note_no_right(const struct lookup *l)
{
    reading_problem(l->r, PROBLEM_ERROR, l->line,
                    "%s is \"%s\", and this rotad has no right to be another %s than its own; "
                    "start it as root, or leave %s out",
                    l->key, l->name, l->key, l->key);
}

static void keep_groups(struct reading *r, struct job_identity *identity, const uint32_t *groups,
                        uint32_t count)
{
    if (count == 0)
        return;
    identity->groups = malloc(count * sizeof(*groups));
    if (!identity->groups) {
        r->no_memory = true;
        return;
    }
    memcpy(identity->groups, groups, count * sizeof(*groups));
    identity->group_count = count;
}

static void find_user(struct reading *r, int line)
{
    struct job_identity *identity = &r->job->setup->identity;
    CLEANUP_FREE char *passwd = reading_path(r, USER_PASSWD_FILE);
    CLEANUP_FREE char *group = reading_path(r, USER_GROUP_FILE);
    struct lookup l = { r, line, "user", r->job->setup->user, passwd };
    uint32_t groups[USER_GROUPS_MAX];
    struct user user;
    int count;

    if (!passwd || !group)
        return;
    count = user_by_name_in(passwd, r->job->setup->user, &user);
    if (count == 0) {
        l.file = group;
        count = user_groups_in(group, r->job->setup->user, groups);
    }
    if (count < 0) {
        note_lookup(&l, count);
        return;
    }
    if (r->root[0] != '\0')
        return;
    if (user.uid != geteuid() && !user_may_switch()) {
        note_no_right(&l);
        return;
    }
    identity->uid = user.uid;
    identity->gid = user.gid;
    identity->home = reading_copy(r, user.home);
    keep_groups(r, identity, groups, (uint32_t)count);
}

static void find_group(struct reading *r, int line)
{
    CLEANUP_FREE char *file = reading_path(r, USER_GROUP_FILE);
    const struct lookup l = { r, line, "group", r->job->setup->group, file };
    gid_t gid;
    int error;

    if (!file)
        return;
    error = user_group_by_name_in(file, r->job->setup->group, &gid);
    if (error < 0)
        note_lookup(&l, error);
    else if (r->root[0] == '\0' && gid != getegid() && !user_may_switch())
        note_no_right(&l);
    else if (r->root[0] == '\0')
        r->job->setup->identity.gid = gid;
}

static size_t name_length(const char *variable)
{
    return strcspn(variable, "=");
}

static bool same_name(const char *a, const char *b)
{
    return name_length(a) == name_length(b) && strncmp(a, b, name_length(a)) == 0;
}

static void check_variable(struct reading *r, int line, char *const *variable)
{
    int length = (int)name_length(*variable);

    if (strncmp(*variable, OWN_PREFIX, strlen(OWN_PREFIX)) == 0)
        reading_problem(r, PROBLEM_ERROR, line,
                        "environment has %.*s; names that begin with " OWN_PREFIX
                        " are rota's own, write another",
                        length, *variable);
    for (char *const *before = r->job->setup->environment; before < variable; before++)
        if (same_name(*before, *variable)) {
            reading_problem(r, PROBLEM_ERROR, line, "environment has %.*s twice; keep one of them",
                            length, *variable);
            return;
        }
}

static void check_environment(struct reading *r, int line)
{
    for (char **variable = r->job->setup->environment; variable && *variable; variable++)
        check_variable(r, line, variable);
}

/* No mistake: a disk may be mounted later. */
static void check_working_dir(struct reading *r, int line)
{
    const char *folder = r->job->setup->working_dir;
    struct stat st;

    if (!r->source->for_people || r->root[0] != '\0')
        return;
    if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
        reading_problem(
            r, PROBLEM_WARNING, line,
            "working_dir is \"%s\", and there is no such folder now; it has to be there "
            "when a run begins",
            folder);
}

static void read_limits(struct reading *r, const config_setting_t *s)
{
    const struct schema_group *g = schema_group(SCHEMA_LIMITS);
    char quoted[PARSE_QUOTE_SIZE];
    struct limits *limits = &r->job->setup->limits;
    struct group_lines lines;

    *limits = (struct limits)LIMITS_NONE;
    group_defaults(r, g, limits);
    if (!s)
        return;
    if (config_setting_is_group(s))
        group_read(r, g, s, limits, &lines);
    else
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "limits is %s; write a group, such as limits = { memory = \"64MiB\"; };",
                        parse_quote(s, quoted, sizeof(quoted)));
}

void job_setup_settle(struct reading *r, const struct schema_group *g,
                      const struct group_lines *lines, const config_setting_t *s)
{
    const struct job_setup *setup = r->job->setup;
    bool here = !r->job->elsewhere;

    if (setup->user && here)
        find_user(r, group_line(g, lines, "user"));
    if (setup->group && here)
        find_group(r, group_line(g, lines, "group"));
    if (setup->working_dir && here)
        check_working_dir(r, group_line(g, lines, "working_dir"));
    check_environment(r, group_line(g, lines, "environment"));
    read_limits(r, config_setting_get_member(s, "limits"));
}
