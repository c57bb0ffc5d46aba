# SPDX-License-Identifier: MIT
"""conf/jobs.d: each example passes rotad --check and does what its first lines say, with real devices. What this
machine has elsewhere, and when a turn falls due, is put in by HERE; all else is as it is shipped."""
import getpass
import json
import os
import pwd
import re
import subprocess

import pytest

from fleet import ONCE_MS, PLUGINS, ROOT, now_ms, wait_for
from fleet_time import begin_at, instant
from rotactl import rotactl
from test_s40_seats import most_at_once

EXAMPLES = ROOT / "conf" / "jobs.d"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*"))
ME = getpass.getuser()
needs_postgresql = pytest.mark.skipif(not (PLUGINS / "pg_queue.so").exists(), reason="built without PostgreSQL")

# One turn that is due, and no next one in the life of a test; fleet.make_due() and make_due_here() say the rest.
DUE = 'every = "366d"; catch_up = "366d"; splay = "0s"'
# A seat that became free is found within that time.
QUICK = 'lease = "3s"; stop_grace = "300ms"'
CONNECTION = '"host=db.example dbname=shop user={user} sslmode=verify-full sslrootcert=/etc/rota/db-ca.pem"'
# {example: {its text, blanks counted once: what stands there here}}. Words in braces are the test's to fill in.
HERE = {
    "backup": {
        'cron = "0 22 * * *"; timezone = "Europe/Berlin"': f"{DUE}; {QUICK}",
        '"/usr/local/bin/backup", "/srv", "store.example:/backups"': '"/bin/sh", "{program}"'},
    "cron_line": {'"shop"': f'"{ME}"', '"/srv/shop"': '"{folder}"'},
    "nightly_report": {
        'cron = "30 2 * * *"; timezone = "Europe/Berlin"': DUE, '"shop"': f'"{ME}"',
        CONNECTION.format(user="report"): '"{connection}"', "/etc/rota/report.password": "{password}"},
    "queue_drain": {
        'every = "1m"': 'every = "2s"', '"shop"': f'"{ME}"',
        CONNECTION.format(user="bonus"): '"{connection}"', "/etc/rota/bonus.password": "{password}"},
    "reboot": {
        'cron = "0 3 * * 0"; timezone = "Europe/Berlin"': "{due}", 'catch_up = "6h";': "", '"root"': f'"{ME}"',
        "sleep 300": "{wait}", "exec shutdown -r +1": "exec /bin/sh {program}"},
    "sync_prices": {"/usr/lib/shop/sync-prices": "{program}"},
    "tidy_uploads": {"/srv/uploads": "{folder}"},
}


def without_comments(text):
    """One line, so that what is put in does not depend on how the example is laid out."""
    lines = [re.sub(r"\s# .*|^#.*", "", line) for line in text.splitlines()]
    return " ".join(" ".join(lines).split())


def example(name, **words):
    text = without_comments((EXAMPLES / f"{name}.conf").read_text())
    for old, new in HERE[name].items():
        assert text.count(old) == 1, f"{name}.conf has {old} {text.count(old)} times"
        text = text.replace(old, re.sub(r"\{(\w+)\}", lambda match: str(words[match[1]]), new))
    return text.replace("; ", ";\n")


def put(device, name, **words):
    """The example as that device's only job, as it is to be copied into jobs.d. It passes --check."""
    (device.folder / "jobs.d").mkdir(exist_ok=True)
    (device.folder / "jobs.d" / f"{name}.conf").write_text(example(name, **words))
    done = device.check()
    assert done.returncode == 0, done.stdout + done.stderr
    return device


def program(fleet, name, text=""):
    """The path of a program that notes its begin and its end."""
    return fleet.body(name, text)["params"]["command"][1]


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_each_has_a_test_and_is_listed():
    functions = " ".join(name for name in globals() if name.startswith("test_"))
    readme = (ROOT / "README.md").read_text()
    for name in NAMES:
        assert f"test_{name}_" in functions, name
        assert f"[{name}.conf](conf/jobs.d/{name}.conf)" in readme, name
    assert NAMES == sorted(HERE)
    assert [path.name for path in EXAMPLES.iterdir() if path.suffix != ".conf"] == []


