"""ListOffsets (key 2).

Behaviour
    -1 is the end of the log, -2 its start, any other time the first record at or after it; none has offset -1. A time
    is looked up batch by batch, then record by record, so the answer is exact. For readers of committed records the
    last stable offset is the end, and nothing at or after it is found.

Version notes
    v0    a list of at most max_num_offsets segment borders, newest first: from the end on for -1, the start for -2,
          from the segment on that holds the time for any other
    v1    one timestamp and offset; v2 isolation_level; v4 leader_epoch, and current_leader_epoch is checked
    v7    -3 the record with the greatest timestamp; v8 -4 the start of what is stored locally
    v9    -5 the end of tiered storage, v11 -6 the first record not yet in it: there is none, so offset -1
    a special time that the version does not know is answered with UNSUPPORTED_VERSION; releases before 3.9 know it in
    every version or in none (see release.py)
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import ListOffsetsRequest, ListOffsetsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, TOPIC
from kwire.testing.state.partition import Partition

_TopicAsked = ListOffsetsRequest.ListOffsetsTopic
_Asked = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition
_TopicAnswer = ListOffsetsResponse.ListOffsetsTopicResponse
_Answer = ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse

_READ_COMMITTED = 1
_LATEST, _EARLIEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL, _LATEST_TIERED, _EARLIEST_PENDING = -1, -2, -3, -4, -5, -6


def answer(context: RequestContext[ListOffsetsRequest]) -> ListOffsetsResponse:
    """One answer per partition asked for."""
    return ListOffsetsResponse(
        topics=[
            _TopicAnswer(name=topic.name, partitions=[_partition(context, topic, asked) for asked in topic.partitions])
            for topic in context.request.topics
        ]
    )


def refuse(context: RequestContext[ListOffsetsRequest], code: int) -> ListOffsetsResponse:
    """Every partition answered with `code`."""
    return ListOffsetsResponse(
        topics=[
            _TopicAnswer(name=topic.name, partitions=[_refused(asked, code) for asked in topic.partitions])
            for topic in context.request.topics
        ]
    )


def _partition(context: RequestContext[ListOffsetsRequest], topic: _TopicAsked, asked: _Asked) -> _Answer:
    try:
        context.require(DESCRIBE, TOPIC, topic.name)
        partition = context.cluster.partition_led_by(
            context.node, topic.name, None, asked.partition_index, asked.current_leader_epoch
        )
        if context.version == 0:
            offsets = _segment_borders(partition, asked.timestamp)[: max(asked.max_num_offsets, 0)]
            return _Answer(partition_index=asked.partition_index, old_style_offsets=offsets)
        timestamp, offset = _offset(context, partition, asked.timestamp)
    except BrokerError as refused:
        return _refused(asked, refused.code)
    return _Answer(
        partition_index=asked.partition_index,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=partition.leader_epoch if offset >= 0 and context.version >= 4 else -1,
    )


def _offset(context: RequestContext[ListOffsetsRequest], partition: Partition, asked: int) -> tuple[int, int]:
    """(timestamp, offset), each -1 where there is none."""
    log = partition.log
    if asked < _EARLIEST:
        since = context.release.special_time_since(asked)
        if since is None:
            return log.offset_for_timestamp(asked) or (-1, -1)
        if context.version < since:
            raise codes.UNSUPPORTED_VERSION(f"time {asked} is not known in version {context.version}")
    is_committed = context.request.isolation_level == _READ_COMMITTED
    end = partition.last_stable_offset if is_committed else partition.high_watermark
    if asked == _LATEST:
        return -1, end
    if asked in (_EARLIEST, _EARLIEST_LOCAL):
        return -1, log.start_offset
    if asked in (_LATEST_TIERED, _EARLIEST_PENDING):
        return -1, -1
    found = log.offset_of_max_timestamp() if asked == _MAX_TIMESTAMP else log.offset_for_timestamp(asked)
    return found if found is not None and found[1] < end else (-1, -1)


def _segment_borders(partition: Partition, asked: int) -> list[int]:
    log = partition.log
    starts = log.segment_starts()[::-1]
    if asked == _LATEST:
        return [log.end_offset, *(start for start in starts if start != log.end_offset)]
    if asked == _EARLIEST:
        return [log.start_offset]
    found = log.offset_for_timestamp(asked)
    return [start for start in starts if start <= (log.end_offset if found is None else found[1])]


def _refused(asked: _Asked, code: int) -> _Answer:
    return _Answer(partition_index=asked.partition_index, error_code=code)
