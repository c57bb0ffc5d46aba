/* SPDX-License-Identifier: MIT */
#include "rotactl/options.h"
#include "base/text.h"
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

/* What getopt gives for a command's option: this and its number. */
#define FIRST 256
enum { OPTION_RUNTIME_DIR = FIRST + OPTIONS, OPTION_VERSION, OPTION_HELP };

static const struct row {
    const char *name;
    const char *value;   /* in the help; NULL: it has none */
    const char *missing; /* what is said where the value is not there */
} rows[OPTIONS] = {
    [OPTION_OUTPUT] = { "output", "COLUMNS", "-o needs columns: -o job,next" },
    [OPTION_NOHEADINGS] = { "noheadings", NULL, NULL },
    [OPTION_LOCAL] = { "local", NULL, NULL },
    [OPTION_WATCH] = { "watch", NULL, NULL },
    [OPTION_CHECK] = { "check", NULL, NULL },
    [OPTION_JSON] = { "json", NULL, NULL },
    [OPTION_TIMEOUT] = { "timeout", "TIME", "--timeout needs a time: --timeout 10m" },
    [OPTION_WAIT] = { "wait", NULL, NULL },
    [OPTION_AS_DUE] = { "as-due", NULL, NULL },
    [OPTION_FORCE] = { "force", NULL, NULL },
    [OPTION_IGNORE_LOCK] = { "ignore-lock", NULL, NULL },
    [OPTION_HAND_OVER] = { "hand-over", NULL, NULL },
    [OPTION_FLEET] = { "fleet", NULL, NULL },
    [OPTION_MISSING] = { "missing", NULL, NULL },
    [OPTION_REASON] = { "reason", "WHY", "--reason needs words: --reason \"NAS full\"" },
    [OPTION_FOR] = { "for", "TIME", "--for needs a time: --for 2h" },
    [OPTION_CATCH_UP] = { "catch-up", NULL, NULL },
    [OPTION_FROM] = { "from", "FILE", "--from needs a file: --from runs.json, or --from -" },
    [OPTION_SINCE] = { "since", "TIME", "--since needs a time: --since 2d" },
    [OPTION_UNTIL] = { "until", "TIME", "--until needs a time: --until yesterday" },
    [OPTION_SVG] = { "svg", "FILE", "--svg needs a file: --svg fleet.svg, or --svg -" },
    [OPTION_OPENMETRICS] = { "openmetrics", NULL, NULL },
    [OPTION_WIDTH] = { "width", "N", "--width needs a number: --width 100" },
};

/* Those that no command has. */
static const struct option others[] = {
    { "runtime-dir", required_argument, NULL, OPTION_RUNTIME_DIR },
    { "version", no_argument, NULL, OPTION_VERSION },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};
#define OTHERS (sizeof others / sizeof others[0] - 1)

static void fill_long_options(struct option long_options[OPTIONS + OTHERS + 1])
{
    for (int i = 0; i < OPTIONS; i++)
        long_options[i] =
            (struct option){ rows[i].name, rows[i].value ? required_argument : no_argument, NULL,
                             FIRST + i };
    memcpy(long_options + OPTIONS, others, sizeof others);
}

const char *options_written(enum option_id option, char *buf, size_t size)
{
    /* -o is the one that people write short. */
    if (option == OPTION_OUTPUT)
        text_copy(buf, size, "-o");
    else
        text_format(buf, size, "--%s", rows[option].name);
    return buf;
}

/* --- what is said --- */

int options_say_unknown(const char *kind, const char *word, const char *dashes,
                        const char *const *names, size_t count)
{
    const char *nearest = text_nearest(word, names, count);
    char shown[80];

    text_escape(shown, sizeof shown, word, strlen(word));
    fprintf(stderr, "rotactl: there is no %s '%s%s'; ", kind, dashes, shown);
    if (nearest)
        fprintf(stderr, "did you mean '%s%s'?\n", dashes, nearest);
    else
        fputs("rotactl --help lists all\n", stderr);
    return EX_USAGE;
}

