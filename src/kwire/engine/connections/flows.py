"""Linear exchanges over one connection, as generators: each step is yielded, and the frame of its answer comes back.

Layer 3, no I/O. A step is one of

    Ask     a request of a known version
    Raw     a token: after SaslHandshake v0 each side sends its SASL tokens as frames without any header (size int32,
            token), one after the other
    Apart   a function that blocks or computes for long, which the driver runs apart from itself; flows on several
            connections may share one call of it
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from math import inf

from kwire._codec import Buffer
from kwire._typing import Any, NamedTuple, TypeVar
from kwire.engine.common.request import Request
from kwire.engine.connections.connection import Connection
from kwire.errors import KafkaError

Result = TypeVar("Result")
OnValue = Callable[[Any, float], None]
OnException = Callable[[BaseException, float], None]
RunApart = Callable[[Callable[[], Any], OnValue, OnException], None]
"""run_apart(function, on_result, on_error): see the text of `core.py`."""

LONG_CALL_S = 60.0
"""Seconds after which a shared call may be one that never ends."""

MAX_CALLS = 8
"""So many calls of a function that never ends are made, and no more."""


class Ask(NamedTuple):
    """A request. Its answer is the frame without its size: it begins with the correlation id."""

    api_key: int
    version: int
    message: Any
    name: str = ""
    """What the step is called in errors, if not by the name of its API."""


class Raw(NamedTuple):
    """A frame without a header. Its answer is the next frame, which has none either, or None where none will come."""

    token: bytes
    name: str = ""
    answered: bool = True

    def __repr__(self) -> str:
        return f"Raw({len(self.token)} bytes, name={self.name!r})"


class SharedCalls:
    """The calls of one function for all flows that want its result.

    A flow joins the call that goes on. One more is begun beside calls that all take longer than LONG_CALL_S, up to
    MAX_CALLS of them. `keep(result, now)` is handed a result that no flow waits for any more.
    """

    def __init__(self, keep: Callable[[Any, float], object]) -> None:
        self._keep = keep
        self._calls: list[float] = []  # when they began
        self._waiting: list[tuple[Connection, OnValue, OnException]] = []

    def join(
        self,
        run_apart: RunApart,
        connection: Connection,
        now: float,
        function: Callable[[], Any],
        on_value: OnValue,
        on_exception: OnException,
    ) -> None:
        """Tells the flow on that connection how the present call ends, or the one that is begun now."""
        self._waiting = [waiting for waiting in self._waiting if waiting[0].open]
        self._waiting.append((connection, on_value, on_exception))
        if self._calls and (now - self._calls[-1] < LONG_CALL_S or len(self._calls) == MAX_CALLS):
            return
        self._calls.append(now)

        def on_result(value: Any, ended: float) -> None:
            waiting = self._end(now)
            for _, tell, _ in waiting:
                tell(value, ended)
            if not waiting:
                self._keep(value, ended)

        def on_error(error: BaseException, ended: float) -> None:
            for _, _, tell in self._end(now):
                tell(error, ended)

        try:
            run_apart(function, on_result, on_error)
        except BaseException:
            self._calls.remove(now)
            raise

    def _end(self, began: float) -> list[tuple[Connection, OnValue, OnException]]:
        """One call has ended; returns the flows to be resumed."""
        self._calls.remove(began)
        waiting, self._waiting = self._waiting, []
        return [each for each in waiting if each[0].open]


class Apart(NamedTuple):
    """A function without arguments. Its answer is (what it returned, when); what it raises is raised in the flow."""

    function: Callable[[], Any]
    name: str = ""
    shared: SharedCalls | None = None


Step = Ask | Raw | Apart
Flow = Generator[Step, Any, Result]
OnError = Callable[[KafkaError, float], None]


def run(
    connection: Connection,
    flow: Flow[Result],
    on_result: Callable[[Result, float], None],
    on_error: OnError,
    now: float,
    run_apart: RunApart | None = None,
) -> None:
    """Runs `flow` to its end: `on_result` with what it returns, `on_error` with what it raises or the connection does.

    There is no time-out here: the caller closes the connection when a flow takes too long, and `connection.step` says
    at what it was. A connection that is closed in an Apart step is not resumed.
    """

    def go_on(proceed: Callable[[], Step], now: float) -> None:
        try:
            step = proceed()
        except StopIteration as end:
            connection.step = ""
            on_result(end.value, now)
        except KafkaError as error:
            # It may be kept for long: without the frames, which keep what their callers' callers have.
            on_error(error.with_traceback(None), now)
        else:
            connection.step = step.name
            if isinstance(step, Apart):
                assert run_apart is not None
                begin = run_apart if step.shared is None else partial(step.shared.join, run_apart, connection, now)
                begin(step.function, on_value, on_exception)
            else:
                _send(connection, step, on_frame, on_error, now)

    def on_frame(frame: Buffer | None, version: int, now: float) -> None:
        go_on(partial(flow.send, frame), now)

    def on_value(value: Any, now: float) -> None:
        if connection.open:
            go_on(partial(flow.send, (value, now)), now)

    def on_exception(error: BaseException, now: float) -> None:
        thrown = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
        if connection.open:
            go_on(partial(flow.throw, thrown), now)

    on_frame(None, 0, now)


def _send(
    connection: Connection,
    step: Ask | Raw,
    on_frame: Callable[[Any, int, float], None],
    on_error: OnError,
    now: float,
) -> None:
    if isinstance(step, Raw):
        request = Request(
            0,
            -1,
            None,
            on_frame,
            on_error,
            versions=(0,),
            timeout=inf,
            raw=True,
            headless=True,
            expect_response=step.answered,
        )
        connection.write_token(request, step.token, now)
    else:
        request = Request(
            0, step.api_key, step.message, on_frame, on_error, versions=(step.version,), timeout=inf, raw=True
        )
        connection.write_request(request, step.version, now)
