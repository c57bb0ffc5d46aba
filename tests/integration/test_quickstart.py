# SPDX-License-Identifier: MIT
"""The two commands, and what README.md shows: the demonstration's shape is golden."""
import os
import re
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from redis_server import wait_for
from tls import Authority

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ROTA_BUILD", ROOT / "build" / "release"))
ROTAD = BUILD / "runtime" / "supervisor" / "rotad"
QUICKSTART = ROOT / "quickstart"

DEVICE = r"gate-[123]"
JOB = r"(?:heartbeat|long_report|flaky)"
AT = rf"^\d\d:\d\d:\d\d {DEVICE}  "
TURN = (r"turn of \d\d:\d\d(?::\d\d)? UTC, attempt [123] of 3"
        r"(?:; \d+ turns? fell due meanwhile)?$")
ENDED = r"(?:succeeded|failed|declined|crashed|overrun|lost)"
TOOK = r"\d+(?:\.\d+)? (?:ms|s)"
# Every kind of line that the demonstration prints, by name.
KINDS = {
    "title": r"^Three devices share three jobs through a Redis of their own\. Times are UTC\.$",
    "about": rf"^  {JOB} +every \d+ s, .+$",
    "pids": r"^  devices +gate-1 is pid \d+, gate-2 \d+, gate-3 \d+$",
    "how to": r"^Kill the one that runs long_report whenever you like \(kill -9 PID\)\. Ctrl-C ends all\.$",
    "started": rf"{AT}{JOB}: started, {TURN}",
    "succeeded": rf"{AT}{JOB}: succeeded in {TOOK}, {TURN}",
    "crashed": rf"{AT}flaky: crashed after {TOOK}.*, {TURN}",
    "declined": rf"{AT}{JOB}: declined after {TOOK}.*, {TURN}",
    "taken over": rf"{AT}{JOB}: taken over from {DEVICE}, which stopped renewing {TOOK} ago; attempt [23] of 3$",
    "late": rf"{AT}{JOB}: Redis \(\w+\): the answer came too late to be used; it is tried again$",
    "lease over": rf"{AT}{JOB}: taken over from {DEVICE}, whose lease has run out; attempt [23] of 3$",
    "ready": rf"{AT}3 jobs; ready as {DEVICE}$",
    "device": rf"{AT}(?!{JOB}:)\S.*$",
    "first sight": rf"{AT}{JOB}: there is no record of it.*$",
    "killed": rf"^-- {DEVICE} is killed \(kill -9 \d+\) while it runs long_report$",
    "gone": rf"^-- {DEVICE} \(pid \d+\) is gone, while it ran long_report$",
    "takeover": r"^-- takeover \d+\.\d s after the kill \(lease 6 s \+ 2 s allowed\)$",
    "again": rf"^-- {DEVICE} is started again \(pid \d+\)$",
    "next turn": rf"^-- {DEVICE} runs the next turn, which fell due before the lease of {DEVICE} had ended$",
    "drawn": r"^-- drawn: build/demonstration\.svg$",
    "end": r"^-- the end: all devices are asked to stop$",
    "summary": r"^-- \d+ turns: gate-1 \d+, gate-2 \d+, gate-3 \d+; done twice \d+, missing \d+$",
}
ORDER = ["title", "pids", "how to", "ready", "started", "killed", "taken over", "takeover", "again", "drawn", "end",
         "summary"]


def kind_of(line):
    for name, pattern in KINDS.items():
        if re.match(pattern, line):
            return name
    return None


def assert_shape(lines, order):
    # Who comes late finds the lease over, and takes it over all the same.
    kinds = ["taken over" if kind == "lease over" else kind for kind in map(kind_of, lines)]
    strange = [line for line, kind in zip(lines, kinds) if kind is None]
    assert strange == []
    seen = [line.split("  ", 1)[1].split(":")[0] for line, kind in zip(lines, kinds) if kind == "first sight"]
    assert len(seen) == len(set(seen)), "each job's first sight is said once, not by each device"
    at = -1
    for name in order:
        assert name in kinds[at + 1:], f"no line '{name}' after line {at + 1} of:\n" + "\n".join(lines)
        at = kinds.index(name, at + 1)


