"""Admin on share groups, on the embedded broker: described; how far they are, altered and forgotten; deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import kwire
from kwire import Admin, ShareConsumer, TopicPartition, errors
from kwire.admin import SharePartitionOffsetInfo
from kwire.testing import Broker
from tests.clients.test_share_consumer import begin_at_first

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
RECORDS = 10


@pytest.fixture(params=[1, 3], ids=["one node", "three nodes"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(nodes=request.param, topics={"t": 2}) as started:
        started.append("t", [b"%d" % number for number in range(RECORDS)])
        yield started


@pytest.fixture
def admin(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap_servers) as made:
        yield made


def member_of(broker: Broker, group_id: str) -> ShareConsumer:
    """A member that has accepted all of T0's records; no broker holds a fetch of it when it is closed."""
    begin_at_first(broker, group_id)
    consumer = ShareConsumer(broker.bootstrap_servers, group_id=group_id, fetch_max_wait_ms=0, client_id="c")
    consumer.subscribe(["t"])
    left = RECORDS
    while left:
        left -= len(consumer.poll(0.2))
    consumer.commit()
    return consumer


def test_share_groups_are_described(broker: Broker, admin: Admin) -> None:
    with member_of(broker, "g"):
        found = admin.describe_share_groups(["g"])["g"]
        assert (found.group_id, found.state, found.assignor) == ("g", "Stable", "simple")
        assert found.authorized_operations is None
        [member] = found.members
        assert (member.client_id, member.subscription, sorted(member.assignment)) == ("c", ("t",), [T0, T1])
        assert member.epoch == found.epoch == found.target_epoch
        asked = admin.describe_share_groups("g", include_authorized_operations=True)["g"]
        assert asked.authorized_operations == {"read", "describe", "delete", "describe_configs", "alter_configs"}
        with pytest.raises(errors.broker.GroupIdNotFoundError, match="share group 'none'") as e:
            admin.describe_share_groups(["none", "g", "nil"])
        assert list(e.value.failures) == ["none", "nil"]


def test_how_far_share_groups_are_is_told_altered_and_forgotten(broker: Broker, admin: Admin) -> None:
    with member_of(broker, "g"):
        done = SharePartitionOffsetInfo(RECORDS, 0, 0)
        assert admin.list_share_group_offsets("g")[T0] == done
        assert admin.list_share_group_offsets("g", partitions=[T0]) == {T0: done}
        assert admin.list_share_group_offsets({"g": [T0], "none": None}) == {"g": {T0: done}, "none": {}}
        with pytest.raises(errors.broker.NonEmptyGroupError, match="'g'"):
            admin.alter_share_group_offsets("g", {T0: 4})
        with pytest.raises(errors.broker.NonEmptyGroupError, match="'g'"):
            admin.delete_share_group_offsets("g", ["t"])
        with pytest.raises(errors.broker.NonEmptyGroupError, match="'g'"):
            admin.delete_share_groups(["g"])
    admin.alter_share_group_offsets("g", {T0: 4, ("t", 1): 0})
    found = admin.list_share_group_offsets(["g"])["g"]
    assert {tp: row and (row.start_offset, row.lag) for tp, row in found.items()} == {T0: (4, 6), T1: (0, 0)}
    admin.delete_share_group_offsets("g", "t")
    assert admin.list_share_group_offsets("g") == {}
    assert admin.list_share_group_offsets("g", partitions=[T1]) == {T1: None}
    admin.delete_share_groups(["g"])
    assert admin.list_groups() == []


def test_a_group_goes_on_where_it_was_set(broker: Broker, admin: Admin) -> None:
    member_of(broker, "g").close()
    admin.alter_share_group_offsets("g", {T0: 7})
    with ShareConsumer(broker.bootstrap_servers, group_id="g", fetch_max_wait_ms=100) as consumer:
        consumer.subscribe(["t"])
        values: list[bytes | None] = []
        while len(values) < 3:
            values += consumer.poll(0.2).values()
    assert values == [b"7", b"8", b"9"]


