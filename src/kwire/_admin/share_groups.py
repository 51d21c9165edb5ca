"""Admin: share groups and their offsets. Layer 5: signatures and docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._client import Client
from kwire._typing import TYPE_CHECKING, Any, TypeVar, overload
from kwire.engine import admin as engine
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from kwire.engine.admin.group_arguments import SeveralGroups
    from kwire.engine.admin.share_group_results import ShareGroupDescription, SharePartitionOffsetInfo
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.settings.options import Timeout

Partition = TypeVar("Partition", bound=tuple[str, int])


class ShareGroupCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about share groups (KIP-932), which Kafka has from 4.1 on."""

    def describe_share_groups(
        self, groups: Iterable[str], *, include_authorized_operations: bool = False, timeout: Timeout = None
    ) -> dict[str, ShareGroupDescription]:
        """State and members of each group. Raises BrokerError (code 69) for one that does not exist; of several that
        failed its `failures` has the error of each."""
        operations = include_authorized_operations
        asked = engine.share_group_calls.describe_share_groups(groups, operations=operations)
        return self._door.run(self._asked(asked, timeout))

    @overload
    def list_share_group_offsets(
        self, groups: str, *, partitions: Iterable[tuple[str, int]] | None = None, timeout: Timeout = None
    ) -> dict[TopicPartition, SharePartitionOffsetInfo | None]: ...

    @overload
    def list_share_group_offsets(
        self, groups: SeveralGroups, *, partitions: Iterable[tuple[str, int]] | None = None, timeout: Timeout = None
    ) -> dict[str, dict[TopicPartition, SharePartitionOffsetInfo | None]]: ...

    def list_share_group_offsets(
        self,
        groups: str | SeveralGroups,
        *,
        partitions: Iterable[tuple[str, int]] | None = None,
        timeout: Timeout = None,
    ) -> Any:
        """How far a group is: in all partitions that it was assigned once, or in these `partitions`; None where it has
        not begun. Of several groups, a dict by group: they are a list, or {group: its partitions or None for all}."""
        return self._door.run(self._asked(engine.share_group_calls.list_offsets(groups, partitions), timeout))

    def alter_share_group_offsets(
        self, group: str, offsets: Mapping[Partition, int], *, timeout: Timeout = None
    ) -> None:
        """Has a group without members go on at these offsets. Raises BrokerError (code 68) while it has members; of
        several partitions that failed its `failures` has the error of each."""
        self._door.run(self._asked(engine.share_group_calls.alter_offsets(group, offsets), timeout))

    def delete_share_group_offsets(self, group: str, topics: Iterable[str], *, timeout: Timeout = None) -> None:
        """Has a group without members forget how far it is in these topics. Raises BrokerError (code 68) while it has
        members; of several topics that failed its `failures` has the error of each."""
        self._door.run(self._asked(engine.share_group_calls.delete_offsets(group, topics), timeout))

    def delete_share_groups(self, groups: Iterable[str], *, timeout: Timeout = None) -> None:
        """Deletes groups without members, and their offsets; errors as those of `delete_consumer_groups`."""
        self._door.run(self._asked(engine.group_calls.delete_groups(groups), timeout))
