# SPDX-License-Identifier: MIT
import os
import pathlib
import signal
import tempfile

import pytest

import guard_harness
import journal as journals
from fault_proxy import FaultProxy
from fleet import SANITIZED, Fleet
from online import command, online  # noqa: F401 (fixtures)
from postgres import Postgres, Template, programs
from quorum import QuorumFleet, Servers
from redis_server import RedisServer
from resp import SENT_SCRIPTS
from sandbox import place  # noqa: F401 (a fixture)
from script_job import Job, Seats
from store_harness import drive, fake  # noqa: F401 (fixtures)


# These run no code of ours, or what another build has shown already: nothing for a sanitizer to find.
collect_ignore = [
    "test_scripts.py", "test_scripts_run.py", "test_scripts_mixed.py", "test_seat_scripts.py", "test_seat_ends.py",
    "test_seat_queue.py", "test_hello_script.py", "test_fake_server.py", "test_fault_proxy.py", "test_quickstart.py",
    "test_install.py", "test_docs_plugins.py", "test_bad_citizens.py", "test_calendar_oracle.py", "test_bytes.py",
    "test_scripts_attacks.py", "test_seat_attacks.py", "test_docs_security.py", "test_s1_once_a_turn.py", "test_s16_reconnect.py",
    "test_s50_clock_ahead.py", "test_s32_run_longer_than_period.py", "test_redis_settings.py", "test_postgres.py", "test_once_by_key.py",
    "test_queue_drain.py", "test_examples.py", "test_valgrind.py"] if SANITIZED else []

# More than 10 s each, the longest first.
LONGEST = (
    "test_without_a_majority_a_run_is_stopped_in_time_and_made_again_afterwards", "test_a_held_lease_stands_on_the_majority",
    "test_500_trees_die", "test_demonstration_has_the_golden_shape_and_leaves_nothing",
    "test_a_kill_by_hand_is_taken_over_and_ctrl_c_leaves_nothing", "test_s24_nothing_grows",
    "test_stuck_for_30_seconds", "test_s51_nothing_lost_and_nothing_twice", "test_both_answer_the_same",
    "test_s49_two_schedules_are_both_kept", "test_thirty_devices_are_no_crowd",
    "test_s15_ready_waits_and_recovers", "test_s34_a_dead_redis_does_not_stop_them",
    "test_s1_once_a_turn", "test_s50_no_job_is_silent",
    "test_s16_reconnects_are_spread", "test_a_device_month_is_small", "test_what_a_kept_connection_costs",
    "test_supervisor_gone_30_times",
    "test_same_answers_as_the_plugin", "test_100_000_files", "test_agrees_with_the_slow_calendar",
    "test_was_shares_turns_by_the_old_keys", "test_guard_and_worker_die_at_each_step",
    "test_s32_next_start_is_the_next_due_instant", "test_all_of_a_file_hang", "test_s23_constructors",
    "test_a_guard_that_does_not_do_its_part", "test_s49_another_scope_is_a_mismatch_and_overlaps_with_nothing",
    "test_s31_one_catch_up_run", "test_timeout_closes_what_is_kept_on_purpose", "test_s48_first_now_runs_once", "test_s48_redis_emptied",
    "test_supervisor_dies_at_each_step", "test_tree_is_killed_30_times_in_a_row",
    "test_a_lost_key_is_never_silently_kept", "test_s40_a_holder_of_a_seat_is_killed", "test_acquire_is_refused",
    "test_all_nodes_go_and_come_back", "test_nodes_whose_clocks_differ", "test_a_user_with_a_password_on_all_nodes",
    "test_tls_on_all_nodes", "test_a_frozen_node_costs_its_own_jobs_alone", "test_a_node_is_killed",
    "test_eight_devices_drain_it_while_workers_are_killed", "test_s43_the_lock_is_lost_with_redis_s_data",
    "test_switched_off_and_on_while_it_runs", "test_reboot_is_not_begun_twice", "test_a_fleet_that_comes_at_once_is_served_fairly_and_in_few_commands",
)


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes; only quickstart test --all runs it")
    # A shell starts what it puts into the background with Ctrl-C ignored, and so would be all that is started here.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """The longest begin first: who runs them side by side then waits for nobody at the end."""
    def place(item):
        name = getattr(item, "originalname", item.name)
        return (item.get_closest_marker("long") is None,
                LONGEST.index(name) if name in LONGEST else len(LONGEST))
    items.sort(key=place)


