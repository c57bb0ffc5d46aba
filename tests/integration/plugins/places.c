/* SPDX-License-Identifier: MIT
 * A plugin that says where it is and what is open, first while it is loaded, then when it is run.
 * With a library of its own that it needs, and one that it loads when it runs. */
#include <dirent.h>
#include <dlfcn.h>
#include <rota/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int private_number(void);

static const char *file_of(void *address)
{
    Dl_info info;

    return dladdr(address, &info) ? info.dli_fname : "?";
}

static void say_place(const char *when, void *address)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    char target[4096], name[64];

    printf("%s file %s\n", when, file_of(address));
    printf("%s cwd %s\n", when, getcwd(target, sizeof(target)));
    while ((entry = readdir(folder))) {
        int fd = atoi(entry->d_name);
        ssize_t n;

        if (entry->d_name[0] == '.' || fd == dirfd(folder))
            continue;
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        n = readlink(name, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        printf("%s fd %d %s\n", when, fd, target);
    }
    closedir(folder);
    fflush(stdout);
}

__attribute__((constructor)) static void be_loaded(void)
{
    say_place("loaded", (void *)be_loaded);
}

static int run(const struct rota_run *r)
{
    void *later = dlopen("liblater.so", RTLD_NOW);

    (void)r;
    say_place("run", (void *)be_loaded);
    printf("needed %d of %s\n", private_number(), file_of((void *)private_number));
    printf("later %s\n", later ? file_of(dlsym(later, "later_number")) : dlerror());
    return ROTA_SUCCEEDED;
}

ROTA_PLUGIN(.name = "places", .version = "1.0", .summary = "Says where it is.", .run = run);
