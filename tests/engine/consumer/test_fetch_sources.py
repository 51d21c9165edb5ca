"""Which partitions a fetch asks for, how much, and when: in virtual time."""

from __future__ import annotations

from typing import Any

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.fetch_sources import LONG_WAIT_S, SMALL_RESPONSE_BYTES, FetchStats, Source
from kwire.engine.consumer.partition_state import PartitionState
from kwire.schema.api_keys import FETCH
from tests.engine.consumer.test_fetcher import T0, T1, A, B, LogBroker, Reading

VALUE = bytes(1000)
EACH = 100
"""Records of a batch: a tenth of a megabyte."""


class WideBroker(LogBroker):
    """Serves partitions in request order until the answer is full, as brokers do; a batch at a time of each."""

    def __init__(self, partitions: int, batches: int) -> None:
        super().__init__()
        self.topics = {"t": [0] * partitions}
        self.long_poll = True
        for partition in range(partitions):
            for _ in range(batches):
                self.append(partition, [VALUE] * EACH)

    def fetch(self, message: Any, version: int, now: float) -> Any:
        response = super().fetch(message, version, now)
        room = message.max_bytes
        for row in response.responses[0].partitions:
            if room <= 0:
                row.records = None
            room -= len(row.records or b"")
        return response

    def asked(self, number: int) -> list[int]:
        """The partitions of that fetch."""
        return [part.partition for part in self.fetches[number][1].topics[0].partitions]


def reading(broker: LogBroker, **settings: Any) -> Reading:
    made = Reading(broker, **{"max_partition_fetch_bytes": 100_000, "auto_offset_reset": "none", **settings})
    partitions = [TopicPartition("t", number) for number in range(len(broker.topics["t"]))]
    made.fetcher.subscription.assign(partitions, made.world.now, at=dict.fromkeys(partitions, 0))
    return made


def test_a_fetch_asks_for_so_many_partitions_as_fill_an_answer_each_in_its_turn() -> None:
    broker = WideBroker(60, 4)
    polling = reading(broker)
    given: dict[TopicPartition, int] = {}
    while sum(given.values()) < 60 * 4 * EACH:
        for tp, values in polling.take().items():
            given[tp] = given.get(tp, 0) + len(values)
    assert set(given.values()) == {4 * EACH}
    assert len(broker.asked(0)) == 60
    steady = [broker.asked(number) for number in range(1, 9)]
    assert all(20 <= len(asked) <= 22 for asked in steady), "two mebibytes are 21 batches"
    in_turn = [partition for asked in steady for partition in asked]
    assert all(len(set(in_turn[begin : begin + 60])) == 60 for begin in range(60)), "all before one twice"


def test_partitions_of_which_nothing_is_known_to_wait_come_along() -> None:
    broker = WideBroker(40, 3)
    del broker.logs[7]
    polling = reading(broker)
    while len(broker.fetches) < 3:
        polling.take()
    assert all(7 in broker.asked(number) for number in range(3))
    broker.append(7, [b"late"])
    seen: set[TopicPartition] = set()
    while TopicPartition("t", 7) not in seen:
        seen.update(polling.take())
    assert polling.world.now < 1001, "it was not waited for"


def test_no_fetch_is_held_while_others_have_more() -> None:
    broker = WideBroker(3, 1)
    for _ in range(60):
        broker.append(2, [VALUE] * EACH)
    polling = reading(broker)
    begun = polling.world.now
    count = 0
    while count < 63 * EACH:
        count += sum(len(values) for values in polling.take().values())
    assert polling.world.now - begun < 0.4, "the first two are at their end: a fetch of these alone takes 0.5 s"


def test_who_is_said_to_have_records_and_gives_none_holds_up_nobody() -> None:
    broker = WideBroker(60, 4)
    honest = broker.fetch_one

    def fetch_one(part: Any, version: int) -> Any:
        row = honest(part, version)
        if part.partition < 45:
            row.records = None
        return row

    broker.fetch_one = fetch_one  # type: ignore[method-assign]
    polling = reading(broker)
    count = 0
    while count < 15 * 4 * EACH:
        count += sum(len(values) for values in polling.take().values())
    assert polling.world.now < 1000.5, "no fetch was held"


def test_no_more_partitions_are_asked_for_than_find_a_place_in_an_answer() -> None:
    """Whatever the reason why an answer is full before it should be."""
    broker = WideBroker(60, 4)
    generous = broker.fetch

    def fetch(message: Any, version: int, now: float) -> Any:
        response = generous(message, version, now)
        for row in response.responses[0].partitions[5:]:
            row.records = None
        return response

    broker.handlers[FETCH] = fetch
    polling = reading(broker)
    while len(broker.fetches) < 12:
        polling.take()
    assert all(len(broker.asked(number)) <= 6 for number in range(2, 12))


def test_a_partition_that_moved_is_asked_for_at_its_new_broker_at_once() -> None:
    broker = WideBroker(2, 3)
    polling = reading(broker)
    polling.take()
    polling.fetcher.subscription.state(TopicPartition("t", 1)).preferred_replica = (0, polling.world.now)
    before = len(broker.fetches)
    while len(broker.fetches) < before + 2:
        polling.take()
    assert 1 in broker.asked(before + 1)


