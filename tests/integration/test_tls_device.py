# SPDX-License-Identifier: MIT
"""TLS on whole devices."""
import signal
import subprocess
import time

import pytest

from clock.virtual_clock import VirtualClock
from fleet import ONCE, RENEWED, ROTAD, SHORT, Fleet, now_ms
from tls import DAY, Authority, Pipe, TlsServer, redis_by_tls

SURE = {"every": "5m", "worst_case": "1s", "plugin": "exec", "params": {"command": ["/bin/true"]}}


@pytest.fixture(scope="module")
def ca():
    with Authority() as authority:
        yield authority


@pytest.fixture
def by_tls(ca, request):
    """A fleet whose Redis has TLS too. Its certificate's begin and end may be given, in days from now."""
    days = getattr(request, "param", {})
    server = TlsServer(ca.issue("127.0.0.1", **{key: time.time() + number * DAY for key, number in days.items()}))
    try:
        fleet = Fleet(server.start())
        try:
            yield fleet
        finally:
            fleet.close()
    finally:
        server.close()


def tls(fleet, ca, **more):
    return {"redis": redis_by_tls(fleet.redis, ca, **more)}


def test_a_turn_is_run_by_tls(by_tls, ca):
    device = by_tls.device({"report": {**SHORT, **ONCE, "first": "now", **by_tls.body("report")}}, **tls(by_tls, ca))
    device.start()
    device.wait_line("report: succeeded")
    [listed] = [each for each in by_tls.client.client_list() if each["name"] == device.name]
    assert listed["laddr"] == by_tls.redis.tls_address  # not by its unix socket
    assert device.stop() == 0
    assert device.complaints() == []


def test_a_long_run_is_renewed_and_survives_a_restart_of_redis(by_tls, ca):
    body = by_tls.body("report", "sleep 5")
    device = by_tls.device({"report": {**RENEWED, **ONCE, "first": "now", **body}}, **tls(
        by_tls, ca, connect_timeout="300ms", command_timeout="300ms"))
    device.start()
    device.wait_line("report: started")
    by_tls.client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    device.wait_line("report: succeeded", within=15)
    assert device.lines("report: lost") == []


def test_redis_comes_late_and_goes(by_tls, ca):
    server = by_tls.redis
    server.kill()
    device = by_tls.device({"report": {**SHORT, **ONCE, "first": "now", **by_tls.body("report")}}, **tls(by_tls, ca))
    device.start()
    device.wait_line("does not answer .*refused")
    server.start()
    device.wait_line("report: succeeded")
    server.kill()
    server.start()
    device.wait_line("127.0.0.1:.*answers again")


@pytest.mark.parametrize("by_tls", ({"begins": -7},), indirect=True)
def test_a_clock_of_1970_does_no_harm(by_tls, ca):
    """The certificate was valid on the day of the build, which may have been yesterday, and the fleet's time is
    Redis's."""
    clock = VirtualClock(by_tls.folder)
    clock.set(5_000_000)
    device = by_tls.device({"report": {**SHORT, **ONCE, "first": "now", **by_tls.body("report")}}, **tls(by_tls, ca))
    device.start(clock=clock)
    device.wait_line("report: succeeded")


@pytest.mark.parametrize("by_tls", ({"begins": 2, "ends": 4},), indirect=True)
def test_a_certificate_of_the_future_is_a_state_of_its_own(by_tls, ca):
    clock = VirtualClock(by_tls.folder)
    clock.set(5_000_000)
    device = by_tls.device({"report": {**SHORT, **ONCE, "first": "now", **by_tls.body("report")}}, **tls(by_tls, ca))
    device.start(clock=clock)
    line = device.wait_line("cannot be used: its certificate is not valid before ")
    assert "this device's clock says 1970-01-01" in line.text
    assert "the day on which rota was built; set the clock; jobs wait" in line.text
    clock.set(now_ms() + 3 * DAY * 1000)
    device.wait_line("report: succeeded")
    assert len(device.lines("cannot be used")) == 1


@pytest.mark.parametrize("by_tls, wrong, right, why", (
    ({"begins": 2, "ends": 4}, -20_000, 3, "is not valid before"),
    ({"begins": -1, "ends": 1}, 10, 0, "expired on"),
), indirect=["by_tls"])
def test_a_clock_that_gets_right_is_not_waited_for(by_tls, ca, wrong, right, why):
    """However long the pause between two tries is by then."""
    clock = VirtualClock(by_tls.folder)
    clock.set(now_ms() + wrong * DAY * 1000)
    device = by_tls.device({"report": {**SHORT, **ONCE, "first": "now", **by_tls.body("report")}}, **tls(
        by_tls, ca, backoff_min="1m", backoff_max="1h"))
    device.start(clock=clock)
    device.wait_line(f"cannot be used: its certificate {why} ")
    clock.set(now_ms() + right * DAY * 1000)
    device.wait_line("report: succeeded")


