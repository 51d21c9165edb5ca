"""Fetch (key 1).

Behaviour
    Partitions are read in the order of the request. The answer waits until min_bytes are there, max_wait_ms have
    passed, or a partition has an error to report, whichever comes first. A reader that starts inside a batch gets the
    whole batch. One replica: the high watermark and the last stable offset are the end of the log; no transactions, so
    nothing is ever aborted. Fetch sessions are declined by answering session id 0, so that clients send whole requests;
    a request in a session is answered with FETCH_SESSION_ID_NOT_FOUND.

Version notes
    v0-2   a first entry larger than the limit is cut at the limit, in its middle
    v3     max_bytes for the whole answer; the first entry of the first partition that has one is always whole
    v0-1   down-converted to magic 0, v2-3 to magic 1, v4 and newer as stored
    v4     last_stable_offset and aborted_transactions; v5 log_start_offset
    v7     sessions; v9 current_leader_epoch is checked
    v10    zstd; below it a partition that has zstd is refused with UNSUPPORTED_COMPRESSION_TYPE
    v13    topics by id; an unknown one is answered with UNKNOWN_TOPIC_ID
    v15    replica_id moves into a tagged field; followers are not told apart from consumers
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import FetchRequest, FetchResponse
from kwire.testing.cluster import Partition, check_leader_epoch
from kwire.testing.conversion import down_converted, magic_for_fetch
from kwire.testing.record_sets import compression_of, split_stored
from kwire.testing.requests import Flow, RequestContext, Suspend

_TopicAsked = FetchRequest.FetchTopic
_Asked = FetchRequest.FetchTopic.FetchPartition
_TopicAnswer = FetchResponse.FetchableTopicResponse
_Answer = FetchResponse.FetchableTopicResponse.PartitionData


@dataclass(slots=True)
class _Budget:
    """How many bytes the answer may still take, and whether the one entry above every limit was given."""

    left: int
    whole_first: bool


def answer(context: RequestContext[FetchRequest]) -> Flow[FetchResponse]:
    """Waits as the request asks, then reads."""
    request = context.request
    if request.session_id != 0:
        return FetchResponse(error_code=codes.FETCH_SESSION_ID_NOT_FOUND.code)
    until = context.now() + max(request.max_wait_ms, 0) / 1000
    while not _is_due(context) and context.now() < until:
        yield Suspend(until, frozenset(_found(context)))
    return _read(context)


def refuse(context: RequestContext[FetchRequest], code: int) -> FetchResponse:
    """Every partition answered with `code`."""
    return FetchResponse(
        responses=[
            _TopicAnswer(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[_refused(asked, code) for asked in topic.partitions],
            )
            for topic in context.request.topics
        ]
    )


def _asked(context: RequestContext[FetchRequest]) -> Iterator[tuple[_TopicAsked, _Asked]]:
    for topic in context.request.topics:
        for asked in topic.partitions:
            yield topic, asked


def _found(context: RequestContext[FetchRequest]) -> Iterator[Partition]:
    for topic, asked in _asked(context):
        yield context.cluster.partition(topic.topic, topic.topic_id, asked.partition)


def _is_due(context: RequestContext[FetchRequest]) -> bool:
    """Whether there is enough to read, or an error to report at once."""
    available = 0
    for topic, asked in _asked(context):
        try:
            partition = context.cluster.partition(topic.topic, topic.topic_id, asked.partition)
            check_leader_epoch(partition, asked.current_leader_epoch)
            available += min(partition.log.available(asked.fetch_offset), max(asked.partition_max_bytes, 1))
        except BrokerError:
            return True
    return available >= context.request.min_bytes or not context.request.topics


def _limit(context: RequestContext[FetchRequest]) -> int:
    return max(context.request.max_bytes, 0) if context.version >= 3 else 2**31 - 1


def _read(context: RequestContext[FetchRequest]) -> FetchResponse:
    budget = _Budget(_limit(context), context.version >= 3)
    return FetchResponse(
        responses=[
            _TopicAnswer(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[_partition(context, topic, asked, budget) for asked in topic.partitions],
            )
            for topic in context.request.topics
        ]
    )


def _partition(context: RequestContext[FetchRequest], topic: _TopicAsked, asked: _Asked, budget: _Budget) -> _Answer:
    try:
        partition = context.cluster.partition(topic.topic, topic.topic_id, asked.partition)
        check_leader_epoch(partition, asked.current_leader_epoch)
        records = _records(context, partition, asked, budget)
    except BrokerError as refused:
        return _refused(asked, refused.code)
    log = partition.log
    return _Answer(
        partition_index=asked.partition,
        high_watermark=log.end_offset,
        last_stable_offset=log.end_offset,
        log_start_offset=log.start_offset,
        aborted_transactions=None if context.request.isolation_level == 0 else [],
        records=records,
    )


def _records(
    context: RequestContext[FetchRequest], partition: Partition, asked: _Asked, budget: _Budget
) -> bytes | memoryview:
    limit = min(max(asked.partition_max_bytes, 0), budget.left)
    cut = context.version < 3
    stored = partition.log.read(asked.fetch_offset, limit, first_whole=cut or budget.whole_first)
    if context.version < 10:
        _refuse_zstd(stored)
    given = down_converted(stored, magic_for_fetch(context.version), asked.fetch_offset)
    if cut:
        given = given[:limit]
    if given:
        budget.left = max(budget.left - len(given), 0)
        budget.whole_first = False
    return given


def _refuse_zstd(stored: bytes | memoryview) -> None:
    if any(compression_of(entry) == "zstd" for entry in split_stored(memoryview(stored))):
        raise codes.UNSUPPORTED_COMPRESSION_TYPE("zstd needs Fetch 10 or newer")


def _refused(asked: _Asked, code: int) -> _Answer:
    return _Answer(
        partition_index=asked.partition,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        records=b"",
    )
