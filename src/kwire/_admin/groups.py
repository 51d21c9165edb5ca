"""Admin: groups, their members, committed offsets and lag. Layer 5: signatures and docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._client import Client
from kwire._typing import TYPE_CHECKING, Any, TypeVar, overload
from kwire.engine import admin as engine
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from kwire.engine.admin.a13_leave_group import MemberToRemove
    from kwire.engine.admin.group_arguments import Names, SeveralGroups
    from kwire.engine.admin.group_results import GroupDescription, GroupListing, MemberDescription
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.settings.options import Timeout

Partition = TypeVar("Partition", bound=tuple[str, int])


class GroupCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about groups, their members, committed offsets and lag."""

    def list_groups(
        self, *, states: Names = None, types: Names = None, protocol_types: Names = None, timeout: Timeout = None
    ) -> list[GroupListing]:
        """All groups of all brokers, sorted by their ids: those in one of these `states` ("Stable", "Empty" ...), of
        these `types` ("classic", "consumer", "share", "streams") and `protocol_types` ("consumer", "connect" ...).
        A filter by state needs Kafka 2.6."""
        return self._door.run(self._asked(engine.group_calls.list_groups(states, types, protocol_types), timeout))

    def list_consumer_groups(
        self, *, states: Names = None, types: Names = None, timeout: Timeout = None
    ) -> list[GroupListing]:
        """The groups of consumers, also those that only have offsets; filtered as by `list_groups`."""
        return self._door.run(self._asked(engine.group_calls.list_consumer_groups(states, types), timeout))

    def describe_consumer_groups(
        self, groups: Iterable[str], *, include_authorized_operations: bool = False, timeout: Timeout = None
    ) -> dict[str, GroupDescription]:
        """State, assignor and members of each group, of either protocol. Raises BrokerError (code 69) for one that does
        not exist; of several that failed its `failures` has the error of each."""
        inquiry, operations = self._inquiry(timeout), include_authorized_operations
        return self._door.run(engine.group_calls.describe_groups(inquiry, groups, operations=operations))

    def describe_classic_groups(
        self, groups: Iterable[str], *, include_authorized_operations: bool = False, timeout: Timeout = None
    ) -> dict[str, GroupDescription]:
        """As `describe_consumer_groups`, of classic groups alone, with whatever protocol type: Kafka Connect's workers
        are members of one, too."""
        operations = include_authorized_operations
        asked = engine.group_calls.describe_classic_groups(groups, operations=operations)
        return self._door.run(self._asked(asked, timeout))

    def delete_consumer_groups(self, groups: Iterable[str], *, timeout: Timeout = None) -> None:
        """Deletes groups without members, and their offsets. Raises the BrokerError of the first that failed (code 68
        where it has members, 69 where it does not exist), whose `failures` has the error of each; the others are
        deleted."""
        self._door.run(self._asked(engine.group_calls.delete_groups(groups), timeout))

    @overload
    def list_consumer_group_offsets(
        self, groups: str, *, partitions: None = None, require_stable: bool = False, timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata]: ...

    @overload
    def list_consumer_group_offsets(
        self,
        groups: str,
        *,
        partitions: Iterable[tuple[str, int]],
        require_stable: bool = False,
        timeout: Timeout = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]: ...

    @overload
    def list_consumer_group_offsets(
        self,
        groups: SeveralGroups,
        *,
        partitions: Iterable[tuple[str, int]] | None = None,
        require_stable: bool = False,
        timeout: Timeout = None,
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata | None]]: ...

    def list_consumer_group_offsets(
        self,
        groups: str | SeveralGroups,
        *,
        partitions: Iterable[tuple[str, int]] | None = None,
        require_stable: bool = False,
        timeout: Timeout = None,
    ) -> Any:
        """The committed offsets of a group: of all partitions that have some, or of these `partitions`, None where it
        has committed nothing.

        Of several groups, a dict by group: they are a list, or {group: its partitions or None for all}. With
        `require_stable`, offsets of open transactions are waited for."""
        inquiry, stable = self._inquiry(timeout), require_stable
        return self._door.run(engine.group_calls.list_offsets_of(inquiry, groups, partitions, stable=stable))

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
        self,
        group: str,
        members: Iterable[str | MemberToRemove | MemberDescription | Mapping[str, Any]] | None = None,
        *,
        reason: str = "removed by an administrator",
        timeout: Timeout = None,
    ) -> None:
        """Puts members out of their group at once; None: all of them. They are static members, named by their
        `group_instance_id`, or MemberToRemove(member_id=...), or members of a description. One that still runs joins
        again. The `failures` of the BrokerError have the error of each that is not there."""
        self._door.run(engine.group_calls.remove_members(self._inquiry(timeout), group, members, reason))

    def lag(
        self, group: str, *, require_stable: bool = True, timeout: Timeout = None
    ) -> dict[TopicPartition, int | None]:
        """How many offsets each partition has after what the group has committed there, up to its end; None where it
        has committed nothing. In all partitions of the topics that it has committed in or that its members read.

        Offsets of an open transaction are waited for, unless `require_stable` is False.
        """
        return self._door.run(engine.group_calls.lag(self._inquiry(timeout), group, stable=require_stable))
