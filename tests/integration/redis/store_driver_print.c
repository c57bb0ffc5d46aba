/* SPDX-License-Identifier: MIT */
#include "store_driver_print.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void store_driver_text(const char *key, const char *text)
{
    printf(",\"%s\":\"", key);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (isalnum(*c) || strchr(" {}()<>.,:;'/*@_+=-", *c))
            putchar(*c);
        else
            printf("\\u%04x", *c);
    }
    putchar('"');
}

void store_driver_number(const char *key, int64_t number)
{
    printf(",\"%s\":%lld", key, (long long)number);
}

static void print_acquire(const struct store_reply *reply)
{
    static const char *const names[] = {
        [ACQUIRE_GRANTED] = "granted",     [ACQUIRE_SPARE] = "spare",
        [ACQUIRE_HELD] = "held",           [ACQUIRE_DONE] = "done",
        [ACQUIRE_PASSED] = "passed",       [ACQUIRE_WAIT] = "wait",
        [ACQUIRE_EXHAUSTED] = "exhausted", [ACQUIRE_PAUSED] = "paused",
        [ACQUIRE_EARLY] = "early",         [ACQUIRE_OVER] = "over",
        [ACQUIRE_FULL] = "full",           [ACQUIRE_MISMATCH] = "mismatch",
        [ACQUIRE_OUTDATED] = "outdated",   [ACQUIRE_NEWER] = "newer",
        [ACQUIRE_SPLIT] = "split",
    };

    store_driver_text("answer", names[reply->acquire.answer]);
    store_driver_number("fence", (int64_t)reply->acquire.fence);
    store_driver_number("attempt", reply->acquire.attempt);
    store_driver_number("turn", reply->acquire.turn.ms);
    store_driver_number("left", reply->acquire.left_ms);
    store_driver_text("holder", reply->acquire.holder);
    store_driver_number("holder_turn", reply->acquire.holder_turn.ms);
    store_driver_number("watch", reply->acquire.watch);
    store_driver_text("why", reply->acquire.why);
    store_driver_number("first", reply->acquire.first);
    store_driver_number("seats", reply->acquire.seats);
    store_driver_number("version", (int64_t)reply->acquire.version);
    store_driver_text("print", reply->acquire.print);
    store_driver_text("printer", reply->acquire.printer);
}

static void print_renew(const struct store_reply *reply)
{
    static const char *const names[] = {
        [RENEW_RENEWED] = "renewed", [RENEW_REGAINED] = "regained", [RENEW_LOST] = "lost"
    };

    store_driver_text("answer", names[reply->renew.answer]);
    store_driver_number("left", reply->renew.left_ms);
    store_driver_text("why", reply->renew.why);
}

static void print_hello(const struct store_reply *reply)
{
    store_driver_number("fleet", reply->hello.fleet);
    store_driver_number("hellos", reply->hello.hellos);
    store_driver_number("boots", reply->hello.boots);
    store_driver_number("twin", reply->hello.twin);
    store_driver_number("wanted", reply->hello.wanted);
    printf(",\"done\":[");
    for (size_t i = 0; i < reply->hello.jobs; i++)
        printf("%s%lld", i ? "," : "", (long long)reply->hello.done[i].ms);
    printf("]");
    store_driver_number("others", (int64_t)reply->hello.others);
    store_driver_text("other", reply->hello.others > 0 ? reply->hello.other[0] : "");
}

void store_driver_answer(enum store_verb verb, const struct store_reply *reply)
{
    store_driver_number("server", reply->server.ms);
    if (verb == STORE_ACQUIRE)
        print_acquire(reply);
    if (verb == STORE_RENEW)
        print_renew(reply);
    if (verb == STORE_FINISH) {
        store_driver_number("held", reply->finish.held);
        store_driver_number("gave_up", reply->finish.gave_up);
        store_driver_number("stopped", reply->finish.stopped);
    }
    if (verb == STORE_HELLO)
        print_hello(reply);
    if (verb == STORE_CONFIG_GET)
        store_driver_text("text", reply->config.text);
    if (verb == STORE_PAUSE || verb == STORE_RESUME)
        store_driver_text("before", reply->pause.before);
}
