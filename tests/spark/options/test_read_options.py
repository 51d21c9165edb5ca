"""The options of `format("kwire")` as Spark's Kafka source has them, and what is said of those that cannot be meant."""

import importlib
import logging
import pickle
import re
import socket
import sys

import pytest

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.settings.clients import ConsumerSettings
from kwire.engine.settings.config import from_config
from kwire.errors import ConfigError
from kwire.spark.batch_reader import KwireReader, TaskPartition
from kwire.spark.data_source import KwireDataSource
from kwire.spark.decoding.schema import ALL_COLUMNS, DEFAULT_COLUMNS
from kwire.spark.options.read import BatchOptions, parse_batch_options
from kwire.spark.ranges.offsets import EARLIEST, LATEST
from kwire.spark.ranges.tasks import NO_LIMITS, OffsetRange


def parse(**options: str) -> BatchOptions:
    return parse_batch_options({"kafka.bootstrap.servers": "broker:9092", "subscribe": "sem", **options})


def parse_only(**options: str) -> BatchOptions:
    return parse_batch_options({"kafka.bootstrap.servers": "broker:9092", **options})


def refused(text: str, **options: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        parse(**options)


def test_defaults_of_a_batch_read() -> None:
    options = parse()
    assert options.selection.topics == ("sem",)
    assert (options.start.everywhere, options.end.everywhere) == (EARLIEST, LATEST)
    assert options.columns == DEFAULT_COLUMNS
    assert "headers" not in options.columns
    assert options.fail_on_data_loss
    assert options.limits == NO_LIMITS
    assert options.poll_timeout_s == 120.0


def test_names_in_any_case_as_spark_hands_them_over() -> None:
    options = parse(startingoffsets='{"sem":{"0":4}}', INCLUDEHEADERS="TRUE", failondataloss="False", minPartitions="7")
    assert options.start.at(TopicPartition("sem", 0)) == 4
    assert options.columns == ALL_COLUMNS
    assert not options.fail_on_data_loss
    assert options.limits.min_partitions == 7


@pytest.mark.parametrize("servers", [{}, {"kafka.bootstrap.servers": " "}])
def test_servers_must_be_given(servers: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"Option 'kafka\.bootstrap\.servers' must be specified"):
        parse_batch_options({"subscribe": "sem", **servers})


def test_topics_are_trimmed_and_taken_once() -> None:
    assert parse(subscribe="sem, sem_b,sem").selection.topics == ("sem", "sem_b")


def test_exactly_one_selection() -> None:
    names = "assign, subscribe, subscribePattern"
    with pytest.raises(ConfigError, match=f"One of the following options must be specified for Kafka source: {names}"):
        parse_only()
    refused("One of the following options must be specified", subscribe="")
    refused(f"Only one of the following options can be specified for Kafka source: {names}", subscribePattern="s.*")
    refused("subscribe: expected topic names", subscribe=" , ")
    assert parse_only(subscribePattern="s.*").selection.pattern == "s.*"
    assert parse_only(assign='{"sem":[0,9]}').selection.partitions == (
        TopicPartition("sem", 0),
        TopicPartition("sem", 9),
    )
    with pytest.raises(ConfigError, match=r"subscribePattern: '\(' is not a regular expression"):
        parse_only(subscribePattern="(")


def test_the_topic_of_writes_says_no_topics_of_a_read() -> None:
    with pytest.raises(ConfigError, match="assign, subscribe, subscribePattern; topic is for writes"):
        parse_only(topic="t")


def test_a_batch_cannot_start_at_latest_nor_end_at_earliest() -> None:
    refused("starting offset can't be latest for batch queries on Kafka", startingOffsets="latest")
    refused("startingOffsets for sem-0 can't be latest for batch", startingOffsets='{"sem":{"0":-1}}')
    refused("ending offset can't be earliest for batch queries on Kafka", endingOffsets="earliest")
    refused("ending offset for sem-0 can't be earliest for batch", endingOffsets='{"sem":{"0":-2}}')


def test_times_go_before_offsets_which_are_then_not_parsed() -> None:
    options = parse(startingTimestamp="5", startingOffsetsByTimestamp="zzz", startingOffsets="zzz", endingTimestamp="9")
    assert (options.start.at(TopicPartition("sem", 0)), options.start.is_time, options.start.no_match) == (
        5,
        True,
        "error",
    )
    assert (options.end.at(TopicPartition("sem", 0)), options.end.is_time, options.end.no_match) == (9, True, "latest")
    by_partition = parse(
        startingOffsetsByTimestamp='{"sem":{"0":7}}', startingOffsetsByTimestampStrategy="LATEST", startingOffsets="zzz"
    )
    assert (by_partition.start.at(TopicPartition("sem", 0)), by_partition.start.no_match) == (7, "latest")
    refused("expected 'error' or 'latest', got 'ZZ'", startingOffsetsByTimestampStrategy="ZZ")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("minPartitions", "0", "minPartitions must be positive"),
        ("minPartitions", "x", "minPartitions: expected a whole number, got 'x'"),
        ("minPartitions", "4_0", "minPartitions: expected a whole number, got '4_0'"),
        ("maxRecordsPerPartition", "-1", "maxRecordsPerPartition must be positive"),
        ("maxTasks", "-1", "maxTasks must not be negative"),
        ("kafkaConsumer.pollTimeoutMs", "0", "kafkaConsumer.pollTimeoutMs must be positive"),
        ("includeHeaders", "yes", "includeHeaders: expected true or false, got 'yes'"),
        ("failOnDataLoss", "1", "failOnDataLoss: expected true or false, got '1'"),
    ],
)
def test_values_that_cannot_be_meant(name: str, value: str, text: str) -> None:
    refused(text, **{name: value})


