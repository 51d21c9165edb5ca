"""Kafka's own topics: they come with the first coordinator, and are led by the coordinators."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kwire import Admin, Consumer
from kwire.errors import broker as codes
from kwire.protocol import ApiVersionsRequest, FindCoordinatorRequest, MetadataRequest
from kwire.testing import Broker
from kwire.testing.state.coordinators import GROUP, TRANSACTION
from tests.testing.groups.test_share_groups import Shared, beat
from tests.testing.in_process import InProcess
from tests.testing.wire import batch, fetch, produce
from tests.timing import PATIENT


def find(broker: InProcess, key: str, kind: int = 0, version: int = 6) -> int:
    answer = broker.ask(FindCoordinatorRequest(coordinator_keys=[key], key_type=kind), version)
    code: int = answer.coordinators[0].error_code
    return code


def listed(broker: InProcess) -> dict[str, tuple[bool, int]]:
    topics = broker.ask(MetadataRequest(topics=None), 9).topics
    return {topic.name: (topic.is_internal, len(topic.partitions)) for topic in topics}


def test_they_come_with_what_asks_for_a_coordinator() -> None:
    broker = InProcess()
    assert listed(broker) == {}
    find(broker, "g")
    assert listed(broker) == {"__consumer_offsets": (True, 50)}
    find(broker, "mine", 1)
    assert listed(broker)["__transaction_state"] == (True, 50)
    shared = Shared()
    beat(shared, "a")
    assert listed(shared.broker)["__share_group_state"] == (True, 50)


def test_they_are_read_as_empty_and_not_written_to() -> None:
    broker = InProcess()
    find(broker, "g")
    refused = broker.ask(produce(batch(b"x"), topic="__consumer_offsets"), 9).responses[0].partition_responses[0]
    assert refused.error_code == codes.INVALID_TOPIC_EXCEPTION.code
    row = broker.ask(fetch(0, topic="__consumer_offsets"), 11).responses[0].partitions[0]
    assert (row.error_code, row.high_watermark, row.records) == (0, 0, b"")


def test_a_client_may_ask_for_one_by_its_name() -> None:
    broker = InProcess(auto_create_topics=True)
    wanted = MetadataRequest.MetadataRequestTopic(name="__consumer_offsets")
    [topic] = broker.ask(MetadataRequest(topics=[wanted], allow_auto_topic_creation=True), 9).topics
    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (0, True, 50)
    assert broker.cluster.topics["__consumer_offsets"].settings.compacts


@pytest.mark.parametrize(("kind", "name"), [(GROUP, "__consumer_offsets"), (TRANSACTION, "__transaction_state")])
def test_a_coordinator_leads_the_partition_of_its_key(kind: int, name: str) -> None:
    broker = InProcess(nodes=3)
    find(broker, "k", kind)
    coordinators = broker.cluster.coordinators
    slot = coordinators.slot(kind, "k").slot
    partition = broker.cluster.topics[name].partitions[slot]

    def agree() -> bool:
        return partition.leader == coordinators.leader(kind, "k") and partition.leader in partition.isr

    assert agree()
    coordinators.move(kind, "k", next(node for node in (1, 2, 3) if node != partition.leader))
    assert agree()
    for node in (1, 2, 3):
        broker.cluster.kill(node)
        assert agree() or not broker.cluster.nodes.alive
    for node in (2, 1, 3):
        broker.cluster.revive(node)
        assert agree()


def test_clients_hide_them_unless_they_are_asked_not_to() -> None:
    with Broker(topics=["orders"]) as broker, Admin(broker.bootstrap_servers) as admin:
        broker.append("orders", [b"x"])
        with Consumer(broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["orders"])
            assert consumer.poll(timeout=PATIENT).values() == [b"x"]
            consumer.commit()
        assert admin.list_topics() == ["orders"]
        assert admin.list_topics(internal=True) == ["__consumer_offsets", "orders"]
        assert broker.topics() == {"orders": 1}
        pattern: Any = {"group_id": "all", "auto_offset_reset": "earliest", "exclude_internal_topics": False}
        with Consumer(broker.bootstrap_servers, **pattern) as consumer:
            consumer.subscribe(pattern=".*")
            assert consumer.poll(timeout=PATIENT).values() == [b"x"]
            assert {topic for topic, _ in consumer.assignment()} == {"__consumer_offsets", "orders"}


@pytest.mark.parametrize("name", ["librdkafka", "x.y-z0", "a", "a" * 300])
def test_a_client_says_what_it_is(name: str) -> None:
    asked = ApiVersionsRequest(client_software_name=name, client_software_version="1.0")
    assert InProcess().ask(asked, 3).error_code == 0


@pytest.mark.parametrize("wrong", ["bad name!", "", "-x", "x-", ".a", "a_b", "é"])
def test_a_client_of_no_proper_name_is_refused(wrong: str) -> None:
    for name, version in ((wrong, "1"), ("good", wrong)):
        asked = ApiVersionsRequest(client_software_name=name, client_software_version=version)
        answer = InProcess().ask(asked, 4)
        assert (answer.error_code, answer.api_keys) == (codes.INVALID_REQUEST.code, ())


def test_a_share_partition_is_named_in_full() -> None:
    broker = InProcess()
    topic_id = broker.cluster.create_topic("t", 1).topic_id
    text = base64.urlsafe_b64encode(topic_id.bytes).rstrip(b"=").decode()
    for key in (f"g:{text}:0", f"a:b:{text}:0", f"g:{text}:-1"):
        assert find(broker, key, 2) == 0
    for key in ("g", "", "g:x:0", f"g:{text}", f":{text}:0", f"g:{text}:x", f"g:{topic_id}:0"):
        assert find(broker, key, 2) == codes.INVALID_REQUEST.code
    assert find(InProcess("3.9.2"), f"g:{text}:0", 2) == codes.COORDINATOR_NOT_AVAILABLE.code
