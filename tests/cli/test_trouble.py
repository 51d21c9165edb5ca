"""Which warnings of the clients become lines of a command."""

from __future__ import annotations

import logging
import threading

import pytest

from kwire.cli import trouble
from kwire.cli.trouble import trouble_on_stderr
from kwire.errors import AuthError, KafkaTimeoutError

LOGGER = logging.getLogger("kwire.drivers")
REASON = "SaslAuthenticate (PLAIN): wrong password"
REFUSED = f"the broker at h:1 cannot be used (0.0 s so far): {REASON}; still trying, about every 30 s"
LOST = "the broker at h:2 cannot be reached (0.0 s so far): refused; still trying, about every 1 s"


def fail(error: Exception) -> None:
    """A command that is refused and then ends with the error."""
    with trouble_on_stderr("topics"):
        LOGGER.warning(REFUSED)
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
        LOGGER.warning(REFUSED)
    assert capsys.readouterr().err == f"kwire topics: {REFUSED}\n" * 2


def test_a_refusal_is_told_while_the_command_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "_HELD_BACK_S", 0.0)
    with trouble_on_stderr("topics"):
        LOGGER.warning(REFUSED)
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join()
        assert capsys.readouterr().err == f"kwire topics: {REFUSED}\n"
