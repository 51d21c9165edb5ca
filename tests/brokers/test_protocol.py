"""kwire.protocol and kwire.records over a bare socket: every version of every API that a real broker speaks.

No client of kwire takes part. Every answer must decode to its last byte, and say what the broker was asked to do.
"""

import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kwire import protocol, records
from tests.brokers import Cluster
from tests.brokers.wire import Wire, wire_to

_PRODUCE, _FETCH, _LIST_OFFSETS, _METADATA = 0, 1, 2, 3
_API_VERSIONS, _CREATE_TOPICS, _DELETE_TOPICS, _INIT_PRODUCER_ID = 18, 19, 20, 22
_API_KEYS = (0, 1, 2, 3, 18, 19, 20, 22)
_TIMEOUT_MS = 10_000
_EARLIEST, _LATEST = -2, -1
_COORDINATOR_LOAD_IN_PROGRESS = 14
_VALUES = [b"one", b"two", b"three"]

NewTopic = Callable[[], str]


def _versions(cluster: Cluster, api_key: int) -> range:
    """The versions that the release speaks, by kwire's own table; none where it lacks the API."""
    if api_key == _INIT_PRODUCER_ID and cluster.release.name == "2.8.2-kraft":
        return range(0)
    known = protocol.versions_of(cluster.release.version)
    least, most = known.get(api_key, (0, -1))
    return range(least, most + 1)


def _metadata(wire: Wire, topic: str, version: int) -> Any:
    asked = protocol.MetadataRequest.MetadataRequestTopic(name=topic)
    return wire.call(protocol.MetadataRequest(topics=[asked]), version)


def _make_topic(wire: Wire, cluster: Cluster, topic: str) -> uuid.UUID:
    """Has the broker create the topic, waits for its leader and gives its id (zero before 2.8)."""
    newest = _versions(cluster, _METADATA)[-1]

    def with_leader() -> Any:
        (found,) = _metadata(wire, topic, newest).topics
        return found if found.error_code == 0 and found.partitions and found.partitions[0].leader_id >= 0 else None

    topic_id: uuid.UUID = _until_there(with_leader, f"a leader of {topic}").topic_id
    return topic_id


def _until_there(look: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + _TIMEOUT_MS / 1000
    while (found := look()) is None:
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.02)
    return found


def _existing_partitions(wire: Wire, cluster: Cluster, topic: str) -> Any:
    asked = protocol.MetadataRequest.MetadataRequestTopic(name=topic)
    newest = _versions(cluster, _METADATA)[-1]
    # A version before 4 cannot forbid that asking creates the topic; brokers that old have it before they answer.
    request = protocol.MetadataRequest(topics=[asked], allow_auto_topic_creation=newest < 4)
    (found,) = wire.call(request, newest).topics
    return sorted(found.partitions, key=lambda p: p.partition_index) if found.error_code == 0 else None


def _magic(produce_version: int) -> int:
    return 2 if produce_version >= 3 else 1 if produce_version == 2 else 0


def _produce(wire: Wire, topic: str, topic_id: uuid.UUID, version: int) -> Any:
    of_topic = protocol.ProduceRequest.TopicProduceData
    data = records.encode([(value, b"key") for value in _VALUES], magic=_magic(version), compression="gzip")
    partition = of_topic.PartitionProduceData(index=0, records=data)
    request = protocol.ProduceRequest(
        acks=-1,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[of_topic(name=topic, topic_id=topic_id, partition_data=[partition])],
    )
    ((answered,),) = (answer.partition_responses for answer in wire.call(request, version).responses)
    return answered


def _fetch(wire: Wire, topic: str, topic_id: uuid.UUID, version: int) -> Any:
    of_topic = protocol.FetchRequest.FetchTopic
    partition = of_topic.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = protocol.FetchRequest(
        max_wait_ms=1000,
        min_bytes=1,
        topics=[of_topic(topic=topic, topic_id=topic_id, partitions=[partition])],
    )
    ((answered,),) = (answer.partitions for answer in wire.call(request, version).responses)
    return answered


@pytest.mark.needs("api-versions")
def test_brokers_list_what_the_table_says(kafka: Cluster) -> None:
    with wire_to(kafka) as wire:
        for version in _versions(kafka, _API_VERSIONS):
            answer = wire.call(
                protocol.ApiVersionsRequest(client_software_name="tests", client_software_version="1"), version
            )
            listed = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
            assert set(_API_KEYS) & protocol.versions_of(kafka.release.version).keys() <= _with_versions(kafka, listed)
            expected = {key: protocol.versions_of(kafka.release.version).get(key) for key in listed}
            if kafka.release.number >= (4,):
                # Listed, and refused all the same: KAFKA-18659.
                expected[_PRODUCE] = (0, protocol.versions_of(kafka.release.version)[_PRODUCE][1])
            assert listed == expected
            assert protocol.versions_of(protocol.infer_release(listed)) == protocol.versions_of(kafka.release.version)


