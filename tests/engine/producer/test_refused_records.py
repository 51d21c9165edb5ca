"""Records that the leader cannot keep as they were sent, and records whose partition is gone, in virtual time."""

from __future__ import annotations

from uuid import UUID

import pytest

from kwire import errors
from kwire.engine.producer.sender import words_of
from kwire.protocol import ProduceResponse
from tests.engine import produce_world
from tests.engine.produce_world import Leader, ProducerWorld
from tests.engine.world import HANG_UP, Answer


class OldLeader(Leader):
    """0.8.2: versions 0 only, found out as such."""

    def __init__(self) -> None:
        super().__init__("0.8.2.2")

    def answer(self, frame: bytes, now: float) -> Answer:
        return HANG_UP if frame[4:6] == b"\0\x12" else super().answer(frame, now)


def test_explicit_timestamps_fail_with_a_broker_that_stores_none() -> None:
    world = ProducerWorld(OldLeader())
    plain, stamped, last = world.send(b"a"), world.send(b"b", timestamp=1_700_000_000_000), world.send(b"c")
    assert world.complete(plain, last) == [0, 1]
    with pytest.raises(errors.CodecError, match="magic 0 only, which have no timestamps"):
        stamped.result()
    assert world.leader.values() == [b"a", b"c"]


def test_batches_of_explicit_timestamps_fail_whole_where_none_is_stored() -> None:
    world = ProducerWorld(OldLeader())
    stamped = [world.send(b"%d" % number, timestamp=number + 1) for number in range(5)]
    world.run(lambda: all(delivery.done() for delivery in stamped))
    assert all(isinstance(delivery.exception(), errors.CodecError) for delivery in stamped)


def test_explicit_timestamps_are_kept_where_they_can_be_stored() -> None:
    world = ProducerWorld(Leader("0.10.2.2"))
    delivery = world.send(b"a", timestamp=1_700_000_000_000)
    world.complete(delivery)
    assert delivery.result().timestamp == 1_700_000_000_000


def test_records_of_partitions_that_are_gone_go_to_those_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The topic is made anew with two partitions of eight while the producer's metadata is fresh."""
    world = ProducerWorld(topics={"t": [0] * 8}, max_block_ms=5000)
    world.complete(*[world.send(b"old", partition=partition) for partition in range(8)])
    world.leader.topics["t"] = [0] * 2
    world.leader.logs.clear()
    monkeypatch.setitem(produce_world.TOPIC_IDS, "t", UUID(int=4711))
    begun = world.now
    free = [world.send(b"%d" % number, key=b"k%d" % number if number % 2 else None) for number in range(32)]
    named = world.send(b"named", partition=7)
    world.complete(*free)
    assert world.now - begun < 4
    assert sorted(world.leader.values()) == sorted(b"%d" % number for number in range(32))
    world.run(named.done)
    assert isinstance(named.exception(), errors.UnknownTopicError)


def test_a_flush_counts_all_records_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    from kwire.engine.producer.flushing import failures

    world = ProducerWorld(OldLeader())
    sent = [world.send(b"x", headers=[("h", b"")]) for _ in range(3)]
    world.run(lambda: all(delivery.done() for delivery in sent))
    world.accumulator.failures_dropped = 39
    error = failures(world.accumulator)
    assert error is not None
    assert str(error).startswith("42 records in 1 batch and older ones could not be delivered")
    assert failures(world.accumulator) is None


@pytest.mark.parametrize(
    ("whole", "reasons", "told"),
    [
        ("2 errors: [(0, 'no key'), (4, 'no key')]", {0: "no key", 4: "no key"}, "record 0: no key; record 4: no key"),
        (
            "5 errors: no key",
            dict.fromkeys(range(5), "no key"),
            "record 0: no key; record 1: no key; record 2: no key; and 2 more records",
        ),
        ("rejected", {0: "no key"}, "rejected; record 0: no key"),
        ("rejected", {0: None}, "rejected; record 0: refused"),
        ("rejected", {}, "rejected"),
        (None, {7: "no key"}, "record 7: no key"),
        (None, {}, ""),
    ],
)
def test_a_reason_that_the_broker_says_twice_is_told_once(
    whole: str | None, reasons: dict[int, str | None], told: str
) -> None:
    row = ProduceResponse.TopicProduceResponse.PartitionProduceResponse
    bad = [
        row.BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=reason)
        for index, reason in reasons.items()
    ]
    assert words_of(row(error_message=whole, record_errors=bad)) == told
