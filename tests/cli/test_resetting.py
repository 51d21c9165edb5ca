"""`kwire groups reset` against the embedded broker."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from kwire import Admin, Consumer, ShareConsumer, TopicPartition, records
from kwire.cli.resetting import Step, parse_target
from kwire.cli.usage import UsageError
from kwire.testing import Broker
from tests.cli.conftest import Kwire


def append(broker: Broker, *ages: int, partition: int = 0) -> None:
    """A record for each age in seconds."""
    now = int(time.time() * 1000)
    broker.append("orders", records.encode([(b"v", None, now - 1000 * age) for age in ages]), partition=partition)


def commit(broker: Broker, offsets: dict[tuple[str, int], int]) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets("g", offsets)


def committed(broker: Broker) -> dict[tuple[str, int], int]:
    with Admin(broker.bootstrap_servers) as admin:
        return {tp: row.offset for tp, row in admin.list_consumer_group_offsets("g").items()}


def test_what_would_change_is_shown_and_done_only_with_execute(kwire: Kwire, broker: Broker) -> None:
    append(broker, 5, 4, 3)
    commit(broker, {("orders", 0): 2, ("orders", 1): 0})
    shown = kwire("groups", "reset", "g", "--to", "earliest")
    assert shown.code == 0
    assert [line.split() for line in shown.lines] == [
        ["group", "topic", "partition", "from", "to"],
        ["g", "orders", "0", "2", "0"],
        ["g", "orders", "1", "0", "0"],
    ]
    assert shown.err == "kwire groups: nothing was changed; --execute does it\n"
    assert committed(broker)["orders", 0] == 2
    done = kwire("groups", "reset", "g", "--to", "earliest", "--execute")
    assert (done.code, done.out, done.err) == (0, shown.out, "")
    assert committed(broker) == {("orders", 0): 0, ("orders", 1): 0}


@pytest.mark.parametrize(
    ("where", "to"),
    [
        ("earliest", 0),
        ("beginning", 0),
        ("latest", 4),
        ("end", 4),
        ("1", 1),
        ("99", 4),
        ("+1", 3),
        ("-1", 1),
        ("-99", 0),
        ("+99", 4),
        ("-1h", 2),
        ("-1s", 4),
        ("2001-01-01", 0),
    ],
)
def test_where_a_group_is_reset_to(kwire: Kwire, broker: Broker, where: str, to: int) -> None:
    append(broker, 9000, 8000, 600, 500)
    commit(broker, {("orders", 0): 2})
    outcome = kwire("groups", "reset", "g", "--to", where, "--execute", "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out) == {"group": "g", "topic": "orders", "partition": 0, "from": 2, "to": to}
    assert committed(broker) == {("orders", 0): to}


def test_a_group_begins_in_topics_that_are_named(kwire: Kwire, broker: Broker) -> None:
    append(broker, 1, 1)
    assert kwire("groups", "reset", "g", "--to", "latest", "--topic", "orders", "--execute").code == 0
    assert committed(broker) == {("orders", 0): 2, ("orders", 1): 0, ("orders", 2): 0}
    alone = kwire("groups", "reset", "g", "--to", "1", "--topic", "orders:0", "--execute", "--json")
    assert json.loads(alone.out)["to"] == 1
    assert committed(broker)["orders", 0] == 1


def test_a_group_with_members_is_not_reset(kwire: Kwire, broker: Broker) -> None:
    append(broker, 1, 1)
    with Consumer(broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest") as consumer:
        consumer.subscribe(["orders"])
        while not consumer.poll(0.1):
            pass
        consumer.commit()
        refused = kwire("groups", "reset", "g", "--to", "earliest", "--execute")
        assert refused.code == 1
        assert ["g", "orders", "0", "2", "0"] in [line.split() for line in refused.lines]
        assert refused.err == (
            "kwire groups: group 'g' has 1 member, who would go on from where they are: stop them first\n"
        )
    assert committed(broker)["orders", 0] == 2


def test_a_share_group_is_reset(kwire: Kwire, broker: Broker) -> None:
    append(broker, 1, 1, 1)
    with ShareConsumer(broker.bootstrap_servers, group_id="s") as consumer:
        consumer.subscribe(["orders"])
        while "s" not in kwire("groups", "describe", "s").out.decode():
            consumer.poll(0.1)
        consumer.poll(0.5)
    outcome = kwire("groups", "reset", "s", "--to", "1", "--topic", "orders:0", "--execute")
    assert outcome.code == 0, outcome.err
    first = TopicPartition("orders", 0)
    with Admin(broker.bootstrap_servers) as admin:
        found = admin.list_share_group_offsets("s", partitions=[first])[first]
    assert found is not None
    assert found.start_offset == 1
    with ShareConsumer(broker.bootstrap_servers, group_id="s") as consumer:
        consumer.subscribe(["orders"])
        got = 0
        while not got:
            got = len(consumer.poll(0.5))
    assert got == 2


def test_partitions_that_fail_have_lines_of_their_own(kwire: Kwire, broker: Broker) -> None:
    commit(broker, {("orders", 0): 0, ("orders", 1): 0})
    broker.faults.error("OffsetCommit", 12)
    outcome = kwire("groups", "reset", "g", "--to", "latest", "--execute")
    assert outcome.code == 1
    assert [line.partition(":")[0] for line in outcome.err.splitlines()] == ["kwire groups"] * 2
    assert outcome.err.count("OFFSET_METADATA_TOO_LARGE") == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "earliest"], "group 'g' has committed nothing; name the topics by --topic"),
        (["--to", "earliest", "--topic", "none"], "none"),
        (["--to", "earliest", "--topic", "orders:3"], "'orders' has no partition 3; it has 0 to 2"),
        (["--to", "+1", "--topic", "orders:1"], "nothing is committed in orders-1"),
    ],
)
def test_groups_that_cannot_be_reset(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("groups", "reset", "g", *arguments, "--execute")
    assert (outcome.code, said in outcome.err) == (1, True)
    assert committed(broker) == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "yesterday"], "--to 'yesterday': earliest, latest, an offset, +10 or -10"),
        (["--to", "9" * 5000], "earliest, latest, an offset, +10 or -10"),
        (["--to", "earliest", "--topic", "orders:" + "9" * 5000], "write TOPIC or TOPIC:PARTITION"),
        (["--to", "earliest", "--topic", "orders:x"], "--topic 'orders:x': write TOPIC or TOPIC:PARTITION"),
        ([], "the following arguments are required: --to"),
    ],
)
def test_wrong_usage(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("groups", "reset", "g", *arguments)
    assert (outcome.code, said in outcome.err) == (2, True)


def test_targets() -> None:
    assert parse_target("Earliest") == "earliest"
    assert parse_target("12") == 12
    assert parse_target("+5") == Step(5)
    assert parse_target("-5") == Step(-5)
    assert parse_target("2024-05-01T12:00:00+00:00") == datetime(2024, 5, 1, 12, tzinfo=UTC)
    with pytest.raises(UsageError):
        parse_target("")


def test_offsets_of_a_broker_without_groups_are_reset(kwire: Kwire) -> None:
    with Broker(release="0.8.2.2", topics=["orders"]) as old, Admin(old.bootstrap_servers) as admin:
        old.append("orders", [b"a", b"b"])
        admin.alter_consumer_group_offsets("g", {("orders", 0): 2})
        assert kwire("groups", "reset", "g", "--to", "earliest", "--execute", "-b", old.bootstrap_servers).code == 0
        assert admin.list_consumer_group_offsets("g")["orders", 0].offset == 0
