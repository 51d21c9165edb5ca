"""Admin on groups, on the embedded broker: listed, described, deleted; their offsets told, altered and deleted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import kwire
from kwire import Admin, Consumer, OffsetAndMetadata, Producer, TopicPartition, errors
from kwire.testing import Broker
from tests.timing import PATIENT

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture(params=[1, 3], ids=["one node", "three nodes"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(nodes=request.param, group_initial_rebalance_delay_ms=0) as started:
        with Admin(started.bootstrap_servers) as admin:
            admin.create_topics({"t": 2})
        with Producer(started.bootstrap_servers) as producer:
            for number in range(10):
                producer.send("t", b"%d" % number, partition=0)
        yield started


@pytest.fixture
def admin(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap_servers) as made:
        yield made


def member_of(broker: Broker, group_id: str, **options: Any) -> Consumer:
    given = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **options}
    consumer = Consumer(broker.bootstrap_servers, group_id=group_id, **given)
    consumer.subscribe(["t"])
    while not consumer.poll(0.1):
        pass
    return consumer


def test_groups_of_both_protocols_are_listed_and_described(broker: Broker, admin: Admin) -> None:
    with (
        member_of(broker, "old", client_id="c", partition_assignment_strategy="range", group_instance_id="i") as old,
        member_of(broker, "new", group_protocol="consumer"),
    ):
        rows = {row.group_id: row for row in admin.list_groups()}
        assert sorted(rows) == ["new", "old"]
        assert (rows["old"].type, rows["old"].state, rows["old"].protocol_type) == ("Classic", "Stable", "consumer")
        assert rows["new"].type == "Consumer"
        assert admin.list_consumer_groups() == admin.list_groups()
        found = admin.describe_consumer_groups(["new", "old"])
        assert list(found) == ["new", "old"]
        [member] = found["old"].members
        assert (member.member_id, member.group_instance_id) == (old.group_metadata().member_id, "i")
        assert (member.client_id, sorted(member.assignment), member.epoch) == ("c", [T0, T1], None)
        assert (found["old"].state, found["old"].assignor) == ("Stable", "range")
        [member] = found["new"].members
        assert sorted(member.assignment) == sorted(member.target or ()) == [T0, T1]
        assert found["new"].epoch is not None
        with pytest.raises(errors.broker.GroupIdNotFoundError):
            admin.describe_consumer_groups(["old", "none"])


def test_offsets_are_told_altered_and_deleted(broker: Broker, admin: Admin) -> None:
    admin.alter_consumer_group_offsets("g", {T0: 4, ("t", 1): OffsetAndMetadata(0, "note", 0)})
    assert admin.list_consumer_group_offsets("g") == {T0: OffsetAndMetadata(4), T1: OffsetAndMetadata(0, "note", 0)}
    assert admin.lag("g") == {T0: 6, T1: 0}
    admin.delete_consumer_group_offsets("g", [T1])
    assert admin.list_consumer_group_offsets("g", require_stable=True) == {T0: OffsetAndMetadata(4)}
    with Consumer(broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest") as consumer:
        consumer.assign([T0])
        assert consumer.poll(PATIENT)[0].offset == 4


def test_the_lag_has_partitions_in_which_nothing_is_committed(broker: Broker, admin: Admin) -> None:
    assert admin.lag("g") == {}
    for protocol in ("classic", "consumer"):
        with member_of(broker, protocol, group_protocol=protocol) as member:
            assert admin.lag(protocol) == {T0: None, T1: None}
            member.commit({T0: 3})
            assert admin.lag(protocol) == {T0: 7, T1: None}
        assert admin.lag(protocol) == {T0: 7, T1: None}


@pytest.mark.parametrize("has_member", [True, False])
def test_the_lag_waits_for_offsets_of_open_transactions(broker: Broker, admin: Admin, has_member: bool) -> None:
    """Also where the first commit of the group is in one: a broker that is asked for all offsets leaves it out."""
    found: list[dict[TopicPartition, int | None]] = []
    with Producer(broker.bootstrap_servers, transactional_id="tx") as producer, member_of(broker, "g") as member:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({T0: 4}, member.group_metadata())
        if not has_member:
            member.close()
        assert admin.lag("g", require_stable=False) in ({}, {T0: None, T1: None})
        asking = threading.Thread(target=lambda: found.append(admin.lag("g", timeout=PATIENT)))
        asking.start()
        broker.wait_for_requests("OffsetFetch", broker.request_count("OffsetFetch") + 3, timeout=PATIENT)
        assert asking.is_alive()
        producer.commit_transaction()
        asking.join(PATIENT)
    [lags] = found
    assert lags[T0] == 6


def test_a_group_with_members_keeps_its_offsets(broker: Broker, admin: Admin) -> None:
    with member_of(broker, "g"):
        with pytest.raises(errors.broker.UnknownMemberIdError, match="group 'g': t-0: the group has members; stop"):
            admin.alter_consumer_group_offsets("g", {T0: 4})
        with pytest.raises(errors.broker.GroupSubscribedToTopicError, match="OffsetDelete of group 'g'"):
            admin.delete_consumer_group_offsets("g", [T0])
        with pytest.raises(errors.broker.NonEmptyGroupError, match="DeleteGroups of 'g'"):
            admin.delete_consumer_groups(["g"])
    admin.delete_consumer_groups(["g"])
    assert admin.list_groups() == []
    with pytest.raises(errors.broker.GroupIdNotFoundError):
        admin.delete_consumer_groups("g")


def test_of_several_that_fail_each_is_named_and_the_rest_is_done(broker: Broker, admin: Admin) -> None:
    admin.alter_consumer_group_offsets("empty", {T0: 1})
    with member_of(broker, "busy"):
        with pytest.raises(errors.broker.NonEmptyGroupError, match="and 1 more: 'none': GROUP_ID_NOT_FOUND") as e:
            admin.delete_consumer_groups(["busy", "empty", "none"])
        assert list(e.value.failures) == ["busy", "none"]
        assert [row.group_id for row in admin.list_groups()] == ["busy"]
        with pytest.raises(errors.broker.UnknownMemberIdError, match="and 1 more: t-1: UNKNOWN_MEMBER_ID") as e:
            admin.alter_consumer_group_offsets("busy", {T0: 1, T1: 1})
        assert list(e.value.failures) == [T0, T1]
    with pytest.raises(errors.broker.GroupIdNotFoundError) as e:
        admin.describe_consumer_groups(["busy", "one", "two"])
    assert list(e.value.failures) == ["one", "two"]
    with pytest.raises(errors.broker.UnknownMemberIdError) as e:
        admin.remove_members_from_consumer_group("busy", ["i", "j"])
    assert list(e.value.failures) == ["i", "j"]
    with pytest.raises(errors.broker.TopicAlreadyExistsError) as e:
        admin.create_topics({"t": 1, "u": 1})
    assert list(e.value.failures) == ["t"]


def test_static_members_are_put_out(broker: Broker, admin: Admin) -> None:
    with member_of(broker, "g", group_instance_id="static-1"):
        admin.remove_members_from_consumer_group("g", ["static-1"])
        assert admin.describe_consumer_groups(["g"])["g"].members == ()
        with pytest.raises(errors.broker.UnknownMemberIdError, match="'static-1'"):
            admin.remove_members_from_consumer_group("g", ["static-1"])


def test_nothing_asked_for_asks_nothing() -> None:
    with Admin("127.0.0.1:1") as admin:
        assert admin.describe_consumer_groups([]) == {}
        admin.delete_consumer_groups([])
        admin.alter_consumer_group_offsets("g", {})
        admin.delete_consumer_group_offsets("g", [])
        admin.remove_members_from_consumer_group("g", [])
        for wrong in (5, [5], b"g", [""]):
            with pytest.raises(errors.ConfigError):
                admin.describe_consumer_groups(wrong)  # type: ignore[arg-type]
        with pytest.raises(errors.ConfigError):
            admin.alter_consumer_group_offsets("g", [T0])  # type: ignore[arg-type]
        with pytest.raises(errors.ConfigError):
            admin.list_consumer_group_offsets("")


def test_the_same_for_asyncio(broker: Broker) -> None:
    async def work() -> None:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            await admin.alter_consumer_group_offsets("g", {T0: 4})
            assert [row.group_id for row in await admin.list_groups()] == ["g"]
            assert await admin.list_consumer_groups() == await admin.list_groups()
            assert await admin.lag("g") == {T0: 6, T1: None}
            assert (await admin.describe_consumer_groups(["g"]))["g"].state == "Empty"
            await admin.delete_consumer_group_offsets("g", [T0])
            await admin.delete_consumer_groups(["g"])
            with pytest.raises(errors.BrokerError):
                await admin.remove_members_from_consumer_group("g", ["i"])

    asyncio.run(work())
