/* SPDX-License-Identifier: MIT */
#include "supervisor/journal.h"

#include "base/limiter.h"
#include "base/text.h"
#include "base/units.h"
#include "supervisor/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* sd_journal_sendv() waits where journald does not read, and rotad never waits; the native
 * protocol is documented and stable, so the datagram is ours. The test gives another path. */
#ifndef JOURNAL_SOCKET
#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#endif

/* All values together, with their names. */
#define ENTRY_SIZE (JOURNAL_TEXT_SIZE + 4096)
/* Below PIPE_BUF: a line goes into a pipe whole, or not at all. Before the text come an instant, a
 * level and an identity. */
#define LINE_SIZE (JOURNAL_TEXT_SIZE + 192)
_Static_assert(LINE_SIZE <= PIPE_BUF, "a line must fit into one atomic write");

static struct {
    int level;
    int journal_fd; /* -1: entries are lines on stderr */
    int line_fd;    /* stderr, or a description of the same pipe or terminal that never blocks */
    bool line_is_socket;
    unsigned long dropped;
} journal = { .level = LOG_INFO, .journal_fd = -1, .line_fd = STDERR_FILENO };

/* The last line of an account that was held back. */
struct held {
    int what;
    struct journal_field subject; /* its value is behind the text; NULL: of none */
    char text[];
};

/* Apart, since all of it is zero at first, which takes no room in the program's file. */
static struct limiter limiter;
static struct held *last_held[LIMITER_ACCOUNTS]; /* of each account, where memory was not short */

/* $JOURNAL_STREAM is "device:inode" of the stream that the service manager gave us; a child
 * whose stderr was redirected still has the variable, so the descriptor decides. */
static bool stderr_is_journal(const struct stat *st)
{
    const char *text = getenv("JOURNAL_STREAM");
    long long device, inode; /* a socket's: counted from 1 on */
    char *end;

    if (!text)
        return false;
    device = strtoll(text, &end, 10);
    if (end == text || *end != ':')
        return false;
    text = end + 1;
    inode = strtoll(text, &end, 10);
    return end != text && *end == '\0' && (dev_t)device == st->st_dev && (ino_t)inode == st->st_ino;
}

