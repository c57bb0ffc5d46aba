# SPDX-License-Identifier: MIT
"""A fenced write to Redis itself: the script plugins/example/fenced_set.lua, and the plugin beside it, which is built
outside the tree as docs/correctness.md says."""
import contextlib
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import guard_harness as h
import pages
import redis
from cluster import Cluster
from fleet import ONCE, SHORT, wait_for
from redis_server import TESTS_USER, RedisServer

pytestmark = pytest.mark.skipif(h.SANITIZED, reason="one build of the installed files is enough")
PAGE = "docs/correctness.md"
SCRIPT = h.ROOT / "plugins/example/fenced_set.lua"
SOURCE = h.ROOT / "plugins/example/fenced_set.c"
KEY, MARK = "stock:{milk}", "stock:{milk}:fence"
MOST = 2**53 - 1
RIGHTS = ("~stock:*", "+eval", "+evalsha", "+type", "+hmget", "+hset", "+set")
TURN = 1795967400000  # of guard_harness: 2026-11-29 15:50 UTC


@pytest.fixture
def client(redis_server):
    with redis_server.client() as the_client:
        yield the_client


def fenced_set(client, value, fence, turn="", device="", ms="", keys=(KEY, MARK)):
    return client.eval(SCRIPT.read_text(), len(keys), *keys, value, fence, turn, device, ms)


def everything(client):
    return {key: (client.type(key), client.dump(key)) for key in client.keys()}


# --- The script ---

def test_an_older_fence_is_refused_and_told_who_is_newer(client):
    assert fenced_set(client, "one", 7, TURN, "gate-1") == [1, "7"]
    assert fenced_set(client, "two", 8, TURN + 1, "gate-2") == [1, "8"]
    assert fenced_set(client, "late", 7, TURN, "gate-1") == [0, "8", str(TURN + 1), "gate-2"]
    assert (client.get(KEY), client.hgetall(MARK)) == ("two", {"fence": "8", "turn": str(TURN + 1), "device": "gate-2"})


def test_the_same_fence_may_set_it_again(client):
    for value in ("one", "one", "other"):
        assert fenced_set(client, value, 7) == [1, "7"]
    assert client.get(KEY) == "other"


@pytest.mark.parametrize("older, newer", [(9, 10), (999, 1000), (1795967400000, 1795967400001), (MOST - 1, MOST)])
def test_fences_are_numbers_and_no_text(client, older, newer):
    assert fenced_set(client, "old", older) == [1, str(older)]
    assert fenced_set(client, "new", newer) == [1, str(newer)]
    assert fenced_set(client, "late", older)[:2] == [0, str(newer)]
    assert client.get(KEY) == "new"


@pytest.mark.parametrize("fence", [0, -1, "07", "1.5", "1e3", "0x10", "", " 7", "nan", MOST + 1, MOST + 2, "9" * 400])
def test_what_is_no_fence_changes_nothing(client, fence):
    with pytest.raises(redis.ResponseError, match="^FENCE the fence given is .*, which is no whole number from 1"):
        fenced_set(client, "x", fence)
    assert client.keys() == []


@pytest.mark.parametrize("prepare, says", [
    (lambda client: client.rpush(KEY, "x"), re.escape(f"FENCE {KEY} is a list, and no string")),
    (lambda client: client.set(MARK, "6"), re.escape(f"FENCE {MARK} is a string, and no hash")),
    (lambda client: client.hset(MARK, "device", "gate-1"), re.escape(f"FENCE {MARK} is a hash with no fence")),
    (lambda client: client.hset(MARK, "fence", "many"), re.escape(f"FENCE {MARK} is a hash with no fence that is")),
])
def test_a_value_of_a_wrong_type_is_left_as_it_is(client, prepare, says):
    prepare(client)
    before = everything(client)
    with pytest.raises(redis.ResponseError, match=f"^{says}"):
        fenced_set(client, "x", 7)
    assert everything(client) == before


def test_both_keys_must_differ(client):
    """The value would take the fence's place."""
    with pytest.raises(redis.ResponseError, match="^FENCE it takes two keys that differ"):
        fenced_set(client, "x", 7, keys=(KEY, KEY))
    assert client.keys() == []


