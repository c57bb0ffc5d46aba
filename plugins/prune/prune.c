/* SPDX-License-Identifier: MIT
 * prune: deletes old files in a folder. What is old is one instant: it is computed first, where it
 * depends on all files by a walk that remembers the newest ones only; then every file that was
 * changed before it goes. A file that is written meanwhile is newer, so it stays.
 *
 * A limit's ages are held against the turn's time or this device's clock, whichever is earlier: a
 * clock that ran ahead deletes nothing that is not old for the fleet. */
#include "cut.h"
#include "folder.h"
#include "walk.h"
#include "words.h"

#include <rota/plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define BLOCK_BYTES 512 /* of stx_blocks, whatever the file system's are */
/* Names that a dry run logs, and entries between two reports of progress. */
#define SHOWN_MAX 100
#define PROGRESS_STEP 4096
/* Of a path in a message: its end is kept. */
#define PATH_SIZE 400

static const struct rota_param params[] = {
    { .name = "path",
      .type = ROTA_STRING,
      .flags = ROTA_REQUIRED | ROTA_PATH,
      .help = "The folder. Nothing outside it is ever touched, and no link in it is followed." },
    { .name = "older_than",
      .type = ROTA_DURATION,
      .help = "Files that were last changed longer ago go." },
    { .name = "max_size",
      .type = ROTA_SIZE,
      .help = "The oldest files go until the rest takes no more room on disk than this." },
    { .name = "keep",
      .type = ROTA_INTEGER,
      .min = "1",
      .max = "1000000",
      .help = "The newest so many files stay, whatever the other limits say; alone, all others "
              "go." },
    { .name = "match",
      .type = ROTA_STRINGS,
      .min = "1",
      .def = "[ \"*\" ]",
      .help = "Only files whose name is like one of these: * is any text, ? one character." },
    { .name = "recursive",
      .type = ROTA_BOOLEAN,
      .def = "false",
      .help = "Files in the folders below count too, all together." },
    { .name = "remove_empty",
      .type = ROTA_BOOLEAN,
      .def = "false",
      .help = "Folders below go too, once they are empty: with older_than if they were last "
              "changed so long ago, else if this run emptied them." },
    { .name = "one_file_system",
      .type = ROTA_BOOLEAN,
      .def = "true",
      .help = "What is mounted below is left alone." },
    { .name = "links",
      .type = ROTA_BOOLEAN,
      .def = "false",
      .help = "Symbolic links count as files: they go, what they point to stays." },
    { .name = "dry_run",
      .type = ROTA_BOOLEAN,
      .def = "false",
      .help = "Delete nothing; log what would be deleted." },
    { .name = NULL },
};

struct prune {
    const struct rota_run *run;
    struct walk walk;
    const char *const *patterns;
    bool links, dry_run, remove_empty;
    bool measuring;        /* the first of two walks: nothing is deleted */
    struct cut keep, size; /* filled by it; files_max 0: no such limit */
    struct cut_key old;    /* before it: older than older_than */
    struct cut_key cut;    /* before it: goes */
    int error;             /* the walk cannot go on */
    uint64_t measured, looked, entries;
    uint64_t files, folders, troubles;
    int64_t freed;
    char first_trouble[PATH_SIZE + 100];
};

static int64_t changed_ns(const struct statx *st)
{
    int64_t seconds = st->stx_mtime.tv_sec, most = INT64_MAX / NS_PER_S - 1;

    if (seconds > most)
        seconds = most;
    if (seconds < -most)
        seconds = -most;
    return seconds * NS_PER_S + st->stx_mtime.tv_nsec;
}

static struct cut_key key_of(const struct statx *st)
{
    return (struct cut_key){ .changed_ns = changed_ns(st), .inode = st->stx_ino };
}

static bool wants(void *context, const char *name)
{
    const struct prune *p = context;

    for (const char *const *pattern = p->patterns; *pattern; pattern++)
        if (words_match(*pattern, name))
            return true;
    return false;
}

