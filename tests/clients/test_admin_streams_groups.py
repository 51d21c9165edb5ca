"""Admin on groups of Kafka Streams, on the embedded broker, which has none: their offsets are those of any group."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import kwire
from kwire import Admin, OffsetAndMetadata, TopicPartition, errors
from kwire.testing import Broker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
FOUR = OffsetAndMetadata(4)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 2}) as started:
        yield started


def test_offsets_are_listed_altered_and_deleted_with_the_group(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_streams_group_offsets("app", {T0: 4, T1: 4})
        assert admin.list_streams_group_offsets("app") == {T0: FOUR, T1: FOUR}
        admin.delete_streams_group_offsets("app", [T1])
        assert admin.list_streams_group_offsets(["app"], partitions=[T0, T1]) == {"app": {T0: FOUR, T1: None}}
        admin.delete_streams_groups(["app"])
        assert admin.list_groups() == []
        with pytest.raises(errors.broker.GroupIdNotFoundError) as e:
            admin.delete_streams_groups(["app", "other"])
        assert list(e.value.failures) == ["app", "other"]


def test_a_broker_without_streams_groups_is_named_with_what_would_do(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"need Kafka 4\.1 or newer.*does not have it"):
            admin.describe_streams_groups(["app"])
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"_topology_description needs Kafka 4\.4"):
            admin.describe_streams_groups(["app"], include_topology_description=True)


def test_wrong_arguments_are_refused_before_anything_is_sent() -> None:
    with Admin("127.0.0.1:1") as admin:
        assert admin.describe_streams_groups([]) == admin.list_streams_group_offsets([]) == {}
        for wrong in (
            lambda: admin.describe_streams_groups(5),  # type: ignore[arg-type]
            lambda: admin.alter_streams_group_offsets("", {T0: 1}),
            lambda: admin.delete_streams_group_offsets("app", ["t"]),  # type: ignore[list-item]
            lambda: admin.delete_streams_groups([""]),
        ):
            with pytest.raises(errors.ConfigError):
                wrong()


def test_the_same_for_asyncio(broker: Broker) -> None:
    async def work() -> None:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            await admin.alter_streams_group_offsets("app", {T0: 4, T1: 4})
            await admin.delete_streams_group_offsets("app", [T1])
            assert await admin.list_streams_group_offsets("app", partitions=[T0]) == {T0: FOUR}
            with pytest.raises(errors.broker.UnsupportedVersionError):
                await admin.describe_streams_groups(["app"])
            await admin.delete_streams_groups(["app"])

    asyncio.run(work())
