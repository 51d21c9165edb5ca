"""The accumulator under any order of events: every record is in one place, in order, and its Delivery knows where."""

from __future__ import annotations

import gc
import pickle
from collections import deque
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import errors, records
from kwire._codec import Accumulator, Batch, Delivery, PartitionQueue, ProducerBase, murmur2, pool_statistics
from tests.thorough import THOROUGH

TOPIC = "t"
PARTITIONS = 3


class Path(ProducerBase):
    """The compiled front alone."""

    def __init__(self, **options: Any) -> None:
        self._accumulator = self.accumulator = Accumulator(**options)
        self.accumulator.run_callback = lambda function, delivery: function(delivery)
        self.accumulator.set_clock(100.0, 1_700_000_000_000)

    def know(self, count: int = PARTITIONS) -> None:
        self.accumulator.update_partitions(self.accumulator.topics[TOPIC], count, range(count))

    def drain(self) -> list[Batch]:
        """Takes everything that can be taken now."""
        self.accumulator.make_all_due()
        taken: list[Batch] = []
        for queue in self.accumulator.route_ready():
            while queue.head is not None:
                queue.take(taken)
        return taken


def read(batch: Batch, magic: int = 2, codec: int = 0) -> records.Records:
    return records.decode(batch.seal(magic, codec, None))


events = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.none() | st.binary(max_size=3), st.none() | st.integers(0, PARTITIONS - 1)),
        st.tuples(st.just("take"), st.integers(0, 5), st.booleans()),
        st.tuples(st.sampled_from(["deliver", "fail", "back", "split", "seal"]), st.integers(0, 30), st.integers(0, 4)),
        st.tuples(st.sampled_from(["know", "linger"]), st.none(), st.none()),
    ),
    max_size=120,
)


class Model:
    """Plays events, appends what is delivered to logs, and remembers which value went into which Delivery."""

    def __init__(self) -> None:
        self.path = Path(batch_size=200, linger=0.005)
        self.flying: list[Batch] = []
        self.line: deque[PartitionQueue] = deque()
        self.logs: dict[int, list[bytes | None]] = {}
        self.sent: list[tuple[bytes, bytes | None, int | None, Delivery]] = []
        self.failed: set[bytes] = set()

    def send(self, key: Any, partition: Any) -> None:
        value = b"%d" % len(self.sent)
        headers = [("n", value)] if len(self.sent) % 3 == 0 else ()
        delivery = self.path.send(TOPIC, value, key=key, partition=partition, headers=headers)
        self.sent.append((value, key, partition, delivery))

    def take(self, how_many: int, make_due: bool) -> None:
        if make_due:
            self.path.accumulator.make_all_due()
        for _ in range(how_many):
            self.line.extend(self.path.accumulator.route_ready())
            queue = self.line.popleft() if self.line else None
            if queue is not None and queue.head is not None:
                queue.take(self.flying)
                if queue.head is not None:
                    queue.reenqueue(self.flying.pop())

    def on_flying(self, name: str, which: int, codec: int) -> None:
        if not self.flying:
            return
        batch = self.flying[which % len(self.flying)]
        accumulator = self.path.accumulator
        if name == "seal":
            assert len(read(batch, 2, codec)) == len(batch)
            return
        self.flying.remove(batch)
        if name == "deliver":
            self.deliver(batch, codec)
        elif name == "fail":
            self.failed.update(value or b"" for value in read(batch).values())
            accumulator.complete(batch, -1, -1, errors.KafkaError("as asked"))
        elif name == "back" or not accumulator.split(batch):
            batch.queue.reenqueue(batch)

    def deliver(self, batch: Batch, codec: int) -> None:
        log = self.logs.setdefault(batch.partition, [])
        content = read(batch, 2, codec)
        self.path.accumulator.complete(batch, len(log), -1, None)
        log += content.values()

    def play(self, event: Any) -> None:
        name, first, second = event
        if name == "send":
            self.send(first, second)
        elif name == "take":
            self.take(first, second)
        elif name == "know" and TOPIC in self.path.accumulator.topics:
            self.path.know()
        elif name == "linger":
            self.path.accumulator.expire_linger(200.0)
        elif name not in ("know", "linger"):
            self.on_flying(name, first, second)

    def finish(self) -> None:
        if self.sent:
            self.path.know()
        for batch in self.flying:
            batch.queue.reenqueue(batch)
        self.path.accumulator.unroute_all()
        for batch in self.path.drain():
            self.deliver(batch, 0)


