/* SPDX-License-Identifier: MIT */
#include "supervisor/check.h"

#include "base/text.h"
#include "config/config.h"
#include "redis/secure.h"
#include "supervisor/check_help.h"
#include "supervisor/check_jobs.h"
#include "supervisor/check_online.h"
#include "supervisor/check_syntax.h"
#include "supervisor/check_topology.h"
#include "supervisor/check_unknown.h"
#include "supervisor/options.h"
#include "supervisor/probe.h"
#include "supervisor/process.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <systemd/sd-event.h>

struct check {
    sd_event *event;
    struct probe *probe;
    const struct setup_env *setup;
};

static int on_child(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    struct check *k = context;
    pid_t pid;
    int status;

    (void)source;
    (void)info;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        probe_child_ended(k->probe, pid, status);
    return 0;
}

static void on_done(void *context, struct config *config)
{
    struct check *k = context;

    (void)config;
    sd_event_exit(k->event, 0);
}

static int run_probe(struct check *k, struct config *config)
{
    sigset_t child;
    int r;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &child, NULL) < 0)
        return -errno;
    r = sd_event_new(&k->event);
    if (r < 0)
        return r;
    r = sd_event_add_signal(k->event, NULL, SIGCHLD, on_child, k);
    if (r < 0)
        return r;
    r = probe_new(
        &(struct probe_env){ .event = k->event, .setup = k->setup, .done = on_done, .context = k },
        config, &k->probe);
    return r < 0 ? r : sd_event_loop(k->event);
}

/* `root`: of a tree whose users are not ours, else "". */
static int probe_all(struct config *config, const char *root)
{
    struct worker_user user;
    const struct setup_env setup = { .user = &user };
    struct check k = { .setup = root[0] != '\0' ? NULL : &setup };
    int r = k.setup ? worker_user_find(config, &user) : 0;

    if (r == -ENOENT) /* a mistake of job_user, found before; nobody is there to load a plugin as */
        return 0;
    if (r >= 0)
        r = run_probe(&k, config);
    probe_free(k.probe);
    sd_event_unref(k.event);
    return r;
}

/* Where the file of problem i is named for the first time: files keep the order in which they
 * were read. */
static size_t first_of_file(const struct problems *p, size_t i)
{
    size_t first = 0;

    while (strcmp(p->items[first].file, p->items[i].file) != 0)
        first++;
    return first;
}

static int compare_problems(const void *a, const void *b, void *context)
{
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    const struct problems *p = context;
    size_t file_i = first_of_file(p, i), file_j = first_of_file(p, j);

    if (file_i != file_j)
        return file_i < file_j ? -1 : 1;
    if (p->items[i].line != p->items[j].line)
        return p->items[i].line < p->items[j].line ? -1 : 1;
    return i < j ? -1 : 1;
}

/* In the order of the files' lines: the probe's problems came last, whatever their place. */
static int print_problems(const struct config *c)
{
    struct problems sorted = c->problems;
    size_t *order = calloc(sorted.count + 1, sizeof(*order));

    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < sorted.count; i++)
        order[i] = i;
    qsort_r(order, sorted.count, sizeof(*order), compare_problems, &sorted);
    for (size_t i = 0; i < sorted.count; i++) {
        const struct problem *problem = &sorted.items[order[i]];
        char *text = config_problem_text(problem);

        fprintf(stderr, "%s%s\n", text ? text : problem->text,
                problem->level == PROBLEM_WARNING ? " (a warning)" : "");
        free(text);
    }
    if (sorted.count < sorted.errors + sorted.warnings)
        fprintf(stderr, "the first %zu are shown, of %zu in all\n", sorted.count,
                sorted.errors + sorted.warnings);
    free(order);
    return 0;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static const char *file_name(const struct options *o)
{
    return o->config_file ? o->config_file : ROTA_SYSCONFDIR "/rota/rotad.conf";
}

static void print_left_out(const struct config *c)
{
    size_t disabled = 0, elsewhere = 0;

    for (size_t i = 0; i < c->job_count; i++) {
        disabled += !c->jobs[i].enabled;
        elsewhere += c->jobs[i].enabled && c->jobs[i].elsewhere;
    }
    if (disabled > 0)
        printf(", %zu disabled", disabled);
    if (elsewhere > 0)
        printf(", %zu on other devices", elsewhere);
}

static void print_sum(const struct config *c, const char *file)
{
    size_t errors = c->problems.errors, warnings = c->problems.warnings;

    if (errors > 0)
        printf("%s: %zu mistake%s", file, errors, plural(errors));
    else if (c->job_count == 0)
        printf("%s: no jobs yet, all good", file);
    else
        printf("%s: %zu job%s, all good", file, c->job_count, plural(c->job_count));
    print_left_out(c);
    if (warnings > 0)
        printf(", %zu warning%s", warnings, plural(warnings));
    puts("");
}

