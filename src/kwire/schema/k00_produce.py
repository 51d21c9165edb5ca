"""Produce (key 0), versions 0-13: record batches or message sets, appended to partitions by their leaders.

With `acks` 0 there is no response at all; a broker that cannot append closes the connection instead.

    v1   response: throttle_time_ms
    v2   response: log_append_time_ms; message sets of magic 1 may be sent (KIP-32)
    v3   request: transactional_id; from here on exactly one record batch of magic 2 per partition (KIP-98)
    v4   KAFKA_STORAGE_ERROR may be answered (KIP-112)
    v5   response: log_start_offset (KAFKA-5793)
    v6   brokers answer before they throttle (KIP-219)
    v7   zstd (KIP-110)
    v8   response: record_errors, error_message (KIP-467)
    v9   flexible (KIP-482)
    v10  response: current_leader, node_endpoints, both tagged (KIP-951)
    v11  TRANSACTION_ABORTABLE may be answered (KIP-890)
    v12  in a transaction, adds the partition to it (KIP-890, transactions version 2)
    v13  topic ids instead of names, both directions (KIP-516)

v0-v2 are refused by brokers from 4.0 on, although these advertise version 0 (KAFKA-18659).
Sources: the protocol guides of 0.9 and 0.10.1 (v0-v2), Apache's definitions of 3.9.2 (v0-v11) and 4.4.0 (v3-v13).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, BytesLike, array, i16, i32, i64, record_data, string, struct, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ProduceRequest", "ProduceResponse"]


class ProduceRequest(Request, key=0, versions="0-13", flexible="9+"):
    """Records to append, by topic and partition. `acks`: 0 no answer, 1 the leader, -1 all in-sync replicas."""

    class TopicProduceData(Struct):
        class PartitionProduceData(Struct):
            index: int = i32("0+", default=0)
            records: BytesLike | None = record_data("0+", default=b"", nullable="0+")

        name: str = string("0-12", default="", ignorable=True)
        topic_id: UUID = uuid("13+", default=NO_UUID, ignorable=True)
        partition_data: Sequence[PartitionProduceData] = array(PartitionProduceData, "0+", default=())

    transactional_id: str | None = string("3+", default=None, nullable="3+")
    acks: int = i16("0+", default=0)
    timeout_ms: int = i32("0+", default=0)
    topic_data: Sequence[TopicProduceData] = array(TopicProduceData, "0+", default=())


class ProduceResponse(Response, key=0, versions="0-13", flexible="9+"):
    """Where the records went. `base_offset` is the offset of a partition's first record, -1 after an error."""

    class TopicProduceResponse(Struct):
        class PartitionProduceResponse(Struct):
            class BatchIndexAndErrorMessage(Struct):
                batch_index: int = i32("8+", default=0)
                batch_index_error_message: str | None = string("8+", default=None, nullable="8+")

            class LeaderIdAndEpoch(Struct):
                leader_id: int = i32("10+", default=-1)
                leader_epoch: int = i32("10+", default=-1)

            index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            base_offset: int = i64("0+", default=0)
            log_append_time_ms: int = i64("2+", default=-1, ignorable=True)
            log_start_offset: int = i64("5+", default=-1, ignorable=True)
            record_errors: Sequence[BatchIndexAndErrorMessage] = array(
                BatchIndexAndErrorMessage, "8+", default=(), ignorable=True
            )
            error_message: str | None = string("8+", default=None, nullable="8+", ignorable=True)
            current_leader: LeaderIdAndEpoch = struct("10+", default_factory=LeaderIdAndEpoch, tag=0)

        name: str = string("0-12", default="", ignorable=True)
        topic_id: UUID = uuid("13+", default=NO_UUID, ignorable=True)
        partition_responses: Sequence[PartitionProduceResponse] = array(PartitionProduceResponse, "0+", default=())

    class NodeEndpoint(Struct):
        node_id: int = i32("10+", default=0)
        host: str = string("10+", default="")
        port: int = i32("10+", default=0)
        rack: str | None = string("10+", default=None, nullable="10+")

    responses: Sequence[TopicProduceResponse] = array(TopicProduceResponse, "0+", default=())
    throttle_time_ms: int = i32("1+", default=0, ignorable=True)
    node_endpoints: Sequence[NodeEndpoint] = array(NodeEndpoint, "10+", default=(), tag=0)
