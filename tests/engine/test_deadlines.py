"""Whatever goes wrong for ever, every delivery resolves by its deadline, with an error that names the trouble.

In virtual time: a producer with a delivery deadline of 10 s (8 s for a topic's metadata) against brokers that answer
one API with one error code for ever, refuse, close, fall silent, or move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kwire import errors, protocol
from kwire._codec import Delivery
from kwire.engine.common.addresses import Address
from kwire.engine.common.pace import BURST, EVERY_S
from kwire.engine.common.request import ANY
from kwire.engine.connections.connection import Connection
from kwire.errors.broker import by_code
from kwire.schema.api_keys import API_VERSIONS, INIT_PRODUCER_ID, METADATA, PRODUCE
from tests.engine.produce_world import Leader, ProducerWorld
from tests.engine.world import SILENCE, Answer, Outcome
from tests.thorough import THOROUGH

DEADLINE = 10.0
METADATA_DEADLINE = 8.0
GRACE = 1.0
FOR_EVER = 10_000
ALL_CODES = [code for code in range(-1, 137) if code]
CODES = [code for code in ALL_CODES if THOROUGH or by_code(code).retriable or code % 5 == 1 or code in (-1, 35, 46, 53)]
NO_PERMISSION_TO_BE_IDEMPOTENT = {31, 53}
NO_SUCH_VERSION = 35

Trouble = Callable[[ProducerWorld, int], object]


def world_of(*leaders: Leader, **options: Any) -> ProducerWorld:
    return ProducerWorld(
        *leaders,
        **{"delivery_timeout_ms": int(DEADLINE * 1000), "max_block_ms": int(METADATA_DEADLINE * 1000), **options},
    )


def end_of(world: ProducerWorld, delivery: Delivery, begun: float) -> errors.KafkaError | None:
    """Plays until the deadline and the grace are over; how the delivery ended."""
    world.run(lambda: delivery.done() or world.now > begun + DEADLINE + GRACE)
    assert delivery.done(), f"unresolved after {world.now - begun} s"
    assert world.accumulator.used == 0
    assert not world.accumulator.pending
    error = delivery.exception()
    assert error is None or isinstance(error, errors.KafkaError)
    return error


def names(error: errors.KafkaError | None, code: int) -> bool:
    """Whether the text has the code's name and number, and its meaning."""
    return error is not None and str(by_code(code)()) in str(error)


# -- every error code as the answer to each question that a delivery depends on ----------------------------------------


def produce_fails(world: ProducerWorld, code: int) -> None:
    world.leader.script = [code] * FOR_EVER


def metadata_fails(world: ProducerWorld, code: int) -> None:
    world.leader.handlers[METADATA] = lambda message, version, now: protocol.MetadataResponse(
        error_code=code if version >= 13 else 0
    )


def topic_fails(world: ProducerWorld, code: int) -> None:
    world.leader.topics = {}
    world.leader.errors["t"] = code


def topic_fails_later(world: ProducerWorld, code: int) -> None:
    world.complete(world.send(b"before"))
    topic_fails(world, code)
    world.leader.script = [6]


def partition_fails(world: ProducerWorld, code: int) -> None:
    topic = world.leader.topic

    def without_leader(name: str) -> Any:
        row = topic(name)
        for part in row.partitions:
            part.leader_id, part.error_code = -1, code
        return row

    world.leader.topic = without_leader  # type: ignore[method-assign]


def init_producer_id_fails(world: ProducerWorld, code: int) -> None:
    world.leader.init_errors = [code] * FOR_EVER


def api_versions_fails(world: ProducerWorld, code: int) -> None:
    world.leader.handlers[API_VERSIONS] = lambda message, version, now: protocol.ApiVersionsResponse(error_code=code)


@pytest.mark.parametrize(
    "trouble",
    [
        produce_fails,
        metadata_fails,
        topic_fails,
        topic_fails_later,
        partition_fails,
        init_producer_id_fails,
        api_versions_fails,
    ],
)
def test_an_error_code_for_ever_ends_by_the_deadline_and_is_named(trouble: Trouble) -> None:
    for code in CODES:
        world = world_of()
        trouble(world, code)
        begun = world.now
        error = end_of(world, world.send(b"v"), begun)
        if trouble is init_producer_id_fails and code in {*NO_PERMISSION_TO_BE_IDEMPOTENT, NO_SUCH_VERSION}:
            assert error is None
            assert names(errors.KafkaError(world.warnings[0]), code)
        elif trouble is topic_fails and code in (3, 5):
            assert isinstance(error, errors.UnknownTopicError)
            assert "topic t does not exist" in str(error)
        else:
            assert names(error, code), f"{code}: {error}"