@needs_postgresql
def test_all_together_pass_check_beside_what_rotad_conf_shows(fleet):
    """But for users and programs, which this machine does not have. What rotad.conf has in comments is meant to be used
    too."""
    device = fleet.device(None)
    (device.folder / "jobs.d").mkdir()
    for name in NAMES:
        text = (EXAMPLES / f"{name}.conf").read_text()
        text = re.sub(r'( user +=) "\w+"', rf'\1 "{ME}"', text)
        text = re.sub(r'( command +=) \[ "/usr/l[^"]*"', r'\1 [ "/bin/true"', text)
        (device.folder / "jobs.d" / f"{name}.conf").write_text(text)
    shown = "prefix|redis|  address|  username|  idle_timeout|device|checkin|max_running|log_level|};"
    conf, count = re.subn(rf"^# ((?:{shown}).*)$", r"\1", (ROOT / "conf" / "rotad.conf").read_text(), flags=re.M)
    assert count > shown.count("|")
    conf = conf.replace('  username      = "rota";\n', "")
    device.write_text(f'plugin_dir = [ "{fleet.plugins}" ];\n{conf}')
    done = device.check()
    assert done.returncode == 0 and f"{len(NAMES)} jobs" in done.stdout, done.stdout + done.stderr


def yesterday():
    return subprocess.run(["date", "-d", "yesterday", "+%F"], text=True, check=True, capture_output=True).stdout.strip()


def cron_line(fleet):
    """Two devices more, and the line's program, which says how it was started."""
    folder = fleet.folder / "shop"
    folder.mkdir(exist_ok=True)
    tell = ('echo "export $*"; echo "at $PWD as $USER, $LOGNAME"; echo "HOME=$HOME SHELL=$SHELL"; '
            'echo "PATH=$PATH SHOP=$SHOP"; echo "a complaint" >&2')
    executable(folder / "export", f'#!/bin/sh\nexec /bin/sh {program(fleet, "export", tell)} "$@"\n')
    return [put(fleet.device(None), "cron_line", folder=folder) for _ in range(3)]


def test_cron_line_runs_once_at_its_time_as_cron_ran_it(timed_fleet):
    begin_at(timed_fleet, "2026-07-14 00:14:56")
    timed_fleet.make_done(instant("2026-07-13 00:15"), "export_orders")
    days = {yesterday()}
    devices = [device.start() for device in cron_line(timed_fleet)]
    timed_fleet.wait_history("export_orders", within=20)
    days.add(yesterday())
    for device in devices:
        device.wait_line(r"^export_orders: (WATCHING -> |turn of .* is settled|succeeded)", 20)
    [begin] = timed_fleet.entries("begin")
    assert (begin.job, begin.turn) == ("export_orders", instant("2026-07-14 00:15")), "02:15 in Berlin"
    lines = [line for device in devices for line in device.lines(r"^export_orders\| ")]
    said = [line.text.removeprefix("export_orders| ") for line in lines]
    user = pwd.getpwnam(ME)
    assert said[0] in {f"export --since {day}" for day in days}
    assert said[1:] == [f"at {timed_fleet.folder}/shop as {ME}, {ME}", f"HOME={user.pw_dir} SHELL=/bin/sh",
                        "PATH=/usr/local/bin:/usr/bin:/bin SHOP=berlin", "a complaint"]


def next_turn(device):
    done = rotactl(device, "show", "export_orders", "--json")
    return done.returncode == 0 and (json.loads(done.stdout)["next"] or [0])[0]


def test_cron_line_keeps_the_days_of_the_week(timed_fleet):
    """On a Friday, after its turn."""
    begin_at(timed_fleet, "2026-07-17 00:15:10")
    timed_fleet.make_done(instant("2026-07-17 00:15"), "export_orders")
    device = cron_line(timed_fleet)[0].start()
    wait_for(lambda: next_turn(device) == instant("2026-07-20 00:15"), 10, "the next turn is Monday's")


def test_cron_line_writes_into_the_journal(timed_fleet, journal):
    begin_at(timed_fleet, "2026-07-14 00:14:57")
    timed_fleet.make_done(instant("2026-07-13 00:15"), "export_orders")
    journal.start(cron_line(timed_fleet)[0])
    assert journal.wait_message("export_orders", "a complaint", 20)["ROTA_JOB"] == "export_orders"


def test_backup_is_made_by_each_device_and_by_two_at_once(fleet):
    path = program(fleet, "backup", "sleep 0.5")
    devices = [put(fleet.device(None), "backup", program=path) for _ in range(4)]
    fleet.make_due_here("backup", *devices)
    for device in devices:
        device.start()
    fleet.wait_entry("end", count=4, within=30)
    for device in devices:
        wait_for(lambda d=device: fleet.record("backup", d).get("state") == "succeeded", 5, f"{device.name} is done")
    begins, ends = fleet.entries("begin"), {entry.pid: entry.at for entry in fleet.entries("end")}
    assert len(begins) == len(ends) == 4
    assert most_at_once([(begin.at, ends[begin.pid]) for begin in begins]) == 2


REPORT = """
CREATE TABLE orders (day date NOT NULL, price integer NOT NULL);
INSERT INTO orders SELECT current_date - back, price FROM generate_series(-2, 800) back, generate_series(1, 3) price;
CREATE TABLE report (day date, orders bigint, total bigint);
GRANT SELECT ON orders TO report;
GRANT INSERT ON report TO report;
GRANT SELECT, INSERT, UPDATE ON rota_fence TO report;
"""


