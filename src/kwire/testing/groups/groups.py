"""All groups of a cluster by id, of whatever type, with their offsets.

Plain state for the broker's thread; sees no requests.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from kwire.errors import broker as codes
from kwire.testing.groups.classic_group import ClassicGroup
from kwire.testing.groups.consumer_group import ConsumerGroup
from kwire.testing.groups.offsets import Committed, Key, Offsets
from kwire.testing.groups.share_group import ShareGroup
from kwire.testing.groups.shares import Shares
from kwire.testing.settings.group_configs import GroupConfigs
from kwire.testing.state.coordinators import GROUP

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState

_EMPTY = "Empty"
AnyGroup = ClassicGroup | ConsumerGroup | ShareGroup


class Groups:
    """The groups, their offsets in Kafka, and those that OffsetCommit 0 keeps in ZooKeeper."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self.by_id: dict[str, AnyGroup] = {}
        self.offsets = Offsets()
        self.zookeeper = Offsets()
        self.configs = GroupConfigs(lambda: cluster.properties)
        self.shares = Shares(cluster)

    def get(self, group_id: str) -> AnyGroup | None:
        """The group, if there is one. Its offsets that are too old go."""
        self._expire_offsets(group_id)
        return self.by_id.get(group_id)

    def find(self, group_id: str) -> AnyGroup:
        """The group. Raises BrokerError (GROUP_ID_NOT_FOUND)."""
        found = self.get(group_id)
        if found is None:
            raise codes.GROUP_ID_NOT_FOUND(f"no group {group_id!r}")
        return found

    def classic(self, group_id: str) -> ClassicGroup:
        """The classic group. Raises BrokerError (GROUP_ID_NOT_FOUND), also for a group of another type."""
        found = self.find(group_id)
        if not isinstance(found, ClassicGroup):
            raise codes.GROUP_ID_NOT_FOUND(f"Group {group_id} is not a classic group.")
        return found

    def consumer(self, group_id: str) -> ConsumerGroup:
        """The consumer group. Raises BrokerError (GROUP_ID_NOT_FOUND), also for a group of another type."""
        found = self.find(group_id)
        if not isinstance(found, ConsumerGroup):
            raise codes.GROUP_ID_NOT_FOUND(f"Group {group_id} is not a consumer group.")
        return found

    def share(self, group_id: str, *, make_at: int | None = None) -> ShareGroup:
        """The share group, made with the epoch `make_at` if there is none. Raises BrokerError (GROUP_ID_NOT_FOUND)."""
        found = self.get(group_id)
        if found is None and make_at is not None:
            found = ShareGroup(group_id, self._cluster, epoch=make_at)
            self.put(found)
        if not isinstance(found, ShareGroup):
            missing = f"Group {group_id} not found." if found is None else f"Group {group_id} is not a share group."
            raise codes.GROUP_ID_NOT_FOUND(missing)
        return found

    def put(self, group: AnyGroup) -> None:
        """Adds a group, or puts it in the place of one of another type."""
        group.node = self._cluster.coordinators.leader(GROUP, group.group_id)
        self.by_id[group.group_id] = group

    def find_or_make_classic(self, group_id: str) -> ClassicGroup:
        """The classic group, made if there is no group of this name, or an empty consumer group."""
        found = self.get(group_id)
        if found is None or (isinstance(found, ConsumerGroup) and found.is_empty):
            if found is not None:
                found.die()
            made = ClassicGroup(group_id, self._cluster)
            made.empty_since_ms = self._cluster.clock()
            self.put(made)
        return self.classic(group_id)

    def check_transactional_commit(
        self, group_id: str, member_id: str, instance_id: str | None, generation: int
    ) -> None:
        """Raises BrokerError unless offsets may be committed in a transaction for this member of the group.

        A group that does not exist is made for a commit that names no generation.
        """
        if generation < 0 and group_id not in self.by_id:
            self.find_or_make_classic(group_id)
        try:
            group = self.find(group_id)
        except codes.GROUP_ID_NOT_FOUND as missing:
            raise codes.ILLEGAL_GENERATION(missing.context) from missing
        group.check_transactional_commit(member_id, instance_id, generation)

    def delete(self, group_id: str) -> None:
        """Deletes a group with its offsets. Raises BrokerError for one that is missing or has members."""
        group = self.find(group_id)
        if group.state_name != _EMPTY:
            raise codes.NON_EMPTY_GROUP(f"group {group_id!r} is {group.state_name}")
        self.forget(group)
        self.offsets.delete_group(group_id)
        self.shares.delete_group(group_id)

    def forget(self, group: AnyGroup) -> None:
        """The group is no more; its offsets stay."""
        group.die()
        del self.by_id[group.group_id]

    def delete_topic(self, topic: str) -> None:
        """Forgets what is committed for a topic that was deleted."""
        self.offsets.delete_topic(topic)
        self.zookeeper.delete_topic(topic)
        self.shares.delete_topic(topic)

    def follow_coordinator(self, group_id: str) -> bool:
        """Whether the group's coordinator is another node now: then only what Kafka has in its log remains."""
        group = self.by_id.get(group_id)
        node = self._cluster.coordinators.leader(GROUP, group_id)
        if group is None or group.node == node:
            return False
        group.node = node
        group.unload(codes.NOT_COORDINATOR.code)
        return True

    def _expire_offsets(self, group_id: str) -> None:
        group = self.by_id.get(group_id)
        if group is None or not self.offsets.of(group_id):
            return
        now_ms = self._cluster.clock()
        retention_ms = self._cluster.properties.offsets_retention_minutes * 60_000

        def is_over(key: Key, committed: Committed) -> bool:
            if committed.expires_ms is not None:
                return committed.expires_ms <= now_ms
            since_ms = group.offsets_kept_from(key[0], committed.committed_ms)
            return since_ms is not None and since_ms + retention_ms <= now_ms

        self.offsets.expire(group_id, is_over)
        if not self.offsets.of(group_id) and group.state_name == _EMPTY and not self.offsets.has_pending(group_id):
            self.forget(group)


def new_member_id(prefix: str) -> str:
    """A member id as Kafka makes it: the client id or the instance id, and a random part."""
    return f"{prefix}-{uuid.uuid4()}"