def test_the_string_may_expire_and_its_fence_stays(client):
    assert fenced_set(client, "short", 8, ms=30) == [1, "8"]
    wait_for(lambda: not client.exists(KEY), 5, "the string goes by itself")
    assert (client.pttl(MARK), fenced_set(client, "late", 7)[0], client.exists(KEY)) == (-1, 0, 0)
    fenced_set(client, "hour", 8, ms=3_600_000)
    assert 0 < client.pttl(KEY) <= 3_600_000
    fenced_set(client, "ever", 8)
    assert client.pttl(KEY) == -1
    for wrong in ("1s", "0", "-5"):
        with pytest.raises(redis.ResponseError, match="FENCE the time given is"):
            fenced_set(client, "x", 9, ms=wrong)
    assert client.get(KEY) == "ever"


def test_where_memory_is_short_neither_is_changed(client):
    fenced_set(client, "one", 7)
    client.config_set("maxmemory", 1)
    with pytest.raises(redis.ResponseError, match="maxmemory"):
        fenced_set(client, "two", 8)
    assert (client.get(KEY), client.hget(MARK, "fence")) == ("one", "7")


def test_the_rights_that_the_page_gives_are_enough_and_no_more(redis_server, client):
    words = pages.frame_of(PAGE, "ACL SETUSER ").replace("\\\n", " ").split()
    assert words[:2] == ["ACL", "SETUSER"]
    client.execute_command(*(">sesame" if word.startswith(">") else word for word in words))
    with redis_server.client(words[2], "sesame") as shop:
        assert fenced_set(shop, "one", 7) == [1, "7"]
        for denied in (lambda: shop.get(KEY), lambda: fenced_set(shop, "x", 7, keys=("other:{a}", "other:{a}:fence")),
                       shop.flushall):
            with pytest.raises(redis.exceptions.NoPermissionError):
                denied()
    for right in (word for word in words if word.startswith("+") and word not in ("+eval", "+evalsha")):
        client.execute_command("ACL", "SETUSER", words[2], "-" + right[1:])
        with redis_server.client(words[2], "sesame") as shop, pytest.raises(redis.RedisError):
            fenced_set(shop, "x", 8)
        client.execute_command("ACL", "SETUSER", words[2], right)


