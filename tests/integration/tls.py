# SPDX-License-Identifier: MIT
"""Certificates, made by the openssl program, and a redis-server that has TLS as well.

    with Authority(folder) as ca:                     # ca.file is its certificate
        server = TlsServer(ca.issue("redis.test"))    # a RedisServer; .tls_port, .tls_address
        server.start()
    device = fleet.device(jobs, redis={**redis_by_tls(server, ca), "tls_name": "redis.test"})
"""
import collections
import contextlib
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from guard_harness import BUILD
from redis_server import RedisServer, free_port

DAY = 86_400
MODULE = BUILD / "runtime" / "tls" / "librota-tls.so"

Certificate = collections.namedtuple("Certificate", "file key")

CONFIG = """
[ca]
default_ca = here
[here]
dir = {folder}
database = $dir/index
new_certs_dir = $dir/issued
rand_serial = yes
unique_subject = no
default_md = sha256
policy = anything
[anything]
commonName = supplied
[root]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
"""


def openssl(*words, **options):
    return subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, text=True, **options)


def stamp(seconds):
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(seconds))


def new_key(file, kind="ec"):
    """An EC key, or kind = "rsa:1024"."""
    kind, _, bits = kind.partition(":")
    how = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ec" else \
        ["-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}"]
    openssl("genpkey", *how, "-out", file)
    file.chmod(0o600)
    return file


class Authority:
    """A CA of a test's own. Times are Unix seconds; by default from a month ago, or for what it issues
    from yesterday, to as long from now."""

    def __init__(self, name="Test CA", begins=None, ends=None, key="ec"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-ca-"))
        self.name, self.count, self.chain = name, 0, ""
        (self.folder / "issued").mkdir()
        (self.folder / "index").touch()
        (self.folder / "config").write_text(CONFIG.format(folder=self.folder))
        self.key = new_key(self.folder / "ca.key", key)
        self.file = self._sign(self.folder / "ca.crt", name, self.key, "root", begins, ends, "-selfsign")

    def _sign(self, file, name, key, section, begins, ends, *more, own_config=""):
        now, life = time.time(), DAY if section == "leaf" else 30 * DAY
        request, config = file.with_suffix(".csr"), self.folder / "config"
        if own_config:
            config = file.with_suffix(".conf")
            config.write_text((self.folder / "config").read_text() + own_config)
        openssl("req", "-new", "-key", key, "-subj", f"/CN={name[:60]}", "-out", request)
        issuer = ["-keyfile", self.key] + ([] if "-selfsign" in more else ["-cert", self.file])
        openssl("ca", "-batch", "-notext", "-config", config, *issuer, "-in", request, "-out", file,
                "-extensions", section, "-startdate", stamp(now - life if begins is None else begins),
                "-enddate", stamp(now + life if ends is None else ends), *more)
        return file

    def issue(self, *names, begins=None, ends=None, key="ec", selfsigned=False):
        """A certificate for host names and addresses; none at all is one that names no host."""
        self.count += 1
        file = self.folder / f"{self.count}.crt"
        own_key = new_key(file.with_suffix(".key"), key)
        text = ", ".join(("IP:" if set(name) <= set("0123456789.") or ":" in name else "DNS:") + name for name in names)
        section = "[leaf]\nbasicConstraints = CA:false\n" + (f"subjectAltName = {text}\n" if names else "")
        issuer, self.key = self.key, own_key if selfsigned else self.key
        try:
            self._sign(file, (names or ("nobody",))[0], own_key, "leaf", begins, ends,
                       *(["-selfsign"] if selfsigned else []), own_config=section)
        finally:
            self.key = issuer
        file.write_text(file.read_text() + self.chain)
        return Certificate(file, own_key)

    def below(self, name, key="ec"):
        """A CA that this one vouches for; what it issues comes with its own certificate."""
        other = Authority(name, key=key)
        self._sign(other.file, name, other.key, "root", None, None)
        other.chain = other.file.read_text()
        return other

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class TlsServer(RedisServer):
    """Has its unix socket too, which is the tests' own way in. `clients` is a CA whose certificates
    it demands; more options are redis-server's own."""

    def __init__(self, certificate, *options, clients=None, **more):
        self.tls_port = free_port()
        self.certificate = certificate
        self.clients = clients
        super().__init__(*options, **more)

    def start(self):
        trusted = self.clients.file if self.clients else self.certificate.file
        own, self.options = self.options, [
            "--tls-port", str(self.tls_port), "--tls-cert-file", str(self.certificate.file),
            "--tls-key-file", str(self.certificate.key), "--tls-ca-cert-file", str(trusted),
            "--tls-auth-clients", "yes" if self.clients else "no", *self.options]
        try:
            return super().start()
        finally:
            self.options = own

    @property
    def tls_address(self):
        return f"127.0.0.1:{self.tls_port}"


def redis_by_tls(server, ca, **more):
    """The configuration's redis group; the certificate is for 127.0.0.1, or tls_name says for whom."""
    return {"address": server.tls_address, "tls": True, "tls_ca": ca.file, "connect_timeout": "5s",
            "command_timeout": "2s", "backoff_min": "50ms", "backoff_max": "1s", **more}


class Pipe:
    """Passes bytes on to a port, and counts them; they can be cut into pieces, held back, or cut off.

        with Pipe(server.tls_port, piece=1) as pipe:   # every byte is a packet of its own
            pipe.limit(down=700)                       # of each connection; then nothing comes any more
            pipe.limit(up=100, then="close")
    """

    def __init__(self, port, piece=65536):
        self.port, self.piece = port, piece
        self.limits, self.then = {}, "hold"
        self.counts = []  # of each connection: {"up": bytes, "down": bytes}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.own_port = self.listener.getsockname()[1]
        self.sockets = []
        threading.Thread(target=self._serve, daemon=True).start()

    def limit(self, up=None, down=None, then="hold"):
        self.then = then
        self.limits = {"up": up, "down": down}

    def total(self, number):
        return sum(self.counts[number].values())

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            count = {"up": 0, "down": 0}
            self.counts.append(count)
            try:
                server = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                client.close()
                continue
            self.sockets += [client, server]
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, sink, way in ((client, server, "up"), (server, client, "down")):
                threading.Thread(target=self._pass, args=(source, sink, way, count), daemon=True).start()

    def _pass(self, source, sink, way, count):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                for at in range(0, len(data), self.piece):
                    self._pass_piece(data[at:at + self.piece], sink, way, count)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _pass_piece(self, data, sink, way, count):
        limit = self.limits.get(way)
        left = len(data) if limit is None else max(0, limit - count[way])
        if left:
            sink.sendall(data[:left])
        count[way] += len(data[:left])
        if left < len(data) and self.then == "close":
            sink.shutdown(socket.SHUT_RDWR)
            raise ConnectionResetError

    def close(self):
        self.listener.close()
        for each in self.sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
