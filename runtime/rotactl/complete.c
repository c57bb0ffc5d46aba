/* SPDX-License-Identifier: MIT */
#include "rotactl/complete.h"
#include "base/text.h"
#include "rotactl/commands.h"
#include <stdio.h>
#include <string.h>

#define DIR_OPTION "--runtime-dir"

static const char *const everywhere[] = { DIR_OPTION, "--version", "--help" };

/* What stands before the word that is begun. */
struct before {
    const struct command *command; /* NULL: none yet */
    bool is_unknown;               /* it is no command */
    size_t words;                  /* behind it */
    bool no_options;               /* any more: behind "--" */
    const char *option;            /* that waits for its value; or NULL */
    const char *runtime_dir;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void print(const char *word, const char *begun, const char *summary)
{
    if (begins(word, begun))
        printf("%s%s%s\n", word, *summary ? "\t" : "", summary);
}

/* --- what stands there --- */

/* What stands behind it, as the help has it; NULL: nothing. */
static const char *value_of(const char *option)
{
    char name[OPTIONS_NAME_SIZE];

    if (strcmp(option, DIR_OPTION) == 0)
        return "DIR";
    for (enum option_id i = 0; i < OPTIONS; i++)
        if (strcmp(option, options_written(i, name, sizeof name)) == 0 ||
            (begins(option, "--") && strcmp(option + 2, options_name(i)) == 0))
            return options_value(i);
    return NULL;
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < commands_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void take_option(struct before *b, const char *word)
{
    if (strcmp(word, "--") == 0)
        b->no_options = true;
    else if (begins(word, DIR_OPTION "="))
        b->runtime_dir = word + strlen(DIR_OPTION "=");
    else if (value_of(word))
        b->option = word;
}

static void take_value(struct before *b, const char *word)
{
    if (strcmp(word, "=") == 0) /* bash makes three words of --svg=FILE */
        return;
    if (strcmp(b->option, DIR_OPTION) == 0)
        b->runtime_dir = word;
    b->option = NULL;
}

static void take(struct before *b, const char *word)
{
    if (b->option) {
        take_value(b, word);
    } else if (!b->no_options && word[0] == '-') {
        take_option(b, word);
    } else if (b->command || b->is_unknown) {
        b->words++;
    } else {
        b->command = find(word);
        b->is_unknown = !b->command;
    }
}

/* --- what can follow --- */

static void print_commands(const char *begun)
{
    for (size_t i = 0; i < commands_count; i++)
        print(commands[i].name, begun, commands[i].summary);
    print("help", begun, "print the commands");
}

static void print_options(const struct command *c, const char *begun)
{
    char name[OPTIONS_NAME_SIZE + 2];

    for (enum option_id i = 0; i < OPTIONS; i++) {
        if (!c || !(c->options & OPTION(i)))
            continue;
        text_format(name, sizeof name, "--%s", options_name(i));
        print(name, begun, "");
    }
    for (size_t i = 0; i < sizeof everywhere / sizeof everywhere[0]; i++)
        print(everywhere[i], begun, "");
}

static void print_value(const char *value)
{
    if (strcmp(value, "FILE") == 0)
        puts("\tfile");
    else if (strcmp(value, "DIR") == 0)
        puts("\tfolder");
}

/* Of each entry of Status' array: 1; 0 where there is none any more; or negative errno. */
static int print_job(sd_bus_message *m, const char *begun)
{
    const char *name;
    int rc = sd_bus_message_enter_container(m, 'r', "sa{sv}");

    if (rc <= 0)
        return rc;
    rc = sd_bus_message_read(m, "s", &name);
    if (rc > 0 && text_is_job_name(name))
        print(name, begun, "");
    if (rc > 0)
        rc = sd_bus_message_skip(m, "a{sv}");
    return rc > 0 ? sd_bus_message_exit_container(m) : rc;
}

/* Those of this device, if its rotad says them. */
static int print_jobs(struct call *c, const char *begun)
{
    sd_bus_message *m = NULL;
    int rc = call_now(c, "Status", &m), got = 0;

    if (rc == 0)
        got = sd_bus_message_skip(m, "ssa{sv}");
    if (got > 0)
        got = sd_bus_message_enter_container(m, 'a', "(sa{sv})");
    while (got > 0)
        got = print_job(m, begun);
    sd_bus_message_unref(m);
    return got < 0 ? call_say_odd(c) : rc;
}

static bool takes_job(const struct before *b)
{
    const char *words = b->command->words;

    return words && (begins(words, "[JOB") || (begins(words, "JOB") && b->words == 0));
}

int complete_print(struct call *c, const char *const *words)
{
    struct before b = { .runtime_dir = c->runtime_dir };
    const char *begun;

    for (; words[0] && words[1]; words++)
        take(&b, words[0]);
    begun = words[0] ? words[0] : "";
    c->runtime_dir = b.runtime_dir;
    if (b.option)
        print_value(value_of(b.option));
    else if (b.command && takes_job(&b) && (b.no_options || begun[0] != '-'))
        return print_jobs(c, begun);
    else if (!b.no_options && (b.command || begun[0] == '-'))
        print_options(b.command, begun);
    else if (!b.command && !b.is_unknown)
        print_commands(begun);
    return 0;
}