def readme_block(mark):
    """The text of the fenced block after the comment that begins with `mark`."""
    text = (ROOT / "README.md").read_text()
    return re.search(rf"<!-- {mark}: .*?-->\n```\w*\n(.*?)```", text, re.S)[1]


def processes_of(folder):
    """Command lines of processes that name the folder, or work in it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            place = os.readlink(entry / "cwd")
        except OSError:
            continue
        if str(folder) in words or place.startswith(str(folder)):
            found.append(words)
    return found


def assert_nothing_left(folder):
    assert os.listdir(folder) == []
    assert processes_of(folder) == []


@pytest.fixture
def quickstart():
    """Starts ./quickstart from another folder, with a temporary folder of its own; ends it by its pid."""
    # A socket's path has at most 107 bytes.
    tmp = Path(subprocess.check_output(["mktemp", "-d", "/tmp/rota-test.XXXXXX"], text=True).strip())
    started = []

    def start(*words):
        process = subprocess.Popen(
            [str(QUICKSTART), *words], cwd="/", text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            # A shell's background job ignores SIGINT and hands that on; no shell could trap it then.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={**os.environ, "TMPDIR": str(tmp), "ROTA_BUILD": str(BUILD)})
        started.append(process)
        return process

    start.tmp = tmp
    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
    subprocess.run(["rm", "-rf", str(tmp)], check=True)


def lines_until(process, lines, pattern, seconds):
    """Reads lines until one matches, which it returns."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not select.select([process.stdout], [], [], deadline - time.monotonic())[0]:
            break
        line = process.stdout.readline()
        if not line:
            break
        lines.append(line.rstrip("\n"))
        match = re.search(pattern, lines[-1])
        if match:
            return match
    raise AssertionError(f"no line like '{pattern}' within {seconds} s of:\n" + "\n".join(lines))


def at_work(lines, device):
    """The jobs that it runs, by what was said."""
    running = set()
    for line in lines:
        if match := re.match(rf"{AT.replace(DEVICE, device)}({JOB}): (started|{ENDED})", line):
            (running.add if match[2] == "started" else running.discard)(match[1])
    return running


def test_demonstration_has_the_golden_shape_and_leaves_nothing(quickstart):
    process = quickstart("run", "--for", "60s")
    out = process.communicate(timeout=120)[0]
    assert process.returncode == 0, out
    lines = out.splitlines()
    assert_shape(lines, ORDER)
    assert lines[-1].endswith("done twice 0, missing 0")
    took = float(re.search(r"takeover (\d+\.\d) s", out)[1])
    assert took <= 8.0
    assert re.search(rf"{AT}flaky: crashed", out, re.M)
    picture = (BUILD / "demonstration.svg").read_text()
    assert picture.endswith("</svg>\n") and "turn went on to another device" in picture.replace("turns", "turn")
    assert_nothing_left(quickstart.tmp)


@pytest.mark.parametrize("words, said", [
    (["run", "--for", "60"], '--for is "60", which has no unit; write 60s or 60m'),
    (["run", "--for", "soon"], '--for is "soon", which is no time; write 60s, 2m or 1h30m'),
    (["run", "--for", "1h30"], '--for is "1h30", which is no time; write 60s, 2m or 1h30m'),
    (["run", "--for", "0s"], '--for is "0s", which is no time; write 60s, 2m or 1h30m'),
    (["run", "--for=99999999999999999h"], "which is no time; write 60s, 2m or 1h30m"),
    (["run", "--quick"], 'run does not know "--quick"'),
    (["test", "--most"], 'test does not know "--most"'),
    (["fuzz", "nothing"], 'there is no fuzz target "nothing"; write one of address'),
    (["soak"], "soak wants --for, as in --for 8h"),
    (["soak", "--for", "1h", "--seed"], "--seed wants a value"),
    (["go"], 'there is no command "go"; write run, test, package, fuzz, coverage, bench or soak'),
])
def test_a_wrong_command_line_says_what_to_write(quickstart, words, said):
    process = quickstart(*words)
    out = process.communicate(timeout=20)[0]
    assert process.returncode == 1
    assert said in out
    assert_nothing_left(quickstart.tmp)


