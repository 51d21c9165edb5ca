"""What the protocol guides' prose obliges a client to do, one test for each: B1 to B17 of kwire's side.

Against scripted peers in virtual time, and for Kafka 0.7 against the embedded broker. The same obligations of Apache
Kafka itself, without which these would be guesses, are in `test_kafka.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors, protocol, records
from kwire._codec import murmur2
from kwire.engine.admin.a19_create_topics import CreateTopics, NewTopic
from kwire.engine.calls.fan_out import FanOutCall
from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.metadata.metadata import metadata_request
from kwire.engine.settings.clients import ConsumerSettings
from kwire.legacy import Client
from kwire.schema.api_keys import API_VERSIONS, CREATE_TOPICS, METADATA, PRODUCE
from kwire.testing import Broker as EmbeddedBroker
from tests.engine.consumer.test_fetcher import LogBroker
from tests.engine.produce_world import Leader, ProducerWorld
from tests.engine.world import Broker, World

A, B, C = Address("a", 1), Address("b", 1), Address("c", 1)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def confirm(fetcher: Fetcher, *, arrived: bool) -> None:
    fetcher.hand_out.arrived = arrived
    fetcher.settle()


def two_leaders(**options: Any) -> tuple[ProducerWorld, Leader, Leader]:
    first, second = Leader("4.4.0", 0, A), Leader("4.4.0", 1, B)
    return ProducerWorld(first, second, topics={"t": [0, 1]}, **options), first, second


def metadata_requests(*brokers: Broker) -> list[Any]:
    return [message for broker in brokers for key, _, message in broker.requests if key == METADATA]


def fetching(broker: LogBroker, **settings: Any) -> tuple[World, Fetcher]:
    made = ConsumerSettings(bootstrap_servers="a:1", **{"auto_offset_reset": "earliest", **settings})
    world = World({A: broker}, made)
    return world, Fetcher(world.core, made)


def test_b01_one_connection_per_broker_that_stays_and_no_farewell() -> None:
    world, first, second = two_leaders(linger_ms=0)
    for number in range(50):
        world.complete(world.send(b"v", partition=number % 2))
        world.run(world.now + 1)
    assert (first.connections, second.connections) == (1, 1)
    known = [len(leader.requests) for leader in (first, second)]
    world.core.close(world.now)
    world.play_events()
    assert [len(leader.requests) for leader in (first, second)] == known


def test_b02_requests_are_pipelined_and_answers_matched_in_order() -> None:
    world = ProducerWorld(linger_ms=0, batch_size=0, max_request_size=600)
    world.complete(world.send(b"first"))
    world.leader.latency = 5.0
    deliveries = [world.send(b"%d" % number) for number in range(5)]
    begun = world.now
    assert world.complete(*deliveries) == [1, 2, 3, 4, 5]
    assert world.now - begun < 6, "five requests, each answered after 5 s, none of which waited for another"


def test_b03_acks_0_waits_for_nothing_and_an_error_closes_the_connection() -> None:
    world = ProducerWorld(acks=0, linger_ms=0)
    world.complete(world.send(b"first"))
    world.leader.latency = 100.0
    begun = world.now
    assert world.complete(world.send(b"second")) == [-1]
    assert world.now == begun
    world.leader.latency = 0.001
    world.run(world.now + 101)
    world.leader.script = ["unseen"]
    world.complete(world.send(b"the broker closes instead of an answer"))
    world.run(world.now + 1)
    world.complete(world.send(b"third"))
    world.run(world.now + 1)
    assert world.leader.values() == [b"first", b"second", b"third"]


def test_b04_no_request_is_larger_than_max_request_size() -> None:
    world = ProducerWorld(topics={"t": [0] * 8}, max_request_size=4000, batch_size=3000, linger_ms=100)
    world.complete(*[world.send(b"x" * 900, partition=number % 8) for number in range(80)])
    sizes = [len(protocol.encode_request(message, version)) for version, message in world.leader.produced()]
    assert max(sizes) <= 4000
    with pytest.raises(errors.LimitError, match="max_request_size=4000"):
        world.send(b"x" * 4000)


def test_b05_bootstrap_goes_through_the_seeds_caches_and_asks_again_when_told_to() -> None:
    dead, seed, leader = Broker(), Leader("4.4.0", 0, B), Leader("4.4.0", 1, C)
    dead.refuses = "connection refused"
    world = ProducerWorld(seed, leader, topics={"t": [1]}, bootstrap_servers=[("a", 1), ("b", 1)])
    world.peers[A] = dead
    assert world.complete(world.send(b"v")) == [0]
    asked = len(metadata_requests(seed, leader))
    world.run(world.now + 100)
    assert len(metadata_requests(seed, leader)) == asked, "nobody asks while nothing is wrong"
    world.lose_all(C)
    world.run(world.now + 1)
    assert len(metadata_requests(seed, leader)) == asked + 1, "a socket error"
    leader.script = [6]
    world.complete(world.send(b"w"))
    assert len(metadata_requests(seed, leader)) == asked + 2, "a code that says that the metadata is stale"
    assert leader.values() == [b"v", b"w"]


def test_b06_requests_go_to_the_leader_and_follow_it() -> None:
    world, first, second = two_leaders()
    world.complete(world.send(b"0", partition=0), world.send(b"1", partition=1))
    assert (first.values(), second.values()) == ([b"0"], [b"1"])

    def move(leader: Leader, read: Any) -> int:
        for each in (first, second):
            each.topics = {"t": [1, 1]}
        return 6

    first.script = [move]
    world.complete(world.send(b"2", partition=0))
    assert second.values("t", 0) == [b"2"]


def test_b06_the_retriable_flag_of_a_code_decides_whether_it_is_tried_again() -> None:
    for code in range(1, 137):
        kind = errors.broker.by_code(code)
        if code in (10, 43, 45, 46, 47, 59):
            continue  # what these ask for is more than to send the same once more, or less
        world = ProducerWorld()
        world.leader.script = [code]
        delivery = world.send(b"v")
        world.run(delivery.done)
        assert (delivery.exception() is None) == kind.retriable, kind.name
        assert len(world.leader.produced()) == (2 if kind.retriable else 1)


def test_b07_keys_are_partitioned_by_javas_hash_and_the_rest_is_spread() -> None:
    world = ProducerWorld(topics={"t": [0] * 6}, batch_size=500)
    keys = [b"key-%d" % number for number in range(60)]
    deliveries = [world.send(b"v", key=key) for key in keys]
    world.complete(*deliveries)
    assert [delivery.result().partition for delivery in deliveries] == [(murmur2(key) & 0x7FFFFFFF) % 6 for key in keys]
    assert murmur2(b"foobar") == -790332482 & 0xFFFFFFFF, "as org.apache.kafka.common.utils.Utils has it"
    without = [world.send(b"x" * 100) for _ in range(100)]
    world.complete(*without)
    assert len({delivery.result().partition for delivery in without}) == 6


def test_b08_sends_gather_over_partitions_and_may_go_one_at_a_time() -> None:
    world = ProducerWorld(topics={"t": [0, 0], "u": [0]}, linger_ms=50)
    world.complete(world.send(b"v", partition=0), world.send(b"v", "u"))
    before = len(world.leader.produced())
    world.complete(
        *[
            world.send(b"v", topic, partition=partition)
            for topic, partition in (("t", 0), ("t", 1), ("u", 0))
            for _ in range(10)
        ]
    )
    [(_, together)] = world.leader.produced()[before:]
    assert sum(len(topic.partition_data) for topic in together.topic_data) == 3
    alone = ProducerWorld(linger_ms=0)
    for number in range(5):
        assert alone.complete(alone.send(b"v")) == [number]
    assert len(alone.leader.produced()) == 5


def test_b09_the_highest_common_version_of_each_connection_alone() -> None:
    world = ProducerWorld(Leader("4.4.0"), linger_ms=0)
    world.complete(world.send(b"v"))
    world.leader.versions = protocol.versions_of("2.4.1")
    world.lose_all(A)
    world.complete(world.send(b"v"))
    world.leader.versions = protocol.versions_of("4.4.0")
    world.lose_all(A)
    world.complete(world.send(b"v"))
    assert [version for version, _ in world.leader.produced()] == [13, 8, 13]
    assert sum(key == API_VERSIONS for key, _, _ in world.leader.requests) == 3


def test_b11_a_fetch_waits_for_bytes_or_time_and_partitions_take_turns() -> None:
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    broker.append(0, [b"a"])
    world, fetcher = fetching(broker, fetch_max_wait_ms=700, fetch_min_bytes=33, fetch_max_bytes=44)
    fetcher.subscription.assign([T0, T1], world.now)
    world.run(fetcher.has_something)
    [(_, first)] = broker.fetches
    assert (first.replica_id, first.max_wait_ms, first.min_bytes, first.max_bytes) == (-1, 700, 33, 44)
    assert [part.partition for part in first.topics[0].partitions] == [0, 1]
    assert [tp for tp, _ in fetcher.take(None)] == [T0]
    confirm(fetcher, arrived=True)
    fetcher.pump(world.now)
    world.run(lambda: len(broker.fetches) == 2)
    assert [part.partition for part in broker.fetches[1][1].topics[0].partitions] == [1, 0]


def test_b11_a_batch_above_every_limit_is_read_all_the_same() -> None:
    broker = LogBroker()
    broker.append(0, [b"x" * 5000])
    world, fetcher = fetching(broker, fetch_max_bytes=10, max_partition_fetch_bytes=10)
    fetcher.subscription.assign([T0], world.now)
    world.run(fetcher.has_something)
    assert [part.values() for _, part in fetcher.take(None)] == [[b"x" * 5000]]


@pytest.mark.parametrize(("acks", "wire"), [(0, 0), (1, 1), ("all", -1), (-1, -1)])
def test_b12_acks_are_0_1_or_all(acks: Any, wire: int) -> None:
    world = ProducerWorld(acks=acks)
    world.complete(world.send(b"v"))
    world.run(world.now + 1)
    assert {message.acks for _, message in world.leader.produced()} == {wire}
    with pytest.raises(errors.ConfigError, match="acks"):
        ProducerWorld(acks=2)


def test_b13_all_topics_and_no_topic_at_each_version() -> None:
    everything = {version: metadata_request(version, None, allow_auto_create=True).topics for version in range(14)}
    nothing = {version: metadata_request(version, [], allow_auto_create=True).topics for version in range(14)}
    assert {version for version, topics in everything.items() if topics is None} == set(range(1, 14))
    assert not everything[0]
    assert all(topics == [] for topics in nothing.values())


def test_b14_append_time_is_the_brokers_and_throttling_is_obeyed() -> None:
    world = ProducerWorld(linger_ms=0)
    created = world.send(b"v", timestamp=5)
    world.complete(created)
    assert created.result().timestamp == 5
    produce = world.leader.produce

    def stamp(message: Any, version: int, now: float) -> Any:
        response = produce(message, version, now)
        for row in response.responses[0].partition_responses:
            row.log_append_time_ms = 777
        response.throttle_time_ms = 3000
        return response

    world.leader.handlers[PRODUCE] = stamp
    appended = world.send(b"v", timestamp=5)
    world.complete(appended)
    assert appended.result().timestamp == 777
    begun = world.now
    world.complete(world.send(b"v"))
    assert world.now - begun >= 2.9


def test_b15_topics_are_made_by_the_controller_wherever_it_moves() -> None:
    first, second = Broker("4.4.0", 0, A), Broker("4.4.0", 1, B)
    controller = [0]
    asked: list[int] = []

    def answering(broker: Broker) -> Any:
        def create(message: Any, version: int, now: float) -> Any:
            asked.append(broker.node_id)
            code = 0 if broker.node_id == controller[0] else 41
            row = protocol.CreateTopicsResponse.CreatableTopicResult(name=message.topics[0].name, error_code=code)
            return protocol.CreateTopicsResponse(topics=[row])

        return create

    def metadata(broker: Broker) -> Any:
        def answer(message: Any, version: int, now: float) -> Any:
            response = Broker.metadata(broker, message, version, now)
            response.controller_id = controller[0]
            return response

        return answer

    for broker in (first, second):
        broker.brokers = {0: A, 1: B}
        broker.handlers[CREATE_TOPICS] = answering(broker)
        broker.handlers[METADATA] = metadata(broker)
    world = World({A: first, B: second}, ConsumerSettings(bootstrap_servers="a:1"))
    for name in ("one", "two"):
        api = CreateTopics({name: NewTopic(1, 1)})
        call = FanOutCall(world.core, api, deadline=world.now + 30, now=world.now)
        world.run(lambda: call.done)  # noqa: B023 - run at once
        assert call.error is None
        controller[0] = 1
    assert asked[0] == 0
    assert asked[-1] == 1


def test_b17_a_0_7_client_needs_no_metadata_and_lets_the_broker_choose_the_partition() -> None:
    with EmbeddedBroker(generation="0.7", num_partitions=3) as broker:
        with Client(broker.bootstrap_servers) as client:
            client.produce("t", [b"v"])
        logs = [broker.record_set("t", partition=partition) for partition in range(3)]
    assert sum(map(bool, logs)) == 1
    assert records.decode(next(filter(None, logs)), generation="0.7").values() == [b"v"]