@pytest.mark.parametrize("trouble", [produce_fails, topic_fails_later, init_producer_id_fails])
def test_an_error_code_that_passes_is_outlived_if_it_is_retriable(trouble: Trouble) -> None:
    for code in [code for code in CODES if by_code(code).retriable]:
        world = world_of()
        trouble(world, code)
        begun = world.now
        delivery = world.send(b"v")
        world.run(begun + DEADLINE / 2)

        def mend(world: ProducerWorld = world) -> None:
            world.leader.script.clear()
            world.leader.init_errors.clear()
            world.leader.errors.clear()
            world.leader.topics = {"t": [0]}

        mend()
        assert end_of(world, delivery, begun) is None, f"code {code}"
        assert world.leader.values()[-1] == b"v"
        assert world.leader.values().count(b"v") == 1


def test_an_error_ends_what_no_retry_can_mend_at_once() -> None:
    for code in [code for code in CODES if not by_code(code).retriable and code not in (10, 43, 45, 46, 47, 59)]:
        world = world_of()
        produce_fails(world, code)
        begun = world.now
        assert getattr(end_of(world, world.send(b"v"), begun), "code", None) == code
        assert world.now - begun < 0.1


# -- refused, closed, silent, at each stage ---------------------------------------------------------------------------


class Stubborn(Leader):
    """Does not answer one API from `after` on: closes the connection, or is silent on it from then on."""

    key = -1
    how: Answer = SILENCE
    after = 0.0

    def answer(self, frame: bytes, now: float) -> Answer:
        if int.from_bytes(frame[4:6], "big") == self.key and now >= self.after:
            self.holds = 0.0 if self.how is None else FOR_EVER
            return self.how
        return super().answer(frame, now)


@pytest.mark.parametrize("acks", [-1, 1])
@pytest.mark.parametrize("how", [SILENCE, None], ids=["silent", "closes"])
@pytest.mark.parametrize("key", [METADATA, INIT_PRODUCER_ID, PRODUCE])
def test_an_api_that_is_never_answered(key: int, how: Answer, acks: int) -> None:
    leader = Stubborn()
    leader.key, leader.how = key, how
    world = world_of(leader, acks=acks, request_timeout_ms=3000)
    begun = world.now
    error = end_of(world, world.send(b"v"), begun)
    if key == INIT_PRODUCER_ID and acks == 1:
        assert error is None
        return
    assert error is not None
    assert "a:1" in str(error)
    expected = {INIT_PRODUCER_ID: "InitProducerId", PRODUCE: "Produce", METADATA: "Metadata"}[key]
    assert how is None or expected in str(error), f"{error}"


@pytest.mark.parametrize("how", [SILENCE, None], ids=["silent", "closes"])
def test_a_broker_that_never_answers_api_versions_alone_is_not_served_as_an_old_one(how: Answer) -> None:
    leader = Stubborn()
    leader.key, leader.how = API_VERSIONS, how
    world = world_of(leader)
    begun = world.now
    assert end_of(world, world.send(b"v"), begun) is not None
    assert leader.produced() == []


@pytest.mark.parametrize("how", [SILENCE, None], ids=["silent", "closes"])
@pytest.mark.parametrize("key", [METADATA, PRODUCE])
def test_an_api_that_falls_silent_after_the_first_record(key: int, how: Answer) -> None:
    leader = Stubborn()
    leader.key, leader.how, leader.after = key, how, float("inf")
    world = world_of(leader, request_timeout_ms=3000)
    world.complete(world.send(b"first"))
    leader.after = world.now
    world.lose_all(Address("a", 1))
    begun = world.now
    error = end_of(world, world.send(b"v"), begun)
    if key == METADATA:
        assert error is None, "the leader is known already"
    else:
        assert error is not None
        assert "a:1" in str(error)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("how", ["refused", "unreachable", "stopped"])
