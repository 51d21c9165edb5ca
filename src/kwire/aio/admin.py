"""Admin for asyncio: the methods of `kwire.Admin` as coroutines.

Layer 5: puts the engine's calls on the loop driver. The calls are in `kwire.engine.admin`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import kwire.admin
from kwire._typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack
from kwire.aio.client import Client
from kwire.aio.like import like
from kwire.engine.admin import calls, group_calls
from kwire.engine.admin.a19_create_topics import CreatedTopic, NewTopic
from kwire.engine.calls.offsets import OffsetAndTimestamp
from kwire.engine.common import absent
from kwire.engine.common.absent import without
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.metadata.metadata import PartitionInfo, TopicInfo
from kwire.engine.settings.clients import AdminSettings
from kwire.engine.settings.config import configured_by, keywords

if TYPE_CHECKING:
    from kwire.engine.admin.group_results import GroupDescription, GroupListing
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.settings.options import AdminOptions, Servers, Timeout

Partition = TypeVar("Partition", bound=tuple[str, int])

__all__ = ["Admin", "CreatedTopic", "NewTopic", "PartitionInfo", "TopicInfo"]


@configured_by(AdminSettings)
@without(absent.ADMIN)
@like(kwire.admin.Admin)
class Admin(Client[AdminSettings]):
    """Administration of topics, from any task of one event loop.

        async with kwire.aio.Admin("host:9092") as admin:
            await admin.create_topics({"topic": 12})

    Keywords are the settings below. Each call takes `timeout=` in seconds (default
    `default_api_timeout_ms`) and is retried within it where that can help. Errors: ConfigError for arguments;
    ConnectError with a cause for each address; UnknownTopicError; BrokerError, also code 35 where the broker is too old
    for the call; KafkaTimeoutError.
    """

    kind = "admin"

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[AdminOptions]) -> None:
        self._open(AdminSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], bootstrap_servers: Servers | None = None, **options: Unpack[AdminOptions]
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win.

        One mapping may serve all clients: what only other kinds have is passed over, with a line at DEBUG.
        """
        return cls._configured(AdminSettings, config, bootstrap_servers, options)

    # -- topics -----------------------------------------------------------------------------------------------------

    async def create_topics(
        self,
        topics: Mapping[str, int | NewTopic | Mapping[str, Any]] | Iterable[str],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> dict[str, CreatedTopic]:
        return await self._run(calls.create_topics(topics, validate_only=validate_only), timeout)

    async def delete_topics(self, topics: Iterable[str], *, timeout: Timeout = None) -> None:
        await self._run(calls.delete_topics(topics), timeout)

    async def list_topics(self, *, internal: bool = False, timeout: Timeout = None) -> list[str]:
        return await self._run(calls.list_topics(internal=internal), timeout)

    async def describe_topics(
        self, topics: Iterable[str] | None = None, *, timeout: Timeout = None
    ) -> dict[str, TopicInfo]:
        return await self._run(calls.describe_topics(topics), timeout)

    async def list_offsets(
        self,
        when: Mapping[Partition, int | datetime | str],
        *,
        isolation_level: str = "read_uncommitted",
        timeout: Timeout = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        return await self._run(calls.list_offsets(when, isolation_level=isolation_level), timeout)

    # -- groups -----------------------------------------------------------------------------------------------------

    async def list_groups(self, *, timeout: Timeout = None) -> list[GroupListing]:
        return await self._run(group_calls.list_groups(), timeout)

    async def list_consumer_groups(self, *, timeout: Timeout = None) -> list[GroupListing]:
        return await self._run(group_calls.list_consumer_groups(), timeout)

    async def describe_consumer_groups(
        self, groups: Iterable[str], *, timeout: Timeout = None
    ) -> dict[str, GroupDescription]:
        found = await self._run(group_calls.describe_classic(groups), timeout)
        return await self._run(group_calls.describe_others(found), timeout)

    async def delete_consumer_groups(self, groups: Iterable[str], *, timeout: Timeout = None) -> None:
        await self._run(group_calls.delete_groups(groups), timeout)

    async def list_consumer_group_offsets(
        self, group: str, *, require_stable: bool = False, timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        return await self._run(group_calls.list_offsets(group, stable=require_stable), timeout)

    async def alter_consumer_group_offsets(
        self, group: str, offsets: Mapping[Partition, int | OffsetAndMetadata], *, timeout: Timeout = None
    ) -> None:
        await self._run(group_calls.alter_offsets(group, offsets), timeout)

    async def delete_consumer_group_offsets(
        self, group: str, partitions: Iterable[tuple[str, int]], *, timeout: Timeout = None
    ) -> None:
        await self._run(group_calls.delete_offsets(group, partitions), timeout)

    async def remove_members_from_consumer_group(
        self, group: str, members: Iterable[str], *, timeout: Timeout = None
    ) -> None:
        await self._run(group_calls.remove_members(group, members), timeout)

    async def lag(
        self, group: str, *, require_stable: bool = True, timeout: Timeout = None
    ) -> dict[TopicPartition, int | None]:
        found = await self._converse(group_calls.progress(group, stable=require_stable), timeout)
        return {tp: row.lag for tp, row in found.items()}
