/* SPDX-License-Identifier: MIT
 * What a request sends, word by word, and which replies are taken for answers. test_store.py plays
 * the same against a real server. */
#include "redis/codec.h"
#include "redis/inbox.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

#define PREFIX "acme:"

static const struct job_spec fleet_job = {
    .name = "report",
    .key = "backup",
    .timing = { .lease_ms = 60000 },
    .retry_delay_ms = 1000,
    .retention_ms = 86400000,
    .attempts = 3,
    .history = 100,
    .concurrency = 20,
    .stop_after_failures = 4,
    .version = 7,
    .fingerprint = "f1",
    .schedule_print = "s1",
};

static struct store_request request_of(enum store_verb verb, const struct job_spec *job)
{
    return (struct store_request){
        .verb = verb,
        .job = job,
        .token = "gw:t",
        .turn.ms = 900,
        .next.ms = 1900,
        .ttl_ms = 500,
        .attempt = 2,
        .fence = 11,
        .fresh_ms = 61,
        .first_ask = true,
        .outcome = OUTCOME_FAILED,
        .covers.ms = 950,
        .ran_ms = 42,
        .detail = "no space",
        .clean = true,
        .device = "gw/1",
        .boot = "b1",
    };
}

/* All words of the command but EVALSHA and the script, one blank between two. */
static void assert_words(const struct store_request *request, const struct redis_script *script,
                         const char *words)
{
    struct redis_codec_command command;
    char text[REDIS_CODEC_TEXT_SIZE] = "";
    size_t used = 0;

    assert_int_equal(redis_codec_compose(request, PREFIX, &command), 0);
    assert_ptr_equal(command.script, script);
    assert_string_equal(command.arguments[0], "EVALSHA");
    assert_string_equal(command.arguments[1], script->sha1);
    for (size_t i = 2; i < command.count; i++) {
        assert_int_equal(command.lengths[i], strlen(command.arguments[i]));
        used += (size_t)snprintf(text + used, sizeof text - used, i > 2 ? " %s" : "%s",
                                 command.arguments[i]);
    }
    assert_string_equal(text, words);
    assert_int_equal(redis_codec_use_body(&command), 0);
    assert_string_equal(command.arguments[0], "EVAL");
    assert_int_equal(command.lengths[1], script->size);
    assert_int_equal(strlen(command.arguments[1]), script->size);
    redis_codec_done(&command);
}

static void test_runs_of_fleet_scope(void **state)
{
    struct store_request q = request_of(STORE_ACQUIRE, &fleet_job);

    (void)state;
    assert_words(&q, &redis_script_acquire,
                 "5 acme:{backup}:lock acme:{backup}:claim acme:{backup}:pause "
                 "acme:{backup}:history acme:{backup}:seats gw:t 900 1900 500 3 11 61 86400000 100 "
                 "1 f1 s1 7");
    q.verb = STORE_RENEW;
    assert_words(&q, &redis_script_renew,
                 "2 acme:{backup}:lock acme:{backup}:claim gw:t 500 900 2 11 60000 86400000");
    q.verb = STORE_FINISH;
    assert_words(&q, &redis_script_finish,
                 "3 acme:{backup}:lock acme:{backup}:claim acme:{backup}:history gw:t 900 2 11 "
                 "failed 950 1000 3 86400000 100 no space 42 1 7 60000");
}