def test_of_several_that_fail_each_is_named_and_the_rest_is_done(broker: Broker, admin: Admin) -> None:
    member_of(broker, "g").close()
    missing = [TopicPartition("missing", 0), TopicPartition("t", 5)]
    with pytest.raises(errors.broker.UnknownTopicOrPartitionError, match="missing-0") as e:
        admin.alter_share_group_offsets("g", {missing[1]: 1, T0: 3, missing[0]: 1})
    assert list(e.value.failures) == missing
    found = admin.list_share_group_offsets("g")[T0]
    assert found is not None
    assert found.start_offset == 3
    with pytest.raises(errors.broker.UnknownTopicOrPartitionError, match="'missing'") as e:
        admin.delete_share_group_offsets("g", ["missing", "t"])
    assert list(e.value.failures) == ["missing"]
    assert admin.list_share_group_offsets("g") == {}


def test_a_user_without_rights_is_refused() -> None:
    users = {"admin": "secret", "bob": "secret"}
    with Broker(topics={"t": 2}, users=users, authorizer=True, super_users=["User:admin"]) as broker, ExitStack() as on:
        bob = on.enter_context(Admin(broker.bootstrap_servers, **{**broker.client_settings, "sasl_username": "bob"}))
        for refused in (
            lambda: bob.describe_share_groups(["g", "h"]),
            lambda: bob.list_share_group_offsets(["g", "h"]),
            lambda: bob.delete_share_groups(["g", "h"]),
        ):
            with pytest.raises(errors.broker.GroupAuthorizationFailedError) as e:
                refused()
            assert list(e.value.failures) == ["g", "h"]
        for refused in (
            lambda: bob.list_share_group_offsets("g"),
            lambda: bob.alter_share_group_offsets("g", {T0: 1}),
            lambda: bob.delete_share_group_offsets("g", ["t"]),
        ):
            with pytest.raises(errors.broker.GroupAuthorizationFailedError, match="'g'"):
                refused()


def test_older_brokers_have_no_share_groups() -> None:
    with Broker(topics={"t": 2}, release="2.8.2") as broker, Admin(broker.bootstrap_servers) as admin:
        for call in (
            lambda: admin.describe_share_groups(["g"]),
            lambda: admin.list_share_group_offsets("g"),
            lambda: admin.alter_share_group_offsets("g", {T0: 1}),
            lambda: admin.delete_share_group_offsets("g", ["t"]),
        ):
            with pytest.raises(
                errors.broker.UnsupportedVersionError, match=r"need Kafka 4\.1 or newer: .*does not have"
            ):
                call()


def test_wrong_arguments_are_refused_before_anything_is_sent() -> None:
    with Admin("127.0.0.1:1") as admin:
        assert admin.describe_share_groups([]) == admin.list_share_group_offsets([]) == {}
        admin.alter_share_group_offsets("g", {})
        admin.delete_share_group_offsets("g", [])
        admin.delete_share_groups([])
        for wrong in (
            lambda: admin.describe_share_groups([5]),  # type: ignore[list-item]
            lambda: admin.list_share_group_offsets(""),
            lambda: admin.list_share_group_offsets("g", partitions=["t"]),  # type: ignore[list-item]
            lambda: admin.alter_share_group_offsets("g", [T0]),  # type: ignore[arg-type]
            lambda: admin.alter_share_group_offsets("g", {T0: -1}),
            lambda: admin.delete_share_group_offsets("g", [""]),
        ):
            with pytest.raises(errors.ConfigError):
                wrong()


def test_the_same_for_asyncio(broker: Broker) -> None:
    member_of(broker, "g").close()

    async def work() -> None:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            assert (await admin.describe_share_groups(["g"]))["g"].state == "Empty"
            await admin.alter_share_group_offsets("g", {T0: 4})
            found = (await admin.list_share_group_offsets("g"))[T0]
            assert found is not None
            assert found.lag == 6
            await admin.delete_share_group_offsets("g", ["t"])
            await admin.delete_share_groups(["g"])
            assert await admin.list_groups(types=["share"]) == []

    asyncio.run(work())
