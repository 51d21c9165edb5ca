"""Logs that lose records at either end while some of them are fetched, handed out, or half way through a loop.

Retention deletes from the start, an unclean election cuts the end and other records come in their place. What the
consumer has fetched already is handed out first; a loop that stands in the middle of what a poll returned counts for
each partition by itself.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from kwire import errors, records
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.consumer.records import ConsumerRecords
from kwire.schema.api_keys import FETCH
from tests.engine.consumer.test_fetcher import T0, T1, LogBroker, Reading
from tests.engine.consumer.test_position_lookup import late
from tests.thorough import THOROUGH

SEEDS = 200 if THOROUGH else 20
Batch = tuple[int, int, bytes]


class LosingBroker(LogBroker):
    """Its logs lose records at either end; `epochs` has the leader epoch of each of them."""

    def __init__(self, partitions: int = 1) -> None:
        super().__init__()
        self.topics = {"t": [0] * partitions}
        self.epochs = dict.fromkeys(range(partitions), 0)
        self.values: dict[int, dict[int, bytes]] = {number: {} for number in range(partitions)}
        self.epoch_of: dict[int, dict[int, int]] = {number: {} for number in range(partitions)}
        self.long_poll = True
        self.is_forgetful = False

    def topic(self, name: str) -> Any:
        row = super().topic(name)
        for part in row.partitions:
            part.leader_epoch = self.epochs[part.partition_index]
        return row

    def write(self, partition: int, count: int) -> None:
        epoch, base = self.epochs[partition], self.end(partition)
        values = {base + each: b"%d in epoch %d" % (base + each, epoch) for each in range(count)}
        self.append(partition, list(values.values()), partition_leader_epoch=epoch)
        self.values[partition] |= values
        self.epoch_of[partition] |= dict.fromkeys(values, epoch)

    def end(self, partition: int) -> int:
        return max(super().end(partition), self.starts.get(partition, 0))

    def delete_before(self, partition: int, offset: int) -> None:
        self.starts[partition] = offset
        self.logs[partition] = [entry for entry in self.logs[partition] if entry[1] > offset]

    def cut_at(self, partition: int, offset: int) -> None:
        """An unclean election: the new leader lacks what comes after `offset`."""
        kept: list[Batch] = []
        for base, end, data in self.logs[partition]:
            if end <= offset:
                kept.append((base, end, data))
            elif base < offset:
                values = [self.values[partition][each] for each in range(base, offset)]
                epoch = self.epoch_of[partition][base]
                kept.append((base, offset, records.encode(values, base_offset=base, partition_leader_epoch=epoch)))
        self.logs[partition] = kept
        self.epochs[partition] += 1

    def unknown(self, epoch: int, start: int) -> tuple[int, int]:
        """What is said of an epoch before all that the log has; by one that has lost its list of epochs, nothing."""
        return (-1, -1) if self.is_forgetful else (epoch, start)

    def fetch_one(self, part: Any, version: int) -> Any:
        row = super().fetch_one(part, version)
        if part.current_leader_epoch < self.epochs[part.partition]:
            row.error_code, row.records = 74, None
        return row

    def ends_of_epochs(self, message: Any, version: int, now: float) -> Any:
        response = super().ends_of_epochs(message, version, now)
        for topic in response.topics:
            for row in topic.partitions:
                log = self.epoch_of[row.partition]
                asked, start = row.leader_epoch, self.starts.get(row.partition, 0)
                known = [offset for offset in range(start, self.end(row.partition)) if log[offset] <= asked]
                row.leader_epoch, row.end_offset = (
                    (log[known[-1]], known[-1] + 1) if known else self.unknown(asked, start)
                )
        return response


def reading_of(broker: LosingBroker, **settings: Any) -> tuple[Reading, list[str]]:
    """A consumer of all partitions, and its warnings."""
    reading, warnings = Reading(broker, **settings), list[str]()
    reading.fetcher = Fetcher(reading.world.core, reading.settings, warnings.append)
    wanted = [TopicPartition("t", number) for number in broker.epochs]
    reading.fetcher.subscription.assign(wanted, reading.world.now, at=dict.fromkeys(wanted, 0))
    reading.world.run(lambda: all(each.holds_records for each in reading.fetcher.subscription.states.values()))
    return reading, warnings


def hand_out(reading: Reading, count: int | None = None) -> list[bytes | None]:
    """Takes what is there as a poll does; whether it arrived is not settled yet."""
    reading.fetcher.settle(finished=True)
    taken = reading.fetcher.take(count)
    reading.fetcher.hand_out.arrived = True
    reading.fetcher.pump_if_due(reading.world.now)
    return [value for _, part in taken for value in part.values()]


def wait(reading: Reading, seconds: float = 3.0) -> None:
    reading.world.run(reading.world.now + seconds)


def read_up_to(reading: Reading, value: bytes, got: list[bytes | None]) -> list[bytes | None]:
    for _ in range(30):
        if value in got:
            break
        wait(reading, 1.0)
        got += hand_out(reading, 3)
    return got


def test_what_was_fetched_is_handed_out_though_the_log_has_it_no_more() -> None:
    broker = LosingBroker()
    broker.write(0, 10)
    reading, _ = reading_of(broker)
    got = hand_out(reading, 6)
    broker.write(0, 30)
    first = list(broker.values[0].values())
    broker.delete_before(0, 40)
    broker.write(0, 1)
    wait(reading)
    got = read_up_to(reading, b"40 in epoch 0", got)
    assert got == [*first[:10], b"40 in epoch 0"]


def test_a_loop_over_one_partition_is_not_counted_by_what_another_one_has_lost() -> None:
    broker = LosingBroker(2)
    for number in (0, 1):
        broker.write(number, 10)
    reading, _ = reading_of(broker)
    taken = reading.fetcher.take(None)
    (first, _), (second, _) = taken
    iterator = iter(ConsumerRecords(taken))
    reading.fetcher.hand_out.iterator, reading.fetcher.hand_out.arrived = iterator, True
    for _ in range(12):
        next(iterator)
    reading.fetcher.pump_if_due(reading.world.now)
    broker.write(first.partition, 10)
    broker.delete_before(first.partition, 20)
    wait(reading)
    reading.fetcher.settle()
    assert reading.fetcher.subscription.state(first).position in (10, 20)
    assert reading.fetcher.subscription.state(second).position == 2


@pytest.mark.parametrize("reset", ["earliest", "latest", "none"])
def test_what_a_poll_returned_before_a_log_was_cut_does_not_come_again(reset: str) -> None:
    broker = LosingBroker()
    broker.write(0, 10)
    reading, warnings = reading_of(broker, auto_offset_reset=reset)
    got = hand_out(reading, 6)
    broker.cut_at(0, 8)
    broker.write(0, 1)
    wait(reading)
    got = read_up_to(reading, b"8 in epoch 1", got)
    assert got == [b"%d in epoch 0" % offset for offset in range(8)] + [b"8 in epoch 1"]
    assert warnings == []


def test_a_log_cut_below_what_a_poll_has_returned_is_told_of() -> None:
    broker = LosingBroker()
    broker.write(0, 10)
    reading, _ = reading_of(broker, auto_offset_reset="none")
    assert len(hand_out(reading, 9)) == 9
    broker.cut_at(0, 8)
    broker.write(0, 5)
    wait(reading)
    for _ in range(2):
        with pytest.raises(errors.LogTruncationError, match="truncated below the position 9") as caught:
            hand_out(reading)
        assert caught.value.seek_to == 8
        reading.fetcher.pump_if_due(reading.world.now)
        wait(reading)


@pytest.mark.parametrize("arrived", [True, False])
def test_a_log_cut_below_what_a_poll_has_returned_goes_on_where_it_was_cut(arrived: bool) -> None:
    broker = LosingBroker()
    broker.write(0, 10)
    reading, warnings = reading_of(broker)
    hand_out(reading, 9)
    broker.cut_at(0, 8)
    broker.write(0, 1)
    wait(reading)
    reading.fetcher.hand_out.arrived = arrived
    reading.fetcher.settle(finished=True)
    reading.fetcher.pump_if_due(reading.world.now)
    assert "below the position 9" in warnings[0]
    assert "offset 8" in warnings[0]
    got = read_up_to(reading, b"8 in epoch 1", [])
    assert got == ([] if arrived else [b"%d in epoch 0" % offset for offset in range(9)]) + [b"8 in epoch 1"]


def test_what_the_caller_may_be_processing_stays_unfinished_where_its_log_is_cut() -> None:
    broker = LosingBroker()
    broker.write(0, 10)
    reading, _ = reading_of(broker)
    state = reading.fetcher.subscription.state(T0)
    hand_out(reading, 5)
    hand_out(reading, 4)
    reading.fetcher.settle()
    assert (state.finished[0], state.delivered[0]) == (5, 9)
    broker.cut_at(0, 8)
    wait(reading)
    assert (state.finished[0], state.delivered[0]) == (5, 8)
    reading.fetcher.settle(finished=True)
    assert state.finished[0] == 8


def test_a_cut_is_seen_though_records_from_before_it_come_after_the_news_of_it() -> None:
    broker = LosingBroker()
    broker.write(0, 10)
    reading, warnings = Reading(broker), list[str]()
    reading.fetcher = Fetcher(reading.world.core, reading.settings, warnings.append)
    broker.handlers[FETCH] = late(broker, broker.fetch, 1.0)
    reading.fetcher.subscription.assign([T0], reading.world.now, at={T0: 0})
    reading.world.run(lambda: bool(broker.fetches))
    broker.cut_at(0, 8)
    broker.write(0, 2)
    reading.world.core.cluster.refresh(reading.world.now)
    got = read_up_to(reading, b"9 in epoch 1", [])
    assert got == [b"%d in epoch 0" % offset for offset in range(8)] + [b"8 in epoch 1", b"9 in epoch 1"]
    assert warnings == []


@pytest.mark.parametrize("waits_again", [True, False])
def test_a_log_that_is_cut_again_loses_nothing_of_what_came_between(waits_again: bool) -> None:
    """What a loop left of a hand-out, which the log has no more, stands before the records that came in their place."""
    broker = LosingBroker()
    broker.write(0, 10)
    reading, _ = reading_of(broker)
    taken = reading.fetcher.take(None)
    iterator = iter(ConsumerRecords(taken))
    reading.fetcher.hand_out.iterator, reading.fetcher.hand_out.arrived = iterator, True
    for _ in range(4):
        next(iterator)
    reading.fetcher.pump_if_due(reading.world.now)
    broker.cut_at(0, 3)
    broker.write(0, 4)
    wait(reading)
    if waits_again:
        reading.fetcher.settle()
    else:
        hand_out(reading, 1)
    broker.cut_at(0, 6)
    broker.write(0, 1)
    reading.world.core.cluster.refresh(reading.world.now)
    wait(reading)
    got = read_up_to(reading, b"6 in epoch 2", [])
    assert got[-4:] == [b"3 in epoch 1", b"4 in epoch 1", b"5 in epoch 1", b"6 in epoch 2"]


class Story:
    """A consumer of two logs that lose records by a seed, and what it was given of them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.broker = LosingBroker(2)
        self.broker.is_forgetful = self.rng.random() < 0.3
        for number in (0, 1):
            self.broker.write(number, 20)
        self.reading, _ = reading_of(self.broker)
        self.fetcher = self.reading.fetcher
        self.given: dict[TopicPartition, dict[int, bytes | None]] = {T0: {}, T1: {}}
        self.due = {T0: 0, T1: 0}
        self.starts: dict[TopicPartition, set[int]] = {T0: {0}, T1: {0}}
        self.cuts: dict[TopicPartition, set[int]] = {T0: set(), T1: set()}

    def lose(self) -> None:
        number, rng = self.rng.randrange(2), self.rng
        start, end = self.broker.starts.get(number, 0), self.broker.end(number)
        tp, at = TopicPartition("t", number), rng.randint(start, end)
        if rng.random() < 0.5:
            self.broker.delete_before(number, at)
            self.starts[tp].add(at)
        elif at < end:
            self.broker.cut_at(number, at)
            self.cuts[tp].add(at)
        self.broker.write(number, rng.randint(1, 12))

    def note(self, tp: TopicPartition, offset: int, value: bytes | None) -> None:
        """Nothing is left out but what was deleted, and nothing comes again but where the log was cut."""
        due, starts, cuts = self.due[tp], self.starts[tp], self.cuts[tp]
        assert offset == due or offset in starts or (offset < due and offset in cuts), (
            f"{tp} at {offset} where {due} was due; the log began at {starts}, and was cut at {cuts}"
        )
        self.given[tp][offset] = value
        self.due[tp] = offset + 1

    def step(self) -> None:
        rng = self.rng
        if rng.random() < 0.25:
            self.lose()
        wait(self.reading, rng.choice([0.0, 0.01, 0.7]))
        self.fetcher.settle(finished=rng.random() < 0.7)
        self.fetcher.pump_if_due(self.reading.world.now)
        taken = self.fetcher.take(rng.choice([1, 5, None]))
        self.fetcher.pump_if_due(self.reading.world.now)
        iterator = iter(ConsumerRecords(taken))
        arrives = rng.random() < 0.9
        loops = arrives and rng.random() < 0.5
        self.fetcher.hand_out.arrived = arrives
        if loops:
            self.fetcher.hand_out.iterator = iterator
        count = sum(len(part) for _, part in taken)
        for _ in range(rng.randint(0, count) if loops else count if arrives else 0):
            record = next(iterator)
            self.note(TopicPartition(record.topic, record.partition), record.offset, record.value)
        if rng.random() < 0.3:
            self.lose()
            wait(self.reading, rng.choice([0.01, 0.7]))

    def has_read_all(self) -> bool:
        for tp, given in self.given.items():
            log = range(self.broker.starts.get(tp.partition, 0), self.broker.end(tp.partition))
            if any(given.get(offset) != self.broker.values[tp.partition][offset] for offset in log):
                return False
        return True

    def finish(self) -> None:
        for _ in range(100):
            if self.has_read_all():
                return
            wait(self.reading, 1.0)
            self.fetcher.settle(finished=True)
            self.fetcher.pump_if_due(self.reading.world.now)
            for tp, part in self.fetcher.take(None):
                for record in part:
                    self.note(tp, record.offset, record.value)
            self.fetcher.hand_out.arrived = True
        raise AssertionError(f"stuck at {self.due}")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_record_that_a_log_keeps_is_read_whatever_it_loses(seed: int) -> None:
    story = Story(seed)
    for _ in range(60):
        story.step()
    story.finish()