static void test_runs_of_device_scope(void **state)
{
    struct job_spec job = fleet_job;
    struct store_request q = request_of(STORE_ACQUIRE, &job);

    (void)state;
    job.scope = SCOPE_DEVICE;
    assert_words(&q, &redis_script_seat_acquire,
                 "7 acme:{backup}:seats acme:{backup}:claim acme:{backup}:pause "
                 "acme:{backup}:devices acme:{backup}:history acme:{backup}:lock "
                 "acme:{backup}:queue gw:t 900 1900 500 3 61 86400000 100 f1 s1 7 20 gw/1 b1 4");
    q.verb = STORE_RENEW;
    assert_words(&q, &redis_script_seat_renew,
                 "3 acme:{backup}:seats acme:{backup}:claim acme:{backup}:devices gw:t 500 900 2 "
                 "86400000 20 gw/1 b1");
    q.verb = STORE_FINISH;
    assert_words(&q, &redis_script_seat_finish,
                 "5 acme:{backup}:seats acme:{backup}:claim acme:{backup}:devices "
                 "acme:{backup}:history acme:{backup}:pause gw:t 900 2 failed 950 1000 3 86400000 "
                 "100 no space 42 1 7 gw/1 b1 4 60000");
}

static void test_a_lock_of_its_own_name(void **state)
{
    static const struct {
        const char *lock_key, *tag;
    } rows[] = {
        { "plain", "plain" },
        { "a{b}c", "b" },
        { "{b}", "b" },
        { "a{b}c{d}", "b" },
        { "a{{b}c", "{b" /* Redis's */ },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct job_spec job = fleet_job;
        struct store_request q = request_of(STORE_RENEW, &job);
        char words[256];

        job.lock_key = rows[i].lock_key;
        snprintf(words, sizeof words,
                 "2 %s acme:{%s}:backup:claim gw:t 500 900 2 11 60000 86400000", rows[i].lock_key,
                 rows[i].tag);
        assert_words(&q, &redis_script_renew, words);
    }
}

static void test_what_is_the_fleets(void **state)
{
    struct store_request q = request_of(STORE_HELLO, NULL);

    (void)state;
    q.hello.weight_ms = 600000;
    q.hello.retention_ms = 1000;
    q.hello.used_ms = 86400000;
    q.hello.version = "0.1.0";
    q.hello.digest = "d1";
    q.hello.jobs = "backup report";
    assert_words(&q, &redis_script_hello,
                 "5 acme:{_fleet}:size acme:{_fleet}:jobs acme:{_fleet}:devices "
                 "acme:{_fleet}:confs acme:{_fleet}:seen 600000 1000 gw/1 b1 0.1.0 d1 backup "
                 "report 86400000");
    q = request_of(STORE_INDEX, &fleet_job);
    assert_words(&q, &redis_script_index, "1 acme:{_fleet}:jobs backup 900 86400000");
    q = request_of(STORE_CONFIG_GET, NULL);
    q.config.digest = "d1";
    assert_words(&q, &redis_script_config_get, "1 acme:{_fleet}:confs d1");
    q = request_of(STORE_CONFIG_PUT, NULL);
    q.config.digest = "d1";
    q.config.text = "the text";
    q.config.retention_ms = 1000;
    assert_words(&q, &redis_script_config_put,
                 "2 acme:{_fleet}:confs acme:{_fleet}:seen d1 the text 1000");
}

static void test_pauses(void **state)
{
    struct store_request q = request_of(STORE_PAUSE, &fleet_job);

    (void)state;
    q.pause.text = "ann: repairs";
    q.pause.for_ms = 5000;
    assert_words(&q, &redis_script_pause, "1 acme:{backup}:pause ann: repairs 5000");
    q = request_of(STORE_RESUME, &fleet_job);
    q.resume.catch_up = true;
    assert_words(&q, &redis_script_resume, "2 acme:{backup}:pause acme:{backup}:claim 1");
}

static int compose(const struct store_request *request)
{
    struct redis_codec_command command;
    int r = redis_codec_compose(request, PREFIX, &command);

    redis_codec_done(&command);
    return r;
}

static void fill_text(char *text, size_t len)
{
    memset(text, 'x', len);
    text[len] = '\0';
}

