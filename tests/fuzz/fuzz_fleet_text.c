/* SPDX-License-Identifier: MIT
 * Another device's configuration, as Redis hands it out: what is taken from it is bounded and of
 * the signs that it may have, and both sides judge two lines alike. */
#include "core/fleet_text.h"
#include "fuzz.h"

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

static void check_word(const char *word)
{
    assert(word[0] != '\0' && word[strspn(word, WORD)] == '\0');
}

static void check_line(const struct fleet_text_line *line)
{
    struct fleet_text_line back;
    char text[FLEET_TEXT_LINE_SIZE];
    const char *at = text;

    check_word(line->key);
    check_word(line->fingerprint);
    check_word(line->scope);
    if (fleet_text_lock_key(line->lock))
        assert(line->lock[4] != '\0' && !strchr(line->lock, '\n'));
    else
        check_word(line->lock);
    assert(fleet_text_format(line, text) == strlen(text));
    assert(fleet_text_next(&at, &back));
    assert(*at == '\0');
    assert(strcmp(back.key, line->key) == 0 && strcmp(back.lock, line->lock) == 0);
    assert(fleet_text_compare(line, &back) == FLEET_TEXT_SAME);
}

/* One side goes on, the other stands aside. */
static void check_pair(const struct fleet_text_line *a, const struct fleet_text_line *b)
{
    enum fleet_text_match there = fleet_text_compare(a, b), back = fleet_text_compare(b, a);

    if (there == FLEET_TEXT_OUR_LOCK)
        assert(back == FLEET_TEXT_THEIR_LOCK);
    else if (there == FLEET_TEXT_THEIR_LOCK)
        assert(back == FLEET_TEXT_OUR_LOCK);
    else
        assert(back == there);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    const char *at = text, *before = text;
    struct fleet_text_line line, last;
    bool first = true;

    while (fleet_text_next(&at, &line)) {
        assert(at > before && at <= text + size);
        before = at;
        check_line(&line);
        if (!first)
            check_pair(&last, &line);
        last = line;
        first = false;
    }
    assert(*at == '\0');
    free(text);
    return 0;
}
