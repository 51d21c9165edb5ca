"""The settings of a transactional producer."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors
from kwire.engine.settings.clients import ProducerSettings
from kwire.engine.settings.config import from_config


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"acks": 1}, "transactional_id needs acks='all', not acks=1"),
        ({"enable_idempotence": False}, "transactional_id needs enable_idempotence"),
        ({"max_in_flight_requests_per_connection": 6}, "transactional_id needs max_in_flight"),
        ({"retries": 0}, "transactional_id needs retries above 0"),
        (
            {"transaction_two_phase_commit_enable": True, "transaction_timeout_ms": 5},
            "transaction_timeout_ms cannot be set",
        ),
        ({"transaction_timeout_ms": 0}, "transaction_timeout_ms"),
    ],
)
def test_a_setting_that_forbids_transactions(given: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.ConfigError, match=words):
        ProducerSettings(**{"transactional_id": "t", **given})


def test_two_phase_commit_needs_a_transactional_id() -> None:
    with pytest.raises(errors.ConfigError, match="needs a transactional_id"):
        ProducerSettings(transaction_two_phase_commit_enable=True)


def test_javas_names() -> None:
    settings = from_config(ProducerSettings, {"transactional.id": "t", "transaction.timeout.ms": "7000"})
    assert (settings.transactional_id, settings.transaction_timeout_ms) == ("t", 7000)
    assert ProducerSettings().transaction_timeout_ms == 60_000
