/* SPDX-License-Identifier: MIT
 * bare_plugin FILE: the least that a process can be which runs a plugin: a program that loads the
 * file, calls run() with nothing, and exits. What a run costs is measured against it. */
#include <dlfcn.h>
#include <rota/plugin.h>
#include <stdlib.h>

int main(int argc, char *argv[])
{
    void *file = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct rota_plugin *plugin = file ? dlsym(file, "rota_plugin") : NULL;
    const struct rota_run none = { .abi = ROTA_ABI, .size = sizeof(none) };

    return plugin && plugin->run(&none) == ROTA_SUCCEEDED ? EXIT_SUCCESS : EXIT_FAILURE;
}
