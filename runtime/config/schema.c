/* SPDX-License-Identifier: MIT */
#include "config/schema.h"
#include "base/text.h"
#include "base/units.h"
#include "base/user.h"
#include "config/config.h"
#include <string.h>
#include <syslog.h>

#define DEST(type, member)                                                                         \
    .offset = offsetof(struct type, member), .size = sizeof(((struct type *)NULL)->member)
#ifdef ROTA_MANUAL
#define MANUAL(words) (words)
#else
#define MANUAL(words)                                                                              \
    {                                                                                              \
    }
#endif
#define REDIS_PREFIX "redis."
#define TOP(key) .path = (key)
#define REDIS(key) .prefix = sizeof(REDIS_PREFIX) - 1, .path = REDIS_PREFIX key
#define JOB(key) .path = (key)
#define LIMITS_PREFIX "limits."
#define LIMIT(key) .prefix = sizeof(LIMITS_PREFIX) - 1, .path = LIMITS_PREFIX key
#define MEBIBYTE (INT64_C(1) << 20)
#define TEBIBYTE (INT64_C(1) << 40)
/* What the rarest schedule needs: a February 29 on one weekday comes each 28 years, or after 40;
 * and a day for its zone. */
#define RETENTION_MAX_MS ((10227 + 14609 + 1) * DAY_MS)

static const struct schema_key top_keys[] = {
    { TOP("prefix"), SCHEMA_TEXT, SCHEMA_NEEDS_JOB, .min = 1, .max = 32, .only = "._:-",
      .example = "acme:",
      .help = MANUAL(
          "Names the fleet: devices with the same Redis and prefix share turns. Not needed with "
          "store = \"local\"."),
      DEST(config, prefix) },
    { TOP("device"), SCHEMA_TEXT, SCHEMA_TEMPLATE, .min = 1, .max = 64, .def = "%H-%m",
      .otherwise = MANUAL("the host name and 4 digits from the machine-id"), .example = "gate-0007",
      .help =
          MANUAL("This device's name, for people to read. %H is the host name, %m 4 digits that "
                 "follow from the "
                 "machine-id, %b 8 digits of the boot id, %% a percent sign."),
      DEST(config, device) },
    { TOP("device_file"), SCHEMA_TEXT, SCHEMA_ABSOLUTE, .min = 2, .max = 4095,
      .example = "/etc/rota/device",
      .help = MANUAL(
          "Read the name from this file's first line instead, as it is: a % means nothing there."),
      DEST(config, device_file) },
    { TOP("store"), SCHEMA_CHOICE, .choices = "redis|local", .min = CONFIG_STORE_REDIS,
      .def = "redis",
      .help = MANUAL(
          "Where turns are shared: redis; or local, for this device alone, without Redis: what "
          "is known of a job's turns lives as long as rotad."),
      DEST(config, store) },
    { TOP("requires"), SCHEMA_TEXT, SCHEMA_LIVE, .min = 1, .max = 9, .example = "0.1",
      .help = MANUAL(
          "This file needs at least that rota, such as 0.1; an older one says so, and nothing "
          "else."),
      DEST(config, requires) },
    { TOP("plugin_dir"), SCHEMA_LIST, SCHEMA_ABSOLUTE, .min = 1, .max = 16,
      .otherwise = MANUAL("the folder of the installed plugins"), .example = "/usr/lib/rota",
      .help = MANUAL("Where plugins are looked for, in this order."), DEST(config, plugin_dirs) },
    { TOP("max_running"), SCHEMA_INTEGER, SCHEMA_LIVE, .min = 1, .max = 64, .def = "4",
      .help = MANUAL("Runs at once on this device; a full device lets others take the turn."),
      DEST(config, max_running) },
    { TOP("checkin"), SCHEMA_DURATION, SCHEMA_AUTO, .min = 10 * MINUTE_MS, .max = 30 * DAY_MS,
      .def = "auto", .example = "1d",
      .help = MANUAL(
          "How often the device says hello to the fleet, which learns its size from that and "
          "tells what others have done; auto: every 10 minutes to 6 hours, by the fleet's "
          "size. 1d suits a metered link."),
      DEST(config, fleet.checkin_ms) },
    { TOP("turns"), SCHEMA_CHOICE, .choices = "auto|all", .min = 0, .def = "auto",
      .help =
          MANUAL("Who asks for a turn: auto: a few devices each time, drawn by lot, however many "
                 "there are; all: every device."),
      DEST(config, fleet.turns_all) },
    { TOP("log_level"), SCHEMA_CHOICE, SCHEMA_LIVE, .choices = "err|warning|notice|info|debug",
      .min = LOG_ERR, .def = "info",
      .help = MANUAL("Least level that is logged, of jobs' lines too; turns of other devices and "
                     "starts of runs are debug."),
      DEST(config, log_level) },
    { TOP("metrics_file"), SCHEMA_TEXT, SCHEMA_ABSOLUTE | SCHEMA_LIVE, .min = 2, .max = 4000,
      .otherwise = MANUAL("none: it is off"), .example = "/run/rota/rota.prom",
      .help =
          MANUAL("Write what rotactl metrics prints here, after a change, at most once a minute. "
                 "The folder has to be there, on a tmpfs, and rotad's user has to be allowed to "
                 "write in it. When rotad ends, the file is deleted: rotactl(1), METRICS."),
      DEST(config, metrics_file) },
    { TOP("stop_timeout"), SCHEMA_DURATION, SCHEMA_LIVE, .min = 0, .max = HOUR_MS, .def = "45s",
      .help = MANUAL("Longest wait for running jobs when rotad stops."),
      DEST(config, stop_timeout_ms) },
    { TOP("job_user"), SCHEMA_TEXT, .min = 1, .max = 64,
      .otherwise =
          MANUAL("rota-job; where rotad is not root, or that user is not there, rotad's own"),
      .example = "rota-job", .help = MANUAL("The user that jobs run as."), DEST(config, job_user) },
    { TOP("redis"), SCHEMA_GROUP, .example = "{ address = \"127.0.0.1:6379\"; }",
      .help = MANUAL(
          "The Redis server that the fleet shares; required where there is a job, but with store "
          "= \"local\".") },
    { TOP("jobs"), SCHEMA_GROUP, .example = "{ NAME = { plugin = \"exec\"; }; }",
      .help = MANUAL("The jobs, each by its name.") },
};

