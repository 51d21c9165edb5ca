"""Admin against the embedded broker, old and new: topics made, found, deleted, and what is said when that fails."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import kwire.admin
from kwire import Admin, TopicPartition, errors
from kwire.admin import NewTopic
from kwire.testing import Broker
from kwire.testing.answers import b02_list_offsets
from tests.subprocesses import run_python
from tests.timing import PATIENT, SOON, raised_at_last

WITH_CREATE = ["0.10.2.2", "1.1.1", "2.4.1", "3.9.2", "4.4.0"]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(auto_create_topics=False) as running:
        yield running


@pytest.mark.parametrize("release", WITH_CREATE)
def test_topics_are_made_listed_described_and_deleted(release: str) -> None:
    with Broker(release=release) as broker, Admin(broker.bootstrap_servers) as admin:
        made = admin.create_topics({"first": 3, "second": NewTopic(1, 1, {"retention.ms": "1000"})})
        assert set(made) == {"first", "second"}
        assert admin.list_topics() == ["first", "second"]
        described = admin.describe_topics(["first"])["first"]
        assert sorted(described.partitions) == [0, 1, 2]
        assert all(part.leader >= 0 for part in described.partitions.values())
        assert admin.list_offsets({("first", 0): "latest", ("first", 2): "earliest"}) == {
            TopicPartition("first", 0): admin.list_offsets({("first", 0): "earliest"})[TopicPartition("first", 0)],
            TopicPartition("first", 2): admin.list_offsets({("first", 2): "latest"})[TopicPartition("first", 2)],
        }
        admin.delete_topics(["first"])
        assert admin.list_topics() == ["second"]


@pytest.mark.parametrize(("level", "code"), [("read_uncommitted", 0), ("read_committed", 1)])
def test_offsets_of_an_isolation_level(monkeypatch: pytest.MonkeyPatch, level: str, code: int) -> None:
    asked = []
    as_usual = b02_list_offsets.answer

    def answer(context: Any) -> Any:
        asked.append(context.request.isolation_level)
        return as_usual(context)

    monkeypatch.setattr(b02_list_offsets, "answer", answer)
    with Broker(topics=["orders"]) as started, Admin(started.bootstrap_servers) as admin:
        started.append("orders", [b"a"])
        (found,) = admin.list_offsets({("orders", 0): "latest"}, isolation_level=level).values()
        assert found is not None
        assert (found.offset, asked) == (1, [code])


def test_an_isolation_level_that_is_none() -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError, match="isolation_level='serializable'"):
        admin.list_offsets({("orders", 0): "latest"}, isolation_level="serializable")


def test_defaults_of_the_broker_where_it_has_them(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        made = admin.create_topics(["plain"])
        assert made["plain"].num_partitions >= 1
        assert admin.create_topics({"mapped": {"num_partitions": 2}})["mapped"].num_partitions == 2


def test_defaults_are_missed_where_the_broker_has_none() -> None:
    with Broker(release="1.1.1") as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.BrokerError, match=r"'plain' without a number of partitions.*2\.4") as caught:
            admin.create_topics(["plain"])
        assert caught.value.code == 35
        admin.create_topics({"counted": 2})
        assert len(admin.describe_topics(["counted"])["counted"].partitions) == 2


@pytest.mark.parametrize("release", ["0.8.2.2", "0.9.0.1", "0.10.0.1"])
def test_a_broker_too_old_to_create_says_so(release: str) -> None:
    with Broker(release=release) as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.BrokerError, match="CreateTopics") as caught:
            admin.create_topics({"t": 1})
        assert caught.value.code == 35
        assert admin.list_topics() == []


def test_a_topic_that_exists_is_named(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topics({"t": 1})
        with pytest.raises(errors.BrokerError, match="CreateTopics of 't'") as caught:
            admin.create_topics({"t": 1, "u": 1})
        assert caught.value.code == 36
        assert admin.list_topics() == ["t", "u"]


def test_a_topic_that_is_missing_is_named(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.UnknownTopicError, match="'nowhere' does not exist; asked: 127"):
            admin.describe_topics(["nowhere"])
        with pytest.raises(errors.BrokerError, match="DeleteTopics of 'nowhere'") as caught:
            admin.delete_topics(["nowhere"], timeout=0.5)
        assert caught.value.code == 3


def test_asking_never_creates() -> None:
    for release in ("0.8.2.2", "0.10.2.2", "4.4.0"):
        with Broker(release=release, auto_create_topics=True) as broker, Admin(broker.bootstrap_servers) as admin:
            with pytest.raises(errors.UnknownTopicError):
                admin.describe_topics(["nowhere"])
            assert admin.list_topics() == []


def test_validation_makes_nothing(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topics({"t": 1}, validate_only=True)
        assert admin.list_topics() == []


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        ({"t": 0}, "num_partitions=0"),
        ({"t": -2}, "num_partitions=-2"),
        ({"t": "12"}, "'12' is neither"),
        ({"": 1}, "'' is not a topic name"),
        ({"t": {"partitions": 3}}, "unknown detail 'partitions'"),
        ({"t": NewTopic(2, assignments={0: [0]})}, "leave the two numbers out"),
        ({"t": True}, "num_partitions=True"),
    ],
)
def test_details_that_cannot_be_meant(topics: Any, words: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError) as caught:
        admin.create_topics(topics)
    assert words in str(caught.value)


def test_codes_that_pass_are_waited_out(broker: Broker) -> None:
    broker.faults.error("CreateTopics", 41, times=2)
    broker.faults.close("CreateTopics")
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topics({"t": 1})
        assert admin.list_topics() == ["t"]


def test_a_code_that_does_not_pass_is_raised_in_time(broker: Broker) -> None:
    broker.faults.error("CreateTopics", 41, times=None)
    with Admin(broker.bootstrap_servers) as admin:
        begun = time.monotonic()
        with pytest.raises(errors.KafkaTimeoutError, match="NOT_CONTROLLER"):
            admin.create_topics({"t": 1}, timeout=0.5)
        assert 0.4 < time.monotonic() - begun < SOON


def test_no_broker_is_said_in_time() -> None:
    with Admin("127.0.0.1:1,[::1]:1") as admin:
        error = raised_at_last(lambda: admin.list_topics(timeout=0.4), errors.ConnectError, "[::1]:1")
        assert set(error.causes) == {"127.0.0.1:1", "[::1]:1"}
        raised_at_last(lambda: admin.create_topics({"t": 1}, timeout=0.4), errors.ConnectError, "127.0.0.1:1: ")


def test_any_thread_may_ask(broker: Broker) -> None:
    failures: list[Exception] = []
    with Admin(broker.bootstrap_servers) as admin:

        def work(number: int) -> None:
            try:
                admin.create_topics({f"t{number}": 1})
                assert f"t{number}" in admin.list_topics()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENT)
        assert failures == []
        assert admin.list_topics() == [f"t{number}" for number in range(8)]


def test_it_pickles_as_its_settings(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers, client_id="me") as admin:
        with pickle.loads(pickle.dumps(admin)) as other:
            other.create_topics({"t": 1})
        assert admin.list_topics() == ["t"]


def test_a_closed_admin_says_so(broker: Broker) -> None:
    admin = Admin.from_config({"bootstrap.servers": broker.bootstrap_servers})
    assert admin.list_topics() == []
    admin.close()
    with pytest.raises(errors.KafkaError, match="closed"):
        admin.list_topics()


def test_the_module_lists_what_calls_take_and_return() -> None:
    listed = run_python("import kwire.admin; print(*kwire.admin.__all__); print(*dir(kwire.admin))")
    names, seen = (set(line.split()) for line in listed.splitlines())
    assert {"Admin", "NewTopic", "AclBinding", "TopicInfo", "ConfigEntry"} < names <= seen
    assert all(getattr(kwire.admin, name).__name__ == name for name in names)