def test_a_wrong_certificate_is_said_once_and_jobs_wait(by_tls, ca):
    device = by_tls.device({"report": SURE}, **tls(by_tls, ca, tls_name="other.test"))
    device.start()
    line = device.wait_line("cannot be used")
    assert line.level == "error"
    assert "its certificate is for 127.0.0.1, not for other.test; see redis.tls_name; jobs wait" in line.text
    assert device.runs()


def test_a_reload_tries_mended_files_at_once(by_tls, ca):
    mine = by_tls.folder / "ca.pem"
    with Authority("Other CA") as other:
        mine.write_bytes(other.file.read_bytes())
    device = by_tls.device({"report": {**SHORT, **ONCE, "first": "now", **by_tls.body("report")}}, **tls(
        by_tls, ca, tls_ca=mine, backoff_min="1m", backoff_max="1h"))
    device.start()
    device.wait_line("cannot be used: the CA of its certificate is not known here")
    mine.write_bytes(ca.file.read_bytes())
    device.signal(signal.SIGHUP)
    device.wait_line("report: succeeded")


def test_tls_is_not_loaded_where_it_is_not_used(by_tls, ca):
    clear = by_tls.device({"report": SURE})
    sealed = by_tls.device({"report": SURE}, **tls(by_tls, ca))
    for device in (clear, sealed):
        device.start()
        device.wait_line("report: there is no record of it by this schedule|report: .* is settled")

    def has_openssl(device):
        with open(f"/proc/{device.pid}/maps", encoding="ascii") as maps:
            return "libssl" in maps.read()
    assert not has_openssl(clear)
    assert has_openssl(sealed)


def problems(device):
    done = device.check()
    return done.returncode, [line.partition("rotad.conf:")[2] for line in done.stderr.splitlines()]


def test_check_looks_into_the_files(by_tls, ca):
    first, second = ca.issue("gate-1"), ca.issue("gate-1")
    device = by_tls.device({"report": SURE}, **tls(by_tls, ca, tls_cert=first.file, tls_key=first.key))
    assert problems(device) == (0, [])
    device.write({"report": SURE}, **tls(by_tls, ca, tls_cert=first.file, tls_key=second.key))
    status, [problem] = problems(device)
    line = next(number for number, text in enumerate(device.conf.read_text().splitlines(), 1) if "tls_key" in text)
    assert status == 78
    assert problem == (f"{line}: redis.tls_key '{second.key}' is not used: it is not the key of the certificate "
                       f"'{first.file}'")
    empty = by_tls.folder / "empty.pem"
    empty.touch()
    device.write({"report": SURE}, **tls(by_tls, ca, tls_ca=empty))
    status, [problem] = problems(device)
    assert problem.endswith(f"redis.tls_ca '{empty}' is not used: it holds no certificate in PEM form")
    first.key.chmod(0o644)
    device.write({"report": SURE}, **tls(by_tls, ca, tls_cert=first.file, tls_key=first.key))
    status, [problem] = problems(device)
    assert "it holds a secret, but others than its owner may read it" in problem


def test_a_stalled_server_costs_one_connect_timeout(by_tls, ca):
    with Pipe(by_tls.redis.tls_port) as pipe:
        pipe.limit(down=300)
        device = by_tls.device({"report": SURE}, redis=redis_by_tls(
            by_tls.redis, ca, address=f"127.0.0.1:{pipe.own_port}", connect_timeout="300ms"))
        device.start()
        device.wait_line("does not answer .no end of the TLS handshake within 300 ms.")
        pipe.limit()
        device.wait_line("127.0.0.1:.*answers again")


def test_a_build_host_tries_the_files_of_the_tree(by_tls, ca, tmp_path):
    """Paths are those of the device; what is not in the tree may come later."""
    own = ca.issue("gate-1")
    folder = tmp_path / "etc/rota"
    folder.mkdir(parents=True)
    for name, source in (("ca.pem", ca.file), ("client.pem", own.file), ("client.key", ca.key)):
        (folder / name).write_bytes(source.read_bytes())
        (folder / name).chmod(0o600)
    (folder / "rotad.conf").write_text('prefix = "x:"; redis = { address = "redis.example:6379";\n'
                                       'tls_ca = "/etc/rota/ca.pem";\n'
                                       'tls_cert = "/etc/rota/client.pem";\n'
                                       'tls_key = "/etc/rota/client.key"; };\n')

    def check():
        done = subprocess.run([ROTAD, "--check", "--root", tmp_path], capture_output=True, text=True, check=False,
                              env=by_tls.environment)
        return done.returncode, done.stderr.removeprefix(str(tmp_path))
    assert check() == (78, "/etc/rota/rotad.conf:4: redis.tls_key '/etc/rota/client.key' is not used: it is not the "
                           "key of the certificate '/etc/rota/client.pem'\n")
    (folder / "client.key").write_bytes(own.key.read_bytes())
    assert check() == (0, "")
    (folder / "client.key").unlink()
    status, said = check()
    assert status == 0
    assert said == ('/etc/rota/rotad.conf:4: redis.tls_key is "/etc/rota/client.key", and there is no such file in the '
                    'tree; the device needs it before rotad starts (a warning)\n')
