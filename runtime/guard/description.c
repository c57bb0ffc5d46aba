/* SPDX-License-Identifier: MIT */
#include "guard/description.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".description"

bool description_is_named(const char *path)
{
    return text_ends_with(path, SUFFIX);
}

struct reader {
    struct plugin plugin;
    const char *path;
    struct problems *problems;
    unsigned line;       /* that is being read, from 1 */
    unsigned param_line; /* where the newest parameter begins */
    bool param_wrong;    /* something of it has been told already */
    bool complete;       /* the last line was read */
    uint32_t seen;       /* keys of the plugin, then of the newest parameter: bits by index */
};

static void mistake(struct reader *r, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void mistake(struct reader *r, unsigned line, const char *format, ...)
{
    char text[SENTENCE_SIZE];
    va_list args;

    va_start(args, format);
    /* clang-tidy 14 overlooks this va_start. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    problems_add(r->problems, -1, "%s:%u: %s", r->path, line, text);
    r->param_wrong = true;
}

static struct rota_param *newest(struct reader *r)
{
    return &r->plugin.params[r->plugin.param_count - 1];
}

static void end_param(struct reader *r)
{
    const char *what;

    if (r->plugin.param_count == 0 || r->param_wrong)
        return;
    what = newest(r)->type == 0 ? "no type"
                                : loader_param_mistake(&r->plugin, r->plugin.param_count - 1);
    if (what)
        mistake(r, r->param_line, "the parameter '%.64s' has %s", newest(r)->name, what);
}

static void read_param(struct reader *r, const char *value)
{
    end_param(r);
    if (r->plugin.param_count == PLUGIN_PARAMS_MAX) {
        mistake(r, r->line, "a plugin has at most %d parameters", PLUGIN_PARAMS_MAX);
        return;
    }
    r->plugin.params[r->plugin.param_count++].name = value;
    r->param_line = r->line;
    r->param_wrong = false;
}

static void read_contract(struct reader *r, const char *value)
{
    char ours[16];

    text_format(ours, sizeof(ours), "%u", ROTA_ABI);
    if (strcmp(value, ours) == 0)
        r->plugin.contract.abi = ROTA_ABI;
    else
        mistake(
            r, r->line,
            "it describes a plugin of contract %.16s, this rota has %s; write it by this rota's "
            "rota-guard --describe",
            value, ours);
}

static void read_name(struct reader *r, const char *value)
{
    if (!loader_is_name(value, true))
        mistake(r, r->line,
                "'%.64s' is no plugin's name, which is a-z, then a-z, 0-9, _ or -, at most 63 "
                "bytes",
                value);
    r->plugin.contract.name = value;
}

static void read_type(struct reader *r, const char *value)
{
    for (uint32_t type = ROTA_STRING; type <= ROTA_STRINGS; type++)
        if (strcmp(value, params_type_name(type)) == 0)
            newest(r)->type = type;
    if (newest(r)->type == 0)
        mistake(r, r->line,
                "'%.64s' is no type; write string, integer, number, boolean, duration, size or "
                "list of strings",
                value);
}

/* 0: no flag's name. */
static uint32_t flag_named(const char *name, size_t length)
{
    for (uint32_t flag = 1; params_flag_name(flag); flag <<= 1)
        if (strlen(params_flag_name(flag)) == length &&
            memcmp(params_flag_name(flag), name, length) == 0)
            return flag;
    return 0;
}

static void read_flags(struct reader *r, const char *value)
{
    for (const char *at = value; *at;) {
        size_t length = strcspn(at, ",");
        uint32_t flag = flag_named(at, length);

        if (flag == 0) {
            mistake(r, r->line, "'%.*s' is no flag; write required, secret or path",
                    length < 64 ? (int)length : 64, at);
            return;
        }
        newest(r)->flags |= flag;
        at += length;
        at += strspn(at, ", ");
    }
}

static void read_count(struct reader *r, const char *value)
{
    char counted[16];

    end_param(r);
    text_format(counted, sizeof(counted), "%zu", r->plugin.param_count);
    if (strcmp(value, counted) != 0)
        mistake(r, r->line, "it says that there are %.16s parameters and has %s; it was changed",
                value, counted);
    r->complete = true;
}

enum place { OF_PLUGIN, OF_PARAM, BEGINS_PARAM, ENDS };

/* Either `read` takes the value, or it is kept as it is at `offset` in the struct of its place. */
static const struct key {
    const char *name;
    enum place place;
    size_t offset;
    void (*read)(struct reader *r, const char *value);
} keys[] = {
    { "plugin", OF_PLUGIN, 0, read_name },
    { "version", OF_PLUGIN, offsetof(struct rota_plugin, version), NULL },
    { "contract", OF_PLUGIN, 0, read_contract },
    { "summary", OF_PLUGIN, offsetof(struct rota_plugin, summary), NULL },
    { "parameter", BEGINS_PARAM, 0, read_param },
    { "type", OF_PARAM, 0, read_type },
    { "flags", OF_PARAM, 0, read_flags },
    { "default", OF_PARAM, offsetof(struct rota_param, def), NULL },
    { "min", OF_PARAM, offsetof(struct rota_param, min), NULL },
    { "max", OF_PARAM, offsetof(struct rota_param, max), NULL },
    { "choices", OF_PARAM, offsetof(struct rota_param, choices), NULL },
    { "help", OF_PARAM, offsetof(struct rota_param, help), NULL },
    { "parameters", ENDS, 0, read_count },
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

static void take(struct reader *r, const struct key *key, const char *value)
{
    char *base;

    if (key->read) {
        key->read(r, value);
        return;
    }
    base = key->place == OF_PLUGIN ? (char *)&r->plugin.contract : (char *)newest(r);
    *(const char **)(void *)(base + key->offset) = value;
}

static void take_key(struct reader *r, const char *name, const char *value)
{
    const struct key *key = keys;
    bool in_param = r->plugin.param_count > 0;
    uint32_t bit;

    while (key < keys + KEYS && strcmp(key->name, name) != 0)
        key++;
    if (key == keys + KEYS) {
        mistake(r, r->line, "a description has no key '%.64s'", name);
        return;
    }
    if ((key->place == OF_PLUGIN && in_param) || (key->place == OF_PARAM && !in_param)) {
        mistake(r, r->line, "%s belongs %s the first parameter", name,
                in_param ? "before" : "after the line of");
        return;
    }
    bit = 1U << (key - keys);
    if (key->place == BEGINS_PARAM)
        r->seen = 0;
    else if (r->seen & bit)
        mistake(r, r->line, "%s is there twice", name);
    r->seen |= bit;
    take(r, key, value);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. False where something is no escape of ours, or would be a NUL. */
static bool unescape(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        int high, low;

        if (*at != '\\') {
            *to++ = *at;
        } else if (at[1] == '\\') {
            *to++ = *++at;
        } else {
            if (at[1] != 'x' || (high = hex_digit(at[2])) < 0 || (low = hex_digit(at[3])) < 0 ||
                (high == 0 && low == 0))
                return false;
            *to++ = (char)(high << 4 | low);
            at += 3;
        }
    }
    *to = '\0';
    return true;
}

static void read_line(struct reader *r, char *line)
{
    char *name = line + strspn(line, " "), *value;

    if (!*name)
        return;
    if (r->complete) {
        mistake(r, r->line, "nothing comes after the count of the parameters");
        return;
    }
    value = strchr(name, ':');
    if (!value) {
        mistake(r, r->line, "this is no line of a description; write \"key: value\"");
        return;
    }
    *value++ = '\0';
    value += *value == ' ';
    if (unescape(value))
        take_key(r, name, value);
    else
        mistake(r, r->line, "a backslash is written \\\\, and any other byte \\xNN");
}

/* False where the bytes are no line at all. */
static bool check_line(struct reader *r, const char *line, size_t length)
{
    if (length > DESCRIPTION_LINE_MAX) {
        mistake(r, r->line, "the line has %zu bytes; the most is %zu", length,
                DESCRIPTION_LINE_MAX);
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line[i] >= 0x20 && line[i] != 0x7f)
            continue;
        mistake(r, r->line, "byte %zu is a control character, 0x%02x; write \\x%02x", i + 1,
                (unsigned)line[i], (unsigned)line[i]);
        return false;
    }
    return true;
}

static void check_whole(struct reader *r)
{
    const struct rota_plugin *c = &r->plugin.contract;
    const char *missing = !c->name      ? "plugin"
                          : !c->version ? "version"
                          : !c->summary ? "summary"
                          : c->abi == 0 ? "contract"
                                        : NULL;

    if (!r->complete)
        mistake(r, r->line,
                "it ends without the line that counts the parameters; it was cut "
                "short");
    else if (missing)
        mistake(r, r->line, "it has no %s", missing);
}

static void read_lines(struct reader *r, char *text, size_t length)
{
    char *end;

    text[length] = '\0';
    for (char *at = text; at < text + length; at = end + 1) {
        r->line++;
        end = memchr(at, '\n', (size_t)(text + length - at));
        if (!end) {
            mistake(r, r->line, "the line has no end; the file was cut short");
            return;
        }
        *end = '\0';
        if (check_line(r, at, (size_t)(end - at)))
            read_line(r, at);
        if (r->problems->count == PROBE_ERRORS_MAX)
            return;
    }
}

int description_parse(char *text, size_t length, const char *path, struct plugin *ret_plugin,
                      struct problems *problems)
{
    struct reader r = { .path = path, .problems = problems };
    uint32_t before = problems->count;

    r.plugin.texts = text;
    r.plugin.params = calloc(PLUGIN_PARAMS_MAX + 1, sizeof(*r.plugin.params));
    if (!r.plugin.params) {
        problems_add(problems, -1, "no memory for the plugin's parameters");
        loader_done(&r.plugin);
        return -ENOMEM;
    }
    if (length == 0)
        problems_add(problems, -1, "%s is empty; write it by rota-guard --describe", path);
    read_lines(&r, text, length);
    if (problems->count == before)
        check_whole(&r);
    if (problems->count > before) {
        loader_done(&r.plugin);
        return -EBADMSG;
    }
    *ret_plugin = r.plugin;
    return 0;
}

/* The whole file on the heap, with room for one byte more. */
static int read_file(const struct trust_place *place, char **ret_text, size_t *ret_length)
{
    CLEANUP_CLOSE int fd = loader_open(place);
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    text = malloc(DESCRIPTION_SIZE_MAX + 1);
    if (!text)
        return -ENOMEM;
    do {
        n = read(fd, text + length, DESCRIPTION_SIZE_MAX + 1 - length);
        if (n < 0 && errno != EINTR)
            return -errno;
        length += n > 0 ? (size_t)n : 0;
    } while (n != 0 && length <= DESCRIPTION_SIZE_MAX);
    if (length > DESCRIPTION_SIZE_MAX)
        return -EFBIG;
    *ret_text = text;
    *ret_length = length;
    text = NULL;
    return 0;
}

/* A plugin's file may have any name. But one that describes its neighbour was written to the wrong
 * place. */
static int check_neighbour(const char *path, struct plugin *p, struct problems *problems)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path,
               *name = p->contract.name;
    char other[PATH_MAX];

    assert(name); /* a description without one was refused */
    if (strlen(file) == strlen(name) + strlen(SUFFIX) && strncmp(file, name, strlen(name)) == 0)
        return 0;
    if (!text_format(other, sizeof(other), "%.*s%s.so", (int)(file - path), path, name) ||
        access(other, F_OK) < 0)
        return 0;
    problems_add(problems, -1,
                 "%s describes the plugin '%s', which is %s; write it anew, by rota-guard "
                 "--describe of the plugin that it is beside",
                 path, name, other);
    loader_done(p);
    return -EBADMSG;
}

int description_load(const struct trust_place *place, struct plugin *ret_plugin,
                     struct problems *problems)
{
    const char *path = place->path;
    struct plugin plugin;
    char *text = NULL;
    size_t length = 0;
    int r = read_file(place, &text, &length);

    if (r == -EFBIG)
        problems_add(problems, -1, "%s has more than %zu bytes; no description is so long", path,
                     DESCRIPTION_SIZE_MAX);
    else if (r == -EINVAL)
        problems_add(problems, -1, "%s is no regular file", path);
    else if (r < 0)
        problems_add(problems, -1, "%s: %s", path, strerror(-r));
    if (r < 0)
        return r;
    assert(text);
    r = description_parse(text, length, path, &plugin, problems);
    if (r == 0)
        r = check_neighbour(path, &plugin, problems);
    if (r == 0)
        *ret_plugin = plugin;
    return r;
}
