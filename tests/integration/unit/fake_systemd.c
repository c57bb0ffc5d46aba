/* SPDX-License-Identifier: MIT
 * Plays a system bus with systemd on it, for one service and what bounds it.
 *
 * usage: fake_systemd SOCKET [NAME=VALUE...]
 *
 * Says what it is asked on standard output, one line a call. fake_settings.h has the names.
 * SIGUSR1: someone else stops the unit; SIGUSR2: someone else starts it, while it runs;
 * SIGALRM: systemd itself starts it again, and it ends at once; SIGHUP: the bus is closed. */
#include "fake_settings.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#define SYSTEMD "org.freedesktop.systemd1"
#define MANAGER "/org/freedesktop/systemd1"
#define UNIT_PATH MANAGER "/unit/it"
#define DBUS "org.freedesktop.DBus"

/* All that it knows; ids of systemd jobs count up. */
static struct {
    sd_event *event;
    sd_bus *bus;
    const char *active;
    char unit[256];
    uint32_t jobs, start_job, stop_job, restarts;
    int kills;
    sd_event_source *end;
    bool subscribed, referred, started, lost_one;
} it;

static const char *job_path(uint32_t id, char buf[64])
{
    snprintf(buf, 64, MANAGER "/job/%u", id);
    return buf;
}

/* The bus gives each signal its sender. */
static void emit(const char *path, const char *interface, const char *member, const char *types,
                 ...)
{
    sd_bus_message *m = NULL;
    va_list args;

    if (!it.bus || !it.subscribed || (it.started && *setting("silent") == '1'))
        return;
    must(sd_bus_message_new_signal(it.bus, &m, path, interface, member), "a signal");
    must(sd_bus_message_set_sender(m, SYSTEMD), "its sender");
    va_start(args, types);
    must(sd_bus_message_appendv(m, types, args), "its contents");
    va_end(args);
    sd_bus_send(it.bus, m, NULL);
    sd_bus_message_unref(m);
}

static void set_active(const char *active)
{
    it.active = active;
    emit(UNIT_PATH, DBUS ".Properties", "PropertiesChanged", "sa{sv}as", SYSTEMD ".Unit", 0, 1,
         "ActiveState");
}

static const char *own_name(void)
{
    return *setting("id") ? setting("id") : it.unit;
}

static void job_ends(uint32_t *id, const char *unit, const char *result)
{
    char path[64];

    if (*id == 0)
        return;
    emit(MANAGER, SYSTEMD ".Manager", "JobRemoved", "uoss", *id, job_path(*id, path), unit, result);
    *id = 0;
}

static void goes_down(void)
{
    bool good = strcmp(setting("result"), "success") == 0;

    set_active(good || it.stop_job ? "inactive" : "failed");
    job_ends(&it.start_job, own_name(), it.stop_job ? "canceled" : setting("job"));
    job_ends(&it.stop_job, own_name(), "done");
}

static int on_end(sd_event_source *source, uint64_t at, void *context)
{
    (void)source;
    (void)at;
    (void)context;
    it.end = sd_event_source_disable_unref(it.end);
    goes_down();
    return 0;
}

/* Below 0: never. */
static void end_in(const char *ms)
{
    uint64_t now;

    it.end = sd_event_source_disable_unref(it.end);
    if (*ms == '-')
        return;
    must(sd_event_now(it.event, CLOCK_MONOTONIC, &now), "the time");
    must(sd_event_add_time(it.event, &it.end, CLOCK_MONOTONIC, now + strtoull(ms, NULL, 10) * 1000,
                           1, on_end, NULL),
         "a timer");
}

/* Once. */
static bool is_lost(const char *name)
{
    if (it.lost_one || strcmp(setting("lost"), name) != 0)
        return false;
    it.lost_one = true;
    return true;
}

