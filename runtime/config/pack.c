/* SPDX-License-Identifier: MIT */
#include "config/pack.h"
#include "config/job.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The places that point to a text. */
struct texts {
    char ***places; /* NULL: they are only counted */
    size_t count;
    size_t bytes; /* of the texts, each once */
};

struct arrays {
    char *block; /* where they go; NULL: they are only measured */
    size_t bytes;
    struct job_setup *setup; /* the newest */
};

/* `place` is a char **, or the const char ** of a parameter, whose text is ours here. */
static void note_text(struct texts *t, void *place)
{
    if (!*(char **)place)
        return;
    if (t->places)
        t->places[t->count] = place;
    t->count++;
}

static void note_list(struct texts *t, char **list)
{
    for (; list && *list; list++)
        note_text(t, list);
}

static void note_param(struct texts *t, struct param_value *v)
{
    char **items = (char **)(uintptr_t)v->items;

    note_text(t, &v->name);
    note_text(t, &v->text);
    for (uint32_t i = 0; i < v->count; i++)
        note_text(t, &items[i]);
}

/* What job_free() frees, but for arrays and invalid_why. */
static void note_job(struct texts *t, struct job_config *job)
{
    const struct schema_group *g = schema_group(SCHEMA_JOB);

    for (size_t i = 0; i < g->count; i++) {
        void *value = value_at(&g->keys[i], job);

        if (g->keys[i].type == SCHEMA_TEXT)
            note_text(t, value);
        else if (g->keys[i].type == SCHEMA_LIST)
            note_list(t, *(char ***)value);
    }
    for (uint32_t i = 0; i < job->param_count; i++)
        note_param(t, &job->params[i]);
    note_text(t, &job->name);
    note_text(t, &job->file);
    note_text(t, &job->plugin_path);
    note_text(t, &job->description);
    note_text(t, &job->setup->identity.home);
}

static void note_jobs(struct texts *t, struct config *c)
{
    t->count = 0;
    for (size_t i = 0; i < c->job_count; i++)
        note_job(t, &c->jobs[i]);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(**(char **const *)a, **(char **const *)b);
}

/* The places in order of their texts. 0 or -ENOMEM. */
static int collect_texts(struct config *c, struct texts *ret_texts)
{
    struct texts t = { 0 };
    const char *last = NULL;

    note_jobs(&t, c);
    t.places = calloc(t.count + 1, sizeof(*t.places));
    if (!t.places)
        return -ENOMEM;
    note_jobs(&t, c);
    qsort(t.places, t.count, sizeof(*t.places), by_text);
    for (size_t i = 0; i < t.count; i++) {
        if (!last || strcmp(last, *t.places[i]) != 0)
            t.bytes += strlen(*t.places[i]) + 1;
        last = *t.places[i];
    }
    *ret_texts = t;
    return 0;
}

static void move_texts(const struct texts *t, char *block)
{
    char *last = NULL;

    for (size_t i = 0; i < t->count; i++) {
        char *text = *t->places[i];

        if (!last || strcmp(last, text) != 0) {
            size_t size = strlen(text) + 1;

            last = memcpy(block, text, size);
            block += size;
        }
        *t->places[i] = last;
        free(text);
    }
}

/* `place` points to an array, or to NULL. */
static void put_array(struct arrays *a, void *place, size_t bytes)
{
    const size_t align = _Alignof(int64_t); /* of what is in them, the strictest */
    void *array = *(void **)place;

    if (!array)
        return;
    if (a->block) {
        *(void **)place = memcpy(a->block + a->bytes, array, bytes);
        free(array);
    }
    a->bytes += (bytes + align - 1) / align * align;
}

static size_t list_bytes(char *const *list)
{
    size_t count = 1;

    while (list && *list++)
        count++;
    return count * sizeof(*list);
}

/* Each began as zeros, padding too; and where that differs, they are only not shared. */
static bool is_same(const struct job_setup *a, const struct job_setup *b)
{
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* One for all jobs that write nothing of it, or the same. Never more are shared while it is only
 * measured, since equal texts are not one yet. */
static void put_setup(struct arrays *a, struct job_config *job)
{
    if (a->setup && is_same(a->setup, job->setup)) {
        if (a->block) {
            free(job->setup);
            job->setup = a->setup;
        }
        return;
    }
    put_array(a, &job->setup, sizeof(*job->setup));
    a->setup = job->setup;
}

/* A parameter's items first, since they are pointed to from the array of the parameters. */
static void put_arrays_of_job(struct arrays *a, struct job_config *job)
{
    const struct schema_group *g = schema_group(SCHEMA_JOB);
    struct job_identity *identity = &job->setup->identity;

    for (size_t i = 0; i < g->count; i++) {
        char ***value = value_at(&g->keys[i], job);

        if (g->keys[i].type == SCHEMA_LIST)
            put_array(a, value, list_bytes(*value));
    }
    for (uint32_t i = 0; i < job->param_count; i++)
        put_array(a, &job->params[i].items, job->params[i].count * sizeof(char *));
    put_array(a, &job->params, job->param_count * sizeof(*job->params));
    put_array(a, &job->param_lines, job->param_count * sizeof(*job->param_lines));
    put_array(a, &identity->groups, identity->group_count * sizeof(*identity->groups));
    put_setup(a, job);
}

static size_t put_arrays(struct config *c, struct arrays a)
{
    for (size_t i = 0; i < c->job_count; i++)
        put_arrays_of_job(&a, &c->jobs[i]);
    return a.bytes;
}

int pack_jobs(struct config *c)
{
    struct texts texts;
    size_t array_bytes;
    char *block;

    if (c->job_count == 0)
        return 0;
    if (collect_texts(c, &texts) < 0)
        return -ENOMEM;
    array_bytes = put_arrays(c, (struct arrays){ 0 });
    /* Not 0: a job has a setup. NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI) */
    block = malloc(array_bytes + texts.bytes);
    if (block) {
        /* The texts first: some of the places are in arrays that move. */
        move_texts(&texts, block + array_bytes);
        put_arrays(c, (struct arrays){ .block = block });
        for (size_t i = 0; i < c->job_count; i++)
            job_point_to_names(&c->jobs[i]);
        c->job_block = block;
    }
    free(texts.places);
    return block ? 0 : -ENOMEM;
}