def test_more_partitions_than_tasks_is_a_contradiction() -> None:
    refused("minPartitions (8) is greater than maxTasks (4)", minPartitions="8", maxTasks="4")
    assert parse(minPartitions="8", maxTasks="0").limits.max_tasks == 0


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("startingOffset", "startingOffsets"),
        ("bootstrap.servers", "kafka.bootstrap.servers"),
        ("subscribes", "subscribe"),
        ("topics", "subscribe"),
        ("topicPattern", "subscribePattern"),
        ("topic_name", "subscribe"),
        ("include_headers", "includeHeaders"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest(name: str, nearest: str) -> None:
    refused(f"Unknown option '{name.lower()}'; did you mean '{nearest}'?", **{name: "x"})


def test_an_option_like_no_other_is_refused_with_the_list() -> None:
    with pytest.raises(
        ConfigError, match=r"Unknown option 'foo'; the options are assign, columns, .*prefix 'kafka\.'"
    ) as caught:
        parse(foo="bar")
    assert "decoder, decoder.*, endingOffsets" in str(caught.value), "each decoder's options are not listed"


@pytest.mark.parametrize(
    "name", ["auto.offset.reset", "enable.auto.commit", "interceptor.classes", "key.deserializer", "value.deserializer"]
)
def test_kafka_properties_that_the_source_rules_itself(name: str) -> None:
    refused(f"Kafka option '{name}' is not supported: ", **{f"kafka.{name}": "x"})


def test_what_the_source_does_anyway_may_be_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    bytes_ = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    with caplog.at_level(logging.WARNING, "kwire.spark"):
        options = parse(**{"kafka.key.deserializer": bytes_, "kafka.enable.auto.commit": "false"})
    assert options.client == {"bootstrap.servers": "broker:9092"}
    assert len(caplog.records) == 1


def test_a_server_without_a_port_is_refused_at_once() -> None:
    for servers in ("broker", "one:9092, broker", "[::1]"):
        with pytest.raises(ConfigError, match=r"kafka\.bootstrap\.servers: '.*' has no port; expected host:port"):
            parse_batch_options({"kafka.bootstrap.servers": servers, "subscribe": "sem"})
    parse_batch_options({"kafka.bootstrap.servers": "one:9092, [::1]:9092,", "subscribe": "sem"})


def test_kafka_properties_pass_through() -> None:
    options = parse(**{"kafka.client.id": "job", "kafka.fetch.max.bytes": "1000000"})
    assert options.client == {"bootstrap.servers": "broker:9092", "client.id": "job", "fetch.max.bytes": "1000000"}


def test_kafka_properties_that_cannot_be_meant_are_refused_at_once() -> None:
    nearest = "unknown setting 'kafka.fetch.max.byte'; did you mean 'kafka.fetch.max.bytes'?"
    refused(nearest, **{"kafka.fetch.max.byte": "1"})
    refused("kafka.fetch.max.bytes='many': expected a whole number", **{"kafka.fetch.max.bytes": "many"})
    refused("kafka.fetch.message.max.bytes='many': expected a whole", **{"kafka.fetch.message.max.bytes": "many"})
    with pytest.raises(ConfigError, match="nowhere:port"):
        parse_batch_options({"kafka.bootstrap.servers": "nowhere:port", "subscribe": "sem"})


def test_client_properties_stay_out_of_the_repr() -> None:
    assert "broker:9092" not in repr(parse())


JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="hunter2";'
SECURE = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "SCRAM-SHA-512",
    "kafka.sasl.jaas.config": JAAS,
    "kafka.ssl.truststore.type": "PEM",
    "kafka.ssl.truststore.certificates": "-----BEGIN CERTIFICATE-----",
    "kafka.ssl.keystore.certificate.chain": "-----BEGIN CERTIFICATE-----",
    "kafka.ssl.keystore.key": "-----BEGIN PRIVATE KEY----- hunter2",
    "kafka.ssl.key.password": "hunter2",
    "kafka.ssl.endpoint.identification.algorithm": "",
}


