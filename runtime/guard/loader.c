/* SPDX-License-Identifier: MIT */
#include "guard/loader.h"
#include "base/cleanup.h"
#include "base/library.h"
#include "base/text.h"
#include "guard/description.h"
#include "guard/values.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a plugin of ABI 1 has at least: version 1.0's members up to the first that may be absent. */
#define CONTRACT_SIZE_MIN offsetof(struct rota_plugin, check)
#define PARAM_SIZE_MIN offsetof(struct rota_param, def)
#define FEATURES_KNOWN (UINT64_C(0) | ROTA_NEEDS_LOST | ROTA_NEEDS_CREDENTIAL)
#define NAME_SIZE_MAX 63

static int find_trusted(const char *path, struct trust_place *ret_place, char *sentence)
{
    struct trust_place place = { 0 };
    char why[TRUST_WHY_SIZE];
    int r;

    if (path[0] != '/') {
        text_format(sentence, SENTENCE_SIZE, "plugin path '%s' is not absolute", path);
        return -EINVAL;
    }
    r = trust_walk("", path, &place, why);
    if (why[0] != '\0') {
        text_format(sentence, SENTENCE_SIZE, "others could replace the plugin: %s", why);
        return r;
    }
    if (r < 0) {
        text_format(sentence, SENTENCE_SIZE, "%s: %s", path, strerror(-r));
        return r;
    }
    if (!S_ISREG(place.mode)) {
        text_format(sentence, SENTENCE_SIZE, "%s is no regular file", path);
        trust_done(&place);
        return -EINVAL;
    }
    *ret_place = place;
    return 0;
}

int loader_find(const char *path, bool loose, struct trust_place *ret_place, char *sentence)
{
    char *copy;

    if (!loose)
        return find_trusted(path, ret_place, sentence);
    copy = strdup(path);
    if (!copy) {
        text_copy(sentence, SENTENCE_SIZE, "no memory for the plugin's path");
        return -ENOMEM;
    }
    *ret_place = (struct trust_place){ .path = copy, .folder = -1 };
    return 0;
}