def with_login(fleet, postgres, user):
    """What an example about PostgreSQL is told: a user there, and the file of its password."""
    path = fleet.folder / f"{user}.password"
    path.write_text("sesame\n")
    path.chmod(0o600)
    postgres.query(f"CREATE ROLE {user} LOGIN PASSWORD 'sesame'")
    postgres.allow(f"local all {user} scram-sha-256")
    return {"connection": f"host={postgres.sockets} port={postgres.port} dbname=postgres user={user}", "password": path}


def reporters(fleet, postgres, count):
    """Devices of which one is to report now."""
    words = with_login(fleet, postgres, "report")
    postgres.query((ROOT / "plugins/pg_fenced/rota_fence.sql").read_text() + REPORT)
    fleet.make_due("nightly_report")
    return [put(fleet.device(None), "nightly_report", **words) for _ in range(count)]


def reports(postgres):
    return postgres.query("SELECT day, orders, total FROM report")


@needs_postgresql
def test_nightly_report_is_written_once_a_turn(fleet, postgres):
    devices = [device.start() for device in reporters(fleet, postgres, 3)]
    [entry] = fleet.wait_history("nightly_report", within=20)
    turn = now_ms() // ONCE_MS * ONCE_MS
    day = postgres.value(f"SELECT (timestamptz 'epoch' + interval '{turn // 1000} s')::date - 1")
    assert entry["outcome"] == "succeeded" and reports(postgres) == [(day, "3", "6")]
    assert postgres.query("SELECT name, fence, turn, device FROM rota_fence") == [
        ("nightly_report", entry["fence"], str(turn), entry["token"].split(":")[0])]
    # Redis forgets that it was done: the database has not.
    for device in devices:
        assert device.stop() == 0
    fleet.client.flushall()
    fleet.make_due("nightly_report")
    devices[0].start()
    [entry] = fleet.wait_history("nightly_report", within=20)
    assert entry["outcome"] == "nothing" and len(reports(postgres)) == 1


@needs_postgresql
def test_nightly_report_of_an_older_fence_is_refused(fleet, postgres):
    [device] = reporters(fleet, postgres, 1)
    postgres.query(f"INSERT INTO rota_fence VALUES ('nightly_report', {2**62}, 1, 'gate-9')")
    device.start()
    [entry] = fleet.wait_history("nightly_report", within=20)
    assert entry["outcome"] == "lost" and "gate-9" in entry["detail"], entry
    assert reports(postgres) == []


QUEUE = """
CREATE TABLE bonus (id bigint PRIMARY KEY, customer text, points integer);
CREATE TABLE booking (id bigint PRIMARY KEY, customer text, points integer CHECK (points > 0));
CREATE TABLE bonus_failed (id bigint, customer text, points integer, error text);
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.004); RETURN NEW; END';
CREATE TRIGGER slow BEFORE INSERT ON booking FOR EACH ROW EXECUTE FUNCTION slow();
INSERT INTO bonus SELECT id, 'customer ' || id % 7, id FROM generate_series(1, 600) id;
INSERT INTO bonus VALUES (601, 'customer 1', -5);
GRANT SELECT, UPDATE, DELETE ON bonus TO bonus;
GRANT INSERT ON booking, bonus_failed TO bonus;
"""


