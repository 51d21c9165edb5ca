"""Sequence numbers, case by case: what may follow what, and when a batch gets another number. See sequences.pxi."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors
from kwire._codec import Delivery
from kwire.engine.common.addresses import Address
from tests.engine.produce_world import Leader, ProducerWorld

A, B = Address("a", 1), Address("b", 1)


def one_by_one(**options: Any) -> ProducerWorld:
    """A producer whose every record is a batch and a request of its own, and which has sent the first."""
    world = ProducerWorld(linger_ms=0, batch_size=0, max_request_size=600, **options)
    world.complete(world.send(b"warm"))
    return world


def send_all(world: ProducerWorld, *values: bytes) -> list[Delivery]:
    return [world.send(value) for value in values]


def two_leaders(**options: Any) -> ProducerWorld:
    leaders = Leader("4.4.0", 0, A), Leader("4.4.0", 1, B)
    world = ProducerWorld(*leaders, linger_ms=0, batch_size=0, max_request_size=600, **options)
    world.complete(world.send(b"warm"))
    return world


def move(world: ProducerWorld, node: int) -> None:
    """The leader of t-0 is that node from now on, with all that the other has, and the client hears of it."""
    old, new = world.leaders[1 - node], world.leaders[node]
    new.logs, new.state, new.appended_batches = old.logs, old.state, old.appended_batches
    for leader in world.leaders:
        leader.topics = {"t": [node]}
    world.core.cluster.refresh(world.now)


def test_a_batch_after_one_that_expired_is_not_written_twice() -> None:
    world = one_by_one(delivery_timeout_ms=1000, request_timeout_ms=900)
    world.leader.holds = 1e6
    world.leader.script = [None, None]
    [a] = send_all(world, b"A")
    world.run(world.now + 0.4)
    [b] = send_all(world, b"B")
    world.run(a.done)
    assert isinstance(a.exception(), errors.KafkaTimeoutError)
    world.run(b.done)
    assert b.exception() is None
    world.complete(world.send(b"C"))
    assert world.leader.values() == [b"warm", b"A", b"B", b"C"]


def test_nothing_new_follows_a_batch_that_is_sent_again() -> None:
    world = one_by_one()

    world.leader.script = [7, None, None, None, None]
    first = send_all(world, *[b"%d" % i for i in range(5)])
    world.run(lambda: len(world.leader.produced()) == 6)
    queue = world.accumulator.topics["t"].queues[0]
    more = send_all(world, *[b"%d" % i for i in range(5, 10)])
    while not first[0].done():
        world.run(world.now + 0.01)
        assert first[0].done() or len(queue.in_flight) < 2
    world.complete(*first, *more)
    assert world.leader.values() == [b"warm", *[b"%d" % i for i in range(10)]]


def test_what_was_lost_goes_to_the_next_leader_together_once_that_has_the_first() -> None:
    world = two_leaders()
    queue = world.accumulator.topics["t"].queues[0]
    world.leaders[0].latency, world.leaders[1].latency = 1.0, 0.1
    deliveries = send_all(world, *[b"%d" % i for i in range(5)])
    world.run(world.now + 0.01)
    world.leaders[0].latency = 0.001
    move(world, 1)
    world.leaders[0].refuses = "refused"
    world.lose_all(A)
    deliveries += send_all(world, b"5")
    world.run(lambda: bool(queue.in_flight))
    world.run(world.now + 0.09)
    assert len(queue.in_flight) == 1
    world.run(deliveries[0].done)
    assert len(queue.in_flight) == 5
    world.complete(*deliveries)
    assert world.leaders[1].values() == [b"warm", *[b"%d" % i for i in range(6)]]


def test_what_is_sent_again_behind_a_refusal_comes_after_it_again() -> None:
    world = one_by_one()
    world.leader.script = ["unseen", None, 19]
    deliveries = send_all(world, *[b"%d" % i for i in range(6)])
    world.complete(*deliveries)
    assert world.leader.values() == [b"warm", *[b"%d" % i for i in range(6)]]


def test_the_first_batch_of_a_partition_goes_alone() -> None:
    world = ProducerWorld(topics={"t": [0, 0]}, linger_ms=0, batch_size=0, max_request_size=600)
    world.complete(world.send(b"warm", partition=1))
    world.leader.latency = 0.1
    deliveries = [world.send(b"%d" % i, partition=0) for i in range(4)]
    queue = world.accumulator.topics["t"].queues[0]
    world.run(world.now + 0.05)
    assert len(queue.in_flight) == 1
    world.run(deliveries[0].done)
    assert len(queue.in_flight) == 3
    world.complete(*deliveries)


@pytest.mark.parametrize(
    "options",
    [{}, {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1}],
    ids=["idempotent", "one in flight"],
)
def test_nothing_goes_to_another_leader_while_something_is_in_flight_at_the_old_one(options: dict[str, Any]) -> None:
    world = two_leaders(**options)
    world.leaders[0].latency = 0.5
    world.leaders[0].script = [6, 6, 6]
    deliveries = send_all(world, b"A", b"B", b"C")
    world.run(world.now + 0.01)
    world.leaders[0].latency = 0.001
    move(world, 1)
    world.run(world.now + 0.2)
    assert not world.leaders[1].produced()
    world.complete(*deliveries)
    assert world.leaders[1].values() == [b"warm", b"A", b"B", b"C"]


def test_a_new_producer_id_leaves_what_is_in_flight_in_other_partitions_as_it_is() -> None:
    world = ProducerWorld(topics={"t": [0, 0]}, linger_ms=0, batch_size=0, max_request_size=600)
    world.complete(world.send(b"warm", partition=0), world.send(b"warm", partition=1))
    world.sender.identity.epoch = 32767
    for queue in world.accumulator.topics["t"].queues[:2]:
        queue.sequences.renew(queue, world.sender.identity.producer_id, 32767)
    world.complete(world.send(b"again", partition=0), world.send(b"again", partition=1))
    world.leader.script = ["unheard"]
    once = world.send(b"ONCE", partition=1)
    refused = world.send(b"refused", partition=0)
    world.leader.script += [87]
    world.run(lambda: once.done() and refused.done())
    world.complete(world.send(b"next", partition=0))
    assert world.leader.values(partition=1) == [b"warm", b"again", b"ONCE"]
    assert world.leader.producer_ids == 102


def test_a_refused_batch_that_was_overtaken_fails() -> None:
    world = one_by_one()
    queue = world.accumulator.topics["t"].queues[0]

    def lose_the_state(leader: Leader, read: Any) -> int:
        leader.state = {key: (epoch, following + 1, []) for key, (epoch, following, _) in leader.state.items()}
        return 7

    world.leader.script = [lose_the_state]
    a, b = send_all(world, b"A", b"B")
    world.run(lambda: a.done() and b.done())
    assert isinstance(a.exception(), errors.broker.OutOfOrderSequenceNumberError)
    assert b.result().offset == 1
    world.complete(world.send(b"C"))
    assert world.leader.values() == [b"warm", b"B", b"C"]
    assert queue.sequences.producer_epoch == 0


def test_a_leader_that_an_answer_names_with_its_address_is_asked_without_metadata() -> None:
    old, new = Leader("4.4.0", 0, A), Leader("4.4.0", 1, B)
    world = ProducerWorld(old, linger_ms=0)
    world.complete(world.send(b"0"))
    new.logs, new.state, new.topics = old.logs, old.state, {"t": [1]}
    world.peers[B] = new
    answer = old.produce

    def moved(message: Any, version: int, now: float) -> Any:
        response = answer(message, version, now)
        [part] = response.responses[0].partition_responses
        part.current_leader = type(part).LeaderIdAndEpoch(leader_id=1, leader_epoch=5)
        response.node_endpoints = [type(response).NodeEndpoint(node_id=1, host=B.host, port=B.port)]
        return response

    old.handlers[0] = moved
    old.script = [6]
    before = sum(key == 3 for key, _, _ in old.requests)
    world.complete(world.send(b"1"))
    assert old.values() == [b"0", b"1"]
    assert len(new.produced()) == 1
    assert sum(key == 3 for key, _, _ in [*old.requests, *new.requests]) == before


def test_a_blocked_partition_sends_nothing() -> None:
    world = one_by_one()
    queue = world.accumulator.topics["t"].queues[0]
    queue.blocked = True
    [delivery] = send_all(world, b"A")
    world.run(world.now + 1)
    assert not delivery.done()
    queue.blocked = False
    world.sender.pump(world.now)
    world.complete(delivery)


def test_a_duplicate_of_a_batch_that_was_never_sent_before_is_not_believed() -> None:
    """A leader without state may take the second batch first, and then calls the first one a duplicate."""
    world = one_by_one()
    world.leader.script = [46]
    [a] = send_all(world, b"A")
    assert world.complete(a) == [1]
    assert world.leader.values() == [b"warm", b"A"]


def test_a_duplicate_of_a_batch_that_was_refused_is_not_believed() -> None:
    world = one_by_one()
    world.leader.script = [19, 46]
    [a] = send_all(world, b"A")
    assert world.complete(a) == [1]
    assert world.leader.values() == [b"warm", b"A"]


@pytest.mark.parametrize("unanswered", ["unheard", 7, 20])
def test_a_duplicate_of_a_batch_whose_fate_was_open_is_believed(unanswered: Any) -> None:
    world = one_by_one()
    world.leader.script = [unanswered, 46]
    [a] = send_all(world, b"A")
    assert world.complete(a) == [-1]


@pytest.mark.parametrize(("fault", "is_written"), [("unheard", True), ("unseen", False)])
def test_parts_of_a_batch_that_may_be_written_are_never_numbered_anew(fault: str, is_written: bool) -> None:
    """The topic's limit was lowered after the first try: the leader recognises the batch, but not its parts."""
    world = ProducerWorld(batch_size=100_000)
    world.complete(world.send(b"warm"))
    world.leader.script = [fault]
    deliveries = send_all(world, b"A", b"B", b"C")
    world.run(lambda: not world.leader.script)
    world.leader.most_records = 1
    world.run(lambda: all(delivery.done() for delivery in deliveries))
    world.complete(world.send(b"next"))
    assert world.leader.values() == [b"warm", b"A", b"B", b"C", b"next"]
    assert [delivery.exception() is not None for delivery in deliveries] == [is_written] * 3