/* Before any call gets to what answers it. 1: it does not. */
static int refuse(sd_bus_message *m, void *context, sd_bus_error *error)
{
    const char *refusal = setting("refuse"), *member = sd_bus_message_get_member(m);
    size_t length = strlen(member);

    (void)context;
    (void)error;
    if (strcmp(setting("closes"), member) == 0)
        return raise(SIGHUP) == 0;
    if (is_lost(member)) {
        must(sd_bus_reply_method_errorf(m, SD_BUS_ERROR_NO_REPLY, "it was lost"), "a loss");
        return 1;
    }
    if (strncmp(refusal, member, length) != 0 || refusal[length] != ':')
        return 0;
    printf("refused %s\n", member);
    must(sd_bus_reply_method_errorf(m, refusal + length + 1, "a test says so"), "a refusal");
    return 1;
}

static int load_unit(sd_bus_message *m, void *context, sd_bus_error *error)
{
    const char *name;

    (void)context;
    (void)error;
    must(sd_bus_message_read(m, "s", &name), "LoadUnit");
    snprintf(it.unit, sizeof(it.unit), "%s", name);
    return sd_bus_reply_method_return(m, "o", UNIT_PATH);
}

static int subscribe(sd_bus_message *m, void *context, sd_bus_error *error)
{
    (void)context;
    (void)error;
    it.subscribed = true;
    return sd_bus_reply_method_return(m, "");
}

static int ref_unit(sd_bus_message *m, void *context, sd_bus_error *error)
{
    (void)context;
    (void)error;
    it.referred = true;
    return sd_bus_reply_method_return(m, "");
}

static int start_unit(sd_bus_message *m, void *context, sd_bus_error *error)
{
    const char *name, *mode;
    char path[64];
    int answer;

    (void)context;
    (void)error;
    must(sd_bus_message_read(m, "ss", &name, &mode), "StartUnit");
    printf("start %s %s\n", name, mode);
    usleep((useconds_t)atoi(setting("answer_ms")) * 1000);
    it.started = true;
    it.start_job = ++it.jobs;
    answer = sd_bus_reply_method_return(m, "o", job_path(it.start_job, path));
    if (strcmp(setting("job"), "done") == 0 && strcmp(setting("condition"), "1") == 0) {
        set_active(strcmp(setting("type"), "oneshot") == 0 ? "activating" : "active");
        if (strcmp(it.active, "active") == 0)
            job_ends(&it.start_job, own_name(), "done");
        end_in(setting("run_ms"));
    } else {
        job_ends(&it.start_job, own_name(), setting("job"));
    }
    return answer;
}

static void stop_now(void)
{
    it.stop_job = ++it.jobs;
    set_active("deactivating");
    end_in(setting("stop_ms"));
}

static int stop_unit(sd_bus_message *m, void *context, sd_bus_error *error)
{
    const char *name, *mode;
    char path[64];

    (void)context;
    (void)error;
    must(sd_bus_message_read(m, "ss", &name, &mode), "StopUnit");
    printf("stop %s %s\n", name, mode);
    usleep((useconds_t)atoi(setting("answer_ms")) * 1000);
    stop_now();
    return sd_bus_reply_method_return(m, "o", job_path(it.stop_job, path));
}

static int kill_unit(sd_bus_message *m, void *context, sd_bus_error *error)
{
    const char *name, *whom;
    int number;

    (void)context;
    (void)error;
    must(sd_bus_message_read(m, "ssi", &name, &whom, &number), "KillUnit");
    printf("kill %s %s %d\n", name, whom, number);
    if (++it.kills >= atoi(setting("kills")))
        end_in("0");
    return sd_bus_reply_method_return(m, "");
}

static int on_cut(sd_event_source *source, uint64_t at, void *context)
{
    (void)at;
    printf("lifeline ended\n");
    close((int)(intptr_t)context);
    sd_event_source_unref(source);
    return 0;
}

static int on_lifeline(sd_event_source *source, int fd, uint32_t events, void *context)
{
    char byte = 0;
    ssize_t n = read(fd, &byte, 1);
    const char *ms = setting(n == 1 ? "over_ms" : "cut_ms");

    (void)events;
    (void)context;
    printf("lifeline %s\n", n == 1 && byte == '\n' ? "over" : "cut");
    sd_event_source_unref(source);
    must(sd_event_add_time_relative(it.event, &source, CLOCK_MONOTONIC,
                                    strtoull(ms, NULL, 10) * 1000, 1, on_cut, (void *)(intptr_t)fd),
         "a timer");
    return 0;
}

