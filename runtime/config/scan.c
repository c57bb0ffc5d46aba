/* SPDX-License-Identifier: MIT */
#include "config/scan.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"
#define HEX_DIGITS DIGITS "abcdefABCDEF"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct bracket {
    char open;
    int line;
    int indent; /* of that line */
    unsigned settings;
};

struct scanner {
    struct reading *r;
    struct scan *scan;
    const char *at;
    int line;
    int indent;        /* of the line */
    const char *first; /* what stands behind that */
    bool good;
    /* Where a mistake began that shows only later; 0: nowhere so far. */
    int long_text;    /* the first text that goes on past its line */
    int open_bracket; /* the first that was closed less indented than it opens, so that it took the
                         partner of another */
    int extra;        /* the first that is more indented than what it closes */
    size_t depth;
    struct bracket brackets[SCAN_DEPTH_MAX + 1]; /* [0] is the file itself */
};

static void mistake(struct scanner *s, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void mistake(struct scanner *s, int line, const char *format, ...)
{
    va_list args;

    s->good = false;
    va_start(args, format);
    reading_vproblem(s->r, PROBLEM_ERROR, line, format, args);
    va_end(args);
}

static void begin_line(struct scanner *s)
{
    s->indent = (int)strspn(s->at, " \t");
    s->first = s->at + s->indent;
}

/* Moves on by n bytes, counting lines. */
static void skip(struct scanner *s, size_t n)
{
    for (; n > 0; n--)
        if (*s->at++ == '\n') {
            s->line++;
            begin_line(s);
        }
}

static void skip_block_comment(struct scanner *s)
{
    const char *end = strstr(s->at + 2, "*/");

    if (!end) {
        mistake(s, s->line, "the comment that begins here has no end; write */ after it");
        skip(s, strlen(s->at));
        return;
    }
    skip(s, (size_t)(end + 2 - s->at));
}

/* Only escapes that every version reads alike. `at` is behind the backslash. */
static void check_escape(struct scanner *s)
{
    char shown[16];

    if (*s->at == 'x' && strspn(s->at + 1, HEX_DIGITS) >= 2) {
        if (strncmp(s->at + 1, "00", 2) == 0)
            mistake(s, s->line, "a text cannot hold \\x00");
        return;
    }
    if (*s->at != '\0' && strchr("\"\\nrtf", *s->at))
        return;
    text_escape(shown, sizeof(shown), s->at, *s->at ? 1 : 0);
    mistake(
        s, s->line,
        "\\%s in a text is read differently by versions of libconfig; write \\\\ for a backslash",
        shown);
}

static void skip_string(struct scanner *s)
{
    int start = s->line;

    skip(s, 1);
    while (*s->at != '\0' && *s->at != '"') {
        if (*s->at == '\\') {
            skip(s, 1);
            check_escape(s);
            if (*s->at == '\0')
                break;
        }
        skip(s, 1);
    }
    if (s->line > start && s->long_text == 0)
        s->long_text = start;
    if (*s->at == '\0')
        mistake(s, s->long_text > 0 ? s->long_text : start,
                "a text that begins here goes on past the end of the line; write the \" that is "
                "missing");
    else
        skip(s, 1);
}

static char partner(char open)
{
    return open == '{' ? '}' : open == '[' ? ']' : ')';
}

static void open_bracket(struct scanner *s)
{
    if (s->depth == SCAN_DEPTH_MAX) {
        mistake(s, s->line, "brackets are nested deeper than %d", SCAN_DEPTH_MAX);
        s->at += strlen(s->at);
        return;
    }
    s->brackets[++s->depth] = (struct bracket){
        .open = *s->at,
        .line = s->line,
        .indent = s->indent,
    };
    skip(s, 1);
}

/* People indent what they think. */
static void compare_indent(struct scanner *s, const struct bracket *b)
{
    if (s->at != s->first)
        return;
    if (s->indent < b->indent && s->open_bracket == 0)
        s->open_bracket = b->line;
    else if (s->indent > b->indent && s->extra == 0)
        s->extra = s->line;
}

static void close_bracket(struct scanner *s)
{
    const struct bracket *b = &s->brackets[s->depth];

    if (s->depth == 0)
        mistake(s, s->extra > 0 ? s->extra : s->line, "a %c here is one too many; leave it out",
                *s->at);
    else if (*s->at != partner(b->open))
        mistake(s, s->line, "this %c does not close the %c of line %d; write %c before it", *s->at,
                b->open, b->line, partner(b->open));
    if (!s->good) {
        s->at += strlen(s->at);
        return;
    }
    compare_indent(s, b);
    s->depth--;
    skip(s, 1);
}

static void count_setting(struct scanner *s)
{
    struct bracket *b = &s->brackets[s->depth];
    unsigned most = s->depth == 1 ? SCAN_JOBS_MAX : SCAN_SETTINGS_MAX;

    b->settings++;
    if (b->settings == most + 1 && s->depth == 1)
        mistake(s, s->line,
                "this group has more than %u settings, and one rotad takes at most so many jobs; "
                "give the others to a second rotad, by -c and --runtime-dir",
                most);
    else if (b->settings == most + 1)
        mistake(s, s->line, "one group holds at most %u settings; leave some out", most);
    skip(s, 1);
}

static void classify(struct scan_number *n)
{
    const char *p = n->text + (n->text[0] == '-');
    size_t digits = strspn(p, DIGITS);

    n->integer = digits > 0 && p[digits] == '\0' && (digits == 1 || *p != '0');
    n->plain = n->integer;
    if (digits == 0 || p[digits] != '.' || (digits > 1 && *p == '0'))
        return;
    p += digits + 1;
    digits = strspn(p, DIGITS);
    p += digits;
    if (digits > 0 && (*p == 'e' || *p == 'E')) {
        p += 1 + (p[1] == '-' || p[1] == '+');
        digits = strspn(p, DIGITS);
        p += digits;
    }
    n->plain = digits > 0 && *p == '\0';
}

/* Room for one more: doubled each time that the count reaches a power of two. */
static bool reserve(struct scan *scan)
{
    struct scan_number *numbers;

    if ((scan->count & (scan->count - 1)) != 0)
        return true;
    numbers = realloc(scan->numbers, (scan->count ? 2 * scan->count : 1) * sizeof(*numbers));
    if (numbers)
        scan->numbers = numbers;
    return numbers != NULL;
}

static void take_number(struct scanner *s)
{
    size_t length = strspn(s->at, DIGITS LETTERS "_.+-");
    struct scan_number n = { .line = s->line, .text = strndup(s->at, length) };

    if (!n.text || !reserve(s->scan)) {
        free(n.text);
        s->r->no_memory = true;
        s->good = false;
        s->at += strlen(s->at);
        return;
    }
    classify(&n);
    s->scan->numbers[s->scan->count++] = n;
    skip(s, length);
}

static void skip_directive(struct scanner *s)
{
    if (strncmp(s->at, "@include", strlen("@include")) == 0)
        mistake(s, s->line,
                "@include is not read here; put the jobs into a file of their own in jobs.d, "
                "which is read by itself");
    skip(s, 1);
}

static void step(struct scanner *s)
{
    char c = *s->at;

    if (c == '#' || (c == '/' && s->at[1] == '/'))
        skip(s, strcspn(s->at, "\n"));
    else if (c == '/' && s->at[1] == '*')
        skip_block_comment(s);
    else if (c == '"')
        skip_string(s);
    else if (c == '@')
        skip_directive(s);
    else if (strchr("{[(", c))
        open_bracket(s);
    else if (strchr("}])", c))
        close_bracket(s);
    else if (c == '=' || c == ':')
        count_setting(s);
    else if (strchr(LETTERS "*", c))
        skip(s, strspn(s->at, LETTERS DIGITS "*-_"));
    else if (strchr(DIGITS "+-.", c))
        take_number(s);
    else
        skip(s, 1);
}

static bool check_bytes(struct reading *r, const char *text, size_t size)
{
    const char *nul = memchr(text, '\0', size);
    int line = 1;

    if (nul) {
        for (const char *p = text; p < nul; p++)
            line += *p == '\n';
        reading_problem(r, PROBLEM_ERROR, line,
                        "there is a NUL byte here; a conf file is plain UTF-8 text");
        return false;
    }
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) {
        reading_problem(r, PROBLEM_ERROR, 1,
                        "the file begins with a byte order mark; save it as UTF-8 without one");
        return false;
    }
    return true;
}

bool scan_text(struct reading *r, const char *text, size_t size, struct scan *ret_scan)
{
    struct scan scan = { 0 };
    struct scanner s = { .r = r, .scan = &scan, .at = text, .line = 1, .good = true };

    if (!check_bytes(r, text, size))
        return false;
    begin_line(&s);
    while (*s.at != '\0')
        step(&s);
    if (s.good && s.depth > 0) {
        const struct bracket *b = &s.brackets[s.depth];
        mistake(&s, s.open_bracket > 0 ? s.open_bracket : b->line,
                "a %c that opens here is never closed; write %c; after what it holds", b->open,
                partner(b->open));
    }
    if (!s.good) {
        scan_done(&scan);
        return false;
    }
    *ret_scan = scan;
    return true;
}

void scan_done(struct scan *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->numbers[i].text);
    free(s->numbers);
    *s = (struct scan){ 0 };
}
