/* SPDX-License-Identifier: MIT */
#include "supervisor/options.h"
#include <getopt.h>

enum { OPTION_RUNTIME_DIR = 256, OPTION_VERSION };

static const struct option long_options[] = {
    { "config", required_argument, NULL, 'c' },
    { "runtime-dir", required_argument, NULL, OPTION_RUNTIME_DIR },
    { "version", no_argument, NULL, OPTION_VERSION },
    { NULL, 0, NULL, 0 },
};

static bool take_option(struct options *o, int option)
{
    switch (option) {
    case 'c':
        o->config_file = optarg;
        return *optarg != '\0';
    case OPTION_RUNTIME_DIR:
        o->runtime_dir = optarg;
        return *optarg != '\0';
    case OPTION_VERSION:
        o->mode = MODE_VERSION;
        return true;
    default:
        return false;
    }
}

bool options_plain(int argc, char **argv, struct options *ret)
{
    int option;

    *ret = (struct options){ .mode = MODE_RUN, .runtime_dir = OPTIONS_RUNTIME_DIR };
    opterr = 0;
    while ((option = getopt_long(argc, argv, "c:", long_options, NULL)) != -1)
        if (!take_option(ret, option))
            return false;
    return optind == argc && options_take_environment(ret);
}
