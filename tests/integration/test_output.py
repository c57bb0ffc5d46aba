# SPDX-License-Identifier: MIT
"""What a job writes: in the journal as its own, bounded whatever it is, and the end of it never lost."""
import os
import pathlib
import re
import shutil
import signal

import pytest

import guard_harness as h
from fleet import LOCAL, ONCE, SANITIZED, SHORT, wait_for

LONG = {**SHORT, "worst_case": "1m"}
ONE_TRY = {**ONCE, "attempts": 1}
LEFT_OUT = re.compile(r"report\| \((\d+) lines? w(?:as|ere) left out\)")


def report(fleet, text, kind=SHORT, top=(), **more):
    """A device, not started, whose job 'report' is due."""
    fleet.make_due("report")
    return fleet.device({"report": {**kind, **ONE_TRY, **fleet.body("report", text), **more}}, **dict(top))


def ended(fleet):
    """How it ended, once its record is in Redis."""
    return fleet.wait_history("report", within=40)[0]


def test_lines_are_entries_of_the_job(fleet, journal):
    journal.start(report(fleet, "printf 'plain\\n<3>disk full\\n<7>detail\\n<8>no level\\n  indented\\n\\n<4>\\na\\tb\\n';"
                                "sleep 0.2; echo aside >&2; printf 'no end'"))
    ended(fleet)
    entries, claim = journal.entries("report"), fleet.claim("report")
    assert [(entry["MESSAGE"], entry["PRIORITY"]) for entry in entries] == [
        ("plain", "6"), ("disk full", "3"), ("detail", "7"), ("<8>no level", "6"), ("  indented", "6"), ("a b", "6"),
        ("aside", "6"), ("no end", "6")]
    fence = fleet.history("report")[0]["fence"]
    for entry in entries:
        assert {name: value for name, value in entry.items() if name not in ("MESSAGE", "PRIORITY")} == {
            "SYSLOG_IDENTIFIER": "report", "ROTA_JOB": "report", "ROTA_TURN": claim["turn"], "ROTA_FENCE": fence,
            "ROTA_ATTEMPT": "1"}
    own = journal.wait_message("rotad", "report: succeeded")
    assert own["ROTA_JOB"] == "report" and own["ROTA_OUTCOME"] == "succeeded"


def test_where_there_is_no_fence_there_is_no_field(fleet, journal):
    journal.start(report(fleet, "echo here", lock="none", first="now"))
    entry = journal.wait_message("report", "here")
    assert "ROTA_FENCE" not in entry and entry["ROTA_JOB"] == "report"


def test_lines_bear_the_name_where_there_is_no_journal(fleet):
    device = report(fleet, "printf 'plain\\n<3>disk full\\n'").start()
    ended(fleet)
    assert [(line.level, line.text) for line in device.lines(r"^report\|")] == [
        ("info", "report| plain"), ("error", "report| disk full")]


def test_no_line_passes_for_anything_else(fleet, journal):
    forged = (r"x\nMESSAGE=forged\nSYSLOG_IDENTIFIER=sshd\n\nMESSAGE\n\006\000\000\000\000\000\000\000forged\nPRIORITY=0\n"
              r"\033[2J\033]0;title\007\r\377\302\233\342\200\256\303\n")
    journal.start(report(fleet, f"printf '{forged}'"))
    ended(fleet)
    assert journal.messages("report") == [
        "x", "MESSAGE=forged", "SYSLOG_IDENTIFIER=sshd", "MESSAGE",
        r"\x06\x00\x00\x00\x00\x00\x00\x00forged", "PRIORITY=0",
        r"\x1b[2J\x1b]0;title\x07\x0d\xff\xc2\x9b\xe2\x80\xae\xc3"]
    assert {entry["SYSLOG_IDENTIFIER"] for entry in journal.entries("report") + journal.entries("rotad")} == {
        "report", "rotad"}
    assert len(journal.entries("report")) + len(journal.entries("rotad")) == len(journal.received)


def test_log_level_is_for_jobs_too(fleet, journal):
    journal.start(report(fleet, "printf 'plain\\n<5>notice\\n<4>warning\\n<0>worst\\n'", top={"log_level": "warning"}))
    ended(fleet)
    assert journal.messages("report") == ["warning", "worst"]


def test_log_of_a_plugin(fleet, folder, journal):
    shutil.copy(h.compile_plugin(folder, h.PLUGINS / "behave.c"), fleet.plugins)
    journal.start(report(fleet, "", plugin="behave", params={"as": "chatty"}))
    entry = journal.wait_message("report", "half 5")
    assert (entry["PRIORITY"], entry["ROTA_ATTEMPT"]) == ("4", "1")


def peak_kb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])


