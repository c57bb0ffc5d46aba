# SPDX-License-Identifier: MIT
"""Runs of the plugin pg_fenced, for the tests of it: guard_harness plays the supervisor."""
import guard_harness as h
from fleet import SLOWNESS
from guard_harness import ROOT, Guard

FENCED = h.BUILD / "plugins" / "pg_fenced.so"
TABLE = (ROOT / "plugins" / "pg_fenced" / "rota_fence.sql").read_text()
TURN = 1795967400000
WORK = "INSERT INTO done SELECT current_setting('rota.fence')::bigint"
PARAMS = ("connection", "service", "password_file", "connect_timeout", "sql", "sql_file", "fence_table",
          "fence_name")


def start(guard, server, sql=WORK, **values):
    """The plugin's parameters by their names, all else is the run's own; None: not given. Without a server for what does
    not get so far."""
    params = {"connection": server and server.connection, "sql": sql}
    params.update((name, values.pop(name)) for name in PARAMS if name in values)
    return guard.start(FENCED, {name: value for name, value in params.items() if value is not None},
                       **{"worst_case_ms": 60000, **values})


def logs(guard):
    return [frame["text"] for frame in guard.frames if frame["type"] == h.LOG]


def end_of(guard, seconds=60):
    """The run's result, its reason, and what it has logged."""
    ended = guard.ended(seconds * SLOWNESS)
    assert ended["how"] == h.RETURNED, ended
    return ended["result"], ended["detail"], logs(guard)


def fenced(server, sql=WORK, **values):
    """A whole run."""
    with Guard() as guard:
        start(guard, server, sql, **values)
        return end_of(guard)


def check(**params):
    """What the plugin says of its parameters, before anything runs."""
    with Guard("--probe") as guard:
        errors = guard.probe(FENCED, params)["errors"]
        guard.close()
    return "; ".join(text for _, text in errors)


def written(server):
    return [int(fence) for (fence,) in server.query("SELECT fence FROM done ORDER BY fence")]


def sessions(server, more="true"):
    """Of everybody else."""
    return int(server.value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND "
                            f"pid <> pg_backend_pid() AND {more}"))
