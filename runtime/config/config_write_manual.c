/* SPDX-License-Identifier: MIT */
#include "base/units.h"
#include "config/config.h"
#include "config/renamed.h"
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>

/* In scdoc(5): a line that begins with a tab belongs to the key above it, and ++ ends a line, after
 * which there is none. */
static const char head[] =
    "rotad.conf(5) \"rota\"\n\n"
    "; SPDX-License-Identifier: MIT\n\n"
    "# NAME\n\n"
    "rotad.conf - what rotad does, and when\n\n"
    "# SYNOPSIS\n\n"
    "_/etc/rota/rotad.conf_++\n"
    "_/usr/lib/rota/jobs.d/\\*.conf_++\n"
    "_/etc/rota/jobs.d/\\*.conf_++\n"
    "_/run/rota/jobs.d/\\*.conf_\n\n"
    "# DESCRIPTION\n\n"
    "The files are in the format of libconfig. rotad.conf says who this device is and where Redis "
    "is.\n"
    "Each file of a jobs.d folder holds one group, jobs = { ... };, and nothing else; rotad.conf "
    "may\n"
    "hold such a group too. A file in a later folder replaces the file of the same name in an "
    "earlier\n"
    "one; a link to /dev/null masks it. They are read in order of their names. Hidden files and "
    "names\n"
    "that do not end in .conf are left alone. With the option -c FILE it is that file and the "
    "jobs.d\n"
    "folder beside it.\n\n"
    "Durations are texts with units: ms, s, m, h, d, as in \"1h30m\"; sizes too: B, KiB, MiB, "
    "GiB,\n"
    "TiB, as in \"64MiB\". Numbers are plain decimal\n"
    "digits. The period of a job is its every, or the least time between two turns of its cron.\n"
    "@include is not read. Files have at most 256 KiB, and nobody but root and rotad's own "
    "user\n"
    "may be able to change or replace them. The name of a job begins with a letter; letters, "
    "digits,\n"
    "\\_ and - follow, 63 characters in all at most. One rotad takes at most 2,000 jobs.\n\n"
    "A job with a mistake does not run, the other jobs do; a mistake elsewhere in rotad.conf "
    "keeps\n"
    "rotad from starting.\n"
    "*rotad --check*\n"
    "reports every mistake, and shows when each job is due.\n"
    "A key that gets another name is read by its old one too, in that minor release and the next;\n"
    "each use of it is a warning.\n\n"
    "A reload (SIGHUP) takes over changed jobs, and all keys but those that are marked with "
    "\"takes a\n"
    "restart\" below. As long as there was no job yet it takes over those too.\n\n";

static const char foot[] = "# EXAMPLE\n\n"
                           "```\n"
                           "prefix = \"acme:\";\n"
                           "redis  = { address = \"127.0.0.1:6379\"; };\n"
                           "jobs   = {\n"
                           "  nightly_report = {\n"
                           "    plugin     = \"exec\";\n"
                           "    cron       = \"30 2 * * *\";\n"
                           "    worst_case = \"10m\";\n"
                           "    params     = { command = [ \"/usr/bin/true\" ]; };\n"
                           "  };\n"
                           "};\n"
                           "```\n\n"
                           "# SEE ALSO\n\n"
                           "*rotad*(8), *rotactl*(1), *rota-guard*(8), *rota-plugins*(7)\n";

