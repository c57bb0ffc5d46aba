/* SPDX-License-Identifier: MIT */
#include "rotactl/word.h"
#include "base/text.h"
#include "base/units.h"
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

int word_job(const struct request *r, const char *command, const char **ret_job)
{
    if (!r->words[0] || r->words[1]) {
        fprintf(stderr, "rotactl: %s needs the name of one job: rotactl %s nightly_report\n",
                command, command);
        return EX_USAGE;
    }
    *ret_job = r->words[0];
    return 0;
}

int word_say_no_job(const char *job)
{
    char shown[80];

    fprintf(stderr, "rotactl: there is no job '%s' here; rotactl status has all\n",
            text_escape(shown, sizeof shown, job, strlen(job)));
    return EX_USAGE;
}

int word_time(const struct request *r, enum option_id option, int64_t *ret_ms)
{
    const char *text = r->values[option];

    if (!text || units_parse_duration(text, ret_ms) == 0)
        return 0;
    return word_say_no_time(r, option);
}

int word_say_no_time(const struct request *r, enum option_id option)
{
    const char *text = r->values[option];
    char name[OPTIONS_NAME_SIZE], shown[80];

    fprintf(stderr,
            "rotactl: %s is '%s', which is no time; write \"90s\" or \"10m\", for instance\n",
            options_written(option, name, sizeof name),
            text_escape(shown, sizeof shown, text, strlen(text)));
    return EX_USAGE;
}
