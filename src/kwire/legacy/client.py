"""`Client`: Kafka 0.7 from Python. One connection per broker, one request at a time, every call with a deadline.

    with Client("host:9092") as client:
        client.produce("events", [b"one", b"two"])
        for message in client.messages("events"):
            print(message.offset, message.value)

Each broker has partitions 0 to n-1 of a topic of its own; a client of several brokers has to name the one it means.
PRODUCE is not answered: a broker that refuses it closes the connection, which is noticed at the next answer. `flush`
asks for one; `close` and the end of a `with` block flush, and so does every thousandth message set without an answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from kwire import errors, records
from kwire._codec import scan_generation
from kwire.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kwire.drivers.blocking import BlockingConnection, ConnectionClosedError
from kwire.engine.calls.offsets import time_of
from kwire.engine.common.addresses import Address, parse_address, parse_bootstrap
from kwire.engine.common.secret import hiding_arguments
from kwire.errors.listing import counted
from kwire.legacy.messages import Message, Position, placed, placed_fault
from kwire.protocol import kafka_0_7 as wire

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kwire.compression import Compression

__all__ = ["Client"]

_WRONG_PARTITION = 3
_MAX_BYTES = 2**31 - 1
_MAX_UNCONFIRMED = 1000
_TIMES = {"latest": wire.LATEST, "earliest": wire.EARLIEST}


class Client:
    """Produces to and reads from brokers of Kafka 0.7. Any thread may use it; calls follow one another.

    `bootstrap_servers` are all the brokers there are: 0.7 has no metadata to ask for (see `from_zookeeper`).
    `request_timeout_ms` bounds each call, connecting included. `fetch_max_bytes` is how much a fetch asks for, per
    partition. `max_decompressed_bytes` bounds the content of a compressed message; `check_crcs` checks its checksums.
    Nothing is connected before it is needed. Raises ConfigError for invalid arguments.
    """

    @hiding_arguments
    def __init__(
        self,
        bootstrap_servers: str | Sequence[Any],
        *,
        request_timeout_ms: int = 30_000,
        fetch_max_bytes: int = 1_048_576,
        max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
        check_crcs: bool = True,
    ) -> None:
        if request_timeout_ms < 1 or not 1 <= fetch_max_bytes < 2**31:
            raise errors.ConfigError(
                f"request_timeout_ms={request_timeout_ms}, fetch_max_bytes={fetch_max_bytes}: both are at least 1"
            )
        addresses = parse_bootstrap(bootstrap_servers)
        self._timeout = request_timeout_ms / 1000
        self._fetch_max_bytes = fetch_max_bytes
        self._max_decompressed_bytes = max_decompressed_bytes
        self._check_crcs = check_crcs
        self._connections = {address: BlockingConnection(address) for address in addresses}
        # What was produced on each connection since its last answer.
        self._unconfirmed: dict[Address, list[str]] = {address: [] for address in addresses}
        self._turn = 0
        self._closed = False
        self._lock = threading.RLock()

    @classmethod
    def from_zookeeper(cls, servers: str, *, timeout: float = 10.0, **options: Any) -> Self:
        """A client of the brokers that are registered in ZooKeeper (`host:2181/chroot`); needs `kwire[zookeeper]`.

        `options` are those of the constructor. Raises ConnectError when ZooKeeper is not reached within `timeout`
        seconds or no broker is registered, ConfigError when the library is not there.
        """
        from kwire.legacy.zookeeper import registered

        return cls([str(address) for address in registered(servers, timeout).brokers.values()], **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "not open"
        if hasattr(self, "_lock"):  # which the constructor sets last
            state = "closed" if self._closed else ", ".join(map(str, self._connections))
        return f"<kwire.legacy.Client {state}>"

    @property
    def brokers(self) -> tuple[Address, ...]:
        """The brokers, in the order given."""
        return tuple(self._connections)

    def produce(
        self,
        topic: str,
        values: Iterable[Any],
        *,
        partition: int = -1,
        compression: Compression = "none",
        magic: int = 1,
        broker: str | Address | None = None,
    ) -> None:
        """Sends `values` (bytes-like) as one message set; partition -1 lets the broker choose one for all of them.

        Without `broker` the brokers take turns. Returns when the bytes are written: 0.7 answers nothing. Raises
        ConnectError, KafkaTimeoutError, CodecError for what 0.7 cannot carry, and DeliveryError when the broker has
        closed the connection since earlier calls of `produce`, whose messages may not be stored.
        """
        self.multi_produce([(topic, partition, values)], compression=compression, magic=magic, broker=broker)

    def multi_produce(
        self,
        parts: Iterable[tuple[str, int, Iterable[Any]]],
        *,
        compression: Compression = "none",
        magic: int = 1,
        broker: str | Address | None = None,
    ) -> None:
        """Sends (topic, partition, values) parts in one request; the broker stores them in this order. As `produce`."""
        made = []
        for topic, partition, values in parts:
            content = records.encode(values, generation="0.7", compression=compression, magic=magic)
            made.append(wire.MultiProduceRequest.Produce(topic=topic, partition=partition, messages=content))
        if len(made) == 1:
            only = made[0]
            request: Any = wire.ProduceRequest(topic=only.topic, partition=only.partition, messages=only.messages)
        else:
            request = wire.MultiProduceRequest(produces=made)
        with self._lock:
            self._check_open()
            address = self._one(broker) if broker is not None or len(self._connections) == 1 else self._next()
            what = [
                f"{part.topic!r} partition {part.partition}, {counted(len(part.messages), 'byte')}" for part in made
            ]
            connection = self._connections[address]
            if self._unconfirmed[address] and not connection.open:
                self._raise_undelivered(address, None)
            try:
                connection.send(wire.encode_request(request), self._timeout)
            except (ConnectionClosedError, errors.KafkaTimeoutError) as error:
                self._unconfirmed[address] += what
                self._raise_undelivered(address, error)
            self._unconfirmed[address] += what
            if len(self._unconfirmed[address]) >= _MAX_UNCONFIRMED:
                self._ask_for_an_answer(address)

    def flush(self) -> None:
        """Returns when every broker has shown that it is past what was produced: it has answered a later request.

        Raises DeliveryError, with one cause per message set that may not be stored.
        """
        with self._lock:
            failed: list[Exception] = []
            cause: errors.KafkaError | None = None
            for address, waiting in self._unconfirmed.items():
                if not waiting:
                    continue
                try:
                    self._ask_for_an_answer(address)
                except errors.DeliveryError as error:
                    failed += error.exceptions
                except errors.KafkaError as error:
                    failed += self._undelivered(address)
                    cause = cause or error
            if failed:
                raise errors.DeliveryError(_UNDELIVERED, failed) from cause

    def fetch(
        self,
        topic: str,
        partition: int = 0,
        offset: int = 0,
        *,
        max_bytes: int | None = None,
        broker: str | Address | None = None,
    ) -> records.Records:
        """The whole messages among the `max_bytes` bytes (default `fetch_max_bytes`) from byte `offset` on.

        None at the end of the log, and of a topic that was never written to. Raises BrokerError (OFFSET_OUT_OF_RANGE)
        outside of the log, UnknownTopicError for a partition or topic name that cannot be, LimitError when not even
        the first message fits, another CodecError when the first bytes are no message, as at an offset inside of one:
        its `seek_to` is the offset after a message that is damaged. What precedes a fault is returned first.
        """
        limit = self._fetch_max_bytes if max_bytes is None else max_bytes
        with self._lock:
            header, answer = self._ask(
                self._one(broker),
                wire.FetchRequest(topic=topic, partition=partition, offset=offset, max_size=limit),
            )
        return self._decoded(header.error_code, answer.messages, (topic, partition, offset), limit)

    def multi_fetch(
        self,
        places: Iterable[tuple[str, int, int]],
        *,
        max_bytes: int | None = None,
        broker: str | Address | None = None,
    ) -> list[records.Records | errors.KafkaError]:
        """Fetches of (topic, partition, offset) in one request; what `fetch` would raise stands in its place."""
        limit = self._fetch_max_bytes if max_bytes is None else max_bytes
        wanted = list(places)
        request = wire.MultiFetchRequest(
            fetches=[
                wire.MultiFetchRequest.Fetch(topic=topic, partition=partition, offset=offset, max_size=limit)
                for topic, partition, offset in wanted
            ]
        )
        with self._lock:
            address = self._one(broker)
            _, answer = self._ask(address, request)
        if len(answer.parts) != len(wanted):
            raise errors.CorruptError(f"{address}: {len(answer.parts)} parts answer {len(wanted)} fetches", "parts")
        found: list[records.Records | errors.KafkaError] = []
        for place, part in zip(wanted, answer.parts, strict=True):
            try:
                found.append(self._decoded(part.error_code, part.messages, place, limit))
            except errors.KafkaError as error:
                found.append(error)
        return found

    def offsets(
        self,
        topic: str,
        partition: int = 0,
        *,
        time: str | int | datetime = "latest",
        max_offsets: int = 1,
        broker: str | Address | None = None,
    ) -> list[int]:
        """Offsets at which segments begin that were last written to at `time` or before, and the end; descending.

        `time` is "latest" (the end first), "earliest" (the first offset only), ms since 1970, or a datetime. A topic
        that was never written to has [0]. Raises ConnectError where the broker closes: a partition, name or count that
        cannot be.
        """
        request = wire.OffsetsRequest(topic=topic, partition=partition, time=_time(time), max_offsets=max_offsets)
        with self._lock:
            header, answer = self._ask(self._one(broker), request)
        _check_code(header.error_code, f"offsets of topic {topic!r} partition {partition}")
        return list(answer.offsets)

    def messages(
        self,
        topic: str,
        partition: int = 0,
        *,
        start: str | int | Position = "earliest",
        until: int | str | None = "latest",
        poll_interval: float = 0.1,
        broker: str | Address | None = None,
    ) -> Iterator[Message]:
        """Message after message from `start` on: "earliest", "latest", a byte offset, or a `Position` (`Message.next`).

        Ends before the byte `until`; "latest" is the end that the log has when the iteration begins, None waits for
        more for ever, and asks every `poll_interval` seconds. What is larger than `fetch_max_bytes` is asked for again
        as large as it is. Raises as `fetch`.
        """
        at = self._position(topic, partition, start, broker)
        end = self._position(topic, partition, until, broker).offset if until is not None else None
        limit = self._fetch_max_bytes
        while end is None or at.offset < end:
            try:
                found = self.fetch(topic, partition, at.offset, max_bytes=limit, broker=broker)
            except _FetchTooSmallError as error:
                error.raise_at_the_end()
                limit = min(max(error.needed, 2 * limit), _MAX_BYTES)
                continue
            after = Position(at.offset + found.consumed)
            for message in placed(found, at):
                if end is not None and message.offset >= end:
                    return
                yield message
            if found.consumed:
                at, limit = after, self._fetch_max_bytes
            elif end is None:
                time.sleep(poll_interval)
            else:
                return

    def close(self) -> None:
        """Flushes and closes every connection; harmless the second time. Raises DeliveryError as `flush`."""
        with self._lock:
            if self._closed:
                return
            try:
                self.flush()
            finally:
                self._closed = True
                for connection in self._connections.values():
                    connection.close()

    def _ask(self, address: Address, request: Any) -> tuple[Any, Any]:
        """(header, answer). Asks once more on a new connection when the old one had been closed meanwhile."""
        self._check_open()
        connection = self._connections[address]
        was_open = connection.open
        if self._unconfirmed[address] and not was_open:
            # An answer on a new connection says nothing about what was sent on the one before.
            self._raise_undelivered(address, None)
        try:
            return self._exchange(connection, request)
        except ConnectionClosedError as error:
            if self._unconfirmed[address]:
                self._raise_undelivered(address, error)
            if not was_open:
                raise self._closed_by_broker(address, request) from error
        try:
            return self._exchange(connection, request)
        except ConnectionClosedError as error:
            raise self._closed_by_broker(address, request) from error

    def _ask_for_an_answer(self, address: Address) -> None:
        self._ask(address, wire.OffsetsRequest(topic="kwire", max_offsets=0))

    def _exchange(self, connection: BlockingConnection, request: Any) -> tuple[Any, Any]:
        connection.send(wire.encode_request(request), self._timeout)
        frame = connection.receive(self._timeout)
        try:
            found = wire.decode_response_body(frame, request.__api_key__)
        except errors.CodecError:
            connection.close()
            raise
        self._unconfirmed[connection.address].clear()
        return found

    def _decoded(self, code: int, content: Buffer, place: tuple[str, int, int], limit: int) -> records.Records:
        topic, partition, offset = place
        where = f"topic {topic!r} partition {partition} offset {offset}"
        _check_code(code, where)
        found, fault = scan_generation("0.7", content, self._check_crcs, self._max_decompressed_bytes, offset)
        if found.consumed:
            return found
        size = memoryview(content).nbytes
        if fault is not None:
            error = placed_fault(fault, where, offset, memoryview(content))
        elif size:
            error = _FetchTooSmallError(where, found.needed, limit, size)
        else:
            return found
        error.topic, error.partition, error.record_offset = place
        raise error

    def _position(self, topic: str, partition: int, given: str | int | Position, broker: Any) -> Position:
        if isinstance(given, Position):
            return given
        if isinstance(given, int):
            return Position(given)
        found = self.offsets(topic, partition, time=given, broker=broker)
        if not found:
            raise errors.CorruptError(f"topic {topic!r} partition {partition}: the broker names no offset", "offsets")
        return Position(found[0])

    def _one(self, broker: str | Address | None) -> Address:
        if broker is None:
            if len(self._connections) > 1:
                raise errors.ConfigError(
                    "there are several brokers, and each has partitions of its own: say broker=, one of "
                    + ", ".join(map(str, self._connections))
                )
            return next(iter(self._connections))
        address = broker if isinstance(broker, Address) else parse_address(broker)
        if address not in self._connections:
            raise errors.ConfigError(f"broker={broker!r}: there are {', '.join(map(str, self._connections))}")
        return address

    def _next(self) -> Address:
        addresses = list(self._connections)
        self._turn += 1
        return addresses[self._turn % len(addresses)]

    def _check_open(self) -> None:
        if self._closed:
            raise errors.ClientClosedError("the client is closed")

    def _raise_undelivered(self, address: Address, cause: Exception | None) -> NoReturn:
        raise errors.DeliveryError(_UNDELIVERED, self._undelivered(address)) from cause

    def _undelivered(self, address: Address) -> list[Exception]:
        waiting, self._unconfirmed[address] = self._unconfirmed[address], []
        return [errors.KafkaError(f"{address}: topic {what}") for what in waiting]

    def _closed_by_broker(self, address: Address, request: Any) -> errors.ConnectError:
        name = type(request).__name__.removesuffix("Request")
        return errors.ConnectError(
            f"{name} was answered by closing the connection: that is how a 0.7 broker refuses a partition, topic name "
            "or size that cannot be, and how a newer broker refuses 0.7",
            {str(address): repr(request)},
        )


_UNDELIVERED = (
    "the broker closed the connection before it answered anything after these message sets, or did not answer in time: "
    "it refused one of them (partition, topic name, size, checksum), went away or hangs"
)


class _FetchTooSmallError(errors.LimitError):
    """Not even the first message fits into what was asked for."""

    def __init__(self, where: str, needed: int, limit: int, given: int) -> None:
        size = f"the message takes {needed} bytes" if needed > 4 else "not even a message's length was given"
        super().__init__(f"{where}: {size}, max_bytes is {limit}", "max_bytes")
        self.needed = needed
        self._where, self._limit, self._given = where, limit, given

    def raise_at_the_end(self) -> None:
        """Raises TruncatedError when the broker had fewer bytes than it was asked for: asking for more is of no use."""
        if self._given < self._limit >= min(self.needed, _MAX_BYTES):
            cut = errors.TruncatedError(
                f"{self._where}: {self._given} bytes are left, and a message that begins here would take "
                f"{self.needed}; an offset is one at which a message begins; if one begins here, its length is wrong",
                "batches[0].length",
                0,
            )
            cut.topic, cut.partition, cut.record_offset = self.topic, self.partition, self.record_offset
            raise cut from None


def _check_code(code: int, where: str) -> None:
    """Raises the error that a code of 0.7 stands for."""
    if code == _WRONG_PARTITION:
        raise errors.UnknownTopicError(f"{where}: the broker has no such partition (WrongPartitionCode, 3)")
    if code == -1:
        raise errors.UnknownTopicError(f"{where}: the broker failed, as it does for an illegal topic name (-1)")
    if code:
        raise errors.broker.error_for(code, where)


def _time(given: str | int | datetime) -> int:
    if isinstance(given, datetime):
        return time_of(given)
    if isinstance(given, int):
        return given
    if given not in _TIMES:
        raise errors.ConfigError(f"time={given!r}: {', '.join(map(repr, _TIMES))}, ms since 1970, or a datetime")
    return _TIMES[given]
