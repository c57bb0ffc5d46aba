/* SPDX-License-Identifier: MIT
 * rotactl: asks the rotad of this device, and tells it what to do. */
#include "base/text.h"
#include "rotactl/commands.h"
#include "rotactl/complete.h"
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

/* The last word: a full disk is no success. */
static int end_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "rotactl: standard output cannot be written: %s\n", strerror(errno));
    return EX_OSERR;
}

static int say_no_words(const struct command *c, const char *word)
{
    char shown[80];

    fprintf(stderr, "rotactl: %s takes no '%s'\n", c->name,
            text_escape(shown, sizeof shown, word, strlen(word)));
    return EX_USAGE;
}

static int run(struct request *r)
{
    struct call call = { .runtime_dir = r->runtime_dir, .peer = -1 };
    const struct command *c;
    int rc;

    if (!r->words[0]) {
        fputs("rotactl: say what to do, for instance: rotactl status\n", stderr);
        return EX_USAGE;
    }
    if (strcmp(r->words[0], "help") == 0) {
        commands_print_help();
        return 0;
    }
    if (strcmp(r->words[0], "complete") == 0) {
        rc = complete_print(&call, r->words + 1);
        call_close(&call);
        return rc;
    }
    c = commands_find(r->words[0]);
    if (!c)
        return EX_USAGE;
    r->words++;
    if (r->words[0] && !c->words)
        return say_no_words(c, r->words[0]);
    rc = options_check(r, c->name, c->options);
    if (rc == 0)
        rc = c->run(&call, r);
    call_close(&call);
    return rc;
}

int main(int argc, char **argv)
{
    enum options_next next;
    struct request request;
    int rc;

    (void)setlocale(LC_CTYPE, ""); /* how wide a character is, and what a timeline is drawn of */
    rc = options_parse(argc, argv, &request, &next);
    if (rc != 0)
        return rc;
    switch (next) {
    case OPTIONS_HELP:
        commands_print_help();
        break;
    case OPTIONS_VERSION:
        puts("rotactl " ROTA_VERSION);
        break;
    case OPTIONS_RUN:
        rc = run(&request);
        break;
    }
    return end_output(rc);
}