static const char *say_trouble(int error)
{
    switch (error) {
    case ENAMETOOLONG:
        return "it is too deep";
    case ENOBUFS:
        return "too many folders wait before it";
    case ESTALE:
        return "it was moved meanwhile";
    default:
        return strerror(error);
    }
}

static void trouble(void *context, const char *name, int error)
{
    struct prune *p = context;
    char path[PATH_SIZE];

    /* The second walk meets it again. */
    if (p->measuring || p->troubles++ > 0)
        return;
    walk_path(&p->walk, name, path, sizeof(path));
    snprintf(p->first_trouble, sizeof(p->first_trouble), "%s: %s", path[0] ? path : "the folder",
             say_trouble(error));
}

static bool stop(void *context)
{
    struct prune *p = context;
    char text[96];

    if (++p->entries % PROGRESS_STEP == 0) {
        snprintf(text, sizeof(text), "%" PRIu64 " files looked at, %" PRIu64 " %sdeleted",
                 p->looked, p->files, p->dry_run ? "to be " : "");
        rota_progress(p->run,
                      p->looked > 0 && p->looked <= p->measured
                          ? (double)p->looked / (double)p->measured
                          : -1,
                      text);
    }
    return p->error < 0 || rota_should_stop(p->run);
}

static void measure(struct prune *p, const struct statx *st)
{
    struct cut_file file = { .key = key_of(st) };

    p->measured++;
    /* A file of many names takes room once: each has its share. */
    file.bytes = (int64_t)(st->stx_blocks * BLOCK_BYTES / (st->stx_nlink ? st->stx_nlink : 1));
    if (p->size.files_max > 0 && p->size.count == p->size.files_max)
        p->error = -E2BIG;
    if (p->error == 0 && p->size.files_max > 0)
        p->error = cut_add(&p->size, file);
    if (p->error == 0 && p->keep.files_max > 0)
        p->error = cut_add(&p->keep, file);
}

static void log_dry(struct prune *p, const char *name)
{
    char path[PATH_SIZE];

    if (!p->dry_run || p->files + p->folders > SHOWN_MAX)
        return;
    if (p->files + p->folders == SHOWN_MAX)
        rota_log(p->run, ROTA_INFO, "would delete more; only the first %d are named", SHOWN_MAX);
    else
        rota_log(p->run, ROTA_INFO, "would delete %s",
                 walk_path(&p->walk, name, path, sizeof(path)));
}

/* `st` is from just now: what was put in the file's place since the first walk is seen as new. */
static bool remove_file(void *context, int fd, const char *name, const struct statx *st)
{
    struct prune *p = context;

    if (!S_ISREG(st->stx_mode) && !(p->links && S_ISLNK(st->stx_mode)))
        return false;
    if (p->measuring) {
        measure(p, st);
        return false;
    }
    p->looked++;
    if (!cut_is_before(key_of(st), p->cut))
        return false;
    log_dry(p, name);
    if (!p->dry_run && unlinkat(fd, name, 0) < 0) {
        if (errno != ENOENT)
            trouble(p, name, errno);
        return errno == ENOENT;
    }
    p->files++;
    if (st->stx_nlink == 1)
        p->freed += (int64_t)(st->stx_blocks * BLOCK_BYTES);
    return true;
}

static bool remove_folder(void *context, int fd, const struct walk_level *level)
{
    struct prune *p = context;
    bool aged = rota_is_set(p->run, "older_than");
    struct statx st;

    if (p->measuring || !p->remove_empty)
        return false;
    if (aged ? !cut_is_before(key_of(&level->st), p->old) : level->removed == 0)
        return false;
    log_dry(p, level->name);
    if (!p->dry_run) {
        if (walk_look(fd, level->name, &st) < 0 || !walk_is_same(&st, &level->st))
            return false;
        if (unlinkat(fd, level->name, AT_REMOVEDIR) < 0) {
            /* Somebody has put something there, or it is where something is mounted. */
            if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT && errno != EBUSY)
                trouble(p, level->name, errno);
            return false;
        }
    }
    p->folders++;
    return true;
}

