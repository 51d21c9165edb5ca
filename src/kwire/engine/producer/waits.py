"""What a producer waits for: that all is delivered, room for more, and its end.

Layer 3, no I/O: generators of `kwire.engine.common.waits`. When a flush or a close is done is in `flushing.py`.
"""

from __future__ import annotations

from functools import partial

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.waits import Turn, Until, seconds_left
from kwire.engine.producer.sender import CLOSED, CLOSED_TOO_EARLY

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.engine.common.waits import Door, Wait
    from kwire.engine.producer.sender import Sender


def flush(door: Door, sender: Sender, timeout: float | None) -> Wait[None]:
    """Until all that was sent before has a result; raises the error that there is after `timeout` seconds."""
    begun = door.call(sender.flush)
    yield Until(begun.is_done, timeout)
    error = door.conclude(lambda now: begun.error(timeout or 0.0))
    if error is not None:
        raise error


def close(door: Door, sender: Sender, until: float, why: str = CLOSED_TOO_EARLY) -> Wait[None]:
    """Takes no more records, and delivers those that there are; what is left then fails because of `why`. Raises the
    error of what failed. One that is cut goes on by itself, where the client can."""
    closing = door.call(partial(sender.close, CLOSED))
    try:
        yield Until(closing.is_done, seconds_left(door, until))
    except GeneratorExit:
        door.go_on(closing)
        raise
    error = door.conclude(lambda now: closing.finish(why))
    if error is not None:
        raise error


def until(done: Callable[[], bool]) -> Wait[None]:
    """Until it is done."""
    yield Until(done, None)


def drain(door: Door, sender: Sender, has_room: Callable[[], bool]) -> Wait[None]:
    """Until has_room(); sends what lingers, to make some. Where there is some, others have their turn."""
    if has_room():
        yield Turn(has_room)
    else:
        door.call(sender.flush)
        yield Until(has_room, None)
