# SPDX-License-Identifier: MIT
"""What rotad says of its own: one line a run here, none for turns of others, many like lines counted; each kind that
somebody may look up explained in systemd's catalog."""
import re
import shutil
import subprocess

import pytest

from fleet import LOCAL, ONCE, ROOT, SHORT, now_ms, wait_for
from rotactl import rotactl

MESSAGES = ROOT / "runtime/supervisor/messages.h"
CATALOG = ROOT / "systemd/rota.catalog"
FIELDS = {"ROTA_JOB", "ROTA_TURN", "ROTA_FENCE", "ROTA_ATTEMPT", "ROTA_OUTCOME"}
BURST = 10
INFO = {"log_level": "info"}
# Said at a start, once.
START = r"(^\d+ jobs?; ready as )|(^\w+: there is no record of it)|(^stopping$)|(^jobs of the user \w+ can signal)"
MORE = r" \(the last of (\d+) more of these within "


def family():
    return re.search(r'MESSAGE_FAMILY "(\w+)"', MESSAGES.read_text())[1]


def in_code():
    """{id: name}"""
    found = re.findall(r"^ *MESSAGE_(\w+) =\s*(?:MESSAGE|LIMITED|OVER)\(0x(\w\w)\)", MESSAGES.read_text(), re.M)
    assert len(found) == len({number for _, number in found}) > 50
    return {family() + number: name for name, number in found}


def entries():
    """The catalog's: {id: text}"""
    parts = re.split(r"^-- (\S+)\n", CATALOG.read_text(), flags=re.M)[1:]
    assert len(set(parts[::2])) == len(parts[::2])
    return dict(zip(parts[::2], parts[1::2]))


def test_each_id_is_explained_and_each_explanation_has_one():
    assert len(family()) == 30
    assert entries().keys() == in_code().keys()


def test_each_id_is_used():
    """By name; an end's also by that of its beginning."""
    code = "".join(file.read_text() for file in MESSAGES.parent.glob("*.c"))
    for number, name in in_code().items():
        begin = in_code().get(f"{number[:-2]}{int(number[-2:], 16) - 1:02x}", "")
        ended = "MESSAGE_END_OF" in code and re.search(rf"\bMESSAGE_{begin}\b", code)
        assert re.search(rf"\bMESSAGE_{name}\b", code) or ended, name


def test_explanations_are_whole():
    for number, text in entries().items():
        head, _, body = text.partition("\n\n")
        lines = head.splitlines()
        assert lines[0].startswith("Subject: ") and not lines[0].endswith("."), number
        assert lines[1] == "Defined-By: rota" and lines[2].startswith("Documentation: man:"), number
        assert len(lines) == 3 and body.strip().endswith("."), number
        assert all(len(line) <= 88 for line in text.splitlines()), number
        assert set(re.findall(r"@(\w+)@", text)) <= FIELDS, number


@pytest.mark.skipif(not shutil.which("journalctl"), reason="not installed: journalctl")
def test_systemd_takes_the_catalog(tmp_path):
    folder = tmp_path / "usr/lib/systemd/catalog"
    folder.mkdir(parents=True)
    shutil.copy(CATALOG, folder)

    def journalctl(*words):
        return subprocess.run(["journalctl", f"--root={tmp_path}", *words], check=True, capture_output=True, text=True)

    assert journalctl("--update-catalog").stderr == ""
    listed = journalctl("--list-catalog").stdout.splitlines()
    assert {line.split()[0] for line in listed} == in_code().keys()


def test_each_kind_of_entry_has_its_id(fleet, journal):
    """As the catalog explains it."""
    fleet.make_due("leaves", "fails")
    jobs = {"leaves": {**SHORT, **ONCE, **fleet.body("leaves", "sleep 60 & sleep 60 &")},
            "fails": {**SHORT, **ONCE, "attempts": 1, **fleet.body("fails", "exit 1")}}
    device = journal.start(fleet.device(jobs, **INFO))
    said = [("rotad", "2 jobs; ready as ", "READY"),
            ("leaves", "leaves: processes that outlived its run and were killed: 2", "OUTLIVED"),
            ("leaves", "leaves: succeeded in ", "RUN_DONE"), ("fails", "fails: failed after ", "RUN_FAILED"),
            ("fails", "fails: given up until ", "GIVEN_UP"), ("rotad", "draining: no turns until ", "DRAINING"),
            ("rotad", "jobs take turns again", "UNDRAINED"), ("rotad", "reloaded: 2 jobs", "RELOADED")]
    for _, text, _ in said[:5]:
        journal.wait_message("rotad", text)
    for word in ("drain", "undrain", "reload"):
        assert rotactl(device, word).returncode == 0
    names = in_code()
    for about, text, name in said:
        entry = journal.wait_message("rotad", text)
        assert names[entry["MESSAGE_ID"]] == name
        assert entry.get("ROTA_JOB", "rotad") == about