static int say_unknown_option(const char *word)
{
    const char *names[OPTIONS + OTHERS];

    for (size_t i = 0; i < OPTIONS; i++)
        names[i] = rows[i].name;
    for (size_t i = 0; i < OTHERS; i++)
        names[OPTIONS + i] = others[i].name;
    if (strncmp(word, "--", 2) == 0)
        return options_say_unknown("option", word + 2, "--", names, OPTIONS + OTHERS);
    return options_say_unknown("option", word, "", NULL, 0);
}

static int say_missing(int option)
{
    fprintf(stderr, "rotactl: %s\n",
            option == OPTION_RUNTIME_DIR
                ? "--runtime-dir needs a folder: --runtime-dir " OPTIONS_RUNTIME_DIR
                : rows[option - FIRST].missing);
    return EX_USAGE;
}

static int say_takes_no_value(const char *word)
{
    char shown[80];

    fprintf(stderr, "rotactl: '%s' takes no value\n",
            text_escape(shown, sizeof shown, word, strlen(word)));
    return EX_USAGE;
}

/* What getopt could not take. */
static int say_bad_option(int option, char **argv)
{
    char word[] = { '-', (char)optopt, '\0' };

    if (option == ':')
        return say_missing(optopt == 'o' ? FIRST + OPTION_OUTPUT : optopt);
    if (optopt >= FIRST)
        return say_takes_no_value(argv[optind - 1]);
    return say_unknown_option(optopt ? word : argv[optind - 1]);
}

/* --- what is read --- */

/* 0, or EX_USAGE. */
static int take_option(struct request *r, int option)
{
    bool is_dir = option == OPTION_RUNTIME_DIR;

    if ((is_dir || rows[option - FIRST].value) && !*optarg)
        return say_missing(option);
    if (is_dir) {
        r->runtime_dir = optarg;
        return 0;
    }
    r->given |= OPTION(option - FIRST);
    r->values[option - FIRST] = optarg;
    return 0;
}

int options_parse(int argc, char **argv, struct request *ret, enum options_next *ret_next)
{
    struct request r = { .runtime_dir = OPTIONS_RUNTIME_DIR };
    struct option long_options[OPTIONS + OTHERS + 1];
    int option, rc = 0;

    fill_long_options(long_options);
    opterr = 0;
    *ret_next = OPTIONS_RUN;
    while (rc == 0 && *ret_next == OPTIONS_RUN &&
           (option = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1) {
        if (option == ':' || option == '?')
            rc = say_bad_option(option, argv);
        else if (option == OPTION_VERSION)
            *ret_next = OPTIONS_VERSION;
        else if (option == OPTION_HELP)
            *ret_next = OPTIONS_HELP;
        else
            rc = take_option(&r, option == 'o' ? FIRST + OPTION_OUTPUT : option);
    }
    r.words = (const char *const *)(argv + optind);
    *ret = r;
    return rc;
}

int options_check(const struct request *r, const char *command, uint32_t taken)
{
    uint32_t misplaced = r->given & ~taken;
    char name[OPTIONS_NAME_SIZE];

    if (!misplaced)
        return 0;
    fprintf(stderr, "rotactl: %s takes no %s\n", command,
            options_written((enum option_id)__builtin_ctz(misplaced), name, sizeof name));
    return EX_USAGE;
}

int options_check_apart(const struct request *r, uint32_t apart)
{
    uint32_t given = r->given & apart, rest = given & (given - 1);
    char first[OPTIONS_NAME_SIZE], second[OPTIONS_NAME_SIZE];

    if (!rest)
        return 0;
    fprintf(stderr, "rotactl: %s and %s do not go together; leave one out\n",
            options_written((enum option_id)__builtin_ctz(given), first, sizeof first),
            options_written((enum option_id)__builtin_ctz(rest), second, sizeof second));
    return EX_USAGE;
}

/* --- the help --- */

const char *options_name(enum option_id option)
{
    return rows[option].name;
}

const char *options_value(enum option_id option)
{
    return rows[option].value;
}

void options_print_help(void)
{
    fputs("  --runtime-dir DIR   rotad's runtime folder (default " OPTIONS_RUNTIME_DIR ")\n"
          "  --version           print the version\n"
          "  --help              print this\n",
          stdout);
}
