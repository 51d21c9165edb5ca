"""Users with SCRAM passwords, as requests see them: those that the broker began with, and those that were added.

Mechanisms go by the numbers of the protocol.
"""

from __future__ import annotations

from typing import Protocol

from kwire.testing.sasl.scram import ScramCredentials

MECHANISMS = {1: ("SCRAM-SHA-256", "sha256"), 2: ("SCRAM-SHA-512", "sha512")}


class CredentialStore(Protocol):
    """What logins ask: the accounts of a broker."""

    def scram_iterations(self) -> dict[tuple[str, str], int]: ...

    def set_scram(self, mechanism: str, user: str, credentials: ScramCredentials | None) -> None: ...


class ScramUsers:
    """The credentials of a cluster. A broker on which nobody logs in keeps them for itself."""

    def __init__(self) -> None:
        self._store: CredentialStore | None = None
        self._kept: dict[tuple[str, str], ScramCredentials] = {}

    def attach(self, store: CredentialStore) -> None:
        """From now on the credentials are those of `store`."""
        self._store = store

    def by_user(self) -> dict[str, dict[int, int]]:
        """The iterations by mechanism, of each user that has some."""
        held = {key: each.iterations for key, each in self._kept.items()}
        if self._store is not None:
            held = self._store.scram_iterations()
        found: dict[str, dict[int, int]] = {}
        for number, (name, _) in MECHANISMS.items():
            for (mechanism, user), iterations in held.items():
                if mechanism == name:
                    found.setdefault(user, {})[number] = iterations
        return found

    def set(self, user: str, mechanism: int, credentials: ScramCredentials) -> None:
        self._change(user, mechanism, credentials)

    def remove(self, user: str, mechanism: int) -> None:
        self._change(user, mechanism, None)

    def _change(self, user: str, mechanism: int, credentials: ScramCredentials | None) -> None:
        name = MECHANISMS[mechanism][0]
        if self._store is not None:
            self._store.set_scram(name, user, credentials)
        elif credentials is not None:
            self._kept[name, user] = credentials
        else:
            self._kept.pop((name, user), None)
