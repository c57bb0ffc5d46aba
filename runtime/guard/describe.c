/* SPDX-License-Identifier: MIT */
#include "guard/describe.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "guard/description.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static int complain(const char *before, const char *text)
{
    char shown[SENTENCE_SIZE];

    fprintf(stderr, "rota-guard: %s%s\n", before,
            text_escape(shown, sizeof(shown), text, strlen(text)));
    return EXIT_FAILURE;
}

/* On the heap, with room for one byte more. */
static int write_text(const struct plugin *p, char **ret_text, size_t *ret_length)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool bad;

    if (!out)
        return -ENOMEM;
    description_write(out, p);
    bad = ferror(out);
    if (fclose(out) != 0 || bad) {
        free(text);
        return -ENOMEM;
    }
    *ret_text = text; /* memstreams end with a NUL that is not counted */
    *ret_length = length;
    return 0;
}

/* What is printed is read back first: a description that no probe takes is not to be installed. */
static int check(const char *text, size_t length)
{
    struct problems problems = { 0 };
    struct plugin again = { 0 };
    char *copy = strdup(text);

    if (!copy)
        return complain("", "no memory for the description");
    if (description_parse(copy, length, "its description", &again, &problems) < 0)
        return complain("", problems.text[0]);
    loader_done(&again);
    return EXIT_SUCCESS;
}

static int print(const struct plugin *p, const char *path)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    int status;

    if (write_text(p, &text, &length) < 0)
        return complain("", "no memory for the description");
    if (length > DESCRIPTION_SIZE_MAX)
        return complain(path, ": its texts are too long for a description");
    status = check(text, length);
    if (status != EXIT_SUCCESS)
        return status;
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    complain("standard output cannot be written: ", strerror(errno));
    return EX_OSERR;
}

const char *describe_advice(const char *file)
{
    return strchr(file, '/') || strstr(file, ".so") ? "" : "; write the path of the plugin's .so";
}

int describe_main(const char *file)
{
    char path[PATH_MAX], sentence[SENTENCE_SIZE];
    const struct trust_place place = { .path = path, .folder = -1 };
    struct plugin plugin;
    int status;

    if (!realpath(file, path)) {
        text_format(sentence, sizeof(sentence), "%s: %s%s", file, strerror(errno),
                    describe_advice(file));
        return complain("", sentence);
    }
    if (loader_load(&place, &plugin, sentence) < 0)
        return complain("", sentence);
    status = print(&plugin, path);
    loader_done(&plugin);
    return status;
}
