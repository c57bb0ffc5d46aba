# SPDX-License-Identifier: MIT
"""TLS: by the store alone, against real redis-servers; test_tls_device.py has whole devices."""
import contextlib
import re
import socket
import ssl
import threading
import time

import pytest

import guard_harness
from store_harness import SECONDS, A, B, make_known
from tls import DAY, MODULE, Authority, Certificate, Pipe, TlsServer, openssl

ALWAYS = {"connect": 3000, "min": 20, "max": 100}


@pytest.fixture(scope="module")
def ca():
    with Authority() as authority:
        yield authority


@pytest.fixture(scope="module")
def own(ca):
    """The certificate that most servers here have."""
    return ca.issue("127.0.0.1", "redis.test")


@pytest.fixture
def serve():
    servers = []

    def start(certificate, *options, **more):
        servers.append(TlsServer(certificate, *options, **more))
        return servers[-1].start()
    yield start
    for server in servers:
        server.close()


@pytest.fixture
def fake_tcp():
    """A port where each who comes is told the same, or by TLS nothing."""
    listeners = []

    def start(words, context=None):
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def serve_all():
            kept = []
            with contextlib.suppress(OSError):
                while True:
                    kept.append(listener.accept()[0])
                    with contextlib.suppress(OSError):
                        if context:
                            kept.append(context.wrap_socket(kept[-1], server_side=True))
                        kept[-1].recv(65536)
                        kept[-1].sendall(words)
        threading.Thread(target=serve_all, daemon=True).start()
        return listener.getsockname()[1]
    yield start
    for listener in listeners:
        listener.close()


def by_tls(drive, port, authority, **more):
    options = {"tls": MODULE, "ca": authority.file if authority else None, **ALWAYS, **more}
    return drive(f"127.0.0.1 {port}", **{key: value for key, value in options.items() if value is not None})


def refusal(drive, port, authority, **more):
    """Why it cannot be used, and the fault's class; and no call was answered."""
    driver = by_tls(drive, port, authority, **more)
    driver.submit("x", "clock")
    link = driver.event("link", state="waiting")
    return link["fault"], link["reason"]


def reconnect(server, driver):
    """From the server's side, as a restart or a carrier does it."""
    with server.client() as client:
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    driver.event("link", state="idle")


@pytest.mark.parametrize("version", ("1.2", "1.3"))
def test_each_version_and_its_resumption(drive, serve, ca, own, version):
    server = serve(own, "--tls-protocols", f"TLSv{version}")
    driver = by_tls(drive, server.tls_port, ca)
    assert driver.call("clock")["status"] == "answered"
    up = driver.event("link", state="up")
    assert (up["version"], up["resumed"]) == (f"TLSv{version}", 0)
    assert abs(up["expires"] - time.time() - DAY) < 3600
    for _ in range(2):
        reconnect(server, driver)
        assert driver.call("clock")["status"] == "answered"
        assert driver.event("link", state="up")["resumed"] == 1


def test_a_session_of_a_server_that_was_restarted_is_dropped(drive, serve, ca, own):
    server = serve(own)
    driver = by_tls(drive, server.tls_port, ca)
    driver.call("clock")
    driver.event("link", state="up")
    server.kill()
    driver.event("link", state="idle")
    server.start()
    assert driver.call("clock")["status"] == "answered"
    assert driver.event("link", state="up")["resumed"] == 0


@pytest.fixture(scope="module")
def usual():
    """As companies' and public CAs do it: RSA, and a CA between."""
    with Authority(key="rsa:2048") as root, root.below("Between", key="rsa:2048") as between:
        yield root, between.issue("127.0.0.1", "redis.test", key="rsa:2048")


