"""Tests of every message: `make test-all` has Hypothesis search for messages, `make test` takes random ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.schema.messages.every import EXAMPLES
from tests.schema.messages.random import random_message
from tests.schema.messages.strategies import structs
from tests.thorough import THOROUGH

Check = Callable[[Any, int, Any], None]
Test = Callable[[Any, int], None]


def with_messages(count: int = EXAMPLES) -> Callable[[Check], Test]:
    """Makes of a check `(cls, version, message)` a test `(cls, version)` that asks it about `count` messages."""
    return _searched(count) if THOROUGH else with_random_messages(count)


def with_random_messages(count: int) -> Callable[[Check], Test]:
    """The same where what matters is how many, not which: in `make test-all`, too, the messages are those of a seed."""

    def made(check: Check) -> Test:
        def test(cls: Any, version: int) -> None:
            rng = random.Random(f"{cls.__name__} {version}")
            for _ in range(count):
                check(cls, version, random_message(cls, version, rng))

        return _named_like(check, test)

    return made


def _searched(count: int) -> Callable[[Check], Test]:
    def made(check: Check) -> Test:
        def test(cls: Any, version: int, data: st.DataObject) -> None:
            check(cls, version, data.draw(structs(cls, version)))

        limits = settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
        found: Test = limits(given(data=st.data())(_named_like(check, test)))
        return found

    return made


def _named_like(check: Check, test: Any) -> Any:
    test.__name__, test.__qualname__, test.__doc__ = check.__name__, check.__qualname__, check.__doc__
    return test
