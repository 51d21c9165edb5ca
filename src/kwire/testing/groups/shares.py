"""The share partitions of all groups, and the share sessions of all nodes (KIP-932).

A session is what a node remembers of a member: which partitions it fetches from. It ends with the connection that it
began on. Requests count its epochs:

    epoch      ShareFetch                               ShareAcknowledge
    0          a new session, without acknowledgements  INVALID_SHARE_SESSION_EPOCH
    the next   partitions are added and forgotten       goes on
    -1         acknowledges, and ends the session: what the member holds is released
    unknown    SHARE_SESSION_NOT_FOUND without a session, else INVALID_SHARE_SESSION_EPOCH
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from kwire.errors import broker as codes
from kwire.testing.groups.share_partition import SharePartition
from kwire.testing.state.coordinators import SHARE

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState
    from kwire.testing.state.partition import Partition

NEW_SESSION, LAST_OF_SESSION = 0, -1
_LAST_EPOCH = 2**31 - 1
TopicIdPartition = tuple[UUID, int]


@dataclass(slots=True)
class ShareSession:
    """One member at one node; its partitions are in the order in which they were added."""

    epoch: int = 1
    partitions: dict[TopicIdPartition, None] = field(default_factory=dict)


class Shares:
    """What share groups hold, by group and partition."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._partitions: dict[tuple[str, TopicIdPartition], SharePartition] = {}
        self._sessions: dict[tuple[int, str, str], ShareSession] = {}

    def partition(self, group_id: str, partition: Partition) -> SharePartition:
        """The partition as the group sees it."""
        key = group_id, (partition.topic.topic_id, partition.index)
        if key not in self._partitions:
            self._cluster.internal_topics.ensure(SHARE)
            self._partitions[key] = SharePartition(group_id, self._cluster, partition)
        return self._partitions[key]

    def of_group(self, group_id: str) -> list[SharePartition]:
        """All that the group has fetched from, or an administrator has set."""
        return [each for (owner, _), each in self._partitions.items() if owner == group_id]

    def forget(self, group_id: str, topic: str) -> bool:
        """Forgets a topic of a group; tells whether there was anything."""
        known = [each for each in self.of_group(group_id) if each.partition.topic.name == topic]
        for each in known:
            each.reset(None)
            del self._partitions[group_id, (each.partition.topic.topic_id, each.partition.index)]
        return bool(known)

    def delete_group(self, group_id: str) -> None:
        for topic in {each.partition.topic.name for each in self.of_group(group_id)}:
            self.forget(group_id, topic)

    def delete_topic(self, topic: str) -> None:
        for group_id in {owner for owner, _ in self._partitions}:
            self.forget(group_id, topic)

    # Sessions.

    def begin(self, node: int, group_id: str, member_id: str) -> ShareSession:
        """A new session in the place of the one that the member may have; what it held stays locked."""
        made = self._sessions[node, group_id, member_id] = ShareSession()
        return made

    def go_on(self, node: int, group_id: str, member_id: str, epoch: int) -> ShareSession:
        """The session, if this is its next epoch or its last request. Raises BrokerError."""
        found = self._sessions.get((node, group_id, member_id))
        if found is None:
            raise codes.SHARE_SESSION_NOT_FOUND(f"node {node} has no share session of member {member_id!r}")
        if epoch not in (found.epoch, LAST_OF_SESSION):
            raise codes.INVALID_SHARE_SESSION_EPOCH(f"epoch {epoch}; {found.epoch} is the next one")
        found.epoch = 1 if found.epoch == _LAST_EPOCH else found.epoch + 1
        return found

    def end(self, node: int, group_id: str, member_id: str, only: ShareSession | None = None) -> None:
        """Ends the session; what the member holds of its partitions is released. With `only`, no other one."""
        key = node, group_id, member_id
        if only is not None and self._sessions.get(key) is not only:
            return
        session = self._sessions.pop(key, None)
        for each in self._known(group_id, session):
            each.release_member(member_id)

    def _known(self, group_id: str, session: ShareSession | None) -> Iterator[SharePartition]:
        for key in session.partitions if session is not None else ():
            found = self._partitions.get((group_id, key))
            if found is not None and found.start is not None:
                yield found
