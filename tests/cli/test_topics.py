"""`kwire topics` against the embedded broker."""

from __future__ import annotations

import json

import pytest

from kwire import Admin, records
from kwire.testing import Broker
from tests.cli.conftest import Kwire


def test_topics_are_listed_made_and_deleted(kwire: Kwire, broker: Broker) -> None:
    assert kwire("topics", "create", "new:5", "plain").code == 0
    assert broker.topics() == {"orders": 3, "new": 5, "plain": 1}
    broker.append("orders", records.encode([b"a", b"b"]), partition=1)
    listed = [line.split() for line in kwire("topics").lines]
    assert listed[1:] == [["new", "5", "1", "0"], ["orders", "3", "1", "2"], ["plain", "1", "1", "0"]]
    detailed = [line.split() for line in kwire("topics", "list", "orders").lines]
    assert detailed[2] == ["orders", "1", "1", "1", "1", "0", "2"]
    assert [line.split() for line in kwire("topics", "describe", "orders").lines] == detailed
    assert kwire("topics", "delete", "new", "plain", "--yes").code == 0
    assert broker.topics() == {"orders": 3}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "orders"], "TOPIC_ALREADY_EXISTS"),
        (["create", "new", "--replication", "3"], "INVALID_REPLICATION_FACTOR"),
        (["create", "new", "--topic-config", "retention=1"], "unknown topic setting 'retention'"),
        (["list", "none"], "none"),
    ],
)
def test_topics_that_cannot_be(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("topics", *arguments)
    assert outcome.code == 1
    assert said in outcome.err
    assert outcome.err.startswith("kwire topics: ")
    assert broker.topics() == {"orders": 3}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "new:x"], "orders:12"),
        (["create", "new:1", "new:2"], "'new' is given twice, with different numbers of partitions"),
        (["create"], "the following arguments are required: TOPIC[:PARTITIONS]"),
        (["create", "new", "--replication", "0"], "a whole number from 1 is needed, not '0'"),
        (["create", "new", "--topic-config", "retention"], "--topic-config 'retention': write NAME=VALUE"),
        (["create", "new", "-X", "retention.ms=1"], "--topic-config NAME=VALUE gives one to the topic"),
        (["create", "new", "--config", "retention.ms=1"], "one of the topic by --topic-config NAME=VALUE"),
        (["orders"], "to see it: kwire topics describe orders"),
        (["list", "-X", "nonsense"], "NAME=VALUE"),
        (["list", "-X", "nonsense=1"], "unknown setting 'nonsense'"),
        (["list", "--timeout", "0"], "a number of seconds above 0 is needed, not '0'"),
        (["list", "--format", "json"], "unrecognized arguments: --format"),
        (["lsit"], "'lsit' (did you mean 'list'?) is not one of list, describe, create, alter, delete"),
        (["delete", "--yse"], "the following arguments are required: TOPIC; --yse (did you mean --yes?)"),
        (["alter", "orders"], "say what to alter: --partitions N or --topic-config NAME=VALUE"),
    ],
)
def test_wrong_usage_of_topics(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("topics", *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert outcome.err.startswith("usage: kwire topics ")
    assert broker.topics() == {"orders": 3}


def test_settings_of_a_new_topic(kwire: Kwire, broker: Broker) -> None:
    arguments = ("--topic-config", "message.timestamp.type=LogAppendTime", "--topic-config", "retention.bytes=5")
    assert kwire("topics", "create", "stamped", *arguments).code == 0
    broker.append("stamped", records.encode([(b"a", None, 1000)]))
    assert records.decode(broker.record_set("stamped"))[0].timestamp_type == 1


def test_topics_as_json(kwire: Kwire, broker: Broker) -> None:
    assert [json.loads(line) for line in kwire("topics", "--json").lines] == [
        {"topic": "orders", "partitions": 3, "replicas": 1, "offsets_in_use": 0}
    ]
    described = [json.loads(line) for line in kwire("topics", "describe", "orders", "--json").lines]
    assert described[2] == {
        "topic": "orders", "partition": 2, "leader": 1, "replicas": [1], "in_sync": [1], "start": 0, "end": 0
    }  # fmt: skip


def test_topics_as_csv(kwire: Kwire, broker: Broker) -> None:
    assert kwire("topics", "--output", "csv").lines == ["topic,partitions,replicas,offsets_in_use", "orders,3,1,0"]


def test_partitions_that_lack_replicas(kwire: Kwire, monkeypatch: pytest.MonkeyPatch) -> None:
    with Broker(nodes=2, topics={"orders": 2}) as broker:
        arguments = ("topics", "describe", "orders", "--under-replicated", "--json", "-b", broker.bootstrap_servers)
        assert kwire(*arguments).lines == []
        broker.kill(2)
        rows = [json.loads(line) for line in kwire(*arguments).lines]
        assert [(row["partition"], row["replicas"], row["in_sync"]) for row in rows] == [
            (0, [1, 2], [1]),
            (1, [2, 1], [1]),
        ]


def test_partitions_of_a_new_topic_by_an_option(kwire: Kwire, broker: Broker) -> None:
    assert kwire("topics", "--partitions", "4", "create", "a", "b:2").code == 0
    assert broker.topics() == {"orders": 3, "a": 4, "b": 2}


def test_a_topic_is_altered(kwire: Kwire, broker: Broker) -> None:
    assert kwire("topics", "alter", "orders", "--partitions", "5", "--topic-config", "retention.ms=7").code == 0
    assert broker.topics() == {"orders": 5}
    with Admin(broker.bootstrap_servers) as admin:
        ((_, configs),) = admin.describe_configs([("topic", "orders")]).items()
    assert configs["retention.ms"].value == "7"
    fewer = kwire("topics", "alter", "orders", "--partitions", "2")
    assert (fewer.code, "INVALID_PARTITIONS" in fewer.err) == (1, True)


def test_what_is_done_for_some_topics_only_has_its_own_exit_code(kwire: Kwire, broker: Broker) -> None:
    kwire("topics", "create", "a")
    described = kwire("topics", "describe", "a", "none")
    assert (described.code, len(described.lines), "none" in described.err) == (3, 2, True)
    some = kwire("topics", "delete", "a", "none", "--yes", "--json")
    assert some.code == 3
    done, failed = (json.loads(line) for line in some.lines)
    assert done == {"topic": "a", "error": None}
    assert failed["topic"] == "none"
    assert f"kwire topics: {failed['error']}\n" == some.err
    assert "UNKNOWN_TOPIC" in some.err
    assert kwire("topics", "delete", "none", "--yes").code == 1
    for verb in (["describe"], ["delete", "--yes"]):
        neither = kwire("topics", *verb, "none", "nil")
        assert (neither.code, neither.err.count("kwire topics: "), neither.err.count("\n")) == (1, 2, 2)
    created = kwire("topics", "create", "orders", "new")
    assert (created.code, broker.topics()) == (3, {"orders": 3, "new": 1})


def test_what_is_there_already_or_no_more_can_be_passed_over(kwire: Kwire, broker: Broker) -> None:
    created = kwire("topics", "create", "orders:5", "new", "--if-not-exists")
    assert (created.code, created.err, broker.topics()) == (0, "", {"orders": 3, "new": 1})
    deleted = kwire("topics", "delete", "new", "none", "--if-exists", "--yes", "--json")
    assert (deleted.code, deleted.err, broker.topics()) == (0, "", {"orders": 3})
    assert [json.loads(line)["error"] for line in deleted.lines] == [None, None]
    assert kwire("topics", "create", "orders", "--if-not-exists", "--replication", "9").code == 0
    refused = kwire("topics", "create", "large", "--if-not-exists", "--replication", "9")
    assert (refused.code, "INVALID_REPLICATION_FACTOR" in refused.err) == (1, True)
