# SPDX-License-Identifier: MIT
"""S49, in seconds for minutes: half the fleet has a job every 2 s, half every 4 s, by another offset; then one half
has it under another lock."""
from fleet import SHORT, wait_for

MIXED = "this device has it by configuration .* by .*; it runs by both until"


def test_s49_two_schedules_are_both_kept(fleet):
    fleet.make_due("tick")
    body = fleet.body("tick")
    ones = {"tick": {**SHORT, "every": "2s", "splay": "50ms", **body}}
    others = {"tick": {**SHORT, "every": "4s", "offset": "1s", "splay": "50ms", **body}}
    devices = [fleet.device(ones if place % 2 else others).start() for place in range(4)]
    wait_for(lambda: len(set(fleet.runs())) >= 18, 60, "18 turns")
    runs = fleet.runs()
    assert len(runs) == len(set(runs))
    for every, offset in ((2000, 0), (4000, 1000)):
        turns = [turn for turn in runs if turn % every == offset][2:]
        assert len(turns) >= 3
        assert turns == sorted(turns)
        # Where a start is more than a second late, the other half's next turn has passed it.
        assert 5 * len(turns) >= 3 * ((turns[-1] - turns[0]) // every + 1), "neither is kept from its turns by the other"
    for device in devices:
        assert len(device.wait_line(MIXED).text) > 0
        assert len(device.lines(MIXED)) == 1
    assert not [line for device in devices for line in device.complaints() if "it runs by both" not in line.text
                and "longer than the period" not in line.text]


def told(fleet, count):
    wait_for(lambda: fleet.client.zcard("test:{_fleet}:seen") == count, 10, f"{count} configurations are told")


def test_s49_another_lock_is_found_by_hello_and_one_side_goes_on(fleet):
    """Whoever comes later: the lock that goes first is one of the job's own."""
    fleet.redis.allow("~test:another")
    fleet.make_due("tick")
    body = fleet.body("tick")
    own = {"tick": {**SHORT, "every": "2s", "splay": "50ms", **body}}
    shared = {"tick": {**SHORT, "every": "2s", "splay": "50ms", "lock_key": "test:another", **body}}
    values = 'this device has {}, and others have {}, so that'
    first = fleet.device(shared).start()
    first.wait_line("succeeded")
    told(fleet, 1)
    second = fleet.device(own).start()
    line = second.wait_line("run here, and not there once they know of it: " + values.format("no lock_key", 'lock_key = "test:another"'))
    assert line.level == "error"
    second.wait_line("succeeded")
    first.stop()
    first.start()  # its next hello
    line = first.wait_line("not run here: " + values.format('lock_key = "test:another"', "no lock_key"))
    assert line.level == "error"
    before, ran = len(first.lines("succeeded")), len(fleet.runs())
    wait_for(lambda: len(fleet.runs()) >= ran + 2, 20, "the other side goes on")
    assert len(first.lines("not run here")) == 1
    assert len(first.lines("succeeded")) == before
    assert len(second.lines("run here, and not there")) == 1


def test_what_a_lone_device_had_before_it_was_edited_is_not_anothers(fleet):
    fleet.redis.allow("~test:another")
    fleet.make_due("tick")
    fast = {**SHORT, "every": "1s", "splay": "50ms", **fleet.body("tick")}
    device = fleet.device({"tick": fast}).start()
    device.wait_line("succeeded")
    told(fleet, 1)
    device.stop()
    device.write({"tick": {**fast, "every": "2s", "lock_key": "test:another"}})
    device.start()
    ran = len(fleet.runs())
    wait_for(lambda: len(fleet.runs()) >= ran + 2, 20, "it goes on")
    told(fleet, 1)
    assert not device.lines("another device|others have")


def test_s49_another_scope_is_a_mismatch_and_overlaps_with_nothing(fleet):
    body = fleet.body("tick", "sleep 0.7")
    of_fleet = {"tick": {**SHORT, "every": "2s", "splay": "50ms", **body}}
    of_device = {"tick": {**SHORT, "every": "2s", "splay": "50ms", "scope": "device", **body}}
    devices = [fleet.device(of_device if place % 2 else of_fleet).start() for place in range(4)]
    fleet.wait_entry("end", count=8, within=40)
    for device in devices:
        # Once it is refused: by lot it may get several turns before.
        said = device.wait_line('not run here: this device has scope = "(fleet|device)", and .* runs it by scope = ', 60)
        assert said.level == "error"
        assert len(device.lines("not run here")) == 1
    ends = {entry.pid: entry.at for entry in fleet.entries("end")}
    spans = sorted((entry.at, ends[entry.pid]) for entry in fleet.entries("begin") if entry.pid in ends)
    assert all(end <= begin for (_, end), (begin, _) in zip(spans, spans[1:])), "no two at once"
