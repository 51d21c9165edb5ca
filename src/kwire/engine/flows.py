"""Linear exchanges over one connection, as generators: each step is yielded, and the frame of its answer comes back.

Layer 3, no I/O. Steps are requests of a known version, or raw tokens: after SaslHandshake v0 each side sends its SASL
tokens as frames without any header (size int32, token), one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from kwire._codec import Buffer
from kwire._typing import Any, NamedTuple, TypeVar
from kwire.engine.connection import Connection
from kwire.engine.request import Request
from kwire.errors import KafkaError

Result = TypeVar("Result")


class Ask(NamedTuple):
    """A request. Its answer is the frame without its size: it begins with the correlation id."""

    api_key: int
    version: int
    message: Any


class Raw(NamedTuple):
    """A frame without a header. Its answer is the next frame, which has none either."""

    token: bytes


Step = Ask | Raw
Flow = Generator[Step, Buffer, Result]
OnError = Callable[[KafkaError, float], None]


def run(
    connection: Connection,
    flow: Flow[Result],
    on_result: Callable[[Result, float], None],
    on_error: OnError,
    now: float,
) -> None:
    """Runs `flow` to its end: `on_result` with what it returns, `on_error` with what it raises or the connection does.

    There is no time-out here: the caller closes the connection when a flow takes too long.
    """

    def go_on(frame: Buffer | None, version: int, now: float) -> None:
        try:
            step = next(flow) if frame is None else flow.send(frame)
        except StopIteration as end:
            on_result(end.value, now)
        except KafkaError as error:
            on_error(error, now)
        else:
            _send(connection, step, go_on, on_error, now)

    go_on(None, 0, now)


def _send(
    connection: Connection, step: Step, on_frame: Callable[[Any, int, float], None], on_error: OnError, now: float
) -> None:
    for_ever = float("inf")
    if isinstance(step, Raw):
        request = Request(0, -1, None, on_frame, on_error, versions=(0,), timeout=for_ever, raw=True, headless=True)
        connection.write_token(request, step.token, now)
    else:
        api_key, version, message = step
        request = Request(0, api_key, message, on_frame, on_error, versions=(version,), timeout=for_ever, raw=True)
        connection.write_request(request, version, now)
