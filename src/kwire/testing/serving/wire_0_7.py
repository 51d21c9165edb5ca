"""Kafka 0.7 on the embedded broker: topics made on first use, five requests, and errors mostly as silence.

Behaviour, as seen on release 0.7.2
    PRODUCE, MULTIPRODUCE   never answered. A set that cannot be stored closes the connection; earlier parts of a
                            MULTIPRODUCE stay. A message that is too large drops its part without a word.
    FETCH, MULTIFETCH       a topic or partition never written to is empty; a partition that cannot be is error 3, an
                            offset that cannot be error 1, a topic name that cannot be error -1: of the whole answer, or
                            of the part. A negative max_size announces what it cannot keep, and closes.
    OFFSETS                 closes where FETCH has an error.
    anything else           closes. Bytes after the last field are ignored.

The end of a request is not looked at, so a metadata request of 0.8 is a MULTIPRODUCE of nothing: silence.
"""

from __future__ import annotations

import logging
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kwire import errors, records
from kwire.errors import BrokerError
from kwire.protocol import kafka_0_7 as wire
from kwire.testing.contents import Hidden
from kwire.testing.faults import Faults
from kwire.testing.records.log_0_7 import ByteLog, MessageTooLargeError
from kwire.testing.requests import CloseConnectionError, Flow
from kwire.testing.serving.apis import Answer, with_faults
from kwire.testing.state.timers import Timers

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["REQUEST_NAMES", "BrokerApis07", "ByteTopics", "RefusedError"]

logger = logging.getLogger("kwire.testing")
REQUEST_NAMES = {"Produce": 0, "Fetch": 1, "MultiFetch": 2, "MultiProduce": 3, "Offsets": 4}
# A control or private-use character, or a slash; or a name that is a folder.
_ILLEGAL_TOPIC = re.compile("^\\.{1,2}$|[/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")
_MAX_NAME = 255
# Stands for the bytes of a name that are not UTF-8, where 0.7.2 reads U+FFFD: no name may have either.
_NO_CHARACTER = 0x01
_UNKNOWN, _WRONG_PARTITION = -1, 3