def test_tls_and_logins_as_spark_jobs_have_them() -> None:
    client = parse(**SECURE).client
    assert client["sasl.jaas.config"] == JAAS
    settings = from_config(ConsumerSettings, client)
    assert (settings.sasl_username, settings.ssl_endpoint_identification_algorithm) == ("alice", "")


def test_secrets_are_hidden_wherever_options_are_shown() -> None:
    options = parse(**SECURE)
    reader = KwireReader(options)
    shown = [repr(options), str(options), repr(options.client), repr(vars(reader)), str(sorted(options.client.items()))]
    assert "hunter2" not in "".join(shown)
    assert pickle.loads(pickle.dumps(reader)).options == options


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (
            "kafka.ssl.key.password without a key",
            {"kafka.ssl.keystore.certificate.chain": "", "kafka.ssl.keystore.key": ""},
        ),
        ("kafka.sasl.jaas.config: ", {"kafka.sasl.jaas.config": 'ScramLoginModule required password="hunter2'}),
        ("kafka.security.protocol='PLAINTEXT' is without TLS", {"kafka.security.protocol": "PLAINTEXT"}),
        ("kafka.sasl.mechanism='PLIAN': expected one of 'PLAIN'", {"kafka.sasl.mechanism": "PLIAN"}),
        ("unknown setting 'kafka.ssl.keystore.pasword'", {"kafka.ssl.keystore.pasword": "hunter2"}),
    ],
)
def test_errors_of_tls_and_logins_name_the_option(text: str, change: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)) as caught:
        parse(**{**SECURE, **change})
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_missing_is_named_with_its_host() -> None:
    given = {"kafka.security.protocol": "SSL", "kafka.ssl.truststore.location": "/nowhere/trust.p12"}
    options = parse(**given)
    with pytest.raises(ConfigError, match=re.escape(f"on host {socket.gethostname()}: kafka.ssl.truststore.location=")):
        list(KwireReader(options).partitions())
    with pytest.raises(ConfigError, match=r"trust\.p12"):
        list(KwireReader(options).read(TaskPartition((OffsetRange(TopicPartition("sem", 0), 0, 1),))))


def test_a_path_that_holds_the_name_of_a_setting_is_told_as_it_is() -> None:
    path = "/etc/tls/ssl_key_location/ca.pem"
    options = parse(**{"kafka.security.protocol": "SSL", "kafka.ssl.ca.location": path})
    with pytest.raises(ConfigError, match=re.escape(f": kafka.ssl.ca.location='{path}' cannot be read")):
        list(KwireReader(options).partitions())


def test_options_without_meaning_in_a_batch_are_accepted_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "kwire.spark"):
        options = parse(**{"maxOffsetsPerTrigger": "7", "kafka.group.id": "team"})
    assert "group.id" not in options.client
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning == (
        "Options without an effect here: maxOffsetsPerTrigger (it is for another kind of query); "
        "kafka.group.id (a read joins no consumer group)"
    )


def test_columns() -> None:
    assert parse(columns="value, Offset").columns == ("value", "offset")
    assert parse(columns="headers").columns == ("headers",)
    refused("columns: there is no column 'valeu'; the columns are key, value, topic", columns="valeu")
    refused("columns: a column is named twice", columns="key,KEY")
    refused("includeHeaders is true but the option columns leaves 'headers' out", columns="key", includeHeaders="true")


def test_without_arrow_the_schema_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if "site-packages" not in folder])
    monkeypatch.delitem(sys.modules, "pyarrow", raising=False)
    importlib.invalidate_caches()
    with pytest.raises(ConfigError, match=re.escape('pip install "kwire[spark]"')):
        KwireDataSource({"kafka.bootstrap.servers": "broker:9092", "subscribe": "sem"}).schema()