/* One command's arguments, but for the shell's own. */
static void read_command(sd_bus_message *m, const char *property)
{
    const char *program, *word;
    int ignore;

    must(sd_bus_message_enter_container(m, 'v', "a(sasb)"), property);
    must(sd_bus_message_enter_container(m, 'a', "(sasb)"), property);
    must(sd_bus_message_enter_container(m, 'r', "sasb"), property);
    must(sd_bus_message_read(m, "s", &program), property);
    printf(" %s=%s", property, program);
    must(sd_bus_message_enter_container(m, 'a', "s"), property);
    while (sd_bus_message_read(m, "s", &word) > 0)
        printf("|%s", word);
    must(sd_bus_message_exit_container(m), property);
    must(sd_bus_message_read(m, "b", &ignore), property);
    for (int i = 0; i < 3; i++)
        must(sd_bus_message_exit_container(m), property);
}

static void read_property(sd_bus_message *m)
{
    const char *name, *type, *text;
    uint64_t number;
    int fd, level;

    must(sd_bus_message_read(m, "s", &name), "a property");
    must(sd_bus_message_peek_type(m, NULL, &type), "its type");
    if (strcmp(type, "a(sasb)") == 0) {
        read_command(m, name);
    } else if (strcmp(type, "h") == 0) {
        must(sd_bus_message_read(m, "v", "h", &fd), name);
        if (strcmp(setting("keeps"), "1") != 0)
            return;
        must(sd_event_add_io(it.event, NULL, dup(fd), EPOLLIN, on_lifeline, NULL), name);
    } else if (strcmp(type, "t") == 0) {
        must(sd_bus_message_read(m, "v", "t", &number), name);
        printf(" %s=%llu", name, (unsigned long long)number);
    } else if (strcmp(type, "i") == 0) {
        must(sd_bus_message_read(m, "v", "i", &level), name);
        printf(" %s=%d", name, level);
    } else {
        must(sd_bus_message_read(m, "v", "s", &text), name);
        printf(" %s=%s", name, text);
    }
}

static int start_transient(sd_bus_message *m, void *context, sd_bus_error *error)
{
    const char *name, *mode;
    char path[64];
    uint32_t job;
    int answer;

    (void)context;
    (void)error;
    must(sd_bus_message_read(m, "ss", &name, &mode), "StartTransientUnit");
    printf("transient %s %s", name, mode);
    must(sd_bus_message_enter_container(m, 'a', "(sv)"), "properties");
    while (sd_bus_message_enter_container(m, 'r', "sv") > 0) {
        read_property(m);
        must(sd_bus_message_exit_container(m), "a property");
    }
    printf("\n");
    job = ++it.jobs;
    answer = sd_bus_reply_method_return(m, "o", job_path(job, path));
    if (*setting("taken") == '1')
        set_active("active");
    job_ends(&job, name, setting("lifeline"));
    return answer;
}

static int get_job(sd_bus *bus, const char *path, const char *interface, const char *property,
                   sd_bus_message *reply, void *context, sd_bus_error *error)
{
    uint32_t id = it.stop_job ? it.stop_job : it.start_job;
    char buf[64];

    (void)bus;
    (void)path;
    (void)interface;
    (void)property;
    (void)context;
    (void)error;
    return sd_bus_message_append(reply, "(uo)", id, id ? job_path(id, buf) : "/");
}

static int get_text(sd_bus *bus, const char *path, const char *interface, const char *property,
                    sd_bus_message *reply, void *context, sd_bus_error *error)
{
    (void)bus;
    (void)path;
    (void)interface;
    (void)context;
    if (is_lost(property))
        return sd_bus_error_set(error, SD_BUS_ERROR_NO_REPLY, "it was lost");
    return sd_bus_message_append(reply, "s",
                                 strcmp(property, "ActiveState") == 0 ? it.active
                                 : strcmp(property, "Id") == 0        ? own_name()
                                 : strcmp(property, "LoadState") == 0 ? setting("load")
                                 : strcmp(property, "Type") == 0      ? setting("type")
                                 : it.referred                        ? setting("result")
                                                                      : "success");
}