static void test_who_paused_is_cut_to_what_is_read(void **state)
{
    char text[STORE_TEXT_SIZE + 1], words[STORE_TEXT_SIZE + 64];
    struct store_request q = request_of(STORE_PAUSE, &fleet_job);

    (void)state;
    fill_text(text, STORE_TEXT_SIZE);
    q.pause.text = text;
    snprintf(words, sizeof words, "1 acme:{backup}:pause %.*s 0", STORE_TEXT_SIZE - 1, text);
    assert_words(&q, &redis_script_pause, words);
}

static void test_what_is_too_long_is_not_sent(void **state)
{
    static char text[STORE_HELLO_JOBS_MAX * (JOB_NAME_MAX + 1) + 2];
    struct store_request q = request_of(STORE_CONFIG_PUT, NULL);

    (void)state;
    q.config.digest = "d1";
    q.config.text = text;
    fill_text(text, STORE_CONFIG_TEXT_MAX);
    assert_int_equal(compose(&q), 0);
    fill_text(text, STORE_CONFIG_TEXT_MAX + 1);
    assert_int_equal(compose(&q), -EMSGSIZE);
    q = request_of(STORE_HELLO, NULL);
    q.hello.version = "0.1.0";
    q.hello.digest = "";
    q.hello.jobs = text;
    fill_text(text, sizeof text - 2);
    assert_int_equal(compose(&q), 0);
    fill_text(text, sizeof text - 1);
    assert_int_equal(compose(&q), -EMSGSIZE);
    q = request_of(STORE_RENEW, &fleet_job);
    q.token = text;
    assert_int_equal(compose(&q), -EMSGSIZE);
}

/* The longest names and texts that a configuration can have fit all the same. */
static void test_the_longest_job_fits(void **state)
{
    char name[JOB_NAME_MAX + 1], lock_key[201], prefix[33], detail[2 * REDIS_CODEC_DETAIL_MAX];
    char token[TOKEN_SIZE], device[DEVICE_NAME_MAX + 18], boot[37];
    struct job_spec job = fleet_job;
    struct redis_codec_command command;

    (void)state;
    fill_text(name, sizeof name - 1);
    fill_text(lock_key, sizeof lock_key - 1);
    fill_text(prefix, sizeof prefix - 1);
    fill_text(detail, sizeof detail - 1);
    fill_text(token, sizeof token - 1);
    fill_text(device, sizeof device - 1);
    fill_text(boot, sizeof boot - 1);
    job.key = name;
    job.lock_key = lock_key;
    for (int scope = SCOPE_FLEET; scope <= SCOPE_DEVICE; scope++)
        for (int verb = STORE_ACQUIRE; verb <= STORE_FINISH; verb++) {
            struct store_request q = request_of((enum store_verb)verb, &job);

            job.scope = (enum job_scope)scope;
            q.turn.ms = q.next.ms = q.covers.ms = q.ttl_ms = q.fresh_ms = q.ran_ms = INT64_MAX;
            q.token = token;
            q.device = device;
            q.boot = boot;
            q.detail = detail;
            assert_int_equal(redis_codec_compose(&q, prefix, &command), 0);
            redis_codec_done(&command);
        }
}

/* --- replies --- */

static struct redis_codec_texts texts;
static struct store_reply parsed;
static redisReply *kept; /* parsed points into it */

/* As the link does it: bytes, bounded, then the codec. */
static int parse(enum store_verb verb, const char *bytes)
{
    struct redis_inbox inbox;
    int r;

    freeReplyObject(kept);
    kept = NULL;
    assert_int_equal(redis_inbox_init(&inbox), 0);
    assert_int_equal(redis_inbox_feed(&inbox, bytes, strlen(bytes)), 0);
    r = redis_inbox_take(&inbox, &kept);
    memset(&parsed, 0xff, sizeof parsed);
    memset(&texts, 0xff, sizeof texts);
    if (r == 1)
        r = redis_codec_parse(verb, kept, &texts, &parsed);
    redis_inbox_done(&inbox);
    return r;
}

static int forget(void **state)
{
    (void)state;
    freeReplyObject(kept);
    kept = NULL;
    return 0;
}

