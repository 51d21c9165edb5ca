"""A client of the wire format proposed in 2012: its two requests, over a dialect that says what its page leaves open.

No broker speaks it but `kwire.testing.Broker(generation="proposal")`; it shows that the proposal works, and in
which reading. Message sets are those of Kafka 0.7, and offsets are byte positions.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from kwire import errors, records
from kwire.drivers.blocking import BlockingConnection
from kwire.engine.common.addresses import TopicPartition, parse_address
from kwire.protocol import proposal

__all__ = ["ProposalClient"]


class ProposalClient:
    """One connection to one broker, one request at a time; any thread may use it.

    `request_timeout_ms` bounds each call beyond what the broker was asked to wait. Raises ConfigError for an address
    that cannot be one.
    """

    def __init__(
        self,
        bootstrap_server: str,
        *,
        client_id: str = "kwire",
        dialect: proposal.Dialect | None = None,
        request_timeout_ms: int = 30_000,
    ) -> None:
        self._connection = BlockingConnection(parse_address(bootstrap_server))
        self._client_id = client_id
        self._dialect = dialect or proposal.Dialect()
        self._timeout = request_timeout_ms / 1000
        self._correlation_ids = itertools.count(1)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def produce(
        self, sets: Mapping[tuple[str, int], Iterable[Any]], *, required_acks: int = 1, ack_timeout_ms: int = 1000
    ) -> dict[TopicPartition, int]:
        """Appends values (bytes-like) by (topic, partition); returns the offset of each set, nothing for 0 acks.

        Raises BrokerError for the first set that was refused, which the text names; the others may be stored.
        """
        places: list[TopicPartition] = []
        topics: dict[str, list[Any]] = {}
        for (topic, partition), values in sets.items():
            content = records.encode(values, generation="0.7")
            part = proposal.ProduceRequest.TopicData.PartitionData(partition=partition, messages=content)
            topics.setdefault(topic, []).append(part)
        for topic, parts in topics.items():
            places += [TopicPartition(topic, part.partition) for part in parts]
        request = proposal.ProduceRequest(
            required_acks=required_acks,
            ack_timeout=ack_timeout_ms,
            data=[
                proposal.ProduceRequest.TopicData(topic=name, partition_data=parts) for name, parts in topics.items()
            ],
        )
        if required_acks == 0:
            with self._lock:
                self._connection.send(self._frame(request, next(self._correlation_ids)), self._timeout)
            return {}
        answer = self._exchange(request, ack_timeout_ms)
        if not len(answer.errors) == len(answer.offsets) == len(places):
            raise errors.CorruptError(
                f"{len(answer.errors)} errors and {len(answer.offsets)} offsets answer {len(places)} message sets"
            )
        for place, code in zip(places, answer.errors, strict=True):
            if self._dialect.failed(code):
                raise errors.broker.error_for(code, str(place))
        return dict(zip(places, answer.offsets, strict=True))

    def fetch(
        self, offsets: Mapping[tuple[str, int], int], *, max_wait_ms: int = 500, min_bytes: int = 1
    ) -> dict[TopicPartition, records.Records]:
        """The whole messages from an offset on, by (topic, partition); waits for `min_bytes`, `max_wait_ms` at most.

        Raises BrokerError for the one error that an answer can have, and the CodecErrors of `kwire.records.decode`.
        """
        by_topic: dict[str, tuple[list[int], list[int]]] = {}
        for (topic, partition), offset in offsets.items():
            partitions, starts = by_topic.setdefault(topic, ([], []))
            partitions.append(partition)
            starts.append(offset)
        request = proposal.FetchRequest(
            max_wait=max_wait_ms,
            min_bytes=min_bytes,
            topic_offsets=[
                proposal.FetchRequest.OffsetData(topic=topic, partitions=partitions, offsets=starts)
                for topic, (partitions, starts) in by_topic.items()
            ],
        )
        answer = self._exchange(request, max_wait_ms)
        found = {}
        for topic in answer.data:
            for part in topic.partition_data:
                place = TopicPartition(topic.topic, part.partition)
                if place not in offsets:
                    raise errors.CorruptError(f"{place} was not asked for", "data")
                found[place] = records.decode(part.messages, generation="0.7", base_offset=offsets[place])
        return found

    def close(self) -> None:
        """Closes the connection; a later call opens another."""
        with self._lock:
            self._connection.close()

    def _frame(self, request: Any, correlation_id: int) -> bytes:
        return proposal.encode_request(
            request, correlation_id=correlation_id, client_id=self._client_id, dialect=self._dialect
        )

    def _exchange(self, request: Any, wait_ms: int) -> Any:
        key = self._dialect.fetch if isinstance(request, proposal.FetchRequest) else self._dialect.produce
        with self._lock:
            correlation_id = next(self._correlation_ids)
            self._connection.send(self._frame(request, correlation_id), self._timeout)
            frame = self._connection.receive(self._timeout + wait_ms / 1000)
            header, answer = proposal.decode_response_body(frame, key, dialect=self._dialect)
            if header.correlation_id != correlation_id:
                self._connection.close()
                raise errors.CorruptError(f"answer {header.correlation_id} to request {correlation_id}")
        if header.error:
            raise errors.broker.error_for(header.error, f"{self._connection.address}: {type(request).__name__}")
        return answer
