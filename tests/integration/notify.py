# SPDX-License-Identifier: MIT
"""The service manager's end of sd_notify(3): keeps what a rotad says, and when."""
import re
import socket
import threading
import time

import fleet


class NotifySocket:
    def __init__(self, path):
        self.path = str(path)
        self.messages = []  # (monotonic seconds, text)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self):
        while data := self.socket.recv(4096):
            self.messages.append((time.monotonic(), data.decode()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self.path)
        self.listener.join()
        self.socket.close()

    def texts(self, pattern=""):
        return [text for _, text in list(self.messages) if re.search(pattern, text, re.M)]

    def wait_for(self, pattern, within, count=1):
        def there():
            texts = self.texts(pattern)
            return texts[count - 1] if len(texts) >= count else None
        return fleet.wait_for(there, within, f"the service manager hears /{pattern}/ {count} times")

    def pings(self):
        """The instants of the watchdog's pings."""
        return [at for at, text in list(self.messages) if "WATCHDOG=1" in text]
