"""One request of a component, from the moment it is handed to the core until its answer or its error.

Layer 3, no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kwire._typing import Any
from kwire.engine.timers import Timer
from kwire.errors import KafkaError

ANY = -1001
"""Send to whichever broker can be reached."""

CONTROLLER = -1002
"""Send to the controller, where one is known; else as ANY."""

Message = Any
MessageOrBuilder = Message | Callable[[int], Message]
OnResponse = Callable[[Message, int, float], None]
OnError = Callable[[KafkaError, float], None]


class Request:
    """A request under way. Components keep it only to `cancel` it.

    A `raw` request is answered with the frame itself (a Buffer that begins with the correlation id), not a message.
    `on_end` is the core's: it is told once that the request needs no more care.
    """

    __slots__ = (
        "api_key",
        "build",
        "deadline_timer",
        "done",
        "expect_response",
        "long_poll",
        "newest",
        "oldest",
        "on_end",
        "on_error",
        "on_response",
        "raw",
        "sent_at",
        "target",
        "timeout",
        "tried",
        "version",
    )

    def __init__(
        self,
        target: int,
        api_key: int,
        build: MessageOrBuilder,
        on_response: OnResponse,
        on_error: OnError,
        *,
        versions: Sequence[int],
        expect_response: bool = True,
        long_poll: bool = False,
        timeout: float,
        raw: bool = False,
        on_end: Callable[[Request], object] | None = None,
    ) -> None:
        self.target = target
        self.api_key = api_key
        self.build = build
        self.on_response = on_response
        self.on_error = on_error
        self.oldest = versions[0]
        self.newest = versions[-1]
        self.expect_response = expect_response
        self.long_poll = long_poll
        self.timeout = timeout
        self.raw = raw
        self.on_end = on_end
        self.version = -1
        self.sent_at = 0.0
        self.done = False
        self.deadline_timer: Timer | None = None
        self.tried: dict[str, str] = {}

    def message(self, version: int) -> Message:
        """The message to send at `version`."""
        return self.build(version) if callable(self.build) else self.build

    def cancel(self) -> None:
        """Neither callback will run; an answer that still comes is thrown away."""
        self._finish()

    def answer(self, message: Message, now: float) -> None:
        """Ends the request with its answer, unless it has ended."""
        if not self.done:
            on_response = self.on_response
            self._finish()
            on_response(message, self.version, now)

    def fail(self, error: KafkaError, now: float) -> None:
        """Ends the request with an error, unless it has ended."""
        if not self.done:
            on_error = self.on_error
            self._finish()
            on_error(error, now)

    def _finish(self) -> None:
        self.done = True
        if self.deadline_timer is not None:
            self.deadline_timer.cancel()
            self.deadline_timer = None
        if self.on_end is not None:
            self.on_end(self)
            self.on_end = None
        self.build = None
        self.on_response = _ignore_response
        self.on_error = _ignore_error


def _ignore_response(message: Message, version: int, now: float) -> None:
    """Stands where the callback of a request that has ended was, so that what it held is freed."""


def _ignore_error(error: KafkaError, now: float) -> None:
    """Stands where the callback of a request that has ended was, so that what it held is freed."""