static void test_another_configuration_is_read_where_it_is_named(void **state)
{
    static const struct {
        const char *bytes;
        enum acquire_answer answer;
    } rows[] = {
        { "*7\r\n$8\r\nacquired\r\n:1000\r\n:7\r\n:1\r\n:900\r\n", ACQUIRE_GRANTED },
        { "*7\r\n$5\r\nspare\r\n:1000\r\n:7\r\n:1\r\n:900\r\n", ACQUIRE_SPARE },
        { "*9\r\n$4\r\nheld\r\n:1000\r\n:50\r\n$4\r\na:bc\r\n:900\r\n:7\r\n:1\r\n", ACQUIRE_HELD },
        { "*7\r\n$4\r\nfull\r\n:1000\r\n:50\r\n:2\r\n:3\r\n", ACQUIRE_FULL },
        { "*7\r\n$4\r\ndone\r\n:1000\r\n:900\r\n$0\r\n\r\n$4\r\na:bc\r\n", ACQUIRE_DONE },
        { "*5\r\n$6\r\npassed\r\n:1000\r\n:900\r\n", ACQUIRE_PASSED },
        { "*6\r\n$4\r\nwait\r\n:1000\r\n:50\r\n$6\r\nfailed\r\n", ACQUIRE_WAIT },
        { "*6\r\n$9\r\nexhausted\r\n:1000\r\n:3\r\n:1\r\n", ACQUIRE_EXHAUSTED },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char bytes[256], count;

        snprintf(bytes, sizeof bytes, "%s$2\r\nf2\r\n$4\r\nb:cd\r\n", rows[i].bytes);
        assert_int_equal(parse(STORE_ACQUIRE, bytes), 0);
        assert_int_equal(parsed.acquire.answer, rows[i].answer);
        assert_string_equal(parsed.acquire.print, "f2");
        assert_string_equal(parsed.acquire.printer, "b:cd");
        count = bytes[1];
        snprintf(bytes, sizeof bytes, "*%c%s", count - 2, rows[i].bytes + 2);
        assert_int_equal(parse(STORE_ACQUIRE, bytes), 0);
        assert_string_equal(parsed.acquire.print, "");
        assert_string_equal(parsed.acquire.printer, "");
    }
}

static void test_damaged_counts_are_read(void **state)
{
    (void)state;
    assert_int_equal(
        parse(STORE_ACQUIRE, "*4\r\n$9\r\nexhausted\r\n:1000\r\n:9999999999\r\n:1\r\n"), 0);
    assert_int_equal(parsed.acquire.attempt, UINT32_MAX);
    assert_int_equal(
        parse(STORE_ACQUIRE, "*5\r\n$5\r\nspare\r\n:1000\r\n:7\r\n:9999999999\r\n:900\r\n"), 0);
    assert_int_equal(parsed.acquire.attempt, UINT32_MAX);
}

static void test_answers_of_acquire(void **state)
{
    (void)state;
    assert_int_equal(parse(STORE_ACQUIRE, "*5\r\n$4\r\nfull\r\n:1000\r\n:50\r\n:2\r\n:3\r\n"), 0);
    assert_int_equal(parsed.server.ms, 1000);
    assert_int_equal(parsed.acquire.left_ms, 50);
    assert_int_equal(parsed.acquire.seats, 2);
    assert_int_equal(parsed.acquire.watch, 3);
    assert_int_equal(parse(STORE_ACQUIRE, "*5\r\n$8\r\nmismatch\r\n:1000\r\n$5\r\nfleet\r\n"
                                          "$6\r\ndevice\r\n$4\r\na:bc\r\n"),
                     0);
    assert_string_equal(parsed.acquire.why, "device");
    assert_string_equal(parsed.acquire.holder, "a:bc");
    assert_int_equal(parse(STORE_ACQUIRE, "*3\r\n$8\r\noutdated\r\n:1000\r\n:7\r\n"), 0);
    assert_int_equal(parsed.acquire.answer, ACQUIRE_OUTDATED);
    assert_int_equal(parsed.acquire.version, 7);
    assert_int_equal(parse(STORE_ACQUIRE, "*3\r\n$5\r\nnewer\r\n:1000\r\n:2\r\n"), 0);
    assert_int_equal(parsed.acquire.answer, ACQUIRE_NEWER);
    assert_int_equal(parse(STORE_ACQUIRE, "*4\r\n$6\r\npaused\r\n:1000\r\n$3\r\nann\r\n:-1\r\n"),
                     0);
    assert_string_equal(parsed.acquire.why, "ann");
    assert_int_equal(parsed.acquire.left_ms, -1);
}