static const struct schema_key redis_keys[] = {
    { REDIS("address"), SCHEMA_ADDRESSES, SCHEMA_NEEDS_JOB | SCHEMA_EACH, .min = 1, .max = 16,
      .example = "127.0.0.1:6379",
      .help = MANUAL(
          "The server as \"host:port\", \"[v6]:port\" or \"unix:/path\", or a list of servers "
          "tried in turn. Host is an address or a name, which is resolved for each connection; "
          "each of its addresses is tried."),
      DEST(redis_config, addresses) },
    { REDIS("database"), SCHEMA_INTEGER, SCHEMA_EACH, .min = 0, .max = 1023, .def = "0",
      .help = MANUAL("Database number (SELECT)."), DEST(redis_config, database) },
    { REDIS("username"), SCHEMA_TEXT, SCHEMA_EACH, .min = 1, .max = 128, .example = "rota",
      .help = MANUAL("ACL user; goes with password_file."), DEST(redis_config, username) },
    { REDIS("password_file"), SCHEMA_TEXT, SCHEMA_ABSOLUTE | SCHEMA_SECRET | SCHEMA_EACH, .min = 2,
      .max = 4095, .example = "/etc/rota/redis.password",
      .help = MANUAL(
          "File with the password on its first line, which only its owner may read (mode 0600); or "
          "a credential that the unit loads (LoadCredential=). It is read again by a reload, and "
          "when Redis refuses the password."),
      DEST(redis_config, password_file) },
    { REDIS("tls"), SCHEMA_BOOLEAN, SCHEMA_EACH, .min = 0, .max = 1, .def = "false",
      .otherwise = MANUAL("true; false where all addresses are unix or loopback, without sentinels "
                          "and cluster, which name others"),
      .help =
          MANUAL("Encrypt the connection, by TLS 1.2 or 1.3. The server's name is always verified. "
                 "false: all, the password too, goes in the clear. A unix socket has none."),
      DEST(redis_config, tls) },
    { REDIS("tls_ca"), SCHEMA_TEXT, SCHEMA_ABSOLUTE | SCHEMA_SECRET | SCHEMA_EACH, .min = 2,
      .max = 4095, .otherwise = MANUAL("the system's bundle"), .example = "/etc/rota/redis-ca.pem",
      .help = MANUAL("File with the certificates (PEM) of the CAs that the server's may be from."),
      DEST(redis_config, tls_ca) },
    { REDIS("tls_cert"), SCHEMA_TEXT, SCHEMA_ABSOLUTE | SCHEMA_SECRET | SCHEMA_EACH, .min = 2,
      .max = 4095, .example = "/etc/rota/client.pem",
      .help = MANUAL("File with this device's own certificate (PEM), and those between it and its "
                     "CA, where the "
                     "server demands one; goes with tls_key. A file that was replaced is read "
                     "again at the next "
                     "connection, as are those of tls_ca and tls_key."),
      DEST(redis_config, tls_cert) },
    { REDIS("tls_key"), SCHEMA_TEXT, SCHEMA_ABSOLUTE | SCHEMA_SECRET | SCHEMA_EACH, .min = 2,
      .max = 4095, .example = "/etc/rota/client.key",
      .help =
          MANUAL("File with the key of tls_cert (PEM, without a passphrase), which only its owner "
                 "may read (mode 0600)."),
      DEST(redis_config, tls_key) },
    { REDIS("tls_name"), SCHEMA_TEXT, SCHEMA_EACH, .min = 1, .max = 253, .only = "._:-",
      .otherwise = MANUAL("the host of the address"), .example = "redis.example",
      .help =
          MANUAL("Name that the server's certificate must be for, and that is sent to it (SNI)."),
      DEST(redis_config, tls_name) },
    { REDIS("connect_timeout"), SCHEMA_DURATION, .min = 100, .max = 2 * MINUTE_MS, .def = "10s",
      .help = MANUAL("For name, connection, TLS and login together."),
      DEST(redis_config, connect_timeout_ms) },
    { REDIS("command_timeout"), SCHEMA_DURATION, .min = 50, .max = MINUTE_MS, .def = "3s",
      .help = MANUAL("For one reply; then the connection is closed."),
      DEST(redis_config, command_timeout_ms) },
    { REDIS("idle_timeout"), SCHEMA_DURATION, .min = 0, .max = 7 * DAY_MS, .def = "15m",
      .help = MANUAL(
          "The connection is closed when the next need of it is further off than this; never "
          "while a lease is held."),
      DEST(redis_config, idle_timeout_ms) },
    { REDIS("keepalive"), SCHEMA_DURATION, .min = 0, .max = 2 * HOUR_MS, .def = "2m",
      .help = MANUAL(
          "Silence before TCP asks whether the server is there, 10s to 2h; 0s: never. Keep below "
          "the carrier's NAT time-out."),
      DEST(redis_config, keepalive_ms) },
    { REDIS("backoff_min"), SCHEMA_DURATION, .min = 50, .max = MINUTE_MS, .def = "500ms",
      .help = MANUAL("Least reconnect window (full jitter)."), DEST(redis_config, backoff_min_ms) },
    { REDIS("backoff_max"), SCHEMA_DURATION, .min = SECOND_MS, .max = HOUR_MS, .def = "1m",
      .help = MANUAL("Greatest reconnect window."), DEST(redis_config, backoff_max_ms) },
    { REDIS("sentinels"), SCHEMA_ADDRESSES, SCHEMA_HOSTS, .min = 1, .max = 16,
      .example = "sentinel-1.example:26379",
      .help = MANUAL(
          "Sentinels of Redis, as \"host:port\" or \"[v6]:port\", one or a list: they are asked "
          "where the master is, before each connection and when they tell of another one; goes "
          "with "
          "master, and address is not used. They have TLS where tls is true, by the same keys. "
          "While a network is cut in two, two servers can both be master for some seconds, and a "
          "turn may run twice: rotad(8), SENTINEL, says what shortens that."),
      DEST(redis_config, sentinels) },
    { REDIS("master"), SCHEMA_TEXT, .min = 1, .max = 128, .only = "._-",
      .otherwise = MANUAL("none; required with sentinels"), .example = "mymaster",
      .help = MANUAL("The name by which the sentinels know the master."),
      DEST(redis_config, master) },
    { REDIS("sentinel_username"), SCHEMA_TEXT, .min = 1, .max = 128, .example = "rota",
      .help = MANUAL("ACL user at the sentinels; goes with sentinel_password_file. username is for "
                     "the master alone."),
      DEST(redis_config, sentinel_username) },
    { REDIS("sentinel_password_file"), SCHEMA_TEXT, SCHEMA_ABSOLUTE | SCHEMA_SECRET, .min = 2,
      .max = 4095, .example = "/etc/rota/sentinel.password",
      .help = MANUAL("As password_file, for the login at the sentinels."),
      DEST(redis_config, sentinel_password_file) },
    { REDIS("cluster"), SCHEMA_BOOLEAN, .min = 0, .max = 1, .def = "false",
      .help = MANUAL(
          "true: address names nodes of a Redis Cluster, of which a few are enough: the others are "
          "learned of them. One connection is kept to each node that has keys of a job here. A "
          "failover can lose the newest writes, the lock too, so that a turn may run twice: "
          "rotad(8), CLUSTER."),
      DEST(redis_config, cluster) },
    { REDIS("quorum"), SCHEMA_SERVERS, .min = 3, .max = 7,
      .help = MANUAL(
          "Instead of address: 3, 5 or 7 servers, each a group with an address of its own, and "
          "with "
          "its own database, username, password_file and keys of TLS where they differ from those "
          "of redis itself. A lock is held where a majority of them has granted it (Redlock), so "
          "that a minority may be down. They must be independent masters: none a replica of "
          "another, and no two addresses of one server. It is more available, and no safer: still "
          "an "
          "efficiency lock, without a fence, and not for scope = \"device\". A server that comes "
          "back without its newest writes can give a lock away a second time: let it save each "
          "write, or start it again only when the longest lease is over; one that comes back empty "
          "waits one lease by itself. A clock that jumps on a majority "
          "loses the lock: rotad(8), QUORUM."),
      .size = sizeof(struct redis_config) },
};

