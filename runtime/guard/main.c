/* SPDX-License-Identifier: MIT
 * rota-guard: the process between rotad and a job's worker; and a tool for who writes plugins. */
#include "base/units.h"
#include "guard/describe.h"
#include "guard/probe.h"
#include "guard/run.h"
#include "guard/try.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* sysexits.h's EX_USAGE */
#define EXIT_USAGE 64

#define TRY_WORST_CASE_MS (10 * MINUTE_MS)
#define TRY_STOP_GRACE_MS (5 * SECOND_MS)

static const char usage[] =
    "rota-guard --describe FILE.so\n"
    "    prints the plugin's contract: what it does and the parameters it takes\n"
    "rota-guard --try [--worst-case 10m] [--grace 5s] FILE.so [name=value ...]\n"
    "    runs the plugin once, without a lock; a list is its name given once for each element;\n"
    "    Ctrl-C asks it to stop. Exit status 0: succeeded, or nothing to do; 78: wrong\n"
    "    parameters; else 1\n"
    "rota-guard --version | --help\n"
    "\n"
    "rotad itself starts `rota-guard --run NAME` and `rota-guard --probe`.\n";

static int wrong(const char *what, const char *argument)
{
    fprintf(stderr, "rota-guard: %s%s%s; see rota-guard --help\n", what, argument ? " " : "",
            argument ? argument : "");
    return EXIT_USAGE;
}

static int run_try(int argc, char **argv)
{
    struct try_options options = { .worst_case_ms = TRY_WORST_CASE_MS,
                                   .stop_grace_ms = TRY_STOP_GRACE_MS };
    int i = 2;

    for (; i < argc && argv[i][0] == '-'; i += 2) {
        int64_t *ms = NULL;

        if (strcmp(argv[i], "--worst-case") == 0)
            ms = &options.worst_case_ms;
        else if (strcmp(argv[i], "--grace") == 0)
            ms = &options.stop_grace_ms;
        if (!ms)
            return wrong("it has no option", argv[i]);
        if (i + 1 == argc || units_parse_duration(argv[i + 1], ms) < 0)
            return wrong("write a duration such as \"1h30m\" after", argv[i]);
    }
    if (i == argc)
        return wrong("--try needs a plugin's file", NULL);
    options.file = argv[i];
    options.settings = argv + i + 1;
    return try_main(&options);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    /* The name after --run is for ps alone. Nothing is left to be written at its end, which libc
     * would touch page after page to find out. */
    if (strcmp(mode, "--run") == 0)
        _exit(run_main());
    if (strcmp(mode, "--probe") == 0)
        return probe_main();
    if (strcmp(mode, "--describe") == 0)
        return argc == 3 ? describe_main(argv[2])
                         : wrong("--describe needs one plugin's file", NULL);
    if (strcmp(mode, "--try") == 0)
        return run_try(argc, argv);
    if (strcmp(mode, "--version") == 0) {
        puts("rota-guard " ROTA_VERSION);
        return EXIT_SUCCESS;
    }
    if (strcmp(mode, "--help") == 0) {
        fputs(usage, stdout);
        return EXIT_SUCCESS;
    }
    return wrong(argc > 1 ? "it does not know" : "it needs to be told what to do",
                 argc > 1 ? mode : NULL);
}
