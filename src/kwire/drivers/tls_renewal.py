"""The files of certificates and keys that a TLS context was made of, and the context anew once they change.

Layer 4; imported only where TLS is used. Certificates are replaced while clients live, and what they replace expires: a
connection made later has to show the new one. So the files are looked at, not read, for each new connection.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from kwire.drivers.loggers import LateLogger
from kwire.drivers.tls_context import make_context
from kwire.engine.settings.security import SecuritySettings
from kwire.errors import ConfigError

_log = LateLogger("kwire.drivers")

_FILES = (
    "ssl_ca_location",
    "ssl_crl_location",
    "ssl_certificate_location",
    "ssl_key_location",
    "ssl_truststore_location",
    "ssl_keystore_location",
)

_State = list[tuple[int, int, int] | None]
"""Of each file: inode, size, time of its last change; None for one that is not there."""


class RenewedContext:
    """A context that `make` makes of the files at `paths`, as they were when `current` was last asked for."""

    def __init__(self, make: Callable[[], ssl.SSLContext], paths: Iterable[str | None]) -> None:
        """Raises ConfigError for certificates and keys that cannot be used."""
        self._make = make
        self._paths = [path for path in paths if path]
        self._seen = self._state()
        self._context = make()

    @classmethod
    def of_client(cls, settings: SecuritySettings) -> RenewedContext:
        """That of a client's connections to brokers; raises ConfigError."""
        names = () if settings.ssl_context is not None else _FILES
        return cls(partial(make_context, settings), (getattr(settings, name) for name in names))

    def current(self) -> ssl.SSLContext:
        """Made anew if files have changed; while they do not fit each other, as in the middle of a change, it stays."""
        state = self._state()
        if state != self._seen:
            self._seen = state
            try:
                self._context = self._make()
            except (ConfigError, Warning) as error:
                _log.warning("Certificates have changed, and those from before are used: %s", error)
            else:
                _log.info("Certificates have changed, and are used from now on")
        return self._context

    def _state(self) -> _State:
        return [_state_of(file) for path in self._paths for file in _files_of(path)]


def _files_of(path: str) -> Iterator[str]:
    yield path
    try:
        names = os.listdir(path)
    except OSError:  # a file, or nothing for now
        return
    yield from (os.path.join(path, name) for name in sorted(names))


def _state_of(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
