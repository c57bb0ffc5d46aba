# SPDX-License-Identifier: MIT
"""A cellular link: 600 ms from a request to its reply at the least, and 2 % loss.

    with cellular(redis_server.socket) as (proxy, enter):
        fleet.enter = enter
"""
import contextlib
import ctypes
import os
import socket
import subprocess
import threading

from fault_proxy import FaultProxy

ROUND_TRIP_SECONDS = 0.6
LOSS = 0.02
CLONE_NEWNET = 0x40000000


class NetworkNamespace:
    """A loopback of the test's own, on which nftables drops packets by chance."""

    def __init__(self, percent):
        self.name = f"rota-test-{os.getpid()}"
        self._run("ip", "netns", "add", self.name)
        try:
            self._run(*self.enter, "ip", "link", "set", "lo", "up")
            self._run(*self.enter, "nft", "-f", "-", text=f"""table inet loss {{
                chain arriving {{
                    type filter hook input priority 0
                    meta l4proto tcp numgen random mod 100 < {percent} counter drop
                }}
            }}\n""")
        except Exception:
            self.close()
            raise

    @staticmethod
    def _run(*command, text=None):
        return subprocess.run(command, input=text, text=True, check=True,
                              capture_output=True).stdout

    @property
    def enter(self):
        """What a command is to begin with so that it runs in there."""
        return ["nsenter", f"--net=/run/netns/{self.name}"]

    def dropped(self):
        words = self._run(*self.enter, "nft", "list", "ruleset").split()
        return int(words[words.index("packets") + 1])

    def socket(self):
        """A TCP socket in there: a thread goes there and ends; the test's own stays where it is."""
        made = []

        def make():
            libc = ctypes.CDLL(None, use_errno=True)
            with open(f"/run/netns/{self.name}", "rb") as there:
                if libc.setns(there.fileno(), CLONE_NEWNET) == 0:
                    made.append(socket.socket(socket.AF_INET))
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        assert made, f"no socket in {self.name}"
        return made[0]

    def close(self):
        self._run("ip", "netns", "del", self.name)


@contextlib.contextmanager
def namespace_that_drops(percent):
    """None where this process may not make one, or has not the tools."""
    try:
        netns = NetworkNamespace(percent)
    except (OSError, subprocess.CalledProcessError):
        netns = None
    try:
        yield netns
    finally:
        if netns:
            print(f"nftables dropped {netns.dropped()} packets")
            netns.close()


@contextlib.contextmanager
def cellular(server_path):
    """A proxy, and what a device's command is to begin with, so that it reaches the proxy.

    The loss is real where there can be a network namespace; elsewhere the proxy plays it.
    """
    with namespace_that_drops(round(LOSS * 100)) as netns:
        loss = 0.0 if netns else LOSS
        with FaultProxy(server_path, ROUND_TRIP_SECONDS, loss, netns) as proxy:
            yield proxy, netns.enter if netns else []