static const struct schema_key job_keys[] = {
    { JOB("plugin"), SCHEMA_TEXT, SCHEMA_REQUIRED, .min = 1, .max = 4095, .example = "exec",
      .help = MANUAL(
          "What does the work: a name that is looked for in plugin_dir, or the absolute path "
          "of the file."),
      DEST(job_config, plugin) },
    { JOB("params"), SCHEMA_PARAMS, .otherwise = MANUAL("{}"),
      .example = "{ command = [ \"/usr/bin/true\" ]; }",
      .help = MANUAL("The plugin's own settings: rota-guard --describe PLUGIN."),
      .size = sizeof(struct job_config) },
    { JOB("enabled"), SCHEMA_BOOLEAN, .min = 0, .max = 1, .def = "true",
      .help = MANUAL("false: checked, shown, never run."), DEST(job_config, enabled) },
    { JOB("devices"), SCHEMA_LIST, .min = 1, .max = 64, .def = "*", .example = "gate-*",
      .help = MANUAL("Only devices whose name matches one of these take turns; * stands for any "
                     "characters, ? for one."),
      DEST(job_config, devices) },
    { JOB("version"), SCHEMA_INTEGER, .min = 0, .max = INT32_MAX, .def = "0",
      .help =
          MANUAL("Of this job's configuration, for a roll-out: once a higher one has succeeded, "
                 "devices with a lower one stand aside. To roll back, give the old configuration a "
                 "number that is higher still. 0: off."),
      DEST(job_config, spec.version) },
    { JOB("description"), SCHEMA_TEXT, SCHEMA_LIVE, .min = 1, .max = 200,
      .example = "Sends the nightly report.",
      .help = MANUAL("What the job is for, in a few words: rotactl show has it."),
      DEST(job_config, about) },
    { JOB("was"), SCHEMA_TEXT, .min = 1, .max = JOB_NAME_MAX, .example = "old_name",
      .help =
          MANUAL("The job's former name: all its keys in Redis are named by it for as long as this "
                 "stands, so that a new name loses neither turns nor the lock."),
      DEST(job_config, was) },
    { JOB("every"), SCHEMA_DURATION, SCHEMA_ZERO_IS_NONE, .min = SECOND_MS, .max = 366 * DAY_MS,
      .otherwise = MANUAL("none; every or cron is required"), .example = "5m",
      .help = MANUAL("How often: a grid from the epoch in UTC, the same on all devices."),
      DEST(job_config, spec.schedule.every_ms) },
    { JOB("cron"), SCHEMA_TEXT, SCHEMA_TABS, .min = 1, .max = 255,
      .otherwise = MANUAL("none; every or cron is required"), .example = "30 2 * * 1-5",
      .help = MANUAL(
          "When, as in crontab(5): minute, hour, day of month, month, day of week, or @hourly, "
          "@daily (@midnight), @weekly, @monthly, @yearly (@annually). Where both days are "
          "restricted, either will do. "
          "What falls into an hour that a change of the clock leaves out is due at its end; in "
          "an hour that comes twice a job with * or a step in the hour field is due twice, any "
          "other once."),
      DEST(job_config, cron) },
    { JOB("offset"), SCHEMA_DURATION, SCHEMA_ZERO_IS_NONE, .min = 0, .max = 366 * DAY_MS,
      .def = "0s", .help = MANUAL("Shifts the grid of every; at most every."),
      DEST(job_config, spec.schedule.offset_ms) },
    { JOB("timezone"), SCHEMA_TEXT, .min = 1, .max = 64, .only = "_+-/", .otherwise = MANUAL("UTC"),
      .example = "Europe/Berlin",
      .help =
          MANUAL("Zone of cron, by its name in /usr/share/zoneinfo (package tzdata). UTC needs no "
                 "such file."),
      DEST(job_config, timezone) },
    { JOB("catch_up"), SCHEMA_DURATION, .min = 0, .max = 366 * DAY_MS,
      .otherwise = MANUAL("the period, at most 1d"), .example = "1h",
      .help = MANUAL("How late a turn may still be taken; at most the period."),
      DEST(job_config, spec.catch_up_ms) },
    { JOB("first"), SCHEMA_CHOICE, .choices = "wait|now", .min = 0, .def = "wait",
      .help =
          MANUAL("A job or schedule never seen before: wait for its next turn, or take the latest, "
                 "where catch_up allows that."),
      DEST(job_config, spec.first_now) },
    { JOB("splay"), SCHEMA_DURATION, .min = 0, .max = 92 * DAY_MS,
      .otherwise = MANUAL("1s, with scope = \"device\" 1m, never over a quarter of the period"),
      .example = "1s",
      .help = MANUAL("Random delay of each device; at most a quarter of the period."),
      DEST(job_config, spec.splay_ms) },
    { JOB("scope"), SCHEMA_CHOICE, .choices = "fleet|device", .min = SCOPE_FLEET, .def = "fleet",
      .help = MANUAL(
          "fleet: one run a turn in the fleet; device: one on each device, at most concurrency "
          "of them at once. The same on all devices: rotad(8), TWO CONFIGURATIONS."),
      DEST(job_config, spec.scope) },
    { JOB("concurrency"), SCHEMA_INTEGER, .min = 1, .max = 100000, .def = "1",
      .help = MANUAL("With scope = \"device\": runs at once in the whole fleet."),
      DEST(job_config, spec.concurrency) },
    { JOB("stop_after_failures"), SCHEMA_INTEGER, .min = 0, .max = 1000,
      .otherwise = MANUAL("3 with scope = \"device\", else 0"), .example = "3",
      .help = MANUAL(
          "With scope = \"device\": after so many failures in a row, on whatever devices, the "
          "job is paused in the whole fleet, until somebody resumes it: rotad(8), PAUSE. 0: off."),
      DEST(job_config, spec.stop_after_failures) },
    { JOB("lock"), SCHEMA_CHOICE, .choices = "redis|none", .min = LOCK_STORE, .def = "redis",
      .help = MANUAL(
          "none: no lock and no claim: every device runs each turn, and only the time is asked "
          "of Redis. For work that is shared out elsewhere, such as by row locks of a "
          "database. The same on all devices."),
      DEST(job_config, spec.lock) },
    { JOB("lock_key"), SCHEMA_TEXT, .min = 1, .max = 200, .example = "{orders}:lock",
      .help = MANUAL(
          "Use exactly this key of Redis as the lock, which other jobs and other programs may "
          "use too: one of them runs at a time. The same on all devices. Braces only as a hash "
          "tag of Redis Cluster, as in {orders}:lock. Who finds it held asks again when the "
          "holder's lease would end, also where the holder is done sooner: up to one lease "
          "later. Another program takes it by SET KEY VALUE NX PX MILLISECONDS, with a VALUE of "
          "its own, and deletes it only while it has that value."),
      DEST(job_config, spec.lock_key) },
    { JOB("worst_case"), SCHEMA_DURATION, SCHEMA_REQUIRED, .min = 100, .max = 31 * DAY_MS,
      .example = "10m", .help = MANUAL("Longest a healthy run takes, from the worker's start."),
      DEST(job_config, spec.timing.worst_case_ms) },
    { JOB("stop_grace"), SCHEMA_DURATION, .min = 0, .max = 10 * MINUTE_MS, .def = "5s",
      .help = MANUAL("Between asking (SIGTERM) and killing (SIGKILL)."),
      DEST(job_config, spec.timing.stop_grace_ms) },
    { JOB("lease"), SCHEMA_DURATION, .min = SECOND_MS, .max = DAY_MS, .def = "1m",
      .help = MANUAL(
          "Time to live of the lock; a crash is noticed in this time. A run whose worst case, "
          "grace "
          "and margins fit into it has a lease that is just so long, which is never renewed."),
      DEST(job_config, spec.timing.lease_cap_ms) },
    { JOB("overrun"), SCHEMA_CHOICE, .choices = "stop|extend", .min = 0, .def = "stop",
      .help = MANUAL(
          "At worst_case: stop the run; or extend it: each report of progress gives it another "
          "worst_case, up to max_runtime. A program that exec starts reports none."),
      DEST(job_config, extend) },
    { JOB("max_runtime"), SCHEMA_DURATION, SCHEMA_ZERO_IS_NONE, .min = 100, .max = 31 * DAY_MS,
      .otherwise = MANUAL("4 times worst_case, at most 31d"), .example = "1h",
      .help = MANUAL(
          "With overrun = \"extend\": the longest that a run may take, whatever it reports; at "
          "least worst_case."),
      DEST(job_config, spec.timing.max_runtime_ms) },
    { JOB("if_unreachable"), SCHEMA_CHOICE, .choices = "skip|run", .min = 0, .def = "skip",
      .help = MANUAL(
          "With scope = \"device\", where Redis does not answer: skip the turn; or run it "
          "without a seat, by the device's own clock where that is plausible. Then more than "
          "concurrency may run at once, and a turn whose end Redis was not told before rotad ended "
          "may run again."),
      DEST(job_config, spec.run_unreachable) },
    { JOB("require_fence"), SCHEMA_BOOLEAN, .min = 0, .max = 1, .def = "false",
      .help = MANUAL(
          "true: never run without a fence that grows with every lease of the job. With scope = "
          "\"device\", lock = \"none\", store = \"local\", redis.quorum, or a lock_key that "
          "another job "
          "has too, there is none: that is a mistake."),
      DEST(job_config, spec.require_fence) },
    { JOB("attempts"), SCHEMA_INTEGER, .min = 1, .max = 100, .def = "3",
      .help = MANUAL("Tries of one turn, in the whole fleet; with scope = \"device\" or lock = "
                     "\"none\" on this device. With 1, what was started is never started again, "
                     "also where rotad stops or is drained. After a turn that was given up, each "
                     "later one gets one try, until one succeeds; with scope = \"device\" it gets "
                     "all."),
      DEST(job_config, spec.attempts) },
    { JOB("retry_delay"), SCHEMA_DURATION, .min = 0, .max = DAY_MS, .def = "1m",
      .help = MANUAL("After failed, crashed, overrun or lost, before the next try of that turn."),
      DEST(job_config, spec.retry_delay_ms) },
    { JOB("history"), SCHEMA_INTEGER, .min = 0, .max = 10000, .def = "100",
      .help = MANUAL("Finished runs kept in Redis; 0: none."), DEST(job_config, spec.history) },
    { JOB("retention"), SCHEMA_DURATION, .min = DAY_MS, .max = RETENTION_MAX_MS,
      .otherwise = MANUAL("30d, or more where turns are rare"), .example = "30d",
      .help = MANUAL(
          "How long what is known of the job outlives its last turn; at least the longest time "
          "from one turn to the next, and one period more."),
      DEST(job_config, spec.retention_ms) },
    { JOB("user"), SCHEMA_TEXT, SCHEMA_SETUP, .min = 1, .max = USER_NAME_SIZE - 1,
      .otherwise = MANUAL("job_user"), .example = "backup",
      .help = MANUAL(
          "The user that the job runs as, by the name in /etc/passwd, with the groups of "
          "/etc/group "
          "that name this user as a member. Another than rotad's own takes a rotad that is root, "
          "or has CAP_SETUID, CAP_SETGID and CAP_KILL."),
      DEST(job_setup, user) },
    { JOB("group"), SCHEMA_TEXT, SCHEMA_SETUP, .min = 1, .max = USER_NAME_SIZE - 1,
      .otherwise = MANUAL("the user's own"), .example = "backup",
      .help = MANUAL("The primary group, by the name in /etc/group."), DEST(job_setup, group) },
    { JOB("working_dir"), SCHEMA_TEXT, SCHEMA_ABSOLUTE | SCHEMA_SETUP, .min = 1, .max = 4095,
      .otherwise = MANUAL("/"), .example = "/var/lib/shop",
      .help = MANUAL(
          "The folder that the job starts in, as its user. It has to be there when a run begins."),
      DEST(job_setup, working_dir) },
    { JOB("environment"), SCHEMA_LIST, SCHEMA_VARIABLES | SCHEMA_SETUP, .min = 0, .max = 64,
      .otherwise = MANUAL("[]"), .example = "TZ=Europe/Berlin",
      .help = MANUAL("Added to PATH, HOME, USER, LOGNAME, SHELL, LANG and rota's own ROTA_*, or "
                     "instead of one of "
                     "them, but for ROTA_*. Whoever may read this file may read it: no place for "
                     "secrets. Nothing else of rotad's environment reaches a job."),
      DEST(job_setup, environment) },
    { JOB("limits"), SCHEMA_GROUP, .example = "{ memory = \"64MiB\"; }",
      .help = MANUAL("What the job's processes may use: the keys of limits, below.") },
    { JOB("network"), SCHEMA_BOOLEAN, SCHEMA_SETUP, .min = 0, .max = 1, .def = "true",
      .help = MANUAL("false: the job has no network but a loopback of its own. Where the kernel "
                     "does not allow that, the job does not run."),
      DEST(job_setup, network) },
    { JOB("output_lines"), SCHEMA_INTEGER, .min = 0, .max = 1000, .def = "20",
      .help = MANUAL("Last lines of a run that are told even after a flood, and kept for the "
                     "failure's reason; 0: none."),
      DEST(job_config, output_lines) },
};