static void test_who_has_it_or_had_it(void **state)
{
    (void)state;
    assert_int_equal(parse(STORE_ACQUIRE, "*7\r\n$4\r\nheld\r\n:1000\r\n:50\r\n$4\r\na:bc\r\n"
                                          ":900\r\n:7\r\n:2\r\n"),
                     0);
    assert_int_equal(parsed.acquire.left_ms, 50);
    assert_string_equal(parsed.acquire.holder, "a:bc");
    assert_int_equal(parsed.acquire.holder_turn.ms, 900);
    assert_int_equal(parsed.acquire.fence, 7);
    assert_int_equal(parsed.acquire.watch, 2);
    assert_int_equal(parse(STORE_ACQUIRE, "*5\r\n$4\r\ndone\r\n:1000\r\n:900\r\n$6\r\npaused\r\n"
                                          "$4\r\na:bc\r\n"),
                     0);
    assert_int_equal(parsed.acquire.turn.ms, 900);
    assert_string_equal(parsed.acquire.why, "paused");
    assert_string_equal(parsed.acquire.holder, "a:bc");
    for (int first = 0; first <= 1; first++) {
        assert_int_equal(
            parse(STORE_ACQUIRE, first ? "*4\r\n$9\r\nexhausted\r\n:1000\r\n:3\r\n:1\r\n"
                                       : "*4\r\n$9\r\nexhausted\r\n:1000\r\n:3\r\n:0\r\n"),
            0);
        assert_int_equal(parsed.acquire.attempt, 3);
        assert_int_equal(parsed.acquire.first, first);
    }
}

static void test_answers_of_finish(void **state)
{
    (void)state;
    assert_int_equal(parse(STORE_FINISH, "*5\r\n$8\r\nrecorded\r\n:1000\r\n:1\r\n:0\r\n:1\r\n"), 0);
    assert_true(parsed.finish.held && !parsed.finish.gave_up && parsed.finish.stopped);
    assert_int_equal(parse(STORE_FINISH, "*4\r\n$8\r\nrecorded\r\n:1000\r\n:0\r\n:1\r\n"), 0);
    assert_true(!parsed.finish.held && parsed.finish.gave_up && !parsed.finish.stopped);
}

#define HELLO "*9\r\n$5\r\nhello\r\n:1000\r\n:42\r\n:6\r\n:5\r\n:1\r\n:0\r\n"