@pytest.mark.parametrize("version", ("1.2", "1.3"))
def test_a_resumed_refusal_costs_little(drive, serve, usual, version):
    """Bytes from connect to close of one acquire that is refused, on real sockets."""
    root, certificate = usual
    server = serve(certificate, "--tls-protocols", f"TLSv{version}")
    with Pipe(server.tls_port) as pipe, server.client() as client:
        turn = make_known(client)
        holder = by_tls(drive, server.tls_port, root)
        assert holder.call("acquire", token=A, **turn)["answer"] == "granted"
        driver = by_tls(drive, pipe.own_port, root)
        for _ in range(2):
            assert driver.call("acquire", token=B, **turn)["answer"] == "held"
            driver.event("link", state="up")
            reconnect(server, driver)
        full, resumed = pipe.total(0), pipe.total(1)
    print(f"TLS {version}: {full} bytes, resumed {resumed}: {resumed / full:.0%}")
    assert len(pipe.counts) == 2
    assert resumed < 0.6 * full


class Peer:
    """A server's end of one connection, whose records a test sends when and as it likes."""

    def __init__(self, listener, certificate, version=ssl.TLSVersion.TLSv1_3):
        self.names = []  # those that the client has sent
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = version
        context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
        context.load_cert_chain(*certificate)
        context.sni_callback = lambda _, name, __: self.names.append(name)
        self.socket = listener.accept()[0]
        self.socket.settimeout(SECONDS)
        self.inward, self.outward = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.inward, self.outward, server_side=True)
        self.wait(self.tls.do_handshake)

    def wait(self, action):
        while True:
            try:
                return action()
            except ssl.SSLWantReadError:
                self.flush()
                data = self.socket.recv(65536)
                self.inward.write(data) if data else self.inward.write_eof()
            finally:
                self.flush()

    def flush(self):
        if self.outward.pending:
            self.socket.sendall(self.outward.read())

    def close(self):
        self.socket.close()


@pytest.fixture
def accept(own):
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(SECONDS)
    peers = []

    def accept_one(**more):
        peers.append(Peer(listener, own, **more))
        return peers[-1]
    accept_one.port = listener.getsockname()[1]
    yield accept_one
    for each in (*peers, listener):
        each.close()


TIME = b"*2\r\n$10\r\n1796009289\r\n$6\r\n123456\r\n"


def test_many_records_come_at_once(drive, accept, ca):
    """All of them are read at once: the socket will not be ready again."""
    driver = by_tls(drive, accept.port, ca)
    names = [f"x{number}" for number in range(5)]
    for name in names:
        driver.submit(name, "clock")
    peer = accept()
    asked = b""
    while asked.count(b"TIME") < len(names):
        asked += peer.wait(lambda: peer.tls.read(65536))
    for record in (b"+OK\r\n", *(TIME for _ in names)):
        peer.tls.write(record)
    peer.flush()
    for name in names:
        assert driver.answer(name)["status"] == "answered"


@pytest.mark.parametrize("version", (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3))
def test_the_name_is_sent_and_the_end_is_said(drive, accept, ca, version):
    for name, sent in (("redis.test", "redis.test"), (None, None)):  # an address is no name
        driver = by_tls(drive, accept.port, ca, server_name=name)
        driver.submit("x", "clock")
        peer = accept(version=version)
        assert peer.names == [sent]
        peer.wait(lambda: peer.tls.read(65536))
        assert driver.close() == 0
        with contextlib.suppress(ssl.SSLZeroReturnError):
            while peer.wait(lambda: peer.tls.read(65536)):  # SSLEOFError: it was cut off
                pass


def test_the_end_comes_with_the_last_reply(drive, accept, ca):
    """That reply counts, and then the connection is closed, though its socket is not."""
    driver = by_tls(drive, accept.port, ca)
    driver.submit("x", "clock")
    driver.submit("y", "clock")
    peer = accept()
    asked = b""
    while asked.count(b"TIME") < 2:
        asked += peer.wait(lambda: peer.tls.read(65536))
    peer.tls.write(b"+OK\r\n" + TIME)
    with contextlib.suppress(ssl.SSLWantReadError):
        peer.tls.unwrap()
    peer.flush()
    assert driver.answer("x")["status"] == "answered"
    assert driver.answer("y")["error"] == "the server closed the connection"


