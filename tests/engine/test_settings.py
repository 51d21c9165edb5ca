"""Settings: names, values, addresses, and what is said about those that cannot be meant."""

from __future__ import annotations

import pickle
from typing import get_type_hints

import pytest

from kwire import errors
from kwire.engine.addresses import Address, parse_bootstrap
from kwire.engine.options import AdminOptions, ConsumerOptions, ProducerOptions
from kwire.engine.settings import (
    AdminSettings,
    ClientSettings,
    ConsumerSettings,
    ProducerSettings,
    documentation,
    from_config,
)


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ("a:1,b:2", [("a", 1), ("b", 2)]),
        (" a:1 , b ", [("a", 1), ("b", 9092)]),
        (["a:1", ("b", 2)], [("a", 1), ("b", 2)]),
        ("[::1]:9093,::1", [("::1", 9093), ("::1", 9092)]),
        ("PLAINTEXT://a:1,a:1", [("a", 1)]),
    ],
)
def test_bootstrap_servers(servers: object, expected: list[tuple[str, int]]) -> None:
    assert list(parse_bootstrap(servers)) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ("a:port", "'port'"),
        ("a:0", "'0'"),
        ("a:65536", "'65536'"),
        ("a:-1", "'-1'"),
        ("", "empty"),
        (",", "empty"),
        ("SSL://a:1", "SSL"),
        ("[::1", "[::1"),
        (":9092", ":9092"),
        (b"a:1", "bytes"),
        ([("a", 1, 2)], "pair"),
        ("http://a:1/", "http"),
        (5, "5"),
        ("a b:1", "a b:1"),
    ],
)
def test_a_bad_address_is_named(servers: object, words: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        parse_bootstrap(servers)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_addresses_print_as_they_are_given() -> None:
    assert [str(Address("::1", 1)), str(Address("a", 1))] == ["[::1]:1", "a:1"]


def test_unknown_settings_name_the_nearest() -> None:
    with pytest.raises(errors.ConfigError, match=r"'linger_mx'; did you mean 'linger_ms'"):
        ProducerSettings(linger_mx=5)
    with pytest.raises(errors.ConfigError, match=r"'fetch.max.byte'; did you mean 'fetch.max.bytes'"):
        from_config(ConsumerSettings, {"fetch.max.byte": 5})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"linger_ms": "soon"}, "a whole number from 0"),
        ({"linger_ms": -1}, "out of range"),
        ({"buffer_memory": 2**63}, "out of range"),
        ({"linger_ms": 1.5}, "a whole number"),
        ({"linger_ms": True}, "a whole number"),
        ({"compression": "brotli"}, "'none', 'gzip', 'snappy', 'lz4', 'zstd'"),
        ({"client_id": None}, "a string is needed"),
        ({"security_protocol": "SASL_SSL"}, "'PLAINTEXT' is the one that works"),
        ({"enable_idempotence": "perhaps"}, "True or False or None"),
    ],
)
def test_a_bad_value_says_what_would_work(given: dict[str, object], words: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        ProducerSettings(**given)
    assert words in str(caught.value)
    assert next(iter(given)) in str(caught.value)


def test_names_of_java_librdkafka_and_spark() -> None:
    settings = from_config(
        ProducerSettings,
        {
            "kafka.bootstrap.servers": "a:1",
            "queue.buffering.max.ms": "7",
            "compression.type": "LZ4",
            "enable.idempotence": "true",
        },
        client_id="me",
    )
    assert settings.addresses == (Address("a", 1),)
    assert (settings.linger_ms, settings.compression, settings.enable_idempotence) == (7, "lz4", True)
    assert settings.client_id == "me"


def test_one_setting_under_two_names_must_agree() -> None:
    with pytest.raises(errors.ConfigError, match="different values"):
        from_config(ProducerSettings, {"linger.ms": 5, "queue.buffering.max.ms": 6})


@pytest.mark.parametrize("name", ["key.serializer", "transactional.id", "enable.auto.commit"])
def test_names_that_kwire_has_no_use_for_say_why(name: str) -> None:
    with pytest.raises(errors.ConfigError, match="kwire"):
        from_config(ProducerSettings, {name: "x"})


def test_a_group_is_not_in_this_version() -> None:
    with pytest.raises(errors.ConfigError, match=r"group_id='g'.*assign"):
        ConsumerSettings(group_id="g")
    assert ConsumerSettings(group_id=None).group_id is None


def test_settings_pickle_compare_and_do_not_change() -> None:
    settings = ProducerSettings(bootstrap_servers=["a:1"], linger_ms=7)
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert settings != ProducerSettings(bootstrap_servers=["a:1"])
    assert repr(settings) == "ProducerSettings(bootstrap_servers=['a:1'], linger_ms=7)"
    with pytest.raises(AttributeError):
        settings.linger_ms = 8


@pytest.mark.parametrize(
    ("table", "options"),
    [(ProducerSettings, ProducerOptions), (ConsumerSettings, ConsumerOptions), (AdminSettings, AdminOptions)],
)
def test_type_checkers_see_the_keywords_of_the_table(table: type[ClientSettings], options: type) -> None:
    seen = get_type_hints(options)
    expected = get_type_hints(table)
    assert list(seen) == [keyword for keyword in table.table if keyword != "bootstrap_servers"]
    for keyword, kind in seen.items():
        assert keyword == "acks" or kind == expected[keyword], keyword


@pytest.mark.parametrize("table", [ProducerSettings, ConsumerSettings, AdminSettings])
def test_every_setting_has_words_and_a_default_that_passes(table: type[ProducerSettings]) -> None:
    for keyword, row in table.table.items():
        assert row.doc.endswith(".")
        if row.default is not None:
            assert row.check(row.default) == row.default
        assert keyword in documentation(table)
