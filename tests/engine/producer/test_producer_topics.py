"""Topics that are made anew, missing, deleted or idle, and how often a producer asks for them."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from kwire import errors
from kwire._codec import Delivery, PartitionQueue, TopicQueue
from kwire.engine.metadata.metadata import metadata_request
from kwire.fronts.metrics import Metrics, add_producer
from tests.engine import produce_world
from tests.engine.produce_world import Leader, ProducerWorld


@pytest.fixture(autouse=True)
def own_topic_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce_world, "TOPIC_IDS", dict(produce_world.TOPIC_IDS))


def metadata_requests(world: ProducerWorld) -> int:
    return sum(key == 3 for key, _, _ in world.leader.requests)


def make_anew(world: ProducerWorld, partitions: int, *, with_ids: bool) -> None:
    if with_ids:
        produce_world.TOPIC_IDS["t"] = UUID(int=99)
    world.leader.topics["t"] = [0] * partitions
    world.leader.logs.clear()
    world.leader.state.clear()
    world.core.cluster.refresh(world.now)
    world.run(world.now + 2)


@pytest.mark.parametrize("release", ["4.4.0", "2.7.2"])
def test_a_topic_made_anew_with_fewer_partitions_is_used_as_it_is(
    release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_ids = release == "4.4.0"
    if not with_ids:
        monkeypatch.setattr(produce_world, "TOPIC_IDS", {})
    world = ProducerWorld(Leader(release), topics={"t": [0] * 8}, linger_ms=0)
    keys = [b"k%d" % i for i in range(8)]
    world.complete(*[world.send(b"old", partition=n) for n in range(8)])
    make_anew(world, 2, with_ids=with_ids)
    deliveries = [world.send(b"new", key=key) for key in keys] + [world.send(b"new") for _ in range(8)]
    world.complete(*deliveries)
    assert {delivery.result().partition for delivery in deliveries} == {0, 1}
    fresh = ProducerWorld(topics={"t": [0] * 2}, linger_ms=0)
    same = [fresh.send(b"new", key=key) for key in keys]
    fresh.complete(*same)
    assert [d.result().partition for d in same] == [d.result().partition for d in deliveries[:8]]


def test_records_of_a_partition_that_is_gone_fail_and_the_others_arrive() -> None:
    world = ProducerWorld(topics={"t": [0] * 3}, max_block_ms=3000)
    world.complete(*[world.send(b"old", partition=n) for n in range(3)])
    world.leader.script = [3] * 1000
    gone = world.send(b"gone", partition=2)
    world.run(world.now + 0.5)
    make_anew(world, 2, with_ids=True)
    world.leader.script = []
    world.complete(world.send(b"new", partition=1))
    world.run(gone.done)
    with pytest.raises(errors.UnknownTopicError, match=r"no partition 2"):
        gone.result()


def test_metadata_that_shows_fewer_partitions_of_the_same_topic_is_not_believed() -> None:
    world = ProducerWorld(topics={"t": [0] * 4}, linger_ms=0)
    world.complete(*[world.send(b"v", partition=n) for n in range(4)])
    world.leader.topics["t"] = [0] * 2
    world.core.cluster.refresh(world.now)
    world.run(world.now + 0.5)
    assert world.accumulator.topics["t"].known == 4


def test_a_late_acknowledgement_of_a_log_that_is_gone_says_nothing_of_the_next() -> None:
    """The leader of the new log has no state of the producer, and would take the batches in any order."""
    world = ProducerWorld(linger_ms=0, batch_size=0)
    world.complete(world.send(b"0"))
    [queue] = world.accumulator.topics["t"].queues[:1]

    def slowly(message: Any, version: int, now: float) -> Any:
        world.leader.handlers[0] = world.leader.produce
        world.leader.holds = 5.0
        return world.leader.produce(message, version, now)

    world.leader.handlers[0] = slowly
    late = world.send(b"1")
    world.run(world.now + 1)
    world.core.cluster.forget("t")
    produce_world.TOPIC_IDS["t"] = UUID(int=99)
    world.core.cluster.apply(
        world.leader.metadata(metadata_request(12, ["t"], allow_auto_create=False), 12, world.now),
        12,
        asked_for=["t"],
        wanted=["t"],
        now=world.now,
    )
    world.sender._on_metadata(world.now)
    waiting = [world.send(b"%d" % number) for number in range(2, 6)]
    world.run(late.done)
    assert [len(queue.in_flight), *map(Delivery.done, waiting)] == [1, False, False, False, False]


def test_a_topic_that_failed_is_no_longer_asked_for() -> None:
    world = ProducerWorld(max_block_ms=2000)
    delivery = world.send(b"v", "u")
    world.run(delivery.done)
    assert isinstance(delivery.exception(), errors.UnknownTopicError)
    before = metadata_requests(world)
    world.run(world.now + 60)
    assert metadata_requests(world) <= before + 1
    world.leader.topics["u"] = [0]
    world.complete(world.send(b"w", "u"))
    assert world.leader.values("u") == [b"w"]


def test_a_topic_that_was_deleted_is_no_longer_asked_for_without_records() -> None:
    world = ProducerWorld(topics={"t": [0], "u": [0]})
    world.complete(world.send(b"v"), world.send(b"v", "u"))
    del world.leader.topics["u"]
    world.core.cluster.refresh(world.now)
    world.run(world.now + 5)
    before = metadata_requests(world)
    world.run(world.now + 60)
    assert metadata_requests(world) - before <= 1
    assert world.accumulator.topics["u"].known == 0


def rest(world: ProducerWorld, seconds: float) -> None:
    """One record a second to "t", none elsewhere."""
    for _ in range(round(seconds)):
        world.complete(world.send(b"0"))
        world.run(world.now + 1)


def test_an_idle_topic_is_no_longer_asked_for_and_begins_anew_under_a_higher_epoch() -> None:
    world = ProducerWorld(topics={"t": [0], "u": [0]}, metadata_max_idle_ms=5000, metadata_max_age_ms=1000)
    world.complete(world.send(b"0"), world.send(b"0", "u"))
    rest(world, 12)
    assert list(world.accumulator.topics) == ["t"]
    assert world.accumulator.topics["t"].known == 1
    asked = [message for key, _, message in world.leader.requests if key == 3][-1]
    assert [row.name for row in asked.topics] == ["t"]
    world.complete(world.send(b"1", "u"), world.send(b"2", "u"))
    assert world.leader.values("u") == [b"0", b"1", b"2"]
    seen = [
        (header.producer_epoch, header.base_sequence)
        for name, _, header in world.leader.appended_batches
        if name == "u"
    ]
    assert seen == [(0, 0), (1, 0)]
    epochs = {header.producer_epoch for name, _, header in world.leader.appended_batches if name == "t"}
    assert epochs == {0}, "the other partitions keep their epoch"


def test_nothing_is_kept_of_topics_that_are_idle_but_their_counts() -> None:
    names = [f"n{number}" for number in range(50)]
    world = ProducerWorld(topics={name: [0] * 3 for name in ["t", *names]}, metadata_max_idle_ms=5000, linger_ms=0)
    produce_world.TOPIC_IDS.update({name: UUID(int=100 + number) for number, name in enumerate(names)})
    world.complete(*[world.send(b"0", name, partition=2) for name in names])
    rest(world, 12)
    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, TopicQueue | PartitionQueue)]
    ours = {each.name for each in kept if isinstance(each, PartitionQueue)} & set(names)
    assert (list(world.accumulator.topics), ours) == (["t"], set())
    counts = Metrics(world.core, world.now)
    add_producer(counts, world.core, world.accumulator, world.sender.throttling)
    assert counts["record-send-total"] == len(names) + 12
    assert [tags for name, *tags in counts if name == "record-send-total" and tags] == [[("topic", "t")]]
    assert world.sender.identity.epoch == 1, "one higher epoch does for all"


def test_a_topic_is_kept_while_it_has_records_and_while_its_name_is_in_use() -> None:
    world = ProducerWorld(topics={"t": [0], "u": [0]}, metadata_max_idle_ms=5000, linger_ms=0)
    world.complete(world.send(b"0", "u"))
    world.leader.script = [6] * 1000
    late = world.send(b"1", "u")
    world.run(world.now + 20)
    assert "u" in world.accumulator.topics
    world.leader.script = []
    world.complete(late)
    headers = [header for name, _, header in world.leader.appended_batches if name == "u"]
    assert [(header.producer_epoch, header.base_sequence) for header in headers] == [(0, 0), (0, 1)]


def test_a_record_that_is_being_handed_over_while_its_topic_is_dropped_goes_to_the_topic() -> None:
    world = ProducerWorld(topics={"t": [0], "u": [0]}, metadata_max_idle_ms=5000, linger_ms=0)
    world.complete(world.send(b"0", "u"))
    seen: list[list[str]] = []

    class Headers(list[tuple[str, bytes]]):
        def __iter__(self) -> Iterator[tuple[str, bytes]]:
            rest(world, 12)
            seen.append(list(world.accumulator.topics))
            return super().__iter__()

    delivery = world.producer.send("u", b"1", headers=Headers([("h", b"")]))
    assert seen[0] == ["t"], "it is dropped meanwhile"
    world.complete(delivery, world.send(b"2", "u"))
    assert world.leader.values("u") == [b"0", b"1", b"2"]


@pytest.mark.parametrize("epochs_left", [0, 1])
def test_without_a_higher_epoch_another_id_is_asked_for(epochs_left: int) -> None:
    world = ProducerWorld(topics={"t": [0], "u": [0]}, metadata_max_idle_ms=5000, linger_ms=0)
    world.complete(world.send(b"warm"))
    world.sender.identity.epoch = 2**15 - 1 - epochs_left
    world.complete(world.send(b"0", "u"))
    rest(world, 12)
    world.complete(world.send(b"1", "u"))
    ids = {header.producer_id for name, _, header in world.leader.appended_batches if name == "u"}
    assert len(ids) == 2 - epochs_left
    assert world.leader.values("u") == [b"0", b"1"]


def test_a_record_of_an_unknown_topic_has_its_own_time() -> None:
    world = ProducerWorld(max_block_ms=5000)
    first = world.send(b"v", "u")
    world.run(world.now + 4.5)
    late = world.send(b"w", "u")
    sent_at = world.now
    world.run(first.done)
    assert not late.done()
    world.run(late.done)
    assert 4.8 <= world.now - sent_at <= 5.1


class Lying(Leader):
    """Adds a row about a partition that cannot be to every topic of its metadata."""

    adds: int | None = None

    def topic(self, name: str) -> Any:
        row = super().topic(name)
        if self.adds is not None and row.partitions:
            made = type(row).MetadataResponsePartition
            row.partitions = [*row.partitions, made(partition_index=self.adds, leader_id=0)]
        return row


@pytest.mark.parametrize("number", [1_000_000_000, 2**31 - 1, 2**20, -(2**31), -1, 0])
def test_a_partition_that_cannot_be_costs_nothing_and_is_warned_of_once(number: int) -> None:
    liar = Lying()
    liar.adds = number
    world = ProducerWorld(liar, topics={"t": [0], "u": [0, 0]}, linger_ms=0)
    tracemalloc.start()
    try:
        world.complete(world.send(b"1"), world.send(b"2", "u"), world.send(b"3", key=b"k"))
        world.run(world.now + 60)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert world.accumulator.topics["t"].known == 1
    assert [text.partition(":")[0] for _, text in world.warned] == [
        "the metadata of topic 't' is refused in part",
        "the metadata of topic 'u' is refused in part",
    ]
    assert metadata_requests(world) < 100
    liar.adds = None
    world.run(world.now + 5)
    before = metadata_requests(world)
    world.run(world.now + 60)
    assert metadata_requests(world) - before <= 1


def test_a_topic_that_has_no_partitions_is_not_said_to_be_missing() -> None:
    world = ProducerWorld(topics={"t": []}, max_block_ms=2000)
    lost = world.send(b"1")
    world.run(lost.done)
    with pytest.raises(errors.UnknownTopicError, match="topic t has no partitions, and none appeared within max_block"):
        lost.result()


def test_what_cannot_be_placed_ends_with_an_error_and_other_topics_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ProducerWorld(topics={"t": [0], "u": [0]}, linger_ms=0)
    placing = world.sender._unknown_topics._accumulator

    class Failing:
        def __getattr__(self, name: str) -> Any:
            return getattr(placing, name)

        def update_partitions(self, topic: Any, *rest: Any, **more: Any) -> None:
            if topic.name == "t":
                raise OverflowError("value too large")
            placing.update_partitions(topic, *rest, **more)

    monkeypatch.setattr(world.sender._unknown_topics, "_accumulator", Failing())
    bad, good = world.send(b"1"), world.send(b"2", "u")
    world.complete(good)
    world.run(bad.done)
    assert type(bad.exception()) is errors.KafkaError
    assert "topic t: its records could not be placed: OverflowError('value too large')" in str(bad.exception())
    monkeypatch.undo()
    world.complete(world.send(b"3"))


def test_partitions_that_were_a_lie_are_left_in_the_end() -> None:
    world = ProducerWorld(topics={"t": [0] * 4}, linger_ms=0)
    world.complete(world.send(b"v"))
    world.leader.topics["t"] = [0]
    world.core.cluster.refresh(world.now)
    world.run(world.now + 40)
    assert world.accumulator.topics["t"].known == 1


def test_a_topic_that_is_missing_is_warned_of_long_before_its_records_fail() -> None:
    world = ProducerWorld(topics={"t": [0]}, allow_auto_create_topics=False)
    begun = world.now
    missing = world.send(b"x", topic="misspelt")
    world.complete(world.send(b"y"))
    world.run(missing.done)
    [(when, text)] = world.warned
    assert when - begun == pytest.approx(3, abs=0.5)
    assert "topic 'misspelt' does not exist; asked: " in text
    assert text.endswith("its records wait for it, max_block_ms=60000 at most")
    world.leader.topics["misspelt"] = [0]
    world.complete(world.send(b"z", topic="misspelt"))
    assert len(world.warned) == 1