/* A unit that nobody refers to is forgotten with its end: then all is as before its first start. */
static int get_number(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *context, sd_bus_error *error)
{
    const char *name = strcmp(property, "ExecMainCode") == 0      ? "code"
                       : strcmp(property, "ExecMainStatus") == 0  ? "status"
                       : strcmp(property, "ConditionResult") == 0 ? "condition"
                                                                  : "remain";
    int value = it.referred || strcmp(name, "remain") == 0 ? atoi(setting(name)) : 0;

    (void)bus;
    (void)path;
    (void)interface;
    (void)context;
    (void)error;
    return sd_bus_message_append_basic(reply, strncmp(property, "Exec", 4) == 0 ? 'i' : 'b',
                                       &value);
}

static int get_limit(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *context, sd_bus_error *error)
{
    const char *limit = setting("limit");

    (void)bus;
    (void)path;
    (void)interface;
    (void)context;
    (void)error;
    /* Each is a limit of some types only; of notify both are. */
    if (strcmp(setting("type"), "notify") != 0 &&
        (strcmp(setting("type"), "oneshot") == 0) != (strcmp(property, "TimeoutStartUSec") == 0))
        limit = "infinity";
    return sd_bus_message_append(reply, "t",
                                 *limit == 'i' ? UINT64_MAX : strtoull(limit, NULL, 10));
}

static int get_restarts(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *context, sd_bus_error *error)
{
    (void)bus;
    (void)path;
    (void)interface;
    (void)property;
    (void)context;
    (void)error;
    return sd_bus_message_append(reply, "u", it.restarts);
}

static int hello(sd_bus_message *m, void *context, sd_bus_error *error)
{
    (void)context;
    (void)error;
    return sd_bus_reply_method_return(m, "s", ":1.7");
}

static int add_match(sd_bus_message *m, void *context, sd_bus_error *error)
{
    (void)context;
    (void)error;
    return sd_bus_reply_method_return(m, "");
}

#define OPEN SD_BUS_VTABLE_UNPRIVILEGED
static const sd_bus_vtable bus_table[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Hello", "", "s", hello, OPEN),
    SD_BUS_METHOD("AddMatch", "s", "", add_match, OPEN),
    SD_BUS_METHOD("RemoveMatch", "s", "", add_match, OPEN),
    SD_BUS_VTABLE_END,
};
static const sd_bus_vtable manager_table[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("LoadUnit", "s", "o", load_unit, OPEN),
    SD_BUS_METHOD("Subscribe", "", "", subscribe, OPEN),
    SD_BUS_METHOD("RefUnit", "s", "", ref_unit, OPEN),
    SD_BUS_METHOD("StartUnit", "ss", "o", start_unit, OPEN),
    SD_BUS_METHOD("StopUnit", "ss", "o", stop_unit, OPEN),
    SD_BUS_METHOD("KillUnit", "ssi", "", kill_unit, OPEN),
    SD_BUS_METHOD("StartTransientUnit", "ssa(sv)a(sa(sv))", "o", start_transient, OPEN),
    SD_BUS_VTABLE_END,
};
static const sd_bus_vtable unit_table[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Job", "(uo)", get_job, 0, 0),
    SD_BUS_PROPERTY("Id", "s", get_text, 0, 0),
    SD_BUS_PROPERTY("ActiveState", "s", get_text, 0, 0),
    SD_BUS_PROPERTY("LoadState", "s", get_text, 0, 0),
    SD_BUS_PROPERTY("ConditionResult", "b", get_number, 0, 0),
    SD_BUS_VTABLE_END,
};
static const sd_bus_vtable service_table[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Result", "s", get_text, 0, 0),
    SD_BUS_PROPERTY("Type", "s", get_text, 0, 0),
    SD_BUS_PROPERTY("RemainAfterExit", "b", get_number, 0, 0),
    SD_BUS_PROPERTY("ExecMainCode", "i", get_number, 0, 0),
    SD_BUS_PROPERTY("ExecMainStatus", "i", get_number, 0, 0),
    SD_BUS_PROPERTY("NRestarts", "u", get_restarts, 0, 0),
    SD_BUS_PROPERTY("RuntimeMaxUSec", "t", get_limit, 0, 0),
    SD_BUS_PROPERTY("TimeoutStartUSec", "t", get_limit, 0, 0),
    SD_BUS_VTABLE_END,
};

