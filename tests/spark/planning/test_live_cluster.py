"""What a read asks of the cluster, on the embedded broker."""

from __future__ import annotations

import logging
import pickle
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kwire import Admin, records
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import (
    AuthError,
    ConfigError,
    ConnectError,
    KafkaError,
    KafkaTimeoutError,
    LimitError,
    TransactionError,
    UnknownTopicError,
)
from kwire.errors.broker import PRODUCER_FENCED, TopicAuthorizationFailedError, error_for
from kwire.errors.wording import Cause, Wording
from kwire.spark.options.client import errors_by_option
from kwire.spark.options.read import Selection
from kwire.spark.planning import live_cluster
from kwire.spark.planning.live_cluster import LiveCluster
from kwire.spark.ranges.offsets import LATEST, LogEnds
from kwire.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(topics={"a": 2, "b": 1, "other": 1}) as broker:
        broker.append("a", records.encode([(b"1", None, 5), (b"2", None, 6), (b"3", None, 7)]), partition=1)
        yield broker


@pytest.fixture
def cluster(broker: Broker) -> Iterator[LiveCluster]:
    with LiveCluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
        yield cluster


A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_the_partitions_of_each_kind_of_selection(cluster: LiveCluster) -> None:
    assert list(cluster.partitions(Selection(topics=("b", "a")))) == [A0, A1, B0]
    assert list(cluster.partitions(Selection(pattern="^[ab]$"))) == [A0, A1, B0]
    assert list(cluster.partitions(Selection(partitions=(A1, B0)))) == [A1, B0]
    assert all(leader >= 0 for leader in cluster.partitions(Selection(topics=("a",))).values())


def test_what_does_not_exist_is_named(cluster: LiveCluster) -> None:
    with pytest.raises(UnknownTopicError, match="subscribe: topic 'missing' does not exist"):
        cluster.partitions(Selection(topics=("missing",)))
    with pytest.raises(UnknownTopicError, match="assign: topic 'missing' does not exist"):
        cluster.partitions(Selection(partitions=(A1, TopicPartition("missing", 0))))
    with pytest.raises(ConfigError, match="assign names a-7, which does not exist; a has 2 partitions"):
        cluster.partitions(Selection(partitions=(TopicPartition("a", 7),)), to_read=True)


def test_an_assigned_partition_may_vanish_after_the_beginning(cluster: LiveCluster) -> None:
    assert list(cluster.partitions(Selection(partitions=(A1, TopicPartition("a", 7))))) == [A1]


@pytest.mark.parametrize(
    "selection",
    [Selection(topics=("b", "a")), Selection(pattern="^[ab]$"), Selection(partitions=(A1, B0))],
    ids=["names", "a pattern", "partitions"],
)
def test_a_topic_that_may_be_seen_and_not_read_is_named(
    broker: Broker, cluster: LiveCluster, selection: Selection
) -> None:
    assert cluster.partitions(selection, to_read=True) == cluster.partitions(selection)
    broker.deny("read", "topic", "a")
    try:
        assert A1 in cluster.partitions(selection)
        with pytest.raises(TopicAuthorizationFailedError, match="topic 'a', to read it: TOPIC_AUTHORIZATION_FAILED"):
            cluster.partitions(selection, to_read=True)
        assert list(cluster.partitions(Selection(topics=("b",)), to_read=True)) == [B0]
    finally:
        broker.permit("read", "topic", "a")


def test_a_broker_that_tells_no_rights_is_read_from() -> None:
    with Broker(topics=["a"], release="2.2.0") as old:
        old.deny("read", "topic", "a")
        with LiveCluster({"bootstrap.servers": old.bootstrap_servers}) as cluster:
            assert list(cluster.partitions(Selection(topics=("a",)), to_read=True)) == [A0]


def test_partitions_that_come_later_are_seen(broker: Broker, cluster: LiveCluster) -> None:
    assert TopicPartition("late", 0) not in cluster.partitions(Selection(pattern=".*"))
    broker.create_topic("late", 1)
    assert TopicPartition("late", 0) in cluster.partitions(Selection(pattern=".*"))


def test_ends_and_times(cluster: LiveCluster) -> None:
    assert cluster.ends([A0, A1]) == {A0: LogEnds(0, 0), A1: LogEnds(0, 3)}
    assert cluster.latest([A1]) == {A1: 3}
    assert cluster.offsets_for_times({A1: 6, A0: 6}) == {A1: 1, A0: LATEST}
    assert cluster.ends([]) == {}


def test_the_ids_of_the_topics_tell_a_recreated_one(broker: Broker, cluster: LiveCluster) -> None:
    broker.create_topic("again", 1)
    cluster.partitions(Selection(topics=("again",)))
    before = cluster.topic_ids["again"]
    broker.delete_topic("again")
    broker.create_topic("again", 1)
    cluster.partitions(Selection(topics=("again",)))
    assert cluster.topic_ids["again"] != before


def test_offsets_are_committed_for_a_group_without_members(broker: Broker, cluster: LiveCluster) -> None:
    cluster.commit_offsets("watchers", {A1: 2}, 10)
    with Admin(broker.bootstrap_servers) as admin:
        assert admin.list_consumer_group_offsets("watchers")[A1].offset == 2


def test_the_mean_size_of_a_record(cluster: LiveCluster) -> None:
    sizes = cluster.record_sizes([A0, A1])
    assert sizes is not None
    assert sizes[A0] == 0
    assert 20 < sizes[A1] < 60