def test_a_broker_that_cannot_be_reached(how: str, known: bool) -> None:
    world = world_of(socket_connection_setup_timeout_ms=2000, request_timeout_ms=3000)
    if known:
        world.complete(world.send(b"first"))
    if how == "refused":
        world.leader.refuses = "connection refused"
    elif how == "unreachable":
        world.leader.unreachable = True
    else:
        world.leader.paused_until = world.now + 1000
    if how != "stopped":
        world.lose_all(Address("a", 1))
    begun = world.now
    error = end_of(world, world.send(b"v"), begun)
    assert error is not None
    assert "a:1" in str(error)
    assert how != "refused" or "connection refused" in str(error)


def test_a_broker_that_goes_while_a_request_is_under_way_is_named() -> None:
    world = world_of()
    world.complete(world.send(b"first"))
    world.leader.paused_until = world.now + 1000
    begun = world.now
    delivery = world.send(b"v")
    error = end_of(world, delivery, begun)
    assert isinstance(error, errors.KafkaTimeoutError)
    assert "sent, but not answered by broker 0 (a:1)" in str(error)


def test_acks_0_and_a_broker_that_cannot_be_reached() -> None:
    world = world_of(acks=0)
    world.complete(world.send(b"first"))
    world.leader.refuses = "connection refused"
    world.lose_all(Address("a", 1))
    begun = world.now
    assert "connection refused" in str(end_of(world, world.send(b"v"), begun))


def test_acks_0_and_a_broker_that_takes_no_more_bytes() -> None:
    """It is gone without a word: the connection is given up, and what comes later goes over the next one."""
    world = world_of(acks=0, request_timeout_ms=2000, linger_ms=0)
    world.complete(world.send(b"first"))
    world.leader.takes_nothing = True
    begun = world.now
    lost = [world.send(b"lost") for _ in range(3)]
    for delivery in lost:
        error = end_of(world, delivery, begun)
        assert "broker 0 (a:1) did not accept the bytes of Produce within 2000 ms" in str(error)
    world.leader.takes_nothing = False
    world.complete(world.send(b"last"))
    world.run(world.now + 1)
    assert world.leader.values() == [b"first", b"last"]


# -- leaders and topics -----------------------------------------------------------------------------------------------


def test_a_leader_that_moves_for_ever() -> None:
    leaders = [Leader("4.4.0", node, Address("ab"[node], 1)) for node in range(2)]
    world = world_of(*leaders)
    turns = 0

    def move(leader: Leader, read: Any) -> int:
        nonlocal turns
        turns += 1
        for one in leaders:
            one.topics = {"t": [1 - leader.node_id]}
        return 6

    for leader in leaders:
        leader.script = [move] * FOR_EVER
    begun = world.now
    error = end_of(world, world.send(b"v"), begun)
    assert isinstance(error, errors.KafkaTimeoutError)
    assert names(error, 6)
    assert f"the last try, of {turns}" in str(error)
    assert turns < BURST + 1.1 * (world.now - begun) / EVERY_S, "it is followed, but not faster than that"


def test_a_leader_that_the_metadata_does_not_list() -> None:
    world = world_of(topics={"t": [7]})
    begun = world.now
    error = end_of(world, world.send(b"v"), begun)
    assert isinstance(error, errors.KafkaTimeoutError)
    assert "broker 7: not in the metadata" in str(error)


def test_a_partition_without_leader() -> None:
    world = world_of(topics={"t": [-1]})
    begun = world.now
    error = end_of(world, world.send(b"v"), begun)
    assert isinstance(error, errors.KafkaTimeoutError)
    assert "t-0" in str(error)
    assert "the partition has no leader" in str(error)


def test_a_topic_that_never_exists_ends_with_the_shorter_of_both_deadlines() -> None:
    for delivery_timeout_ms, took in ((10_000, 8.0), (5_000, 5.0)):
        world = world_of(topics={}, delivery_timeout_ms=delivery_timeout_ms)
        begun = world.now
        error = end_of(world, world.send(b"v"), begun)
        assert took <= world.now - begun <= took + 0.1
        assert "t" in str(error)
        assert names(error, 3) or "topic t does not exist" in str(error)


