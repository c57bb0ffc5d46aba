# SPDX-License-Identifier: MIT
"""What is started can be found again, and ended; where the guard could not, nothing is started."""
import os
import subprocess

import guard_harness as h
import pytest
import sandbox
from guard_harness import Guard
from sandbox import AS_OTHER, AS_STRANGER, OTHER, needs_root

pytestmark = needs_root

MAY_SWITCH = sandbox.may_switch_as(OTHER)
HIDDEN = "/proc hides from rotad the processes of its jobs (hidepid, or ProtectProc= of its unit); "


def mounted(options):
    """A program's prefix: its /proc is another one than ours."""
    return ["unshare", "--mount", "sh", "-c", f'mount -t proc -o {options} proc /proc && exec "$@"', "sh"]


def run_tree(place, prefix, **values):
    """A run of a tree of four processes, a daemon among them, that is stopped once it stands: (ENDED, its numbers)."""
    pids = place.open / "pids"
    pids.unlink(missing_ok=True)
    with Guard(prefix=prefix, program=place.guard) as guard:
        guard.start(place.behave, {"as": "tree", "file": str(pids)}, worst_case_ms=1500, stop_grace_ms=300, **values)
        ended = guard.ended()
    return ended, [int(pid) for pid in pids.read_text().split()] if pids.exists() else []


@pytest.mark.parametrize("options", ["hidepid=noaccess", "hidepid=invisible", "hidepid=ptraceable"])
@pytest.mark.parametrize("prefix, values", [(MAY_SWITCH, AS_STRANGER), (AS_OTHER, {})], ids=["another user", "its own user"])
def test_where_it_cannot_be_seen_nothing_is_started(place, options, prefix, values):
    """A worker is hidden from its own user too, since its memory is closed."""
    ended, pids = run_tree(place, [*mounted(options), *prefix], **values)
    assert (ended["how"], pids) == (h.UNSTARTED, [])
    assert ended["detail"].startswith(f"no worker could be started: {HIDDEN}")


@pytest.mark.parametrize("options, prefix, values", [
    ("hidepid=invisible", (), {}), (f"hidepid=invisible,gid={OTHER}", MAY_SWITCH, {}), ("rw", MAY_SWITCH, {"no_network": 1})],
    ids=["root", "a member of its group", "in a user namespace"])
def test_who_sees_it_all_ends_it_all(place, options, prefix, values):
    ended, pids = run_tree(place, [*mounted(options), *prefix], **AS_STRANGER, **values)
    assert (ended["stop"], ended["clean"], len(pids)) == (h.STOP_OVERRUN, 1, 4)
    assert not any(map(h.is_alive, pids))


def test_who_may_not_kill_it_does_not_start_it(place):
    rights = "-all,+setuid,+setgid"
    ended, pids = run_tree(place, [*AS_OTHER, f"--inh-caps={rights}", f"--ambient-caps={rights}"], **AS_STRANGER)
    assert (ended["how"], pids) == (h.UNSTARTED, [])
    assert ended["detail"] == ("no worker could be started: rotad may not kill what another user runs; give it the ambient "
                               "capability CAP_KILL")


def test_who_may_not_kill_it_says_so_before(place):
    """At rotad's start, at a reload and to --check; of a job of its own user there is nothing to say."""
    rights = "-all,+setuid,+setgid"
    with Guard("--probe", prefix=[*AS_OTHER, f"--inh-caps={rights}", f"--ambient-caps={rights}"],
               program=place.guard) as guard:
        answer = guard.probe(place.behave, {"as": "answer"}, **AS_STRANGER)
        assert (answer["loaded"], [text for _, text in answer["errors"]]) == (
            0, ["rotad may not kill what another user runs; give it the ambient capability CAP_KILL"])
        assert guard.probe(place.behave, {"as": "answer"}, index=1)["loaded"] == 1


def test_a_plugin_is_tried_by_hand(place):
    """By its author, who sees processes of his own."""
    out = subprocess.run([*mounted("hidepid=invisible"), *AS_OTHER, place.guard, "--try", place.behave, "as=answer"],
                         capture_output=True, text=True, timeout=20, check=False)
    assert out.returncode == 0, out.stderr


def test_a_proc_of_other_numbers(place):
    """Of another pid namespace, where the guard's own number is somebody else's."""
    ended, pids = run_tree(place, ["unshare", "--pid", "--fork"], **AS_STRANGER)
    assert (ended["how"], pids) == (h.UNSTARTED, [])
    assert ended["detail"] == "no worker could be started: /proc is not mounted, or is that of another pid namespace"


def test_a_probe_that_hangs_is_ended_all_the_same(place):
    plugin = h.compile_plugin(place.folder, h.PLUGINS / "broken.c", "hangs_hidden", ["HANGS"])
    with Guard("--probe", prefix=[*mounted("hidepid=invisible"), *MAY_SWITCH], program=place.guard) as guard:
        assert guard.probe(plugin, **AS_STRANGER)["loaded"] == 0
        child = [pid for pid in h.descendants(guard.process.pid) if h.is_alive(pid) and os.getpgid(pid) == pid]
        assert child == []
        guard.close()
        assert guard.process.wait(5) == 0