static int64_t now_ms(const struct rota_run *r)
{
    struct timespec now;
    int64_t ms;

    clock_gettime(CLOCK_REALTIME, &now);
    ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
    return ms < r->turn_ms ? ms : r->turn_ms;
}

/* Files changed before it are older than that. */
static struct cut_key age_limit(int64_t from_ms, int64_t age_ms)
{
    int64_t ms = from_ms - age_ms;

    if (ms <= INT64_MIN / NS_PER_MS || ms >= INT64_MAX / NS_PER_MS)
        return CUT_NOTHING;
    return (struct cut_key){ .changed_ns = ms * NS_PER_MS };
}

/* From what the first walk found: what one of the limits lets go, but not what is to be kept. */
static struct cut_key combine(const struct prune *p)
{
    struct cut_key cut = p->old, size = cut_at(&p->size), kept;

    if (!rota_is_set(p->run, "older_than") && !rota_is_set(p->run, "max_size"))
        cut = CUT_ALL;
    else if (rota_is_set(p->run, "max_size") && cut_is_before(cut, size))
        cut = size;
    if (p->keep.files_max > 0) {
        kept = cut_oldest_kept(&p->keep);
        if (cut_is_before(kept, cut))
            cut = kept;
    }
    return cut;
}

static size_t append(char *text, size_t size, size_t used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static size_t append(char *text, size_t size, size_t used, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text + used, size - used, format, args);
    va_end(args);
    if (n < 0)
        return used;
    return used + (size_t)n < size ? used + (size_t)n : size - 1;
}

static void summarise(const struct prune *p, char *text, size_t size)
{
    char freed[WORDS_SIZE];
    size_t used =
        append(text, size, 0, "%s %s: %" PRIu64 " file%s", p->dry_run ? "would free" : "freed",
               words_size(p->freed, freed), p->files, p->files == 1 ? "" : "s");

    if (p->folders > 0)
        used = append(text, size, used, ", %" PRIu64 " folder%s", p->folders,
                      p->folders == 1 ? "" : "s");
    if (p->walk.mounts > 0)
        used = append(text, size, used, "; %" PRIu64 " mounted folder%s left alone", p->walk.mounts,
                      p->walk.mounts == 1 ? "" : "s");
    if (p->troubles > 0)
        append(text, size, used, "; %" PRIu64 " left alone, the first: %s", p->troubles,
               p->first_trouble);
}

static int result(struct prune *p, int r)
{
    char text[PATH_SIZE + 400];

    summarise(p, text, sizeof(text));
    if (p->error == -E2BIG)
        return rota_fail(p->run, ROTA_FAILED,
                         "more than %d files fit into max_size; nothing was deleted; narrow it "
                         "down by match, or write older_than instead",
                         CUT_FILES_MAX);
    if (p->error < 0)
        r = p->error;
    if (r == -ECANCELED)
        return rota_fail(p->run, ROTA_DECLINED, "stopped on the way; %s", text);
    if (r < 0)
        return rota_fail(p->run, ROTA_FAILED, "%s: %s; %s", rota_string(p->run, "path"),
                         strerror(-r), text);
    if (p->troubles > 0)
        return rota_fail(p->run, ROTA_FAILED, "%s", text);
    if (p->files + p->folders == 0 && p->walk.mounts == 0)
        return ROTA_NOTHING;
    rota_log(p->run, ROTA_INFO, "%s", text);
    return p->files + p->folders == 0 ? ROTA_NOTHING : ROTA_SUCCEEDED;
}

