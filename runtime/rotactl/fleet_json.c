/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "rotactl/fleet_view.h"
#include "rotactl/output.h"
#include <inttypes.h>
#include <string.h>

/* The first of an object has nothing before it, so none of these is ever the first. */
static void put_text(FILE *out, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    fprintf(out, ", \"%s\": ", name);
    output_json(out, text);
}

/* Where it is not known, or there is none: nothing. */
static void put_number(FILE *out, const char *name, int64_t number)
{
    if (number > 0)
        fprintf(out, ", \"%s\": %" PRId64, name, number);
}

static void put_time(FILE *out, const char *name, int64_t ms)
{
    if (ms >= 0)
        fprintf(out, ", \"%s\": %" PRId64, name, ms);
}

static void put_confs(FILE *out, const struct fleet_job *job)
{
    fputs(", \"configurations\": [", out);
    for (size_t i = 0; i < job->conf_count; i++) {
        const struct fleet_conf *c = &job->confs[i];

        fprintf(out, "%s{\"devices\": %zu", i ? ", " : "", c->devices);
        put_text(out, "fingerprint", c->fingerprint);
        put_text(out, "schedule", c->schedule);
        putc('}', out);
    }
    putc(']', out);
}

/* Nothing of it is there while it is not paused. */
static void put_pause(FILE *out, const struct fleet_job *job)
{
    put_text(out, "pause", job->pause);
    if (*job->pause)
        put_time(out, "pause_left_ms", job->pause_left_ms);
}

static void put_run(FILE *out, const struct fleet_job *job)
{
    char device[FLEET_CELL_SIZE];

    put_text(out, "outcome", job->state);
    put_text(out, "detail", job->detail);
    put_text(out, "token", job->token);
    if (*job->token) {
        fleet_token_device(job->token, device, sizeof device);
        put_text(out, "device", device);
    }
    put_number(out, "attempt", job->attempt);
    put_number(out, "started", job->started);
    put_number(out, "ended", job->ended);
    put_text(out, "holder", job->holder);
    if (*job->holder)
        put_time(out, "left_ms", job->left_ms);
}

static void put_job(FILE *out, const struct fleet_job *job)
{
    char state[FLEET_CELL_SIZE], mark[] = { fleet_mark(job), '\0' };

    fputs("{\"job\": ", out);
    output_json(out, job->name);
    fleet_state(job, state);
    put_text(out, "state", state);
    put_text(out, "mark", mark);
    put_text(out, "trouble", job->trouble);
    put_number(out, "turn", job->turn);
    put_number(out, "done", job->done);
    put_number(out, "attempts", job->attempts);
    if (job->each)
        fprintf(out, ", \"devices\": %zu, \"devices_done\": %zu, \"devices_running\": %zu",
                job->devices, job->has_done, job->running);
    else
        put_run(out, job);
    put_time(out, "ran_ms", job->took_ms);
    put_pause(out, job);
    put_confs(out, job);
    putc('}', out);
}

void fleet_print_json(FILE *out, const struct fleet *f)
{
    fputs("{\"fleet\": ", out);
    output_json(out, f->prefix);
    put_text(out, "address", f->address);
    put_text(out, "server", f->server);
    put_text(out, "policy", f->policy);
    fprintf(out, ", \"now\": %" PRId64 ", \"devices\": %zu, \"silent\": %zu, \"versions\": [",
            f->now_ms, f->devices, f->silent);
    for (size_t i = 0; i < f->version_count; i++) {
        fprintf(out, "%s{\"devices\": %zu", i ? ", " : "", f->versions[i].devices);
        put_text(out, "version", f->versions[i].text);
        putc('}', out);
    }
    fputs("], \"jobs\": [", out);
    for (size_t i = 0; i < f->job_count; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        put_job(out, &f->jobs[i]);
    }
    fputs(f->job_count ? "\n]}\n" : "]}\n", out);
}
