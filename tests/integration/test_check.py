# SPDX-License-Identifier: MIT
"""rotad --check and --print-config: what they say, where, with which exit status, and that they leave nothing."""
import datetime
import re
import subprocess
import time

import pytest
from check_place import CONFIG, HEAD, OK, OSERR, PROBE_LIMIT_S, USAGE, conf, job, jobs, plugins, rotad  # noqa: F401 (fixtures)


def test_good_jobs(conf):
    path = conf(jobs(job("brief", every="20s", worst="1s", more='offset = "7s";'),
                     job("lone", worst="1s", more="attempts = 1;"),
                     job("long", worst="10m")))
    done = rotad(path, "--check")
    assert (done.returncode, done.stderr) == (OK, "")
    assert re.fullmatch(
        r"""Turns are in UTC, by the clock of this machine\.

brief
  next      \d{4}-\d\d-\d\d \d\d:\d\d:[024]7, (?:[-\d]+ )?\d\d:\d\d:[024]7, (?:[-\d]+ )?\d\d:\d\d:[024]7
  timing    worst case 1(?:\.0)? s, lease 10(?:\.3)? s, grace 5(?:\.0)? s, never renewed
  takeover  a crash is taken over within 1[12](?:\.\d)? s, 3 attempts in all

lone
  next      \d{4}-\d\d-\d\d \d\d:00, (?:[-\d]+ )?\d\d:00, (?:[-\d]+ )?\d\d:00
  timing    .*
  takeover  none: after a crash the turn is not tried again \(attempts = 1\)

long
  next      .*
  timing    worst case 10 min, lease 1 min, grace 5(?:\.0)? s, renewed every 20 s
  takeover  a crash is taken over within (?:1 min 2 s|62 s), 3 attempts in all

rotad\.conf: 3 jobs, all good
""", done.stdout), done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_a_turn_that_is_never_taken_over(conf):
    """Of a job every 2 s, the next turn is due long before the lease of the crashed one has ended."""
    done = rotad(conf(jobs(job("brief", every="2s", worst="1s"))), "--check")
    assert re.search(r"^  takeover  none: the next turn comes first; after a crash within 1[12](\.\d)? s$",
                     done.stdout, re.M), done.stdout


def test_what_each_job_costs(conf):
    """The numbers are test_cost.c's and test_bytes.py's business."""
    head = HEAD.replace("unix:/nonexistent/redis.sock", "192.0.2.1:6379")
    lines = jobs(job("away", more='devices = [ "door-*" ];'),
                 job("each", every="1d", more='scope = "device"; concurrency = 20;'),
                 job("long", worst="30m"),
                 job("lone", more='lock = "none";'),
                 job("often", every="5m"),
                 cron_job("seldom", f"0 0 15 {(datetime.date.today().month + 1) % 12 + 1} *"),
                 job("unused", more="enabled = false;"))
    done = rotad(conf(lines, head), "--check")
    assert (done.returncode, done.stderr) == (OK, "")
    blocks = {block.partition("\n")[0]: block for block in done.stdout.split("\n\n")}
    costs = {name: re.findall(r"^  cost {6}(.*)$", block, re.M) for name, block in blocks.items()}
    assert costs["away"] == costs["unused"] == []
    assert costs["lone"] == costs["seldom"] == ["nothing is asked of Redis in the next 30 days"]
    number = r"(\d+) questions a turn: (\d+) ([kM])B a month alone, (\d+) kB among 5,000"
    [often], [long], [each] = ([re.fullmatch(number, line).groups() for line in costs[name]]
                               for name in ("often", "long", "each"))
    assert often[0] == "15" and 13 <= int(often[1]) <= 17 and often[2] == "M"
    assert int(long[0]) > 100 and int(each[0]) == 10_000
    last = [re.fullmatch("All jobs and hello, over TLS: about " + number.partition(": ")[2], line)
            for line in done.stdout.splitlines() if line.startswith("All jobs")]
    assert len(last) == 1 and int(last[0][3]) > int(often[3]) + int(long[3]) + int(each[3])