@settings(max_examples=200 if THOROUGH else 60)
@given(events)
def test_any_order_of_events_leaves_each_record_in_one_place(played: Any) -> None:
    model = Model()
    for event in played:
        model.play(event)
    model.finish()
    accumulator = model.path.accumulator
    assert accumulator.used == 0
    assert not accumulator.pending
    everywhere = [value for log in model.logs.values() for value in log]
    assert len(everywhere) == len(set(everywhere))
    assert set(everywhere) | model.failed == {value for value, *_ in model.sent}
    for value, key, partition, delivery in model.sent:
        assert delivery.done()
        if value in model.failed:
            assert delivery.exception() is not None
            continue
        metadata = delivery.result()
        assert model.logs[metadata.partition][metadata.offset] == value
        if partition is not None:
            assert metadata.partition == partition
        elif key is not None:
            assert metadata.partition == (murmur2(key) & 0x7FFFFFFF) % PARTITIONS


def test_room_that_others_take_first_does_not_begin_the_wait_anew() -> None:
    """`since` is the moment at which the record began to wait, however often it is disappointed."""
    path = Path(buffer_memory=5000, batch_size=1000)
    waits: list[tuple[int, float]] = []
    now = 100.0
    with pytest.raises(errors.BufferFull):
        path.send_many(TOPIC, [b"x" * 400] * 100, nowait=True)
    path.know()

    def others_are_quicker(size: int, since: float) -> None:
        nonlocal now
        waits.append((size, since))
        now += 1.0
        path.accumulator.set_clock(now, 1_700_000_000_000)
        if len(waits) == 5:
            for batch in path.drain():
                path.accumulator.complete(batch, 0, -1, None)

    path.accumulator.wait_for_room = others_are_quicker
    path.send(TOPIC, b"y" * 600)
    [(size, since)] = set(waits)
    assert len(waits) == 5
    assert since == 100.0
    assert 600 < size < 700


def test_send_lets_the_queue_drain_before_it_opens_a_batch_beyond_plenty_unless_it_may_not_wait() -> None:
    path = Path(batch_size=1 << 20)
    path.send(TOPIC, b"x")
    path.know()
    drains: list[int] = []
    path.accumulator.let_drain = lambda: drains.append(path.accumulator.queued)
    values = [b"x" * 1000] * 6000
    path.send_many(TOPIC, values, nowait=True)
    assert (4 << 20) <= path.accumulator.queued <= path.accumulator.used
    assert drains == []
    path.send_many(TOPIC, values[:3000])
    assert drains
    assert min(drains) >= 4 << 20
    for batch in path.drain():
        path.accumulator.complete(batch, 0, -1, None)
    assert path.accumulator.queued == path.accumulator.used == 0
    drains.clear()
    path.send_many(TOPIC, values[:3000])
    assert drains == []


def test_send_does_not_pause_where_batches_are_not_filled() -> None:
    path = Path(batch_size=1 << 20)
    path.send(TOPIC, b"x")
    path.know(200)
    drains: list[int] = []
    path.accumulator.let_drain = lambda: drains.append(path.accumulator.queued)
    for _ in range(2):
        for partition in range(200):
            path.send(TOPIC, b"x" * 30_000, partition=partition)
        path.drain()
    assert path.accumulator.queued > 4 << 20
    path.send(TOPIC, b"x", partition=0)
    assert drains == []


