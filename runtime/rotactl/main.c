/* SPDX-License-Identifier: MIT
 * rotactl: asks the rotad of this device, and tells it what to do. */
#include "base/text.h"
#include "base/units.h"
#include "rotactl/commands.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define RUNTIME_DIR_DEFAULT "/run/rota"

enum { OPTION_RUNTIME_DIR = 256, OPTION_TIMEOUT, OPTION_JSON, OPTION_VERSION, OPTION_HELP };

static const struct option long_options[] = {
    { "runtime-dir", required_argument, NULL, OPTION_RUNTIME_DIR },
    { "timeout", required_argument, NULL, OPTION_TIMEOUT },
    { "json", no_argument, NULL, OPTION_JSON },
    { "version", no_argument, NULL, OPTION_VERSION },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

static const struct command {
    const char *name;
    command_run *run;
    bool takes_timeout, takes_json;
} commands[] = {
    { .name = "status", .run = command_status, .takes_json = true },
    { .name = "drain", .run = command_drain, .takes_timeout = true },
    { .name = "undrain", .run = command_undrain },
    { .name = "reload", .run = command_reload },
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(void)
{
    fputs("rotactl [--runtime-dir DIR] COMMAND\n"
          "Asks the rotad of this device, and tells it what to do.\n"
          "\n"
          "  status [--json]     how rotad is, and each of its jobs\n"
          "  drain [--timeout TIME]\n"
          "                      start nothing new, and wait until nothing runs; after\n"
          "                      TIME ask what runs to stop, for another device to take\n"
          "  undrain             take turns again\n"
          "  reload              read the configuration again, and say what is wrong\n"
          "\n"
          "  --runtime-dir DIR   rotad's runtime folder (default " RUNTIME_DIR_DEFAULT ")\n"
          "  --version           print the version\n"
          "  --help              print this\n"
          "\n"
          "Exit status: 0 done; 1 something needs a look; 2 rotad does not answer; 64 no\n"
          "such command or option; 77 no permission; 78 the new configuration is refused.\n",
          stdout);
}

/* A line, and the exit status. `kind`: "option" or "command"; nearest: NULL where none is near. */
static int say_unknown(const char *kind, const char *word, const char *dashes, const char *nearest)
{
    char shown[80];

    text_escape(shown, sizeof shown, word, strlen(word));
    fprintf(stderr, "rotactl: there is no %s '%s'; ", kind, shown);
    if (nearest)
        fprintf(stderr, "did you mean '%s%s'?\n", dashes, nearest);
    else
        fputs("rotactl --help lists all\n", stderr);
    return EX_USAGE;
}

static int say_unknown_option(const char *word)
{
    const char *names[sizeof long_options / sizeof long_options[0]];
    size_t count = 0;

    for (; long_options[count].name; count++)
        names[count] = long_options[count].name;
    return say_unknown("option", word, "--",
                       strncmp(word, "--", 2) == 0 ? text_nearest(word + 2, names, count) : NULL);
}

/* A line with `word` in it, and the exit status. */
static int say_misused(const char *before, const char *word, const char *after)
{
    char shown[80];

    fprintf(stderr, "rotactl: %s'%s'%s\n", before,
            text_escape(shown, sizeof shown, word, strlen(word)), after);
    return EX_USAGE;
}

static int take_timeout(struct request *r, const char *text)
{
    r->has_timeout = true;
    if (units_parse_duration(text, &r->timeout_ms) == 0)
        return 0;
    return say_misused("--timeout is ", text,
                       ", which is no time; write \"90s\" or \"10m\", for instance");
}

static int take_runtime_dir(struct request *r, const char *text)
{
    r->runtime_dir = text;
    if (*text)
        return 0;
    fputs("rotactl: --runtime-dir needs a folder: --runtime-dir " RUNTIME_DIR_DEFAULT "\n", stderr);
    return EX_USAGE;
}

/* What getopt could not take. */
static int say_bad_option(int option, char **argv)
{
    char word[] = { '-', (char)optopt, '\0' };

    if (option == ':')
        return optopt == OPTION_TIMEOUT ? take_timeout(&(struct request){ 0 }, "")
                                        : take_runtime_dir(&(struct request){ 0 }, "");
    if (optopt >= OPTION_RUNTIME_DIR)
        return say_misused("", argv[optind - 1], " takes no value");
    return say_unknown_option(optopt ? word : argv[optind - 1]);
}

/* -1: go on. */
static int take_option(struct request *r, int option, char **argv)
{
    int rc = 0;

    switch (option) {
    case OPTION_RUNTIME_DIR:
        rc = take_runtime_dir(r, optarg);
        break;
    case OPTION_TIMEOUT:
        rc = take_timeout(r, optarg);
        break;
    case OPTION_JSON:
        r->json = true;
        break;
    case OPTION_VERSION:
        puts("rotactl " ROTA_VERSION);
        return 0;
    case OPTION_HELP:
        print_help();
        return 0;
    default:
        return say_bad_option(option, argv);
    }
    return rc == 0 ? -1 : rc;
}

static const struct command *find_command(const char *word)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, word) == 0)
            return &commands[i];
    return NULL;
}

static int say_unknown_command(const char *word)
{
    const char *names[COMMANDS];

    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    return say_unknown("command", word, "", text_nearest(word, names, COMMANDS));
}

/* The last word: a full disk is no success. */
static int end_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "rotactl: standard output cannot be written: %s\n", strerror(errno));
    return EX_OSERR;
}

/* An option that was given, and that the command does not take; or NULL. */
static const char *find_misplaced(const struct request *r, const struct command *c)
{
    if (r->has_timeout && !c->takes_timeout)
        return "--timeout";
    return r->json && !c->takes_json ? "--json" : NULL;
}

static int ask(const struct command *command, const struct request *r)
{
    struct call call;
    int rc = call_open(r->runtime_dir, &call);

    if (rc != 0)
        return rc;
    rc = command->run(&call, r);
    call_close(&call);
    return rc;
}

static int run(const struct request *r, char **words)
{
    const struct command *c;
    const char *misplaced;

    if (!words[0]) {
        fputs("rotactl: say what to do, for instance: rotactl status\n", stderr);
        return EX_USAGE;
    }
    if (strcmp(words[0], "help") == 0) {
        print_help();
        return 0;
    }
    c = find_command(words[0]);
    if (!c)
        return say_unknown_command(words[0]);
    if (words[1]) {
        char shown[80];

        text_escape(shown, sizeof shown, words[1], strlen(words[1]));
        fprintf(stderr, "rotactl: %s takes no '%s'\n", c->name, shown);
        return EX_USAGE;
    }
    misplaced = find_misplaced(r, c);
    if (misplaced) {
        fprintf(stderr, "rotactl: %s takes no %s\n", c->name, misplaced);
        return EX_USAGE;
    }
    return ask(c, r);
}

int main(int argc, char **argv)
{
    struct request request = { .runtime_dir = RUNTIME_DIR_DEFAULT };
    int option, rc;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        rc = take_option(&request, option, argv);
        if (rc >= 0)
            return end_output(rc);
    }
    return end_output(run(&request, argv + optind));
}