static void test_answers_of_the_fleet(void **state)
{
    (void)state;
    assert_int_equal(parse(STORE_HELLO, HELLO "*2\r\n:900\r\n:0\r\n*1\r\n$2\r\nd2\r\n"), 0);
    assert_int_equal(parsed.hello.fleet, 42);
    assert_int_equal(parsed.hello.hellos, 6);
    assert_int_equal(parsed.hello.boots, 5);
    assert_true(parsed.hello.twin && !parsed.hello.wanted);
    assert_int_equal(parsed.hello.jobs, 2);
    assert_int_equal(parsed.hello.done[0].ms, 900);
    assert_int_equal(parsed.hello.done[1].ms, 0);
    assert_int_equal(parsed.hello.others, 1);
    assert_string_equal(parsed.hello.other[0], "d2");
    assert_int_equal(parse(STORE_INDEX, "*2\r\n$7\r\nindexed\r\n:1000\r\n"), 0);
    assert_int_equal(parse(STORE_CONFIG_PUT, "*2\r\n$6\r\nstored\r\n:1000\r\n"), 0);
    assert_int_equal(parse(STORE_CONFIG_GET, "*3\r\n$6\r\nconfig\r\n:1000\r\n$4\r\ntext\r\n"), 0);
    assert_string_equal(parsed.config.text, "text");
    assert_int_equal(parse(STORE_PAUSE, "*3\r\n$6\r\npaused\r\n:1000\r\n$0\r\n\r\n"), 0);
    assert_string_equal(parsed.pause.before, "");
    assert_int_equal(parse(STORE_RESUME, "*3\r\n$7\r\nresumed\r\n:1000\r\n$3\r\nann\r\n"), 0);
    assert_string_equal(parsed.pause.before, "ann");
}

static void test_a_thousand_jobs(void **state)
{
    static char bytes[32768];
    size_t used;

    (void)state;
    for (size_t count = STORE_HELLO_JOBS_MAX; count <= STORE_HELLO_JOBS_MAX + 1; count++) {
        used = (size_t)snprintf(bytes, sizeof bytes, HELLO "*%zu\r\n", count);
        for (size_t i = 0; i < count; i++)
            used += (size_t)snprintf(bytes + used, sizeof bytes - used, ":1700000000%03zu\r\n",
                                     i % 1000);
        snprintf(bytes + used, sizeof bytes - used, "*0\r\n");
        if (count > STORE_HELLO_JOBS_MAX) {
            assert_true(parse(STORE_HELLO, bytes) < 0);
            break;
        }
        assert_int_equal(parse(STORE_HELLO, bytes), 0);
        assert_int_equal(parsed.hello.jobs, count);
        assert_int_equal(parsed.hello.done[999].ms, INT64_C(1700000000999));
    }
}

/* config_get.lua cuts what is longer. */
static void test_texts_of_configurations(void **state)
{
    static char bytes[STORE_CONFIG_TEXT_MAX + 64];

    (void)state;
    for (size_t size = STORE_CONFIG_TEXT_MAX; size <= STORE_CONFIG_TEXT_MAX + 1; size++) {
        size_t head =
            (size_t)snprintf(bytes, sizeof bytes, "*3\r\n$6\r\nconfig\r\n:1000\r\n$%zu\r\n", size);

        memset(bytes + head, 'x', size);
        snprintf(bytes + head + size, sizeof bytes - head - size, "\r\n");
        assert_int_equal(parse(STORE_CONFIG_GET, bytes),
                         size == STORE_CONFIG_TEXT_MAX ? 0 : -EBADMSG);
        if (size == STORE_CONFIG_TEXT_MAX)
            assert_int_equal(strlen(parsed.config.text), size);
    }
}

