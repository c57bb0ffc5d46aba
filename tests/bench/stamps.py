# SPDX-License-Identifier: MIT
"""What the plugin stamp (stamp.c) wrote, and what Redis was sent meanwhile."""
import collections
import pathlib
import re

import guard_harness as h
from redis_server import Monitor

HERE = pathlib.Path(__file__).resolve().parent

Stamp = collections.namedtuple("Stamp", "job device turn attempt pid begin end")
Sent = collections.namedtuple("Sent", "at words")

LINE = re.compile(r"^\+(\d+)\.(\d{6}) \[\d+ ([^\]]*)\] (.*)$")


class Stamps:
    """The file of one fleet, and the plugin among that fleet's."""

    def __init__(self, fleet):
        self.path = fleet.folder / "stamps"
        self.path.touch()
        h.compile_plugin(fleet.plugins, HERE / "stamp.c")

    def job(self, hold=False, **settings):
        return {"plugin": "stamp", "params": {"file": self.path, "hold": hold}, "worst_case": "300ms",
                "stop_grace": "50ms", **settings}

    def all(self):
        """Of whole lines."""
        whole = self.path.read_text().rpartition("\n")[0]
        return [Stamp(job, device, *map(int, rest)) for job, device, *rest in map(str.split, whole.splitlines())]

    def count(self):
        return self.path.read_bytes().count(b"\n")


class Wire(Monitor):
    """The commands that clients sent, and when by Redis's own clock (us); not what a script calls."""

    def __init__(self, server):
        self.sent = []
        super().__init__(server)

    def take(self, line):
        match = LINE.match(line)
        if match and match[3] != "lua":
            self.sent.append(Sent(int(match[1] + match[2]), re.findall(r'"((?:[^"\\]|\\.)*)"', match[4])))

    def of_script(self, keys):
        """[(us, job, words)]: the scripts on a job's lock that take so many keys. acquire has 5, finish 3."""
        return [(at, job_of(words[3]), words) for at, words in list(self.sent)
                if words[0].upper() == "EVALSHA" and words[2] == str(keys) and words[3].endswith(":lock")]

    def of_index(self):
        """When the fleet's index was told of a job's newest turn."""
        return [sent.at for sent in list(self.sent) if sent.words[0].upper() == "EVALSHA" and sent.words[2] == "1"
                and sent.words[3].endswith("{_fleet}:jobs")]

    def acquires(self):
        return self.of_script(5)

    def finishes(self):
        return self.of_script(3)


def job_of(key):
    return key.partition("{")[2].partition("}")[0]