def test_what_costs_much_fits_in_the_line(conf):
    head = HEAD.replace("unix:/nonexistent/redis.sock", "192.0.2.1:6379") + 'turns = "all";\n'
    lines = jobs(*(job(f"job{i}", every="1s", worst="100ms") for i in range(300)),
                 job("long", every="1s", worst="1d"))
    done = rotad(conf(lines, head), "--check")
    assert done.returncode == OK, done.stderr
    assert re.search(r"^All jobs and hello, over TLS: about \d+ GB a month alone, \d+ GB among 5,000$",
                     done.stdout, re.M), done.stdout[-300:]
    assert max(len(line) for line in done.stdout.splitlines() if "among 5,000" in line) <= 80


def test_no_network_costs_nothing(conf):
    head = HEAD.replace('redis = {{ address = "unix:/nonexistent/redis.sock"; }};', 'store = "local";')
    for each in (head, HEAD):
        done = rotad(conf(jobs(job("often", every="5m")), each), "--check")
        assert done.returncode == OK
        assert "cost" not in done.stdout and "hello" not in done.stdout, done.stdout


def test_more_mistakes_than_are_shown(conf):
    many = [job(f"job{i}", more="x = 1;") for i in range(1010)]
    done = rotad(conf(jobs(job("slow", every="1m", worst="2m"), *many)), "--check")
    assert done.returncode == CONFIG
    lines = done.stderr.splitlines()
    assert len(lines) == 1001
    assert lines[-1] == "the first 1000 are shown, of 1011 in all"
    assert done.stdout.endswith("rotad.conf: 1010 mistakes, 1 warning\n")