def test_names_and_addresses(drive, serve, ca, own):
    """By default the address; a name where one is given; a wildcard stands for one label."""
    server = serve(ca.issue("*.fleet.test", "10.0.0.1"))
    port = server.tls_port
    good = by_tls(drive, port, ca, server_name="a.fleet.test")
    assert good.call("clock")["status"] == "answered"
    for other in ("a.b.fleet.test", "fleet.test"):
        fault, reason = refusal(drive, port, ca, server_name=other)
        assert (fault, reason) == (
            "operator", f"its certificate is for *.fleet.test, 10.0.0.1, not for {other}; see redis.tls_name")
    fault, reason = refusal(drive, port, ca)
    assert reason.endswith("not for 127.0.0.1; see redis.tls_name")
    server = serve(own)
    trailing_dot = by_tls(drive, server.tls_port, ca, server_name="redis.test.")
    assert trailing_dot.call("clock")["status"] == "answered"


def test_a_certificate_without_names_is_nobodys(drive, serve, ca):
    server = serve(ca.issue())
    fault, reason = refusal(drive, server.tls_port, ca, server_name="nobody")  # its subject's name
    assert (fault, reason) == ("operator", "its certificate names no host, so it may be anybody's; make one whose "
                                           "subjectAltName has nobody")


def test_many_names_are_bounded(drive, serve, ca):
    server = serve(ca.issue(*(f"{'n' * 60}{i}.test" for i in range(9))))
    _, reason = refusal(drive, server.tls_port, ca)
    assert "nnn..., " in reason and reason.endswith(" and 6 more, not for 127.0.0.1; see redis.tls_name")


def test_dates(drive, serve, ca):
    now = time.time()
    early, late = now + 3 * DAY, now - 3 * DAY

    def day(seconds):
        return time.strftime("%Y-%m-%d", time.gmtime(seconds))
    server = serve(ca.issue("127.0.0.1", begins=early, ends=early + DAY))
    assert refusal(drive, server.tls_port, ca) == (
        "clock", f"its certificate is not valid before {day(early)}, and this device's clock says {day(now)}; "
                 "set it if it is wrong")
    assert refusal(drive, server.tls_port, ca, earliest=round(now) + DAY) == (
        "clock", f"its certificate is not valid before {day(early)}; this device's clock says {day(now)}, so "
                 f"{day(now + DAY)} counts, the day on which rota was built; set the clock")
    # A clock that is behind the build is not believed.
    later = by_tls(drive, server.tls_port, ca, earliest=round(early) + 60)
    assert later.call("clock")["status"] == "answered"
    server = serve(ca.issue("127.0.0.1", begins=late - DAY, ends=late))
    assert refusal(drive, server.tls_port, ca) == (
        "operator", f"its certificate expired on {day(late)}; renew it there (this device's clock says {day(now)})")


def test_an_unknown_ca(drive, serve, ca, own):
    with Authority("Other CA") as other:
        server = serve(other.issue("127.0.0.1"))
    assert refusal(drive, server.tls_port, ca) == (
        "operator", f"the CA of its certificate is not known here: it is not in '{ca.file}', the file of redis.tls_ca")
    server = serve(ca.issue("127.0.0.1", selfsigned=True))
    assert refusal(drive, server.tls_port, ca) == (
        "operator", f"its certificate is signed by itself: it is not in '{ca.file}', the file of redis.tls_ca")


def test_the_systems_bundle(drive, serve, ca, own, monkeypatch, tmp_path):
    server = serve(own)
    fault, reason = refusal(drive, server.tls_port, None)
    assert fault == "operator" and reason.startswith("the CA of its certificate is not known here: ")
    monkeypatch.setenv("SSL_CERT_FILE", str(ca.file))
    assert by_tls(drive, server.tls_port, None).call("clock")["status"] == "answered"