@needs_postgresql
def test_queue_drain_handles_each_row_once_on_all_devices(fleet, postgres):
    words = with_login(fleet, postgres, "bonus")
    postgres.query(QUEUE)
    devices = [put(fleet.device(None), "queue_drain", **words).start() for _ in range(3)]
    wait_for(lambda: postgres.value("SELECT count(*) FROM bonus") == "0", 30, "the queue is empty")
    # By its key a second booking of a row would have failed, and its row would be among those.
    total = str(600 * 601 // 2)
    assert postgres.query("SELECT count(*), sum(id), sum(points) FROM booking") == [("600", total, total)]
    [failed] = postgres.query("SELECT id, customer, points, error FROM bonus_failed")
    assert failed[:3] == ("601", "customer 1", "-5") and "booking_points_check" in failed[3]
    for device in devices:
        device.wait_line("^book_bonus: succeeded ", 20)
    assert fleet.client.keys("*{book_bonus}*") == []


PERIOD = 12


def killer(fleet):
    """Ends its device as a cut of the power does: nobody has a last word."""
    pid, on = fleet.folder / "pid", fleet.folder / "on"
    on.touch()
    return pid, on, program(fleet, "reboot", f"""[ -e '{on}' ] || exit 0
rotad=$(cat '{pid}'); exec kill -KILL $rotad $(cat /proc/$rotad/task/$rotad/children) $PPID""")


def test_reboot_is_not_begun_twice(fleet):
    """tests/system/test_reboot.py has a machine that does reboot; here each turn it loses all its processes."""
    pid, on, path = killer(fleet)
    device = fleet.device(None)
    # Its turn falls due now.
    turn = now_ms() // 1000
    due = f'every = "{PERIOD}s"; offset = "{turn % PERIOD}s"; splay = "0s"; retry_delay = "0s"; {QUICK}'
    put(device, "reboot", due=due, wait="true", program=path)
    fleet.make_due_here("reboot", device, turn=(turn - PERIOD) * 1000)
    device.start()
    pid.write_text(str(device.pid))
    first = fleet.wait_entry("begin", within=20)
    assert device.process.wait(10) == -9
    assert fleet.record("reboot", device)["state"] == "running"
    on.unlink()
    device.start()
    device.wait_line("^reboot: given up until .*, since its attempts are used up$", 10)
    second = fleet.wait_entry("begin", within=20, count=2)
    assert (second.turn, second.attempt) == (first.turn + PERIOD * 1000, 1)
    device.wait_line("^reboot: succeeded ")


def test_reboot_leaves_no_more_than_two_away(fleet):
    """As the run waits before its end as long as a device may be away, here 1 s."""
    path = program(fleet, "reboot")
    devices = [put(fleet.device(None), "reboot", due=f"{DUE}; {QUICK}", wait="sleep 1", program=path) for _ in range(5)]
    fleet.make_due_here("reboot", *devices)
    for device in devices:
        device.start()
    fleet.wait_entry("end", count=5, within=30)
    asked = [entry.at for entry in fleet.entries("end")]
    assert most_at_once([(at, at + 1000) for at in asked]) <= 2


def test_sync_prices_is_declined_here_and_done_there(timed_fleet):
    fleet, folder = timed_fleet, timed_fleet.folder
    declines = executable(folder / "declines", "#!/bin/sh\nexit 75\n")
    syncs = executable(folder / "syncs", f"#!/bin/sh\nexec /bin/sh {program(fleet, 'sync')}\n")
    begin_at(fleet, "2026-07-14 10:04:57")
    fleet.make_done(instant("2026-07-14 10:00"), "sync_prices")
    one, two = (put(fleet.device(None), "sync_prices", program=path) for path in (declines, syncs))
    assert "never renewed" in one.check().stdout
    one.start()
    one.wait_line("^sync_prices: declined ", 20)
    two.start()
    end = fleet.wait_entry("end", within=20)
    assert (end.turn, end.attempt) == (instant("2026-07-14 10:05"), 1), "no attempt was counted"


def test_sync_prices_that_were_not_new_are_done(timed_fleet):
    nothing = executable(timed_fleet.folder / "nothing", "#!/bin/sh\nexit 3\n")
    begin_at(timed_fleet, "2026-07-14 10:04:57")
    timed_fleet.make_done(instant("2026-07-14 10:00"), "sync_prices")
    put(timed_fleet.device(None), "sync_prices", program=nothing).start()
    [entry] = timed_fleet.wait_history("sync_prices", within=20)
    assert entry["outcome"] == "nothing"


def upload(folder, name, days):
    (folder / name).write_text("x")
    at = now_ms() / 1000 - days * 86_400
    os.utime(folder / name, (at, at))


def test_tidy_uploads_deletes_nothing_until_it_is_told_to(fleet):
    folder = fleet.folder / "uploads"
    (folder / "below").mkdir(parents=True)
    for number in range(12):
        upload(folder, f"below/{number}.csv", 40 + number)
    for number in range(3):
        upload(folder, f"new{number}.csv", number)
    upload(folder, "old.txt", 400)
    device = put(fleet.device(None), "tidy_uploads", folder=folder)
    fleet.make_done(now_ms() // 86_400_000 * 86_400_000 - 86_400_000, "tidy_uploads")
    device.start()
    fleet.wait_history("tidy_uploads", within=20)
    # Of 15 that match, the newest 10 stay whatever their age.
    gone = [f"below/{number}.csv" for number in range(7, 12)]
    said = " ".join(line.text for line in device.lines(r"^tidy_uploads\| would delete"))
    assert sorted(re.findall(r"below/\d+\.csv", said)) == sorted(gone)
    assert len(list(folder.rglob("*.*"))) == 16
    conf = device.folder / "jobs.d" / "tidy_uploads.conf"
    conf.write_text(conf.read_text().replace("dry_run = true;\n", ""))
    assert rotactl(device, "reload").returncode == 0
    # Until Redis has been asked what it knows of the job as it is now, none is begun by hand.
    wait_for(lambda: rotactl(device, "run", "tidy_uploads", "--wait").returncode == 0, 10, "it runs by hand")
    assert len(list(folder.rglob("*.*"))) == 11 and not any((folder / name).exists() for name in gone)
