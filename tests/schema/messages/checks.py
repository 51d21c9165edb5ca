"""Tests of every message, a case for each API: by Hypothesis in `make test-all`, by random messages in `make test`."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwire.schema.messages import Message
from tests.each import try_each
from tests.schema.messages.every import EXAMPLES, api_name
from tests.schema.messages.random import random_message
from tests.schema.messages.strategies import structs
from tests.thorough import THOROUGH

Check = Callable[[Any, int, Any], None]
Test = Callable[[Any, int], None]
Made = TypeVar("Made", bound=Callable[..., None])


def by_api(messages: Iterable[tuple[type[Message], int]]) -> Callable[[Test], Callable[[str], None]]:
    """Makes of a test `(cls, version)` a case for each API, which tries all of its messages."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for cls, version in messages:
        rows.setdefault(api_name(cls), []).append({"cls": cls, "version": version})

    def made(test: Test) -> Callable[[str], None]:
        def tests(api: str) -> None:
            try_each(test, rows[api])

        parametrized: Callable[[str], None] = pytest.mark.parametrize("api", rows)(_named_like(test, tests))
        return parametrized

    return made


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
        limits = settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))

        def test(cls: Any, version: int) -> None:
            def search(data: st.DataObject) -> None:
                check(cls, version, data.draw(structs(cls, version)))

            # Hypothesis keeps failures by signature: without one of its own, a case drops those of the others.
            own = inspect.signature(search).replace(return_annotation=f"{check.__name__} {cls.__name__} {version}")
            search.__signature__ = own  # type: ignore[attr-defined]
            limits(given(data=st.data())(_named_like(check, search)))()

        return _named_like(check, test)

    return made


def _named_like(check: Callable[..., None], test: Made) -> Made:
    test.__name__, test.__qualname__, test.__doc__ = check.__name__, check.__qualname__, check.__doc__
    return test
