"""The topics in which Kafka keeps its own state: they come with the first coordinator that is looked for.

    __consumer_offsets     FindCoordinator of a group
    __transaction_state    FindCoordinator of a transactional id
    __share_group_state    the first partition that a share group knows

The leader of a partition is the coordinator of what falls into it. They are listed and described as Kafka's are, and
clients may not write to them; nothing is kept in them here: they are read as empty. Seen on releases 3.9.2 and 4.4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.testing.state.coordinators import GROUP, SHARE, TRANSACTION
from kwire.testing.state.nodes import NO_NODE

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState
    from kwire.testing.state.partition import Topic

NAMES = {GROUP: "__consumer_offsets", TRANSACTION: "__transaction_state", SHARE: "__share_group_state"}
KINDS = {name: kind for kind, name in NAMES.items()}
_SEGMENT_BYTES = str(100 * 1024 * 1024)
_MIN_IN_SYNC = 2


class InternalTopics:
    """Those of a cluster that there are so far."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster

    def ensure(self, kind: int) -> Topic | None:
        """The topic of a kind of coordinator, made if it is not there; None while no node is alive."""
        cluster, name = self._cluster, NAMES[kind]
        if name not in cluster.topics and cluster.nodes.alive:
            cluster.create_topic(name, cluster.coordinators.slots[kind], self._settings(kind))
            self.lead(kind)
        return cluster.topics.get(name)

    def lead(self, kind: int) -> None:
        """Has the coordinators lead the partitions."""
        topic = self._cluster.topics.get(NAMES[kind])
        for partition in topic.partitions if topic is not None else ():
            coordinator = self._cluster.coordinators.leader_of(kind, partition.index)
            leader = NO_NODE if coordinator is None else coordinator
            if leader != partition.leader:
                if leader not in (NO_NODE, *partition.replicas):
                    partition.replicas[-1] = leader
                partition.lead_by(leader)
                partition.isr = [each for each in partition.replicas if self._cluster.nodes.is_alive(each)]
                self._cluster.wake([partition])

    def _settings(self, kind: int) -> dict[str, str]:
        if kind == GROUP:
            return {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": _SEGMENT_BYTES}
        in_sync = str(min(_MIN_IN_SYNC, self._cluster.default_replication_factor))
        settings = {"min.insync.replicas": in_sync, "segment.bytes": _SEGMENT_BYTES}
        if kind == TRANSACTION:
            unclean = {"unclean.leader.election.enable": "false"}
            return settings | unclean | {"cleanup.policy": "compact", "compression.type": "uncompressed"}
        return settings | {"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1"}
