"""One connection to a broker: frames in, requests out, answers matched in order.

Layer 3, no I/O. A connection is handed to the driver as an opaque handle: the driver opens a socket for it, moves
bytes, and tells the core what happened. Requests are written one after the other without waiting (pipelining); a broker
answers in that order, so the answer to read next is always that of the oldest request. An answer with another
correlation id, or an answer nobody asked for, makes the connection useless: FrameError, closed.

What stands on it: `negotiation.py` runs the connect flow over fresh connections, `node.py` owns the one that is ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kwire import protocol
from kwire._codec import Buffer, FrameReceiver
from kwire._typing import Any
from kwire.engine.addresses import Address
from kwire.engine.request import Request
from kwire.errors import FrameError, KafkaError

CONNECTING = "connecting"
OPEN = "open"
CLOSED = "closed"

_BUFFERS_PER_WRITE = 64


class Connection:
    """A byte stream to one address, and the requests under way on it.

    `on_made` and `on_lost` are set by whoever owns it at the time. `on_lost` takes the requests that were under way.
    """

    __slots__ = (
        "address",
        "client_id",
        "correlation_id",
        "in_flight",
        "number",
        "on_lost",
        "on_made",
        "out",
        "out_marks",
        "receiver",
        "state",
        "wants_write",
        "written",
        "written_goal",
    )

    def __init__(self, number: int, address: Address, client_id: str, max_frame: int) -> None:
        self.number = number
        self.address = address
        self.client_id = client_id
        self.state = CONNECTING
        self.receiver = FrameReceiver(max_frame)
        self.correlation_id = 0
        self.in_flight: deque[tuple[int, Request]] = deque()
        self.out: deque[memoryview] = deque()
        self.out_marks: deque[tuple[int, Request]] = deque()
        self.wants_write = False
        self.written = 0
        self.written_goal = 0
        self.on_made: Callable[[Connection, float], None] = _nobody
        self.on_lost: Callable[[Connection, KafkaError, float], None] = _nobody_loses

    def __repr__(self) -> str:
        return f"<connection {self.number} to {self.address}, {self.state}, {len(self.in_flight)} in flight>"

    # -- requests out -----------------------------------------------------------------------------------------------

    def write_request(self, request: Request, version: int, now: float) -> None:
        """Encodes `request` at `version` and queues its bytes; raises CodecError if it cannot be encoded so."""
        parts = protocol.encode_request_parts(
            request.message(version), version, correlation_id=self.correlation_id, client_id=self.client_id)
        request.version = version
        request.sent_at = now
        for part in parts:
            view = memoryview(part).cast("B")
            if view.nbytes:
                self.out.append(view)
                self.written_goal += view.nbytes
        if request.expect_response:
            self.in_flight.append((self.correlation_id, request))
        else:
            self.out_marks.append((self.written_goal, request))
        self.correlation_id = (self.correlation_id + 1) & 0x7FFFFFFF

    def data_to_send(self) -> list[memoryview]:
        """The bytes to write next, as a gather list; what was written is told by `sent`."""
        if len(self.out) <= _BUFFERS_PER_WRITE:
            return list(self.out)
        return [self.out[index] for index in range(_BUFFERS_PER_WRITE)]

    def sent(self, count: int, now: float) -> None:
        """`count` bytes were written: requests that nobody answers are done once their last byte is."""
        self.written += count
        out = self.out
        while count:
            size = out[0].nbytes
            if count < size:
                out[0] = out[0][count:]
                break
            out.popleft()
            count -= size
        while self.out_marks and self.out_marks[0][0] <= self.written:
            self.out_marks.popleft()[1].answer(None, now)

    # -- answers in -------------------------------------------------------------------------------------------------

    def take_answer(self, frame: Buffer) -> Request:
        """The request that `frame` answers; raises FrameError if it is not the oldest one under way."""
        if len(frame) < 4:
            raise FrameError(f"{self.address} sent a frame of {len(frame)} bytes, too short for a correlation id")
        found = int.from_bytes(frame[:4], "big", signed=True)
        if not self.in_flight:
            raise FrameError(f"{self.address} sent an answer (correlation id {found}) that nobody asked for")
        expected, request = self.in_flight[0]
        if found != expected:
            raise FrameError(f"{self.address} answered with correlation id {found} where {expected} was due")
        self.in_flight.popleft()
        return request

    def drop_requests(self) -> list[Request]:
        """All requests under way, oldest first, taken off the connection: for whoever has to fail them."""
        requests = [request for _, request in self.in_flight]
        requests.extend(request for _, request in self.out_marks)
        self.in_flight.clear()
        self.out_marks.clear()
        self.out.clear()
        return requests


def decode_answer(request: Request, frame: Buffer) -> Any:
    """What `request` is answered with; bytes left over in a message are let pass, as Apache's own client does."""
    if request.raw:
        return frame
    return protocol.decode_response_body(frame, request.api_key, request.version, strict=False)[1]


def _nobody(connection: Connection, now: float) -> None:
    """Stands where no owner listens yet."""


def _nobody_loses(connection: Connection, error: KafkaError, now: float) -> None:
    """Stands where no owner listens any more."""
