/* SPDX-License-Identifier: MIT
 * The whole fleet: its server, its devices, its jobs. */
#include "base/text.h"
#include "rotactl/commands.h"
#include "rotactl/fleet_ask.h"
#include "rotactl/fleet_missing.h"
#include "rotactl/output.h"
#include <stdio.h>
#include <sysexits.h>

/* 0 or -ENOMEM. */
static int print_screen(const struct request *r, const struct fleet *f)
{
    const struct screen screen = screen_of(r);
    const char *list = r->values[OPTION_OUTPUT];
    bool whole = screen.headings && !list;
    int rc = 0;

    if (whole)
        fleet_print_head(stdout, &screen, f);
    if (whole && f->job_count > 0)
        putchar('\n');
    if (f->job_count > 0)
        rc = fleet_columns_print(stdout, &screen, f, list);
    if (whole)
        fleet_print_reasons(stdout, &screen, f);
    return rc;
}

static int print(const struct request *r, const struct fleet *f)
{
    int rc = 0;

    if (options_has(r, OPTION_JSON))
        fleet_print_json(stdout, f);
    else if (options_has(r, OPTION_CHECK))
        fleet_print_check(stdout, f);
    else
        rc = print_screen(r, f);
    if (rc < 0)
        return output_say_no_memory();
    return fleet_needs_look(f) ? STATUS_LOOK : 0;
}

static int check_words(const struct request *r)
{
    if (r->words[0] && r->words[1]) {
        fputs("rotactl: fleet takes one job at most; without one it shows all\n", stderr);
        return EX_USAGE;
    }
    if (options_has(r, OPTION_MISSING) && !r->words[0]) {
        fputs("rotactl: --missing is about one job: rotactl fleet firmware --missing\n", stderr);
        return EX_USAGE;
    }
    if (options_has(r, OPTION_MISSING) &&
        (r->given & (OPTION(OPTION_OUTPUT) | OPTION(OPTION_CHECK)))) {
        fputs("rotactl: with --missing there are no columns to choose, and nothing to check; leave "
              "-o and --check out\n",
              stderr);
        return EX_USAGE;
    }
    if (options_check_apart(r, OPTION(OPTION_JSON) | OPTION(OPTION_CHECK) | OPTION(OPTION_OUTPUT)))
        return EX_USAGE;
    return fleet_columns_check(r->values[OPTION_OUTPUT]);
}

int command_fleet(struct call *c, const struct request *r)
{
    struct fleet_answers answers = { 0 };
    int rc = check_words(r);

    if (rc == 0 && options_has(r, OPTION_CHECK))
        output_all_on_stdout();
    if (rc == 0)
        rc = fleet_ask(c, r->words[0], &answers);
    if (rc == 0)
        rc = options_has(r, OPTION_MISSING) ? fleet_missing_show(c, r, &answers)
                                            : print(r, &answers.fleet);
    fleet_answers_done(&answers);
    return rc;
}
