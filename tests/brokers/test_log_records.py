"""What real brokers write down for themselves, read whole: no record without its messages, no byte left over.

A 4.4.0 broker is asked to do all that makes it write: groups of every protocol, transactions, topics, settings, ACLs,
quotas, credentials. The older ones keep the offsets and the members of a classic group.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from kwire import protocol, records
from kwire.schema.logs.transaction_state import TRANSACTION_STATES
from tests.brokers import Cluster
from tests.brokers.peers import Confluent, PeerRecord
from tests.brokers.peers.peer import WITHIN_S
from tests.brokers.wire import Wire, wire_to
from tests.schema.whole_logs import Shown, assert_whole, message_of, read_log

_COUNT = 20
_OVERRIDES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
}
_TOPIC, _GROUP = 2, 32
_WRITTEN_BY_4_4 = {
    *("AccessControlEntryRecord", "BeginTransactionRecord", "BrokerRegistrationChangeRecord", "ClearElrRecord"),
    *("ClientQuotaRecord", "ConfigRecord", "EndTransactionRecord", "FeatureLevelRecord", "PartitionRecord"),
    *("ProducerIdsRecord", "RegisterBrokerRecord", "RegisterControllerRecord", "RemoveAccessControlEntryRecord"),
    *("RemoveTopicRecord", "RemoveUserScramCredentialRecord", "TopicRecord", "UserScramCredentialRecord", "NoOpRecord"),
    *("KRaftVersionRecord", "LeaderChangeMessage", "SnapshotFooterRecord", "SnapshotHeaderRecord", "VotersRecord"),
    *("OffsetCommitValue", "GroupMetadataValue", "TransactionLogValue", "ShareSnapshotValue", "ShareUpdateValue"),
    *("ConsumerGroupMetadataValue", "ConsumerGroupMemberMetadataValue", "ConsumerGroupRegularExpressionValue"),
    *("ConsumerGroupTargetAssignmentMetadataValue", "ConsumerGroupTargetAssignmentMemberValue"),
    *("ConsumerGroupCurrentMemberAssignmentValue", "ShareGroupCurrentMemberAssignmentValue"),
    *("ShareGroupMetadataValue", "ShareGroupMemberMetadataValue", "ShareGroupStatePartitionMetadataValue"),
    *("ShareGroupTargetAssignmentMetadataValue", "ShareGroupTargetAssignmentMemberValue"),
    *("StreamsGroupMetadataValue", "StreamsGroupMemberMetadataValue", "StreamsGroupTopologyValue"),
    *("StreamsGroupTargetAssignmentMetadataValue", "StreamsGroupTargetAssignmentMemberValue"),
    "StreamsGroupCurrentMemberAssignmentValue",
}


def internal_logs(cluster: Cluster) -> list[Shown]:
    """All logs and snapshots of Kafka's own topics on the first node."""
    (any_segment,) = cluster.segments("__consumer_offsets", 0)
    found = []
    for path in sorted(any_segment.parents[1].glob("__*/*")):
        if path.suffix in (".log", ".checkpoint"):
            found += read_log(path.parent.name.rpartition("-")[0], path.read_bytes())
    return found