static void test_what_no_script_says(void **state)
{
    static const struct {
        enum store_verb verb;
        const char *bytes;
    } rows[] = {
        { STORE_ACQUIRE, "*4\r\n$4\r\nfull\r\n:1000\r\n:50\r\n:2\r\n" },
        { STORE_ACQUIRE, "*5\r\n$4\r\nfull\r\n:1000\r\n:-1\r\n:2\r\n:3\r\n" },
        { STORE_ACQUIRE, "*3\r\n$6\r\npaused\r\n:1000\r\n$3\r\nann\r\n" },
        { STORE_ACQUIRE, "*4\r\n$6\r\npaused\r\n:1000\r\n$3\r\nann\r\n:-2\r\n" },
        { STORE_ACQUIRE, "*4\r\n$8\r\nmismatch\r\n:1000\r\n$5\r\nfleet\r\n$6\r\ndevice\r\n" },
        { STORE_ACQUIRE, "*2\r\n$8\r\noutdated\r\n:1000\r\n" },
        { STORE_ACQUIRE, "*3\r\n$5\r\nnewer\r\n:1000\r\n$1\r\n2\r\n" },
        { STORE_ACQUIRE, "*6\r\n$8\r\nacquired\r\n:1000\r\n:7\r\n:1\r\n:900\r\n:2\r\n" },
        { STORE_FINISH, "*5\r\n$8\r\nrecorded\r\n:1000\r\n:1\r\n:0\r\n:-1\r\n" },
        { STORE_HELLO, "*7\r\n$5\r\nhello\r\n:1000\r\n:42\r\n:6\r\n:5\r\n:1\r\n:0\r\n" },
        { STORE_HELLO, "*9\r\n$5\r\nhello\r\n:1000\r\n:0\r\n:6\r\n:5\r\n:1\r\n:0\r\n*0\r\n*0\r\n" },
        { STORE_HELLO, HELLO "*1\r\n:-1\r\n*0\r\n" },
        { STORE_HELLO, HELLO "*1\r\n$1\r\n1\r\n*0\r\n" },
        { STORE_HELLO, HELLO "*1\r\n*1\r\n:1\r\n*0\r\n" },
        { STORE_HELLO, HELLO ":1\r\n*0\r\n" },
        { STORE_HELLO, HELLO "*0\r\n*1\r\n:1\r\n" },
        { STORE_HELLO, HELLO "*0\r\n*9\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n"
                             "$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n" },
        { STORE_HELLO, HELLO "*0\r\n*1\r\n$65\r\n"
                             "0123456789012345678901234567890123456789012345678901234567890123x"
                             "\r\n" },
        { STORE_INDEX, "*1\r\n$7\r\nindexed\r\n" },
        { STORE_INDEX, "*2\r\n$6\r\nstored\r\n:1000\r\n" },
        { STORE_CONFIG_GET, "*2\r\n$6\r\nconfig\r\n:1000\r\n" },
        { STORE_CONFIG_GET, "*3\r\n$6\r\nconfig\r\n:1000\r\n:5\r\n" },
        { STORE_CONFIG_GET, "*3\r\n$6\r\nconfig\r\n:1000\r\n$-1\r\n" },
        { STORE_CONFIG_PUT, "+OK\r\n" },
        { STORE_PAUSE, "+OK\r\n" },
        { STORE_PAUSE, "*3\r\n$7\r\nresumed\r\n:1000\r\n$0\r\n\r\n" },
        { STORE_RESUME, "*2\r\n$7\r\nresumed\r\n:1000\r\n" },
        { STORE_RESUME, "*3\r\n$7\r\nresumed\r\n:0\r\n$0\r\n\r\n" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (parse(rows[i].verb, rows[i].bytes) >= 0)
            fail_msg("taken: %s", rows[i].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_of_fleet_scope),
        cmocka_unit_test(test_runs_of_device_scope),
        cmocka_unit_test(test_a_lock_of_its_own_name),
        cmocka_unit_test(test_what_is_the_fleets),
        cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_who_paused_is_cut_to_what_is_read),
        cmocka_unit_test(test_what_is_too_long_is_not_sent),
        cmocka_unit_test(test_the_longest_job_fits),
        cmocka_unit_test(test_another_configuration_is_read_where_it_is_named),
        cmocka_unit_test(test_damaged_counts_are_read),
        cmocka_unit_test(test_answers_of_acquire),
        cmocka_unit_test(test_who_has_it_or_had_it),
        cmocka_unit_test(test_answers_of_finish),
        cmocka_unit_test(test_answers_of_the_fleet),
        cmocka_unit_test(test_a_thousand_jobs),
        cmocka_unit_test(test_texts_of_configurations),
        cmocka_unit_test(test_what_no_script_says),
    };

    return cmocka_run_group_tests(tests, NULL, forget);
}
