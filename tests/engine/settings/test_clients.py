"""Settings: names, values, addresses, and what is said about those that cannot be meant."""

from __future__ import annotations

import pickle
import ssl
import warnings
from inspect import signature
from typing import Any, get_args, get_type_hints

import pytest

from kwire import errors
from kwire._codec import Accumulator
from kwire.engine.common.addresses import Address, parse_bootstrap
from kwire.engine.settings.clients import (
    AdminSettings,
    ClientSettings,
    ConsumerSettings,
    ProducerSettings,
    ShareConsumerSettings,
)
from kwire.engine.settings.config import documentation, from_config
from kwire.engine.settings.options import (
    AdminOptions,
    ConsumerOptions,
    PartitionerName,
    ProducerOptions,
    ShareConsumerOptions,
)
from kwire.engine.settings.values import PARTITIONERS


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ("a:1,b:2", [("a", 1), ("b", 2)]),
        (" a:1 , b ", [("a", 1), ("b", 9092)]),
        (["a:1", ("b", 2)], [("a", 1), ("b", 2)]),
        ("[::1]:9093,::1", [("::1", 9093), ("::1", 9092)]),
        ("[::1:9092],2001:db8::9092", [("::1:9092", 9092), ("2001:db8::9092", 9092)]),
        ("fe80::1:a,fe80::1:99", [("fe80::1:a", 9092), ("fe80::1:99", 9092)]),
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
        ("::1:9092", "write '[::1]:9092' for port 9092, '[::1:9092]' for an address"),
        ("fe80::1%eth0:19092", "write '[fe80::1%eth0]:19092' for port 19092"),
        ("1:2:3:4:5:6:7:8:9092", "'[address]:port'"),
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
        ({"client_id": None}, "expected a string"),
        ({"security_protocol": "TLS"}, "one of 'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'"),
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


_ALL = ("Producer", "Consumer", "ShareConsumer", "Admin")
SPELLINGS = {
    "kafka.interceptor.classes": _ALL,
    "enable.auto.offset.store": ("Consumer",),
    "schema.registry.url": ("Producer", "Consumer", "ShareConsumer"),
}
"""Names, and the clients that they would make a difference for."""


def test_the_times_of_a_group_are_ignored_without_one() -> None:
    """Templates of cloud services have them for every client."""
    with pytest.warns(UserWarning, match=r"without an effect in kwire: session_timeout_ms"):
        ProducerSettings(session_timeout_ms=45_000)
    assert from_config(ProducerSettings, {"session.timeout.ms": 45_000}).given() == {}


@pytest.mark.parametrize(("name", "kinds"), SPELLINGS.items())
@pytest.mark.parametrize("table", [ProducerSettings, ConsumerSettings, AdminSettings, ShareConsumerSettings])
def test_what_is_not_there_yet_says_so_under_every_spelling(
    table: type[ClientSettings], name: str, kinds: tuple[str, ...]
) -> None:
    """It is refused where it would make a difference; a mapping may have it for another client."""
    plain = name.removeprefix("kafka.")
    required = {"group_id": "g"} if table is ShareConsumerSettings else {}
    if table.client in kinds:
        with pytest.raises(errors.ConfigError, match=rf"^'{plain}': .*kwire") as caught:
            from_config(table, {name: "secret"}, **required)
        assert "secret" not in str(caught.value)
    else:
        assert from_config(table, {name: "secret"}, **required).given() == required
    with pytest.raises(errors.ConfigError, match=rf"^'{plain}': .*kwire"):
        table(**{plain: "x"}, **required)


def test_settings_of_other_clients_are_passed_over_and_named_with_their_owners() -> None:
    passed: dict[str, tuple[str, ...]] = {}
    mapping = {
        "bootstrap.servers": "a:1",
        "kafka.acks": "nonsense",
        "group.id": "g",
        "share.acquire.mode": "x",
        "queue.buffering.max.ms": 5,
        "fetch_max_bytes": 1,
        "value.serializer": "com.acme.Mine",
    }
    assert from_config(AdminSettings, mapping, passed.update).given() == {"bootstrap_servers": "a:1"}
    assert passed == {
        "acks": ("Producer",),
        "group.id": ("Consumer", "ShareConsumer"),
        "share.acquire.mode": ("ShareConsumer",),
        "queue.buffering.max.ms": ("Producer",),
        "fetch_max_bytes": ("Consumer", "ShareConsumer"),
        "value.serializer": ("Producer",),
    }


