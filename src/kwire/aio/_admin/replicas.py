"""Admin for asyncio: replicas, their directories, reassignments, and elections of leaders.

Layer 5: signatures and docstrings. What only runs a wait is written by `make docs`, from the methods of
`_admin/replicas.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire._typing import TYPE_CHECKING, Any, TypeVar
from kwire.aio.client import Client
from kwire.engine import admin as engine
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from kwire.engine.admin.replica_results import (
        LogDirDescription,
        PartitionReassignment,
        ReplicaLogDirInfo,
        TopicPartitionReplica,
    )
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.settings.options import Timeout

Partition = TypeVar("Partition", bound=tuple[str, int])
Replica = TypeVar("Replica", bound=tuple[str, int, int])


class ReplicaCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about replicas, their directories, reassignments and elections of leaders."""

    async def describe_log_dirs(
        self, brokers: Iterable[int] | None = None, *, timeout: Timeout = None
    ) -> dict[int, dict[str, LogDirDescription]]:
        """The log directories of these brokers, by default of all, by their paths, with the replicas in each. The
        `failures` of the BrokerError have the error of each broker that cannot say."""
        return await self._door.run(self._asked(engine.replica_calls.describe_log_dirs(brokers), timeout))

    async def describe_replica_log_dirs(
        self, replicas: Iterable[Replica | Mapping[str, Any]], *, timeout: Timeout = None
    ) -> dict[TopicPartitionReplica, ReplicaLogDirInfo]:
        """The directory in which each replica, (topic, partition, broker), is and the one to which it is being moved.
        Both are None where the broker has no such replica."""
        return await self._door.run(self._asked(engine.replica_calls.describe_replica_log_dirs(replicas), timeout))

    async def alter_replica_log_dirs(self, assignment: Mapping[Replica, str], *, timeout: Timeout = None) -> None:
        """Begins to move replicas, {(topic, partition, broker): directory}, to other directories of their brokers.
        Raises BrokerError (code 57 for a directory that the broker does not have); its `failures` has the error of each
        replica that stays where it is."""
        await self._door.run(self._asked(engine.replica_calls.alter_replica_log_dirs(assignment), timeout))

    async def alter_partition_reassignments(
        self,
        reassignments: Mapping[Partition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout: Timeout = None,
    ) -> None:
        """Begins to give partitions these replicas, the preferred leader first; None cancels the reassignment that is
        in progress. Raises BrokerError (code 39 for replicas that cannot be, 85 where there is nothing to cancel); its
        `failures` has the error of each partition that failed."""
        await self._door.run(
            self._asked(
                engine.replica_calls.alter_partition_reassignments(
                    reassignments, may_change_factor=allow_replication_factor_change
                ),
                timeout,
            )
        )

    async def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None, *, timeout: Timeout = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """The reassignments that are in progress, by default of all partitions."""
        return await self._door.run(self._asked(engine.replica_calls.list_partition_reassignments(partitions), timeout))

    async def elect_leaders(
        self, election_type: str, partitions: Iterable[tuple[str, int]] | None = None, *, timeout: Timeout = None
    ) -> dict[TopicPartition, bool]:
        """Elects the "preferred" leader of each partition, its first replica, or, with "unclean", any replica where
        none in sync is alive, which loses records. True for those that got another leader, False for those that had
        the right one. Without `partitions` all are looked at, and only those that got another leader are returned.

        The `failures` of the BrokerError (code 80 and 83 where no such replica is alive) have the error of each
        partition that failed; the others have been elected.
        """
        return await self._door.run(self._asked(engine.replica_calls.elect_leaders(election_type, partitions), timeout))