static int open_journal(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* O_NONBLOCK belongs to the open description, which others share; so a pipe or terminal is
 * opened once more. */
static int open_lines(const struct stat *st)
{
    int fd;

    if (!S_ISFIFO(st->st_mode) && !S_ISCHR(st->st_mode))
        return STDERR_FILENO;
    fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? STDERR_FILENO : fd;
}

static void close_all(void)
{
    if (journal.journal_fd >= 0)
        close(journal.journal_fd);
    if (journal.line_fd != STDERR_FILENO)
        close(journal.line_fd);
    journal.journal_fd = -1;
    journal.line_fd = STDERR_FILENO;
    journal.line_is_socket = false;
}

void journal_init(int level)
{
    struct stat st;

    close_all();
    journal.level = level;
    journal.dropped = 0;
    if (fstat(STDERR_FILENO, &st) < 0)
        return;
    journal.line_is_socket = S_ISSOCK(st.st_mode);
    journal.line_fd = open_lines(&st);
    if (stderr_is_journal(&st))
        journal.journal_fd = open_journal();
}

void journal_set_level(int level)
{
    journal.level = level;
}

bool journal_wants(int what)
{
    return MESSAGE_LEVEL(what) <= journal.level;
}

struct entry {
    size_t length;
    char bytes[ENTRY_SIZE];
};

/* What goes out in one piece. */
struct message {
    int what;
    const char *identity; /* NULL: rotad itself */
    const struct journal_field *fields;
    const char *text; /* escaped */
};

/* Adds NAME=value and a newline; a value that does not fit is left out. Control characters in
 * it become spaces, so that no value can add a field. */
static void entry_put(struct entry *e, const char *name, const char *value)
{
    char *at = e->bytes + e->length;

    if (strlen(name) + strlen(value) + 2 > sizeof(e->bytes) - e->length)
        return;
    at = stpcpy(at, name);
    *at++ = '=';
    for (; *value; value++)
        *at++ = (unsigned char)*value < ' ' ? ' ' : *value;
    *at++ = '\n';
    e->length = (size_t)(at - e->bytes);
}

static int send_entry(const struct message *m)
{
    struct entry e = { .length = 0 };
    char priority[] = { (char)('0' + MESSAGE_LEVEL(m->what)), '\0' };
    char id[sizeof MESSAGE_FAMILY + 2];
    ssize_t n;

    entry_put(&e, "MESSAGE", m->text);
    entry_put(&e, "PRIORITY", priority);
    entry_put(&e, "SYSLOG_IDENTIFIER", m->identity ? m->identity : "rotad");
    if (MESSAGE_NUMBER(m->what)) {
        text_format(id, sizeof id, MESSAGE_FAMILY "%02x", MESSAGE_NUMBER(m->what));
        entry_put(&e, "MESSAGE_ID", id);
    }
    for (int i = 0; m->fields && m->fields[i].name && i < JOURNAL_FIELDS_MAX; i++)
        if (m->fields[i].value)
            entry_put(&e, m->fields[i].name, m->fields[i].value);
    n = send(journal.journal_fd, e.bytes, e.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && (errno == ECONNREFUSED || errno == ENOTCONN || errno == ECONNRESET)) {
        int fd = open_journal(); /* journald was restarted */

        if (fd < 0)
            return -ECONNREFUSED;
        close(journal.journal_fd);
        journal.journal_fd = fd;
        n = send(fd, e.bytes, e.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    return n < 0 ? -errno : 0;
}

static const char *level_name(int level)
{
    switch (level) {
    case LOG_WARNING:
        return "warning";
    case LOG_NOTICE:
        return "notice";
    case LOG_INFO:
        return "info";
    case LOG_DEBUG:
        return "debug";
    default:
        return "error";
    }
}

static bool would_wait(void)
{
    struct pollfd writable = { .fd = STDERR_FILENO, .events = POLLOUT };

    if (journal.line_fd != STDERR_FILENO)
        return false; /* our own description: it never waits */
    return poll(&writable, 1, 0) <= 0 || !(writable.revents & POLLOUT);
}

static int write_bytes(const char *bytes, size_t length)
{
    ssize_t n;

    if (journal.line_is_socket)
        n = send(journal.line_fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (would_wait())
        return -EAGAIN;
    else
        n = write(journal.line_fd, bytes, length);
    if (n < 0)
        return -errno;
    return (size_t)n == length ? 0 : -EAGAIN;
}

static int write_line(const struct message *m)
{
    char line[LINE_SIZE];
    struct timespec now;
    struct tm utc;
    size_t at;
    int n;

    clock_gettime(CLOCK_REALTIME, &now);
    if (!gmtime_r(&now.tv_sec, &utc))
        return -EOVERFLOW;
    at = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &utc);
    n = snprintf(line + at, sizeof(line) - at, ".%03ldZ %s: %s%s%s\n", now.tv_nsec / 1000000,
                 level_name(MESSAGE_LEVEL(m->what)), m->identity ? m->identity : "",
                 m->identity ? "| " : "", m->text);
    return write_bytes(line, at + (size_t)n);
}

static int put(const struct message *m)
{
    return journal.journal_fd >= 0 ? send_entry(m) : write_line(m);
}

static bool say_dropped(void)
{
    char text[96];

    text_format(text, sizeof(text), "%lu log line%s dropped, because nobody read them",
                journal.dropped, journal.dropped == 1 ? " was" : "s were");
    if (put(&(struct message){ .what = LOG_WARNING | MESSAGE_LINES_DROPPED, .text = text }) < 0)
        return false;
    journal.dropped = 0;
    return true;
}

/* Takes the text as it came. */
static void log_message(struct message *m)
{
    char text[JOURNAL_TEXT_SIZE];

    m->text = text_escape(text, sizeof(text), m->text, strlen(m->text));
    if ((journal.dropped > 0 && !say_dropped()) || put(m) < 0)
        journal.dropped++;
}

/* A job's kinds differ in their last eight bits alone. */
#define JOB_MASK (~UINT64_C(0xff))

/* FNV-1a: names of jobs are nobody's attack. */
static uint64_t kind_of(int what, const char *subject)
{
    uint32_t hash = UINT32_C(2166136261);

    for (; subject && *subject; subject++)
        hash = (hash ^ (unsigned char)*subject) * UINT32_C(16777619);
    return (uint64_t)hash << 8 | MESSAGE_TOPIC(what);
}

/* Whose kinds of lines are counted apart; NULL: nobody's. */
static const struct journal_field *subject_of(const struct journal_field *fields)
{
    for (; fields && fields->name; fields++)
        if (strcmp(fields->name, "ROTA_JOB") == 0 || strcmp(fields->name, "ROTA_SERVER") == 0)
            return fields;
    return NULL;
}

static void keep(struct held **at, const struct message *m, const struct journal_field *subject)
{
    const char *value = subject ? subject->value : NULL;
    size_t size = strlen(m->text) + 1, value_size = value ? strlen(value) + 1 : 0;
    struct held *held = malloc(sizeof *held + size + value_size);

    if (!held)
        return; /* the one before stands for it */
    held->what = m->what;
    memcpy(held->text, m->text, size);
    held->subject = (struct journal_field){
        .name = subject ? subject->name : NULL,
        .value = value ? memcpy(held->text + size, value, value_size) : NULL,
    };
    free(*at);
    *at = held;
}

static void tell(struct limiter_account *a, struct boot now)
{
    struct held **at = &last_held[a - limiter.accounts], *held = *at;
    char text[JOURNAL_TEXT_SIZE], during[UNITS_SIZE];

    if (held) {
        text_format(text, sizeof text, "%s (the last of %" PRIu32 " more of these within %s)",
                    held->text, a->held,
                    units_say_duration(boot_between(a->since, now), during, sizeof during));
        log_message(
            &(struct message){ .what = held->what,
                               .fields = (struct journal_field[]){ held->subject, { NULL, NULL } },
                               .text = text });
    }
    free(held);
    *at = NULL;
    limiter_told(a, now);
}

static void tell_kind(uint64_t mask, uint64_t kind, struct boot by)
{
    struct limiter_account *a;

    while ((a = limiter_next(&limiter, mask, kind, by)))
        tell(a, clock_boot());
}

/* What is over, or the job's success, is said behind what was held back of it. */
static bool hold_back(const struct message *m, int64_t *ret_silence_ms)
{
    const struct journal_field *subject = subject_of(m->fields);
    uint64_t kind =
        kind_of(m->what, subject && !(m->what & MESSAGE_SHARED) ? subject->value : NULL);
    struct limiter_account *a = NULL;

    if (m->what & MESSAGE_LIMITED)
        a = limiter_ask(&limiter, kind, m->what & MESSAGE_OVER, clock_boot(), ret_silence_ms);
    if (a)
        keep(&last_held[a - limiter.accounts], m, subject);
    else if (m->what & MESSAGE_OVER)
        tell_kind(UINT64_MAX, kind, BOOT_NEVER);
    else if (m->what & MESSAGE_WELL)
        tell_kind(JOB_MASK, kind & JOB_MASK, BOOT_NEVER);
    return a != NULL;
}

struct boot journal_due(void)
{
    return limiter_due(&limiter);
}

void journal_tell_held(bool all)
{
    tell_kind(0, 0, all ? BOOT_NEVER : clock_boot());
}

/* So that nobody takes the silence that follows for health. */
static void add_silence(char text[JOURNAL_TEXT_SIZE], int64_t silence_ms)
{
    size_t length = strlen(text);
    char during[UNITS_SIZE];

    text_format(text + length, JOURNAL_TEXT_SIZE - length,
                " (more like it are only counted, for up to %s)",
                units_say_duration(silence_ms, during, sizeof during));
}

void journal_log(int what, const struct journal_field *fields, const char *format, ...)
{
    char raw[JOURNAL_TEXT_SIZE];
    struct message m = { .what = what, .fields = fields, .text = raw };
    int64_t silence_ms = 0;
    int saved = errno;
    va_list args;

    if (!journal_wants(what))
        return;
    va_start(args, format);
    /* clang-tidy 14 overlooks this va_start. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    if (!hold_back(&m, &silence_ms)) {
        if (silence_ms > 0)
            add_silence(raw, silence_ms);
        log_message(&m);
    }
    errno = saved;
}

void journal_pass_on(int level, const char *identity, const struct journal_field *fields,
                     const char *text)
{
    int saved = errno;

    if (!journal_wants(level))
        return;
    log_message(
        &(struct message){ .what = level, .identity = identity, .fields = fields, .text = text });
    errno = saved;
}