def own_lines(device):
    """What is not the start's."""
    return [line.text for line in device.lines() if not re.search(START + "|" + re.escape(str(device.conf)), line.text)]


def test_100_turns_are_100_lines(fleet):
    """Of two devices: each run has one line, where it was. Times are long, so that nothing is said of a busy machine."""
    jobs = {f"job{i}": {**SHORT, "worst_case": "50s", "every": "1s", **fleet.body(f"job{i}")} for i in range(10)}
    patient = {"address": fleet.redis.address, "command_timeout": "10s"}
    fleet.make_done(now_ms() // 1000 * 1000, *jobs)
    devices = [fleet.device(jobs, redis=patient, **INFO).start() for _ in range(2)]
    fleet.wait_entry("end", count=100, within=90)
    assert [device.stop() for device in devices] == [0, 0]
    lines = [line for device in devices for line in own_lines(device)]
    runs = [re.match(r"(job\d): (succeeded in|declined after) .*(turn of [^,]*), ", line) for line in lines]
    assert [line for line, run in zip(lines, runs) if not run] == []
    done = [run.group(1, 3) for run in runs if run[2] == "succeeded in"]
    assert len(set(done)) == len(done) <= len(fleet.entries("end")) <= len(runs)


def fails(fleet, text, **more):
    job = {**SHORT, **ONCE, "first": "now", "attempts": 40, **more, **fleet.body("job", text)}
    return fleet.device({"job": job}, **{**LOCAL, **INFO})


def test_a_job_that_fails_all_the_time(fleet):
    """Ten lines, then a number; the turn's end, which is another kind, is said at once."""
    device = fails(fleet, "exit 1").start()
    device.wait_line("job: given up until .* after attempt 40 of 40", within=40)
    assert len(device.lines("job: failed after")) == BURST
    assert device.stop() == 0
    line, = device.lines(MORE)
    assert line.text.startswith("job: failed after ") and ", attempt 40 of 40 (" in line.text
    assert re.search(MORE, line.text)[1] == "30" and line.level == "warning"


def test_the_number_is_told_before_what_ends_it(fleet):
    device = fails(fleet, '[ "$ROTA_ATTEMPT" -gt 25 ] || exit 1').start()
    device.wait_line("job: succeeded in", within=40)
    texts = own_lines(device)
    assert len(texts) == BURST + 2
    assert re.search(MORE, texts[-2])[1] == "15" and ", attempt 25 of 40 (" in texts[-2]
    assert texts[-1].startswith("job: succeeded in ")


def is_asked(client):
    """Whether a device that has connected anew has asked something."""
    return any("eval" in each["cmd"] for each in client.client_list())


def test_a_link_that_flaps(fleet):
    """Beyond ten times neither its ends nor its beginnings are said; but the last state is."""
    jobs = {"tick": {**SHORT, "every": "1s", **fleet.body("tick")}}
    device = fleet.device(jobs).start()
    fleet.wait_entry("end", within=20)
    for flap in range(1, BURST + 4):
        fleet.redis.kill()
        tries = len(device.lines(": still the same "))
        wait_for(lambda: len(device.lines(": still the same ")) > tries, 20, "it is tried again")
        fleet.redis.start()
        wait_for(lambda: is_asked(fleet.client), 20, "it answers again")
        device.wait_line(" answers again ", 10, count=min(flap, BURST))
        assert len(device.lines(" does not answer ")) == len(device.lines(" answers again ")) == min(flap, BURST)
    ran = len(fleet.entries("end"))
    fleet.wait_entry("end", within=20, count=ran + 1)
    assert device.stop() == 0
    line, = device.lines(MORE)
    assert re.search(r" answers again after .*" + MORE, line.text)[1] == "6" and line.level == "notice"