def test_in_a_cluster_both_keys_are_in_one_slot(tmp_path):
    shutil.copy(SCRIPT, tmp_path)

    def typed(cluster, key, mark, value, fence):
        command = pages.frame_of(PAGE, "redis-cli -c ").split()
        there = {"redis-1.example": cluster.host, "6379": str(cluster.port), "'stock:{milk}'": key,
                 "'stock:{milk}:fence'": mark, "12": value, "7": str(fence)}
        done = subprocess.run(
            [command[0], "--user", TESTS_USER, "--pass", "any", "--no-auth-warning",
             *(there.get(word, word) for word in command[1:])],
            cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
        return done.stdout.split()
    with Cluster(replicas=0, node_timeout_ms=15000) as cluster:
        cluster.start()
        for name in ("a", "b", "c", "d", "e", "f"):  # in slots of more than one node
            key = f"stock:{{{name}}}"
            assert typed(cluster, key, f"{key}:fence", "12", 10) == ["1", "10"]
            assert typed(cluster, key, f"{key}:fence", "late", 9)[:2] == ["0", "10"]
        assert "CROSSSLOT" in " ".join(typed(cluster, "stock:milk", "fence:milk", "12", 7))
        assert cluster.errors()["MOVED"] > 0


# --- The same in the page and in the plugin ---

def test_the_page_shows_the_script():
    assert pages.frame_of(PAGE, "-- SPDX-License-Identifier: MIT\n-- Sets a string") == SCRIPT.read_text()


def test_the_plugin_has_the_script():
    text = re.search(r"static const char script\[\] =\n(.*?);\n", SOURCE.read_text(), re.S)[1]
    literal = "".join(re.findall(r'^ *"(.*)"$', text, re.M))
    held = literal.replace("\\n", "\n").replace('\\"', '"')
    lines = [line for line in SCRIPT.read_text().splitlines() if line.strip() and not line.startswith("--")]
    assert held == "".join(f"{line}\n" for line in lines)
    assert hashlib.sha1(held.encode()).hexdigest() == re.search(r'script_sha\[\] = "(\w+)"', SOURCE.read_text())[1]


# --- The plugin, built as the page says ---

@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """With the installed header, rota.pc, hiredis's, and nothing else."""
    root, folder = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("author")
    subprocess.run(["cmake", "--install", h.BUILD], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DESTDIR": str(root)})
    pc = next(root.rglob("rota.pc"))
    prefix = re.search(r"^CMAKE_INSTALL_PREFIX:PATH=(.*)$", (h.BUILD / "CMakeCache.txt").read_text(), re.M)[1]
    (folder / "rota.pc").write_text(pc.read_text().replace(prefix, f"{root}{prefix}"))
    source = next(root.rglob("fenced_set.c"))
    assert (source.parent / "fenced_set.lua").read_text() == SCRIPT.read_text()
    shutil.copy(source, folder)
    command = pages.frame_of(PAGE, "gcc ").replace("gcc ", "gcc -Wall -Wextra -Werror -Wno-missing-field-initializers ")
    subprocess.run(["sh", "-ec", command], check=True, cwd=folder, timeout=120,
                   env={**os.environ, "PKG_CONFIG_PATH": str(folder)})
    return folder / "fenced_set.so"


def params_of(server, **more):
    params = {"address": server.address, "key": KEY, "value": "12", **more}
    return {name: value for name, value in params.items() if value is not None}


@pytest.fixture
def stock(redis_server, client):
    """For who comes without a name, as the plugin does here."""
    client.execute_command("ACL", "SETUSER", "default", *RIGHTS)
    return redis_server


def run(plugin, server, fence, more=(), **values):
    ended, guard = h.run(plugin, params_of(server, **dict(more)), fence=fence, **values)
    assert ended["how"] == h.RETURNED, ended
    return ended["result"], ended["detail"], guard


def test_newer_goes_on_and_older_is_lost(plugin, stock, client):
    assert run(plugin, stock, 9, {"value": "nine"}, device="gate-2")[0] == h.SUCCEEDED
    result, why, _ = run(plugin, stock, 8, {"value": "late"})
    assert (result, client.get(KEY)) == (h.LOST, "nine")
    assert why == (f"fence 8 is older than 9, with which gate-2 has set {KEY} for the turn of 2026-11-29 15:50:00 UTC")
    assert run(plugin, stock, 9, {"value": "again"})[0] == run(plugin, stock, 10, {"value": "ten"})[0] == h.SUCCEEDED
    assert client.hgetall(MARK) == {"fence": "10", "turn": str(TURN), "device": "gate-1"}


def test_a_server_that_forgot_the_script_is_sent_it_anew(plugin, stock, client):
    def calls():
        stats = client.info("commandstats")
        return [stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("evalsha", "eval")]
    client.config_resetstat()
    assert run(plugin, stock, 7)[0] == h.SUCCEEDED and calls() == [1, 1]
    assert run(plugin, stock, 8)[0] == h.SUCCEEDED and calls() == [2, 1]
    client.script_flush()
    assert run(plugin, stock, 7)[0] == h.LOST and calls() == [3, 2]


def test_without_a_fence_nothing_is_set(plugin, stock, client):
    result, why, _ = run(plugin, stock, 0)
    assert (result, client.keys()) == (h.REFUSED, []) and "this run has no fence" in why and "require_fence" in why


def test_what_the_server_holds_is_no_string(plugin, stock, client):
    client.rpush(KEY, "x")
    result, why, _ = run(plugin, stock, 7)
    assert result == h.REFUSED and f"FENCE {KEY} is a list" in why


@pytest.mark.parametrize("key, mark", [("stock:milk", "{stock:milk}:fence"), (KEY, MARK)])
def test_the_names_of_the_fence(plugin, stock, client, key, mark):
    client.execute_command("ACL", "SETUSER", "default", "~{stock:*")
    assert run(plugin, stock, 7, {"key": key, "expires": "1h"})[0] == h.SUCCEEDED
    assert (client.hget(mark, "fence"), client.pttl(mark)) == ("7", -1) and 0 < client.pttl(key) <= 3_600_000
    assert run(plugin, stock, 8, {"key": key, "fence_key": "stock:other"})[0] == h.SUCCEEDED
    assert (client.hget("stock:other", "fence"), client.pttl(key)) == ("8", -1)


def test_a_commands_output_is_the_value(plugin, stock, client):
    assert run(plugin, stock, 7, {"value": None, "command": 'printf "a\\000b $ROTA_TURN\\n\\n"'})[0] == h.SUCCEEDED
    assert client.get(KEY) == f"a\0b {TURN}\n"
    for command, says in (("echo none >&2; exit 3", "none (the command has ended with status 3; nothing was set)"),
                          ("kill -9 $$", "the command has ended with signal 9"),
                          ("head -c 1048577 /dev/zero", "more than 1 MiB")):
        result, why, _ = run(plugin, stock, 8, {"value": None, "command": command})
        assert result == h.FAILED and says in why
    assert client.hget(MARK, "fence") == "7"


def test_asked_to_stop_it_sets_nothing(plugin, stock, client):
    result, why, _ = run(plugin, stock, 7, {"value": None, "command": "echo 12; sleep 60"}, worst_case_ms=300)
    assert result == h.DECLINED and "before anything was set" in why and client.keys() == []


@contextlib.contextmanager
def frozen(server):
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


def test_it_waits_no_longer_than_its_lease(plugin, stock):
    """Ended by itself, and not by the guard."""
    with frozen(stock):
        before = h.boot_ms()
        result, why, guard = run(plugin, stock, 7, worst_case_ms=20000, deadline_in_ms=2500)
        assert h.boot_ms() < guard.deadline and h.boot_ms() - before < 5000
    assert result == h.FAILED and "no answer in time; whether" in why and "the next try sets it again" in why
    assert guard.frames[-1]["stop"] == h.STOP_NONE


def test_a_login(plugin, tmp_path, redis_server, client):
    client.execute_command("ACL", "SETUSER", "shop", "on", ">sesame", *RIGHTS)
    secret = tmp_path / "shop.password"
    secret.touch(mode=0o600)
    secret.write_text("sesame\nnot this\n")
    login = {"username": "shop", "password_file": str(secret)}
    assert run(plugin, redis_server, 7, login)[0] == h.SUCCEEDED
    secret.write_text("wrong\n")
    result, why, _ = run(plugin, redis_server, 8, login)
    assert result == h.FAILED and "login: WRONGPASS" in why and "wrong" not in why.replace("WRONGPASS", "")
    secret.write_text("\n")
    assert "no password in its first line" in run(plugin, redis_server, 8, login)[1]
    secret.chmod(0o644)
    assert f"type chmod 600 {secret}" in run(plugin, redis_server, 8, login)[1]
    secret.unlink()
    assert "No such file" in run(plugin, redis_server, 8, login)[1]
    result, why, _ = run(plugin, redis_server, 8, {"username": "shop", "password_file": "credential:none"})
    assert result == h.FAILED and "credential" in why and "none" in why
    assert client.get(KEY) == "12" and client.hget(MARK, "fence") == "7"


@contextlib.contextmanager
def answering(answer):
    """The address of a server that gives everybody the same answer, once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)

        def serve():
            with contextlib.suppress(OSError), server.accept()[0] as peer:
                peer.recv(65536)
                peer.sendall(answer)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            thread.join()


@pytest.mark.parametrize("answer", [
    b"+OK\r\n", b":1\r\n", b"$-1\r\n", b"*-1\r\n", b"*0\r\n", b"*2\r\n:0\r\n$1\r\n9\r\n", b"*2\r\n:2\r\n$1\r\n7\r\n",
    b"*2\r\n$1\r\n1\r\n$1\r\n7\r\n", b"*3\r\n:0\r\n$1\r\n9\r\n$1\r\n1\r\n"])
def test_what_is_no_answer_of_the_script_is_no_success(plugin, answer):
    with answering(answer) as address:
        ended, _ = h.run(plugin, {"address": address, "key": KEY, "value": "12"})
    assert ended["result"] == h.FAILED and "an answer that is none of the script's" in ended["detail"], ended


def tried(plugin, params):
    return subprocess.run([h.GUARD, "--try", plugin, *(f"{name}={value}" for name, value in params.items())], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)


def test_by_hand_it_looks_and_sets_nothing(plugin, stock, client):
    done = tried(plugin, params_of(stock))
    assert done.returncode == 0 and "by hand nothing is set; the newest fence is none" in done.stdout, done.stdout
    fenced_set(client, "one", 7, TURN, "gate-1")
    before = everything(client)
    done = tried(plugin, params_of(stock))
    assert done.returncode == 0 and "the newest fence is 7, of gate-1" in done.stdout
    assert everything(client) == before
    with answering(b":1\r\n") as address:
        done = tried(plugin, {**params_of(stock), "address": address})
    assert done.returncode == 1 and f"{MARK}: no answer to HMGET" in done.stdout
    done = tried(plugin, {**params_of(stock), "address": "unix:/no/such.sock"})
    assert done.returncode == 1 and "unix:/no/such.sock: No such file or directory" in done.stdout


GOOD = {"address": "127.0.0.1:1", "key": "stock", "value": "1"}


@pytest.mark.parametrize("change, says", [
    *(({"address": text}, "write unix:/path or host:port")
      for text in ("/run/redis.sock", "redis", "[::1:6379", "127.0.0.1:x", "127.0.0.1:0", ":6379")),
    ({"address": "redis.example:6379"}, "write clear = true if nobody else can read"),
    ({"password_file": "secret"}, "write an absolute path or credential:NAME"),
    ({"username": "shop"}, "no password_file; write both"), ({"key": "a{}b"}, "write fence_key, too"),
    ({"fence_key": "stock"}, "key and fence_key are the same"),
    ({"command": "date"}, "write value or command, one of the two"), ({"value": None}, "write value or command"),
])
def test_mistakes_of_the_configuration(plugin, change, says):
    with h.Guard("--probe") as guard:
        assert guard.probe(plugin, GOOD)["errors"] == []
        params = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
        [(_, said)] = guard.probe(plugin, params, index=1)["errors"]
        assert says in said
        guard.close()


# --- Whole devices ---

def test_the_job_of_the_page_is_good(plugin, fleet):
    shutil.copy(plugin, fleet.plugins)
    device = fleet.device({})
    job = pages.frame_of(PAGE, "stock_count = {")
    device.write_text(f'prefix = "test:"; redis = {{ address = "{fleet.redis.address}"; }};\n'
                      f'plugin_dir = [ "{fleet.plugins}" ]; job_user = "root";\njobs = {{ {job} }};\n')
    done = device.check()
    assert done.returncode == 0 and "1 job, all good" in done.stdout, done.stdout + done.stderr


def test_a_run_that_was_overtaken_is_lost(plugin, fleet):
    """The first has its lease, and believes in it; Redis has lost the lock, and gives the next one to the second."""
    shutil.copy(plugin, fleet.plugins)
    with contextlib.closing(RedisServer().start()) as shop, shop.client() as data:
        data.execute_command("ACL", "SETUSER", "shop", "on", ">sesame", *RIGHTS)
        secret = fleet.folder / "shop.password"
        secret.touch(mode=0o600)
        secret.write_text("sesame\n")
        command = (f"echo $ROTA_TURN >>{fleet.ledger}.begun; "
                   f"until [ -e {fleet.folder}/$1.free ]; do sleep 0.05; done; echo $1")

        def job(name):
            params = {"address": shop.address, "username": "shop", "password_file": str(secret), "key": KEY,
                      "command": f"set -- {name}; {command}"}
            return {"stock_count": {**SHORT, **ONCE, "plugin": "fenced_set", "worst_case": "60s", "lease": "65s",
                                    "require_fence": True, "retry_delay": "30s", "params": params}}

        def begun():
            path = fleet.folder / "ledger.begun"
            return path.read_text().split() if path.exists() else []
        fleet.make_due("stock_count")
        first = fleet.device(job("gate-1"), name="gate-1").start()
        wait_for(lambda: len(begun()) == 1, 10, "the first works")
        fleet.client.delete(fleet.key("stock_count", "lock"))
        second = fleet.device(job("gate-2"), name="gate-2").start()
        wait_for(lambda: len(begun()) == 2, 10, "the second works, too")
        assert len(set(begun())) == 1
        (fleet.folder / "gate-2.free").touch()
        second.wait_line("stock_count: succeeded")
        fence = data.hget(MARK, "fence")
        (fleet.folder / "gate-1.free").touch()
        lost = first.wait_line("stock_count: .*is older than").text
        assert f"is older than {fence}, with which gate-2 has set {KEY}" in lost
        assert data.get(KEY) == "gate-2"

        def outcomes():
            return {entry["token"].partition(":")[0]: entry["outcome"] for entry in fleet.history("stock_count")}
        wait_for(lambda: outcomes() == {"gate-1": "lost", "gate-2": "succeeded"}, 10, "both are in the history")
