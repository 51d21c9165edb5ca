"""What the clients of every driver share: settings, a core, a door, pickling, and a warning of one left open.

Layer 5, below the clients: knows settings and a core. `kwire._client` gives it a door to a reactor,
`kwire.aio.client` one to an event loop.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from kwire._typing import TYPE_CHECKING, Any, Generic, Self, TypeVar
from kwire.drivers.cores import make_core
from kwire.drivers.loggers import LateLogger
from kwire.engine.calls.arguments import seconds
from kwire.engine.common.secret import hiding_arguments
from kwire.engine.core import Core
from kwire.engine.settings.clients import ClientSettings
from kwire.engine.settings.config import from_config, keywords
from kwire.errors import ConfigError
from kwire.fronts.door import ClientDoor

if TYPE_CHECKING:
    from typing import ClassVar
    from uuid import UUID

    from kwire.engine.common.waits import Wait
    from kwire.engine.settings.options import Timeout
    from kwire.engine.telemetry.telemetry import Telemetry
    from kwire.fronts.health import Health, Parts
    from kwire.fronts.metrics import Metrics
else:
    from kwire._typing import ClassVar

SettingsType = TypeVar("SettingsType", bound=ClientSettings)

LAST_PUSH_S = 1.0
"""Seconds that a client which closes gives its last push of metrics."""

_log = LateLogger("kwire.clients")


class Front(Generic[SettingsType]):
    """The base of every client. It does no I/O before the first call that needs an answer."""

    _kind: ClassVar[str]
    """The name of such a client in errors."""

    _one_caller: ClassVar[bool] = False
    """Whether only one thread, or task, may use it at a time."""

    settings: SettingsType
    _core: Core
    _door: ClientDoor[Any]

    @classmethod
    def _of(cls, settings: SettingsType) -> Self:
        made = cls.__new__(cls)
        made._open(settings)
        return made

    @classmethod
    def _configured(
        cls, table: type[SettingsType], config: Mapping[str, Any], servers: object, options: Mapping[str, Any]
    ) -> Self:
        """Of a mapping that may serve other kinds of clients, too; `servers` and `options` are keywords, and win."""

        def pass_over(foreign: dict[str, tuple[str, ...]]) -> None:
            names = ", ".join(f"{name} ({' and '.join(owners)})" for name, owners in foreign.items())
            _log.debug("%s.from_config() ignores settings of other clients: %s", table.client, names)

        return cls._of(from_config(table, config, pass_over, **keywords(servers, options)))

    def _open(self, settings: SettingsType) -> None:
        self.settings = settings
        self._core = make_core(settings)

    def _put_together(self) -> None:
        """For the kinds of clients: makes what there is besides core and door, when these are there."""

    def _start_telemetry(self) -> None:
        """The client is put together: from its first step on it pushes its metrics, where that is wanted."""
        self._telemetry: Telemetry | None = None
        if self.settings.enable_metrics_push:
            from kwire.fronts.telemetry import telemetry_of

            self._telemetry = telemetry_of(self)

    def _instance_id(self, timeout: Timeout) -> Wait[UUID]:
        if self._telemetry is None:
            raise ConfigError("client_instance_id() needs telemetry: make the client with enable_metrics_push=True")
        from kwire.engine.telemetry.waits import client_instance_id

        return client_instance_id(self._door, self._telemetry, self._patience(timeout))

    def _with_last_push(self, farewell: Wait[None] | None, until: float) -> Wait[None] | None:
        """What the client does before it closes, and a last push of its metrics."""
        if self._telemetry is None or self._closed or not self._telemetry.has_last_push:
            return farewell
        from kwire.engine.telemetry.waits import last_push

        return last_push(self._door, self._telemetry, farewell, until, LAST_PUSH_S)

    def metrics(self) -> Metrics:
        """What the client has counted so far, {name: value}, and {(name, (tag, value), ...): value} for what is counted
        for each topic, partition or API. Java's names; docs/metrics.md has the table. Waits for nothing, from any
        thread, and after close(), too. Rates: `metrics().since(earlier)`, of two snapshots.
        """
        from kwire.fronts.metrics import of_core

        found = of_core(self._core, self._door.now())
        self._add_metrics(found)
        return found

    def _add_metrics(self, found: Metrics) -> None:
        """For the kinds of clients: adds what they have beside what every client has."""

    def health(self) -> Health:
        """How the client is at this moment: brokers, group, partitions, lag, what is buffered, and the last error; its
        repr is for people. Waits for nothing, from any thread; ClientClosedError after close().
        """
        from kwire.fronts.health import of_client

        if self._closed:
            raise self._door.closed_error()
        return of_client(self._kind, self._core, self._health_parts(), self._door.now())

    def _health_parts(self) -> Parts:
        """For the kinds of clients: what only they have of it."""
        from kwire.fronts.health import without_partitions

        return without_partitions()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), self.settings)

    def __repr__(self) -> str:
        return self._shown("closed" if self._is_open() and self._closed else "")

    def _shown(self, state: str) -> str:
        """What `repr()` shows. It never raises: a traceback with local variables has clients that were never open."""
        if not self._is_open():
            return f"<{type(self).__name__}, not open>"
        where = ", ".join(map(str, self.settings.addresses))
        return f"<{type(self).__name__} of {where}{f' ({state})' if state else ''}>"

    def __del__(self) -> None:
        door = getattr(self, "_door", None)
        if door is None or door.closed or not (door.driver.owned_by_process and door.driver.has_resources):
            return
        if not sys.is_finalizing():  # nothing can be imported then
            import warnings

            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)
        door.drop()

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if hasattr(self, name)]

    def _is_open(self) -> bool:
        """Whether the constructor came to its end; true of one that was closed later."""
        return getattr(self, "_door", None) is not None

    @property
    def _closed(self) -> bool:
        """Whether close() was called."""
        return self._door.closed

    def _patience(self, timeout: Timeout) -> float:
        """Seconds that a call may take."""
        given = None if timeout is None else seconds(timeout)
        return self.settings.default_api_timeout_ms / 1000 if given is None else given


@hiding_arguments
def _reopen(kind: type[Front[SettingsType]], settings: SettingsType) -> Front[SettingsType]:
    return kind._of(settings)
