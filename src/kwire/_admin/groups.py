"""Admin: groups, their members, committed offsets and lag. Layer 5: signatures and docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._client import Client
from kwire._typing import TYPE_CHECKING, TypeVar
from kwire.engine import admin as engine
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from kwire.engine.admin.group_calls import Progress
    from kwire.engine.admin.group_results import GroupDescription, GroupListing
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.settings.options import Timeout

Partition = TypeVar("Partition", bound=tuple[str, int])


class GroupCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about groups, their members, committed offsets and lag."""

    def list_groups(self, *, timeout: Timeout = None) -> list[GroupListing]:
        """All groups of all brokers, of whatever kind, sorted by their ids."""
        return self._door.run(self._asked(engine.group_calls.list_groups(), timeout))

    def list_consumer_groups(self, *, timeout: Timeout = None) -> list[GroupListing]:
        """The groups of consumers, also those that only have offsets."""
        return self._door.run(self._asked(engine.group_calls.list_consumer_groups(), timeout))

    def describe_consumer_groups(
        self, groups: Iterable[str], *, timeout: Timeout = None
    ) -> dict[str, GroupDescription]:
        """State, assignor and members of each group, of either protocol. Raises BrokerError (code 69) for one that does
        not exist; of several that failed its `failures` has the error of each."""
        return self._door.run(engine.group_calls.describe_groups(self._asking(timeout), groups))

    def delete_consumer_groups(self, groups: Iterable[str], *, timeout: Timeout = None) -> None:
        """Deletes groups without members, and their offsets. Raises the BrokerError of the first that failed (code 68
        where it has members, 69 where it does not exist), whose `failures` has the error of each; the others are
        deleted."""
        self._door.run(self._asked(engine.group_calls.delete_groups(groups), timeout))

    def list_consumer_group_offsets(
        self, group: str, *, require_stable: bool = False, timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """The group's committed offsets. With `require_stable`, offsets of open transactions are waited for."""
        return self._door.run(self._asked(engine.group_calls.list_offsets(group, stable=require_stable), timeout))

    def alter_consumer_group_offsets(
        self, group: str, offsets: Mapping[Partition, int | OffsetAndMetadata], *, timeout: Timeout = None
    ) -> None:
        """Commits these offsets in the group's place; a group that does not exist is created. Raises BrokerError
        (code 25) while it has members; its `failures` has the error of each partition that failed."""
        self._door.run(self._asked(engine.group_calls.alter_offsets(group, offsets), timeout))

    def delete_consumer_group_offsets(
        self, group: str, partitions: Iterable[tuple[str, int]], *, timeout: Timeout = None
    ) -> None:
        """Deletes what the group has committed in these partitions. Raises BrokerError (code 86) for topics that a
        member has subscribed to; its `failures` has the error of each partition that failed."""
        self._door.run(self._asked(engine.group_calls.delete_offsets(group, partitions), timeout))

    def remove_members_from_consumer_group(
        self, group: str, members: Iterable[str], *, timeout: Timeout = None
    ) -> None:
        """Puts static members, by their `group_instance_id`, out of a classic group at once. The `failures` of the
        BrokerError have the error of each that is not there."""
        self._door.run(self._asked(engine.group_calls.remove_members(group, members), timeout))

    def lag(
        self, group: str, *, require_stable: bool = True, timeout: Timeout = None
    ) -> dict[TopicPartition, int | None]:
        """How many offsets each partition has after what the group has committed there, up to its end; None where it
        has committed nothing. In all partitions of the topics that it has committed in or that its members read.

        Offsets of an open transaction are waited for, unless `require_stable` is False.
        """
        return self._door.run(engine.group_calls.lag(self._asking(timeout), group, stable=require_stable))

    def _progress(self, group: str) -> dict[TopicPartition, Progress]:
        return self._door.run(engine.group_calls.progress(self._asking(None), group, stable=True))