def test_what_is_passed_over_hides_no_fault() -> None:
    with pytest.raises(errors.ConfigError, match=r"^unknown setting 'ack'; did you mean 'acks'\?$"):
        from_config(ProducerSettings, {"ack": "all", "group.id": "g"})
    with pytest.raises(errors.ConfigError, match=r"^unknown setting 'grop.id'"):
        from_config(ProducerSettings, {"grop.id": "g"})


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (ProducerSettings, "key.serializer"),
        (ProducerSettings, "value_serializer"),
        (ConsumerSettings, "key.deserializer"),
        (ConsumerSettings, "value.deserializer"),
    ],
)
def test_javas_classes_for_bytes_ask_for_what_is_done(table: type[ClientSettings], name: str) -> None:
    kind = "Deserializer" if name.endswith("deserializer") else "Serializer"
    for what in ("ByteArray", "ByteBuffer", "Bytes"):
        assert from_config(table, {name: f"org.apache.kafka.common.serialization.{what}{kind}"}).given() == {}


def test_javas_classes_for_what_has_a_name_here_are_taken_for_it() -> None:
    package = "org.apache.kafka.common.serialization"
    for java, name in (("String", "string"), ("Integer", "int32"), ("Long", "int64"), ("Double", "float64")):
        written = from_config(ProducerSettings, {"value.serializer": f"{package}.{java}Serializer"})
        assert written.given() == ProducerSettings(value_serializer=name).given()
        read = from_config(ConsumerSettings, {"key.deserializer": f"{package}.{java}Deserializer"})
        assert read.given() == ConsumerSettings(key_deserializer=name).given()


def test_serializers_of_a_client_that_has_none_are_refused_with_those_that_have() -> None:
    with pytest.raises(errors.ConfigError, match="'value_deserializer': in kwire a Consumer has value_"):
        AdminSettings(value_deserializer="string")
    for table, more in ((AdminSettings, {}), (ShareConsumerSettings, {"group_id": "g"})):
        with pytest.raises(errors.ConfigError, match="'key_serializer': in kwire a Producer has value_"):
            table(**more, key_serializer="string")


@pytest.mark.parametrize(
    ("config", "keywords", "level"),
    [
        ({"compression.type": "zstd", "compression.zstd.level": "7", "compression.gzip.level": "9"}, {}, 7),
        ({"compression.type": "lz4", "compression.zstd.level": "7"}, {}, None),
        ({"compression.zstd.level": 7}, {"compression": "zstd"}, 7),
        ({"compression.type": "zstd", "compression.zstd.level": 7, "compression.level": 2}, {}, 2),
        ({"compression.type": "zstd", "compression.zstd.level": 7}, {"level": 2}, 2),
        ({"compression_gzip_level": 7}, {}, None),
        ({"compression.type": "gzip", "compression.gzip.level": "-1"}, {}, None),
        ({"compression.type": "none", "compression.level": -1}, {}, None),
        ({"compression.type": "snappy", "compression.level": 0}, {}, None),
        ({"compression.codec": "lz4", "compression.level": -1}, {}, None),
        ({"compression.type": "lz4", "compression.lz4.level": "17"}, {}, 12),
        ({"compression.type": "zstd", "compression.zstd.level": "-1"}, {}, -1),
    ],
)
def test_the_level_of_the_codec_in_use_is_the_level(
    config: dict[str, Any], keywords: dict[str, Any], level: int | None
) -> None:
    assert from_config(ProducerSettings, config, **keywords).level == level


_JAVA = "org.apache.kafka.clients.producer"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"partitioner": "consistent_random"}, "consistent_random"),
        ({"partitioner": "Murmur2"}, "murmur2"),
        ({"partitioner.class": f"{_JAVA}.RoundRobinPartitioner"}, "round_robin"),
        ({"partitioner.class": f"{_JAVA}.UniformStickyPartitioner"}, "uniform_sticky"),
        ({"partitioner.class": f"{_JAVA}.internals.DefaultPartitioner"}, "default"),
        ({"partitioner_class": None}, "default"),
        ({"partitioner.class": ""}, "default"),
        ({"partitioner.ignore.keys": "true"}, "uniform_sticky"),
        ({"partitioner.ignore.keys": "false"}, "default"),
        ({"partitioner.ignore.keys": True, "partitioner.class": f"{_JAVA}.RoundRobinPartitioner"}, "round_robin"),
        ({"partitioner": max}, max),
    ],
)
def test_partitioners_of_java_and_librdkafka(config: dict[str, Any], expected: object) -> None:
    assert from_config(ProducerSettings, config).partitioner == expected


