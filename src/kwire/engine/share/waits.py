"""What a share consumer waits for: records, and the last acknowledgements before it closes.

Layer 3, no I/O: generators of `kwire.engine.common.waits`. When a poll may return, and what, is in `polling.py`.
"""

from __future__ import annotations

from math import inf

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.waits import Turn, Until
from kwire.engine.consumer.polling import LOOK_EVERY_S

if TYPE_CHECKING:
    from kwire.engine.common.waits import Door, Wait
    from kwire.engine.share.polling import SharePolling
    from kwire.engine.share.records import ShareRecords


def poll(door: Door, polling: SharePolling, timeout: float | None, max_records: int | None) -> Wait[ShareRecords]:
    """Records acquired, as soon as there are any; none after `timeout` seconds (None: no limit)."""
    door.call(polling.begin)
    try:
        deadline = inf if timeout is None else door.now() + timeout
        ready = yield Turn(polling.ready)
        while not ready and (left := deadline - door.now()) > 0:
            if (yield Until(polling.ready, min(left, LOOK_EVERY_S))):
                break
            door.call(polling.check)
        return door.call(lambda now: polling.take(max_records, now))
    finally:
        door.clean_up(polling.end)


def close(door: Door, polling: SharePolling, until: float) -> Wait[None]:
    """Tells the brokers what is acknowledged, has the rest released, and leaves the group."""
    done: list[float] = []
    door.call(lambda now: polling.close(now, done.append))
    yield Until(lambda: bool(done), max(until - door.now(), 0.0))
