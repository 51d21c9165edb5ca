"""What of the records handed out the caller has, and what it is done with."""

from __future__ import annotations

from kwire import records
from kwire.engine.calls.offsets import EARLIEST
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.hand_out import HandOut
from kwire.engine.consumer.partition_state import PartitionState
from kwire.engine.consumer.records import ConsumerRecords


def state_with(count: int, *, partition: int = 0, epochs: tuple[int, ...] = (-1,)) -> PartitionState:
    """A partition with `count` records in one chunk, in as many batches as there are epochs."""
    state = PartitionState(TopicPartition("t", partition), 1 << 20, EARLIEST)
    state.seek(0)
    data = b""
    each = count // len(epochs)
    for number, epoch in enumerate(epochs):
        batch = bytearray(records.encode([b"v"] * each, base_offset=number * each))
        batch[12:16] = epoch.to_bytes(4, "big", signed=True)
        data += bytes(batch)
    decoded = records.decode(data)
    state.add(decoded, decoded.next_offset or 0, 0)
    return state


def poll(hand_out: HandOut, *states: PartitionState, count: int = 100) -> ConsumerRecords:
    """Settles as a poll does, and hands out."""
    hand_out.settle(finished=True)
    taken = []
    for state in states:
        if state.chunks:
            hand_out.add(state)
            taken.append((state.tp, state.chunks[0].hand_out(count, None)[0]))
    return ConsumerRecords(taken)


def test_what_a_poll_returned_is_finished_by_the_next_poll() -> None:
    hand_out, state = HandOut(), state_with(4)
    poll(hand_out, state, count=3)
    hand_out.arrived = True
    assert state.finished == (0, -1)
    hand_out.settle(finished=True)
    assert state.finished == state.delivered == (3, -1)


def test_another_call_delivers_and_does_not_finish() -> None:
    hand_out, state = HandOut(), state_with(4)
    poll(hand_out, state, count=1)
    hand_out.arrived = True
    poll(hand_out, state, count=2)
    hand_out.arrived = True
    for _ in range(2):
        hand_out.settle(finished=False)
        assert state.delivered == (3, -1)
        assert state.finished == (1, -1)
    hand_out.settle(finished=True)
    assert state.finished == (3, -1)


def test_a_loop_is_done_with_all_before_its_record() -> None:
    hand_out, first, second = HandOut(), state_with(2), state_with(3, partition=1)
    iterator = iter(poll(hand_out, first, second))
    hand_out.iterator, hand_out.arrived = iterator, True
    for _ in range(4):
        next(iterator)
    hand_out.settle(finished=False)
    assert (first.finished, second.finished) == ((2, -1), (1, -1))
    assert (first.delivered, second.delivered) == ((2, -1), (2, -1))
    hand_out.settle(finished=True)
    assert second.finished == (2, -1)


def test_a_loop_that_was_given_nothing_is_done_with_nothing() -> None:
    hand_out, state = HandOut(), state_with(2)
    hand_out.iterator, hand_out.arrived = iter(poll(hand_out, state)), True
    hand_out.settle(finished=False)
    assert state.finished == state.delivered == (0, -1)


def test_a_poll_that_was_cut_finishes_nothing() -> None:
    hand_out, state = HandOut(), state_with(2)
    poll(hand_out, state)
    hand_out.settle(finished=True)
    assert state.finished == state.delivered == (0, -1)


def test_a_seek_ends_the_work_on_what_came_before() -> None:
    hand_out, state = HandOut(), state_with(2)
    poll(hand_out, state)
    hand_out.arrived = True
    hand_out.settle(finished=False)
    state.seek(40, 3)
    assert state.finished == state.delivered == (40, 3)


def test_the_epoch_is_that_of_the_record_before() -> None:
    hand_out, state = HandOut(), state_with(6, epochs=(1, 1, 4))
    for position, epoch in ((0, -1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 4), (6, 4)):
        assert state.delivered == (position, epoch)
        poll(hand_out, state, count=1)
        hand_out.arrived = True
        hand_out.settle(finished=False)
        assert state.finished == (position, epoch)
        hand_out.settle(finished=True)


def test_a_partition_says_that_it_moved() -> None:
    hand_out, state = HandOut(), state_with(2)
    state.moved = moved = set()
    poll(hand_out, state, count=1)
    assert not moved
    hand_out.arrived = True
    hand_out.settle(finished=True)
    assert moved == {state}
