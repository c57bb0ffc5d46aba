# SPDX-License-Identifier: MIT
"""What a device remembers of a job's runs and turns, by the control socket's method Past."""
import collections
import struct

from fleet import LOCAL, ONCE, RENEWED, SHORT, wait_for
from rotactl import GREETING, Raw, begin, method_call, rotactl, wait_started

Past = collections.namedtuple("Past", "runs times advice counts least_left_ms")
Run = collections.namedtuple("Run", "turn attempt ran_ms outcome why")


class Body:
    """D-Bus's way to write values, read."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def align(self, size):
        self.at += -self.at % size

    def number(self, kind):
        size = struct.calcsize(kind)
        self.align(size)
        self.at += size
        return struct.unpack_from("<" + kind, self.data, self.at - size)[0]

    def text(self):
        size = self.number("I")
        self.at += size + 1
        return self.data[self.at - size - 1:self.at - 1].decode()

    def each(self, one):
        size = self.number("I")
        self.align(8)
        end, found = self.at + size, []
        while self.at < end:
            self.align(8)
            found.append(one())
        return found

    def past(self):
        runs = self.each(lambda: Run(self.number("q"), self.number("I"), self.number("q"), self.text(), self.text()))
        self.align(8)
        times = [self.number(kind) for kind in "qqqI"]
        self.align(8)
        advice = self.text(), self.text(), self.text()
        counts = dict(self.each(lambda: (self.text(), self.number("I"))))
        return Past(runs, times, advice, counts, self.number("q"))


def ask(device, job):
    """The reply's kind, 2 where it is one and 3 where it is an error, and its body."""
    with Raw(device, GREETING + method_call("Past", argument=job)) as client:
        greeted = client.receive_until(b"l")  # the first byte of a message, and of no greeting
        message = greeted[greeted.index(b"l"):]
        while len(message) < 16 or len(message) < sum(sizes_of(message)):
            message += client.socket.recv(65536)
        head, _ = sizes_of(message)
        return message[1], message[head:]


def sizes_of(message):
    body, _, fields = struct.unpack_from("<III", message, 4)
    return (16 + fields + 7) // 8 * 8, body


def past_of(device, job):
    kind, body = ask(device, job)
    assert kind == 2
    return Body(body).past()


def test_runs_times_and_counts(fleet):
    count = fleet.folder / "count"
    body = f"echo x >>{count}; [ $(wc -l <{count}) -gt 2 ] && exit 0; echo 'no \\033space'; exit 1"
    jobs = {"job": {**SHORT, **ONCE, "first": "now", **fleet.body("job", body)},
            "idle": {**SHORT, **ONCE, **fleet.body("idle")}}
    device = wait_started(fleet.device(jobs, **LOCAL).start())
    device.wait_line("^job: succeeded in .*, attempt 3 of 3", 20)
    past = past_of(device, "job")
    assert [(run.attempt, run.outcome) for run in past.runs] == [(3, "succeeded"), (2, "failed"), (1, "failed")]
    assert [run.why for run in past.runs] == ["", *["no \\x1bspace (exit status 1)"] * 2]
    assert len({run.turn for run in past.runs}) == 1 and past.runs[0].turn % 86_400_000 == 0
    assert all(0 < run.ran_ms < 2000 for run in past.runs)
    median, most, longest, runs = past.times
    assert 0 < median <= most <= longest == past.runs[0].ran_ms and runs == 1
    assert (past.counts["succeeded"], past.counts["failed"]) == (1, 2)
    assert past.advice == ("", "", "") and past.counts["renewals"] == 0
    idle = past_of(device, "idle")
    assert (idle.runs, idle.times) == ([], [0, 0, 0, 0])
    assert idle.counts.keys() == past.counts.keys() and idle.counts["succeeded"] == 0
    assert ask(device, "other")[0] == 3


def test_renewals_and_what_was_left(fleet):
    """Of a lease of 3 s, renewed each second: it would have been stopped 550 ms before its end."""
    jobs = {"job": {**RENEWED, **ONCE, "first": "now", **fleet.body("job", "sleep 20")}}
    device = wait_started(fleet.device(jobs).start())
    past = wait_for(lambda: (lambda found: found.counts["renewals"] >= 2 and found)(past_of(device, "job")), 20,
                    "it is renewed")
    assert 0 < past.least_left_ms <= 1450
    assert past.runs == []


def test_turns_of_others(fleet):
    jobs = {"job": {**SHORT, **ONCE, "first": "now", **fleet.body("job")}}
    fleet.device(jobs).start()
    fleet.wait_entry("end", "job", 20)
    other = wait_started(fleet.device(jobs).start())
    wait_for(lambda: past_of(other, "job").counts["passed_done"] == 1, 20, "it has heard that the turn is done")


def test_a_drain_forgets_what_a_reload_would(fleet):
    """Of a job that comes back as another one."""
    kept, changed, renamed = ({**SHORT, **ONCE, "first": "now", **fleet.body(name)} for name in ("kept", "changed", "went"))
    device = wait_started(fleet.device({"kept": kept, "changed": changed, "went": renamed}, **LOCAL).start())
    fleet.wait_entry("end", "went", 20)
    for job in ("kept", "changed", "went"):
        device.wait_line(f"^{job}: succeeded", 20)
    assert rotactl(device, "drain").returncode == 0
    device.write({"kept": {**kept, "description": "The same."}, "changed": {**changed, "stop_grace": "200ms"}}, **LOCAL)
    assert rotactl(device, "reload").returncode == 0
    assert rotactl(device, "undrain").returncode == 0
    wait_for(lambda: ask(device, "changed")[0] == 2, 20, "it takes turns again")
    assert [run.outcome for run in past_of(device, "kept").runs] == ["succeeded"]
    assert past_of(device, "changed").runs == []
    # Nothing of it is left for one by its name.
    device.write({"kept": kept, "went": renamed}, **LOCAL)
    assert rotactl(device, "reload").returncode == 0
    wait_for(lambda: ask(device, "went")[0] == 2, 20, "it takes turns")
    assert past_of(device, "went").runs == []
    assert device.stop() == 0


def test_a_drain_that_ends_before_its_last_run_forgets_nothing(fleet):
    body = 'while [ ! -e "$ROTA_TEST/free" ]; do sleep 0.05; done'
    fleet.make_due("job")
    device = wait_started(fleet.device({"job": {**SHORT, **ONCE, "worst_case": "60s", **fleet.body("job", body)}}).start())
    fleet.wait_entry("begin", "job", 20)
    drain = begin(device, "drain")
    device.wait_line("^draining", 20)
    assert rotactl(device, "undrain").returncode == 0
    drain.communicate(timeout=60)
    (fleet.folder / "free").touch()
    device.wait_line("^job: succeeded", 20)
    wait_for(lambda: ask(device, "job")[0] == 2 and past_of(device, "job").runs, 20, "its run is remembered")


def test_advice_as_a_conf_file_has_it(fleet):
    jobs = {"job": {**SHORT, **ONCE, "first": "now", "worst_case": "4s", **fleet.body("job", "sleep 3.5")}}
    device = wait_started(fleet.device(jobs, **LOCAL).start())
    device.wait_line("^job: its longest run took", 20)
    assert past_of(device, "job").advice == ("worst_case", "6s", "")
