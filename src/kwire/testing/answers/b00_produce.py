"""Produce (key 0).

Behaviour
    Each partition is taken or refused by itself. A record set is cut, checked (lengths, checksums, counts, codec), put
    in order after what its idempotent producer sent before, given its offsets and stored as it is. A repeated batch of
    an idempotent producer gets the offset of the first time, and its own timestamp for the append time. An empty record
    set is not an error and has no offset. acks 0 has no response; if anything is refused then, the connection closes.
    acks -1 takes min.insync.replicas; otherwise it is the same as 1, since followers are never behind. Who leads a
    partition is told by any node. Kafka's own topics are refused with INVALID_TOPIC_EXCEPTION. What a topic says of
    single records is in record_checks.py. A transactional batch without a transactional id in the request is refused
    with TRANSACTIONAL_ID_AUTHORIZATION_FAILED. The first batch of a transaction in a partition is taken only if the
    coordinator knows the partition as part of it (KIP-890, releases from 3.6 on): else INVALID_TXN_STATE.

Version notes
    v0-2  message sets; the release's format decides what is too new (0.9 and older take magic 0 only). 0.8 took acks
          above 1 and waited for that many replicas; here they are refused as by later releases
    v1    throttle_time_ms; v2 log_append_time_ms, -1 unless the topic stamps its records
    v3    exactly one batch of magic 2 per partition, else INVALID_RECORD (older releases: see release.py)
    v5    log_start_offset; v7 zstd, below it UNSUPPORTED_COMPRESSION_TYPE
    v8    record_errors and error_message say what was wrong
    v10   current_leader and node_endpoints where the node does not lead the partition (KIP-951)
    v11   TRANSACTION_ABORTABLE instead of INVALID_TXN_STATE for a partition that is not part of the transaction
    v12   the partition becomes part of the transaction by being written to. While the one before is about to end, the
          node tries again every 20 ms, and after 100 ms says CONCURRENT_TRANSACTIONS; below v12 it says
          NOT_ENOUGH_REPLICAS at once
    v13   topics by id
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import ProduceRequest, ProduceResponse
from kwire.testing.answers.leaders import MOVED, endpoints, name_leader
from kwire.testing.records.record_sets import Entry, entries_of
from kwire.testing.requests import CloseConnectionError, Flow, RequestContext, Suspend
from kwire.testing.state.authorizer import TRANSACTIONAL_ID, WRITE
from kwire.testing.state.partition import Partition
from kwire.testing.state.record_checks import Fault, find_faults
from kwire.testing.state.replication import check_in_sync
from kwire.testing.state.transactions import ProducerIdAndEpoch

KEY = 0
logger = logging.getLogger("kwire.testing")
_ABORTABLE_SINCE = 11
_ADDS_PARTITIONS_SINCE = 12
_TRIES_AGAIN_AFTER_S, _TRIES_FOR_S = 0.02, 0.1
_ADMIN_CLIENT = "__admin_client"

_TopicData = ProduceRequest.TopicProduceData
_PartitionData = ProduceRequest.TopicProduceData.PartitionProduceData
_TopicAnswer = ProduceResponse.TopicProduceResponse
_PartitionAnswer = ProduceResponse.TopicProduceResponse.PartitionProduceResponse
_RecordError = _PartitionAnswer.BatchIndexAndErrorMessage


def answer(context: RequestContext[ProduceRequest]) -> ProduceResponse | Flow[ProduceResponse | None] | None:
    """Appends what is valid and answers the rest with an error; None where no response is wanted (acks 0)."""
    return _answer_later(context) if _is_early(context) else _answer(context)


def _is_early(context: RequestContext[ProduceRequest]) -> bool:
    """Whether the producer's transaction before is still about to end."""
    if context.version < _ADDS_PARTITIONS_SINCE or not context.request.transactional_id:
        return False
    found = context.cluster.transactions.find(context.request.transactional_id)
    return found is not None and found.is_prepared


def _answer_later(context: RequestContext[ProduceRequest]) -> Flow[ProduceResponse | None]:
    last = context.now() + _TRIES_FOR_S
    while _is_early(context) and context.now() < last:
        yield Suspend(context.now() + _TRIES_AGAIN_AFTER_S)
    return _answer(context)


def _answer(context: RequestContext[ProduceRequest]) -> ProduceResponse | None:
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
    rows = [row for topic in response.responses for row in topic.partition_responses if row.error_code in MOVED]
    if rows and context.version >= 10:
        leaders = {row.current_leader.leader_id for row in rows}
        response.node_endpoints = endpoints(context, leaders, ProduceResponse.NodeEndpoint)
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
        context.require_topic(WRITE, topic.name, topic.topic_id)
        partition = context.cluster.partition_led_by(context.node, topic.name, topic.topic_id, data.index)
        if partition.topic.is_internal and context.client_id != _ADMIN_CLIENT:
            raise codes.INVALID_TOPIC_EXCEPTION(f"{partition.topic.name} is written to by brokers alone")
        if context.request.acks == -1:
            check_in_sync(partition)
        return _append(context, partition, data)
    except BrokerError as refused:
        logger.info("Produce to %s-%d refused: %s", topic.name or topic.topic_id, data.index, refused)
        row = _refused(data, refused)
        if refused.code == codes.NOT_ENOUGH_REPLICAS.code:
            row.log_start_offset = context.cluster.partition(topic.name, topic.topic_id, data.index).log.start_offset
        if context.version >= 10 and refused.code in MOVED:
            name_leader(row, context.cluster, topic.name, topic.topic_id, data.index)
        return row


