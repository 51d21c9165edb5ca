"""Which warnings of the clients, and which errors, become lines of a command."""

from __future__ import annotations

import argparse
import logging
import threading
from collections.abc import Callable

import pytest

from kwire.cli import trouble
from kwire.cli.output import tell
from kwire.cli.trouble import trouble_on_stderr
from kwire.engine.common.outage import Outage, RefusalWarning
from kwire.engine.common.retry import Backoff
from kwire.errors import AuthError, KafkaError, KafkaTimeoutError

LOGGER = logging.getLogger("kwire.drivers")
REASON = "SaslAuthenticate (PLAIN): wrong password"


def told(tell: Callable[[Outage], object]) -> str:
    """The warning as the engine makes it."""
    warnings: list[str] = []
    tell(Outage(lambda: "the broker at h:1", warnings.append))
    return warnings[0]


REFUSED = told(lambda outage: outage.refuses(REASON, Backoff(1000, 30000, lambda: 0.5), 0.0))
LOST = told(lambda outage: outage.lasts("refused", 1.0, 0.0))


def test_only_the_warning_about_a_refusal_says_so() -> None:
    assert isinstance(REFUSED, RefusalWarning)
    assert REFUSED.reason == REASON
    assert str(REFUSED).startswith(f"the broker at h:1 cannot be used: {REASON}; it is retried when it is needed, ")
    assert not isinstance(LOST, RefusalWarning)


def test_a_text_that_reads_like_a_refusal_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = "broker 1 cannot be used: so it says; it is retried when it is needed, soon"
    with trouble_on_stderr("topics"):
        LOGGER.warning("%s", text)
        assert capsys.readouterr().err == f"kwire topics: {text}\n"


def fail(error: Exception) -> None:
    """A command that is refused and then ends with the error."""
    with trouble_on_stderr("topics"):
        LOGGER.warning("%s", REFUSED)
        raise error


def test_warnings_are_lines_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with trouble_on_stderr("topics"):
        LOGGER.warning(LOST)
        assert capsys.readouterr().err == f"kwire topics: {LOST}\n"
    LOGGER.warning("nobody listens any more")
    assert capsys.readouterr().err == ""


def test_a_refusal_that_ends_the_command_is_left_to_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AuthError):
        fail(AuthError("wrong password", broker="the broker at h:1", step="SaslAuthenticate (PLAIN)"))
    assert capsys.readouterr().err == ""


def test_a_refusal_is_told_where_the_command_ends_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KafkaTimeoutError):
        fail(KafkaTimeoutError("no record came"))
    with trouble_on_stderr("topics"):
        LOGGER.warning("%s", REFUSED)
    assert capsys.readouterr().err == f"kwire topics: {REFUSED}\n" * 2


def test_a_refusal_is_told_while_the_command_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "_HELD_BACK_S", 0.0)
    with trouble_on_stderr("topics"):
        LOGGER.warning("%s", REFUSED)
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join()
        assert capsys.readouterr().err == f"kwire topics: {REFUSED}\n"


def test_an_error_that_many_things_met_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    failures = {number: KafkaError("connection refused" if number < 3 else "no answer") for number in range(4)}
    tell(argparse.Namespace(command="topics", timeout=None), failures)
    assert capsys.readouterr().err == "kwire topics: connection refused\nkwire topics: no answer\n"