@pytest.fixture(scope="module")
def folder():
    """For plugins: any user may read it, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


@pytest.fixture(scope="module")
def behave(folder):
    return guard_harness.compile_plugin(folder, guard_harness.PLUGINS / "behave.c")


@pytest.fixture(scope="module")
def hydra(folder):
    return guard_harness.compile_plugin(folder, guard_harness.PLUGINS / "hydra.c")


@pytest.fixture(scope="module")
def typed(folder):
    return guard_harness.compile_plugin(folder, guard_harness.PLUGINS / "typed.c")


@pytest.fixture(scope="module")
def prober():
    """One guard for many questions, as the supervisor has it."""
    with guard_harness.Guard("--probe") as guard:
        yield guard
        guard.close()
        assert guard.process.wait(5) == 0


@pytest.fixture
def redis_server():
    """A redis-server of the test's own; see RedisServer for what can be done to it."""
    server = RedisServer()
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture(scope="session")
def postgres_template(tmp_path_factory):
    """One of all workers, below the folder that pytest has for this run."""
    # Quickstart has said so and counted it as failed.
    if programs() is None:
        pytest.skip("there is no PostgreSQL")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "postgres"
    folder.mkdir(exist_ok=True)
    return Template(folder)


@pytest.fixture
def postgres(postgres_template):
    """A PostgreSQL of the test's own; see Postgres for what can be done to it."""
    server = Postgres(postgres_template)
    try:
        yield server.start()
    finally:
        print(f"--- log of PostgreSQL\n{server.output() if server.log.exists() else ''}")
        server.close()


@pytest.fixture
def proxy(redis_server):
    """Between that Redis, which knows the scripts already, and the devices with redis_by()."""
    with redis_server.client() as client:
        for script in SENT_SCRIPTS.glob("*.lua"):
            client.script_load(script.read_text())
    with FaultProxy(redis_server.socket) as the_proxy:
        yield the_proxy


@pytest.fixture
def timed_fleet():
    """The same over a Redis with a clock of the test's own: fleet.redis.clock is fleet time."""
    server = RedisServer(own_clock=True)
    try:
        the_fleet = Fleet(server.start())
        try:
            yield the_fleet
        finally:
            the_fleet.close()
    finally:
        server.close()


@pytest.fixture
def fleet(redis_server):
    """Devices that share that Redis; at the end each has to stop well, and nothing may be left."""
    the_fleet = Fleet(redis_server)
    try:
        yield the_fleet
    finally:
        the_fleet.close()


@pytest.fixture
def quorum_servers():
    """Five that know nothing of each other."""
    servers = Servers()
    try:
        yield servers.start()
    finally:
        servers.close()


@pytest.fixture
def quorum(quorum_servers):
    """Devices that share those."""
    the_fleet = QuorumFleet(quorum_servers)
    try:
        yield the_fleet
    finally:
        the_fleet.close()


@pytest.fixture
def journal():
    """Played for one device, which it starts."""
    if not journals.can_be_played():
        pytest.skip("this user can make no mount namespace")
    the_journal = journals.Journal()
    yield the_journal
    the_journal.close()


@pytest.fixture(scope="module")
def script_server():
    """For tests of the scripts alone: see `job`."""
    server = RedisServer()
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def job(script_server):
    """The scripts of a job on an empty Redis."""
    with script_server.client() as client:
        client.flushall()
        client.script_flush()
        client.config_set("maxmemory", 0)
        yield Job(client)


@pytest.fixture
def seats(job):
    """The scripts of a job of device scope on an empty Redis."""
    return Seats(job.redis)