@pytest.mark.parametrize("text, ms", [("60s", 60000), ("2m", 120000), ("1h30m", 5400000), ("08m09s", 489000)])
def test_lengths(text, ms):
    done = subprocess.run(["bash", "-c", '. "$1"; length_ms "$2"; echo "$length"', "test", QUICKSTART, text],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20)
    assert done.stdout == f"{ms}\n"


@pytest.mark.parametrize("folder, found", [("kept", "/usr/kept"), ("/tmp/kept", "/tmp/kept")])
def test_a_folder_is_the_callers(folder, found):
    done = subprocess.run(["bash", "-c", '. "$1"; from_caller "$2"; echo "$path"', "test", QUICKSTART, folder],
                          cwd="/usr", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20)
    assert done.stdout == f"{found}\n"


@pytest.mark.parametrize("again, counted, said", [
    ("5 passed in 2s", "95 0", False),
    ("1 failed, 4 passed in 2s", "94 1", True),
    ("2 failed, 1 passed, 2 errors in 2s", "91 4", True),
    ("no tests ran", "90 5", True),
])
def test_what_passes_at_the_second_try_is_counted_once(tmp_path, again, counted, said):
    """By a pytest that says what it is told to say, first of 95 tests, then of the five that failed."""
    script = """. "$1"; here=$2; cd "$2"; mkdir -p build
pytest_in() {
    shift
    case $* in
        *--last-failed*) echo "$again"; [[ ! $again =~ failed|no ]] ;;
        *) printf 'FAILED one\\n5 failed, 90 passed in 9s\\n'; return 1 ;;
    esac
}
again=$3; run_pytest ci 'not long'; echo "$passed $failed"
"""
    done = subprocess.run(["bash", "-c", script, "test", QUICKSTART, tmp_path, again], text=True, timeout=20,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.stdout.splitlines()[-1] == counted
    assert ("failed again; all of it is in build/ci-pytest-again.log:" in done.stdout) == said
    assert "90 passed" not in done.stdout


@pytest.mark.parametrize("allowed, status", [("no", 1), ("yes", 0)])
def test_what_cannot_be_booted_is_named_and_does_not_pass_by_itself(tmp_path, allowed, status):
    """By a pytest that skips two of five tests for one reason."""
    script = """. "$1"; here=$2; cd "$2"; mkdir -p build; may_skip=$3
need() { :; }
pytest_booted() {
    echo 'SKIPPED [2] tests/system/conftest.py:9: only root can boot a machine'
    echo '3 passed, 2 skipped in 9s'
}
run_system; sum_up
"""
    done = subprocess.run(["bash", "-c", script, "test", QUICKSTART, tmp_path, allowed], text=True, timeout=20,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = done.stdout.splitlines()
    assert done.returncode == status
    assert lines[-1] == "3 passed, 0 failed, 2 skipped"
    assert "left out of the booted systems: only root can boot a machine" in lines
    assert ("that counts as failed; --allow-skip lets it pass" in lines) == (allowed == "no")


@pytest.mark.parametrize("meanwhile, again", [
    (":", False), ("touch -d tomorrow runtime/changed.c", True), ("touch -d yesterday build/passed", True),
    ("faults=1; run_tests; faults=0", True),
], ids=["nothing", "a change", "a day", "a failure"])
def test_all_tests_leave_out_what_has_just_passed(tmp_path, meanwhile, again):
    """The long tests run in any case, with the programs that are shipped."""
    script = """. "$1"; here=$2; cd "$2"; mkdir -p build runtime; faults=0
for name in need need_fuzzer find_redis build build_32bit begin_sim end_sim pytest_in run_system give_back; do
    eval "$name() { :; }"
done
run_units() { say units; }
run_pytest() { say "$1: ${2:-all}"; passed=$((passed + 1)) failed=$((failed + faults)); }
run_tests; """ + meanwhile + """; say "-- all"; with_long=yes; run_tests
"""
    done = subprocess.run(["bash", "-c", script, "test", QUICKSTART, tmp_path], text=True, timeout=20,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    first, last = done.stdout.split("-- all\n")
    parts = ("units", "ci: not long", "asan: not long", "ci: long", "ci: all")
    assert [part for part in parts if part in first] == ["units", "ci: not long", "asan: not long"]
    assert [part for part in parts if part in last] == (["units", "asan: not long", "ci: all"] if again else ["ci: long"])


def by_fake_ctest(folder, play, *words):
    """Plays the lines with the script's functions; `ctest` says that one of four simulations failed in asan."""
    script = """. "$1"; cd "$2"; mkdir -p build
ctest() {
    case $* in
        *build/asan*' -L sim'*) echo '1 tests failed out of 4' ;;
        *' -L sim'*) echo '0 tests failed out of 4' ;;
        *' -LE sim'*) echo '0 tests failed out of 60' ;;
    esac
}
""" + play
    return subprocess.run(["bash", "-c", script, "test", QUICKSTART, folder, *words], text=True, timeout=20,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.mark.parametrize("words, there, installed", [
    ("no", False, False), ("yes", False, True), ("yes", True, False)])
def test_rust_is_installed_for_all_tests_alone(words, there, installed):
    script = """. "$1"; with_long=$2 there=$3
need() { echo "$@"; exit 0; }
command() { if [ "$2" = rustc ]; then [ "$there" = True ]; else builtin command "$@"; fi; }
run_tests"""
    done = subprocess.run(["bash", "-c", script, "test", QUICKSTART, words, str(there)], text=True, timeout=20,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert "python3-pytest" in done.stdout.split() and ("rustc" in done.stdout.split()) == installed


def test_what_is_played_beside_the_rest_is_counted_and_shown(tmp_path):
    done = by_fake_ctest(tmp_path, 'begin_sim ci asan; run_units ci; end_sim; echo "$passed $failed"')
    assert done.stdout.splitlines() == [
        "simulator and fuzzers beside all that follows: build/ci build/asan", "unit tests of build/ci",
        "simulator and fuzzers: 7 passed, 1 failed", "1 tests failed out of 4", "67 1"]


def test_fuzzers_are_played_beside_the_rest_too(tmp_path):
    done = by_fake_ctest(tmp_path, """ctest() {
    mkdir -p build/fuzz/Testing/Temporary
    printf 'fuzz.%s\n' 'a: 100 executions, 20/s, no find' 'b: 9 executions, 9/s, a find' >build/fuzz/Testing/Temporary/LastTest.log
    [[ $* = *' -L fuzz'* ]] && echo '1 tests failed out of 2'
}
begin_sim fuzz; end_sim; echo "$passed $failed" """)
    assert done.stdout.splitlines() == [
        "simulator and fuzzers beside all that follows: build/fuzz", "simulator and fuzzers: 1 passed, 1 failed",
        "1 tests failed out of 2", "fuzzers: 109 executions of 2 targets, 1 with a find", "1 1"]


def test_a_simulator_that_is_killed_has_failed(tmp_path):
    done = by_fake_ctest(tmp_path, 'run_ctest() { kill -KILL "$BASHPID"; }; begin_sim ci; end_sim; '
                                   'echo "$passed $failed"')
    assert done.stdout.splitlines()[-1] == "0 1"


def test_who_breaks_the_tests_off_leaves_no_simulator(tmp_path):
    done = by_fake_ctest(tmp_path, """ctest() { sh -c 'touch build/began; exec sleep 60'; }
begin_sim ci; until [ -e build/began ]; do sleep 0.05; done; kill $$; sleep 5""")
    assert done.returncode == 130
    wait_for(lambda: processes_of(tmp_path) == [], 10, "nothing is left")


def test_readme_shows_the_golden_shape():
    lines = readme_block("golden transcript").splitlines()
    assert_shape(lines, ORDER)


def test_readme_names_the_packages():
    text = QUICKSTART.read_text()
    packages = re.search(r"^build_packages=\((.*?)\)", text, re.M | re.S)[1].split()
    assert readme_block("by hand").splitlines()[0] == "apt-get install " + " ".join(packages)


def check(file):
    done = subprocess.run([ROTAD, "-c", file, "--check"], text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def with_our_plugins(text):
    return f'plugin_dir = [ "{BUILD}/plugins" ];\n{text}'


def test_readme_configuration_is_good(tmp_path):
    file = tmp_path / "rotad.conf"
    file.write_text(with_our_plugins(readme_block("conf")))
    status, out = check(file)
    assert status == 0, out
    assert "nightly_report" in out


def test_readme_settings_for_a_network_are_good(tmp_path):
    file, password = tmp_path / "rotad.conf", tmp_path / "redis.password"
    password.touch(mode=0o600)
    password.write_text("sesame\n")
    with Authority() as authority:
        (tmp_path / "redis-ca.pem").write_bytes(authority.file.read_bytes())
    # Its name is no matter of this machine's id, which a bare one does not have.
    file.write_text('device = "gate-1";\nprefix = "acme-gw:";\n' +
                    readme_block("network").replace("/etc/rota", str(tmp_path)))
    assert check(file) == (0, f"{file}: no jobs yet, all good\n")


def test_shipped_configuration_is_good_and_has_no_job(tmp_path):
    """As it is installed: without the examples beside it."""
    file = shutil.copy(ROOT / "conf" / "rotad.conf", tmp_path)
    status, out = check(file)
    assert status == 0, out
    printed = subprocess.run([ROTAD, "-c", file, "--print-config"], text=True, stdout=subprocess.PIPE, check=True,
                             timeout=20).stdout
    assert "worst_case" not in printed


def test_readme_plugin_is_the_example():
    assert readme_block("plugin") == (ROOT / "plugins" / "example" / "disk_room.c").read_text()


@pytest.mark.parametrize("program, page", [("supervisor/rotad", "rotad.8.scd"), ("guard/rota-guard", "rota-guard.8.scd")])
def test_manual_has_every_option(program, page):
    text = subprocess.run([BUILD / "runtime" / program, "--help"], text=True, stdout=subprocess.PIPE,
                          check=True, timeout=20).stdout
    options = set(re.findall(r"--[a-z][a-z-]+", text))
    manual = (ROOT / "docs" / page).read_text()
    assert options and [o for o in sorted(options) if o not in manual] == []


def test_a_kill_by_hand_is_taken_over_and_ctrl_c_leaves_nothing(quickstart):
    process = quickstart("run", "--for", "10m")
    lines = []
    pids = lines_until(process, lines, r"gate-1 is pid (\d+), gate-2 (\d+), gate-3 (\d+)", 20)
    # A run whose lease ends before the next turn falls due: turns are 20 s apart, and the first begins late. At :00 flaky
    # is due, too.
    run = lines_until(process, lines, rf"^\d\d:\d\d:([24])[0-3] ({DEVICE})  long_report: started,"
                                      r" turn of \d\d:\d\d:\1\d UTC", 90)
    # Killed between its work and its report, a turn of another job would rightly be done twice: heartbeat's falls due with
    # it, and the next one 5 s later.
    lines_until(process, lines, rf"{AT}heartbeat: succeeded", 15)
    while at_work(lines, run[2]) != {"long_report"}:
        lines_until(process, lines, "", 5)
    os.kill(int(pids[int(run[2][-1])]), signal.SIGKILL)
    lines_until(process, lines, KINDS["gone"], 5)
    lines_until(process, lines, rf"{AT}long_report: taken over from ", 9)
    took = lines_until(process, lines, r"^-- takeover (\d+\.\d) s after the kill", 2)
    assert float(took[1]) <= 8.0
    os.killpg(process.pid, signal.SIGINT)
    lines += process.communicate(timeout=30)[0].splitlines()
    assert process.returncode == 0, "\n".join(lines)
    assert_shape(lines, ["title", "pids", "started", "gone", "taken over", "takeover", "drawn", "end", "summary"])
    assert_nothing_left(quickstart.tmp)