def test_the_answer_grows_when_polls_wait_long_for_full_ones() -> None:
    broker = WideBroker(25, 30)
    broker.latency = 2 * LONG_WAIT_S
    polling = reading(broker, fetch_max_bytes=3 * SMALL_RESPONSE_BYTES)

    def poll() -> None:
        polling.fetcher.polled_at = polling.world.now
        polling.fetcher.pump_if_due(polling.world.now)
        polling.take()

    def sizes() -> list[int]:
        return [message.max_bytes for _, message in broker.fetches]

    while len(sizes()) < 5:
        poll()
    assert sizes()[0] == SMALL_RESPONSE_BYTES
    assert sizes()[-1] == 3 * SMALL_RESPONSE_BYTES, "the setting is the limit"
    broker.latency = 0.0001
    while len(sizes()) < 12:
        poll()
    assert sizes()[-1] == SMALL_RESPONSE_BYTES


def brought(records: int, size: int) -> FetchStats:
    found = FetchStats()
    found.add(PartitionState(TopicPartition("t", 0), 1, None), records, records, size)
    return found


def source(**more: int) -> Source:
    return Source(0, **{"min_bytes": 1, "max_bytes": 50 << 20, **more})


def test_an_answer_that_a_slow_caller_was_late_to_read_does_not_grow() -> None:
    made = source()
    made.set_asked(10.0)
    made.on_response(brought(1000, SMALL_RESPONSE_BYTES), polled_at=11.0, began_at=11.0, now=11.0)
    assert made.size == SMALL_RESPONSE_BYTES


def test_an_answer_held_for_want_of_records_does_not_grow() -> None:
    made = source()
    made.set_asked(10.0)
    made.on_response(brought(1, 100), polled_at=10.0, began_at=10.5, now=10.5)
    assert made.size == SMALL_RESPONSE_BYTES


def test_an_answer_whose_bytes_come_slowly_does_not_grow() -> None:
    """It would take longer, and its memory would be in no cache."""
    made = source()
    for first in (0.001, 0.02, 0.1, 0.19):
        made.set_asked(10.0)
        made.on_response(brought(1000, made.size), polled_at=10.0, began_at=10.0 + first, now=10.0 + first + 0.8)
        made.buffered = 0
    assert made.size == SMALL_RESPONSE_BYTES


def test_the_size_follows_from_the_wait_for_the_first_byte_and_the_time_that_the_others_take() -> None:
    made = source()

    def size_at(latency: float) -> float:
        """In the end, where each 2 MiB take 10 ms."""
        for _ in range(10):
            made.set_asked(10.0)
            began_at = 10.0 + latency
            took = 0.01 * made.size / SMALL_RESPONSE_BYTES
            made.on_response(brought(1, made.size), polled_at=10.0, began_at=began_at, now=began_at + took)
            made.buffered = 0
        return made.size / SMALL_RESPONSE_BYTES

    assert size_at(0.012) == 8
    assert size_at(0.1) == 25, "the setting is the limit"
    assert size_at(0.012) == 12.5, "where it is large enough, it stays"
    assert size_at(0.0001) == 1


def test_a_poll_that_begins_after_the_first_bytes_leaves_the_size_as_it_is() -> None:
    """It waits for the rest of an answer that was asked for before, and that says nothing of how far the broker is."""
    made = source()
    made.size = grown = 4 * SMALL_RESPONSE_BYTES
    made.set_asked(10.0)
    made.on_response(brought(1000, grown), polled_at=10.12, began_at=10.1, now=10.12 + 2 * LONG_WAIT_S)
    assert made.size == grown


def test_the_size_keeps_to_the_settings() -> None:
    assert source(max_bytes=1000).size == 1000
    assert source(min_bytes=10 << 20).size == 10 << 20, (
        "less would not be what fetch_min_bytes asks the broker to gather"
    )
    assert source(max_bytes=0).size == 1
    made = source(max_bytes=3 * SMALL_RESPONSE_BYTES)
    for _ in range(4):
        made.set_asked(10.0)
        made.on_response(brought(1, made.size), polled_at=10.0, began_at=11.0, now=11.0)
        made.buffered = 0
    assert made.size == 3 * SMALL_RESPONSE_BYTES


def test_of_several_brokers_each_is_asked_for_half_as_much() -> None:
    """What one has sent waits while that of the others is handed out."""
    brokers = [WideBroker(2, 9), WideBroker(2, 9)]
    for number, broker in enumerate(brokers):
        broker.node_id = number
        broker.brokers = {0: A, 1: B}
        broker.topics = {"t": [0, 1]}
    polling = Reading(brokers[0], {B: brokers[1]})
    polling.fetcher.subscription.assign([T0, T1], polling.world.now, at={T0: 0, T1: 0})
    polling.take()
    asked = [message.max_bytes for broker in brokers for _, message in broker.fetches]
    assert set(asked) == {SMALL_RESPONSE_BYTES // 2}


def test_a_size_that_has_grown_is_kept_when_there_are_more_brokers() -> None:
    made = source()
    made.size = 5 * SMALL_RESPONSE_BYTES
    made.be_one_of(2)
    assert made.size == 5 * SMALL_RESPONSE_BYTES
    made.size = SMALL_RESPONSE_BYTES // 2
    made.be_one_of(1)
    assert made.size == SMALL_RESPONSE_BYTES


def test_the_settings_hold_for_several_brokers_as_well() -> None:
    for settings, size in (({"min_bytes": 10 << 20}, 10 << 20), ({"max_bytes": 1000}, 1000)):
        made = source(**settings)
        made.be_one_of(3)
        assert made.size == size


def test_whoever_gave_goes_behind_who_did_not() -> None:
    states = [PartitionState(TopicPartition("t", number), 1, None) for number in range(5)]
    made = source()
    made.queue.extend(states[4:])
    made.requeue(states[:4], {states[1], states[2]})
    assert [state.tp.partition for state in made.queue] == [0, 3, 4, 1, 2]