def _wait_for(cluster: Cluster, expected: set[str]) -> list[Shown]:
    """Markers, states and snapshots are written after the client has its answer."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        found = internal_logs(cluster)
        missing = expected - {name for shown in found for name in shown.names()}
        if not missing:
            return found
        assert time.monotonic() < deadline, f"not written: {sorted(missing)}"
        time.sleep(0.1)


def consume_in_a_group(cluster: Cluster, topic: str, group: str, **settings: Any) -> None:
    """Joins a group, reads `_COUNT` records and commits; before 0.9 commits without joining."""
    common = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
    if cluster.release.number < (0, 10):
        common |= {"api.version.request": "false", "broker.version.fallback": cluster.release.version}
    consumer = Consumer({**common, "enable.auto.commit": False, **settings})
    try:
        if cluster.release.number < (0, 9):
            consumer.commit(offsets=[TopicPartition(topic, 0, _COUNT)], asynchronous=False)
            return
        consumer.subscribe([topic])
        deadline = time.monotonic() + WITHIN_S
        read = 0
        while read < _COUNT:
            assert time.monotonic() < deadline, f"{group} read {read} of {_COUNT} records"
            message = consumer.poll(0.2)
            read += message is not None and message.error() is None
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


@pytest.mark.needs("committed-offsets")
def test_a_classic_group(kafka: Cluster, new_topic: Callable[[], str]) -> None:
    topic, group = new_topic(), f"group-{uuid.uuid4()}"
    Confluent(kafka).produce(topic, [PeerRecord(b"value", b"key")] * _COUNT)
    consume_in_a_group(
        kafka, topic, group, **{"session.timeout.ms": 10000, "partition.assignment.strategy": "roundrobin"}
    )
    found = internal_logs(kafka)
    offsets = [shown.parts for shown in found if getattr(message_of(shown.parts.key), "topic", None) == topic]
    assert offsets
    kind = "OffsetCommitKey" if kafka.release.number >= (0, 9) else "LegacyOffsetCommitKey"
    for key, value in offsets:
        assert key is not None
        assert key.name == kind
        assert message_of(key).group == group
        assert value is None or message_of(value).offset == _COUNT
    if kafka.release.number >= (0, 9):
        groups = [shown.parts.value for shown in found if getattr(message_of(shown.parts.key), "group", None) == group]
        members = [member for value in groups for member in getattr(message_of(value), "members", ())]
        assert members
        for member in members:
            metadata = protocol.decode_member_metadata(member.subscription)
            assignment = protocol.decode_member_assignment(member.assignment)
            assert metadata is not None
            assert message_of(metadata).topics == (topic,)
            assert assignment is not None
            (assigned,) = message_of(assignment).assigned_partitions
            assert (assigned.topic, assigned.partitions) == (topic, (0,))


@pytest.fixture(scope="module")
def busy() -> Iterator[Cluster]:
    """A 4.4.0 broker with an authorizer."""
    with Cluster("4.4.0", overrides=_OVERRIDES) as cluster:
        yield cluster


def _call(wire: Wire, name: str, version: int, values: Mapping[str, Any]) -> Any:
    """The answer to a request, sent again while the coordinator is being made."""
    request = protocol.APIS[name].request.from_dict(values)
    deadline = time.monotonic() + WITHIN_S
    while True:
        answer = wire.call(request, version)
        if getattr(answer, "error_code", 0) not in (14, 15, 16):
            return answer
        assert time.monotonic() < deadline, f"{name}: {answer}"
        time.sleep(0.1)


def _ask(wire: Wire, name: str, version: int, **values: Any) -> Any:
    answer = _call(wire, name, version, values)
    assert getattr(answer, "error_code", 0) == 0, f"{name}: {answer}"
    inner = [getattr(answer, field.name) for field in answer.__fields__ if field.kind == "array"]
    for result in (item for items in inner if items for item in items):
        assert getattr(result, "error_code", 0) == 0, f"{name}: {result}"
    return answer


def _topics_and_settings(wire: Wire) -> None:
    topic = {
        "name": "kept",
        "num_partitions": 1,
        "replication_factor": 1,
        "configs": [{"name": "segment.ms", "value": "99999"}],
    }
    gone = {"name": "gone", "num_partitions": 1, "replication_factor": 1}
    _ask(wire, "CreateTopics", 7, topics=[topic, gone], timeout_ms=10_000)
    _ask(wire, "CreatePartitions", 3, topics=[{"name": "kept", "count": 3, "assignments": None}], timeout_ms=10_000)
    _ask(wire, "DeleteTopics", 6, topics=[{"name": "gone"}], timeout_ms=10_000)
    change = {"name": "consumer.session.timeout.ms", "config_operation": 0, "value": "46000"}
    resource = {"resource_type": _GROUP, "resource_name": "new", "configs": [change]}
    _ask(wire, "IncrementalAlterConfigs", 1, resources=[resource])
    quota = {
        "entity": [{"entity_type": "user", "entity_name": "alice"}],
        "ops": [{"key": "producer_byte_rate", "value": 1e6}],
    }
    _ask(wire, "AlterClientQuotas", 1, entries=[quota])
    credential = {"name": "alice", "mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"x" * 32}
    _ask(wire, "AlterUserScramCredentials", 0, upsertions=[credential])
    _ask(wire, "AlterUserScramCredentials", 0, deletions=[{"name": "alice", "mechanism": 1}])
    acl = {"resource_type": _TOPIC, "resource_name": "kept", "resource_pattern_type": 3, "principal": "User:alice"}
    _ask(wire, "CreateAcls", 3, creations=[{**acl, "host": "*", "operation": 3, "permission_type": 3}])
    everything = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    everything |= {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    _ask(wire, "DeleteAcls", 3, filters=[everything])


def _new_groups(wire: Wire, topic: str) -> None:
    """Members that join: of the new consumer protocol, of a share group and of a streams group."""
    member = {"member_id": str(uuid.uuid4()), "member_epoch": 0}
    joins = {**member, "rebalance_timeout_ms": 60_000, "topic_partitions": []}
    _ask(wire, "ConsumerGroupHeartbeat", 1, group_id="by-name", subscribed_topic_regex=f"{topic[:-1]}.*", **joins)
    subtopology = {"subtopology_id": "0", "source_topics": [topic]}
    streams = {"topology": {"epoch": 1, "subtopologies": [subtopology]}, "process_id": "p", "client_tags": []}
    tasks = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    beat = {"group_id": "streams", "member_id": member["member_id"]}
    answer = _ask(wire, "StreamsGroupHeartbeat", 1, **beat, rebalance_timeout_ms=60_000, **streams, **tasks)
    deadline = time.monotonic() + WITHIN_S
    while not answer.active_tasks:
        assert time.monotonic() < deadline, "the streams group got no task"
        time.sleep(0.1)
        answer = _ask(wire, "StreamsGroupHeartbeat", 1, **beat, member_epoch=answer.member_epoch)


def _share(wire: Wire, topic: str) -> None:
    """Reads records in a share group and acknowledges them."""
    member_id = str(uuid.uuid4())
    resource = {"resource_type": _GROUP, "resource_name": "shared"}
    earliest = {"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"}
    _ask(wire, "IncrementalAlterConfigs", 1, resources=[{**resource, "configs": [earliest]}])
    (described,) = _ask(wire, "Metadata", 12, topics=[{"name": topic}]).topics
    join = {"group_id": "shared", "member_id": member_id, "subscribed_topic_names": [topic]}
    epoch = _ask(wire, "ShareGroupHeartbeat", 1, member_epoch=0, **join).member_epoch
    fetch = {"group_id": "shared", "member_id": member_id, "max_wait_ms": 500, "min_bytes": 1, "max_records": 100}
    asked = {"topic_id": described.topic_id, "partitions": [{"partition_index": 0}]}
    deadline = time.monotonic() + WITHIN_S
    acquired: Any = ()
    session = 0
    while not acquired:
        assert time.monotonic() < deadline, "the share group got no record"
        epoch = _ask(wire, "ShareGroupHeartbeat", 1, member_epoch=epoch, **join).member_epoch
        answer = _ask(
            wire,
            "ShareFetch",
            2,
            share_session_epoch=session,
            batch_size=100,
            topics=[] if session else [asked],
            **fetch,
        )
        session += 1
        acquired = [batch for each in answer.responses for found in each.partitions for batch in found.acquired_records]
    batch = {"first_offset": acquired[0].first_offset, "last_offset": acquired[0].last_offset, "acknowledge_types": [1]}
    done = {"topic_id": described.topic_id, "partitions": [{"partition_index": 0, "acknowledgement_batches": [batch]}]}
    who = {"group_id": "shared", "member_id": member_id, "share_session_epoch": session}
    _ask(wire, "ShareAcknowledge", 2, topics=[done], **who)


@pytest.mark.kafka
@pytest.mark.timeout(240)
def test_all_that_a_broker_writes_down(busy: Cluster) -> None:
    peer = Confluent(busy)
    peer.produce("kept-by-groups", [PeerRecord(b"value", b"key")] * _COUNT)
    peer.produce_transactions("transactions", [([b"kept"], True), ([b"dropped"], False)])
    consume_in_a_group(busy, "kept-by-groups", "classic")
    consume_in_a_group(busy, "kept-by-groups", "next", **{"group.protocol": "consumer"})
    with wire_to(busy) as wire:
        _topics_and_settings(wire)
        _new_groups(wire, "kept-by-groups")
        _share(wire, "kept-by-groups")
    found = _wait_for(busy, _WRITTEN_BY_4_4)
    states = {
        message_of(shown.parts.value).transaction_status for shown in found if shown.topic == "__transaction_state"
    }
    assert {TRANSACTION_STATES[state] for state in states} >= {"Ongoing", "CompleteCommit", "CompleteAbort"}
    topics = {message_of(shown.parts.value).name for shown in found if "TopicRecord" in shown.names()}
    assert topics >= {"kept", "gone", "kept-by-groups", "transactions", "__consumer_offsets"}
    (segment,) = busy.segments("transactions")
    read = records.decode(segment.read_bytes())
    markers = [
        protocol.decode_log_record("transactions", read[at].key, read[at].value, is_control=True) for at in (1, 3)
    ]
    kinds = [message_of(marker and marker.key).type for marker in markers]
    assert [protocol.control_records.CONTROL_RECORD_TYPES[kind].name for kind in kinds] == ["COMMIT", "ABORT"]
    for marker in markers:
        assert marker is not None
        assert marker.value is not None
        assert_whole(marker.value, "a marker")
        assert marker.value.name == "EndTxnMarker"
