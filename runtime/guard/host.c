/* SPDX-License-Identifier: MIT */
#include "guard/host.h"
#include "base/text.h"
#include "guard/clock.h"
#include "guard/credential.h"
#include "guard/life.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

static struct host *host_of(const struct rota_run *run)
{
    return run->host;
}

/* The value, or the end of this process: the contract calls asking for anything else a bug. */
static const struct value *wanted(const struct rota_run *run, const char *name, uint32_t type)
{
    const struct host *h = host_of(run);
    const struct value *value = name ? params_find(h->params, name, type) : NULL;
    char sentence[SENTENCE_SIZE];

    if (value)
        return value;
    if (name && params_find(h->params, name, 0))
        text_format(sentence, sizeof(sentence),
                    "plugin '%s' asked for its parameter '%.64s' as type %s, but declares another",
                    h->params->plugin->contract.name, name, params_type_name(type));
    else
        text_format(sentence, sizeof(sentence),
                    "plugin '%s' asked for the parameter '%.64s', which it does not declare",
                    h->params->plugin->contract.name, name ? name : "(null)");
    h->port.give_up(sentence);
}

static int host_is_set(const struct rota_run *run, const char *name)
{
    return wanted(run, name, 0)->set;
}

static const char *host_string(const struct rota_run *run, const char *name)
{
    const struct value *value = wanted(run, name, ROTA_STRING);

    return value->set ? value->string : NULL;
}

static const char *const *host_strings(const struct rota_run *run, const char *name)
{
    static const char *const none[] = { NULL };
    const struct value *value = wanted(run, name, ROTA_STRINGS);

    return value->set ? value->strings : none;
}

static int64_t host_integer(const struct rota_run *run, const char *name, uint32_t type)
{
    const struct value *value = wanted(run, name, type);

    return value->set ? value->integer : 0;
}

static double host_number(const struct rota_run *run, const char *name)
{
    const struct value *value = wanted(run, name, ROTA_NUMBER);

    return value->set ? value->number : 0;
}

static int64_t left_until(struct boot at)
{
    int64_t left = boot_between(clock_now(), at);

    return left > 0 ? left : 0;
}

static struct boot overrun_at(struct host *h)
{
    return (struct boot){ atomic_load(&h->overrun_ms) };
}

static int64_t host_budget_left_ms(const struct rota_run *run)
{
    return left_until(overrun_at(host_of(run)));
}

static int64_t host_lease_left_ms(const struct rota_run *run)
{
    struct host *h = host_of(run);
    struct boot deadline = { atomic_load(&h->deadline_ms) };

    return left_until(boot_min(boot_add(deadline, -h->stop_grace_ms), overrun_at(h)));
}

static int host_should_stop(const struct rota_run *run)
{
    struct host *h = host_of(run);

    if (!atomic_load(&h->stopping) && h->port.look)
        h->port.look();
    return atomic_load(&h->stopping);
}

static void host_progress(const struct rota_run *run, double fraction, const char *text)
{
    struct host *h = host_of(run);
    struct boot moved = life_extended(h->started, h->worst_case_ms, h->max_runtime_ms, clock_now());

    h->port.progress(fraction, text ? text : "");
    /* As the guard does when it hears of it, which is later. */
    if (moved.ms > overrun_at(h).ms)
        atomic_store(&h->overrun_ms, moved.ms);
}

static void host_log(const struct rota_run *run, int level, const char *text)
{
    if (level < ROTA_ERR)
        level = ROTA_ERR;
    host_of(run)->port.log(level > ROTA_DEBUG ? ROTA_DEBUG : level, text ? text : "");
}

static void host_fail(const struct rota_run *run, const char *text)
{
    struct host *h = host_of(run);

    pthread_mutex_lock(&h->fail_lock);
    text_copy(h->fail_text, sizeof(h->fail_text), text ? text : "");
    pthread_mutex_unlock(&h->fail_lock);
}

static const char *host_credential(const struct rota_run *run, const char *name)
{
    char why[SENTENCE_SIZE] = "";
    const char *line = host_string(run, name) ? credential_of(name, why, sizeof(why)) : NULL;

    if (why[0])
        host_fail(run, why);
    return line;
}

void host_init(struct host *h, const struct params *params, const struct host_port *port)
{
    struct rota_run run = h->run;

    run.abi = ROTA_ABI;
    run.size = sizeof(run);
    run.host = h;
    run.is_set = host_is_set;
    run.string = host_string;
    run.strings = host_strings;
    run.integer = host_integer;
    run.number = host_number;
    run.lease_left_ms = host_lease_left_ms;
    run.budget_left_ms = host_budget_left_ms;
    run.should_stop = host_should_stop;
    run.progress = host_progress;
    run.log = host_log;
    run.fail = host_fail;
    run.credential = host_credential;
    h->run = run;
    h->params = params;
    h->port = *port;
    h->fail_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

int host_call(struct host *h, int (*function)(const struct rota_run *), const char *name)
{
    char text[SENTENCE_SIZE], said[HOST_FAIL_SIZE];
    int result = function(&h->run);

    host_fail_text(h, said);
    if (result < 0 && said[0] == 0)
        host_fail(&h->run, strerror(result == INT_MIN ? INT_MAX : -result));
    if (result <= ROTA_LOST)
        return result;
    text_format(text, sizeof(text), "%s() of plugin '%s' returned %d, which is no result", name,
                h->params->plugin->contract.name, result);
    host_fail(&h->run, text);
    return ROTA_FAILED;
}

void host_fail_text(struct host *h, char ret_text[HOST_FAIL_SIZE])
{
    pthread_mutex_lock(&h->fail_lock);
    text_copy(ret_text, HOST_FAIL_SIZE, h->fail_text);
    pthread_mutex_unlock(&h->fail_lock);
}
