"""Admin on groups, on the embedded broker: filters, what it may do with them, offsets of several, members put out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import kwire
from kwire import Admin, Consumer, OffsetAndMetadata, ShareConsumer, TopicPartition, errors
from kwire.admin import MemberToRemove
from kwire.testing import Broker
from tests.timing import PATIENT

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ALL_OPERATIONS = {"read", "describe", "delete", "describe_configs", "alter_configs"}


@pytest.fixture(params=[1, 3], ids=["one node", "three nodes"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(nodes=request.param, topics={"t": 2}, group_initial_rebalance_delay_ms=0) as started:
        yield started


@pytest.fixture
def admin(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap_servers) as made:
        yield made


def member_of(broker: Broker, group_id: str, **options: Any) -> Consumer:
    """A consumer that has joined its group."""
    consumer = Consumer(broker.bootstrap_servers, group_id=group_id, enable_auto_commit=False, **options)
    consumer.subscribe(["t"])
    while not consumer.assignment():
        consumer.poll(0.05)
    return consumer


def ids(found: list[kwire.admin.GroupListing]) -> list[str]:
    return [row.group_id for row in found]


def test_groups_are_listed_by_state_type_and_protocol_type(broker: Broker, admin: Admin) -> None:
    admin.alter_consumer_group_offsets("empty", {T0: 1})
    with (
        member_of(broker, "old"),
        member_of(broker, "new", group_protocol="consumer"),
        ShareConsumer(broker.bootstrap_servers, group_id="shared") as sharing,
    ):
        sharing.subscribe(["t"])
        sharing.poll(0.1)
        assert ids(admin.list_groups()) == ["empty", "new", "old", "shared"]
        assert ids(admin.list_groups(states=["Empty"])) == ["empty"]
        assert ids(admin.list_groups(states=["EMPTY", "stable"], types="classic")) == ["empty", "old"]
        assert ids(admin.list_groups(types=["Share", "consumer"])) == ["new", "shared"]
        assert ids(admin.list_groups(protocol_types=["share"])) == ["shared"]
        assert ids(admin.list_groups(states="preparing_rebalance")) == []
        assert ids(admin.list_consumer_groups()) == ["empty", "new", "old"]
        assert ids(admin.list_consumer_groups(states="stable", types=["consumer"])) == ["new"]
    before = broker.request_count("ListGroups")
    for wrong in (
        lambda: admin.list_groups(states=["Stabel"]),
        lambda: admin.list_groups(types=[5]),  # type: ignore[list-item]
        lambda: admin.list_groups(protocol_types=5),  # type: ignore[arg-type]
        lambda: admin.list_groups(protocol_types=[None]),  # type: ignore[list-item]
        lambda: admin.list_consumer_groups(types=["share"]),
    ):
        with pytest.raises(errors.ConfigError, match=r"states: 'Stabel' is not one of Assigning|types"):
            wrong()
    assert broker.request_count("ListGroups") == before


def test_older_brokers_have_classic_groups_alone_and_do_not_tell_states() -> None:
    with Broker(topics={"t": 2}, release="2.4.1") as broker, Admin(broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets("g", {T0: 1})
        assert admin.list_groups(types=["classic", "share"]) == [kwire.admin.GroupListing("g", "", "", "")]
        assert admin.list_groups(types=["share"]) == admin.list_consumer_groups(types=["consumer"]) == []
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"from Kafka 2\.6 on.*versions 0 to 3"):
            admin.list_groups(states=["Empty"])


def test_what_the_client_may_do_with_a_group_is_told_if_asked_for(broker: Broker, admin: Admin) -> None:
    with member_of(broker, "old"), member_of(broker, "new", group_protocol="consumer", client_rack="r") as new:
        for described in admin.describe_consumer_groups(["old", "new"]).values():
            assert described.authorized_operations is None
        found = admin.describe_consumer_groups(["old", "new"], include_authorized_operations=True)
        assert {name: row.authorized_operations for name, row in found.items()} == dict.fromkeys(found, ALL_OPERATIONS)
        assert found["old"].target_epoch is None
        assert found["new"].target_epoch == found["new"].epoch == new.group_metadata().generation_id
        assert [(row.rack_id, row.upgraded) for row in found["new"].members] == [("r", True)]
        assert [(row.rack_id, row.upgraded) for row in found["old"].members] == [(None, None)]


def test_what_a_user_may_do_follows_the_acls() -> None:
    users = {"admin": "secret", "bob": "secret"}
    with Broker(topics={"t": 2}, users=users, authorizer=True, super_users=["User:admin"]) as broker, ExitStack() as on:
        settings = {**broker.client_settings, "sasl_username": "admin"}
        admin = on.enter_context(Admin(broker.bootstrap_servers, **settings))
        bob = on.enter_context(Admin(broker.bootstrap_servers, **{**settings, "sasl_username": "bob"}))
        admin.alter_consumer_group_offsets("g", {T0: 1})
        assert bob.list_groups() == []
        for refused in (
            lambda: bob.describe_classic_groups(["g", "h"]),
            lambda: bob.describe_consumer_groups(["g", "h"]),
            lambda: bob.list_consumer_group_offsets(["g", "h"]),
            lambda: bob.delete_consumer_groups(["g", "h"]),
        ):
            with pytest.raises(errors.broker.GroupAuthorizationFailedError) as e:
                refused()
            assert list(e.value.failures) == ["g", "h"]
        for refused in (
            lambda: bob.list_consumer_group_offsets("g"),
            lambda: bob.remove_members_from_consumer_group("g"),
            lambda: bob.remove_members_from_consumer_group("g", ["i"]),
        ):
            with pytest.raises(errors.broker.GroupAuthorizationFailedError, match="'g'"):
                refused()


def test_what_a_client_may_do_is_not_told_before_2_3() -> None:
    with Broker(topics={"t": 2}, release="2.2.2") as broker, Admin(broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets("g", {T0: 1})
        for describe in (admin.describe_classic_groups, admin.describe_consumer_groups):
            assert describe(["g"])["g"].authorized_operations is None
            with pytest.raises(errors.broker.UnsupportedVersionError, match=r"_operations needs Kafka 2\.3 or newer: "):
                describe(["g"], include_authorized_operations=True)


def test_classic_groups_are_described_and_no_others(broker: Broker, admin: Admin) -> None:
    with member_of(broker, "old") as old, member_of(broker, "new", group_protocol="consumer"):
        found = admin.describe_classic_groups(["old"], include_authorized_operations=True)["old"]
        assert (found.type, found.state, found.assignor) == ("Classic", "Stable", "range")
        assert [member.member_id for member in found.members] == [old.group_metadata().member_id]
        assert found.authorized_operations == ALL_OPERATIONS
        with pytest.raises(errors.broker.GroupIdNotFoundError, match="'new': there is no classic group") as e:
            admin.describe_classic_groups(["old", "new", "none"])
        assert list(e.value.failures) == ["new", "none"]


def test_each_missing_group_is_named_by_brokers_of_any_release() -> None:
    for release in ("4.4.0", "2.8.2", "0.10.2"):
        with Broker(topics={"t": 2}, release=release) as broker, Admin(broker.bootstrap_servers) as admin:
            with pytest.raises(errors.broker.GroupIdNotFoundError, match="'a'") as e:
                admin.describe_consumer_groups(["a", "b"])
            assert list(e.value.failures) == ["a", "b"]


def test_offsets_of_some_partitions_say_where_nothing_is_committed(broker: Broker, admin: Admin) -> None:
    admin.alter_consumer_group_offsets("g", {T0: 4})
    four = OffsetAndMetadata(4)
    assert admin.list_consumer_group_offsets("g") == {T0: four}
    assert admin.list_consumer_group_offsets("g", partitions=[("t", 1), T0]) == {T0: four, T1: None}
    missing = TopicPartition("missing", 7)
    assert admin.list_consumer_group_offsets("g", partitions=[missing]) == {missing: None}
    assert admin.list_consumer_group_offsets("g", partitions=[]) == {}


@pytest.mark.parametrize("release", ["4.4.0", "2.8.2", "0.11.0.3"])
def test_offsets_of_several_groups_are_told_by_group(release: str) -> None:
    with Broker(nodes=3, topics={"t": 2}, release=release) as broker, Admin(broker.bootstrap_servers) as admin:
        names = [f"g{number}" for number in range(20)]
        for number, name in enumerate(names):
            admin.alter_consumer_group_offsets(name, {T0: number})
        found = admin.list_consumer_group_offsets(names, partitions=[T0, T1])
        assert found == {name: {T0: OffsetAndMetadata(number), T1: None} for number, name in enumerate(names)}
        assert list(found) == names
        assert admin.list_consumer_group_offsets({"g1": None, "g2": [T1], "none": None}) == {
            "g1": {T0: OffsetAndMetadata(1)},
            "g2": {T1: None},
            "none": {},
        }
        assert admin.list_consumer_group_offsets([]) == admin.list_consumer_group_offsets({}) == {}
        with pytest.raises(errors.ConfigError, match="partitions= is for all groups"):
            admin.list_consumer_group_offsets({"g1": None}, partitions=[T0])
        with pytest.raises(errors.ConfigError, match="is not a group id"):
            admin.list_consumer_group_offsets({"": None})


def test_all_members_are_put_out(broker: Broker, admin: Admin) -> None:
    with member_of(broker, "g", group_instance_id="i"):
        admin.remove_members_from_consumer_group("g")
        assert admin.describe_consumer_groups(["g"])["g"].members == ()
        admin.remove_members_from_consumer_group("g")
    with pytest.raises(errors.broker.GroupIdNotFoundError):
        admin.remove_members_from_consumer_group("none")


@pytest.mark.parametrize("release", ["4.4.0", "2.2.2", "0.10.2"])
def test_members_are_put_out_by_their_ids(release: str) -> None:
    with Broker(topics={"t": 2}, release=release) as broker, Admin(broker.bootstrap_servers) as admin:
        with member_of(broker, "g") as one:
            one_id = one.group_metadata().member_id
            admin.remove_members_from_consumer_group("g", [MemberToRemove(member_id=one_id)], reason="a test")
            assert admin.describe_consumer_groups(["g"])["g"].members == ()
            with pytest.raises(errors.broker.UnknownMemberIdError) as e:
                admin.remove_members_from_consumer_group("g", {"member_id": one_id})
            assert list(e.value.failures) == [one_id]
            with pytest.raises(errors.broker.UnknownMemberIdError) as e:
                admin.remove_members_from_consumer_group("g", [{"member_id": "m"}, {"member_id": "n"}])
            assert list(e.value.failures) == ["m", "n"]


def test_all_members_are_put_out_one_by_one_where_the_broker_is_old() -> None:
    with Broker(topics={"t": 2}, release="2.2.2", group_initial_rebalance_delay_ms=1000) as broker, ExitStack() as on:
        members = [
            on.enter_context(Consumer(broker.bootstrap_servers, group_id="g", enable_auto_commit=False))
            for _ in range(2)
        ]
        for each in members:
            each.subscribe(["t"])
        while not all(each.assignment() for each in members):
            for each in members:
                each.poll(0.05)
        admin = on.enter_context(Admin(broker.bootstrap_servers))
        before = broker.request_count("LeaveGroup")
        admin.remove_members_from_consumer_group("g")
        assert broker.request_count("LeaveGroup") - before == 2
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"group_instance_id needs Kafka 2\.4 or newer"):
            admin.remove_members_from_consumer_group("g", ["i", "j"])


def test_wrong_members_are_refused_before_anything_is_sent() -> None:
    with Admin("127.0.0.1:1") as admin:
        for wrong in (5, [5], b"m", [""], [MemberToRemove()], [{"member": "m"}], [MemberToRemove(member_id=5)]):  # type: ignore[arg-type]
            with pytest.raises(errors.ConfigError, match="members"):
                admin.remove_members_from_consumer_group("g", wrong)  # type: ignore[arg-type]
        with pytest.raises(errors.ConfigError, match="reason="):
            admin.remove_members_from_consumer_group("g", ["i"], reason="")


def test_the_same_for_asyncio(broker: Broker) -> None:
    async def work() -> None:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            await admin.alter_consumer_group_offsets("g", {T0: 4})
            assert ids(await admin.list_groups(states=["empty"], types=["classic"])) == ["g"]
            assert ids(await admin.list_consumer_groups(types=["consumer"])) == []
            found = await admin.describe_classic_groups(["g"], include_authorized_operations=True)
            assert found["g"].authorized_operations == ALL_OPERATIONS
            assert await admin.list_consumer_group_offsets(["g"]) == {"g": {T0: OffsetAndMetadata(4)}}
            assert await admin.list_consumer_group_offsets("g", partitions=[T1]) == {T1: None}
            await admin.remove_members_from_consumer_group("g", timeout=PATIENT)

    asyncio.run(work())


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("release", ["0.9.0.1", "0.10.0.1"])
def test_groups_of_brokers_that_do_not_say_what_they_can(release: str, nodes: int) -> None:
    with Broker(nodes=nodes, topics={"t": 2}, release=release) as broker, Admin(broker.bootstrap_servers) as admin:
        broker.append("t", [b"a", b"b"])
        admin.alter_consumer_group_offsets("idle", {T0: 1})
        assert admin.lag("idle") == {T0: 1, T1: None}
        assert admin.lag("nobody") == {}
        assert admin.list_consumer_group_offsets("idle") == {T0: OffsetAndMetadata(1)}
        assert admin.list_consumer_group_offsets(["idle", "nobody"]) == {
            "idle": {T0: OffsetAndMetadata(1)},
            "nobody": {},
        }
        with member_of(broker, "busy", auto_offset_reset="earliest") as consumer:
            assert ids(admin.list_groups(types=["classic"])) == ["busy"]
            members = admin.describe_consumer_groups(["busy"])["busy"].members
            assert [set(member.assignment) for member in members] == [{T0, T1}]
            consumer.commit({T0: 2})
            assert admin.lag("busy") == {T0: 0, T1: None}
        with pytest.raises(errors.broker.GroupIdNotFoundError):
            admin.describe_consumer_groups(["nobody"])
        with pytest.raises(errors.broker.UnsupportedVersionError, match="DeleteGroups"):
            admin.delete_consumer_groups(["idle"])


def test_offsets_of_a_broker_that_has_no_groups_yet() -> None:
    with Broker(topics={"t": 2}, release="0.8.2.2") as broker, Admin(broker.bootstrap_servers) as admin:
        broker.append("t", [b"a", b"b"])
        admin.alter_consumer_group_offsets("g", {T0: 1})
        assert admin.lag("g") == {T0: 1, T1: None}
        assert admin.list_consumer_group_offsets("g") == {T0: OffsetAndMetadata(1)}
        with pytest.raises(errors.broker.UnsupportedVersionError, match="ListGroups"):
            admin.list_groups()