def _with_versions(kafka: Cluster, listed: dict[int, tuple[int, int]]) -> set[int]:
    """The keys that the broker lists, with those that it may leave out."""
    return set(listed) | ({_INIT_PRODUCER_ID} if kafka.release.name == "2.8.2-kraft" else set())


def test_metadata(kafka: Cluster, new_topic: NewTopic) -> None:
    topic = new_topic()
    with wire_to(kafka) as wire:
        topic_id = _make_topic(wire, kafka, topic)
        for version in _versions(kafka, _METADATA):
            answer = _metadata(wire, topic, version)
            (found,) = answer.topics
            assert (found.name, found.error_code, len(found.partitions)) == (topic, 0, 1)
            (broker,) = answer.brokers
            assert f"{broker.host}:{broker.port}" == kafka.bootstrap_servers
            assert found.partitions[0].leader_id == broker.node_id
            if version >= 10:
                assert found.topic_id == topic_id


def test_produce_fetch_and_offsets(kafka: Cluster, new_topic: NewTopic) -> None:
    topic = new_topic()
    with wire_to(kafka) as wire:
        topic_id = _make_topic(wire, kafka, topic)
        for count, version in enumerate(_versions(kafka, _PRODUCE)):
            answered = _produce(wire, topic, topic_id, version)
            assert (answered.error_code, answered.base_offset) == (0, count * len(_VALUES)), f"Produce v{version}"
        written = len(_versions(kafka, _PRODUCE)) * _VALUES
        for version in _versions(kafka, _FETCH):
            answered = _fetch(wire, topic, topic_id, version)
            read = records.decode(answered.records)
            assert answered.error_code == 0, f"Fetch v{version}"
            assert answered.high_watermark == len(written)
            assert [(r.offset, r.key, r.value) for r in read] == [(n, b"key", v) for n, v in enumerate(written)]
            assert max(batch.magic for batch in read.batches) <= (0 if version < 2 else 1 if version < 4 else 2)
        for version in _versions(kafka, _LIST_OFFSETS):
            assert _offset(wire, topic, _EARLIEST, version) == 0
            assert _offset(wire, topic, _LATEST, version) == len(written)


def _offset(wire: Wire, topic: str, timestamp: int, version: int) -> int:
    of_topic = protocol.ListOffsetsRequest.ListOffsetsTopic
    partition = of_topic.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = protocol.ListOffsetsRequest(replica_id=-1, topics=[of_topic(name=topic, partitions=[partition])])
    ((answered,),) = (answer.partitions for answer in wire.call(request, version).topics)
    assert answered.error_code == 0, f"ListOffsets v{version}"
    offset: int = answered.old_style_offsets[0] if version == 0 else answered.offset
    return offset


def test_create_and_delete_topics(kafka: Cluster, new_topic: NewTopic) -> None:
    creatable = protocol.CreateTopicsRequest.CreatableTopic
    with wire_to(kafka) as wire:
        for version in _versions(kafka, _CREATE_TOPICS):
            topic = new_topic()
            asked = creatable(
                name=topic,
                num_partitions=2,
                replication_factor=1,
                configs=[creatable.CreatableTopicConfig(name="retention.ms", value="60000")],
            )
            answer = wire.call(protocol.CreateTopicsRequest(topics=[asked], timeout_ms=_TIMEOUT_MS), version)
            assert [(t.name, t.error_code) for t in answer.topics] == [(topic, 0)], f"CreateTopics v{version}"
            # KRaft's controller answers before the broker has heard of the topic.
            partitions = _until_there(partial(_existing_partitions, wire, kafka, topic), topic)
            assert [partition.partition_index for partition in partitions] == [0, 1]
        for version in _versions(kafka, _DELETE_TOPICS):
            topic = new_topic()
            _make_topic(wire, kafka, topic)
            request = protocol.DeleteTopicsRequest(timeout_ms=_TIMEOUT_MS, topic_names=[topic])
            if version >= 6:
                state = protocol.DeleteTopicsRequest.DeleteTopicState(name=topic)
                request = protocol.DeleteTopicsRequest(timeout_ms=_TIMEOUT_MS, topics=[state])
            answer = wire.call(request, version)
            assert [(t.name, t.error_code) for t in answer.responses] == [(topic, 0)], f"DeleteTopics v{version}"


def test_producer_ids(kafka: Cluster) -> None:
    request = protocol.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_TIMEOUT_MS)
    given = set()
    with wire_to(kafka) as wire:

        def loaded_answer(version: int) -> Any:
            answer = wire.call(request, version)
            return None if answer.error_code == _COORDINATOR_LOAD_IN_PROGRESS else answer

        for version in _versions(kafka, _INIT_PRODUCER_ID):
            answer = _until_there(partial(loaded_answer, version), "a producer id")
            assert (answer.error_code, answer.producer_epoch) == (0, 0), f"InitProducerId v{version}"
            given.add(answer.producer_id)
    assert len(given) == len(_versions(kafka, _INIT_PRODUCER_ID))
