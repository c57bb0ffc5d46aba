/* SPDX-License-Identifier: MIT */
#include "rotactl/commands.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

/* The help: where what a command does begins, and how wide a line is. */
#define HELP_INDENT 22
#define HELP_WIDTH 80

#define TABLE (OPTION(OPTION_LOCAL) | OPTION(OPTION_NOHEADINGS) | OPTION(OPTION_JSON))

const struct command commands[] = {
    { "status", NULL, "how rotad is, and each of its jobs", command_status,
      TABLE | OPTION(OPTION_OUTPUT) | OPTION(OPTION_WATCH) | OPTION(OPTION_CHECK) },
    { "show", "JOB", "one job: settings, next turns, last runs, output", command_show, TABLE },
    { "drain", NULL,
      "start nothing new, and wait until nothing runs; after TIME ask what runs to stop, for "
      "another device to take",
      command_drain, OPTION(OPTION_TIMEOUT) },
    { "undrain", NULL, "take turns again", command_undrain, 0 },
    { "run", "JOB", "run the job here and now, by hand", command_run_job,
      OPTION(OPTION_WAIT) | OPTION(OPTION_AS_DUE) | OPTION(OPTION_FORCE) |
          OPTION(OPTION_IGNORE_LOCK) },
    { "stop", "JOB", "stop its run here, and close its turn, or leave it to other devices",
      command_stop, OPTION(OPTION_HAND_OVER) },
    { "check", NULL, "read the configuration's files, and say what is wrong; nothing is used",
      command_check, 0 },
    { "reload", NULL, "read the configuration again, and say what is wrong", command_reload, 0 },
    { "fleet", "[JOB]",
      "all devices and jobs of the fleet; --missing: the devices that JOB has yet to run on",
      command_fleet,
      TABLE | OPTION(OPTION_OUTPUT) | OPTION(OPTION_CHECK) | OPTION(OPTION_MISSING) },
    { "explain", "JOB", "what happens when: a good run, a broken link, a dead device",
      command_explain, OPTION(OPTION_JSON) },
    { "history", "JOB", "the job's last runs, on whichever device", command_history, TABLE },
    { "pause", "JOB",
      "turns of the job pass on this device, or in the whole fleet, until it is resumed, or for "
      "TIME",
      command_pause, OPTION(OPTION_FLEET) | OPTION(OPTION_REASON) | OPTION(OPTION_FOR) },
    { "resume", "JOB",
      "the job runs again; a turn that was due meanwhile has passed, or is taken after all",
      command_resume, OPTION(OPTION_FLEET) | OPTION(OPTION_CATCH_UP) },
    { "release", "JOB", "show who holds the job's lock, ask, and free it", command_release, 0 },
    { "forget", "JOB", "delete what Redis knows of a job that is no more", command_forget, 0 },
    { "metrics", NULL, "all numbers of this device, or of the fleet, for a monitor",
      command_metrics, OPTION(OPTION_FLEET) | OPTION(OPTION_OPENMETRICS) },
    { "timeline", "[JOB...]", "draw what ran when, on which device, and how it ended",
      command_timeline,
      OPTION(OPTION_JSON) | OPTION(OPTION_FROM) | OPTION(OPTION_SINCE) | OPTION(OPTION_UNTIL) |
          OPTION(OPTION_SVG) | OPTION(OPTION_WIDTH) },
};
const size_t commands_count = sizeof commands / sizeof commands[0];

const struct command *commands_find(const char *name)
{
    const char *names[sizeof commands / sizeof commands[0]];

    for (size_t i = 0; i < commands_count; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
        names[i] = commands[i].name;
    }
    (void)options_say_unknown("command", name, "", names, commands_count);
    return NULL;
}

/* Adds `words` to a line that is `at` columns long, on the next one where they would be too many.
 * The new length. */
static size_t put_words(size_t at, size_t indent, const char *before, const char *words,
                        size_t length)
{
    size_t more = strlen(before) + length;

    if (at + more > HELP_WIDTH) {
        printf("\n%*s%.*s", (int)indent, "", (int)length, words);
        return indent + length;
    }
    printf("%s%.*s", before, (int)length, words);
    return at + more;
}

static size_t put_usage(const struct command *c)
{
    size_t at = (size_t)printf("  %s", c->name), indent = at + 1;
    char name[OPTIONS_NAME_SIZE], bracketed[2 * OPTIONS_NAME_SIZE];
    const char *value;

    if (c->words)
        at = put_words(at, indent, " ", c->words, strlen(c->words));
    for (int i = 0; i < OPTIONS; i++) {
        if (!(c->options & OPTION(i)))
            continue;
        options_written((enum option_id)i, name, sizeof name);
        value = options_value((enum option_id)i);
        text_format(bracketed, sizeof bracketed, "[%s%s%s]", name, value ? " " : "",
                    value ? value : "");
        at = put_words(at, indent, " ", bracketed, strlen(bracketed));
    }
    return at;
}

static void print_command(const struct command *c)
{
    size_t at = put_usage(c);
    const char *word = c->summary;

    printf("%s%*s", at + 2 > HELP_INDENT ? "\n" : "",
           (int)(at + 2 > HELP_INDENT ? HELP_INDENT : HELP_INDENT - at), "");
    at = HELP_INDENT;
    while (*word) {
        size_t length = strcspn(word, " ");

        at = put_words(at, HELP_INDENT, at == HELP_INDENT ? "" : " ", word, length);
        word += length + (word[length] == ' ');
    }
    putchar('\n');
}

void commands_print_help(void)
{
    fputs("rotactl [--runtime-dir DIR] COMMAND\n"
          "Asks the rotad of this device, and tells it what to do.\n"
          "\n",
          stdout);
    for (size_t i = 0; i < commands_count; i++)
        print_command(&commands[i]);
    putchar('\n');
    options_print_help();
    fputs("\n"
          "Exit status: 0 done; 1 something needs a look; 2 rotad does not answer; 64 no\n"
          "such command or option; 65, 66 a file is wrong, cannot be read; 77 no\n"
          "permission; 78 the new configuration is refused.\n",
          stdout);
}