static int on_client(sd_event_source *source, int fd, uint32_t events, void *context)
{
    static const struct {
        const char *path, *interface;
        const sd_bus_vtable *table;
    } objects[] = {
        { "/org/freedesktop/DBus", DBUS, bus_table },
        { MANAGER, SYSTEMD ".Manager", manager_table },
        { UNIT_PATH, SYSTEMD ".Unit", unit_table },
        { UNIT_PATH, SYSTEMD ".Service", service_table },
    };
    int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    sd_id128_t id;

    (void)source;
    (void)events;
    (void)context;
    sd_bus_close_unref(it.bus);
    must(client < 0 ? -errno : 0, "a client");
    must(sd_id128_randomize(&id), "an id");
    must(sd_bus_new(&it.bus), "a bus");
    must(sd_bus_set_fd(it.bus, client, client), "its socket");
    must(sd_bus_set_server(it.bus, 1, id), "a server");
    must(sd_bus_negotiate_fds(it.bus, 1), "descriptors");
    must(sd_bus_add_filter(it.bus, NULL, refuse, NULL), "refusals");
    must(sd_bus_start(it.bus), "its start");
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        must(sd_bus_add_object_vtable(it.bus, NULL, objects[i].path, objects[i].interface,
                                      objects[i].table, NULL),
             objects[i].interface);
    must(sd_bus_attach_event(it.bus, it.event, 0), "its events");
    return 0;
}

static void starts_again(uint32_t job)
{
    it.restarts++;
    goes_down();
    job_ends(&job, own_name(), "done");
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    uint32_t job = ++it.jobs;

    (void)source;
    (void)context;
    if (info->ssi_signo == SIGUSR1)
        stop_now();
    else if (info->ssi_signo == SIGHUP)
        it.bus = sd_bus_close_unref(it.bus);
    else if (info->ssi_signo == SIGALRM)
        starts_again(job);
    else
        job_ends(&job, own_name(), "done");
    return 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    sigset_t set;
    int fd;

    must(argc < 2 ? -EINVAL : 0, "no socket is named");
    take_settings(argc - 2, argv + 2);
    setvbuf(stdout, NULL, _IOLBF, 0);
    it.active = setting("active");
    it.start_job = strcmp(setting("queued"), "1") == 0 ? ++it.jobs : 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    must(sd_event_default(&it.event), "events");
    must(sd_event_add_signal(it.event, NULL, SIGUSR1, on_signal, NULL), "SIGUSR1");
    must(sd_event_add_signal(it.event, NULL, SIGUSR2, on_signal, NULL), "SIGUSR2");
    must(sd_event_add_signal(it.event, NULL, SIGHUP, on_signal, NULL), "SIGHUP");
    must(sd_event_add_signal(it.event, NULL, SIGALRM, on_signal, NULL), "SIGALRM");
    if (strcmp(it.active, "deactivating") == 0) {
        it.stop_job = ++it.jobs;
        end_in(setting("run_ms"));
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", argv[1]);
    unlink(address.sun_path);
    must(fd < 0 ? -errno : 0, "a socket");
    must(bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0, "its name");
    must(listen(fd, 4) < 0 ? -errno : 0, "its listening");
    must(sd_event_add_io(it.event, NULL, fd, EPOLLIN, on_client, NULL), "clients");
    printf("ready\n");
    return sd_event_loop(it.event) < 0;
}
