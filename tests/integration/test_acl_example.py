# SPDX-License-Identifier: MIT
"""conf/redis-acl.example: the user of a fleet's devices has the rights that rota needs, and no other.

That they are enough, the whole suite shows: its servers give whoever comes without a name just these (redis_server.py)."""
import hashlib
import os
import re
import shlex
import shutil
import subprocess

import pytest
import redis
from redis.exceptions import NoPermissionError

import pages
from fleet import ONCE, ROOT, SHORT, Fleet
from redis_server import ACL_EXAMPLE, PROGRAM, TESTS_USER, RedisServer, example_rules

PASSWORD = "sesame"
SUM = hashlib.sha256(PASSWORD.encode()).hexdigest()
LITERAL = re.compile(r'"([A-Z]+)"(?:, "([A-Z]+)")?')
CALL = re.compile(r"redis\.p?call\(")
# The survey calls what the rules refuse, to hear why.
REFUSED = "redis.pcall(unpack(call))"


def commands_of_scripts():
    """Those that they call; each call names its command."""
    found = set()
    for path in (ROOT / "runtime/redis/scripts").glob("*.lua"):
        code = re.sub(r"--.*", "", path.read_text()).replace(REFUSED, "")
        calls = re.findall(r"redis\.p?call\('([A-Z]+)'", code)
        assert len(calls) == len(CALL.findall(code)), path
        found |= {call.lower() for call in calls}
    return found


def commands_of_programs(known):
    """The literals in rotad's source that are names of commands; not the errors' first words, which are in one file.
    rotactl's words are none: it does not speak to Redis."""
    found = set()
    sources = set((ROOT / "runtime").rglob("*.c")) - set((ROOT / "runtime/rotactl").iterdir())
    # These speak to sentinels, which have users of their own.
    sources -= {*(ROOT / "runtime/redis").glob("sentinel*.c"), ROOT / "runtime/supervisor/check_online_sentinels.c"}
    for path in sources - {ROOT / "runtime/redis/fault.c"}:
        for name, sub in LITERAL.findall(path.read_text()):
            whole = f"{name}|{sub}".lower() if f"{name}|{sub}".lower() in known else name.lower()
            found |= {whole} & known
    return found


def known_commands(client):
    """What a right can be given for."""
    known = set()
    for category in client.acl_cat():
        known |= set(client.acl_cat(category))
    return known


def without_right(client):
    """Commands that no rule can refuse: those that come before the login."""
    return {name for name, facts in client.command().items() if "no_auth" in facts["flags"]}


def test_it_gives_what_is_used_and_no_more(redis_server):
    with redis_server.client() as client:
        used = commands_of_scripts() | commands_of_programs(known_commands(client))
        used -= without_right(client)
    # The first word of an error; and what the example gives in a comment, for who wants to.
    used -= {"readonly", "cluster|info"}
    rules = example_rules()
    given = {rule[1:] for rule in rules if rule[0] == "+"}
    assert given == used
    assert [rule for rule in rules if rule[0] != "+"] == ["reset", "on", "resetchannels", "~test:{*", "-@all"]


class NamedServer(RedisServer):
    """With the example's users, filled in and included as it says. Nobody comes without a name."""

    def _write_users(self):
        text = ACL_EXAMPLE.read_text().replace("#PASSWORD-SHA256", f"#{SUM}").replace("acme-gw:", "test:")
        (self.folder / "redis-acl.conf").write_text(text.replace("# user ", "user "))
        (self.folder / "users.conf").write_text(
            f"include {self.folder}/redis-acl.conf\nuser {TESTS_USER} on nopass ~* &* +@all\nuser default off\n")

    def named(self, user):
        return self.client(user, PASSWORD)


class AclFileServer(RedisServer):
    """With an aclfile, which takes no comments: what grep '^user ' leaves of the example."""

    def _write_users(self):
        lines = re.findall("^user .*$", ACL_EXAMPLE.read_text().replace("#PASSWORD-SHA256", f"#{SUM}"), re.M)
        (self.folder / "users.acl").write_text("\n".join([*lines, f"user {TESTS_USER} on nopass ~* &* +@all", ""]))
        (self.folder / "users.conf").write_text(f"aclfile {self.folder}/users.acl\n")


@pytest.fixture(scope="module")
def named_server():
    server = NamedServer()
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def named_fleet(named_server):
    the_fleet = Fleet(named_server)
    try:
        the_fleet.client.flushall()
        yield the_fleet
    finally:
        the_fleet.close()


def by_name(fleet, password=PASSWORD):
    secret = fleet.folder / "password"
    secret.touch(mode=0o600)
    secret.write_text(f"{password}\n")
    return {"address": fleet.redis.address, "username": "rota", "password_file": secret, "command_timeout": "300ms"}


