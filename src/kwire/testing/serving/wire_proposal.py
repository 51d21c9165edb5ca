"""The wire format proposed in 2012 on the embedded broker, over the logs of Kafka 0.7.

No broker ever spoke it, so this is what its page obliges:
    ProduceRequest   one error and one offset per message set, in the order of the request; not answered when
                     required_acks is 0. One node: every other number of acknowledgements is met at once.
    FetchRequest     answered when min_bytes are there in all partitions together, or after max_wait ms. There is no
                     limit of bytes in the request; 1 MiB per partition is given. One error for all of it.
    anything else    closes the connection

What the page leaves open is the dialect's to say (`kwire.protocol.proposal`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kwire import errors
from kwire.errors import BrokerError
from kwire.protocol import proposal
from kwire.testing.faults import Faults
from kwire.testing.records.log_0_7 import MessageTooLargeError
from kwire.testing.requests import CloseConnectionError, Flow, Suspend
from kwire.testing.serving.apis import Answer, with_faults
from kwire.testing.serving.wire_0_7 import ByteTopics, RefusedError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["REQUEST_NAMES", "ProposalApis"]

REQUEST_NAMES = {"Produce": 0, "Fetch": 1}
_MAX_PER_PARTITION = 1 << 20
_UNKNOWN = -1
_INVALID_MESSAGE = 2
_MESSAGE_TOO_LARGE = 10


class ProposalApis:
    """Serves frames in one dialect. `seen` counts the requests by (key, version)."""

    def __init__(self, topics: ByteTopics, dialect: proposal.Dialect, faults: Faults, now: Callable[[], float]) -> None:
        self.cluster = topics
        self.dialect = dialect
        self.faults = faults
        self.now = now
        self.seen: Counter[tuple[int, int]] = Counter()

    def connect(self, host: str = "", listener: int = 0) -> Callable[[Buffer], Flow[Answer]]:
        """What serves the frames of a new connection."""
        return self.serve

    def serve(self, frame: Buffer) -> Flow[Answer]:
        """The flow of one frame (without its size). Raises CloseConnectionError."""
        try:
            header, request = proposal.decode_request_body(frame, dialect=self.dialect)
        except errors.CodecError as error:
            raise CloseConnectionError(f"a request that this dialect cannot read: {error}") from error
        key, name = (1, "Fetch") if isinstance(request, proposal.FetchRequest) else (0, "Produce")
        self.seen[key, header.version_id] += 1

        def work() -> Flow[Answer]:
            if isinstance(request, proposal.ProduceRequest):
                produced = self._produce(request)
                return self._answer(header, 0, produced) if request.required_acks else Answer()
            return self._answer(header, *(yield from self._fetch(request)))

        def refuse(code: int) -> Answer:
            return self._answer(header, code, proposal.FetchResponse() if key else proposal.ProduceResponse())

        return (yield from with_faults(self.faults, self.now, key, name, work, refuse))

    def _answer(self, header: proposal.RequestHeader, error: int, response: Any) -> Answer:
        try:
            frame = proposal.encode_response(
                response,
                correlation_id=header.correlation_id,
                version_id=header.version_id,
                error=error,
                dialect=self.dialect,
            )
        except errors.CodecError as refused:
            raise CloseConnectionError(f"an answer that this dialect cannot carry: {refused}") from refused
        return Answer([frame])

    def _produce(self, request: Any) -> proposal.ProduceResponse:
        codes, offsets = [], []
        for topic in request.data:
            for part in topic.partition_data:
                code, offset = self._store(topic.topic, part.partition, bytes(part.messages))
                codes.append(code)
                offsets.append(offset)
        return proposal.ProduceResponse(errors=codes, offsets=offsets)

    def _store(self, topic: str, partition: int, messages: bytes) -> tuple[int, int]:
        try:
            log = self.cluster.log_to_write(topic, partition)
            offset = log.append(messages)
        except RefusedError as refused:
            return refused.code, -1
        except MessageTooLargeError:
            return _MESSAGE_TOO_LARGE, -1
        except errors.CodecError:
            return _INVALID_MESSAGE, -1
        self.cluster.touched.add(log)
        return self.dialect.no_error, offset

    def _fetch(self, request: Any) -> Flow[tuple[int, proposal.FetchResponse]]:
        until = self.now() + max(request.max_wait, 0) / 1000
        while True:
            try:
                data, size = self._read(request)
            except RefusedError as refused:
                return refused.code, proposal.FetchResponse()
            except BrokerError as refused:
                return refused.code, proposal.FetchResponse()
            if size >= request.min_bytes or self.now() >= until:
                return 0, proposal.FetchResponse(data=data)
            yield Suspend(until, frozenset(self._logs(request)))

    def _read(self, request: Any) -> tuple[list[Any], int]:
        """(what was asked for, in its order; how many bytes of messages that is)."""
        size = 0
        data = []
        for topic in request.topic_offsets:
            if len(topic.partitions) != len(topic.offsets):
                raise RefusedError(_UNKNOWN, "the numbers of partitions and of offsets differ")
            parts = []
            for partition, offset in zip(topic.partitions, topic.offsets, strict=True):
                log = self.cluster.log(topic.topic, partition)
                found = b"" if log is None else log.read(offset, _MAX_PER_PARTITION)
                size += len(found)
                parts.append(proposal.FetchResponse.TopicData.PartitionData(partition=partition, messages=found))
            data.append(proposal.FetchResponse.TopicData(topic=topic.topic, partition_data=parts))
        return data, size

    def _logs(self, request: Any) -> list[Any]:
        """The logs to wait for, made where they are not yet: a reader may come before the writer."""
        return [
            self.cluster.log_to_write(topic.topic, partition)
            for topic in request.topic_offsets
            for partition in topic.partitions
        ]
