"""The sender in virtual time: batches to leaders and back, every error that a leader may answer, retries, deadlines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kwire import errors
from kwire._codec import murmur2
from kwire.engine.common.addresses import Address
from tests.engine.produce_world import Leader, ProducerWorld
from tests.engine.world import HERE, Answer
from tests.thorough import THOROUGH


def test_a_record_arrives_and_its_delivery_says_where() -> None:
    world = ProducerWorld()
    delivery = world.send(b"v", key=b"k", headers=[("h", b"1")], timestamp=77)
    assert not delivery.done()
    assert world.complete(delivery) == [0]
    [record] = world.leader.logs["t", 0]
    assert (record.value, record.key, record.timestamp, list(record.headers)) == (b"v", b"k", 77, [("h", b"1")])
    metadata = delivery.result()
    assert (metadata.topic, metadata.partition, metadata.offset, metadata.timestamp) == ("t", 0, 0, 77)
    assert delivery.exception() is None
    assert world.accumulator.used == 0
    assert not world.accumulator.pending


def test_a_record_without_timestamp_has_the_time_of_sending() -> None:
    world = ProducerWorld()
    delivery = world.send(b"v")
    sent_at = int(world.now * 1000)
    world.complete(delivery)
    assert world.leader.logs["t", 0][0].timestamp == sent_at == delivery.result().timestamp


def test_records_gather_while_they_linger_and_leave_together() -> None:
    world = ProducerWorld(linger_ms=20)
    world.complete(world.send(b"first"))
    before = len(world.leader.produced())
    begin = world.now
    deliveries = [world.send(b"%d" % i) for i in range(10)]
    assert world.complete(*deliveries) == list(range(1, 11))
    assert len(world.leader.produced()) == before + 1
    assert 0.02 <= world.now - begin < 0.03


def test_a_full_batch_does_not_linger() -> None:
    world = ProducerWorld(linger_ms=10_000, batch_size=1000)
    world.complete(*[world.send(b"x" * 100) for _ in range(9)][:1])
    begin = world.now
    deliveries = [world.send(b"x" * 100) for _ in range(18)]
    world.complete(*deliveries[:15])
    assert world.now - begin < 0.1
    assert not deliveries[17].done()


def test_a_driver_that_may_come_late_sends_what_lingers_before_its_time() -> None:
    world = ProducerWorld(linger_ms=20)
    world.complete(world.send(b"first"))
    before = len(world.leader.produced())
    begin = world.now
    delivery = world.send(b"second")
    world.core.run_early(0.019, world.now)
    world.run(begin + 0.005)
    assert len(world.leader.produced()) == before
    world.core.run_early(0.02, world.now)
    world.run(begin + 0.01)
    assert len(world.leader.produced()) == before + 1
    assert delivery.done()


def test_send_says_nothing_of_more_batches_while_the_leader_has_all_it_may_have() -> None:
    world = ProducerWorld(linger_ms=0, enable_idempotence=False, max_in_flight_requests_per_connection=2)
    world.complete(world.send(b"first"))
    pumped: list[float] = []
    world.accumulator.on_attention = lambda: (pumped.append(world.now), world.sender.pump(world.now))
    deliveries = [world.send(b"%d" % i) for i in range(20)]
    assert len(pumped) == 2
    world.complete(*deliveries)
    assert world.leader.values() == [b"first", *[b"%d" % i for i in range(20)]]
    world.complete(world.send(b"last"))
    assert len(pumped) == 3


def test_linger_zero_sends_at_once() -> None:
    world = ProducerWorld(linger_ms=0)
    world.complete(world.send(b"a"))
    begin = world.now
    world.complete(world.send(b"b"))
    assert world.now - begin < 0.005


def test_keys_go_where_javas_murmur2_says() -> None:
    world = ProducerWorld(topics={"t": [0] * 5})
    keys = [b"key %d" % i for i in range(50)]
    world.complete(*[world.send(key, key=key) for key in keys])
    for (_, partition), log in world.leader.logs.items():
        for record in log:
            assert (murmur2(record.key) & 0x7FFFFFFF) % 5 == partition
    assert sorted(world.leader.values()) == sorted(keys)


@pytest.mark.parametrize(
    ("key", "hashed"),
    [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536),
     (b"a-little-bit-longer-string", -1486304829), (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
     (b"abc", 479470107)],
)  # fmt: skip
def test_murmur2_is_javas(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


def test_records_without_key_stick_to_a_partition_and_then_spread() -> None:
    world = ProducerWorld(topics={"t": [0] * 8}, batch_size=1000)
    world.complete(world.send(b"x"))
    world.complete(*[world.send(b"x" * 90) for _ in range(400)])
    counts = [len(world.leader.logs.get(("t", partition), [])) for partition in range(8)]
    assert sum(counts) == 401
    assert min(counts) > 10
    partly_filled = [header.count for _, _, header in world.leader.appended_batches if header.count < 8]
    assert len(partly_filled) <= 2, "all but the first and the last are filled before the next partition is chosen"


def test_no_record_without_key_goes_to_a_partition_without_leader() -> None:
    world = ProducerWorld(topics={"t": [0, -1, 0, -1]}, batch_size=200)
    world.complete(*[world.send(b"x" * 50) for _ in range(60)])
    assert {partition for _, partition in world.leader.logs} == {0, 2}


def test_an_explicit_partition_is_obeyed_before_and_after_metadata() -> None:
    world = ProducerWorld(topics={"t": [0] * 4})
    first = world.send(b"early", partition=3)
    world.complete(first)
    world.complete(world.send(b"late", partition=2, key=b"ignored for the choice"))
    assert first.result().partition == 3
    assert world.leader.values("t", 3) == [b"early"]
    assert world.leader.values("t", 2) == [b"late"]


def test_staged_records_keep_their_order_and_find_their_deliveries() -> None:
    world = ProducerWorld(topics={"t": [0] * 3}, batch_size=300)
    sent = [(b"%d" % i, b"key %d" % (i % 7)) for i in range(200)]
    deliveries = [world.send(value, key=key) for value, key in sent]
    assert world.accumulator.topics["t"].has_unassigned
    world.complete(*deliveries)
    for delivery, (value, key) in zip(deliveries, sent, strict=True):
        metadata = delivery.result()
        record = world.leader.logs["t", metadata.partition][metadata.offset]
        assert (record.value, record.key) == (value, key)
    for partition in range(3):
        numbers = [int(value) for value in world.leader.values("t", partition)]
        assert numbers == sorted(numbers)


def test_five_requests_are_under_way_and_no_more() -> None:
    world = ProducerWorld(linger_ms=0, batch_size=0, max_request_size=600)
    world.complete(world.send(b"x"))
    world.leader.latency = 5.0
    before = len(world.leader.produced())
    deliveries = [world.send(b"%d" % i) for i in range(12)]
    world.run(world.now + 1)
    assert len(world.accumulator.topics["t"].queues[0].in_flight) == 5
    world.complete(*deliveries)
    assert world.leader.values() == [b"x", *[b"%d" % i for i in range(12)]]
    assert len(world.leader.produced()) == before + 12


def test_one_request_carries_one_batch_of_each_partition() -> None:
    world = ProducerWorld(topics={"t": [0] * 6, "u": [0]})
    world.complete(world.send(b"x", partition=0), world.send(b"x", "u"))
    before = len(world.leader.produced())
    world.complete(*[world.send(b"y", partition=n) for n in range(6)], world.send(b"z", "u"))
    [(_, request)] = world.leader.produced()[before:]
    assert sum(len(topic.partition_data) for topic in request.topic_data) == 7


def test_requests_go_to_the_leader_of_each_partition() -> None:
    leaders = [Leader("4.4.0", n, Address("abc"[n], 1)) for n in range(3)]
    world = ProducerWorld(*leaders, topics={"t": [0, 1, 2, 0]})
    world.complete(*[world.send(b"%d" % n, partition=n) for n in range(4)])
    assert [leader.values() for leader in leaders] == [[b"0", b"3"], [b"1"], [b"2"]]


@pytest.mark.parametrize(
    ("release", "version", "magic"),
    [("4.4.0", 13, 2), ("3.9.2", 11, 2), ("0.11.0.3", 3, 2), ("0.10.2.2", 2, 1), ("0.10.0.1", 2, 1)],
)
def test_the_record_format_follows_the_version(release: str, version: int, magic: int) -> None:
    world = ProducerWorld(Leader(release))
    deliveries = [world.send(b"%d" % i, timestamp=5000 + i) for i in range(3)]
    assert world.complete(*deliveries) == [0, 1, 2]
    assert world.leader.produced()[0][0] == version
    assert world.leader.appended_batches[0][2].magic == magic
    assert [record.timestamp for record in world.leader.logs["t", 0]] == [5000, 5001, 5002]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec(codec: str) -> None:
    world = ProducerWorld(compression=codec)
    sent = [b"%d" % i * 20 for i in range(50)]
    world.complete(*[world.send(value) for value in sent])
    assert world.leader.values() == sent
    assert {header.compression for _, _, header in world.leader.appended_batches} == {codec}


def test_zstd_and_a_broker_that_cannot_read_it() -> None:
    world = ProducerWorld(Leader("1.1.1"), compression="zstd")
    delivery = world.send(b"v")
    world.run(delivery.done)
    with pytest.raises(errors.UnknownCodecError, match=r"Produce 5.*lz4"):
        delivery.result()


def test_headers_that_the_leader_cannot_take_fail_their_record_alone() -> None:
    world = ProducerWorld(Leader("0.10.2.2"))
    deliveries = [world.send(b"%d" % i, headers=[("h", b"")] if i in (1, 4) else ()) for i in range(6)]
    world.run(lambda: all(delivery.done() for delivery in deliveries))
    assert world.leader.values() == [b"0", b"2", b"3", b"5"]
    assert [deliveries[i].result().offset for i in (0, 2, 3, 5)] == [0, 1, 2, 3]
    for i in (1, 4):
        with pytest.raises(errors.CodecError, match=r"t-0.*magic 1.*headers"):
            deliveries[i].result()


# -- errors of leaders ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [3, 5, 6, 7, 19, 20])
def test_retriable_errors_are_tried_again(code: int) -> None:
    world = ProducerWorld()
    world.leader.script = [code, code, None]
    begin = world.now
    assert world.complete(*[world.send(b"%d" % i) for i in range(3)]) == [0, 1, 2]
    assert world.leader.values() == [b"0", b"1", b"2"]
    assert len(world.leader.produced()) == 3
    assert world.now - begin > 0.2, "there is a wait before each retry"


@pytest.mark.parametrize("code", [17, 29, 87])
def test_other_errors_fail_the_batch_with_their_name(code: int) -> None:
    world = ProducerWorld()
    world.leader.script = [code]
    delivery = world.send(b"v")
    world.run(delivery.done)
    error = delivery.exception()
    assert isinstance(error, errors.BrokerError)
    assert error.code == code
    assert "t-0: as the script says" in str(error)
    assert world.complete(world.send(b"next")) == [0]


def test_an_error_ends_after_so_many_retries() -> None:
    world = ProducerWorld(retries=2, enable_idempotence=False)
    world.leader.script = [7] * 10
    delivery = world.send(b"v")
    world.run(delivery.done)
    assert len(world.leader.produced()) == 3
    assert isinstance(delivery.exception(), errors.BrokerError)


def test_a_moved_leader_is_found() -> None:
    leaders = [Leader("4.4.0", n, Address("ab"[n], 1)) for n in range(2)]
    world = ProducerWorld(*leaders)
    world.complete(world.send(b"0"))

    def move(leader: Leader, read: Any) -> int:
        for one in leaders:
            one.topics = {"t": [1]}
        return 6

    leaders[0].script = [move]
    world.complete(world.send(b"1"))
    assert [leader.values() for leader in leaders] == [[b"0"], [b"1"]]


def test_brokers_that_have_left_the_cluster_are_forgotten() -> None:
    world = ProducerWorld()
    for node in range(5):
        world.leader.brokers, world.leader.topics = {node: HERE}, {"t": [node]}
        world.core.cluster.refresh(world.now)
        world.run(world.now + 2)
        world.complete(world.send(b"%d" % node))
        world.sender._wake_at(f"quiet {node}", world.now + 1)
        assert node in world.sender._sinks
        assert len(world.sender._sinks) <= 2
        assert len(world.sender._timers) <= 3
    assert world.leader.values() == [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize("fault", ["unseen", "unheard"])
@pytest.mark.parametrize("idempotent", [True, False])
def test_a_lost_connection_loses_nothing_and_idempotence_doubles_nothing(fault: str, idempotent: bool) -> None:
    world = ProducerWorld(enable_idempotence=idempotent, linger_ms=0, batch_size=0)
    world.complete(world.send(b"x"))
    world.leader.script = [None, fault]
    sent = [b"%d" % i for i in range(8)]
    world.complete(*[world.send(value) for value in sent])
    values = world.leader.values()
    if idempotent:
        assert values == [b"x", *sent]
    else:
        assert set(values) == {b"x", *sent}


class Confused(Leader):
    """Answers the first Produce request with a foreign correlation id."""

    confused = False

    def answer(self, frame: bytes, now: float) -> Answer:
        answer = super().answer(frame, now)
        if frame[4:6] == b"\0\0" and answer and not self.confused:
            self.confused = True
            return [answer[0][:4] + b"\0\0\x7f\x7f" + answer[0][8:]]
        return answer


def test_batches_lost_to_a_foreign_correlation_id_are_sent_again() -> None:
    world = ProducerWorld(Confused(), linger_ms=0, batch_size=0)
    deliveries = [world.send(b"%d" % i) for i in range(3)]
    assert world.complete(*deliveries) == [0, 1, 2]
    assert world.leader.values() == [b"0", b"1", b"2"]
    assert world.leader.connections > 1


def test_pipelined_batches_stay_in_order_when_the_first_is_refused() -> None:
    world = ProducerWorld(linger_ms=0, batch_size=0, max_request_size=600)
    world.complete(world.send(b"x"))
    world.leader.script = [7]
    sent = [b"%d" % i for i in range(10)]
    world.complete(*[world.send(value) for value in sent])
    assert world.leader.values() == [b"x", *sent]


def test_a_batch_too_large_for_the_broker_is_split_until_it_fits() -> None:
    world = ProducerWorld(batch_size=100_000)

    def at_most_40(leader: Leader, read: Any) -> int:
        return 10 if len(read) > 40 else 0

    world.leader.script = [at_most_40] * 50
    sent = [b"%d" % i * 10 for i in range(300)]
    deliveries = [world.send(value) for value in sent]
    assert world.complete(*deliveries) == list(range(300))
    assert world.leader.values() == sent
    assert world.accumulator.used == 0


def test_a_compressed_batch_is_split_too() -> None:
    world = ProducerWorld(batch_size=100_000, compression="lz4")
    world.leader.script = [10, None]
    sent = [b"%d" % i * 10 for i in range(100)]
    assert world.complete(*[world.send(value) for value in sent]) == list(range(100))
    assert world.leader.values() == sent


def test_a_single_record_too_large_fails() -> None:
    world = ProducerWorld()
    world.leader.script = [10]
    delivery = world.send(b"v")
    world.run(delivery.done)
    assert getattr(delivery.exception(), "code", None) == 10


def test_throttling_is_obeyed() -> None:
    world = ProducerWorld(linger_ms=0)
    world.leader.throttle = 2000
    world.complete(world.send(b"a"))
    begin = world.now
    world.leader.throttle = 0
    world.complete(world.send(b"b"))
    assert world.now - begin >= 1.9


# -- sequences --------------------------------------------------------------------------------------------------------


def sequences(world: ProducerWorld) -> list[tuple[int, int, int]]:
    return [
        (header.producer_id, header.producer_epoch, header.base_sequence)
        for _, _, header in world.leader.appended_batches
    ]


def test_sequences_count_records_of_each_partition() -> None:
    world = ProducerWorld(topics={"t": [0, 0]}, linger_ms=0)
    for _ in range(3):
        world.complete(world.send(b"a", partition=0), world.send(b"b", partition=0), world.send(b"c", partition=1))
    found = {
        partition: [h.base_sequence for _, p, h in world.leader.appended_batches if p == partition]
        for partition in (0, 1)
    }
    assert found[1] == [0, 1, 2]
    assert found[0][0] == 0
    assert sum(header.count for _, p, header in world.leader.appended_batches if p == 0) == 6


def test_a_forgotten_producer_begins_again_with_the_next_epoch() -> None:
    world = ProducerWorld(linger_ms=0)
    world.complete(world.send(b"a"))

    def forget(leader: Leader, read: Any) -> int:
        leader.state.clear()
        return 59

    world.leader.script = [forget]
    assert world.complete(world.send(b"b"), world.send(b"c")) == [1, 2]
    assert [(epoch, sequence) for _, epoch, sequence in sequences(world)][:2] == [(0, 0), (1, 0)]
    assert world.leader.values() == [b"a", b"b", b"c"]


def test_a_gap_that_the_broker_sees_is_closed_by_a_new_epoch() -> None:
    world = ProducerWorld(linger_ms=0, batch_size=0, max_request_size=600)
    world.complete(world.send(b"a"))

    def lose_the_tail(leader: Leader, read: Any) -> int:
        for key in leader.state:
            leader.state[key] = (0, 0, [])
        return 0

    world.leader.script = [lose_the_tail]
    sent = [b"%d" % i for i in range(6)]
    world.complete(*[world.send(value) for value in sent])
    assert world.leader.values() == [b"a", *sent]


def test_after_a_failed_batch_the_next_ones_still_arrive() -> None:
    world = ProducerWorld(linger_ms=0, batch_size=0, max_request_size=600)
    world.complete(world.send(b"a"))
    world.leader.script = [87]
    bad, *good = [world.send(b"%d" % i) for i in range(7)]
    world.complete(*good)
    assert getattr(bad.exception(), "code", None) == 87
    assert world.leader.values() == [b"a", *[b"%d" % i for i in range(1, 7)]]


def test_a_partition_in_an_old_format_gets_plain_batches_and_one_warning() -> None:
    world = ProducerWorld(topics={"t": [0, 0]}, linger_ms=0, batch_size=0, max_request_size=600)

    def keep_an_old_format(leader: Leader, read: Any) -> int:
        return 43 if read.batches[0].producer_id >= 0 else 0

    world.leader.script = [keep_an_old_format] * 100
    sent = [b"%d" % i for i in range(6)]
    deliveries = [world.send(value, partition=partition) for value in sent for partition in (0, 1)]
    world.complete(*deliveries)
    assert world.leader.values(partition=0) == world.leader.values(partition=1) == sent
    assert len(world.warnings) == 1
    assert "UNSUPPORTED_FOR_MESSAGE_FORMAT" in world.warnings[0]


def test_where_idempotence_is_demanded_an_old_format_is_an_error() -> None:
    world = ProducerWorld(linger_ms=0, enable_idempotence=True)
    world.leader.script = [43]
    delivery = world.send(b"v")
    with pytest.raises(errors.broker.UnsupportedForMessageFormatError):
        world.complete(delivery)
    assert world.warnings == []


def test_a_broker_without_producer_ids_gets_plain_batches_and_the_user_one_warning() -> None:
    world = ProducerWorld(Leader("0.10.2.2"))
    world.complete(*[world.send(b"v") for _ in range(3)])
    world.complete(world.send(b"w"))
    assert len(world.warnings) == 1
    assert "InitProducerId" in world.warnings[0]


@pytest.mark.parametrize("code", [31, 53])
def test_a_broker_that_forbids_producer_ids_gets_plain_batches(code: int) -> None:
    world = ProducerWorld()
    world.leader.init_errors = [14, code]
    assert world.complete(world.send(b"v")) == [0]
    assert sequences(world) == [(-1, -1, -1)]
    assert len(world.warnings) == 1


def test_idempotence_that_was_demanded_fails_where_it_cannot_be_had() -> None:
    world = ProducerWorld(Leader("0.10.2.2"), enable_idempotence=True)
    delivery = world.send(b"v")
    world.run(delivery.done)
    with pytest.raises(errors.BrokerError, match="InitProducerId"):
        delivery.result()
    later = world.send(b"w")
    world.run(later.done)
    assert later.exception() is not None
    assert world.leader.produced() == []


@pytest.mark.parametrize("options", [{"acks": 1}, {"acks": 0}, {"max_in_flight_requests_per_connection": 6}])
def test_idempotence_is_not_asked_for_where_it_makes_no_sense(options: dict[str, Any]) -> None:
    world = ProducerWorld(**options)
    world.complete(world.send(b"v"))
    assert not [key for key, _, _ in world.leader.requests if key == 22]
    assert world.warnings == []


# -- acks 0, deadlines, unknown topics --------------------------------------------------------------------------------


def test_acks_0_is_done_once_sent_and_knows_no_offset() -> None:
    world = ProducerWorld(acks=0)
    assert world.complete(world.send(b"v"), world.send(b"w")) == [-1, -1]
    world.run(world.now + 1)
    assert world.leader.values() == [b"v", b"w"]


def test_a_delivery_ends_at_its_deadline_whatever_happens() -> None:
    world = ProducerWorld(delivery_timeout_ms=7000)
    world.complete(world.send(b"x"))
    world.leader.paused_until = world.now + 1000
    begin = world.now
    delivery = world.send(b"v")
    world.run(delivery.done)
    assert 6.9 <= world.now - begin <= 7.1
    with pytest.raises(errors.KafkaTimeoutError, match=r"t-0.*delivery_timeout_ms=7000"):
        delivery.result()
    assert world.accumulator.used == 0


def test_the_deadline_names_the_last_error() -> None:
    world = ProducerWorld(delivery_timeout_ms=3000)
    world.leader.script = [7] * 1000
    delivery = world.send(b"v")
    world.run(delivery.done)
    with pytest.raises(errors.KafkaTimeoutError, match="REQUEST_TIMED_OUT"):
        delivery.result()


def test_records_after_an_expired_one_arrive_in_order() -> None:
    world = ProducerWorld(delivery_timeout_ms=5000, request_timeout_ms=2000, linger_ms=0)
    world.complete(world.send(b"x"))
    world.leader.paused_until = world.now + 6
    lost = world.send(b"lost")
    world.run(world.now + 3)
    kept = [world.send(b"%d" % i) for i in range(3)]
    world.run(lambda: lost.done() and all(delivery.done() for delivery in kept))
    assert world.leader.values()[-3:] == [b"0", b"1", b"2"]


def test_an_unknown_topic_fails_after_max_block_and_names_who_was_asked() -> None:
    world = ProducerWorld(max_block_ms=4000)
    begin = world.now
    delivery = world.send(b"v", "u")
    world.run(delivery.done)
    assert 3.9 <= world.now - begin <= 4.1
    with pytest.raises(errors.UnknownTopicError, match=r"topic u .*max_block_ms=4000.*a:1"):
        delivery.result()
    assert world.accumulator.used == 0


def test_a_topic_that_appears_in_time_gets_its_records() -> None:
    world = ProducerWorld(max_block_ms=4000)
    delivery = world.send(b"v", "u")
    world.run(world.now + 2)
    world.leader.topics["u"] = [0, 0]
    world.complete(delivery)
    assert world.leader.values("u") == [b"v"]


def test_a_partition_beyond_the_last_fails_by_number_and_one_that_appears_does_not() -> None:
    world = ProducerWorld(max_block_ms=4000)
    world.complete(world.send(b"x"))
    missing, appearing = world.send(b"v", partition=9), world.send(b"w", partition=1)
    world.run(world.now + 1)
    world.leader.topics["t"] = [0, 0]
    world.run(lambda: missing.done() and appearing.done())
    with pytest.raises(errors.UnknownTopicError, match=r"topic t has 2 partitions.*partition 9"):
        missing.result()
    assert world.leader.values("t", 1) == [b"w"]


def test_a_forbidden_topic_fails_at_once() -> None:
    world = ProducerWorld()
    world.leader.errors["u"] = 29
    begin = world.now
    delivery = world.send(b"v", "u")
    world.run(delivery.done)
    assert world.now - begin < 1
    assert getattr(delivery.exception(), "code", None) == 29


def test_no_broker_at_all_gives_each_address_with_its_cause() -> None:
    world = ProducerWorld(max_block_ms=3000)
    world.leader.refuses = "connection refused"
    delivery = world.send(b"v")
    world.run(delivery.done)
    with pytest.raises(errors.ConnectError, match=r"a:1: .*connection refused"):
        delivery.result()


# -- callbacks, interrupts --------------------------------------------------------------------------------------------


def test_callbacks_are_left_to_the_driver_and_run_once() -> None:
    world = ProducerWorld()
    seen: list[Any] = []
    delivery = world.send(b"v")
    delivery.add_done_callback(seen.append)
    world.complete(delivery)
    assert seen == []
    while world.core.after_step:
        world.core.after_step.popleft()()
    assert seen == [delivery]
    delivery.add_done_callback(seen.append)
    assert seen == [delivery, delivery]


class Waiter:
    """A future of an event loop that runs on another thread."""

    def __iter__(self) -> Iterator[Waiter]:
        yield self


def test_tasks_on_another_thread_go_on_while_others_are_still_to_be_woken() -> None:
    """Each takes its future off the batch as soon as it runs, which may be at once."""
    world = ProducerWorld()
    waiting: dict[Waiter, Any] = {}
    woken: list[Waiter] = []

    def wake(future: Waiter) -> None:
        woken.append(future)
        waiting[future].close()

    world.accumulator.future_for = lambda delivery: Waiter()
    world.accumulator.settle_future = wake
    deliveries = [world.send(b"v") for _ in range(5)]
    for delivery in deliveries:
        task: Any = delivery.__await__()
        waiting[next(task)] = task
    world.complete(*deliveries)
    assert woken == list(waiting)


def test_callbacks_follow_records_that_were_staged_and_split() -> None:
    world = ProducerWorld(batch_size=100_000)
    world.leader.script = [10, 10, None]
    seen: list[int] = []
    for _ in range(20):
        world.send(b"v").add_done_callback(lambda done: seen.append(done.result().offset))
    world.run(lambda: not world.accumulator.pending)
    while world.core.after_step:
        world.core.after_step.popleft()()
    assert sorted(seen) == list(range(20))


@pytest.mark.parametrize("moment", range(0, 60, 3))
def test_an_interrupted_step_loses_and_doubles_nothing(moment: int) -> None:
    world = ProducerWorld(topics={"t": [0, 0, 0]}, linger_ms=0, batch_size=200)
    sent = [b"%d" % i for i in range(120)]
    deliveries = []
    for i, value in enumerate(sent):
        deliveries.append(world.send(value, partition=i % 3))
        if i == moment:
            world.core.recover(world.now)
        world.run(world.now + 0.0007)
    world.complete(*deliveries)
    assert sorted(world.leader.values()) == sorted(sent)
    for partition in range(3):
        numbers = [int(value) for value in world.leader.values("t", partition)]
        assert numbers == sorted(numbers)


def test_a_random_storm_of_faults_loses_doubles_and_reorders_nothing() -> None:
    faults = [None, 7, None, "unheard", 6, None, "unseen", None, 5, "unheard", None, 19]
    for seed in range(40 if THOROUGH else 10):
        world = ProducerWorld(topics={"t": [0, 0, 0]}, linger_ms=1, batch_size=300)
        world.leader.most_records = 4
        world.leader.script = [faults[(seed * 7 + i * i) % len(faults)] for i in range(60)]
        sent, deliveries = [], []
        for i in range(300):
            sent.append(b"%d" % i)
            deliveries.append(world.send(sent[-1], partition=i % 3))
            world.run(world.now + 0.0005)
        world.complete(*deliveries)
        assert sorted(world.leader.values()) == sorted(sent), f"seed {seed}"
        for partition in range(3):
            numbers = [int(value) for value in world.leader.values("t", partition)]
            assert numbers == sorted(numbers), f"seed {seed}"
