"""Produce (key 0).

Behaviour
    Each partition is taken or refused by itself. A record set is cut, checked (lengths, checksums, counts, codec), put
    in order after what its idempotent producer sent before, given its offsets and stored as it is. A repeated batch of
    an idempotent producer gets the answer of the first time. An empty record set is not an error and has no offset.
    acks 0 has no response; if anything is refused then, the connection closes. acks 1 and -1 are the same here: one
    replica. Transactions are not known: a transactional batch is refused with INVALID_TXN_STATE.

Version notes
    v0-2  message sets; the release's format decides what is too new (0.9 and older take magic 0 only). 0.8 took acks
          above 1 and waited for that many replicas; here they are refused as by later releases
    v1    throttle_time_ms; v2 log_append_time_ms, -1 unless the topic stamps its records
    v3    exactly one batch of magic 2 per partition, else INVALID_RECORD (older releases: see release.py)
    v5    log_start_offset; v7 zstd, below it UNSUPPORTED_COMPRESSION_TYPE
    v8    record_errors and error_message say what was wrong
    v10   current_leader is left at its default: there is one node
    v13   topics by id
"""

from __future__ import annotations

import logging

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import ProduceRequest, ProduceResponse
from kwire.testing.cluster import Partition
from kwire.testing.record_sets import Entry, entries_of
from kwire.testing.requests import CloseConnectionError, RequestContext

logger = logging.getLogger("kwire.testing")

_TopicData = ProduceRequest.TopicProduceData
_PartitionData = ProduceRequest.TopicProduceData.PartitionProduceData
_TopicAnswer = ProduceResponse.TopicProduceResponse
_PartitionAnswer = ProduceResponse.TopicProduceResponse.PartitionProduceResponse


def answer(context: RequestContext[ProduceRequest]) -> ProduceResponse | None:
    """Appends what is valid and answers the rest with an error; None where no response is wanted (acks 0)."""
    response = ProduceResponse(
        responses=[
            _TopicAnswer(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[_partition(context, topic, data) for data in topic.partition_data],
            )
            for topic in context.request.topic_data
        ]
    )
    if context.request.acks != 0:
        return response
    for topic in response.responses:
        for partition in topic.partition_responses:
            if partition.error_code:
                code = codes.by_code(partition.error_code).name
                raise CloseConnectionError(f"Produce with acks 0: {topic.name}-{partition.index} refused, {code}")
    return None


def refuse(context: RequestContext[ProduceRequest], code: int) -> ProduceResponse | None:
    """Every partition answered with `code`, nothing appended."""
    if context.request.acks == 0:
        raise CloseConnectionError(f"Produce with acks 0 refused, error {code}")
    return ProduceResponse(
        responses=[
            _TopicAnswer(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    _PartitionAnswer(index=data.index, error_code=code, base_offset=-1) for data in topic.partition_data
                ],
            )
            for topic in context.request.topic_data
        ]
    )


def _partition(context: RequestContext[ProduceRequest], topic: _TopicData, data: _PartitionData) -> _PartitionAnswer:
    try:
        if context.request.acks not in (-1, 0, 1):
            raise codes.INVALID_REQUIRED_ACKS(f"acks {context.request.acks}: -1, 0 or 1")
        partition = context.cluster.partition(topic.name, topic.topic_id, data.index)
        return _append(context, partition, data)
    except BrokerError as refused:
        logger.info("Produce to %s-%d refused: %s", topic.name or topic.topic_id, data.index, refused)
        return _PartitionAnswer(
            index=data.index, error_code=refused.code, base_offset=-1, error_message=refused.context
        )


def _append(context: RequestContext[ProduceRequest], partition: Partition, data: _PartitionData) -> _PartitionAnswer:
    entries = entries_of(data.records if data.records is not None else b"")
    _check(context, partition, entries)
    if not entries:
        return _PartitionAnswer(index=data.index, base_offset=-1)
    append_time = context.cluster.clock() if partition.topic.settings.append_time else None
    batch = entries[0] if entries[0].producer_id >= 0 else None
    if batch is not None and (earlier := partition.producers.check(batch)) is not None:
        return _appended(partition, earlier.base_offset, earlier.append_time)
    base_offset = partition.log.append(entries, leader_epoch=partition.leader_epoch, append_time=append_time)
    answered_time = -1 if append_time is None else append_time
    if batch is not None:
        partition.producers.remember(batch, answered_time)
    context.cluster.touched.add(partition)
    return _appended(partition, base_offset, answered_time)


def _appended(partition: Partition, base_offset: int, append_time: int) -> _PartitionAnswer:
    return _PartitionAnswer(
        index=partition.index,
        base_offset=base_offset,
        log_append_time_ms=append_time,
        log_start_offset=partition.log.start_offset,
    )


def _check(context: RequestContext[ProduceRequest], partition: Partition, entries: list[Entry]) -> None:
    """What the versions and the topic allow. Raises BrokerError."""
    if context.version >= 3 and (len(entries) != 1 or entries[0].magic != 2):
        reason = "from version 3 on a partition takes exactly one batch, of magic 2"
        code = context.release.code_of_wrong_batches
        if code is None:
            raise CloseConnectionError(f"Produce to {partition.topic.name}-{partition.index}: {reason}")
        raise code(reason)
    limit = partition.topic.settings.max_message_bytes
    for entry in entries:
        if entry.magic > context.release.newest_magic:
            raise codes.CORRUPT_MESSAGE(f"magic {entry.magic} is unknown to {context.release.name}")
        if entry.compression == "zstd" and context.version < 7:
            raise codes.UNSUPPORTED_COMPRESSION_TYPE("zstd needs Produce 7 or newer")
        if len(entry.data) > limit:
            raise codes.MESSAGE_TOO_LARGE(f"{len(entry.data)} bytes, {limit} are allowed")
        if entry.control:
            raise codes.INVALID_RECORD("clients may not write control batches")
        if entry.transactional:
            raise codes.INVALID_TXN_STATE("this broker knows no transactions")
        if entry.append_time and not partition.topic.settings.append_time:
            raise codes.INVALID_TIMESTAMP("the batch says append time, the topic create time")
