# SPDX-License-Identifier: MIT
"""How the soak reads a server's MONITOR."""
import hashlib
import io
import json
import pathlib
import sys
import types

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parents[1] / "integration")]
import watch  # noqa: E402

BODY = "local t = {'a]'} -- \"q\"\n"
TEXT = r"""+OK
+1796094417.782751 [0 10.77.1.10:32888] "EVAL" "local t = {'a]'} -- \"q\"\n" "1" "soak:{tick}:lock" "d10:ab"
+1796094417.782760 [0 lua] "GET" "soak:{tick}:lock"
+1796094417.782761 [0 lua] "SET" "soak:{tick}:lock" "d10:ab" "PX" "2850"
+1796094417.782762 [0 lua] "HSET" "soak:{tick}:claim" "turn" "1"
+1796094418.000001 [0 10.77.1.2:5] "evalsha" "5df0c8d9aabb" "1" "soak:{tick}:lock"
+1796094418.000002 [0 lua] "DEL" "soak:{tick}:lock"
+1796094419.000000 [0 unix:/a b/socket] "del" "soak:{seats}:seats"
"""


def test_lines_of_monitor():
    out = io.StringIO()
    watch.Watch._monitor(types.SimpleNamespace(name="a"), TEXT.splitlines(True), out)
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    sha = hashlib.sha1(BODY.encode()).hexdigest()[:8]
    assert [(row["client"], row["script"], row["words"]) for row in rows] == [
        ("10.77.1.10:32888", sha, ["SET", "soak:{tick}:lock", "d10:ab", "PX", "2850"]),
        ("10.77.1.2:5", "5df0c8d9", ["DEL", "soak:{tick}:lock"]),
        ("unix:/a b/socket", None, ["del", "soak:{seats}:seats"])]
    assert [row["server_us"] for row in rows] == [1796094417782761, 1796094418000002, 1796094419000000]
    assert {row["server"] for row in rows} == {"a"}
