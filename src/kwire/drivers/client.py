"""The base of the synchronous clients: opening, asking, closing, pickling, and warning of one left open.

Layer 4: knows settings, a core and its reactor. Calls and records are the clients' own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

from kwire._typing import TYPE_CHECKING, Any, Generic, Self, TypeVar
from kwire.drivers.cores import make_core
from kwire.drivers.reactor import Reactor
from kwire.engine.arguments import seconds
from kwire.engine.calls import Call
from kwire.engine.core import Core
from kwire.engine.fan_out import AdminApi, FanOutCall
from kwire.engine.settings import ClientSettings
from kwire.errors import ClientClosedError

if TYPE_CHECKING:
    from typing import ClassVar

    from kwire.engine.options import Timeout
else:
    from kwire._typing import ClassVar

SettingsType = TypeVar("SettingsType", bound=ClientSettings)
T = TypeVar("T")


class Client(Generic[SettingsType]):
    """The base of Producer, Consumer and Admin. It does no I/O before the first call that needs an answer."""

    kind: ClassVar[str]
    """The name of such a client in errors."""

    settings: SettingsType
    _core: Core
    _reactor: Reactor

    @classmethod
    def _of(cls, settings: SettingsType) -> Self:
        made = cls.__new__(cls)
        made._open(settings)
        return made

    def _open(self, settings: SettingsType, *, background: bool = False) -> None:
        self.settings = settings
        self._core = make_core(settings)
        self._reactor = Reactor(self._core, background=background, name=self.kind)

    def close(self) -> None:
        """Closes all connections. From any thread; idempotent."""
        self._reactor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        reactor = getattr(self, "_reactor", None)
        if reactor is not None and reactor.owned_by_process and not reactor.closed and reactor.has_resources:
            if not sys.is_finalizing():  # nothing can be imported then
                import warnings

                warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)
            reactor.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), self.settings)

    def __repr__(self) -> str:
        state = " (closed)" if self._reactor.closed else ""
        return f"<{type(self).__name__} of {', '.join(map(str, self.settings.addresses))}{state}>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if hasattr(self, name)]

    def _check_open(self) -> None:
        if self._reactor.closed:
            raise ClientClosedError(f"this {self.kind} is closed")

    def _patience(self, timeout: Timeout) -> float:
        """Seconds that a call may take."""
        given = seconds(timeout)
        return self.settings.default_api_timeout_ms / 1000 if given is None else given

    def _run(self, api: AdminApi[Any, Any], timeout: Timeout) -> Any:
        """The result of that API's call."""
        return self._ask(timeout, lambda now, deadline: FanOutCall(self._core, api, deadline=deadline, now=now))

    def _ask(self, timeout: Timeout, start: Callable[[float, float], Call]) -> Any:
        """The result of the call that `start(now, deadline)` begins; raises its error."""
        self._check_open()
        patience = self._patience(timeout)
        call = self._reactor.call(lambda now: start(now, now + patience))
        try:
            self._reactor.wait(lambda: call.done, patience + 1)
        finally:
            if not call.done and not self._reactor.closed:
                self._reactor.call(lambda now: call.fail(call.timed_out(), now))
        return call.value()


def _reopen(kind: type[Client[SettingsType]], settings: SettingsType) -> Client[SettingsType]:
    return kind._of(settings)
