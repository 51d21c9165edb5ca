"""Consumers in a KIP-848 group, on the embedded broker: listeners that commit, patterns, errors, both fronts."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import kwire.aio
from kwire import Admin, Consumer, TopicPartition, errors
from kwire.testing import Broker
from tests.clients.polling import poll_until
from tests.timing import PATIENT, SOON

ALL = {TopicPartition("t", number) for number in range(4)}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(group_consumer_heartbeat_interval_ms=50, group_consumer_session_timeout_ms=60_000) as started:
        with Admin(started.bootstrap_servers) as admin:
            admin.create_topics({"t": 4})
        yield started


def member_of(broker: Broker, **options: Any) -> Consumer:
    given = {"group_id": "g", "group_protocol": "consumer", "auto_offset_reset": "earliest", **options}
    return Consumer(broker.bootstrap_servers, **given)


class Committing:
    """A listener that commits what goes."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.calls: list[tuple[str, int]] = []

    def on_assigned(self, partitions: list[TopicPartition]) -> None:
        self.calls.append(("assigned", len(partitions)))

    def on_revoked(self, partitions: list[TopicPartition]) -> None:
        self.consumer.commit({tp: self.consumer.position(tp) for tp in partitions})
        self.calls.append(("revoked", len(partitions)))


class Closing:
    """A listener that closes its consumer."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer

    def on_assigned(self, partitions: list[TopicPartition]) -> None:
        self.consumer.close()


def wait_until_empty(broker: Broker) -> None:
    """Until the group has no members, before their sessions are over."""
    give_up = time.monotonic() + SOON
    with Admin(broker.bootstrap_servers) as admin:
        while admin.describe_consumer_groups(["g"])["g"].members:
            assert time.monotonic() < give_up
            time.sleep(0.01)


def test_a_close_from_another_thread_leaves_the_group(broker: Broker) -> None:
    one = member_of(broker)
    one.subscribe(["t"])
    poll_until([one], lambda: one.assignment() == ALL)
    closing = threading.Timer(0.1, one.close)
    closing.start()
    with pytest.raises(errors.ClientClosedError):
        one.poll(30)
    closing.join()
    wait_until_empty(broker)


def test_a_close_in_the_listener_leaves_the_group(broker: Broker) -> None:
    one = member_of(broker)
    one.subscribe(["t"], listener=Closing(one))
    with pytest.raises(errors.ClientClosedError):
        one.poll(30)
    wait_until_empty(broker)


def test_a_close_while_another_task_polls_leaves_the_group(broker: Broker) -> None:
    async def main() -> None:
        one = kwire.aio.Consumer(broker.bootstrap_servers, group_id="g", group_protocol="consumer")
        one.subscribe(["t"])
        while one.assignment() != ALL:
            await one.poll(0.02)
        polling = asyncio.create_task(one.poll(30))
        await asyncio.sleep(0)
        await one.close()
        with pytest.raises(errors.ClientClosedError):
            await polling

    asyncio.run(main())
    wait_until_empty(broker)


def test_the_listener_commits_what_it_gives_back(broker: Broker) -> None:
    for number in range(4):
        broker.append("t", [b"1", b"2"], partition=number)
    with member_of(broker, enable_auto_commit=False) as one, member_of(broker, enable_auto_commit=False) as two:
        listener = Committing(one)
        one.subscribe(["t"], listener=listener)
        found: list[bytes | None] = []
        while len(found) < 8:
            found += one.poll(1.0).values()
        two.subscribe(["t"])
        poll_until([one, two], lambda: len(one.assignment()) == len(two.assignment()) == 2)
        assert two.poll(0.3).values() == []
        assert set(two.committed(list(two.assignment())).values()) != {None}
        assert listener.calls[:2] == [("assigned", 4), ("revoked", 2)]
        assert one.group_metadata().generation_id == two.group_metadata().generation_id
        assert one.group_metadata().member_id != two.group_metadata().member_id
    assert listener.calls[-1] == ("revoked", 2)


def test_members_stay_while_their_programs_are_at_work(broker: Broker) -> None:
    with member_of(broker) as one:
        one.subscribe(["t"])
        poll_until([one], lambda: one.assignment() == ALL)
        before = broker.request_count("ConsumerGroupHeartbeat")
        broker.wait_for_requests("ConsumerGroupHeartbeat", before + 4, timeout=PATIENT)
        assert one.assignment() == ALL


def test_a_pattern_is_the_brokers_to_match(broker: Broker) -> None:
    broker.create_topic("t2", 1)
    broker.create_topic("other", 1)
    with member_of(broker) as one:
        one.subscribe(pattern="t.?")
        poll_until([one], lambda: one.assignment() == ALL | {TopicPartition("t2", 0)})
        one.subscribe(pattern="(")
        for _ in range(2):
            with pytest.raises(errors.broker.InvalidRegularExpressionError, match="RE2"):
                poll_until([one], lambda: False)
        one.subscribe(["other"])
        poll_until([one], lambda: one.assignment() == {TopicPartition("other", 0)})
        one.unsubscribe()
        assert one.assignment() == set()


def test_a_topic_that_matched_is_not_made_again_by_asking_for_it(broker: Broker) -> None:
    broker.create_topic("t2", 1)
    with member_of(broker, metadata_max_age_ms=50) as one, Admin(broker.bootstrap_servers) as admin:
        one.subscribe(pattern="t.?")
        poll_until([one], lambda: one.assignment() == ALL | {TopicPartition("t2", 0)})
        broker.faults.error("ConsumerGroupHeartbeat", errors.broker.CoordinatorLoadInProgressError, times=None)
        admin.delete_topics(["t2"])
        asked = broker.request_count("Metadata")
        poll_until([one], lambda: broker.request_count("Metadata") > asked + 3)
        assert TopicPartition("t2", 0) in one.assignment()
        assert admin.list_topics() == ["t"]
        broker.faults.clear()
        poll_until([one], lambda: one.assignment() == ALL)


def test_static_members_come_back_to_what_they_had(broker: Broker) -> None:
    with member_of(broker, group_instance_id="a") as one:
        one.subscribe(["t"])
        poll_until([one], lambda: one.assignment() == ALL)
        with member_of(broker, group_instance_id="a", default_api_timeout_ms=2_000) as two:
            two.subscribe(["t"])
            with pytest.raises(errors.broker.UnreleasedInstanceIdError, match="has not left"):
                poll_until([two], lambda: False)
    with member_of(broker, group_instance_id="a") as again:
        again.subscribe(["t"])
        poll_until([again], lambda: again.assignment() == ALL)


def test_a_release_without_the_protocol_says_what_to_set() -> None:
    with Broker(release="3.5.2", topics=["t"]) as old, member_of(old) as one:
        one.subscribe(["t"])
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"Kafka 3\.5.*group_protocol='classic'"):
            one.poll(PATIENT)


def test_a_group_of_another_kind_is_refused_in_words(broker: Broker) -> None:
    with Broker(group_consumer_migration_policy="disabled", group_initial_rebalance_delay_ms=0, topics=["t"]) as strict:
        with member_of(strict, group_protocol="classic") as classic, member_of(strict) as one:
            classic.subscribe(["t"])
            poll_until([classic], lambda: len(classic.assignment()) > 0)
            one.subscribe(["t"])
            with pytest.raises(errors.broker.GroupIdNotFoundError, match="another type"):
                one.poll(PATIENT)


def test_settings_that_the_broker_decides_are_refused() -> None:
    for name, value in (
        ("session_timeout_ms", 10_000),
        ("heartbeat_interval_ms", 100),
        ("partition_assignment_strategy", "sticky"),
    ):
        with pytest.raises(errors.ConfigError, match=f"{name} cannot be set with group_protocol='consumer'"):
            Consumer("a:1", group_id="g", group_protocol="consumer", **{name: value})


def test_for_asyncio_too(broker: Broker) -> None:
    told: list[tuple[str, int]] = []

    class Listener:
        async def on_assigned(self, partitions: list[TopicPartition]) -> None:
            await asyncio.sleep(0.01)
            told.append(("assigned", len(partitions)))

        def on_revoked(self, partitions: list[TopicPartition]) -> None:
            told.append(("revoked", len(partitions)))

    async def test() -> None:
        given: Any = {"group_id": "g", "group_protocol": "consumer", "auto_offset_reset": "earliest"}
        async with (
            kwire.aio.Consumer(broker.bootstrap_servers, **given) as one,
            kwire.aio.Consumer(broker.bootstrap_servers, **given) as two,
        ):
            one.subscribe(["t"], listener=Listener())
            while one.assignment() != ALL:
                await one.poll(0.05)
            two.subscribe(["t"])
            while len(one.assignment()) != 2 or len(two.assignment()) != 2:
                await asyncio.gather(one.poll(0.05), two.poll(0.05))

    asyncio.run(asyncio.wait_for(test(), PATIENT))
    assert told[0] == ("assigned", 4)
    assert told[1] == ("revoked", 2)
    assert told[-1] == ("revoked", 2)