static int walk_twice(struct prune *p)
{
    int r = 0;

    p->old = age_limit(now_ms(p->run), rota_duration_ms(p->run, "older_than"));
    if (!rota_is_set(p->run, "older_than"))
        p->old = CUT_NOTHING;
    if (rota_is_set(p->run, "keep"))
        p->keep = (struct cut){ .files_max = (size_t)rota_integer(p->run, "keep"),
                                .bytes_max = INT64_MAX };
    if (rota_is_set(p->run, "max_size"))
        p->size = (struct cut){ .files_max = CUT_FILES_MAX,
                                .bytes_max = rota_size_bytes(p->run, "max_size") };
    p->measuring = p->keep.files_max > 0 || p->size.files_max > 0;
    if (p->measuring)
        r = walk_run(&p->walk);
    p->cut = combine(p);
    p->measuring = false;
    p->walk.mounts = 0;
    if (r == 0 && p->error == 0)
        r = walk_run(&p->walk);
    cut_done(&p->keep);
    cut_done(&p->size);
    return r;
}

static int check_words(const struct rota_run *r)
{
    if (!rota_is_set(r, "older_than") && !rota_is_set(r, "keep") && !rota_is_set(r, "max_size"))
        return rota_fail(r, ROTA_REFUSED,
                         "nothing says which files are old; write older_than, keep or max_size");
    if (rota_boolean(r, "remove_empty") && !rota_boolean(r, "recursive"))
        return rota_fail(r, ROTA_REFUSED,
                         "remove_empty looks at folders below, which are not looked at; write "
                         "recursive = true too");
    for (const char *const *pattern = rota_strings(r, "match"); *pattern; pattern++)
        if (!**pattern || strchr(*pattern, '/'))
            return rota_fail(r, ROTA_REFUSED,
                             "match has \"%s\"; write patterns for a file's name, without folders",
                             *pattern);
    return ROTA_SUCCEEDED;
}

/* A folder that is not there may come later: the run will tell. */
static int check(const struct rota_run *r)
{
    int fd = folder_open(rota_string(r, "path"), O_PATH), result = ROTA_SUCCEEDED;
    const char *why = fd < 0 ? NULL : folder_why_not(fd);

    if (fd < 0 && fd != -ENOENT)
        result =
            rota_fail(r, ROTA_REFUSED, "path: %s: %s", rota_string(r, "path"), folder_say(-fd));
    else if (why)
        result = rota_fail(r, ROTA_REFUSED, "path: %s %s", rota_string(r, "path"), why);
    if (fd >= 0)
        close(fd);
    return result == ROTA_SUCCEEDED ? check_words(r) : result;
}

static int run(const struct rota_run *r)
{
    static const struct walk_calls calls = { .wants = wants,
                                             .remove_file = remove_file,
                                             .remove_folder = remove_folder,
                                             .trouble = trouble,
                                             .stop = stop };
    struct prune p = { .run = r };
    const char *why;
    int fd, e = check_words(r);

    if (e != ROTA_SUCCEEDED)
        return e;
    fd = folder_open(rota_string(r, "path"), O_RDONLY);
    if (fd < 0)
        return rota_fail(r, ROTA_FAILED, "path: %s: %s", rota_string(r, "path"), folder_say(-fd));
    why = folder_why_not(fd);
    if (why) {
        close(fd);
        return rota_fail(r, ROTA_REFUSED, "path: %s %s", rota_string(r, "path"), why);
    }
    p.patterns = rota_strings(r, "match");
    p.links = rota_boolean(r, "links");
    p.dry_run = rota_boolean(r, "dry_run");
    p.remove_empty = rota_boolean(r, "remove_empty");
    p.walk = (struct walk){ .root = fd,
                            .recursive = rota_boolean(r, "recursive"),
                            .one_file_system = rota_boolean(r, "one_file_system"),
                            .calls = &calls,
                            .context = &p };
    e = walk_twice(&p);
    close(fd);
    return result(&p, e);
}

ROTA_PLUGIN(.name = "prune", .version = ROTA_VERSION, .summary = "Deletes old files in a folder.",
            .params = params, .run = run, .check = check);