/* No character of a text may be one of scdoc's. An underscore within a word is none. */
static void put_text(const char *text, FILE *out)
{
    char before = ' ';

    for (; *text; before = *text++) {
        bool within = isalnum((unsigned char)before) && isalnum((unsigned char)text[1]);

        if (*text == '\\' || *text == '*' || (*text == '_' && !within))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_range(const char *type, char *(*write)(int64_t value, char *buf, size_t size),
                      const struct schema_key *k, FILE *out)
{
    char least[UNITS_SIZE], most[UNITS_SIZE];

    fprintf(out, "%s, \"%s\" to \"%s\"%s", type, write(k->min, least, sizeof(least)),
            write(k->max, most, sizeof(most)), k->flags & SCHEMA_AUTO ? ", or \"auto\"" : "");
}

static void put_choices(const struct schema_key *k, FILE *out)
{
    const char *choice;
    int length;

    for (int i = 0; (choice = schema_choice(k->choices, i, &length)); i++)
        fprintf(out, "%s\"%.*s\"", i > 0 ? " | " : "", length, choice);
}

static void put_list(const struct schema_key *k, FILE *out)
{
    if (k->flags & SCHEMA_VARIABLES)
        fprintf(out, "list of at most %lld texts NAME=value", (long long)k->max);
    else
        fputs(k->flags & SCHEMA_ABSOLUTE ? "list of absolute paths" : "list of texts", out);
}

static void put_type(const struct schema_key *k, FILE *out)
{
    long long least = (long long)k->min, most = (long long)k->max;

    switch (k->type) {
    case SCHEMA_TEXT:
        fprintf(out, k->flags & SCHEMA_ABSOLUTE ? "absolute path" : "text of %lld to %lld bytes",
                least, most);
        if (k->only) {
            fputs(", letters, digits and ", out);
            put_text(k->only, out);
        }
        if (k->flags & SCHEMA_SECRET)
            fputs(" | credential:NAME", out);
        break;
    case SCHEMA_CHOICE:
        put_choices(k, out);
        break;
    case SCHEMA_DURATION:
        put_range("duration", units_write_duration, k, out);
        break;
    case SCHEMA_SIZE:
        put_range("size", units_write_size, k, out);
        break;
    case SCHEMA_INTEGER:
        fprintf(out, "number, %lld to %lld", least, most);
        break;
    case SCHEMA_BOOLEAN:
        fputs("true | false", out);
        break;
    case SCHEMA_LIST:
        put_list(k, out);
        break;
    case SCHEMA_ADDRESSES:
        fputs("text, or list of texts", out);
        break;
    case SCHEMA_SERVERS:
        fputs("list of 3, 5 or 7 groups", out);
        break;
    default:
        fputs("group", out);
    }
}

/* As it would be written in the file. */
static void put_value(const struct schema_key *k, FILE *out)
{
    const char *quote = k->type == SCHEMA_INTEGER || k->type == SCHEMA_BOOLEAN ? "" : "\"";

    fputs(quote, out);
    put_text(k->def, out);
    fputs(quote, out);
}

static void put_default(const struct schema_key *k, FILE *out)
{
    if (k->flags & SCHEMA_REQUIRED) {
        fputs("required", out);
    } else if (k->flags & SCHEMA_NEEDS_JOB) {
        fputs("required where there is a job", out);
    } else if (k->otherwise) {
        fputs("default: ", out);
        put_text(k->otherwise, out);
    } else if (k->def) {
        fputs("default ", out);
        put_value(k, out);
    } else {
        fputs("no default", out);
    }
}

static void put_old_name(const struct schema_group *g, const struct schema_key *k, FILE *out)
{
    for (const struct renamed_key *row = renamed_keys; row->old; row++)
        if (schema_group(row->group) == g && strcmp(row->name, schema_name(k)) == 0) {
            fprintf(out, "++\nBefore rota %d.%d this was called ", row->major, row->minor);
            put_text(row->old, out);
            fprintf(out, ", which works up to rota %d.%d.", row->major, renamed_last_minor(row));
        }
}

static void put_key(const struct schema_group *g, const struct schema_key *k, FILE *out)
{
    bool of_job = g == schema_group(SCHEMA_JOB) || g == schema_group(SCHEMA_LIMITS);
    bool needs_restart = !of_job && !(k->flags & SCHEMA_LIVE);

    fputs("*", out);
    put_text(schema_name(k), out);
    fputs("*\n\t", out);
    put_text(k->help, out);
    if (k->type != SCHEMA_GROUP) {
        fputs("++\n(", out);
        put_type(k, out);
        fputs("; ", out);
        put_default(k, out);
        fputs(needs_restart ? "; takes a restart)" : ")", out);
    }
    put_old_name(g, k, out);
    fputs("\n\n", out);
}

static void put_group(const char *title, enum schema_group_id id, FILE *out)
{
    const struct schema_group *g = schema_group(id);

    fprintf(out, "# %s\n\n", title);
    for (size_t i = 0; i < g->count; i++)
        put_key(g, &g->keys[i], out);
}

int config_write_manual(FILE *out)
{
    fputs(head, out);
    put_group("KEYS OF ROTAD.CONF", SCHEMA_TOP, out);
    put_group("KEYS OF redis = { ... }", SCHEMA_REDIS, out);
    put_group("KEYS OF jobs = { NAME = { ... } }", SCHEMA_JOB, out);
    put_group("KEYS OF limits = { ... } IN A JOB", SCHEMA_LIMITS, out);
    fputs(foot, out);
    return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}
