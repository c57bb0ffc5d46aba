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

#define SUFFIX ".so"
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
        size_t length = strlen(e->d_name);

        if (length <= strlen(SUFFIX) || strcmp(e->d_name + length - strlen(SUFFIX), SUFFIX) != 0)
            continue;
        c->names[c->count] = strndup(e->d_name, length - strlen(SUFFIX));
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
               *folder);
        collect_folder(r, *folder, &c);
    }
    nearest = text_nearest(r->job->plugin, (const char *const *)c.names, c.count);
    reading_problem(r, PROBLEM_ERROR, line, "plugin '%s' is not in %s%s%s%s", r->job->plugin,
                    folders[0] == '\0' ? "any folder, since plugin_dir names none" : folders,
                    nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    for (size_t i = 0; i < c.count; i++)
        free(c.names[i]);
}

/* The file is there: takes it, if it may be trusted. */
static void take(struct reading *r, int line, const char *path)
{
    char why[TRUST_WHY_SIZE] = "";
    struct stat st;
    int error = trust_resolve(path, &r->job->plugin_path, why);

    if (error == 0 && (stat(r->job->plugin_path, &st) < 0 || !S_ISREG(st.st_mode))) {
        text_copy(why, sizeof(why), "it is no regular file");
        free(r->job->plugin_path);
        r->job->plugin_path = NULL;
    } else if (error == 0) {
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
        take(r, line, path);
    else
        reading_problem(r, PROBLEM_ERROR, line, "plugin '%s': there is no such file",
                        r->job->plugin);
}

static void find_named(struct reading *r, int line)
{
    for (char **folder = r->config->plugin_dirs; folder && *folder; folder++) {
        CLEANUP_FREE char *path = text_print("%s%s/%s" SUFFIX, r->root, *folder, r->job->plugin);

        if (!path) {
            r->no_memory = true;
            return;
        }
        if (exists(path)) {
            take(r, line, path);
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