@pytest.mark.parametrize("given", ["com.acme.Mine", "sticky", 5, dict])
def test_a_partitioner_that_there_is_not(given: object) -> None:
    with pytest.raises(
        errors.ConfigError, match=r"^partitioner=.*: expected one of 'default', 'uniform_sticky', .*, or a calla"
    ):
        ProducerSettings(partitioner=given)
    with pytest.raises(errors.ConfigError, match=r"^partitioner\.ignore\.keys='perhaps': expected True or False"):
        from_config(ProducerSettings, {"partitioner.ignore.keys": "perhaps"})


def test_the_names_of_partitioners_are_one_list() -> None:
    assert set(get_args(PartitionerName)) == set(PARTITIONERS)
    for name in PARTITIONERS:
        Accumulator(partitioner=name)
    with pytest.raises(errors.ConfigError, match="partitioner='mine': expected one of"):
        Accumulator(partitioner="mine")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("value_deserializer", "a Consumer has value_deserializer"),
        ("consumer_timeout_ms", "poll"),
        ("logger", "logging"),
        ("on_delivery", "Delivery"),
        ("compression_type", "'compression' here"),
        ("max_batch_size", "'batch_size' here"),
        ("queue_buffering_max_ms", "'linger_ms' here"),
        ("fetch_max_bytes", "a setting of Consumer and ShareConsumer, not of Producer"),
        ("xyzzy", "^unknown setting 'xyzzy'$"),
    ],
)
def test_a_name_of_another_client_says_what_to_do(name: str, words: str) -> None:
    with pytest.raises(errors.ConfigError, match=words):
        ProducerSettings(**{name: 1})


def test_all_that_is_refused_is_told_at_once() -> None:
    with pytest.raises(errors.ConfigError) as caught:
        from_config(
            ConsumerSettings,
            {
                "bootstrap.servers": "a:b",
                "group.instance.id": "i",
                "fetch.max.byte": 5,
                "sasl.password": "secret",
                "fetch.min.bytes": "many",
                "check.crcs": True,
                "check_crcs": False,
            },
        )
    lines = str(caught.value).splitlines()
    assert lines[0] == "6 settings cannot be used:"
    for words in (
        "'b'",
        "group_instance_id='i'",
        "'fetch.max.byte'",
        "sasl_password",
        "fetch_min_bytes",
        "'check_crcs'",
    ):
        assert sum(words in line for line in lines[1:]) == 1, words
    assert "secret" not in str(caught.value)


def test_settings_without_an_effect_are_ignored_with_one_warning() -> None:
    given = {
        "bootstrap.servers": "a:1",
        "statistics.interval.ms": 1000,
        "socket.keepalive.enable": True,
        "log_level": 6,
        "queue.buffering.max.messages": 5,
        "queued.min.messages": 5,
        "client.dns.lookup": "use_all_dns_ips",
        "api.version.request": True,
        "debug": "all",
        "metrics.num.samples": 2,
    }
    with pytest.warns(UserWarning, match="without an effect") as caught:
        settings = from_config(ConsumerSettings, given)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert all(name in str(caught[0].message) for name in given if name != "bootstrap.servers")
    assert settings.given() == {"bootstrap_servers": "a:1"}


def test_what_asks_for_nothing_is_taken() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConsumerSettings(enable_auto_commit=False, ssl_context=None, sasl_mechanism="", value_deserializer=None)


def test_a_dotted_name_as_a_keyword_is_told_its_keyword() -> None:
    with pytest.raises(errors.ConfigError, match=r"'linger.ms'; it is 'linger_ms' here"):
        ProducerSettings(**{"linger.ms": 5})
    with pytest.raises(errors.ConfigError, match=r"'bootstrap.servers'; it is 'bootstrap_servers' here"):
        ProducerSettings(**{"bootstrap.servers": "a:1"})


@pytest.mark.parametrize("config", [None, "client.properties", [("linger.ms", 5)]])
def test_from_config_takes_a_mapping_only(config: Any) -> None:
    with pytest.raises(TypeError, match=rf"from_config\(\) takes a mapping .*not {type(config).__name__}"):
        from_config(ProducerSettings, config)


def test_an_event_loop_is_not_a_setting() -> None:
    with pytest.raises(errors.ConfigError, match=r"'loop': .*kwire\.aio takes the event loop that runs"):
        ProducerSettings(loop=object())
    assert ProducerSettings(loop=None).given() == {}


