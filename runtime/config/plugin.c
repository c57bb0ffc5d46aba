/* SPDX-License-Identifier: MIT */
#include "config/plugin.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "config/trust.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".so"
/* Where a device has its plugins unless somebody has chosen another place. */
#define USUAL "/usr/lib/rota"
#define DESCRIPTION_SUFFIX ".description"
/* Names that "did you mean" looks at. */
#define CANDIDATES_MAX 256

struct candidates {
    char *names[CANDIDATES_MAX];
    size_t count;
};

static void collect_folder(struct reading *r, const char *folder, struct candidates *c)
{
    CLEANUP_FREE char *path = reading_path(r, folder);
    DIR *d = path ? opendir(path) : NULL;
    const struct dirent *e;

    while (d && c->count < CANDIDATES_MAX && (e = readdir(d))) {
        if (!text_ends_with(e->d_name, SUFFIX))
            continue;
        c->names[c->count] = strndup(e->d_name, strlen(e->d_name) - strlen(SUFFIX));
        if (c->names[c->count])
            c->count++;
        else
            r->no_memory = true;
    }
    if (d)
        closedir(d);
}

static void append(char *buf, size_t size, const char *separator, const char *text)
{
    size_t used = strlen(buf);

    text_format(buf + used, size - used, "%s%s", separator, text);
}

/* The folder that stands for plugin_dir is that of the program that checks, which a tree of another
 * device may have elsewhere. */
static bool note_other_folder(struct reading *r, int line)
{
    const char *folder = r->own_plugin_dir ? r->source->plugin_dir_default : NULL;

    if (r->root[0] == '\0' || !folder || strcmp(folder, USUAL) == 0)
        return false;
    reading_problem(r, PROBLEM_ERROR, line,
                    "plugin '%s' is not in %s%s; write plugin_dir = [ \"" USUAL "\" ], or "
                    "where else the device has its plugins",
                    r->job->plugin, r->root, folder);
    return true;
}

static void note_absent(struct reading *r, int line)
{
    struct candidates c = { .count = 0 };
    const char *nearest;
    char folders[512] = "";

    for (char **folder = r->config->plugin_dirs; folder && *folder; folder++) {
        append(folders, sizeof(folders),
               folders[0] == '\0' ? ""
               : folder[1]        ? ", "
                                  : " or ",
               r->root);
        append(folders, sizeof(folders), "", *folder);
        collect_folder(r, *folder, &c);
    }
    nearest = text_nearest(r->job->plugin, (const char *const *)c.names, c.count);
    if (c.count > 0 || !note_other_folder(r, line))
        reading_problem(r, PROBLEM_ERROR, line, "plugin '%s' is not in %s%s%s%s", r->job->plugin,
                        folders[0] != '\0' ? folders : "any folder, since plugin_dir names none",
                        nearest ? "; did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : "");
    for (size_t i = 0; i < c.count; i++)
        free(c.names[i]);
}

static bool is_first_of_plugin(const struct config *c, const struct job_config *job)
{
    for (size_t i = 0; i < c->job_count; i++)
        if (c->jobs[i].plugin_path && strcmp(c->jobs[i].plugin_path, job->plugin_path) == 0)
            return false;
    return true;
}

/* Sets the description beside the plugin, which on the device is `named`; warns where there is
 * none, once a plugin. Below a root its links are resolved already, and by its name alone the guard
 * knows what it is not to load. */
static void find_description(struct reading *r, int line, const char *named)
{
    size_t length = strlen(named), suffix = strlen(SUFFIX);
    bool ends = text_ends_with(named, SUFFIX);
    CLEANUP_FREE char *on_device =
        text_print("%.*s" DESCRIPTION_SUFFIX, (int)(ends ? length - suffix : length), named);
    char *path = on_device ? reading_path(r, on_device) : NULL;

    if (!path) {
        r->no_memory = true;
    } else if (!text_ends_with(path, DESCRIPTION_SUFFIX)) {
        reading_problem(r, PROBLEM_ERROR, line,
                        "plugin '%s': %s is a link to %s; write a link to a file whose name ends "
                        "in " DESCRIPTION_SUFFIX ", or the description itself",
                        r->job->plugin, on_device, path);
    } else if (access(path, F_OK) == 0) {
        r->job->description = path;
        return;
    } else if (is_first_of_plugin(r->config, r->job)) {
        reading_problem(r, PROBLEM_WARNING, line,
                        "plugin '%s': its parameters were not checked, for any job: there is no "
                        "%s; write it on the device with rota-guard --describe %s > %s",
                        r->job->plugin, path, named, on_device);
    }
    free(path);
}

/* The file is there: takes it, if it may be trusted. `named`: its path on the device. */
static void take(struct reading *r, int line, const char *named, const char *path)
{
    struct trust_place place = { 0 };
    char why[TRUST_WHY_SIZE] = "";
    int error = trust_find(r->root, path, &place, why);

    if (error == 0 && S_ISREG(place.mode)) {
        r->job->plugin_path = reading_copy(r, place.path);
        trust_done(&place);
        if (r->job->plugin_path && r->config->described)
            find_description(r, line, named);
        return;
    }
    if (error == 0)
        text_copy(why, sizeof(why), "it is no regular file");
    trust_done(&place);
    if (error == -ENOMEM) {
        r->no_memory = true;
        return;
    }
    reading_problem(r, PROBLEM_ERROR, line, "plugin '%s' is not used: %s", r->job->plugin,
                    why[0] != '\0' ? why : strerror(-error));
}

static bool exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 || errno == EACCES;
}

static void find_absolute(struct reading *r, int line)
{
    CLEANUP_FREE char *path = reading_path(r, r->job->plugin);

    if (path && exists(path))
        take(r, line, r->job->plugin, path);
    else
        reading_problem(r, PROBLEM_ERROR, line, "plugin '%s': there is no such file",
                        r->job->plugin);
}

static void find_named(struct reading *r, int line)
{
    for (char **folder = r->config->plugin_dirs; folder && *folder; folder++) {
        CLEANUP_FREE char *named = text_print("%s/%s" SUFFIX, *folder, r->job->plugin);
        CLEANUP_FREE char *path = named ? reading_path(r, named) : NULL;

        if (!path) {
            r->no_memory = true;
            return;
        }
        if (exists(path)) {
            take(r, line, named, path);
            return;
        }
    }
    note_absent(r, line);
}

void plugin_find(struct reading *r, int line)
{
    const char *plugin = r->job->plugin;

    if (plugin[0] == '/')
        find_absolute(r, line);
    else if (strlen(plugin) > NAME_MAX - strlen(SUFFIX) ||
             strspn(plugin, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
                 strlen(plugin))
        reading_problem(r, PROBLEM_ERROR, line,
                        "plugin '%.80s' is no plugin's name; write a name of letters, digits, _ "
                        "and -, without .so, "
                        "or an absolute path",
                        plugin);
    else
        find_named(r, line);
}