def test_brokers_that_do_not_tell_sizes_are_asked_once() -> None:
    with Broker(topics=["a"], release="0.10.2") as old:
        with LiveCluster({"bootstrap.servers": old.bootstrap_servers}) as cluster:
            assert cluster.record_sizes([A0]) is None
            assert cluster.record_sizes([A0]) is None
            assert cluster.ends([A0]) == {A0: LogEnds(0, 0)}


def test_errors_of_connections_name_options() -> None:
    with Broker(users={"alice": "secret"}) as guarded:
        plaintext = {"bootstrap.servers": guarded.bootstrap_servers, "default.api.timeout.ms": "3000"}
        with LiveCluster(plaintext) as cluster, pytest.raises(AuthError) as refused:
            cluster.partitions(Selection(topics=("a",)))
    assert "kafka.security.protocol" in str(refused.value)
    assert "security_protocol" not in str(refused.value)


def test_causes_of_an_unreachable_cluster_name_options(broker: Broker) -> None:
    properties = {"security.protocol": "SSL"}
    asked = Wording("is {security_protocol}=PLAINTEXT meant?")
    with pytest.raises(ConnectError) as failed, errors_by_option(properties):
        raise ConnectError("no broker", {"a:1": asked, "security_protocol:1": Cause("refused", "refused")})
    assert str(failed.value) == (
        "no broker: a:1: is kafka.security.protocol=PLAINTEXT meant?; security_protocol:1: refused"
    )
    assert failed.value.causes["security_protocol:1"].kind == "refused"
    assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)


def test_errors_of_every_class_name_options() -> None:
    above = Wording("a batch of {size} bytes is above {receive_message_max_bytes}={limit}", size=9, limit=8)
    late = Wording("not delivered within {delivery_timeout_ms}={limit}", limit=5)
    for error in (
        LimitError(above, "records", 3),
        KafkaTimeoutError(above),
        KafkaError(above),
        TransactionError(Wording("it must be aborted; {why}", why=above), abortable=True),
        error_for(PRODUCER_FENCED.code, above),
    ):
        error.__cause__ = KafkaTimeoutError(late)
        with pytest.raises(type(error)) as failed, errors_by_option({"message.timeout.ms": "5"}):
            raise error
        for each in (failed.value, pickle.loads(pickle.dumps(failed.value))):
            assert "is above kafka.receive.message.max.bytes=8" in str(each)
        assert str(failed.value.__cause__) == "not delivered within kafka.message.timeout.ms=5"


@pytest.fixture
def refusing() -> Iterator[str]:
    """An address that refuses every connection, as long as the test runs."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def test_a_cluster_that_refuses_is_given_up_early(refusing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_cluster, "_REFUSED_FOR_S", 0.2)
    properties = {"bootstrap.servers": f"{refusing},no-such-host.invalid:9092"}
    with LiveCluster(properties, gives_up_early=True) as cluster, pytest.raises(ConnectError) as failed:
        cluster.partitions(Selection(topics=("a",)))
    text = str(failed.value)
    assert text.startswith(f"kafka.bootstrap.servers '{refusing},no-such-host.invalid:9092': no answer for 0 s ")
    assert "(kafka.default.api.timeout.ms is how long to wait)" in text
    assert f"{refusing}: Connection refused" in text
    assert "no-such-host.invalid:9092: the name 'no-such-host.invalid' cannot be resolved" in text
    assert "advertised" not in text


def test_words_that_sound_like_a_refusal_are_none(
    broker: Broker, cluster: LiveCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    causes = {"b:1": "the proxy said: Connection refused"}
    answers: list[dict[TopicPartition, object] | ConnectError] = [
        ConnectError("no broker could be reached", causes),
        {},
    ]

    def answer(*_: object, **__: object) -> object:
        found = answers.pop(0)
        if isinstance(found, ConnectError):
            raise found
        return found

    monkeypatch.setattr(cluster, "_gives_up_early", True)
    monkeypatch.setattr(cluster._admin, "list_offsets", answer)
    assert cluster.latest([A0]) == {}


@pytest.mark.parametrize("given", [{}, {"default.api.timeout.ms": "60000"}])
def test_a_cluster_that_comes_back_is_reached(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As a stream waits, and whoever says how long."""
    monkeypatch.setattr(live_cluster, "_REFUSED_FOR_S", 0.0)
    with Broker() as gone:
        servers = gone.bootstrap_servers
    started: list[Broker] = []

    class StartsIt(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "cannot be reached" in record.getMessage() and not started:
                started.append(brokers.enter_context(Broker(port=int(servers.split(":")[1]), topics=["a"])))

    watching = StartsIt()
    with ExitStack() as brokers:
        logging.getLogger("kwire").addHandler(watching)
        brokers.callback(logging.getLogger("kwire").removeHandler, watching)
        with LiveCluster({"bootstrap.servers": servers, **given}, gives_up_early=bool(given)) as cluster:
            assert list(cluster.partitions(Selection(topics=("a",)))) == [A0]
    assert started


def test_an_address_that_only_brokers_give_is_told(broker: Broker, cluster: LiveCluster) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectError("could not connect", {"broker.internal:9092": "Connection refused"})

    cluster.partitions(Selection(topics=("a",)))
    cluster._admin.list_offsets = unreachable  # type: ignore[method-assign,assignment]
    with pytest.raises(ConnectError) as failed:
        cluster.latest([A0])
    assert "the brokers give broker.internal:9092 as their address (advertised.listeners); could not" in str(
        failed.value
    )
    assert failed.value.causes == {"broker.internal:9092": "Connection refused"}
