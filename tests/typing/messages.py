"""What type checkers must see in the message classes. Checked by mypy, never run; an idle ignore fails, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_type
from uuid import UUID

from kwire import errors, protocol
from kwire.protocol import FetchRequest, FetchResponse, MetadataRequest, MetadataResponse, ProduceRequest

request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="t")], allow_auto_topic_creation=False)
assert_type(request.topics, Sequence[MetadataRequest.MetadataRequestTopic] | None)
assert_type(request.allow_auto_topic_creation, bool)
assert_type(MetadataRequest.MetadataRequestTopic().name, str | None)
assert_type(MetadataRequest.MetadataRequestTopic().topic_id, UUID)
assert_type(MetadataRequest.decode(b"", 0), MetadataRequest)
assert_type(request.encode(0), bytes)

MetadataRequest(topcs=[])  # type: ignore[call-arg]
MetadataRequest([])  # type: ignore[call-arg]
MetadataRequest(topics=[1])  # type: ignore[list-item]
MetadataRequest(allow_auto_topic_creation="no")  # type: ignore[arg-type]
request.topcs = ()  # type: ignore[attr-defined]
request.topics = 3  # type: ignore[assignment]

answer = MetadataResponse()
assert_type(answer.brokers, Sequence[MetadataResponse.MetadataResponseBroker])
assert_type(answer.topics[0].partitions[0].isr_nodes, Sequence[int])
assert_type(answer.cluster_id, str | None)
assert_type(FetchRequest().replica_state, FetchRequest.ReplicaState)
assert_type(FetchResponse().responses[0].partitions[0].current_leader.leader_id, int)
assert_type(answer.unknown_tagged_fields, dict[int, bytes])
ProduceRequest(acks=-1, topic_data=[ProduceRequest.TopicProduceData(partition_data=())])

# An older name of a field, and a struct that several others of its message nest.
commit = protocol.TxnOffsetCommitRequest(generation_id=7)
assert_type(commit.generation_id_or_member_epoch, int)
assert_type(commit.generation_id, int)
protocol.TxnOffsetCommitRequest(generation_id="7")  # type: ignore[arg-type]
tag = protocol.StreamsGroupHeartbeatRequest.KeyValue(key="zone", value="a")
protocol.StreamsGroupHeartbeatRequest(client_tags=[tag])
assert_type(protocol.DescribeConfigsRequest.DescribeConfigsResource().configuration_keys, Sequence[str] | None)

assert_type(protocol.encode_request(request, 1), bytes)
protocol.encode_request(answer, 1)  # type: ignore[arg-type]
protocol.encode_response(request, 1)  # type: ignore[arg-type]
assert_type(protocol.decode_request(b""), tuple[protocol.RequestHeader, protocol.Request])
assert_type(protocol.APIS[3].versions, range)
assert_type(protocol.versions_of("4.4.0"), dict[int, tuple[int, int]])
assert_type(protocol.infer_release({18: (0, 4)}), str)

record = protocol.decode_log_record("__consumer_offsets", b"", None)
assert_type(record, protocol.LogRecord | None)
if record is not None and record.value is not None:
    assert_type(record.value.message, protocol.Message | None)
assert_type(protocol.logs.OffsetCommitValue().leader_epoch, int)
assert_type(protocol.logs.OffsetCommitValue().to_log(4), bytes)
member = protocol.logs.ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
assert_type(member.classic_member_metadata, protocol.logs.ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None)
protocol.logs.NoSuchRecord  # type: ignore[attr-defined]  # noqa: B018
assert_type(protocol.decode_member_metadata(b""), protocol.LogPart | None)
assert_type(protocol.ConsumerProtocolSubscription().topics, Sequence[str])

assert_type(errors.history.meaning(3, "0.7"), errors.history.ErrorMeaning | None)
assert_type(errors.broker.by_code(6), type[errors.BrokerError])
assert_type(errors.broker.NotLeaderOrFollowerError().retriable, bool)
errors.broker.NoSuchError  # type: ignore[attr-defined]  # noqa: B018