static const struct schema_key limits_keys[] = {
    { LIMIT("memory"), SCHEMA_SIZE, SCHEMA_ZERO_IS_NONE, .min = MEBIBYTE, .max = TEBIBYTE,
      .otherwise = MANUAL("none"), .example = "64MiB",
      .help = MANUAL("Memory of all the job's processes together, where rotad has a control group "
                     "to share out (systemd's Delegate=) with the memory controller: a run that "
                     "takes more is killed. Else address space of each process, which gets no "
                     "more; a plugin takes about 4 MiB before it begins."),
      DEST(limits, memory_bytes) },
    { LIMIT("cpu_time"), SCHEMA_DURATION, SCHEMA_ZERO_IS_NONE, .min = SECOND_MS, .max = 31 * DAY_MS,
      .otherwise = MANUAL("none"), .example = "10m",
      .help =
          MANUAL("Time on a processor, of each process, in whole seconds, rounded up. One that has "
                 "used it up is sent SIGXCPU, and is killed a second later."),
      DEST(limits, cpu_time_ms) },
    { LIMIT("open_files"), SCHEMA_INTEGER, .min = 8, .max = 1048576, .def = "1024",
      .help = MANUAL("Open files of each process."), DEST(limits, open_files) },
    { LIMIT("processes"), SCHEMA_INTEGER, SCHEMA_ZERO_IS_NONE, .min = 1, .max = 32768,
      .otherwise = MANUAL("64; none without the pids controller where the job names a user, or "
                          "runs as rotad's own"),
      .example = "64",
      .help = MANUAL(
          "Processes and threads of the job, where rotad has a control group to share out with the "
          "pids controller; else of the job's user in the whole system, which does not bind root."),
      DEST(limits, processes) },
    { LIMIT("file_size"), SCHEMA_SIZE, .min = 0, .max = TEBIBYTE, .otherwise = MANUAL("none"),
      .example = "100MiB",
      .help =
          MANUAL("Greatest file that may be written. A process that writes more is sent SIGXFSZ."),
      DEST(limits, file_size_bytes) },
    { LIMIT("core"), SCHEMA_SIZE, .min = 0, .max = TEBIBYTE, .def = "0B",
      .help = MANUAL("Greatest core dump of a process that crashes."), DEST(limits, core_bytes) },
};

