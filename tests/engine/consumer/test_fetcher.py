"""Fetching in virtual time: what is asked, what is handed out, and what happens when it goes wrong."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

import pytest

from kwire import errors, protocol, records
from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.consumer import fetcher
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors.wording import spelled
from kwire.schema.api_keys import FETCH, LIST_OFFSETS, METADATA, OFFSET_FOR_LEADER_EPOCH
from tests.engine.world import HANG_UP, HERE, Answer, Broker, World

A, B = Address("a", 1), Address("b", 2)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TOPIC_ID = UUID(int=7)


def confirm(fetcher: Fetcher, *, arrived: bool) -> None:
    fetcher.hand_out.arrived = arrived
    fetcher.settle()


class LogBroker(Broker):
    """Keeps logs of encoded batches and serves Fetch and ListOffsets from them."""

    def __init__(self, release: str = "4.4.0", node_id: int = 0, address: Address = A) -> None:
        super().__init__(release, node_id, address)
        self.topics = {"t": [node_id]}
        self.with_ids = self.versions[FETCH][1] >= 13
        self.logs: dict[int, list[tuple[int, int, bytes]]] = {}
        self.starts: dict[int, int] = {}
        self.codes: dict[int, int] = {}
        self.aborted: dict[int, list[tuple[int, int]]] = {}
        self.throttle = 0
        self.long_poll = False
        self.handlers[FETCH] = self.fetch
        self.handlers[LIST_OFFSETS] = self.list_offsets
        self.handlers[OFFSET_FOR_LEADER_EPOCH] = self.ends_of_epochs

    def topic(self, name: str) -> Any:
        row = super().topic(name)
        if self.with_ids and row.error_code == 0:
            row.topic_id = TOPIC_ID
        return row

    def append(self, partition: int, values: list[bytes], **more: Any) -> None:
        log = self.logs.setdefault(partition, [])
        base = self.end(partition)
        magic = 2 if self.versions[FETCH][1] >= 4 else 0
        data = records.encode(values, magic=magic, base_offset=base, **more)
        log.append((base, base + len(values), data))

    def end(self, partition: int) -> int:
        log = self.logs.get(partition)
        return log[-1][1] if log else 0

    def fetch(self, message: Any, version: int, now: float) -> Any:
        made = protocol.FetchResponse.FetchableTopicResponse
        response = protocol.FetchResponse(throttle_time_ms=self.throttle if version >= 1 else 0)
        for topic in message.topics:
            assert (topic.topic_id == TOPIC_ID) if version >= 13 else (topic.topic == "t")
            rows = [self.fetch_one(part, version) for part in topic.partitions]
            response.responses = [made(topic=topic.topic, topic_id=topic.topic_id, partitions=rows)]
            if self.long_poll and not any(row.records or row.error_code for row in rows):
                self.holds = message.max_wait_ms / 1000
        return response

    def fetch_one(self, part: Any, version: int) -> Any:
        made = protocol.FetchResponse.FetchableTopicResponse.PartitionData
        row = made(partition_index=part.partition, high_watermark=self.end(part.partition))
        if part.partition in self.codes:
            row.error_code = self.codes[part.partition]
        elif not self.starts.get(part.partition, 0) <= part.fetch_offset <= self.end(part.partition):
            row.error_code = 1
        else:
            data = b"".join(batch for base, end, batch in self.logs.get(part.partition, ()) if end > part.fetch_offset)
            first = next(
                (len(batch) for base, end, batch in self.logs.get(part.partition, ()) if end > part.fetch_offset), 0
            )
            most = part.partition_max_bytes
            row.records = data[: max(most, first) if version >= 3 else most]
            if version >= 4:
                row.aborted_transactions = [
                    made.AbortedTransaction(producer_id=producer, first_offset=first_offset)
                    for producer, first_offset in self.aborted.get(part.partition, ())
                ]
        return row

    def list_offsets(self, message: Any, version: int, now: float) -> Any:
        made = protocol.ListOffsetsResponse
        topics = []
        for topic in message.topics:
            rows = []
            for part in topic.partitions:
                offset = (
                    self.starts.get(part.partition_index, 0) if part.timestamp == -2 else self.end(part.partition_index)
                )
                row = made.ListOffsetsTopicResponse.ListOffsetsPartitionResponse(partition_index=part.partition_index)
                if version == 0:
                    row.old_style_offsets = [offset]
                else:
                    row.offset = offset if part.timestamp < 0 else -1
                rows.append(row)
            topics.append(made.ListOffsetsTopicResponse(name=topic.name, partitions=rows))
        return made(topics=topics)

    def ends_of_epochs(self, message: Any, version: int, now: float) -> Any:
        made = protocol.OffsetForLeaderEpochResponse
        result = made.OffsetForLeaderTopicResult
        topics = []
        for topic in message.topics:
            rows = []
            for part in topic.partitions:
                code, end = self.end_of_epoch(part)
                epoch = part.leader_epoch
                rows.append(
                    result.EpochEndOffset(partition=part.partition, error_code=code, leader_epoch=epoch, end_offset=end)
                )
            topics.append(result(topic=topic.topic, partitions=rows))
        return made(topics=topics)

    def end_of_epoch(self, part: Any) -> tuple[int, int]:
        """The error code and the end offset of `part.leader_epoch` in one partition."""
        return 0, self.end(part.partition)

    @property
    def fetches(self) -> list[tuple[int, Any]]:
        return [(version, message) for key, version, message in self.requests if key == FETCH]


class OldLogBroker(LogBroker):
    """0.8.2: versions 0 only, found out as such."""

    def __init__(self) -> None:
        super().__init__("0.8.2.2")
        self.with_ids = False

    def answer(self, frame: bytes, now: float) -> Answer:
        return HANG_UP if frame[4:6] == b"\0\x12" else super().answer(frame, now)


class Reading:
    """A world with a fetcher in it."""

    def __init__(self, broker: LogBroker, others: dict[Address, Broker] | None = None, **settings: Any) -> None:
        self.broker = broker
        address = broker.brokers[broker.node_id]
        given = {"bootstrap_servers": str(address), "auto_offset_reset": "earliest", **settings}
        self.settings = ConsumerSettings(**given)
        self.world = World({address: broker, **(others or {})}, self.settings)
        self.fetcher = Fetcher(self.world.core, self.settings)

    def assign(self, *partitions: TopicPartition) -> Reading:
        self.fetcher.subscription.assign(partitions, self.world.now)
        return self

    def take(self, most: int | None = None) -> dict[TopicPartition, list[bytes | None]]:
        """Waits for something, takes it, and asks for more as a poll does."""
        self.world.run(self.fetcher.has_something)
        try:
            return {tp: part.values() for tp, part in self.fetcher.take(most)}
        finally:
            confirm(self.fetcher, arrived=True)
            self.fetcher.pump_if_due(self.world.now)


@pytest.mark.parametrize("kind", [LogBroker, OldLogBroker])
def test_what_was_written_is_read_in_order(kind: type[LogBroker]) -> None:
    reading = Reading(kind())
    for number in range(5):
        reading.broker.append(0, [b"%d-%d" % (number, each) for each in range(3)])
    reading.assign(T0)
    got: list[bytes | None] = []
    while len(got) < 15:
        got += reading.take()[T0]
    assert got == [b"%d-%d" % (number, each) for number in range(5) for each in range(3)]
    assert reading.fetcher.subscription.state(T0).position == 15


def test_the_next_fetch_is_under_way_while_the_caller_works() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"a"])
    assert reading.take() == {T0: [b"a"]}
    reading.broker.append(0, [b"b"])
    before = len(reading.broker.fetches)
    reading.world.run(reading.world.now + 0.1)
    assert len(reading.broker.fetches) > before
    assert reading.fetcher.has_something()


def test_no_more_is_fetched_than_one_chunk_ahead() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"a"])
    reading.world.run(reading.fetcher.has_something)
    before = len(reading.broker.fetches)
    reading.world.run(reading.world.now + 5.0)
    assert len(reading.broker.fetches) == before


def test_partitions_at_their_end_do_not_make_others_wait() -> None:
    """A long poll of the empty ones alone would hold up those that have more."""
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    broker.long_poll = True
    reading = Reading(broker, max_partition_fetch_bytes=1).assign(T0, T1)
    for number in range(20):
        broker.append(1, [b"%d" % number])
    begun = reading.world.now
    for number in range(20):
        assert reading.take() == {T1: [b"%d" % number]}
    assert reading.world.now - begun < 0.2
    assert all(len(message.topics[0].partitions) == 2 for _, message in broker.fetches)


def test_a_limit_hands_out_the_rest_next_time() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"%d" % number for number in range(5)])
    assert reading.take(2) == {T0: [b"0", b"1"]}
    assert reading.fetcher.subscription.state(T0).position == 2
    assert reading.take(2) == {T0: [b"2", b"3"]}
    assert reading.take(2) == {T0: [b"4"]}
    assert reading.fetcher.subscription.state(T0).position == 5


def test_without_a_limit_two_megabytes_of_the_log_are_given_at_a_time() -> None:
    reading = Reading(LogBroker(), max_partition_fetch_bytes=1 << 24).assign(T0)
    values = [bytes([number]) * 100_000 for number in range(50)]
    reading.broker.append(0, values)
    sizes = []
    got: list[bytes | None] = []
    while len(got) < len(values):
        got += (part := reading.take()[T0])
        sizes.append(sum(len(value or b"") for value in part))
    assert got == values
    assert sizes == [2_000_000, 2_000_000, 1_000_000]


def test_without_a_limit_there_is_one_on_small_records() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"%d" % number for number in range(fetcher.HAND_OVER_RECORDS + 5)])
    assert len(reading.take()[T0]) == fetcher.HAND_OVER_RECORDS
    assert [value for _, values in reading.take().items() for value in values] == [
        b"%d" % (fetcher.HAND_OVER_RECORDS + number) for number in range(5)
    ]


def test_a_record_larger_than_what_is_given_at_a_time_is_given_alone() -> None:
    reading = Reading(LogBroker(), max_partition_fetch_bytes=1 << 24).assign(T0)
    reading.broker.append(0, [b"first", bytes(3 << 20), b"last"])
    assert [len(reading.take()[T0]) for _ in range(3)] == [1, 1, 1]


def test_small_pieces_of_many_partitions_are_given_together() -> None:
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    broker.append(0, [b"0"])
    broker.append(1, [b"1"])
    reading = Reading(broker).assign(T0, T1)
    assert reading.take() == {T0: [b"0"], T1: [b"1"]}


def test_partitions_take_turns_where_a_limit_cuts_them() -> None:
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    for partition in (0, 1):
        broker.append(partition, [b"%d-%d" % (partition, number) for number in range(4)])
    reading = Reading(broker).assign(T0, T1)
    reading.world.run(lambda: all(state.chunks for state in reading.fetcher.subscription.states.values()))
    given = [tp.partition for _ in range(4) for tp in reading.take(2)]
    assert given == [0, 1, 0, 1]


def test_the_next_fetch_leaves_when_half_of_an_answer_is_handed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading = Reading(LogBroker(), max_partition_fetch_bytes=1).assign(T0)
    for _ in range(3):
        reading.broker.append(0, [b"%d" % number for number in range(10)])
    reading.take(1)
    asked = len(reading.broker.fetches)
    looked: list[float] = []
    monkeypatch.setattr(reading.fetcher, "pump", looked.append)
    for number in range(1, 4):
        assert reading.take(1) == {T0: [b"%d" % number]}
        reading.world.run(reading.world.now + 0.1)
    assert len(reading.broker.fetches) == asked
    for number in range(4, 24):
        assert reading.take(1) == {T0: [b"%d" % (number % 10)]}
        reading.world.run(reading.world.now + 0.1)
        assert len(reading.broker.fetches) == asked + (number + 6) // 10
    assert not looked


def test_no_more_than_two_answers_are_held() -> None:
    """The next fetch is sent when half of the last answer is given, not before, however often one polls."""
    broker = LogBroker()
    broker.topics = {"t": [0] * 8}
    partitions = [TopicPartition("t", number) for number in range(8)]
    for number in range(8):
        for _ in range(6):
            broker.append(number, [b"v"] * 4)
    reading = Reading(broker, max_partition_fetch_bytes=1).assign(*partitions)
    given = 0
    while given < 8 * 6 * 4:
        given += sum(len(part) for part in reading.take(2).values())
        reading.world.run(reading.world.now + 0.1)
        states = reading.fetcher.subscription.states.values()
        assert sum(chunk.buffered for state in states for chunk in state.chunks) <= 32 + 16
        assert all(len(state.chunks) <= 2 for state in states)
    assert all(reading.fetcher.subscription.state(tp).position == 24 for tp in partitions)


def test_a_paused_partition_gives_nothing_that_was_fetched_until_it_is_resumed() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"0", b"1"])
    assert reading.take(1) == {T0: [b"0"]}
    state = reading.fetcher.subscription.state(T0)
    state.paused = True
    assert not reading.fetcher.has_something()
    assert reading.fetcher.take(None) == []
    state.paused = False
    reading.fetcher.pump(reading.world.now)
    assert reading.take() == {T0: [b"1"]}


def test_what_did_not_arrive_is_given_again() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"%d" % number for number in range(5)])
    assert reading.take(2) == {T0: [b"0", b"1"]}
    for _ in range(2):
        assert [part.values() for _, part in reading.fetcher.take(2)] == [[b"2", b"3"]]
        reading.fetcher.pump(reading.world.now)
        confirm(reading.fetcher, arrived=False)
        assert reading.fetcher.subscription.state(T0).position == 2
    assert reading.take() == {T0: [b"2", b"3", b"4"]}


def test_a_position_inside_a_batch_gives_the_rest_of_it() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"0", b"1", b"2"])
    reading.fetcher.subscription.state(T0).seek(2)
    assert reading.take() == {T0: [b"2"]}


def test_latest_begins_with_what_is_written_from_then_on() -> None:
    reading = Reading(LogBroker(), auto_offset_reset="latest")
    reading.broker.append(0, [b"old"])
    reading.assign(T0)
    reading.world.run(lambda: reading.fetcher.subscription.state(T0).position == 1)
    reading.broker.append(0, [b"new"])
    assert reading.take() == {T0: [b"new"]}


def test_none_has_no_position_until_one_is_said() -> None:
    reading = Reading(LogBroker(), auto_offset_reset="none").assign(T0)
    reading.broker.append(0, [b"0"])
    reading.world.run(reading.world.now + 2.0)
    assert reading.fetcher.subscription.state(T0).position < 0
    reading.fetcher.subscription.state(T0).seek(0)
    reading.fetcher.pump(reading.world.now)
    assert reading.take() == {T0: [b"0"]}


def test_a_position_that_is_gone_is_reset() -> None:
    reading = Reading(LogBroker())
    for number in range(5):
        reading.broker.append(0, [b"%d" % number])
    reading.broker.starts[0] = 3
    reading.assign(T0)
    reading.fetcher.subscription.state(T0).seek(0)
    assert reading.take() == {T0: [b"3", b"4"]}


def test_a_position_that_is_gone_raises_where_no_reset_is_wanted() -> None:
    reading = Reading(LogBroker(), auto_offset_reset="none").assign(T0)
    reading.fetcher.subscription.state(T0).seek(77)
    with pytest.raises(errors.broker.by_code(1), match="t-0 at offset 77") as raised:
        reading.take()
    assert raised.value.failures == {T0: raised.value}


def test_a_leader_that_moved_is_followed() -> None:
    first, second = LogBroker("4.4.0", 0, A), LogBroker("4.4.0", 1, B)
    for broker in (first, second):
        broker.brokers = {0: A, 1: B}
        broker.topics = {"t": [0]}
    first.codes[0] = 6
    second.append(0, [b"moved"])
    reading = Reading(first, {B: second}).assign(T0)
    reading.world.at(1000.5, lambda: [broker.topics.update(t=[1]) for broker in (first, second)])
    assert reading.take() == {T0: [b"moved"]}
    assert reading.world.now < 1002


def test_brokers_that_have_left_the_cluster_are_forgotten() -> None:
    broker = LogBroker()
    reading = Reading(broker).assign(T0)
    for node in range(5):
        broker.brokers, broker.topics = {node: HERE}, {"t": [node, node]}
        broker.append(0, [b"%d" % node])
        reading.world.core.cluster.refresh(reading.world.now)
        reading.world.run(reading.world.now + 2)
        assert reading.take() == {T0: [b"%d" % node]}
        assert len(reading.fetcher._sources) <= 2


def test_an_answer_to_an_old_position_is_thrown_away() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"0", b"1"])
    reading.broker.append(0, [b"2", b"3"])
    reading.world.run(lambda: bool(reading.broker.fetches))
    reading.fetcher.subscription.state(T0).seek(3)
    assert reading.take() == {T0: [b"3"]}


def test_a_batch_above_the_limit_is_asked_for_again_with_more_room() -> None:
    reading = Reading(OldLogBroker(), max_partition_fetch_bytes=100)
    reading.broker.append(0, [b"x" * 1000])
    assert reading.assign(T0).take() == {T0: [b"x" * 1000]}
    asked = [message.topics[0].partitions[0].partition_max_bytes for _, message in reading.broker.fetches]
    assert asked[0] == 100
    assert asked[-1] >= 1000


def test_a_batch_above_every_limit_is_an_error() -> None:
    reading = Reading(OldLogBroker(), max_partition_fetch_bytes=100, receive_message_max_bytes=2000)
    reading.broker.append(0, [b"x" * 5000])
    with pytest.raises(errors.LimitError, match=r"t-0 at offset 0.*receive_message_max_bytes=2000") as refused:
        reading.assign(T0).take()
    assert "above receive.message.max.bytes=2000" in spelled(str(refused.value), lambda name: name.replace("_", "."))


def damage(broker: LogBroker, number: int) -> None:
    base, end, data = broker.logs[0][number]
    broker.logs[0][number] = base, end, data[:-1] + bytes([data[-1] ^ 1])


def test_a_fault_comes_after_what_precedes_it_and_says_how_to_pass() -> None:
    reading = Reading(LogBroker())
    for number in range(3):
        reading.broker.append(0, [b"%d" % number, b"+"])
    damage(reading.broker, 1)
    reading.assign(T0)
    assert reading.take() == {T0: [b"0", b"+"]}
    for _ in range(2):
        with pytest.raises(errors.CorruptError, match=r"t-0 at offset 2: .*seek to 4 to skip") as caught:
            reading.take()
    assert (caught.value.topic, caught.value.partition, caught.value.record_offset) == ("t", 0, 2)
    assert caught.value.seek_to == 4
    reading.fetcher.subscription.state(T0).seek(4)
    reading.fetcher.pump(reading.world.now)
    assert reading.take() == {T0: [b"2", b"+"]}


def test_a_fault_in_one_partition_does_not_hide_the_others() -> None:
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    reading = Reading(broker)
    broker.append(0, [b"bad"])
    damage(broker, 0)
    broker.append(1, [b"good"])
    reading.assign(T0, T1)
    with pytest.raises(errors.CorruptError):
        reading.take()
    assert reading.take() == {T1: [b"good"]}


def test_a_fault_is_raised_although_other_partitions_never_run_dry() -> None:
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    reading = Reading(broker)
    broker.append(0, [b"before"])
    broker.append(0, [b"bad"])
    damage(broker, 1)
    for _ in range(50):
        broker.append(1, [b"good"] * 100)
    reading.assign(T0, T1)
    assert T0 in reading.take(150)
    with pytest.raises(errors.CorruptError, match="t-0 at offset 1"):
        reading.take(150)
    assert reading.take(150).keys() == {T1}


def test_what_one_answer_decompresses_to_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "_MAX_MEMORY", 25_000)
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    reading = Reading(broker, max_decompressed_bytes=15_000)
    for number in range(4):
        for partition in (0, 1):
            broker.append(partition, [b"%d" % number * 10_000], compression="zstd")
    reading.assign(T0, T1)
    got: dict[TopicPartition, list[bytes | None]] = {T0: [], T1: []}
    while any(len(values) < 4 for values in got.values()):
        taken = reading.take()
        assert sum(len(value or b"") for values in taken.values() for value in values) <= 25_000
        for tp, values in taken.items():
            got[tp] += values
    assert got[T0] == got[T1] == [b"%d" % number * 10_000 for number in range(4)]


def test_what_all_brokers_answers_decompress_to_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits of one broker's records leaves no room for another's; these are not asked for in a loop meanwhile."""
    monkeypatch.setattr(fetcher, "_MAX_MEMORY", 25_000)
    first, second = LogBroker("4.4.0", 0, A), LogBroker("4.4.0", 1, B)
    for broker in (first, second):
        broker.brokers = {0: A, 1: B}
        broker.topics = {"t": [0, 1]}
    first.append(0, [bytes(10_000), bytes(10_000)], compression="gzip")
    second.append(1, [bytes(10_000), bytes(10_000)], compression="gzip")
    reading = Reading(first, {B: second}, max_decompressed_bytes=21_000).assign(T0, T1)
    reading.world.run(reading.world.now + 5.0)
    states = reading.fetcher.subscription.states
    assert sum(state.memory for state in states.values()) <= 25_000
    asked = len(first.fetches) + len(second.fetches)
    reading.world.run(reading.world.now + 5.0)
    assert len(first.fetches) + len(second.fetches) == asked
    got = [tp for _ in range(2) for tp in reading.take()]
    assert sorted(got) == [T0, T1]


