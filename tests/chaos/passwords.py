"""The password of the clients' user, which changes under them: at the brokers, and in the file where they look it up.

For a while one of the two is behind; in the end both are the same.
"""

import threading
import time
from pathlib import Path

import kwire
from kwire.errors import KafkaError

USER = "chaos"
MECHANISM = "SCRAM-SHA-512"
_ADMIN_S = 10.0
_PATIENCE_S = 60.0


class Passwords:
    """`file` has what the clients believe."""

    def __init__(self, servers: str, file: Path) -> None:
        self.file = file
        self._servers = servers
        self._brokers, self._number = "first-secret", 1
        self._changes: list[threading.Thread] = []
        self._tell_brokers(self._brokers)
        self.change_file()

    def change_brokers(self, *, first: bool = False) -> None:
        """The brokers' becomes a new one where they change first, else that of the file."""
        self._brokers = self._new() if first else self.file.read_text()
        self._changes.append(threading.Thread(target=self._tell_brokers, args=(self._brokers,)))
        self._changes[-1].start()

    def change_file(self, *, first: bool = False) -> None:
        """The file's becomes a new one where it changes first, else that of the brokers."""
        beside = self.file.with_suffix(".new")
        beside.write_text(self._new() if first else self._brokers)
        beside.replace(self.file)

    def settle(self) -> None:
        """Waits for the brokers, and lets the file have what they have."""
        for change in self._changes:
            change.join()
        self.change_file()

    def _new(self) -> str:
        self._number += 1
        return f"secret-{self._number}"

    def _tell_brokers(self, password: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                with kwire.Admin(self._servers) as admin:
                    admin.alter_user_scram_credentials({USER: {MECHANISM: password}}, timeout=_ADMIN_S)
                return
            except (KafkaError, ExceptionGroup):
                if time.monotonic() > deadline:
                    raise
