/* SPDX-License-Identifier: MIT
 * Of librota-check.so: all options, and what is wrong with them. */
#include "supervisor/options.h"

#include "base/text.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    OPTION_RUNTIME_DIR = 256,
    OPTION_CHECK,
    OPTION_PRINT,
    OPTION_VERSION,
    OPTION_HELP,
    OPTION_ROOT,
    OPTION_DEVICE,
    OPTION_NO_PROBE,
    OPTION_ONLINE
};

static const struct option long_options[] = {
    { "config", required_argument, NULL, 'c' },
    { "runtime-dir", required_argument, NULL, OPTION_RUNTIME_DIR },
    { "check", no_argument, NULL, OPTION_CHECK },
    { "root", required_argument, NULL, OPTION_ROOT },
    { "device", required_argument, NULL, OPTION_DEVICE },
    { "no-probe", no_argument, NULL, OPTION_NO_PROBE },
    { "online", no_argument, NULL, OPTION_ONLINE },
    { "print-config", no_argument, NULL, OPTION_PRINT },
    { "version", no_argument, NULL, OPTION_VERSION },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

static const char *nearest_option(const char *word)
{
    const char *names[sizeof(long_options) / sizeof(long_options[0])];
    size_t count = 0;

    for (; long_options[count].name; count++)
        names[count] = long_options[count].name;
    return text_nearest(word, names, count);
}

/* `word`: the argument at which getopt stopped. */
static int say_unknown(const char *word)
{
    char shown[80];
    const char *nearest = NULL;

    if (strncmp(word, "--", 2) == 0)
        nearest = nearest_option(word + 2);
    text_escape(shown, sizeof(shown), word, strlen(word));
    if (nearest)
        fprintf(stderr, "rotad: there is no option '%s'; did you mean '--%s'?\n", shown, nearest);
    else
        fprintf(stderr, "rotad: there is no option '%s'; rotad --help lists all\n", shown);
    return EX_USAGE;
}

static int say_no_value(int option)
{
    const char *text = "--runtime-dir needs a folder: --runtime-dir " OPTIONS_RUNTIME_DIR;

    if (option == 'c')
        text = "-c needs a file: -c /etc/rota/rotad.conf";
    else if (option == OPTION_ROOT)
        text = "--root needs a folder: --root build/image";
    else if (option == OPTION_DEVICE)
        text = "--device needs a name: --device gate-0007";
    fprintf(stderr, "rotad: %s\n", text);
    return EX_USAGE;
}

static int set_mode(struct options *o, enum options_mode mode)
{
    if (o->mode != MODE_RUN && o->mode != mode) {
        fputs("rotad: --check, --print-config, --version and --help do not go together; "
              "write one of them\n",
              stderr);
        return EX_USAGE;
    }
    o->mode = mode;
    return 0;
}

static int take_value(int option, const char **ret_value)
{
    if (*optarg == '\0')
        return say_no_value(option);
    *ret_value = optarg;
    return 0;
}

static int take_option(struct options *o, int option, char **argv)
{
    switch (option) {
    case 'c':
        return take_value('c', &o->config_file);
    case OPTION_RUNTIME_DIR:
        return take_value(OPTION_RUNTIME_DIR, &o->runtime_dir);
    case OPTION_ROOT:
        return take_value(OPTION_ROOT, &o->root);
    case OPTION_DEVICE:
        return take_value(OPTION_DEVICE, &o->device);
    case OPTION_NO_PROBE:
        o->no_probe = true;
        return 0;
    case OPTION_ONLINE:
        o->online = true;
        return 0;
    case OPTION_CHECK:
        return set_mode(o, MODE_CHECK);
    case OPTION_PRINT:
        return set_mode(o, MODE_PRINT);
    case OPTION_VERSION:
        return set_mode(o, MODE_VERSION);
    case OPTION_HELP:
        return set_mode(o, MODE_HELP);
    case ':':
        return say_no_value(optopt);
    default:
        break;
    }
    if (optopt >= OPTION_RUNTIME_DIR) {
        fprintf(stderr, "rotad: '%s' takes no value\n", argv[optind - 1]);
        return EX_USAGE;
    }
    if (optopt) {
        char word[] = { '-', (char)optopt, '\0' };

        return say_unknown(word);
    }
    return say_unknown(argv[optind - 1]);
}

/* Options that say how to look, without one that says to look. */
static int check_modes(const struct options *o)
{
    if (o->root && o->mode == MODE_RUN)
        fputs("rotad: --root goes with --check or --print-config; write one of them too\n", stderr);
    else if (o->device && o->mode == MODE_RUN)
        fputs("rotad: --device goes with --check; the name of a rotad that runs stands in its "
              "configuration\n",
              stderr);
    else if (o->no_probe && o->mode == MODE_RUN)
        fputs("rotad: --no-probe goes with --check; write that too\n", stderr);
    else if (o->online && (o->mode != MODE_CHECK || o->root))
        fputs("rotad: --online goes with --check, and without --root\n", stderr);
    else
        return 0;
    return EX_USAGE;
}

static int take_environment(struct options *o)
{
    const char *list = getenv("RUNTIME_DIRECTORY");

    if (options_take_environment(o))
        return 0;
    fprintf(
        stderr,
        "rotad: the first folder of $RUNTIME_DIRECTORY has %zu bytes; at most %zu are possible\n",
        list ? strcspn(list, ":") : 0, sizeof(o->runtime_dir_first) - 1);
    return EX_USAGE;
}

int options_parse(int argc, char **argv, struct options *ret)
{
    int option, r;

    *ret = (struct options){ .mode = MODE_RUN, .runtime_dir = OPTIONS_RUNTIME_DIR };
    opterr = 0;
    optind = 0; /* glibc: begin anew, whatever was parsed before */
    while ((option = getopt_long(argc, argv, ":c:", long_options, NULL)) != -1) {
        r = take_option(ret, option, argv);
        if (r != 0)
            return r;
    }
    if (optind < argc) {
        char shown[80];

        text_escape(shown, sizeof(shown), argv[optind], strlen(argv[optind]));
        fprintf(stderr, "rotad: '%s' is no option; a configuration file is given by -c FILE\n",
                shown);
        return EX_USAGE;
    }
    r = check_modes(ret);
    return r != 0 ? r : take_environment(ret);
}