def test_bytes_that_were_received_and_decompressed_are_not_counted_as_held() -> None:
    """Of random bytes each compressed batch is as large as its content: one of both is held, not both."""
    value = random.Random(1).randbytes(100_000)
    counts = {}
    for compression in ("none", "lz4", "zstd"):
        reading = Reading(LogBroker())
        reading.broker.append(0, [value], compression=compression)
        reading.assign(T0).world.run(reading.fetcher.has_something)
        counts[compression] = reading.fetcher.subscription.state(T0).buffered_bytes
    assert all(100_000 < count < 101_000 for count in counts.values()), counts


def test_the_index_of_plain_records_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two answers of 500 records of 40 bytes each do not fit at once; both are read all the same."""
    monkeypatch.setattr(fetcher, "_MAX_MEMORY", 30_000)
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    for partition in (0, 1):
        broker.append(partition, [b"v"] * 500)
    reading = Reading(broker, max_decompressed_bytes=15_000).assign(T0, T1)
    reading.world.run(reading.fetcher.has_something)
    reading.world.run(reading.world.now + 5.0)
    assert 20_000 <= sum(state.memory for state in reading.fetcher.subscription.states.values()) <= 30_000
    got = [tp for _ in range(2) for tp in reading.take()]
    assert sorted(got) == [T0, T1]


def test_a_batch_that_decompresses_to_too_much_is_an_error() -> None:
    reading = Reading(LogBroker(), max_decompressed_bytes=15_000)
    reading.broker.append(0, [b"small"], compression="zstd")
    reading.broker.append(0, [b"x" * 20_000], compression="zstd")
    reading.assign(T0)
    assert reading.take() == {T0: [b"small"]}
    with pytest.raises(errors.LimitError, match=r"t-0 at offset 1: .*max_decompressed_bytes.*seek to 2") as refused:
        reading.take()
    assert "; max.decompressed.bytes sets it" in spelled(str(refused.value), lambda name: name.replace("_", "."))


def test_checksums_may_be_left_alone() -> None:
    reading = Reading(LogBroker(), check_crcs=False)
    reading.broker.append(0, [b"0"])
    base, end, data = reading.broker.logs[0][0]
    reading.broker.logs[0][0] = base, end, data[:17] + b"\0\0\0\0" + data[21:]
    assert reading.assign(T0).take() == {T0: [b"0"]}


def test_paused_partitions_give_nothing_and_lose_nothing() -> None:
    broker = LogBroker()
    broker.topics = {"t": [0, 0]}
    reading = Reading(broker).assign(T0, T1)
    broker.append(0, [b"0"])
    reading.world.run(reading.fetcher.has_something)
    reading.fetcher.subscription.state(T0).paused = True
    broker.append(1, [b"1"])
    assert reading.take() == {T1: [b"1"]}
    reading.fetcher.subscription.state(T0).paused = False
    reading.fetcher.pump(reading.world.now)
    assert reading.take() == {T0: [b"0"]}


def test_partitions_take_turns_at_the_head_of_the_request() -> None:
    broker = LogBroker()
    broker.topics = {"t": [0, 0, 0]}
    reading = Reading(broker, max_partition_fetch_bytes=1)
    for partition in range(3):
        for number in range(4):
            broker.append(partition, [b"%d-%d" % (partition, number)])

    def only_the_first(message: Any, version: int, now: float) -> Any:
        response = LogBroker.fetch(broker, message, version, now)
        for row in response.responses[0].partitions[1:]:
            row.records = None
        return response

    broker.handlers[FETCH] = only_the_first
    reading.assign(T0, T1, TopicPartition("t", 2))
    seen = []
    for _ in range(3):
        seen += list(reading.take())
    assert len({tp.partition for tp in seen}) == 3


def test_topics_without_an_id_are_asked_for_by_name() -> None:
    broker = LogBroker("4.4.0")
    broker.with_ids = False
    reading = Reading(broker)
    broker.append(0, [b"0"])
    assert reading.assign(T0).take() == {T0: [b"0"]}
    assert {version for version, _ in broker.fetches} == {12}


def test_topics_with_an_id_are_asked_for_by_it() -> None:
    reading = Reading(LogBroker("4.4.0"))
    reading.broker.append(0, [b"0"])
    assert reading.assign(T0).take() == {T0: [b"0"]}
    assert {version for version, _ in reading.broker.fetches} == {18}


def test_records_of_aborted_transactions_are_left_out_when_asked() -> None:
    broker = LogBroker()
    reading = Reading(broker, isolation_level="read_committed")
    broker.append(0, [b"aborted"], producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
    control = records.encode(
        [(b"\0\0\0\0\0\0", b"\0\0\0\0")],
        base_offset=1,
        producer_id=9,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )
    broker.logs[0].append((1, 2, control))
    broker.append(0, [b"plain"])
    broker.aborted[0] = [(9, 0)]
    reading.assign(T0)
    assert reading.take() == {T0: [b"plain"]}
    assert reading.fetcher.subscription.state(T0).position == 3


def test_control_records_are_never_given() -> None:
    broker = LogBroker()
    reading = Reading(broker)
    control = records.encode(
        [(b"\0\0\0\0\0\0", b"\0\0\0\1")], producer_id=9, producer_epoch=0, is_transactional=True, is_control=True
    )
    broker.logs[0] = [(0, 1, control)]
    reading.assign(T0)
    reading.world.run(lambda: reading.fetcher.subscription.state(T0).position == 1)
    assert not reading.fetcher.has_something()


def test_a_throttled_broker_is_left_alone_for_so_long() -> None:
    broker = LogBroker()
    broker.throttle = 3000
    reading = Reading(broker).assign(T0)
    reading.world.run(1010.0)
    assert 2 <= len(broker.fetches) <= 5


def test_reading_ends_where_it_was_told_to() -> None:
    reading = Reading(LogBroker()).assign(T0)
    for number in range(3):
        reading.broker.append(0, [b"%d" % number, b"+"])
    reading.fetcher.subscription.state(T0).end_offset = 3
    got: list[bytes | None] = []
    while len(got) < 3:
        got += reading.take()[T0]
    assert got == [b"0", b"+", b"1"]
    before = len(reading.broker.fetches)
    reading.world.run(reading.world.now + 3.0)
    assert len(reading.broker.fetches) == before
    assert reading.fetcher.subscription.state(T0).position >= 3


def test_a_lost_connection_is_made_anew_and_reading_goes_on() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"0"])
    assert reading.take() == {T0: [b"0"]}
    reading.world.lose_all(A)
    reading.broker.append(0, [b"1"])
    assert reading.take() == {T0: [b"1"]}
    assert reading.world.now < 1001


@pytest.mark.parametrize("code", [3, 5, 6, 9, 56, 74, 75, 78, 100, 103])
def test_codes_that_pass_are_waited_out(code: int) -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"0"])
    reading.broker.codes[0] = code
    reading.world.at(1001.0, reading.broker.codes.clear)
    assert reading.take() == {T0: [b"0"]}
    assert reading.world.now < 1003
    assert len(reading.broker.fetches) < 15


def test_a_code_that_stays_is_raised() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.codes[0] = 29
    with pytest.raises(errors.BrokerError, match="t-0") as caught:
        reading.take()
    assert caught.value.code == 29


def test_a_partition_that_does_not_exist_is_named() -> None:
    reading = Reading(LogBroker()).assign(TopicPartition("t", 5))
    with pytest.raises(errors.UnknownTopicError, match=r"'t' has no partition 5: its partitions are 0 to 0"):
        reading.take()


def test_a_partition_that_was_added_since_is_read_without_a_word() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"old"])
    assert reading.take() == {T0: [b"old"]}
    reading.broker.topics["t"] = [0, 0]
    reading.broker.append(1, [b"new"])
    reading.assign(T1)
    assert reading.take() == {T1: [b"new"]}


def test_a_partition_that_is_not_there_is_named_by_metadata_that_came_since() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"old"])
    assert reading.take() == {T0: [b"old"]}
    reading.assign(T1)
    with pytest.raises(errors.UnknownTopicError, match=r"'t' has no partition 1: its partitions are 0 to 0"):
        reading.take()
    assert reading.world.now < 1002


def test_a_partition_of_which_no_broker_says_anything_is_told_of_in_time() -> None:
    reading = Reading(LogBroker()).assign(T0)
    reading.broker.append(0, [b"old"])
    assert reading.take() == {T0: [b"old"]}
    reading.broker.handlers[METADATA] = lambda message, version, now: None
    reading.assign(T1)
    with pytest.raises(errors.KafkaTimeoutError, match="t-1"):
        reading.take()


def test_topics_given_up_are_not_asked_for_any_more() -> None:
    broker = LogBroker()
    broker.topics = {"t": [0], "u": [0]}
    broker.handlers[FETCH] = lambda message, version, now: None
    reading = Reading(broker).assign(T0)
    reading.world.run(1001.0)
    reading.assign(TopicPartition("u", 0))
    reading.world.run(1002.0)
    last = [message for key, _, message in broker.requests if key == METADATA][-1]
    assert [row.name for row in last.topics] == ["u"]