def test_memory_is_counted_and_given_back() -> None:
    gc.collect()
    before = pool_statistics()["live_blocks"]
    path = Path(buffer_memory=5000, batch_size=1000)
    path.send(TOPIC, b"x")
    path.know()
    with pytest.raises(errors.BufferFull, match="buffer_memory=5000"):
        path.send_many(TOPIC, [b"x" * 400] * 100, nowait=True)
    assert 4000 < path.accumulator.used <= 5000
    for batch in path.drain():
        path.accumulator.complete(batch, 0, -1, None)
    assert path.accumulator.used == 0
    del path, batch
    gc.collect()
    assert pool_statistics()["live_blocks"] <= before


def test_sequences_go_on_and_begin_anew_under_another_epoch() -> None:
    path = Path(batch_size=0)
    path.send(TOPIC, b"0", partition=0)
    path.know()
    path.send_many(TOPIC, [b"1", b"2"], partition=0)
    taken = path.drain()
    queue = taken[0].queue
    queue.sequences.begin(7, 0)
    for batch in taken:
        queue.sequences.assign(batch)
    assert [batch.base_sequence for batch in taken] == [0, 1, 2]
    data = bytes(taken[2].seal(2, 0, None))
    queue.sequences.assign(taken[2])
    assert bytes(taken[2].seal(2, 0, None)) == data, "sent again, it is the same bytes"
    queue.reenqueue(taken[2])
    queue.sequences.renew(queue, 7, 1)
    queue.sequences.assign(taken[2])
    header = records.decode(taken[2].seal(2, 0, None)).batches[0]
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 0)


@pytest.mark.parametrize("codec", [0, 1, 2, 3])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_batch_is_written_as_a_message_set_for_an_older_leader(magic: int, codec: int) -> None:
    path = Path()
    path.send_many(TOPIC, [(b"%d" % n, b"k", 1000 + n, ()) for n in range(20)], partition=0)
    path.know()
    [batch] = path.drain()
    batch.seal(2, 4, None)
    content = read(batch, magic, codec)
    assert content.values() == [b"%d" % n for n in range(20)]
    assert [r.timestamp for r in content] == [1000 + n if magic else -1 for n in range(20)]
    assert {header.magic for header in content.batches} == {magic}
    assert read(batch, 2, 3).values() == content.values()


def test_what_is_internal_cannot_be_made_or_pickled() -> None:
    path = Path()
    delivery = path.send(TOPIC, b"v")
    with pytest.raises(TypeError):
        Delivery()
    for thing in (delivery, path.accumulator):
        with pytest.raises(TypeError):
            pickle.dumps(thing)
    bare: Any = PartitionQueue.__new__(PartitionQueue)
    with pytest.raises(AttributeError):
        bare.name  # noqa: B018


def test_a_garbage_collection_in_the_middle_of_send_may_send_too() -> None:
    """A finalizer that sends runs wherever send() makes an object that the collector tracks."""
    path = Path(batch_size=150)
    path.send(TOPIC, b"first", partition=0)

    class Sly:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            sent.append(path.send(TOPIC, b"from the finalizer", partition=0))

    sent: list[Delivery] = []
    thresholds = gc.get_threshold()
    try:
        gc.set_threshold(1, 1, 1)
        for number in range(300):
            Sly()
            sent.append(path.send(TOPIC, b"%d" % number, partition=0 if number % 2 else None, key=b"k"))
            if number == 150:
                path.know(1)
    finally:
        gc.set_threshold(*thresholds)
    log: list[Any] = []
    for batch in path.drain():
        content = read(batch).values()
        path.accumulator.complete(batch, len(log), -1, None)
        log += content
    assert sorted(delivery.result().offset for delivery in sent) == list(range(1, len(sent) + 1))
    assert len(log) == len(sent) + 1
    numbers = [int(value) for value in log if value.isdigit()]
    assert numbers == list(range(300))


