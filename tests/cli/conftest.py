"""A `kwire` that is run inside the test, and a broker that it finds by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kwire import protocol
from kwire.cli.connecting import CONFIG_VARIABLE, PROFILE_VARIABLE, VARIABLE
from kwire.testing import Broker
from tests.cli.shell import Outcome, run

Kwire = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def _no_settings_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The profiles and variables of whoever runs the tests are none of theirs."""
    for name in (VARIABLE, CONFIG_VARIABLE, PROFILE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-settings"))


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """A broker with the topic `orders` of three partitions, named by the environment."""
    with Broker(topics={"orders": 3}, auto_create_topics=True) as started:
        monkeypatch.setenv(VARIABLE, started.bootstrap_servers)
        yield started


@pytest.fixture
def mute_broker() -> Iterator[Broker]:
    """A broker that answers ApiVersions and Metadata, and nothing else."""
    with Broker(topics={"orders": 1, "clicks": 1}) as started:
        for key in protocol.APIS:
            name = protocol.APIS[key].name
            if name not in ("ApiVersions", "Metadata"):
                started.faults.mute(name, times=None)
        yield started


@pytest.fixture
def kwire(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kwire:
    """Runs a command; `stdin=` gives it bytes to read."""

    def command(*arguments: str, stdin: bytes = b"") -> Outcome:
        with monkeypatch.context() as patch:
            return run(patch, capsys, *arguments, stdin=stdin)

    return command