def test_redis_takes_the_file_only_with_a_password(tmp_path):
    ended = subprocess.run([PROGRAM, ACL_EXAMPLE, "--port", "0", "--dir", tmp_path],
                           capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode != 0 and "64 characters" in ended.stdout + ended.stderr


def test_its_lines_alone_are_an_aclfile():
    server = AclFileServer()
    try:
        with server.start().client() as client:
            assert sorted(client.acl_users()) == ["default", "rota", TESTS_USER]
    finally:
        server.close()


def lines_of_manual():
    return pages.frame_of("docs/rotad.8.scd", "prefix=acme-gw:")


def lines_of_readme():
    return pages.frame_of("README.md", "prefix=acme-gw:")


def test_manual_and_readme_make_the_user(redis_server, tmp_path):
    lines = lines_of_manual()
    assert lines == lines_of_readme()
    shutil.copy(ACL_EXAMPLE, tmp_path)
    ours = f'redis-cli() {{ command redis-cli -s {redis_server.socket} --user {TESTS_USER} "$@"; }}\n'
    done = subprocess.run(["bash", "-ec", ours + lines.replace("acme-gw:\n", "lab:\n")], cwd=tmp_path, text=True,
                          capture_output=True, timeout=30, check=True, env={**os.environ, "REDISCLI_AUTH": "any"})
    secret = tmp_path / "redis.password"
    assert done.stdout == "OK\n" and secret.stat().st_mode & 0o777 == 0o600
    with redis_server.client("rota", secret.read_text().strip()) as client:
        assert client.set("lab:{report}:lock", "a", nx=True, px=1000)
        with pytest.raises(NoPermissionError):
            client.get("acme-gw:{report}:lock")


def test_a_device_of_the_user_does_its_turns(named_fleet):
    jobs = {"report": {**SHORT, **ONCE, **named_fleet.body("report")},
            "update": {**SHORT, **ONCE, "scope": "device", **named_fleet.body("update")}}
    named_fleet.make_due("report")
    device = named_fleet.device(jobs, redis=by_name(named_fleet))
    named_fleet.make_due_here("update", device)
    device.start()
    for job in jobs:
        named_fleet.wait_entry("end", job)
        assert named_fleet.wait_history(job)[0]["outcome"] == "succeeded"
    listed = [each for each in named_fleet.client.client_list() if each["user"] == "rota"]
    assert [each["name"] for each in listed] == [device.name]
    assert device.complaints() == [] and device.lines(PASSWORD) == []


FORBIDDEN = [
    "GET other:lock", "GET test:lock", "GET test:x:{report}:lock", "DEL other:lock", "EVAL 'return 0' 1 other:lock",
    "FLUSHALL", "FLUSHDB", "KEYS *", "SCAN 0", "RANDOMKEY", "RENAME test:{a}:b test:{a}:c", "MIGRATE h 1 test:{a}:b 0 1",
    "CONFIG GET dir", "CONFIG SET dir .", "SCRIPT FLUSH", "SCRIPT KILL", "FUNCTION FLUSH", 
    "ACL LIST", "ACL SETUSER rota +@all", "CLIENT LIST", "CLIENT KILL TYPE normal", "MONITOR", "SHUTDOWN", "SAVE",
    "REPLICAOF h 1", "MODULE LIST", "SLOWLOG GET", "LATENCY RESET", "PUBLISH c m", "SUBSCRIBE c"]


@pytest.mark.parametrize("words", FORBIDDEN)
def test_the_user_can_do_nothing_else(named_server, words):
    with named_server.named("rota") as client:
        with pytest.raises(NoPermissionError):
            client.execute_command(*shlex.split(words))


def may(client, command):
    """Whether the user may give the command, with whatever number of arguments it takes."""
    def tried(*arguments):
        try:
            return client.execute_command("ACL", "DRYRUN", "rota", *command.split("|"), *arguments) == "OK"
        except redis.ResponseError:  # another number
            return False
    return any(tried(*["test:{a}"] * min(1, count), *["1"] * (count - 1)) for count in range(5))


def test_of_all_commands_that_there_are_it_has_its_own(named_server):
    with named_server.client() as client:
        allowed = {command for command in known_commands(client) if may(client, command)}
        assert allowed - without_right(client) == {rule[1:] for rule in example_rules() if rule[0] == "+"}


@pytest.mark.parametrize("words", ["get other:lock", "set test:x:{report}:lock a", "flushall", "publish c m"])
def test_nor_from_within_a_script(named_server, words):
    with named_server.named("rota") as client:
        with pytest.raises(redis.ResponseError, match="(?i)permission|can't"):
            client.eval("return redis.call(unpack(ARGV))", 0, *words.split())


def test_what_the_operator_is_told_to_type_works(named_fleet):
    typed = re.findall(r"^#   ([A-Z]+ \S*acme-gw:.*)$", ACL_EXAMPLE.read_text(), re.M)
    assert [line.split()[0] for line in typed] == ["SET", "DEL", "HGETALL", "XREVRANGE", "HGETALL"]
    jobs = {"nightly_report": {**SHORT, "every": "2s", **named_fleet.body("nightly_report")}}
    device = named_fleet.device(jobs, redis=by_name(named_fleet)).start()
    with named_fleet.redis.named("rota-operator") as client:
        pause, resume, *looks = [shlex.split(line.replace("acme-gw:", "test:")) for line in typed]
        client.execute_command(*pause)
        device.wait_line("paused.*ann: repairs")
        client.execute_command(*resume)
        named_fleet.wait_entry("end")
        named_fleet.wait_history("nightly_report")
        assert all(client.execute_command(*look) for look in looks)


@pytest.mark.parametrize("words", ["DEL test:{report}:lock", "HSET test:{report}:claim done 0", "GET other:lock",
                                   "DEL other:{report}:pause", "EVALSHA 0 0", "KEYS *", "FLUSHALL"])
def test_the_operator_changes_no_lock_and_no_claim(named_server, words):
    with named_server.named("rota-operator") as client:
        with pytest.raises(NoPermissionError):
            client.execute_command(*shlex.split(words))