#define GROUP(array, text)                                                                         \
    {                                                                                              \
        .prefix = (text), .keys = (array), .count = sizeof(array) / sizeof((array)[0])             \
    }

static const struct schema_group groups[SCHEMA_GROUP_COUNT] = {
    [SCHEMA_TOP] = GROUP(top_keys, ""),
    [SCHEMA_REDIS] = GROUP(redis_keys, REDIS_PREFIX),
    [SCHEMA_JOB] = GROUP(job_keys, ""),
    [SCHEMA_LIMITS] = GROUP(limits_keys, LIMITS_PREFIX),
};

_Static_assert(sizeof(top_keys) / sizeof(top_keys[0]) <= SCHEMA_KEYS_MAX, "SCHEMA_KEYS_MAX");
_Static_assert(sizeof(redis_keys) / sizeof(redis_keys[0]) <= SCHEMA_KEYS_MAX, "SCHEMA_KEYS_MAX");
_Static_assert(sizeof(job_keys) / sizeof(job_keys[0]) <= SCHEMA_KEYS_MAX, "SCHEMA_KEYS_MAX");

const struct schema_group *schema_group(enum schema_group_id id)
{
    return &groups[id];
}

const struct schema_key *schema_find(const struct schema_group *g, const char *name)
{
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(schema_name(&g->keys[i]), name) == 0)
            return &g->keys[i];
    return NULL;
}

const struct schema_key *schema_nearest(const struct schema_group *g, const char *name)
{
    const char *names[SCHEMA_KEYS_MAX];
    const char *nearest;

    for (size_t i = 0; i < g->count; i++)
        names[i] = schema_name(&g->keys[i]);
    nearest = text_nearest(name, names, g->count);
    return nearest ? schema_find(g, nearest) : NULL;
}

const char *schema_choice(const char *choices, int index, int *ret_length)
{
    for (; index > 0; index--) {
        choices = strchr(choices, '|');
        if (!choices)
            return NULL;
        choices++;
    }
    *ret_length = (int)strcspn(choices, "|");
    return choices;
}

int schema_choice_index(const char *choices, const char *text)
{
    const char *choice;
    int length;

    for (int i = 0; (choice = schema_choice(choices, i, &length)); i++)
        if (strlen(text) == (size_t)length && strncmp(choice, text, (size_t)length) == 0)
            return i;
    return -1;
}