class RefusedError(Exception):
    """What FETCH answers with a code and every other request by closing."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class ByteTopics:
    """The topics of one broker. `touched` is there for the server, which resumes readers that wait; 0.7 has none."""

    generation = "0.7"

    def __init__(self, *, num_partitions: int, new_log: Callable[[], ByteLog]) -> None:
        self.touched: set[Any] = set()
        self.timers = Timers()
        self._num_partitions = num_partitions
        self._new_log = new_log
        self._counts: dict[str, int] = {}
        self._logs: dict[str, dict[int, ByteLog]] = {}

    def log(self, topic: str, partition: int) -> ByteLog | None:
        """The log, None when it was never written to. Raises RefusedError for a name or partition that cannot be."""
        if not topic or len(topic) > _MAX_NAME or _ILLEGAL_TOPIC.search(topic):
            raise RefusedError(_UNKNOWN, f"topic name {topic!r} is not legal")
        if not 0 <= partition < self.partition_count(topic):
            raise RefusedError(_WRONG_PARTITION, f"partition {partition} of {topic!r}, which has fewer")
        return self._logs.get(topic, {}).get(partition)

    def log_to_write(self, topic: str, partition: int) -> ByteLog:
        """The log, made on first use. Raises as `log`, and for a name that no folder can have."""
        found = self.log(topic, partition)
        if found is not None:
            return found
        if len(f"{topic}-{partition}".encode()) > _MAX_NAME:
            raise RefusedError(_UNKNOWN, f"topic name {topic!r} is too long for a folder")
        made = self._logs.setdefault(topic, {})[partition] = self._new_log()
        return made

    def partition_count(self, topic: str) -> int:
        return self._counts.get(topic, self._num_partitions)

    # What `Broker` offers without a client.

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str] | None) -> None:
        """Says how many partitions the topic is to have; as in 0.7, each comes to be with its first message set."""
        if settings:
            raise errors.ConfigError(f"settings {sorted(settings)}: topics of Kafka 0.7 have none")
        self._or_config_error(lambda: self.log(name, 0))
        self._counts[name] = partitions

    def delete_topic(self, name: str) -> None:
        self._known(name)
        self._logs.pop(name, None)
        self._counts.pop(name, None)

    def partition_counts(self) -> dict[str, int]:
        return {name: self.partition_count(name) for name in {**self._counts, **self._logs}}

    def append(self, topic: str, partition: int, message_set: Buffer) -> int:
        first: int = self._or_config_error(lambda: self._append(topic, partition, bytes(message_set)))
        return first

    def _append(self, topic: str, partition: int, message_set: bytes) -> int:
        left = len(message_set) - records.decode(message_set, generation="0.7").consumed
        if left:
            raise errors.TruncatedError(f"{left} of {len(message_set)} bytes are not a whole message")
        return self.log_to_write(topic, partition).append(message_set)

    def whole(self, topic: str, partition: int) -> bytes:
        return self._readable(topic, partition).whole()

    def hidden(self, topic: str, partition: int, *, committed: bool) -> Hidden:
        """Nothing: there are no transactions."""
        return Hidden()

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        log = self._readable(topic, partition)
        return log.start_offset, log.end_offset

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        self._readable(topic, partition).delete_before(offset)

    def _known(self, name: str) -> None:
        if name not in self.partition_counts():
            raise errors.UnknownTopicError(
                f"the broker has no topic {name!r}; it has {sorted(self.partition_counts())}"
            )

    def _readable(self, topic: str, partition: int) -> ByteLog:
        self._known(topic)
        if not 0 <= partition < self.partition_count(topic):
            raise errors.UnknownTopicError(
                f"topic {topic!r} has partitions 0 to {self.partition_count(topic) - 1}, not {partition}"
            )
        return self.log_to_write(topic, partition)

    @staticmethod
    def _or_config_error(work: Callable[[], Any]) -> Any:
        try:
            return work()
        except (RefusedError, MessageTooLargeError, errors.CodecError) as error:
            raise errors.ConfigError(f"a 0.7 broker would refuse it: {error}") from error


class BrokerApis07:
    """Serves frames. `seen` counts the requests by (type, 0)."""

    def __init__(self, topics: ByteTopics, faults: Faults, now: Callable[[], float]) -> None:
        self.cluster = topics
        self.faults = faults
        self.now = now
        self.seen: Counter[tuple[int, int]] = Counter()

    def connect(self, host: str = "", listener: int = 0) -> Callable[[Buffer], Flow[Answer]]:
        """What serves the frames of a new connection."""
        return self.serve

    def serve(self, frame: Buffer) -> Flow[Answer]:
        """The flow of one frame (without its size). Raises CloseConnectionError."""
        try:
            header, request = _read_request(frame)
        except errors.CodecError as error:
            raise CloseConnectionError(f"a request that 0.7 cannot read: {error}") from error
        key = header.request_type
        self.seen[key, 0] += 1

        def work() -> Flow[Answer]:
            yield from ()
            return self._handle(request)

        name = next(name for name, number in REQUEST_NAMES.items() if number == key)
        return (yield from with_faults(self.faults, self.now, key, name, work, lambda code: _refusal(key, code)))

    def _handle(self, request: Any) -> Answer:
        try:
            if isinstance(request, wire.ProduceRequest):
                self._store(request)
                return Answer()
            if isinstance(request, wire.MultiProduceRequest):
                for part in request.produces:
                    self._store(part)
                return Answer()
            if isinstance(request, wire.FetchRequest):
                return _fetched([self._read(request)], None)
            if isinstance(request, wire.MultiFetchRequest):
                return _fetched([self._read(part) for part in request.fetches], 0)
            return Answer([wire.encode_response(wire.OffsetsResponse(offsets=self._offsets(request)))])
        except (RefusedError, errors.CodecError) as error:
            raise CloseConnectionError(str(error)) from error

    def _store(self, part: Any) -> None:
        index = part.partition
        if index == -1:
            index = random.randrange(self.cluster.partition_count(part.topic))
        log = self.cluster.log_to_write(part.topic, index)
        try:
            log.append(bytes(part.messages))
        except MessageTooLargeError as error:
            logger.warning("topic %r partition %d: a message set was dropped: %s", part.topic, index, error)

    def _read(self, part: Any) -> tuple[int, bytes, int]:
        """(error code, bytes, how many bytes the answer's size counts, which is negative for a negative max_size)."""
        try:
            log = self.cluster.log(part.topic, part.partition)
            found = b"" if log is None else log.read(part.offset, max(part.max_size, 0))
        except RefusedError as refused:
            return refused.code, b"", 0
        except BrokerError as refused:
            return refused.code, b"", 0
        negative = part.max_size < 0 and log is not None and part.offset < log.end_offset
        return 0, found, part.max_size if negative else len(found)

    def _offsets(self, request: wire.OffsetsRequest) -> list[int]:
        log = self.cluster.log(request.topic, request.partition)
        if log is None:
            return [0] if request.time in (wire.LATEST, wire.EARLIEST) else []
        if request.max_offsets < 0:
            raise RefusedError(_UNKNOWN, f"max_offsets {request.max_offsets}")
        return log.offsets_before(request.time, request.max_offsets)


def _read_request(frame: Buffer) -> tuple[wire.RequestHeader, Any]:
    """A request, also one with a topic name that is not UTF-8. Raises CodecError for what 0.7 cannot read."""
    readable: Buffer = frame
    while True:
        try:
            return wire.decode_request_body(readable)
        except errors.CorruptError as error:
            if error.offset is None or not (error.field or "").endswith("topic"):
                raise
            mended = bytearray(readable)
            mended[error.offset] = _NO_CHARACTER
            readable = mended


def _fetched(parts: list[tuple[int, bytes, int]], outer_code: int | None) -> Answer:
    """One part as it is, or several under an outer error code, each with its size; up to a negative one."""
    pieces: list[bytes] = []
    for code, found, size in parts:
        pieces.append(_i32(size + 2) + code.to_bytes(2, "big", signed=True) + found)
        if size < 0:
            break
    broken = parts[-1][2] < 0 or len(pieces) < len(parts) if parts else False
    if outer_code is not None:
        total = 2 + sum(6 + size for _, _, size in parts)
        pieces.insert(0, _i32(total) + outer_code.to_bytes(2, "big", signed=True))
    return Answer(pieces, "a part of negative size" if broken else None)


def _i32(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def _refusal(key: int, code: int) -> Answer:
    """What a fault that asks for an error code gets: an answer where the request has one."""
    if key == wire.FetchRequest.__api_key__:
        return Answer([wire.encode_response(wire.FetchResponse(), error_code=code)])
    if key in (wire.MultiFetchRequest.__api_key__, wire.OffsetsRequest.__api_key__):
        return Answer([_i32(2) + code.to_bytes(2, "big", signed=True)])
    raise CloseConnectionError(f"request type {key}: an injected error, which 0.7 shows by closing")
