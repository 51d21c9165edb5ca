"""What a consumer waits for: records, and a position.

Layer 3, no I/O: generators of `kwire.engine.common.waits`. When a poll may return, and what, is in `polling.py`.
"""

from __future__ import annotations

from functools import partial
from math import inf

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.waits import Turn, Until

if TYPE_CHECKING:
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.common.waits import Door, Wait
    from kwire.engine.consumer.deserialization import Deserialization
    from kwire.engine.consumer.hand_out import HandOut
    from kwire.engine.consumer.polling import Polling
    from kwire.engine.consumer.records import ConsumerRecords
    from kwire.engine.groups.rebalances import Rebalances


READ_AT_ONCE = 256
"""Records that deserializers read before the loop may turn."""


def poll(
    door: Door, polling: Polling, rebalances: Rebalances | None, timeout: float | None, max_records: int | None
) -> Wait[ConsumerRecords]:
    """Records, as soon as there are any; none after `timeout` seconds (None: no limit)."""
    door.call(polling.begin)
    deadline = inf if timeout is None else door.now() + timeout
    try:
        ready = yield Turn(polling.ready)
        if rebalances is not None:
            door.check_may_tell()
            if (yield from rebalances.follow()):
                ready = False
        while not ready and (left := deadline - door.now()) > 0:
            if (yield Until(polling.ready, min(left, polling.look_every))) and (
                rebalances is None or not (yield from rebalances.follow())
            ):
                break
            door.call(polling.check)
    except BaseException:
        if rebalances is not None:
            rebalances.end_failed_poll()
        raise
    return door.call(partial(polling.take_records, max_records))


def deserialized(
    polled: Wait[ConsumerRecords], door: Door, hand_out: HandOut, deserialization: Deserialization
) -> Wait[ConsumerRecords]:
    """The records of a poll with their keys and values read; those from the first that cannot be on wait again."""
    records = yield from polled
    yield from deserialization.preparations(records)
    reading = deserialization.reading(records)
    while reading.go_on(READ_AT_ONCE):
        yield Turn(_is_at_hand)
    made = reading.result()
    if len(made) < len(records):
        door.call(lambda now: hand_out.limit(len(made)))
    return made


def position(door: Door, polling: Polling, tp: TopicPartition, patience: float) -> Wait[int]:
    """The position of an assigned partition; its fault, or a time-out after so many seconds."""
    door.call(lambda now: polling.look_up(tp, now))
    yield Until(lambda: polling.has_position(tp), patience)
    found = door.call(lambda now: polling.position(tp))
    if found is None:
        raise polling.no_position(tp, patience)
    return found


def _is_at_hand() -> bool:
    return True
