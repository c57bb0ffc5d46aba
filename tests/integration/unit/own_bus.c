/* SPDX-License-Identifier: MIT
 * The plugin of another file (UNIT), with a system bus of the test's own (BUS), on which sd-bus by
 * itself waits for no longer than BUS_TIMEOUT: a worker's environment is made anew, so only what it
 * loads can tell it of that. */
#include <dlfcn.h>
#include <rota/plugin.h>
#include <stdlib.h>
#include <string.h>

static struct rota_plugin copy;
extern const struct rota_plugin rota_plugin __attribute__((alias("copy")));

__attribute__((constructor)) static void load(void)
{
    void *file = dlopen(UNIT, RTLD_NOW);
    const void *plugin = file ? dlsym(file, "rota_plugin") : NULL;

    if (!plugin || setenv("DBUS_SYSTEM_BUS_ADDRESS", BUS, 1) != 0 ||
        setenv("SYSTEMD_BUS_TIMEOUT", BUS_TIMEOUT, 1) != 0)
        abort();
    memcpy(&copy, plugin, sizeof(copy));
}
