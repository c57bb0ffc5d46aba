/* SPDX-License-Identifier: MIT */
#include "fake_settings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct setting {
    const char *name, *value;
} settings[] = {
    { "load", "loaded" },     { "type", "oneshot" }, { "remain", "0" },  { "limit", "infinity" },
    { "active", "inactive" }, { "run_ms", "100" },   { "stop_ms", "0" }, { "job", "done" },
    { "result", "success" },  { "code", "1" },       { "status", "0" },  { "condition", "1" },
    { "lifeline", "done" },   { "keeps", "1" },      { "queued", "0" },  { "answer_ms", "0" },
    { "refuse", "nothing:" }, { "cut_ms", "0" },     { "id", "" },       { "lost", "" },
    { "silent", "0" },        { "taken", "0" },      { "kills", "1" },   { "over_ms", "0" },
    { "closes", "" },
};

const char *setting(const char *name)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (strcmp(settings[i].name, name) == 0)
            return settings[i].value;
    abort();
}

void must(int r, const char *what)
{
    if (r < 0) {
        fprintf(stderr, "fake_systemd: %s: %s\n", what, strerror(-r));
        exit(1);
    }
}

void take_settings(int count, char **words)
{
    for (int i = 0; i < count; i++) {
        size_t length = strcspn(words[i], "=");
        bool known = false;

        for (size_t k = 0; k < sizeof(settings) / sizeof(settings[0]); k++)
            if (strlen(settings[k].name) == length &&
                strncmp(settings[k].name, words[i], length) == 0) {
                settings[k].value = words[i] + length + 1;
                known = true;
            }
        must(known ? 0 : -EINVAL, words[i]);
    }
}
