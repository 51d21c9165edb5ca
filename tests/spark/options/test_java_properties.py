"""A dictionary of properties that serves Kafka's Java clients serves a Spark job, too."""

import logging
import warnings

import pytest

from kwire.engine.settings.clients import ConsumerSettings, ProducerSettings
from kwire.engine.settings.config import from_config
from kwire.errors import ConfigError
from kwire.spark.options.client import checked_properties
from kwire.spark.options.given import GivenOptions

SERVERS = {"kafka.bootstrap.servers": "broker:9092"}
OF_ALL = {
    "client.dns.lookup": "use_all_dns_ips", "connections.max.idle.ms": "540000", "enable.metrics.push": "true",
    "auto.include.jmx.reporter": "true", "metric.reporters": "com.example.Reporter", "metrics.num.samples": "2",
    "metrics.recording.level": "INFO", "metrics.sample.window.ms": "30000", "metadata.recovery.strategy": "none",
    "metadata.recovery.rebootstrap.trigger.ms": "300000", "socket.connection.setup.timeout.max.ms": "30000",
    "security.providers": "com.example.Provider", "ssl.client.auth": "none",
    "default.list.key.serde.inner": "x",
}  # fmt: skip
OF_CONSUMERS = {
    "group.id": "team", "group.protocol": "consumer", "group.instance.id": "one", "group.remote.assignor": "uniform",
    "session.timeout.ms": "x", "heartbeat.interval.ms": "3000", "max.poll.interval.ms": "300000",
    "partition.assignment.strategy": "com.example.Assignor", "auto.commit.interval.ms": "5000",
    "exclude.internal.topics": "true", "internal.leave.group.on.close": "true", "rebalance.timeout.ms": "1",
}  # fmt: skip
OF_READS = {
    "fetch.min.bytes": "1", "fetch.max.wait.ms": "500", "isolation.level": "read_committed", "max.poll.records": "500",
    "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer", "auto.offset.reset": "earliest",
    "enable.auto.commit": "true", "check.crcs": "true", "share.acknowledgement.mode": "implicit",
}  # fmt: skip
OF_PRODUCERS = {
    "acks": "all", "batch.size": "16384", "linger.ms": "5", "buffer.memory": "33554432", "compression.type": "lz4",
    "compression.lz4.level": "9", "delivery.timeout.ms": "120000", "enable.idempotence": "true", "retries": "5",
    "max.block.ms": "60000", "max.in.flight.requests.per.connection": "5", "max.request.size": "1048576",
    "transaction.timeout.ms": "60000", "transactional.id": "t", "metadata.max.idle.ms": "300000",
    "key.serializer": "org.apache.kafka.common.serialization.StringSerializer", "value.serializer": "x",
    "partitioner.class": "com.example.Partitioner", "partitioner.adaptive.partitioning.enable": "true",
}  # fmt: skip


def checked(properties: dict[str, str], table: type, caplog: pytest.LogCaptureFixture) -> tuple[dict[str, str], str]:
    """The properties that are left, and the one warning."""
    given = GivenOptions({**SERVERS, **{f"kafka.{name}": value for name, value in properties.items()}})
    with caplog.at_level(logging.WARNING, "kwire.spark"), warnings.catch_warnings():
        warnings.simplefilter("error")
        left = checked_properties(given, table)
        given.warn_once()
    (warning,) = [record.getMessage() for record in caplog.records]
    return left, warning


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("partitioner.class", "org.apache.kafka.clients.producer.RoundRobinPartitioner"),
        ("partitioner.ignore.keys", "true"),
        ("partitioner", "consistent_random"),
    ],
)
def test_a_write_takes_the_partitioners_of_other_clients(name: str, value: str) -> None:
    given = GivenOptions({**SERVERS, f"kafka.{name}": value})
    assert checked_properties(given, ProducerSettings) == {"bootstrap.servers": "broker:9092", name: value}


def test_serializers_that_do_what_is_done_anyway_have_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    package = "org.apache.kafka.common.serialization"
    given = {"key.serializer": f"{package}.StringSerializer", "value.serializer": f"{package}.BytesSerializer"}
    left, warning = checked(given, ProducerSettings, caplog)
    assert left == {"bootstrap.servers": "broker:9092"}
    assert "(it is always so here)" in warning


def test_a_partitioner_that_kwire_has_not_is_refused_under_its_name() -> None:
    given = GivenOptions({**SERVERS, "kafka.partitioner.class": "com.example.Partitioner"})
    with pytest.raises(ConfigError, match=r"^kafka\.partitioner\.class='com\.example\.Partitioner': expected one of"):
        checked_properties(given, ProducerSettings)


def test_a_read_takes_what_serves_all_java_clients(caplog: pytest.LogCaptureFixture) -> None:
    shared = {**OF_ALL, **OF_CONSUMERS, **OF_PRODUCERS, "request.timeout.ms": "7000"}
    left, warning = checked(shared, ConsumerSettings, caplog)
    assert left == {"bootstrap.servers": "broker:9092", "request.timeout.ms": "7000", "enable.metrics.push": "true"}
    assert "kafka.session.timeout.ms" in warning
    assert "(a read joins no consumer group)" in warning
    assert "kafka.acks" in warning
    assert "(a property of producers)" in warning
    assert "kafka.metric.reporters" in warning


def test_a_write_takes_what_serves_all_java_clients(caplog: pytest.LogCaptureFixture) -> None:
    shared = {**OF_ALL, **OF_CONSUMERS, **OF_READS, "acks": "all"}
    left, warning = checked(shared, ProducerSettings, caplog)
    assert left == {"bootstrap.servers": "broker:9092", "acks": "all", "enable.metrics.push": "true"}
    assert "(a property of consumers)" in warning


def test_the_level_of_the_codec_in_use_counts() -> None:
    given = GivenOptions(
        {
            **SERVERS,
            "kafka.compression.type": "gzip",
            "kafka.compression.gzip.level": "9",
            "kafka.compression.lz4.level": "3",
        }
    )
    left = checked_properties(given, ProducerSettings)
    assert from_config(ProducerSettings, left).level == 9


@pytest.mark.parametrize("table", [ConsumerSettings, ProducerSettings])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("foo", "bar"),
        ("fetch.max.byte", "1"),
        ("session.timeout", "1"),
        ("sasl.login.callback.handler.class", "com.example.Handler"),
        ("ssl.engine.factory.class", "com.example.Factory"),
        ("interceptor.classes", "com.example.Interceptor"),
        ("request.timeout.ms", "many"),
    ],
)
def test_what_nobody_has_or_kwire_does_not_do_is_an_error_under_its_name(table: type, name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")) as caught:
        checked_properties(GivenOptions({**SERVERS, f"kafka.{name}": value}), table)
    assert f"kafka.{name}" in str(caught.value) or "Kafka option" in str(caught.value)
