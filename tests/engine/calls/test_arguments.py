"""Arguments of the clients' calls: what is taken, and what a refusal says."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from kwire import Admin, Consumer, KafkaError, Producer, TopicPartition, errors
from kwire.engine.admin.a19_create_topics import NewTopic
from kwire.engine.calls import arguments
from kwire.engine.common.addresses import parse_bootstrap

NOWHERE = "127.0.0.1:1"
TP = TopicPartition("t", 0)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, None), (0, 0.0), (1.5, 1.5), (timedelta(milliseconds=250), 0.25), (Fraction(1, 2), 0.5)],
)
def test_a_timeout_is_seconds_or_a_timedelta(given: object, expected: float | None) -> None:
    assert arguments.seconds(given) == expected


@pytest.mark.parametrize("given", ["1", b"1", True, -1, -0.5, timedelta(seconds=-1), float("nan"), [1]])
def test_another_timeout_is_refused_by_name(given: object) -> None:
    with pytest.raises(errors.ConfigError, match=r"^timeout=.*seconds"):
        arguments.seconds(given)


@pytest.mark.parametrize("given", [1000, 301.0])
def test_a_poll_that_looks_like_milliseconds_warns(given: float) -> None:
    with pytest.warns(UserWarning, match="milliseconds") as caught:
        assert arguments.poll_seconds(given) == given
    assert caught[0].filename == __file__


@pytest.mark.parametrize("given", [None, 300, float("inf"), timedelta(hours=1)])
def test_a_long_poll_that_says_its_unit_does_not_warn(given: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arguments.poll_seconds(given)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.poll("1"), "timeout='1'"),
        (lambda c: c.poll(-1), "timeout=-1"),
        (lambda c: c.poll(0, max_records="5"), "max_records='5'"),
        (lambda c: c.poll(0, max_records=2.5), "max_records=2.5"),
        (lambda c: c.poll(0, max_records=True), "max_records=True"),
        (lambda c: c.subscribe(None), "either topics or pattern"),
        (lambda c: c.subscribe("^orders"), "pattern"),
        (lambda c: c.subscribe(["a b"]), "'a b'"),
        (lambda c: c.partitions_for("a/b"), "'a/b'"),
        (lambda c: c.assign(None), "partitions=None"),
        (lambda c: c.assign(TP), "a list of TopicPartition"),
        (lambda c: c.assign([TP], at=[1]), "at=[1]: expected a mapping"),
        (lambda c: c.assign([TP], at={TP: "noon"}), "'noon' is not a position in t-0"),
        (lambda c: c.assign([TP], at={TP: True}), "True is not a position in t-0"),
        (lambda c: c.assign([TP], until={TP: "latest"}), "until 'latest' of t-0"),
        (lambda c: c.assign([TP], until={TP: -1}), "until -1 of t-0 is not an offset"),
        (lambda c: c.offsets_for_times([TP]), "times="),
        (lambda c: c.end_offsets([TP], timeout="5"), "timeout='5'"),
    ],
)
def test_a_consumer_names_the_argument_at_fault(call: Callable[[Consumer], object], words: str) -> None:
    with Consumer(NOWHERE) as consumer, pytest.raises(errors.ConfigError) as caught:
        call(consumer)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: a.list_offsets([TP]), "when="),
        (lambda a: a.list_offsets({"t": 1}), "'t' is not a partition"),
        (lambda a: a.create_topics([NewTopic(3)]), "{name: NewTopic(...)}"),
        (lambda a: a.create_topics(None), "topics=None"),
        (lambda a: a.create_topics([5]), "5 is not a topic name"),
        (lambda a: a.describe_topics(7), "topics=7"),
        (lambda a: a.list_topics(timeout="1"), "timeout='1'"),
    ],
)
def test_an_admin_names_the_argument_at_fault(call: Callable[[Admin], object], words: str) -> None:
    with Admin(NOWHERE) as admin, pytest.raises(errors.ConfigError) as caught:
        call(admin)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (5, (5, None)),
        ("earliest", (None, -2)),
        ("latest", (None, -1)),
        (NOON, (None, 1_767_268_800_000)),
    ],
)
def test_a_position_is_an_offset_or_a_time(where: object, expected: tuple[int | None, int | None]) -> None:
    assert arguments.position(TP, where) == expected


def test_what_is_no_partition_is_refused_though_it_equals_one() -> None:
    assert arguments.partition(("t", 1)) == TopicPartition("t", 1)
    for entry in (("t", True), ("t", 1.0), (["t"], 1), ("t", [1]), ("t", -1), TopicPartition("t", -1)):
        with pytest.raises(errors.ConfigError, match="is not a"):
            arguments.partition(entry)


def test_seeking_before_the_partitions_are_known_is_refused() -> None:
    with Consumer(NOWHERE) as consumer:
        consumer.subscribe(["t"])
        for seek in (consumer.seek_to_beginning, consumer.seek_to_end):
            with pytest.raises(errors.ConfigError, match=r"'t' are not known before the first poll.*auto_offset_reset"):
                seek()


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ({"bootstrap.servers": "a:1"}, "from_config"),
        ("a:1;b:2", "commas"),
        ("a;b", "commas"),
        ("a:1:2", "IPv6"),
    ],
)
def test_servers_as_other_clients_take_them_are_refused(servers: object, words: str) -> None:
    with pytest.raises(errors.ConfigError, match=words):
        parse_bootstrap(servers)


@pytest.mark.parametrize("client", [Producer, Consumer, Admin])
def test_a_first_argument_that_is_not_the_servers(client: type[Consumer]) -> None:
    for arguments_given in (("t",), ("t", "u")):
        with pytest.raises(errors.ConfigError, match="first argument is bootstrap_servers"):
            client(*arguments_given, bootstrap_servers=NOWHERE)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("client", "name", "words"),
    [
        (Producer, "produce", r"send\(topic, value"),
        (Producer, "poll", "not needed"),
        (Producer, "partitions_for", "Consumer"),
        (Consumer, "consume", "poll"),
        (Admin, "perform_leader_election", "elect_leaders"),
    ],
)
def test_names_of_other_clients_say_what_to_do(client: type[Producer], name: str, words: str) -> None:
    with client(NOWHERE) as made:
        with pytest.raises(AttributeError, match=rf"^{client.__name__}\.{name}\(\): .*{words}"):
            getattr(made, name)
        assert not hasattr(made, name)
        assert name not in dir(made)
    assert not hasattr(client, name)


def test_a_closed_client_raises_an_error_of_its_own() -> None:
    consumer, producer = Consumer(NOWHERE), Producer(NOWHERE)
    consumer.close()
    producer.close()
    for call in (lambda: consumer.poll(0), producer.flush):
        with pytest.raises(errors.ClientClosedError) as caught:
            call()
        assert isinstance(caught.value, KafkaError)


@pytest.mark.parametrize("name", [".", "..", "x" * 256, "a b"])
def test_a_name_that_no_topic_has_is_told_with_all_rules(name: str) -> None:
    with pytest.raises(errors.ConfigError, match=r"1 to 255 of the characters .*not '\.' or '\.\.' alone$"):
        arguments.topic_name(name)
