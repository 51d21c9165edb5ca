"""Admin for asyncio: groups of Kafka Streams and their offsets. Layer 5: signatures and docstrings.

What only runs a wait is written by `make docs`, from the methods of `_admin/streams_groups.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._typing import TYPE_CHECKING, Any, TypeVar, overload
from kwire.aio.client import Client
from kwire.engine import admin as engine
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from kwire.engine.admin.group_arguments import SeveralGroups
    from kwire.engine.admin.streams_group_results import StreamsGroupDescription
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.settings.options import Timeout

Partition = TypeVar("Partition", bound=tuple[str, int])


class StreamsGroupCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about groups of Kafka Streams (KIP-1071): applications with `group.protocol=streams`, which
    Kafka has from 4.1 on. Those with the classic protocol have consumer groups."""

    async def describe_streams_groups(
        self,
        groups: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        include_topology_description: bool = False,
        timeout: Timeout = None,
    ) -> dict[str, StreamsGroupDescription]:
        """State, topology, members and their tasks of each group; the nodes of its topology if asked for, which needs
        Kafka 4.4. Raises BrokerError (code 69) for one that does not exist; of several that failed its `failures` has
        the error of each."""
        operations, topology = include_authorized_operations, include_topology_description
        asked = engine.streams_group_calls.describe_streams_groups(groups, operations=operations, topology=topology)
        return await self._door.run(self._asked(asked, timeout))

    @overload
    async def list_streams_group_offsets(
        self, groups: str, *, partitions: None = None, require_stable: bool = False, timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata]: ...

    @overload
    async def list_streams_group_offsets(
        self,
        groups: str,
        *,
        partitions: Iterable[tuple[str, int]],
        require_stable: bool = False,
        timeout: Timeout = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]: ...

    @overload
    async def list_streams_group_offsets(
        self,
        groups: SeveralGroups,
        *,
        partitions: Iterable[tuple[str, int]] | None = None,
        require_stable: bool = False,
        timeout: Timeout = None,
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata | None]]: ...

    async def list_streams_group_offsets(
        self,
        groups: str | SeveralGroups,
        *,
        partitions: Iterable[tuple[str, int]] | None = None,
        require_stable: bool = False,
        timeout: Timeout = None,
    ) -> Any:
        """The committed offsets of a group, as `list_consumer_group_offsets` has them: those of what its application
        reads and of its repartition topics."""
        inquiry, stable = self._inquiry(timeout), require_stable
        return await self._door.run(engine.group_calls.list_offsets_of(inquiry, groups, partitions, stable=stable))

    async def alter_streams_group_offsets(
        self, group: str, offsets: Mapping[Partition, int | OffsetAndMetadata], *, timeout: Timeout = None
    ) -> None:
        """Commits these offsets in the place of a group without members; errors as those of
        `alter_consumer_group_offsets`."""
        await self._door.run(self._asked(engine.group_calls.alter_offsets(group, offsets), timeout))

    async def delete_streams_group_offsets(
        self, group: str, partitions: Iterable[tuple[str, int]], *, timeout: Timeout = None
    ) -> None:
        """Deletes what the group has committed in these partitions; errors as those of
        `delete_consumer_group_offsets`."""
        await self._door.run(self._asked(engine.group_calls.delete_offsets(group, partitions), timeout))

    async def delete_streams_groups(self, groups: Iterable[str], *, timeout: Timeout = None) -> None:
        """Deletes groups without members, and their offsets; their internal topics stay. Errors as those of
        `delete_consumer_groups`."""
        await self._door.run(self._asked(engine.group_calls.delete_groups(groups), timeout))
