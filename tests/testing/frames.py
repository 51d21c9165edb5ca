"""One request frame of every API in every version that a release serves: the corpus of the mutation tests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from uuid import UUID

from kwire import protocol, records
from kwire.protocol import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    ApiVersionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    GetTelemetrySubscriptionsRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    ListTransactionsRequest,
    MetadataRequest,
    PushTelemetryRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
    TxnOffsetCommitRequest,
    UpdateFeaturesRequest,
    WriteTxnMarkersRequest,
)
from tests.testing.groups.requests import group_requests
from tests.testing.like_kafka import admin_questions
from tests.testing.wire import fetch, produce


def requests(key: int, version: int) -> Iterator[protocol.Request]:
    """Requests that say something in this version."""
    magic = 2 if version >= 3 else version // 2
    by_key: dict[int, list[protocol.Request]] = {
        0: [
            produce(records.encode([(b"v", b"k"), (b"w", None)], magic=magic, compression=compression))
            for compression in ("none", "gzip")
        ],
        1: [fetch(0, partitions=[0, 1, 7], max_wait_ms=3), fetch(99)],
        2: [
            ListOffsetsRequest(
                topics=[
                    ListOffsetsRequest.ListOffsetsTopic(
                        name="orders",
                        partitions=[
                            ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(partition_index=n, timestamp=when)
                            for n, when in ((0, -1), (1, -2), (9, 0))
                        ],
                    )
                ]
            )
        ],
        3: [
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in ("orders", "new", "?")])
        ],
        17: [SaslHandshakeRequest(mechanism="PLAIN")],
        18: [ApiVersionsRequest()],
        19: [
            CreateTopicsRequest(
                topics=[CreateTopicsRequest.CreatableTopic(name="made", num_partitions=2, replication_factor=1)]
            )
        ],
        20: [
            DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name="made")])
            if version >= 6
            else DeleteTopicsRequest(topic_names=["made", "none"])
        ],
        22: [InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1) for name in (None, "mine")],
        24: [_partitions_to_add(version)],
        25: [AddOffsetsToTxnRequest(transactional_id="mine", producer_id=1001, group_id="g")],
        26: [EndTxnRequest(transactional_id="mine", producer_id=1001, committed=True)],
        27: [WriteTxnMarkersRequest(markers=[_marker()])],
        28: [_offsets_to_hold()],
        36: [SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret")],
        57: [
            UpdateFeaturesRequest(
                feature_updates=[
                    UpdateFeaturesRequest.FeatureUpdateKey(feature=name, max_version_level=1)
                    for name in ("?", "group.version")
                ]
            )
        ],
        61: [
            DescribeProducersRequest(
                topics=[DescribeProducersRequest.TopicRequest(name="orders", partition_indexes=[0, 9])]
            )
        ],
        65: [DescribeTransactionsRequest(transactional_ids=["mine", "none"])],
        66: [ListTransactionsRequest(state_filters=["Empty", "?"])],
        71: [GetTelemetrySubscriptionsRequest(client_instance_id=UUID(int=instance)) for instance in (0, 7)],
        72: [PushTelemetryRequest(client_instance_id=UUID(int=7), metrics=b"\n\0", terminating=True)],
    }
    yield from by_key.get(key, [])
    yield from group_requests(key, version)
    yield from (make(version) for _, make in admin_questions.by_key("orders").get(key, ()))


def _partitions_to_add(version: int) -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="orders", partitions=[0, 1])]
    if version < 4:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="mine", v3_and_below_producer_id=1001, v3_and_below_topics=topics
        )
    asked = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
    made = [asked(transactional_id="mine", producer_id=1001, topics=topics, verify_only=only) for only in (True, False)]
    return AddPartitionsToTxnRequest(transactions=made)


def _offsets_to_hold() -> TxnOffsetCommitRequest:
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    partitions = [topic.TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=5) for index in (0, 9)]
    return TxnOffsetCommitRequest(
        transactional_id="mine",
        group_id="g",
        producer_id=1001,
        topics=[topic(name="orders", topic_id=UUID(int=1), partitions=partitions)],
    )


def _marker() -> WriteTxnMarkersRequest.WritableTxnMarker:
    topic = WriteTxnMarkersRequest.WritableTxnMarker.WritableTxnMarkerTopic(name="orders", partition_indexes=[0, 9])
    return WriteTxnMarkersRequest.WritableTxnMarker(producer_id=1001, topics=[topic])


def spans(release: str) -> dict[int, tuple[int, int]]:
    """The versions of a release by key; with ZooKeeper, to 3.2, there is no DescribeQuorum."""
    known = dict(protocol.versions_of(release))
    if tuple(map(int, release.split("."))) < (3, 3):
        known.pop(55, None)
    return known


def corpus(release: str) -> list[bytes]:
    """The frames, without their size field."""
    frames = []
    for key, (low, high) in spans(release).items():
        for version in range(low, high + 1):
            for request in requests(key, version):
                frames.append(protocol.encode_request(request, version, correlation_id=5, client_id="c")[4:])
    return frames


def damage(frame: bytearray, rng: random.Random) -> None:
    """Spoils the frame in one of six ways."""
    if not frame:
        return
    at = rng.randrange(len(frame))
    match rng.randrange(6):
        case 0:
            frame[at] ^= 1 << rng.randrange(8)
        case 1:
            frame[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        case 2:
            del frame[at:]
        case 3:
            frame[at:at] = rng.randbytes(rng.randrange(1, 9))
        case 4:
            frame[at : at + 4] = rng.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0"))
        case _:
            del frame[at : at + rng.randrange(1, 9)]
