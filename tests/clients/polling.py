"""Polling several consumers by turns, as their group needs it to come to rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from kwire import Consumer
from tests.timing import PATIENT


def poll_until(consumers: Sequence[Consumer], done: Callable[[], bool]) -> None:
    """Polls each in its turn until `done()`; what they return is dropped."""
    give_up = time.monotonic() + PATIENT
    while not done():
        assert time.monotonic() < give_up, [consumer.assignment() for consumer in consumers]
        for consumer in consumers:
            consumer.poll(0.02)