def test_a_send_means_the_same_however_its_arguments_are_given() -> None:
    path = Path(batch_size=10_000, partitioner="murmur2")
    path.send(TOPIC, b"")
    path.know()
    path.send(TOPIC, b"opens the batch", partition=1)
    key, partition = "".join(["k", "ey"]), "".join(["part", "ition"])  # equal to the names, and not the same objects
    path.send(TOPIC, b"a", key=b"k", partition=1)
    path.send(TOPIC, b"b", **{partition: 1, key: b"k"})
    path.send("".join(["", TOPIC]), bytearray(b"c"), partition=1, key=None, headers=[], timestamp=None)
    path.send(topic=TOPIC, value=None, partition=1, key=b"")
    found = [(r.value, r.key) for batch in path.drain() if batch.partition == 1 for r in read(batch)][-5:]
    assert found == [(b"opens the batch", None), (b"a", b"k"), (b"b", b"k"), (b"c", None), (None, b"")]


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((TOPIC,), {}),
        ((TOPIC, b"v", b"k"), {}),
        ((TOPIC, b"v"), {"keys": b"k"}),
        ((TOPIC, b"v"), {"value": b"k"}),
        ((TOPIC, "text"), {}),
        ((TOPIC, b"v"), {"key": "text"}),
        ((TOPIC, b"v"), {"callback": print}),
        ((7, b"v"), {}),
    ],
)
def test_a_send_of_wrong_arguments_is_refused_and_leaves_nothing(arguments: Any, keywords: Any) -> None:
    path = Path(batch_size=10_000)
    path.send(TOPIC, b"opens the batch")
    used = path.accumulator.used
    with pytest.raises(TypeError):
        path.send(*arguments, **keywords)
    assert path.accumulator.used == used


@pytest.mark.parametrize("partition", [-1, 1.0, True, 2**31, 2**70])
def test_a_partition_that_is_none_is_refused(partition: Any) -> None:
    path = Path(batch_size=10_000)
    path.send(TOPIC, b"opens the batch")
    path.know()
    with pytest.raises(errors.ConfigError):
        path.send(TOPIC, b"v", partition=partition)


@pytest.mark.shared_memory
def test_batches_of_thousands_of_partitions_are_made_without_the_collector_running() -> None:
    """It runs once for 700 allocations that it counts, over what the process has."""
    path = Path(batch_size=1000, linger=1.0)
    path.send(TOPIC, b"")
    path.know(4096)
    path.drain()

    def to_all() -> int:
        before = gc.get_count()[0]
        for number in range(4096):
            path.send(TOPIC, b"v", partition=number)
        counted = gc.get_count()[0] - before
        for batch in path.drain():
            path.accumulator.complete(batch, 0, -1, None)
        return counted

    gc.collect()
    gc.disable()
    try:
        to_all()
        assert to_all() < 100
    finally:
        gc.enable()


def test_batches_are_due_in_the_order_of_their_opening_however_many_linger() -> None:
    """Some hundred come and go, a few at a time and many at once, past the room that their queues have at first."""
    path = Path(batch_size=1000, linger=1.0)
    path.send(TOPIC, b"")
    path.know(300)
    path.drain()
    random = Random(4)
    opened: list[tuple[int, float]] = []
    due: list[int] = []
    now = 10.0
    for turn in range(300):
        now += random.choice([0.01, 0.01, 0.5])
        path.accumulator.set_clock(now, int(1000 * now))
        path.send(TOPIC, b"v", partition=turn)
        opened.append((turn, now))
        path.accumulator.expire_linger(now)
        assert len(path.accumulator.lingering) == sum(when + 1.0 > now for _, when in opened)
        if turn % 7 == 0:
            due += [queue.partition for queue in path.accumulator.route_ready()]
            assert due == [partition for partition, when in opened if when + 1.0 <= now]