int loader_open(const struct trust_place *place)
{
    bool in_folder = place->folder >= 0;
    int fd =
        openat(in_folder ? place->folder : AT_FDCWD, in_folder ? trust_name(place) : place->path,
               O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    return fd < 0 ? -errno : fd;
}

static bool is_small_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

bool loader_is_name(const char *name, bool dash)
{
    size_t length = name ? strlen(name) : 0;

    if (length == 0 || length > NAME_SIZE_MAX || !is_small_letter(name[0]))
        return false;
    for (const char *at = name; *at; at++)
        if (!is_small_letter(*at) && (*at < '0' || *at > '9') && *at != '_' &&
            !(dash && *at == '-'))
            return false;
    return true;
}

/* A text of the plugin goes into sentences cut: a wild one must not push the rest out. */
static int check_head(const struct rota_plugin *c, const char *path, char *sentence)
{
    if (c->abi != ROTA_ABI) {
        text_format(sentence, SENTENCE_SIZE,
                    "%s was built for plugin ABI %u, this rota has %u; build it against this "
                    "rota's rota/plugin.h",
                    path, c->abi, ROTA_ABI);
        return -EPROTO;
    }
    if (c->size < CONTRACT_SIZE_MIN || c->size % _Alignof(void *) != 0 ||
        c->param_size < PARAM_SIZE_MIN || c->param_size % _Alignof(struct rota_param) != 0) {
        text_format(sentence, SENTENCE_SIZE,
                    "%s has a contract of %u bytes with parameters of %u; the least are %zu and "
                    "%zu, in whole words; declare it by ROTA_PLUGIN",
                    path, c->size, c->param_size, CONTRACT_SIZE_MIN, PARAM_SIZE_MIN);
        return -EBADMSG;
    }
    return 0;
}

static int check_contract(const struct rota_plugin *c, const char *path, char *sentence)
{
    if (c->needs & ~FEATURES_KNOWN) {
        text_format(sentence, SENTENCE_SIZE,
                    "%s needs features 0x%" PRIx64 ", which this rota does not have; upgrade rota",
                    path, c->needs & ~FEATURES_KNOWN);
        return -EPROTO;
    }
    if (!loader_is_name(c->name, true)) {
        text_format(sentence, SENTENCE_SIZE,
                    "%s has the name '%.64s'; a plugin's name is a-z, then a-z, 0-9, _ or -, at "
                    "most 63 bytes",
                    path, c->name ? c->name : "");
        return -EBADMSG;
    }
    if (!c->version || !c->summary || !c->run) {
        text_format(sentence, SENTENCE_SIZE, "%s: plugin '%s' has no %s", path, c->name,
                    !c->version   ? "version"
                    : !c->summary ? "summary"
                                  : "run function");
        return -EBADMSG;
    }
    return 0;
}

const char *loader_param_mistake(const struct plugin *p, size_t index)
{
    const struct rota_param *param = &p->params[index];

    if (!loader_is_name(param->name, false))
        return "a name that is not a-z, then a-z, 0-9 or _, at most 63 bytes";
    if (param->type < ROTA_STRING || param->type > ROTA_STRINGS)
        return "a type that this rota does not know";
    if (param->choices && param->type != ROTA_STRING && param->type != ROTA_STRINGS)
        return "choices, which only strings have";
    if ((param->flags & ROTA_REQUIRED) && param->def)
        return "a default although it is required";
    for (size_t i = 0; i < index; i++)
        if (strcmp(p->params[i].name, param->name) == 0)
            return "the name of another one";
    return values_check_limits(param);
}

static int check_param(const struct plugin *p, size_t index, char *sentence)
{
    const char *what = loader_param_mistake(p, index);

    if (!what)
        return 0;
    text_format(sentence, SENTENCE_SIZE, "plugin '%s': parameter %zu, '%.64s', has %s",
                p->contract.name, index + 1, p->params[index].name, what);
    return -EBADMSG;
}

/* Copies the table row by row with the plugin's own row size, by the smaller of the two into a
 * zeroed copy. */
static int copy_params(struct plugin *p, char *sentence)
{
    const char *row = (const char *)p->contract.params;
    size_t stride = p->contract.param_size, part = stride, count = 0;
    int r = 0;

    if (!row)
        return 0;
    if (part > sizeof(*p->params))
        part = sizeof(*p->params);
    while (count <= PLUGIN_PARAMS_MAX && *(const char *const *)(const void *)(row + count * stride))
        count++;
    if (count > PLUGIN_PARAMS_MAX) {
        text_format(sentence, SENTENCE_SIZE, "plugin '%s' has more than %d parameters",
                    p->contract.name, PLUGIN_PARAMS_MAX);
        return -EBADMSG;
    }
    p->params = calloc(count + 1, sizeof(*p->params));
    if (!p->params) {
        text_format(sentence, SENTENCE_SIZE, "no memory for the plugin's parameters");
        return -ENOMEM;
    }
    p->param_count = count;
    for (size_t i = 0; i < count && r == 0; i++) {
        memcpy(&p->params[i], row + i * stride, part);
        r = check_param(p, i, sentence);
    }
    return r;
}

/* The symbol's size in the file: a contract cannot be longer than what holds it. SIZE_MAX: not
 * told. */
static size_t symbol_size(const void *symbol)
{
    void *found = NULL;
    const ElfW(Sym) * entry;
    Dl_info info;

    if (!dladdr1(symbol, &info, &found, RTLD_DL_SYMENT) || !found)
        return SIZE_MAX;
    entry = found;
    return entry->st_size == 0 ? SIZE_MAX : entry->st_size;
}

/* Of such a file dlopen says that it is not there. */
static bool is_for_another_processor(const struct trust_place *place)
{
    static const char here;
    CLEANUP_CLOSE int fd = loader_open(place);
    const ElfW(Ehdr) * ours;
    ElfW(Ehdr) theirs;
    Dl_info info;

    if (fd < 0 || read(fd, &theirs, sizeof(theirs)) != (ssize_t)sizeof(theirs) ||
        memcmp(theirs.e_ident, ELFMAG, SELFMAG) != 0 || !dladdr(&here, &info))
        return false;
    ours = info.dli_fbase;
    return theirs.e_machine != ours->e_machine;
}

static int tell_not_loaded(const struct trust_place *place, const char *why, char *sentence)
{
    if (is_for_another_processor(place))
        text_format(sentence, SENTENCE_SIZE,
                    "%s was built for another processor; build it for this device's", place->path);
    else
        text_format(sentence, SENTENCE_SIZE, "the plugin cannot be loaded: %s", why);
    return -ENOEXEC;
}

static int find_contract(const struct trust_place *place, struct rota_plugin *ret_contract,
                         char *sentence)
{
    struct rota_plugin contract = { 0 };
    char why[LIBRARY_WHY_SIZE];
    const char *path = place->path;
    const struct rota_plugin *symbol;
    pid_t self = getpid();
    size_t length;
    void *handle;
    int r = library_open(place, &handle, why);

    /* A constructor that forked: its child must not do this process's work a second time. */
    if (getpid() != self)
        _exit(EXIT_SUCCESS);
    if (r < 0)
        return tell_not_loaded(place, why, sentence);
    symbol = dlsym(handle, "rota_plugin");
    length = symbol ? symbol_size(symbol) : 0;
    if (length < offsetof(struct rota_plugin, needs)) {
        text_format(sentence, SENTENCE_SIZE,
                    "%s is no rota plugin: it does not export 'rota_plugin'; declare it by "
                    "ROTA_PLUGIN",
                    path);
        return -ENOEXEC;
    }
    memcpy(&contract, symbol, offsetof(struct rota_plugin, needs));
    r = check_head(&contract, path, sentence);
    if (r < 0)
        return r;
    if (contract.size > length) {
        text_format(sentence, SENTENCE_SIZE,
                    "%s says that its contract has %u bytes, but it has %zu; declare it by "
                    "ROTA_PLUGIN",
                    path, contract.size, length);
        return -EBADMSG;
    }
    length = contract.size < sizeof(contract) ? contract.size : sizeof(contract);
    memcpy(&contract, symbol, length);
    *ret_contract = contract;
    return 0;
}

/* dlopen waits for who writes to a FIFO, for ever. */
static int check_file(const struct trust_place *place, char *sentence)
{
    struct stat st;

    if (description_is_named(place->path)) {
        text_format(sentence, SENTENCE_SIZE,
                    "%s is a plugin's description, which cannot be run; name the plugin's .so",
                    place->path);
        return -ENOEXEC;
    }
    if (place->folder < 0 && stat(place->path, &st) == 0 && !S_ISREG(st.st_mode)) {
        text_format(sentence, SENTENCE_SIZE, "%s is no regular file", place->path);
        return -ENOEXEC;
    }
    return 0; /* what is not there dlopen tells */
}

int loader_load(const struct trust_place *place, struct plugin *ret_plugin, char *sentence)
{
    struct plugin p = { 0 };
    const char *path = place->path;
    int r;

    r = check_file(place, sentence);
    if (r == 0)
        r = find_contract(place, &p.contract, sentence);
    if (r == 0)
        r = check_contract(&p.contract, path, sentence);
    if (r == 0)
        r = copy_params(&p, sentence);
    if (r < 0) {
        loader_done(&p);
        return r;
    }
    *ret_plugin = p;
    return 0;
}

void loader_done(struct plugin *p)
{
    if (!p)
        return;
    free(p->params);
    free(p->texts);
    p->params = NULL;
    p->texts = NULL;
    p->param_count = 0;
}
