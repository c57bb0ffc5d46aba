# SPDX-License-Identifier: MIT
"""Each peer really takes the lock, keeps it while the job runs, and lets go of it; and does not run without it."""
import os
import shutil
import tempfile
import pathlib

import pytest
from fleet import wait_for

import peers.lockers as lockers
import peers.measure as measure

TTL_MS = 60_000


@pytest.fixture(name="place", scope="module")
def _place():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rota-peers-"))
    try:
        with lockers.place_in(folder / "peers") as place:
            yield place
    finally:
        shutil.rmtree(folder)


@pytest.fixture(name="peer", params=lockers.ONCE, ids=lambda kind: kind.__name__)
def _peer(request, place):
    peer = request.param(place)
    if why := peer.why():
        pytest.skip(why)
    return peer


def test_the_lock_is_held_while_the_job_runs_and_no_longer(peer):
    key, host = f"test:{type(peer).__name__}", f"hold_{type(peer).__name__}"
    process = peer.start(key, TTL_MS, host, hold=True)
    try:
        wait_for(lambda: peer.place.stamps(host), 20, "the job runs")
        assert peer.is_held(key)
        second = peer.start(key, TTL_MS, host)
        try:
            if not peer.waits:
                assert second.wait(20) == lockers.HELD
            assert len(peer.place.stamps(host)) == 1
        finally:
            second.kill()
            second.wait()
        os.kill(peer.place.stamps(host)[0][1], 15)
        process.wait(20)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
            os.kill(peer.place.stamps(host)[0][1], 9)
    if isinstance(peer, lockers.Bash):
        with peer.place.redis.client() as client:
            assert 0 < client.pttl(key) <= lockers.GRACE_MS
    else:
        wait_for(lambda: not peer.is_held(key), 10, "the lock is let go of")


def test_another_key_in_its_place_keeps_the_job_from_running(peer):
    if peer.waits:
        pytest.skip("it has no key of its own that another may set")
    key, host = f"taken:{type(peer).__name__}", f"taken_{type(peer).__name__}"
    peer.take(key)
    assert peer.start(key, TTL_MS, host).wait(20) == lockers.HELD
    assert peer.place.stamps(host) == [] and peer.is_held(key)


def test_runs_are_measured_whole(peer):
    found = measure.one_shots(peer, 4)
    assert len(found["begin"].values) == len(found["whole"].values) == 4
    assert min(found["begin"].values) > 0 and found["begin"].least < found["whole"].most
    assert found["cpu"].median > 0 and found["peak"].median > 500
    if not peer.waits:
        assert len(found["release"].values) == 4 and found["commands"].median >= 2


def test_each_takeover_takes_the_time_of_the_lock(place):
    peer = lockers.ONCE[0](place)
    if why := peer.why():
        pytest.skip(why)
    took = [measure.takeover(peer) for _ in range(2)]
    assert all(seconds > 0.9 * measure.SHORT_TTL_MS / 1000 for seconds, _ in took), took
