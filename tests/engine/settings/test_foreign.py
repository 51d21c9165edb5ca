"""What other clients have and kwire has not: one row for each, whoever asks."""

from __future__ import annotations

import pytest

from kwire.engine.settings.clients import (
    AdminSettings,
    ConsumerSettings,
    ProducerSettings,
    ShareConsumerSettings,
    names_of,
    owners_of,
)
from kwire.engine.settings.foreign import Verdict, is_of_serdes, kinds_of, verdict

TABLES = (AdminSettings, ConsumerSettings, ProducerSettings, ShareConsumerSettings)
OF_SERDES = (
    "basic.auth.user.info",
    "key.deserializer",
    "key_serializer",
    "schema.registry.url",
    "value.deserializer",
    "value.serializer",
)


@pytest.mark.parametrize("name", OF_SERDES)
def test_what_says_how_values_become_bytes_is_known_by_its_name(name: str) -> None:
    assert is_of_serdes(name)
    judged = verdict(name, "com.acme.Mine")
    assert judged is not None
    assert judged.refusal


def test_only_producers_and_consumers_have_settings_that_say_how_values_become_bytes() -> None:
    assert [table for table in TABLES if any(map(is_of_serdes, names_of(table)))] == [
        ConsumerSettings,
        ProducerSettings,
        ShareConsumerSettings,
    ]


@pytest.mark.parametrize("name", ["ssl.client.auth", "default.list.key.serde.type"])
def test_what_only_programs_of_java_have_is_ignored(name: str) -> None:
    assert verdict(name, "x") == Verdict(None, warn=True)
    assert verdict(name, "") == Verdict(None)
    assert kinds_of(name) == ()


@pytest.mark.parametrize("name", ["compression.gzip.level", "partitioner.ignore.keys"])
def test_what_stands_for_a_setting_of_the_producer_is_of_the_producer(name: str) -> None:
    assert owners_of(name) == ("Producer",)
    assert verdict(name, "1") is None
