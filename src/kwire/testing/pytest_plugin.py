"""Fixtures for projects that test against Kafka; pytest finds them by itself where kwire is installed.

kwire_broker            a running Broker of one test, empty at its start
kwire_broker_factory    a function that takes Broker's arguments and gives a running one; all stop with the test
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kwire.testing import Broker


@pytest.fixture
def kwire_broker_factory() -> Iterator[Callable[..., Broker]]:
    """Starts brokers for one test; see `kwire.testing.Broker` for the arguments."""
    from kwire.testing import Broker

    with ExitStack() as started:

        def start(**options: Any) -> Broker:
            return started.enter_context(Broker(**options))

        yield start


@pytest.fixture
def kwire_broker(kwire_broker_factory: Callable[..., Broker]) -> Broker:
    """A running broker of the newest release."""
    return kwire_broker_factory()
