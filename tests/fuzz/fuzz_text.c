/* SPDX-License-Identifier: MIT
 * What a stranger wrote, made fit for a terminal: printable UTF-8, cut to its room. */
#include "base/text.h"
#include "fuzz.h"

/* Bytes of the well-formed UTF-8 character at `text` that is no control character (C1 too), or 0.
 */
static size_t character(const unsigned char *text)
{
    size_t length = text[0] < 0x80 ? 1 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    uint32_t code = text[0];

    if (length == 1)
        return text[0] >= 0x20 && text[0] != 0x7f;
    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 0;
    code &= 0x7fU >> length;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0U) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fU);
    }
    if (code < 0xa0 || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff ||
        (length == 3 && code < 0x800) || (length == 4 && code < 0x10000))
        return 0;
    return length;
}

static void check_shown(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = character(at);

        assert(length > 0);
        at += length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t whole = 4 * size + 1, tight = (size_t)fuzz_number(data, size, (int64_t)whole) + 1;
    char *shown = malloc(whole), *again = malloc(whole), *cut = malloc(tight);
    char *text = fuzz_text(data, size);

    assert(shown && again && cut);
    text_escape(shown, whole, (const char *)data, size); /* no byte behind it */
    check_shown(shown);
    text_escape(again, whole, shown, strlen(shown));
    assert(strcmp(shown, again) == 0);
    text_escape(cut, tight, text, size);
    assert(strlen(cut) < tight);
    check_shown(cut);
    assert(text_copy(cut, tight, text) == (strlen(text) < tight));
    assert(strncmp(cut, text, tight - 1) == 0);
    free(text);
    free(cut);
    free(again);
    free(shown);
    return 0;
}