def test_credentials_of_a_schema_registry_are_refused_with_it() -> None:
    with pytest.raises(errors.ConfigError, match=r"'basic.auth.user.info': make a kwire.registry.Registry"):
        from_config(ProducerSettings, {"basic.auth.user.info": "key:secret"})


def names_of_peers() -> list[tuple[type[ClientSettings], str]]:
    """The keywords of kafka-python's and aiokafka's clients, as those installed have them."""
    aiokafka = pytest.importorskip("aiokafka")
    kafka = pytest.importorskip("kafka")
    found = {
        ProducerSettings: [*kafka.KafkaProducer.DEFAULT_CONFIG, *signature(aiokafka.AIOKafkaProducer).parameters],
        ConsumerSettings: [*kafka.KafkaConsumer.DEFAULT_CONFIG, *signature(aiokafka.AIOKafkaConsumer).parameters],
        AdminSettings: list(kafka.KafkaAdminClient.DEFAULT_CONFIG),
    }
    return [(table, name) for table, names in found.items() for name in names if name != "topics"]


def test_no_keyword_of_another_python_client_is_called_unknown() -> None:
    unknown = [(table, name) for table, name in names_of_peers() if "unknown" in refusal_of(table, name)]
    assert unknown == []


def refusal_of(table: type[ClientSettings], name: str) -> str:
    """Why that setting is refused; empty where it is not, or where another name is told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table(**{name: "1"})
        except errors.ConfigError as refusal:
            return "" if str(refusal).endswith(" here") else str(refusal)
    return ""


@pytest.mark.parametrize("setting", ["acks", "retries", "max_in_flight_requests_per_connection"])
def test_what_idempotence_is_refused_with_is_what_does_without_it(setting: str) -> None:
    options: dict[str, Any] = {"acks": 1, "retries": 0, "max_in_flight_requests_per_connection": 6}
    assert ProducerSettings().keeps_order
    assert not ProducerSettings(**{setting: options[setting]}).keeps_order
    with pytest.raises(errors.ConfigError, match=f"enable_idempotence=True needs {setting}"):
        ProducerSettings(enable_idempotence=True, **{setting: options[setting]})


def test_the_spellings_of_acks_are_three_values() -> None:
    for value, wire, spellings in ((0, 0, (0, "0")), (1, 1, (1, " 1 ")), ("all", -1, ("all", "ALL", -1, "-1"))):
        for given in spellings:
            settings = ProducerSettings(acks=given)
            assert (settings.acks, settings.required_acks) == (value, wire)
    for refused in (2, -2, True, 1.0, None, "", "most"):
        with pytest.raises(errors.ConfigError, match=r"^acks=.*: expected one of 0, 1, 'all' \(or -1\)$"):
            ProducerSettings(acks=refused)  # type: ignore[arg-type]


def test_other_spellings_of_a_value() -> None:
    assert ProducerSettings(compression=None).compression == "none"
    assert from_config(ConsumerSettings, {"auto.offset.reset": "smallest"}).auto_offset_reset == "earliest"


def test_a_setting_without_an_effect_is_not_warned_of_when_it_asks_for_nothing() -> None:
    with warnings.catch_warnings(action="error"):
        from_config(ProducerSettings, {"metric.reporters": "", "socket_options": None, "selector": None})


def test_a_registry_is_no_matter_of_an_admin() -> None:
    config = {"schema.registry.url": "http://r:8081", "basic.auth.user.info": "u:p"}
    passed: list[str] = []
    from_config(AdminSettings, config, passed.extend)
    assert passed == list(config)
    with pytest.raises(errors.ConfigError, match=r"make a kwire\.registry\.Registry of it"):
        from_config(ProducerSettings, config)


def test_a_level_that_the_codec_lacks_is_refused_at_once() -> None:
    for codec, level in (("zstd", 99), ("gzip", 10), ("snappy", 1)):
        with pytest.raises(errors.ConfigError, match=f"level.*{level}|{level}.*level"):
            ProducerSettings(compression=codec, level=level)
    assert ProducerSettings(compression="zstd", level=-3).level == -3


def test_the_settings_of_a_group_have_java_s_names_and_defaults() -> None:
    settings = from_config(
        ConsumerSettings,
        {
            "group.id": "g",
            "group.instance.id": "node-1",
            "kafka.session.timeout.ms": "10000",
            "auto.commit.enable": "false",
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer.StickyAssignor, roundrobin",
        },
    )
    assert (settings.group_id, settings.group_instance_id) == ("g", "node-1")
    assert (settings.session_timeout_ms, settings.heartbeat_interval_ms) == (10_000, 3_000)
    assert (settings.max_poll_interval_ms, settings.enable_auto_commit) == (300_000, False)
    assert settings.partition_assignment_strategy == ("sticky", "roundrobin")
    assert ConsumerSettings().partition_assignment_strategy == ("range", "cooperative-sticky")
    assert ConsumerSettings(group_id=None).group_id is None


class Custom:
    name = "mine"

    def assign(self) -> None: ...


def test_an_assignor_may_be_an_object() -> None:
    mine = Custom()
    assert ConsumerSettings(partition_assignment_strategy=mine).partition_assignment_strategy == (mine,)
    assert ConsumerSettings(partition_assignment_strategy=["range", mine]).partition_assignment_strategy[1] is mine


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"group_instance_id": "i"}, "group_instance_id='i' needs a group_id"),
        ({"group_id": "g", "group_instance_id": "a b"}, "group_instance_id='a b'"),
        ({"group_id": "g", "group_remote_assignor": "range"}, "group_remote_assignor needs group_protocol='consumer'"),
        ({"group_id": "g", "heartbeat_interval_ms": 45_000}, "heartbeat_interval_ms=45000 must be below"),
        ({"group_id": "g", "group_protocol": "consumer", "session_timeout_ms": 9}, "session_timeout_ms cannot be set"),
        ({"group_protocol": "streams"}, "one of 'classic', 'consumer'"),
        (
            {"partition_assignment_strategy": "rnage"},
            "'rnage': expected one or more of 'range'",
        ),
        ({"partition_assignment_strategy": Custom}, "or objects with name and assign"),
    ],
)
def test_settings_of_a_group_that_cannot_be_meant(options: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.ConfigError, match=words):
        ConsumerSettings(**options)


def test_settings_pickle_compare_and_do_not_change() -> None:
    settings = ProducerSettings(bootstrap_servers=["a:1"], linger_ms=7)
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert settings != ProducerSettings(bootstrap_servers=["a:1"])
    assert repr(settings) == "ProducerSettings(bootstrap_servers=['a:1'], linger_ms=7)"
    with pytest.raises(AttributeError):
        settings.linger_ms = 8


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (ProducerSettings, ProducerOptions),
        (ConsumerSettings, ConsumerOptions),
        (ShareConsumerSettings, ShareConsumerOptions),
        (AdminSettings, AdminOptions),
    ],
)
def test_type_checkers_see_the_keywords_of_the_table(table: type[ClientSettings], options: type) -> None:
    seen = get_type_hints(options, localns={"SSLContext": ssl.SSLContext})
    assert list(seen) == [keyword for keyword in table.table if keyword != "bootstrap_servers"]


@pytest.mark.parametrize("table", [ProducerSettings, ConsumerSettings, ShareConsumerSettings])
def test_a_value_that_is_not_converted_has_the_type_of_its_row(table: type[ClientSettings]) -> None:
    annotated = get_type_hints(table)
    plain = {keyword: row for keyword, row in table.table.items() if row.convert is None and row.kind is not object}
    assert {keyword: annotated[keyword] for keyword in plain} == {
        keyword: row.kind | None if row.optional else row.kind for keyword, row in plain.items()
    }


@pytest.mark.parametrize("table", [ProducerSettings, ConsumerSettings, ShareConsumerSettings, AdminSettings])
def test_every_setting_has_words_and_a_default_that_passes(table: type[ProducerSettings]) -> None:
    for keyword, row in table.table.items():
        assert row.doc.endswith(".")
        if row.default is not None:
            assert row.check(row.default) == row.default
        assert keyword in documentation(table)


def test_a_share_consumer_needs_a_group_and_takes_nothing_of_a_consumer() -> None:
    with pytest.raises(errors.ConfigError, match="group_id is missing"):
        ShareConsumerSettings()
    with pytest.raises(errors.ConfigError, match="'auto_offset_reset' is a setting of Consumer, not of ShareConsumer"):
        ShareConsumerSettings(group_id="g", auto_offset_reset="earliest")
    settings = from_config(ShareConsumerSettings, {"group.id": "g", "share.acknowledgement.mode": "explicit"})
    assert settings.share_acknowledgement_mode == "explicit"
    assert settings.max_poll_records == 500