static int say_impossible(const char *what, int error)
{
    fprintf(stderr, "rotad: %s: %s\n", what, strerror(-error));
    return EX_OSERR;
}

/* The last word: a full disk or a closed pipe is no success. */
static int end_output(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return say_impossible("standard output cannot be written", -errno);
    return status;
}

static void print_device(const struct config *c)
{
    if (!c->device_open)
        return;
    if (c->device_file)
        printf("The device's name will stand in %s: jobs are checked for any name.\n\n",
               c->device_file);
    else
        printf("The device makes its name itself, from \"%s\": jobs are checked for any name.\n\n",
               c->device);
}

static int check(struct config *c, const struct config_source *source, const char *file,
                 bool online)
{
    const char *device = source->device ? source->device : c->device;
    int status = 0, r = probe_all(c, source->root);

    if (r < 0)
        return say_impossible("the plugins cannot be probed", r);
    r = print_problems(c);
    if (r < 0)
        return say_impossible("the check was given up", r);
    if (!source->device)
        print_device(c);
    check_topology_print(c);
    check_jobs_print(c, device);
    print_sum(c, file);
    if (c->problems.errors > 0)
        status = EX_CONFIG;
    if (online && status == 0)
        status = check_online(c, device);
    else if (online)
        puts("Redis was not asked: first mend the mistakes");
    if (status < 0)
        return say_impossible("Redis cannot be asked", status);
    return end_output(status);
}

static int print(struct config *c)
{
    int r = print_problems(c);

    if (r < 0)
        return say_impossible("the configuration cannot be printed", r);
    if (c->fatal)
        return EX_CONFIG;
    r = config_print(c, stdout);
    if (r < 0)
        return say_impossible("the configuration cannot be printed", r);
    return end_output(0);
}

/* The tree's path as config_source wants it; "" for none. False: it is no folder, which was said.
 */
static bool find_root(const char *named, char ret_root[PATH_MAX])
{
    char shown[80];
    int error = ENOTDIR;
    struct stat st;

    ret_root[0] = '\0';
    if (!named)
        return true;
    if (!realpath(named, ret_root) || stat(ret_root, &st) < 0)
        error = errno;
    else if (S_ISDIR(st.st_mode)) {
        if (strcmp(ret_root, "/") == 0)
            ret_root[0] = '\0';
        return true;
    }
    text_escape(shown, sizeof(shown), named, strlen(named));
    fprintf(stderr, "rotad: --root %s: %s\n", shown, strerror(error));
    return false;
}

static int try_tls(const char *root, const char *const files[3], char why[CONFIG_WHY_SIZE])
{
    struct tls_fault fault;
    struct redis_tls tls = {
        .module = process_tls_path(), .ca = files[0], .cert = files[1], .key = files[2]
    };

    if (redis_secure_check(&tls, root, &fault) >= 0)
        return -1;
    text_copy(why, CONFIG_WHY_SIZE, fault.reason);
    return fault.file == TLS_FILE_NONE ? 3 : (int)fault.file - TLS_FILE_CA;
}

/* By the options' mode. */
static int look(const struct options *o)
{
    char root[PATH_MAX];
    struct config_source source = {
        .file = o->config_file,
        .root = root,
        .plugin_dir_default = ROTA_PLUGINDIR,
        .device = o->device,
        .described = o->no_probe || o->root,
        .only_checks = !o->online,
        .for_people = o->mode == MODE_CHECK,
        .try_tls = o->mode == MODE_PRINT ? NULL : try_tls,
        .explain = check_syntax_explain,
        .advise = check_unknown_advise,
    };
    struct config *c;
    int r;

    if (!find_root(o->root, root))
        return EX_USAGE;
    r = config_load(&source, &c);
    if (r < 0)
        return say_impossible("the configuration cannot be read", r);
    r = o->mode == MODE_PRINT ? print(c) : check(c, &source, file_name(o), o->online);
    config_free(c);
    return r;
}

int check_main(int argc, char **argv)
{
    struct options options;
    int r = options_parse(argc, argv, &options);

    if (r != 0)
        return r;
    if (options.mode != MODE_HELP)
        return look(&options);
    check_help_print(stdout);
    return 0;
}

extern const struct check_module rota_check;
__attribute__((visibility("default"))) const struct check_module rota_check = {
    .module = { .version = ROTA_VERSION, .layout = MODULE_LAYOUT },
    .main = check_main,
};
