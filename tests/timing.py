"""How long tests wait. They do not measure: a bound tells what must not wait from what would wait for a minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

from kwire import KafkaError

_Error = TypeVar("_Error", bound=KafkaError)

SOON = 20.0
"""Seconds in which what need not wait happens, on a busy machine too; assert it where it would else take 30 or more."""

PATIENT = 60.0
"""Seconds after which a test that waits for something fails: a tenth of what pytest-timeout allows."""


def raised_at_last(call: Callable[[], object], kind: type[_Error], words: str = "") -> _Error:
    """The first error of a kind and with words; on a busy machine a call may raise others of kwire's before."""
    give_up = time.monotonic() + PATIENT
    while True:
        with pytest.raises(KafkaError) as caught:
            call()
        if isinstance(caught.value, kind) and words in str(caught.value):
            return caught.value
        assert time.monotonic() < give_up, caught.value
