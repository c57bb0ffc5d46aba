# SPDX-License-Identifier: MIT
"""1,000 jobs in 20 files: READY at once, the probes after it, no CPU while idle, under 1 KiB a job. And what TLS costs."""
import collections
import shutil
import ssl
import time

import pytest

from fleet import SANITIZED
from guard_harness import EXEC, Guard, dirty_kib
from measure_idle import FEW, MANY, idle_ticks, started
from tls import Authority, TlsServer, redis_by_tls

pytestmark = pytest.mark.skipif(
    SANITIZED, reason="a sanitizer's time and memory are its own; the release build is measured")

READY_SECONDS = 1
IDLE_SECONDS = 10
# One may be the watchdog's or hello's.
IDLE_TICKS_MAX = 1
IDLE_KIB_MAX = 400
# With TLS and one CA's file. Two thirds of it are OpenSSL's: relocations, and a table of all that it can do. 3.5 can
# do more than 3.0.
TLS_KIB_MAX = 1331 if ssl.OPENSSL_VERSION_INFO < (3, 1) else 1700
JOB_BYTES_MAX = 1024
PROBES = 200
# About 6 on a quiet machine; 1 where each job loads the file anew.
PROBE_RATIO_MIN = 2

Figures = collections.namedtuple("Figures", "ready_s status_at_ready guards dirty_kib idle_ticks")


def measure(count, idle_seconds, server=None, **top):
    with started(count, server, **top) as one:
        ticks = idle_ticks(one.device.pid, idle_seconds)
        return Figures(one.ready_s, one.status_at_ready, len(one.guards), dirty_kib(one.device.pid), ticks)


@pytest.fixture(scope="module")
def many():
    return measure(MANY, IDLE_SECONDS)


@pytest.fixture(scope="module")
def few():
    return measure(FEW, 2)  # what the start took is given back when nothing is due within a second


def test_ready_at_once(many):
    assert many.ready_s < READY_SECONDS


def test_probes_come_after_ready(many):
    assert "plugins are being probed" in many.status_at_ready
    assert many.guards > 0  # they are looked for from READY on


def test_one_guard_a_plugin_file(many):
    assert many.guards == 2


def test_no_cpu_while_idle(many):
    assert many.idle_ticks <= IDLE_TICKS_MAX


def test_few_jobs_are_small(few):
    assert few.dirty_kib < IDLE_KIB_MAX


def test_tls_is_affordable():
    with Authority() as ca:
        server = TlsServer(ca.issue("127.0.0.1"))
        by_tls = measure(FEW, 2, server, redis=redis_by_tls(server, ca))
    print(f"{by_tls.dirty_kib} KiB with TLS")
    assert by_tls.dirty_kib < TLS_KIB_MAX


def test_a_job_is_small(many, few):
    a_job = (many.dirty_kib - few.dirty_kib) * 1024 // (MANY - FEW)
    print(f"{few.dirty_kib} KiB with {FEW} jobs, {many.dirty_kib} KiB with {MANY}: {a_job} bytes each")
    assert a_job < JOB_BYTES_MAX


def probe_ms(*files):
    """Of one job, where the guard is asked about the files in turn."""
    with Guard("--probe") as guard:
        begin = time.monotonic()
        for i in range(PROBES):
            answer = guard.probe(files[i % len(files)], {"command": ["/bin/echo", str(i)]}, index=i)
            assert answer["errors"] == []
        return (time.monotonic() - begin) * 1000 / PROBES


def test_a_file_is_loaded_once_for_its_jobs(tmp_path):
    second = shutil.copy(EXEC, tmp_path / "second.so")
    once, anew = probe_ms(EXEC), probe_ms(EXEC, second)
    print(f"a job's probe takes {once:.2f} ms; {anew:.2f} ms where the file is loaded for it")
    assert anew / once > PROBE_RATIO_MIN