def test_turns_are_those_of_the_grid(conf):
    before = time.time()
    done = rotad(conf(jobs(job("daily", every="1d", more='offset = "2h30m";'))), "--check")
    first = int((before - 9000) // 86400 + 1) * 86400 + 9000
    turns = [time.strftime("%Y-%m-%d %H:%M", time.gmtime(first + i * 86400)) for i in range(3)]
    assert f"  next      {', '.join(turns)}\n" in done.stdout


def test_every_mistake_in_the_order_of_the_file(conf):
    path = conf(jobs(job("alpha", params="", every="1h"),                     # 6: text is missing
                     job("beta", worst="10"),                                 # 7: no unit
                     'gamma = {\n  plugin = "good";\n  every = "1h";\n'       # 8
                     '  worst_case = "1s";\n  params = {\n'
                     '    text = "!";\n    pause = "2m";\n'                   # 14: too long
                     '    txet = "x"; }; };\n',                               # 15: unknown
                     job("omega")))
    done = rotad(path, "--check")
    assert done.returncode == CONFIG
    problems = done.stderr.splitlines()
    places = [int(re.match(r"rotad\.conf:(\d+): job '\w+': ", line)[1]) for line in problems]
    assert places == sorted(places), problems
    assert {6, 7, 14, 15} <= set(places), problems
    assert "text" in problems[places.index(6)]
    assert '"10s"' in problems[places.index(7)]
    assert "'text'" in problems[places.index(15)], "no nearest name"
    assert done.stdout.endswith(f"rotad.conf: {len(problems)} mistakes\n")
    assert re.findall(r"^\w+$", done.stdout, re.M) == ["omega"]


def test_what_check_says(conf):
    done = rotad(conf(jobs(job("alpha", params='text = "!";'))), "--check")
    assert done.returncode == CONFIG
    assert re.fullmatch(r"rotad\.conf:6: job 'alpha': .*text begins with an exclamation mark.*\n",
                        done.stderr)
    assert done.stdout == "rotad.conf: 1 mistake\n"


@pytest.mark.parametrize("plugin, said", [
    ("dies", r"signal|SIGILL|SIGTRAP"),
    ("hangs", r"\d s"),
    ("lacks", r"of_nobody"),
    ("other", r"999"),
    ("mute", r"rota_plugin"),
    ("prose", r"."),
    ("absent", r"is not in"),
])
def test_a_bad_plugin_costs_its_own_job(conf, plugin, said):
    begin = time.monotonic()
    done = rotad(conf(jobs(job("alpha", plugin, params=""), job("omega"))), "--check")
    assert time.monotonic() - begin < PROBE_LIMIT_S
    assert done.returncode == CONFIG
    assert re.fullmatch(rf"rotad\.conf:6: job 'alpha': .*(?:{said}).*\n", done.stderr), done.stderr
    assert re.findall(r"^\w+$", done.stdout, re.M) == ["omega"]


def test_each_job_of_a_bad_plugin_says_so(conf):
    done = rotad(conf(jobs(*[job(f"job{i}", "dies", params="") for i in range(3)])), "--check")
    assert done.returncode == CONFIG
    assert [line.split(":")[1] for line in done.stderr.splitlines()] == ["6", "7", "8"]


def test_a_warning_does_not_fail(conf):
    done = rotad(conf(jobs(job("slow", every="1m", worst="2m"))), "--check")
    assert done.returncode == OK
    assert re.fullmatch(r"rotad\.conf:\d+: job 'slow': .* \(a warning\)\n", done.stderr), done.stderr
    assert done.stdout.endswith("rotad.conf: 1 job, all good, 1 warning\n")


def test_no_jobs(conf):
    done = rotad(conf(""), "--check")
    assert (done.returncode, done.stderr) == (OK, "")
    assert done.stdout == "rotad.conf: no jobs yet, all good\n"


@pytest.mark.parametrize("mode", ["--check", "--print-config"])
def test_a_file_that_is_not_there(tmp_path, mode):
    done = rotad(tmp_path / "rotad.conf", mode)
    assert done.returncode == CONFIG
    assert done.stderr.startswith("rotad.conf: ")
    assert "jobs = " not in done.stdout


def test_output_that_cannot_be_written(conf):
    path = conf(jobs(job("alpha")))
    for mode in "--check", "--print-config":
        with open("/dev/full", "w") as full:
            done = rotad(path, mode, capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == OSERR
        assert re.fullmatch(r"rotad: .* cannot be (written|printed): No space left on device\n", done.stderr)


def test_print_config_parses_again(conf, tmp_path):
    path = conf(jobs(job("alpha", every="90m", params='text = "a\\"b\\\\c"; pause = "30s";'),
                     job("beta", worst="10m", more='retry_delay = "2m";')))
    first = rotad(path, "--print-config")
    assert (first.returncode, first.stderr) == (OK, "")
    again = tmp_path / "again" / "rotad.conf"
    again.parent.mkdir()
    again.write_text(first.stdout)
    checked = rotad(again, "--check")
    assert (checked.returncode, checked.stderr) == (OK, "")
    assert rotad(again, "--print-config").stdout == first.stdout


def test_print_config_keeps_secrets(conf, tmp_path):
    secret = tmp_path / "password"
    secret.write_text("open sesame\n")
    secret.chmod(0o600)
    head = HEAD.replace(".sock\";", f".sock\"; password_file = \"{secret}\";")
    done = rotad(conf("", head), "--print-config")
    assert done.returncode == OK
    assert str(secret) in done.stdout
    assert "sesame" not in done.stdout + done.stderr


def test_print_config_with_mistakes(conf):
    path = conf(jobs(job("alpha", worst="10"), job("beta")))
    done = rotad(path, "--print-config")
    assert done.returncode == OK
    assert re.match(r"rotad\.conf:6: job 'alpha': ", done.stderr)
    assert "beta = {" in done.stdout and "alpha = {" not in done.stdout
    broken = rotad(conf("jobs = {\n"), "--print-config")
    assert (broken.returncode, broken.stdout) == (CONFIG, "")
    assert broken.stderr.startswith("rotad.conf:")


def cron_job(name, cron, zone="UTC", more=""):
    return (f'{name} = {{ plugin = "good"; cron = "{cron}"; timezone = "{zone}"; worst_case = "10s"; {more} '
            f'params = {{ text = "x"; }}; }};\n')


def turns(done):
    """What --check says of each job's turns."""
    return dict(re.findall(r"^(\w+)\n(?:  (?!next).*\n)*  next +(.*)$", done.stdout, re.M))


def last_sunday(month):
    """The next last Sunday of a month of 31 days, at least a day away."""
    tomorrow = datetime.date.today() + datetime.timedelta(days=1)
    for year in tomorrow.year, tomorrow.year + 1:
        day = datetime.date(year, month, 31)
        day -= datetime.timedelta(days=(day.weekday() + 1) % 7)
        if day > tomorrow:
            return day


def test_cron_turns_are_in_the_zone(conf):
    new_year = datetime.date.today().year + 1
    done = rotad(conf(jobs(cron_job("berlin", "30 2 1 1 *", "Europe/Berlin"),
                           cron_job("utc", "0 0 1 1 *"))), "--check")
    assert (done.returncode, done.stderr) == (OK, "")
    assert done.stdout.startswith(
        "Turns are in each job's time zone, else in UTC, by the clock of this machine.\n\n"
        "berlin\n  schedule  30 2 1 1 * Europe/Berlin\n  next ")
    assert turns(done) == {
        "berlin": ", ".join(f"{new_year + i}-01-01 02:30" for i in range(3)),
        "utc": ", ".join(f"{new_year + i}-01-01 00:00" for i in range(3)),
    }
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_turns_at_a_change_of_the_clock(conf):
    spring, autumn = last_sunday(3), last_sunday(10)
    done = rotad(conf(jobs(
        cron_job("gap", f"30 2 {spring.day} 3 *", "Europe/Berlin"),
        cron_job("fixed", f"30 2,3 {autumn.day} 10 *", "Europe/Berlin"),
        cron_job("steps", f"30 2-23/1 {autumn.day} 10 *", "Europe/Berlin"))), "--check")
    assert (done.returncode, done.stderr) == (OK, "")
    said = turns(done)
    assert said["gap"].startswith(f"{spring} 03:00 (moved), ")
    assert said["fixed"].startswith(f"{autumn} 02:30, 03:30, ")
    assert said["steps"] == f"{autumn} 02:30, 02:30 (again), 03:30"


def test_jobs_that_do_not_run_here(conf):
    path = conf(jobs(job("alpha", more='devices = "door-*";', plugin="absent"),
                     job("beta", more="enabled = false;"), job("gamma", more='devices = "gate-?";')))
    done = rotad(path, "--check")
    assert (done.returncode, done.stderr) == (OK, "")
    assert re.search(r"^alpha\n  devices   none of its patterns matches this device, gate-1\n  next ",
                     done.stdout, re.M), done.stdout
    assert re.search(r"^beta\n  disabled  never run, since enabled is false\n  next ", done.stdout, re.M)
    assert re.search(r"^gamma\n  next ", done.stdout, re.M)
    assert done.stdout.endswith("rotad.conf: 3 jobs, all good, 1 disabled, 1 on other devices\n")
    other = rotad(path, "--check", "--device", "door-1")
    assert other.returncode == CONFIG
    assert "'alpha'" in other.stderr and "'absent'" in other.stderr
    assert "gamma\n  devices   none of its patterns matches this device, door-1\n" in other.stdout


def test_a_disabled_job_is_checked(conf):
    done = rotad(conf(jobs(job("alpha", more="enabled = false;", params='text = "!";'))), "--check")
    assert done.returncode == CONFIG
    assert "text begins with an exclamation mark" in done.stderr


def test_one_device_alone(conf):
    done = rotad(conf(jobs(job("alpha")), head='store = "local"; device = "d";\n\n\n'
                                               'plugin_dir = "{plugins}";\n'), "--check")
    assert (done.returncode, done.stderr) == (OK, "")
    assert "  takeover  none: this device alone\n" in done.stdout


def test_how_jobs_are_shared_out(conf):
    path = conf(jobs(
        job("bare", more='lock = "none"; stop_grace = "1m";'),
        job("keyed", more='lock_key = "{orders}:lock"; require_fence = true;'),
        job("progress", worst="10m", more='overrun = "extend";'),
        job("seats", worst="10m", more='scope = "device"; concurrency = 20; if_unreachable = "run";'),
        job("seats_on", worst="1s", more='scope = "device"; stop_after_failures = 1; attempts = 1;'),
        job("seats_long", worst="30m", more='scope = "device"; concurrency = 20; overrun = "extend";'),
        job("seats_off", worst="1s", more='scope = "device"; stop_after_failures = 0;')))
    done = rotad(path, "--check")
    assert (done.returncode, done.stderr) == (OK, "")
    said = {name: lines for name, lines in
            re.findall(r"^(\w+)\n  next .*\n((?:  .*\n)*)", done.stdout, re.M)}
    assert said["bare"] == (
        "  lock      none: every device runs each turn, whatever the others do\n"
        "  timing    worst case 10 s, no lease, grace 1 min\n"
        "  takeover  none: a run is its device's own\n")
    assert said["keyed"].startswith("  lock      {orders}:lock, shared with all that use this key\n  timing ")
    assert said["progress"] == (
        "  timing    worst case 10 min, lease 1 min, grace 5 s, renewed every 20 s\n"
        "  overrun   goes on while it reports progress, for at most 40 min\n"
        "  takeover  a crash is taken over within 1 min 2 s, 3 attempts in all\n")
    assert said["seats"] == (
        "  scope     each device, at most 20 at once in the whole fleet\n"
        "  brake     3 failures in a row pause it in the whole fleet\n"
        "  offline   run without Redis too, by this device's own clock\n"
        "  timing    worst case 10 min, lease 1 min, grace 5 s, renewed every 20 s\n"
        "  takeover  none: a run is its device's own; a crash frees its seat within 1 min\n"
        "  round     at worst 20 devices in 10 min, 120 before the next turn\n")
    assert "  brake     1 failure pauses it in the whole fleet\n" in said["seats_on"]
    assert said["seats_on"].endswith("  round     at worst 1 device in 1 s, 3600 before the next turn\n")
    assert said["seats_long"].endswith("  round     at worst 20 devices in 2 h, longer than the period\n")
    assert "brake" not in said["seats_off"]
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_print_config_of_shared_out_jobs(conf, tmp_path):
    path = conf(jobs(job("bare", more='lock = "none";'), job("keyed", more='lock_key = "orders";'),
                     job("progress", more='overrun = "extend"; version = 2;'),
                     job("seats", more='scope = "device"; concurrency = 20;')),
                head='checkin = "1d"; turns = "all";\n' + HEAD)
    first = rotad(path, "--print-config")
    assert (first.returncode, first.stderr) == (OK, "")
    assert 'checkin = "1d";\n' in first.stdout and 'max_runtime = "40s";\n' in first.stdout
    again = tmp_path / "again" / "rotad.conf"
    again.parent.mkdir()
    again.write_text(first.stdout)
    checked = rotad(again, "--check")
    assert (checked.returncode, checked.stderr) == (OK, "")
    assert rotad(again, "--print-config").stdout == first.stdout


def test_a_file_for_a_newer_rota(conf):
    done = rotad(conf(jobs(job("alpha", worst="10")), head='later = 1;\nrequires = "9999.0";\n'), "--check")
    assert done.returncode == CONFIG
    assert re.fullmatch(r"rotad\.conf:2: this file needs rota 9999\.0; this is [\d.]+; upgrade rota\n", done.stderr)


def test_bad_usage(conf):
    done = rotad(conf(""), "--chek")
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert done.stderr == "rotad: there is no option '--chek'; did you mean '--check'?\n"
