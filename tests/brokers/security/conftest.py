"""Every test here is also one of secrets: its log at DEBUG and what it wrote must show none of them."""

import logging
from collections.abc import Iterator

import pytest

from tests.brokers.security.logins import secrets


@pytest.fixture(autouse=True)
def _no_secret_is_shown(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    written = capfd.readouterr()
    said = caplog.text + written.out + written.err
    assert [secret for secret in secrets() if secret in said] == []
