"""The timers of a client."""

from __future__ import annotations

import gc

from kwire._codec import Timers

COMPACT_AT = 64


def test_cancelled_timers_are_forgotten_long_before_their_time() -> None:
    timers = Timers()
    kept = timers.call_at(1e9, lambda now: None)
    for _ in range(100 * COMPACT_AT):
        timers.call_at(1e8, lambda now: None).cancel()
    (heap,) = (each for each in gc.get_referents(timers) if isinstance(each, list))
    assert len(heap) <= COMPACT_AT + 2
    assert (timers.next_moment(), kept.active) == (1e9, True)
