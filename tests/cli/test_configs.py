"""`kwire configs` against the embedded broker."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kwire.testing import Broker
from tests.cli.conftest import Kwire


def objects(kwire: Kwire, *arguments: str) -> list[dict[str, Any]]:
    outcome = kwire("configs", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.lines]


def test_what_is_set_is_listed_and_can_be_unset(kwire: Kwire, broker: Broker) -> None:
    assert objects(kwire) == []
    changed = kwire("configs", "set", "topics", "orders", "retention.ms=5", "cleanup.policy+=compact")
    assert (changed.code, changed.out, changed.err) == (0, b"", "")
    row = {"type": "topic", "name": "orders", "source": "dynamic-topic-config"}
    assert objects(kwire, "list", "topic", "orders") == [
        {**row, "config": "cleanup.policy", "value": "delete,compact"},
        {**row, "config": "retention.ms", "value": "5"},
    ]
    assert kwire("configs", "set", "topics", "orders", "cleanup.policy-=delete").code == 0
    assert kwire("configs", "unset", "topics", "orders", "retention.ms").code == 0
    assert [(row["config"], row["value"]) for row in objects(kwire)] == [("cleanup.policy", "compact")]


def test_all_configs_that_hold_are_described(kwire: Kwire, broker: Broker) -> None:
    rows = {row["config"]: row for row in objects(kwire, "describe", "topics", "orders")}
    assert len(rows) > 20
    assert rows["retention.ms"] == {
        "type": "topic", "name": "orders", "config": "retention.ms", "value": "604800000", "source": "default-config",
        "value_type": "long", "read_only": False,
    }  # fmt: skip
    assert kwire("configs", "describe", "topics", "orders").lines[0].split() == [
        "type", "name", "config", "value", "source", "value", "type", "read", "only",
    ]  # fmt: skip


def test_what_is_set_for_all_brokers_is_listed_once(kwire: Kwire, broker: Broker) -> None:
    assert kwire("configs", "set", "brokers", "default", "log.cleaner.threads=2").code == 0
    assert kwire("configs", "set", "brokers", "1", "num.io.threads=9").code == 0
    assert [(row["name"], row["config"], row["value"]) for row in objects(kwire, "list", "brokers")] == [
        ("default", "log.cleaner.threads", "2"),
        ("1", "num.io.threads", "9"),
    ]


def test_a_topic_that_does_not_exist_beside_one_that_does(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("configs", "describe", "topics", "none", "orders", "--output", "csv")
    assert (outcome.code, "'none'" in outcome.err) == (3, True)
    assert outcome.lines[0] == "type,name,config,value,source,value_type,read_only"
    assert outcome.lines[1].startswith("topic,orders,")
    assert kwire("configs", "describe", "topics", "none").code == 1


def test_a_config_that_cannot_be_set(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("configs", "set", "topics", "orders", "nonsense=1", "--json")
    assert outcome.code == 1
    row = json.loads(outcome.out)
    assert (row["name"], "INVALID_CONFIG" in row["error"]) == ("orders", True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["list", "topcs"], "client-metrics, broker-loggers is needed (did you mean topics?)"),
        (["topics", "orders"], "to see it: kwire configs describe topics orders"),
        (["set", "brokers", "one", "a=b"], "'one': a broker is named by its id, all of them by 'default'"),
        (["set", "topics", "orders", "retention.ms"], "'retention.ms': write CONFIG=VALUE"),
        (["set", "topics", "orders", "=hunter2"], "'': write CONFIG=VALUE"),
        (["unset", "topics", "orders", "retention.ms=hunter2"], "'retention.ms': name the configs without values"),
        (["set", "topics", "orders"], "the following arguments are required: CONFIG=VALUE"),
    ],
)
def test_wrong_usage(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("configs", *arguments)
    assert (outcome.code, said in outcome.err) == (2, True)
    assert "hunter2" not in outcome.err


def test_what_a_broker_is_too_old_for_is_told_with_what_would_do(kwire: Kwire) -> None:
    with Broker(release="0.10.2.2", topics=["orders"]) as old:
        at = ("-b", old.bootstrap_servers)
        changed = kwire("configs", "set", "topics", "orders", "retention.ms=5", *at)
        asked = kwire("configs", "list", "topics", "orders", *at)
    assert (changed.code, asked.code) == (1, 1)
    assert "does not have it (Kafka 2.3 brought it); single configs can be changed from Kafka 2.3 on" in changed.err
    assert "configs can be asked for from Kafka 0.11 on" in asked.err


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("2.2.0", ("configs", "set", "topics", "orders", "retention.ms=5")),
        ("4.0.0", ("configs", "list", "groups")),
        ("3.7.0", ("transactions", "--open-for", "5")),
        ("4.0.0", ("transactions", "--pattern", "a.*")),
    ],
)
def test_advice_about_old_brokers_has_no_words_of_python(kwire: Kwire, release: str, command: tuple[str, ...]) -> None:
    """As `alter_configs()` or `min_duration=`."""
    with Broker(release=release, topics=["orders"]) as old:
        outcome = kwire(*command, "-b", old.bootstrap_servers)
    assert (outcome.code, "UNSUPPORTED_VERSION" in outcome.err) == (1, True)
    assert not re.search(r"\w\(|\w=", outcome.err), outcome.err
