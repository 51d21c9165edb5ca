"""DeleteRecords (key 21).

Behaviour
    Moves the start of each partition to an offset, -1 being the high watermark, and answers with where it is then. An
    offset before the start changes nothing; one beyond the high watermark is OFFSET_OUT_OF_RANGE. Only the leader does
    it, and only of topics whose cleanup policy deletes: else POLICY_VIOLATION.

Version notes
    v0-1 are one format; v2 is flexible
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DeleteRecordsRequest, DeleteRecordsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DELETE, TOPIC

Context = RequestContext[DeleteRecordsRequest]
_Asked = DeleteRecordsRequest.DeleteRecordsTopic.DeleteRecordsPartition
_Topic = DeleteRecordsResponse.DeleteRecordsTopicResult
_Result = DeleteRecordsResponse.DeleteRecordsTopicResult.DeleteRecordsPartitionResult

_HIGH_WATERMARK = -1
_UNKNOWN = -1


def answer(context: Context) -> DeleteRecordsResponse:
    """The start of each partition, or why it did not move."""
    return DeleteRecordsResponse(
        topics=[
            _Topic(name=topic.name, partitions=[_delete(context, topic.name, asked) for asked in topic.partitions])
            for topic in context.request.topics
        ]
    )


def refuse(context: Context, code: int) -> DeleteRecordsResponse:
    """Every partition answered with `code`."""
    return DeleteRecordsResponse(
        topics=[
            _Topic(name=topic.name, partitions=[_refused(asked, code) for asked in topic.partitions])
            for topic in context.request.topics
        ]
    )


def _delete(context: Context, topic: str, asked: _Asked) -> _Result:
    try:
        context.require(DELETE, TOPIC, topic)
        partition = context.cluster.partition_led_by(context.node, topic, None, asked.partition_index)
        if "delete" not in partition.topic.settings.values["cleanup.policy"]:
            raise codes.POLICY_VIOLATION(f"the cleanup policy of {topic!r} does not delete")
        log = partition.log
        offset = partition.high_watermark if asked.offset == _HIGH_WATERMARK else asked.offset
        if not 0 <= offset <= partition.high_watermark:
            raise codes.OFFSET_OUT_OF_RANGE(f"{asked.offset} is beyond the high watermark {partition.high_watermark}")
        if offset > log.start_offset:
            log.delete_before(offset)
            context.cluster.wake([partition])
    except BrokerError as refused:
        return _refused(asked, refused.code)
    return _Result(partition_index=asked.partition_index, low_watermark=log.start_offset)


def _refused(asked: _Asked, code: int) -> _Result:
    return _Result(partition_index=asked.partition_index, low_watermark=_UNKNOWN, error_code=code)
