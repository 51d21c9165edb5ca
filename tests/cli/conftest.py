"""A `kwire` that is run inside the test, and a broker that it finds by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kwire.cli.connecting import VARIABLE
from kwire.testing import Broker
from tests.cli.shell import Outcome, run

Kwire = Callable[..., Outcome]


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """A broker with the topic `orders` of three partitions, named by the environment."""
    with Broker(topics={"orders": 3}, auto_create_topics=True) as started:
        monkeypatch.setenv(VARIABLE, started.bootstrap_servers)
        yield started


@pytest.fixture
def kwire(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kwire:
    """Runs a command; `stdin=` gives it bytes to read."""

    def command(*arguments: str, stdin: bytes = b"") -> Outcome:
        with monkeypatch.context() as patch:
            return run(patch, capsys, *arguments, stdin=stdin)

    return command