def _append(context: RequestContext[ProduceRequest], partition: Partition, data: _PartitionData) -> _PartitionAnswer:
    entries = entries_of(data.records if data.records is not None else b"")
    _check(context, partition, entries)
    if not entries:
        return _PartitionAnswer(index=data.index, base_offset=-1)
    settings, now_ms = partition.topic.settings, context.cluster.clock()
    append_time = now_ms if settings.append_time else None
    batch = entries[0] if entries[0].producer_id >= 0 else None
    if batch is not None and batch.transactional:
        _check_transaction(context, partition, batch)
    if faults := find_faults(entries, settings, now_ms):
        return _rejected(context, data, faults, partition.log.start_offset)
    if batch is not None:
        if (earlier := partition.producers.find_duplicate(batch)) is not None:
            return _appended(partition, earlier.base_offset, earlier.timestamp)
        adds = batch.transactional and context.version >= _ADDS_PARTITIONS_SINCE
        code_of_unknown = codes.OUT_OF_ORDER_SEQUENCE_NUMBER if adds else context.release.code_of_unknown_producers
        try:
            partition.producers.check(batch, code_of_unknown)
        except BrokerError as refused:
            return _refused(data, refused, partition.log.start_offset)
    base_offset = partition.log.append(
        entries, leader_epoch=partition.leader_epoch, append_time=append_time, now_ms=now_ms
    )
    if batch is not None:
        partition.producers.remember(batch)
    context.cluster.appended(partition)
    return _appended(partition, base_offset, -1 if append_time is None else append_time)


def _refused(data: _PartitionData, refused: BrokerError, log_start_offset: int = -1) -> _PartitionAnswer:
    return _PartitionAnswer(
        index=data.index,
        error_code=refused.code,
        base_offset=-1,
        log_start_offset=log_start_offset,
        error_message=refused.context,
    )


def _rejected(
    context: RequestContext[ProduceRequest], data: _PartitionData, faults: Sequence[Fault], log_start_offset: int
) -> _PartitionAnswer:
    """The answer to records that the topic does not take: nothing of the record set is appended."""
    untimely = any(fault.code is codes.INVALID_TIMESTAMP for fault in faults)
    code = codes.INVALID_TIMESTAMP if untimely else context.release.code_of_refused_records
    row = _refused(data, code("one or more records have been rejected"), log_start_offset)
    row.record_errors = [_RecordError(batch_index=fault.at, batch_index_error_message=fault.text) for fault in faults]
    return row


def _check_transactional_id(context: RequestContext[ProduceRequest]) -> None:
    transactional_id = context.request.transactional_id
    if transactional_id:
        context.require(WRITE, TRANSACTIONAL_ID, transactional_id)
    elif context.release.wants_transactional_ids:
        raise codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED("a transactional batch without a transactional id")


def _check_transaction(context: RequestContext[ProduceRequest], partition: Partition, batch: Entry) -> None:
    """Raises BrokerError unless the partition is part of the producer's transaction, or is made so."""
    if partition.producers.has_transaction(batch.producer_id, batch.producer_epoch):
        return
    transactional_id = context.request.transactional_id or ""
    producer = ProducerIdAndEpoch(batch.producer_id, batch.producer_epoch)
    place = partition.topic.name, partition.index
    try:
        if context.version >= _ADDS_PARTITIONS_SINCE:
            context.cluster.transactions.add(transactional_id, producer, [place])
        elif context.release.verifies_transactions:
            context.cluster.transactions.verify(transactional_id, producer, place)
    except BrokerError as refused:
        raise _as_told_to_producers(refused, context.version) from refused


def _as_told_to_producers(refused: BrokerError, version: int) -> BrokerError:
    """The coordinator's error as the version has it."""
    code: type[BrokerError] = type(refused)
    if code is codes.PRODUCER_FENCED:
        code = codes.INVALID_PRODUCER_EPOCH
    elif code is codes.TRANSACTION_ABORTABLE and version < _ABORTABLE_SINCE:
        code = codes.INVALID_TXN_STATE
    elif code is codes.CONCURRENT_TRANSACTIONS and version < _ADDS_PARTITIONS_SINCE:
        code = codes.NOT_ENOUGH_REPLICAS
    return code(refused.context)


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
            _check_transactional_id(context)
        if entry.append_time and not partition.topic.settings.append_time:
            raise codes.INVALID_TIMESTAMP("the batch says append time, the topic create time")