def test_a_bundle_that_is_another_now_is_read_again(drive, serve, ca, own, monkeypatch, tmp_path):
    """Nor is a session of before taken up: who vouched for it may be out."""
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(ca.file.read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    server = serve(own)
    driver = by_tls(drive, server.tls_port, None)
    assert driver.call("clock")["status"] == "answered"
    driver.event("link", state="up")
    with Authority("Other CA") as other:
        bundle.write_bytes(other.file.read_bytes() * 2)
    reconnect(server, driver)
    driver.submit("x", "clock")
    assert driver.event("link", state="waiting")["reason"].startswith("the CA of its certificate is not known here: ")
    bundle.write_bytes(ca.file.read_bytes())
    assert driver.call("clock", "y")["status"] == "answered"
    assert driver.event("link", state="up")["resumed"] == 0


def test_a_certificate_that_is_its_own_ca(drive, serve, ca):
    """Pinned: nothing but this one certificate is believed."""
    itself = ca.issue("127.0.0.1", selfsigned=True)
    server = serve(itself)
    driver = by_tls(drive, server.tls_port, None, ca=itself.file)
    assert driver.call("clock")["status"] == "answered"


def test_a_weak_key(drive, ca, fake_tcp):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.load_cert_chain(*ca.issue("127.0.0.1", key="rsa:1024"))
    assert refusal(drive, fake_tcp(b"", context), ca) == (
        "operator", "its certificate is too weak; make one with an EC or a 2048-bit RSA key, and SHA-256")


def test_a_server_that_is_too_old(drive, serve, ca, own):
    server = serve(own, "--tls-protocols", "TLSv1.1", "--tls-ciphers", "DEFAULT@SECLEVEL=0")
    fault, reason = refusal(drive, server.tls_port, ca)
    assert fault == "operator" and "which are 1.2 and 1.3" in reason


@pytest.mark.parametrize("version", ("1.2", "1.3"))
def test_a_client_certificate_is_demanded(drive, serve, ca, own, version):
    server = serve(own, "--tls-protocols", f"TLSv{version}", clients=ca)
    fault, reason = refusal(drive, server.tls_port, ca)
    assert fault == "operator" and "redis.tls_cert and tls_key" in reason
    client = ca.issue("gate-1")
    driver = by_tls(drive, server.tls_port, ca, cert=client.file, key=client.key)
    assert driver.call("clock")["status"] == "answered"
    with Authority("Other CA") as other:
        stranger = other.issue("gate-1")
        fault, reason = refusal(drive, server.tls_port, ca, cert=stranger.file, key=stranger.key)
    assert fault == "operator" and "does not know the CA of this device's certificate" in reason


def test_a_client_certificate_that_was_renewed_is_read_again(drive, serve, ca, own, tmp_path):
    server = serve(own, clients=ca)
    paths = Certificate(tmp_path / "cert", tmp_path / "key")

    def install(new):
        for source, path in zip(new, paths):
            fresh = path.with_suffix(".new")
            fresh.write_bytes(source.read_bytes())
            fresh.chmod(0o600)
            fresh.rename(path)
    now = time.time()
    install(ca.issue("gate-1", begins=now - 2 * DAY, ends=now - DAY))
    driver = by_tls(drive, server.tls_port, ca, cert=paths.file, key=paths.key)
    driver.submit("x", "clock")
    assert "has expired; renew the file of redis.tls_cert" in driver.event("link", state="waiting")["reason"]
    assert driver.answer("x")["status"] == "none"  # it had been sent before that was known
    install(ca.issue("gate-1"))
    assert driver.call("clock", "y")["status"] == "answered"


@pytest.mark.parametrize("broken,why", (
    ("none", "No such file or directory"),
    ("empty", "it holds no key in PEM form"),
    ("open", "it holds a secret, but others than its owner may read it; chmod it 0600"),
    ("other", "it is not the key of the certificate '{cert}'"),
    ("passphrase", "it has a passphrase; write it without one (openssl pkey), mode 0600"),
    ("folder", "it is no regular file"),
))
def test_a_key_that_cannot_be_used(drive, ca, own, tmp_path, broken, why):
    path = tmp_path / "key"
    if broken == "folder":
        path.mkdir()
    elif broken != "none":
        path.write_bytes(b"" if broken == "empty" else ca.key.read_bytes())
        path.chmod(0o640 if broken == "open" else 0o600)
    if broken == "passphrase":
        openssl("pkey", "-in", ca.key, "-aes256", "-passout", "pass:x", "-out", path)
        path.chmod(0o600)
    with Pipe(1) as pipe:  # nobody is behind it: it does not come to that
        fault, reason = refusal(drive, pipe.own_port, ca, cert=own.file, key=path)
    assert (fault, reason) == ("operator", f"redis.tls_key '{path}' is not used: " + why.format(cert=own.file))


def test_a_file_that_others_could_write(drive, ca, own, tmp_path):
    """It would say who is believed; that is looked at whenever it is read, not only at the start."""
    path = tmp_path / "ca.pem"
    path.write_bytes(ca.file.read_bytes())
    path.chmod(0o646)
    with Pipe(1) as pipe:
        assert refusal(drive, pipe.own_port, None, ca=path) == (
            "operator", f"redis.tls_ca '{path}' is not used: '{path}' can be changed by everybody; chmod it go-w")


def test_a_credential(drive, serve, ca, own, tmp_path, monkeypatch):
    server = serve(own, clients=ca)
    client = ca.issue("gate-1")
    (tmp_path / "client.key").write_bytes(client.key.read_bytes())
    (tmp_path / "client.key").chmod(0o440)  # as systemd writes it
    fault, reason = refusal(drive, server.tls_port, ca, cert=client.file, key="credential:client.key")
    assert reason == ("redis.tls_key 'credential:client.key' is not used: systemd gives it with LoadCredential= in the "
                      "unit, and has given none here")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    driver = by_tls(drive, server.tls_port, ca, cert=client.file, key="credential:client.key")
    assert driver.call("clock")["status"] == "answered"


def test_other_files_that_cannot_be_used(drive, ca, own, tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    with Pipe(1) as pipe:
        got = refusal(drive, pipe.own_port, None, ca=empty)
        assert got == ("operator", f"redis.tls_ca '{empty}' is not used: it holds no certificate in PEM form")
        got = refusal(drive, pipe.own_port, ca, cert=empty, key=own.key)
        assert got == ("operator", f"redis.tls_cert '{empty}' is not used: it holds no certificate in PEM form")


def test_the_certificate_that_is_damaged_is_named(drive, ca, own, tmp_path):
    with Pipe(1) as pipe:
        for place, good in enumerate((own.file, ca.file), 1):
            file = tmp_path / f"{place}.pem"
            first, second = own.file.read_text(), ca.file.read_text()
            parts = [first, second]
            begin, body = parts[place - 1].split("CERTIFICATE-----\n", 1)
            parts[place - 1] = f"{begin}CERTIFICATE-----\nAAAA{body[4:]}"
            file.write_text("".join(parts))
            why = f"certificate {place} of it cannot be read"
            assert refusal(drive, pipe.own_port, None, ca=file) == (
                "operator", f"redis.tls_ca '{file}' is not used: {why}")
            assert refusal(drive, pipe.own_port, ca, cert=file, key=own.key) == (
                "operator", f"redis.tls_cert '{file}' is not used: {why}")


def test_a_client_certificate_that_openssl_refuses(drive, ca):
    weak = ca.issue("gate-1", key="rsa:1024")
    with Pipe(1) as pipe:
        fault, reason = refusal(drive, pipe.own_port, ca, cert=weak.file, key=weak.key)
    assert fault == "operator"
    assert re.fullmatch(rf"redis.tls_cert '{re.escape(str(weak.file))}' is not used: OpenSSL refuses it "
                        r"\(openssl errstr [0-9A-F]{8}\)", reason)


IN_THE_CLEAR = ("it answers without TLS; write the port that it has for TLS (tls = false only where nobody else is on "
                "the way)")


def test_a_port_without_tls(drive, serve, ca, fake_tcp):
    fault, reason = refusal(drive, fake_tcp(b"-ERR unknown command\r\n"), ca)
    assert (fault, reason) == ("operator", IN_THE_CLEAR)


def test_a_redis_without_tls_waits_for_the_end_of_a_command(drive, redis_server, ca):
    """What it takes for one may have no end: then it is silent."""
    fault, reason = refusal(drive, redis_server.open_port(), ca, connect=500)
    assert (fault, reason) in (
        ("link", "no answer to TLS (is that its port for TLS?) within 500 ms"),
        ("operator", IN_THE_CLEAR))


@pytest.mark.parametrize("version", ("1.2", "1.3"))
def test_byte_by_byte(drive, serve, ca, own, version):
    server = serve(own, "--tls-protocols", f"TLSv{version}")
    with Pipe(server.tls_port, piece=1) as pipe:
        driver = by_tls(drive, pipe.own_port, ca)
        for _ in range(2):
            assert driver.call("clock")["status"] == "answered"
            reconnect(server, driver)


@pytest.mark.parametrize("count", (0, 1, 5, 100, 700))
def test_a_handshake_that_stalls(drive, serve, ca, own, count):
    server = serve(own)
    with Pipe(server.tls_port) as pipe:
        pipe.limit(down=count)
        fault, reason = refusal(drive, pipe.own_port, ca, connect=300)
        what = "end of the TLS handshake" if count else "answer to TLS (is that its port for TLS?)"
        assert (fault, reason) == ("link", f"no {what} within 300 ms")


@pytest.mark.parametrize("way,counts", (("up", (0, 1, 5, 100, 236, 240, 330)),
                                        ("down", (0, 1, 5, 6, 100, 300, 700, 800))))
def test_a_connection_that_is_closed_at_any_stage(drive, serve, ca, own, way, counts):
    """Nothing is lost but the try; and the next one that gets through is served."""
    server = serve(own)
    with Pipe(server.tls_port) as pipe:
        for count in counts:
            pipe.limit(**{way: count}, then="close")
            driver = by_tls(drive, pipe.own_port, ca)
            driver.submit("x", "clock")
            lost = driver.event("link", state="waiting")
            assert lost["fault"] == "link"
            if count < 237:  # ClientHello
                assert lost["reason"] in ("the server closed the connection during the TLS handshake",
                                          "connection reset by peer during the TLS handshake")
            pipe.limit()
            driver.submit("y", "clock")
            assert driver.answer("y")["status"] == "answered"


def test_garbage_is_harmless(drive, ca, fake_tcp):
    for bytes_ in (b"\x16\x03\x03\x00\x05hello", b"\x15\x03\x03\x00\x02\x02\x28", b"\x16" * 6000,
                   b"\x16\x03\x03\x00\x2a\x02\x00\x00\x26\x03\x03" + bytes(35)):
        fault, reason = refusal(drive, fake_tcp(bytes_), ca, connect=500)
        assert fault in ("alien", "operator", "link"), reason


def module_from(folder, name, source, *flags):
    """A shared object in the module's place."""
    folder.mkdir(exist_ok=True)
    return guard_harness.compile_text(folder, name, source, flags=flags)


def test_a_module_that_cannot_be_used(drive, ca, tmp_path):
    missing = tmp_path / "librota-tls.so"
    library = module_from(tmp_path, "libssl", "int nothing;", "-Wl,-soname,libssl.so.4")
    lacking = module_from(tmp_path, "lacking", "int rota_tls;", "-Wl,--no-as-needed", str(library))
    newer = module_from(tmp_path, "newer", "unsigned rota_tls[99] = { 999 };")
    text = tmp_path / "text.so"
    text.write_text("no program")
    with Pipe(1) as pipe:
        for module, why in (
                (missing, f"{missing}: No such file or directory"),
                (lacking, "libssl.so.4: cannot open shared object file: No such file or directory"),
                (text, f"{text}: file too short"),
                (newer, "librota-tls.so is of another version")):
            assert refusal(drive, pipe.own_port, ca, tls=module) == (
                "operator", f"TLS is not to be had: {why}; install all of rota, and libssl3 (from Debian 13 on "
                            "libssl3t64)")
