"""Groups of librdkafka on the embedded broker: both protocols, patterns, and a group that migrates and comes back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer

from kwire.protocol import ListGroupsRequest
from kwire.testing import Broker
from tests.testing.client import Client
from tests.timing import PATIENT

PARTITIONS = 4


def member(broker: Broker, protocol: str, topic: str = "t", **settings: Any) -> Consumer:
    common = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    classic = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200} if protocol == "classic" else {}
    made = Consumer({**common, **classic, "group.protocol": protocol, **settings})
    made.subscribe([topic])
    return made


def settle(members: Sequence[Consumer], records: int = 0) -> None:
    """Polls until the partitions are shared out evenly and that many records were read."""
    until = time.monotonic() + PATIENT
    read = 0
    while read < records or any(len(each.assignment()) != PARTITIONS // len(members) for each in members):
        assert time.monotonic() < until, f"{read} records, {[each.assignment() for each in members]}"
        for each in members:
            message = each.poll(0.02)
            assert message is None or message.error() is None
            read += message is not None
    owned = [place.partition for each in members for place in each.assignment()]
    assert sorted(owned) == list(range(PARTITIONS))


def type_of_group(broker: Broker) -> str:
    with Client(broker) as client:
        [listed] = client.ask(ListGroupsRequest(), 5).groups
        name: str = listed.group_type
        return name


@pytest.mark.parametrize(
    ("first", "second", "types"),
    [
        ("classic", "classic", ["classic", "classic", "classic"]),
        ("consumer", "consumer", ["consumer", "consumer", "consumer"]),
        ("classic", "consumer", ["classic", "consumer", "classic"]),
    ],
)
def test_members_share_a_topic_and_one_takes_over(first: str, second: str, types: list[str]) -> None:
    with Broker(topics={"t": PARTITIONS}, group_consumer_heartbeat_interval_ms=200) as broker:
        for partition in range(PARTITIONS):
            broker.append("t", [b"v"] * 10, partition=partition)
        one = member(broker, first)
        settle([one], records=40)
        seen = [type_of_group(broker)]
        one.commit(asynchronous=False)
        other = member(broker, second)
        settle([one, other])
        seen.append(type_of_group(broker))
        other.close()
        settle([one])
        seen.append(type_of_group(broker))
        one.close()
    assert seen == types


def test_a_pattern_is_resolved_by_the_broker() -> None:
    with Broker(topics={"t": PARTITIONS, "other": 1}, group_consumer_heartbeat_interval_ms=200) as broker:
        one = member(broker, "consumer", "^t$")
        settle([one])
        one.close()
