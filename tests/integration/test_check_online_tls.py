# SPDX-License-Identifier: MIT
"""rotad --check --online, of TLS: what was agreed on, what stands in its way, and where there is none."""
import contextlib
import re
import socket
import subprocess
import threading
import time

import pytest

import pages
from online import NOPERM, OK, UNAVAILABLE, stopped_at
from redis_server import RedisServer, free_port
from tls import Authority, Certificate, TlsServer

@pytest.fixture(scope="module")
def authority():
    with Authority() as the_authority:
        yield the_authority


@contextlib.contextmanager
def tls_server(certificate, **more):
    the_server = TlsServer(certificate, **more)
    try:
        yield the_server.start()
    finally:
        the_server.close()


def tls_settings(authority, **more):
    return {"tls": True, "tls_ca": str(authority.file), "connect_timeout": "5s", **more}


def test_tls(online, authority):
    with tls_server(authority.issue("redis.test", "127.0.0.1")) as the_server:
        said = online(the_server.tls_address, **tls_settings(authority))
        until = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86400))
        mark, text = said.rows["tls"]
        assert (said.status, mark) == (OK, " ")
        assert re.fullmatch(r"TLSv1\.[23], with the certificate of 127\.0\.0\.1, which is good until (\S+)", text)
        assert text[-10:] in (until, time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86000)))
        assert said.rows["scripts"] == (" ", "all may run")
        said = online(the_server.tls_address, **tls_settings(authority, tls_name="redis.test"))
        assert "certificate of redis.test, " in said.rows["tls"][1]


def test_the_manual_makes_the_certificates(online, tmp_path):
    lines = pages.frame_of("docs/rotad.8.scd", "openssl req")
    subprocess.run(["bash", "-ec", lines], cwd=tmp_path, capture_output=True, timeout=30, check=True)
    with tls_server(Certificate(tmp_path / "redis.pem", tmp_path / "redis.key")) as the_server:
        said = online(the_server.tls_address, tls_ca=str(tmp_path / "redis-ca.pem"), tls=True, tls_name="redis.example",
                      connect_timeout="5s")
    assert said.status == OK and "with the certificate of redis.example, " in said.rows["tls"][1]


def test_tls_and_the_login_is_refused(online, authority):
    with tls_server(authority.issue("127.0.0.1")) as the_server:
        said = online(the_server.tls_address, **tls_settings(authority, username="nobody"), password="x")
        assert stopped_at(said, "login", NOPERM).startswith("the password is refused")
        assert said.rows["tls"][1].startswith("TLSv1")


def test_in_the_clear_at_a_port_for_tls(online, authority):
    with tls_server(authority.issue("127.0.0.1")) as the_server:
        assert stopped_at(online(the_server.tls_address, tls=False), "login", UNAVAILABLE).endswith(
            " (is that its port for TLS?)")


def test_tls_with_another_name_or_authority(online, authority):
    with tls_server(authority.issue("other.test")) as the_server:
        said = online(the_server.tls_address, **tls_settings(authority, tls_name="redis.test"))
        assert "redis.test" in stopped_at(said, "tls", UNAVAILABLE)
        with Authority("Another CA") as another:
            said = online(the_server.tls_address, **tls_settings(another, tls_name="other.test"))
            assert stopped_at(said, "tls", UNAVAILABLE)


def test_tls_is_spoken_badly(online, authority):
    """What was found is said, not only that it is no Redis."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            with server.accept()[0] as peer:
                peer.recv(65536)
                peer.sendall(b"\x16\x03\x03\x00\x05hello")
                peer.recv(65536)
        speaking = threading.Thread(target=answer)
        speaking.start()
        said = stopped_at(online(f"127.0.0.1:{server.getsockname()[1]}", **tls_settings(authority)), "tls", UNAVAILABLE)
        speaking.join(10)
        assert re.fullmatch(r"it does not speak TLS as it should \(what OpenSSL found: openssl errstr \w{8}\)", said)


def test_tls_where_there_is_none(online, authority, redis_server):
    said = online(f"127.0.0.1:{redis_server.open_port()}", **tls_settings(authority))
    assert stopped_at(said, "tls", UNAVAILABLE)


def test_in_the_clear_over_a_network(online):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("no network but the loopback")
        own = probe.getsockname()[0]
    the_server = RedisServer("--bind", own, "--protected-mode", "no")
    the_server.port = free_port()
    try:
        the_server.start()
        address, clear = f"{own}:{the_server.port}", "none: who is on the way can read and change all that is sent"
        said = online(address, tls=False)
        assert (said.status, said.rows["tls"]) == (OK, ("!", clear + "; write tls = true"))
        mark, login = said.rows["login"]
        assert mark == "!" and login.endswith(": whoever reaches this Redis may do the same; write redis.username and "
                                              "password_file")
    finally:
        the_server.close()
