"""A broker and reactors for every test of the drivers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kwire.drivers.reactor import Reactor
from kwire.engine.core import Core
from kwire.engine.settings.clients import ClientSettings
from kwire.testing import Broker
from tests.drivers.waiting import Make


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as running:
        yield running


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Reactor] = []

    def reactor(servers: str, *, background: bool = False, **settings: Any) -> Reactor:
        core = Core(ClientSettings(bootstrap_servers=servers, **settings), lambda: 0.5)
        made.append(Reactor(core, background=background, name="test"))
        return made[-1]

    yield reactor
    for each in made:
        each.close()
