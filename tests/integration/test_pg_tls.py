# SPDX-License-Identifier: MIT
"""TLS to a real PostgreSQL, by the certificate of an authority of one's own: what sslmode=verify-full lets through."""
import shutil

import guard_harness as h
import pytest
from fenced import FENCED, TABLE, WORK, fenced, written
from postgres import Postgres, give
from tls import Authority

pytestmark = pytest.mark.skipif(not FENCED.exists(), reason="built without PostgreSQL")


@pytest.fixture
def authority():
    with Authority() as ca:
        yield ca


@pytest.fixture
def server(postgres_template, authority):
    """Its name is db.test, and it lets nobody in by TCP without TLS."""
    the_server = Postgres(postgres_template, tcp=True)
    try:
        certificate = authority.issue("db.test")
        for source, name in ((certificate.file, "server.pem"), (certificate.key, "server.key")):
            shutil.copy(source, the_server.data / name)
            (the_server.data / name).chmod(0o600)
            give(the_server.data / name)
        the_server.configure(ssl="on", ssl_cert_file="server.pem", ssl_key_file="server.key")
        the_server.allow("hostssl all all 127.0.0.1/32 trust")
        the_server.start().query(TABLE + "; CREATE TABLE done (fence bigint)")
        yield the_server
    finally:
        the_server.close()


def by_name(server, name, ca, mode="verify-full"):
    return (f"host={name} hostaddr=127.0.0.1 port={server.port} user=tests dbname=postgres "
            f"sslmode={mode} sslrootcert={ca.file}")


def test_the_server_by_its_name(server, authority):
    sql = f"{WORK}; CREATE TABLE seen AS SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    assert fenced(server, sql, connection=by_name(server, "db.test", authority))[0] == h.SUCCEEDED
    assert server.query("SELECT ssl, version FROM seen") == [("t", "TLSv1.3")]
    assert written(server) == [7]


def test_another_name_or_authority(server, authority):
    result, detail, _ = fenced(server, connection=by_name(server, "other.test", authority))
    assert result == h.FAILED and detail.startswith("cannot connect: ")
    assert detail.endswith('server certificate for "db.test" does not match host name "other.test"')
    with Authority("Somebody else") as stranger:
        result, detail, _ = fenced(server, connection=by_name(server, "db.test", stranger))
        assert result == h.FAILED and "certificate verify failed" in detail
    assert written(server) == []


def test_a_server_without_tls(server, authority):
    server.configure(ssl="off")
    server.allow("host all all 127.0.0.1/32 trust")
    result, detail, _ = fenced(server, connection=by_name(server, "db.test", authority))
    assert result == h.FAILED and "server does not support SSL, but SSL was required" in detail
    assert written(server) == []