@pytest.mark.skipif(SANITIZED, reason="a sanitizer has its own memory")
def test_a_line_of_100_megabytes(fleet):
    go = fleet.folder / "go"
    device = report(fleet, "fill() { head -c $1 /dev/zero | tr '\\0' x; }; fill 1000000; echo; note first;"
                           f"while [ ! -e '{go}' ]; do sleep 0.05; done;"
                           "fill 100000000; echo; note second; sleep 0.3", LONG).start()
    fleet.wait_entry("first", within=20)
    device.wait_line(r"^report\| x+\.\.\. \(998100 bytes more\)$")
    both = [device.pid, *device.guards()]
    before = [peak_kb(pid) for pid in both]
    go.touch()
    device.wait_line(r"^report\| x+\.\.\. \(99998100 bytes more\)$", within=40)
    after = [peak_kb(pid) for pid in both]
    assert len(both) == 2 and all(late <= early + 128 for early, late in zip(before, after)), (before, after)
    assert ended(fleet)["outcome"] == "succeeded"


@pytest.mark.parametrize("kept", [20, 3, 0])
def test_the_end_of_a_flood_is_told(fleet, kept):
    """The one line that matters comes last, as a rule."""
    lines = 100_000
    device = report(fleet, f"seq {lines - 1}; echo '<3>no way out'; exit 1", LONG, output_lines=kept).start()
    end = ended(fleet)
    told, left_out = [], 0
    for line in device.lines(r"^report\|"):
        gap = LEFT_OUT.fullmatch(line.text)
        if gap:
            left_out += int(gap[1])
        else:
            told.append(line.text.removeprefix("report| "))
    assert len(told) + left_out == lines
    # 200 at once, 50 a second, and the last ones.
    assert 200 <= len(told) <= 200 + 50 * (1 + int(end["ran"]) // 1000) + kept
    assert told[:200] == [str(number) for number in range(1, 201)]
    numbers = [int(line) for line in told if line.isdigit()]
    assert numbers == sorted(set(numbers))
    assert kept == 0 or told[-kept:] == [*map(str, range(lines - kept + 1, lines)), "no way out"]
    assert end["detail"] == ("no way out (exit status 1)" if kept else "exit status 1")


def test_the_reason_is_fit_for_a_terminal(fleet):
    report(fleet, r"printf '<3>\033[2J'; printf '\303\274%.0s' $(seq 300); printf '\n  \n\n'; exit 1").start()
    detail = ended(fleet)["detail"]
    assert re.fullmatch(r"\\x1b\[2Jü{90,}\.\.\. \(exit status 1\)", detail)
    assert len(detail.encode()) <= 256
    assert fleet.claim("report")["detail"] == detail


PLUGIN = r"""
#include <rota/plugin.h>
static int run(const struct rota_run *r)
{
    rota_log(r, 9, "%s", "no such level\nMESSAGE=forged");
    return rota_fail(r, ROTA_FAILED, "%s", "no \033[2J way\nout \377");
}
extern const struct rota_plugin rota_plugin;
ROTA_PLUGIN(.name = "rude", .version = "1", .summary = "Says what it should not.", .run = run);
"""


def test_what_a_plugin_says_is_fit_for_a_terminal(fleet, folder, journal):
    shutil.copy(h.compile_text(folder, "rude", PLUGIN), fleet.plugins)
    journal.start(report(fleet, "", plugin="rude", params={}))
    reason = r"no \x1b[2J way\x0aout \xff"
    assert ended(fleet)["detail"] == fleet.claim("report")["detail"] == reason
    [entry] = journal.entries("report")
    assert (entry["MESSAGE"], entry["PRIORITY"]) == (r"no such level\x0aMESSAGE=forged", "7")
    assert reason in journal.wait_message("rotad", "report: failed after")["MESSAGE"]


def test_what_was_said_before_the_guard_died(fleet):
    device = report(fleet, "echo first; echo '<3>last words'; note ready; sleep 30", LONG).start()
    device.wait_line(r"^report\| last words$")
    [guard] = device.guards()
    os.kill(guard, signal.SIGKILL)
    assert ended(fleet)["detail"] == "its guard was killed by signal 9: last words"
    wait_for(lambda: not device.guards(), 10, "nothing is left of the run")


def test_what_was_said_last_is_kept_whole_and_for_its_run_alone(fleet):
    began = fleet.folder / "began"
    body = fleet.body("report", f"if [ ! -e '{began}' ]; then touch '{began}'; printf '%1900s\\n' | tr ' ' x; sleep 0.2; fi;"
                                "note ready; sleep 30")
    job = {**SHORT, "every": "4s", "worst_case": "4s", "attempts": 1, "output_lines": 1, **body}
    device = fleet.device({"report": job}, **LOCAL).start()
    for run, last in enumerate((": x+", ""), 1):
        fleet.wait_entry("ready", within=20, count=run)
        [guard] = device.guards()
        os.kill(guard, signal.SIGKILL)
        device.wait_line(rf"^report: crashed .*its guard was killed by signal 9{last}[^:x]", within=20)
    assert device.lines(r"^report\| x{1900}$")
