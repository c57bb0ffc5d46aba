/* SPDX-License-Identifier: MIT
 * rotad: the composition root. */
#include "supervisor/instance.h"
#include "supervisor/journal.h"
#include "supervisor/manager.h"
#include "supervisor/module.h"
#include "supervisor/options.h"
#include "supervisor/resolver.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <syslog.h>
#include <unistd.h>

static int run_loop(const struct options *o, struct config *config)
{
    struct manager manager;
    sd_event *event = NULL;
    int rc = sd_event_new(&event);

    if (rc < 0) {
        config_free(config);
        return rc;
    }
    rc = manager_init(&manager, event, config, o);
    if (rc >= 0)
        rc = manager_begin(&manager);
    if (rc >= 0)
        rc = sd_event_loop(event);
    manager_done(&manager);
    sd_event_unref(event);
    return rc;
}

static int start(const struct options *o)
{
    struct config_source source = { .file = o->config_file, .plugin_dir_default = ROTA_PLUGINDIR };
    struct config *config;
    int rc = config_load(&source, &config);

    if (rc < 0) {
        journal_log(LOG_ERR | MESSAGE_CANNOT_START, NULL, "the configuration could not be read: %s",
                    strerror(-rc));
        return EX_OSERR;
    }
    journal_set_level(config->log_level);
    if (config->fatal) {
        manager_say_problems(config);
        journal_log(LOG_ERR | MESSAGE_CANNOT_START, NULL,
                    "rotad cannot start for the mistakes above; rotad --check shows them again");
        config_free(config);
        return EX_CONFIG;
    }
    rc = run_loop(o, config);
    if (rc < 0)
        journal_log(LOG_ERR, NULL, "rotad ends: %s", strerror(-rc));
    return rc < 0 ? EX_OSERR : 0;
}

/* A program that was started without one of the first three descriptors would give its number to a
 * socket, and hand that to every guard as its stderr. */
static void fill_standard_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static int run(const struct options *o)
{
    int lock, rc, status;

    (void)signal(SIGPIPE,
                 SIG_IGN); /* before the first line: stderr may be a pipe that nobody reads */
    (void)manager_block_signals();
    journal_init(LOG_INFO);
    rc = instance_lock(o->runtime_dir, &lock);
    if (rc == -EBUSY) {
        journal_log(LOG_ERR | MESSAGE_CANNOT_START, NULL,
                    "another rotad uses %s; give this one a --runtime-dir of its own",
                    o->runtime_dir);
        return EX_TEMPFAIL;
    }
    if (rc < 0) {
        journal_log(LOG_ERR | MESSAGE_CANNOT_START, NULL,
                    "the runtime folder %s cannot be used: %s", o->runtime_dir, strerror(-rc));
        return EX_OSERR;
    }
    status = start(o);
    journal_tell_held(true);
    close(lock);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;

    fill_standard_descriptors();
    /* rotad's own child, not for people. */
    if (argc == 4 && strcmp(argv[1], "--resolve") == 0)
        return resolver_main(argv[2], argv[3]);
    if (!options_plain(argc, argv, &options))
        return module_check(argc, argv);
    if (options.mode == MODE_RUN)
        return run(&options);
    puts("rotad " ROTA_VERSION);
    return 0;
}