@pytest.mark.parametrize(
    ("allowed", "hint"),
    [(True, "create it first (Admin.create_topics)"), (False, "allow_auto_create_topics, which is off")],
)
def test_a_missing_topic_is_named_with_what_would_work(allowed: bool, hint: str) -> None:
    world = world_of(topics={}, allow_auto_create_topics=allowed)
    error = end_of(world, world.send(b"v"), world.now)
    assert isinstance(error, errors.UnknownTopicError)
    for part in ("topic t does not exist", "max_block_ms=8000", "a:1", hint):
        assert part in str(error)


def test_a_partition_beyond_the_last_is_named_with_what_would_work() -> None:
    world = world_of(topics={"t": [0, 0, 0]})
    begun = world.now
    error = end_of(world, world.send(b"v", partition=7), begun)
    assert isinstance(error, errors.UnknownTopicError)
    for part in ("topic t has 3 partitions", "no partition 7", "max_block_ms=8000", "a:1", "send to one of 0 to 2"):
        assert part in str(error)
    assert world.now - begun >= METADATA_DEADLINE


def test_records_of_many_partitions_end_together_when_all_goes_silent() -> None:
    world = world_of(topics={"t": [0] * 40}, request_timeout_ms=3000)
    world.complete(*[world.send(b"first", partition=number) for number in range(40)])
    world.leader.paused_until = world.now + 1000
    begun = world.now
    deliveries = [world.send(b"%d" % number, partition=number % 40) for number in range(400)]
    for delivery in deliveries:
        assert isinstance(end_of(world, delivery, begun), errors.KafkaTimeoutError)
    assert world.now - begun <= DEADLINE + GRACE


def test_metadata_that_fails_is_not_asked_for_at_every_send() -> None:
    world = world_of(batch_size=0, linger_ms=0)
    metadata_fails(world, 7)
    begun = world.now
    for number in range(500):
        world.send(b"%d" % number)
        world.run(begun + 0.01 * (number + 1))
    asked = sum(key == METADATA for key, _, _ in world.leader.requests)
    assert 5 <= asked <= 12, "each wait is longer than the one before, up to a second"


# -- what may come back -----------------------------------------------------------------------------------------------


def test_a_broker_of_another_cluster_sends_the_client_back_to_bootstrap() -> None:
    """REBOOTSTRAP_REQUIRED (KIP-1102)."""
    seed, old = Leader("4.4.0", 0, Address("a", 1)), Leader("4.4.0", 1, Address("b", 1))
    world = ProducerWorld(seed, old, topics={"t": [1]}, bootstrap_servers=[("a", 1)], metadata_max_age_ms=1000)
    world.complete(world.send(b"v"))
    for leader in (seed, old):
        metadata_fails_of(leader, 129)
    world.run(world.now + 2)
    assert set(world.core._nodes) == {node for node in world.core._nodes if node < 0}
    for leader in (seed, old):
        leader.handlers[METADATA] = leader.metadata
    assert world.complete(world.send(b"w")) == [1]


def metadata_fails_of(leader: Leader, code: int) -> None:
    leader.handlers[METADATA] = lambda message, version, now: protocol.MetadataResponse(error_code=code)


# -- answers that take long to arrive ---------------------------------------------------------------------------------


def with_an_answer_held() -> tuple[ProducerWorld, Connection, bytes, Outcome]:
    """A request that is answered, and the bytes of the answer, which the client has not received yet."""
    world = world_of(request_timeout_ms=1000)
    first = world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]))
    world.run(lambda: first.ended)
    answers: list[bytes] = []
    world.receive = lambda connection, data: answers.append(data)  # type: ignore[method-assign]
    outcome = world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]))
    world.run(lambda: bool(answers))
    [connection], [answer] = world.open, answers
    return world, connection, answer, outcome


def test_an_answer_whose_bytes_are_coming_is_not_late() -> None:
    world, connection, answer, outcome = with_an_answer_held()
    for place in range(len(answer)):
        world.run(world.now + 0.5)
        ProducerWorld.receive(world, connection, answer[place : place + 1])
    assert outcome.error is None
    assert outcome.response is not None


def test_an_answer_that_stops_half_way_is_late() -> None:
    world, connection, answer, outcome = with_an_answer_held()
    ProducerWorld.receive(world, connection, answer[:7])
    begun = world.now
    world.run(lambda: outcome.ended)
    assert "did not answer Metadata within 1000 ms" in str(outcome.error)
    assert outcome.ended_at - begun < 1.1
