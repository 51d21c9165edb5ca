"""Fixtures for projects that test against Kafka; pytest finds them by itself where kwire is installed.

kwire_broker            a running Broker of one test, empty at its start
kwire_broker_factory    a function that takes Broker's arguments and returns a running one; all stop with the test
kwire_session_broker    one running Broker for the whole run
kwire_topic             the name of a topic of one partition on it, new for each test and deleted after it
"""

from __future__ import annotations

import re
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


@pytest.fixture(scope="session")
def kwire_session_broker() -> Iterator[Broker]:
    """A running broker that all tests share."""
    from kwire.testing import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture
def kwire_topic(kwire_session_broker: Broker, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of an empty topic on `kwire_session_broker`, made of the test's name."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", request.node.name)[:249]
    if name in kwire_session_broker.topics():
        kwire_session_broker.delete_topic(name)
    kwire_session_broker.create_topic(name)
    yield name
    if name in kwire_session_broker.topics():
        kwire_session_broker.delete_topic(name)
