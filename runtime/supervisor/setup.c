/* SPDX-License-Identifier: MIT */
#include "supervisor/setup.h"
#include "config/secret.h"
#include <stdlib.h>

/* KEYS.md's default of limits.processes. */
#define PROCESSES_DEFAULT 64

/* Without a control group it counts all that the user runs, jobs or not: not where that may be
 * a person, or a service. */
static int64_t default_processes(const struct setup_env *env, const struct job_setup *job)
{
    bool of_its_own = env->cgroups && env->cgroups->counts_processes;
    bool of_jobs_alone = env->user->other && !job->user;

    return of_its_own || of_jobs_alone ? PROCESSES_DEFAULT : 0;
}

static uint32_t count(char *const *texts)
{
    uint32_t count = 0;

    while (texts && texts[count])
        count++;
    return count;
}

/* The identity is whole where its parts are named: the loader refuses the others. */
static void put_identity(const struct worker_user *fallback, const struct job_setup *job,
                         struct message_setup *setup)
{
    const struct job_identity *named = &job->identity;
    const struct user *u = &fallback->user;

    setup->switch_user = user_may_switch() && (job->user || job->group || fallback->other);
    setup->uid = job->user ? named->uid : u->uid;
    setup->gid = job->user || job->group ? named->gid : u->gid;
    setup->groups = named->groups;
    setup->group_count = named->group_count;
    setup->user = job->user ? job->user : u->name;
    setup->home = job->user ? named->home : u->home;
    setup->apart = !job->user && setup->uid != 0;
}

/* What no parameter names is none of a guard's business. */
static const char *credentials_for(const struct job_config *config)
{
    for (uint32_t i = 0; i < config->param_count; i++)
        if (config->params[i].kind == PARAM_TEXT && secret_is_credential(config->params[i].text))
            return getenv("CREDENTIALS_DIRECTORY");
    return NULL;
}

struct message_setup setup_of_job(const struct setup_env *env, const struct job_config *config)
{
    const struct job_setup *job = config->setup;
    struct message_setup setup = {
        .working_dir = job->working_dir,
        .environment = (const char *const *)job->environment,
        .environment_count = count(job->environment),
        .limits = job->limits,
        .no_network = !job->network,
        .cgroup = env->cgroups ? env->cgroups->folder : NULL,
        .credentials = credentials_for(config),
    };

    put_identity(env->user, job, &setup);
    if (setup.limits.processes == 0)
        setup.limits.processes = default_processes(env, job);
    return setup;
}
