"""The assignor "roundrobin": all partitions of all topics, dealt out to the members in turn.

Layer 3, no I/O. Java's RoundRobinAssignor: topics in the order of their names, partitions in theirs; members in
`in_instance_order`. A member that has not subscribed to a partition's topic is passed over and has lost its turn.

    c0, c1; t0 and t1 of three partitions each     c0: t0-0 t0-2 t1-1     c1: t0-1 t1-0 t1-2
"""

from __future__ import annotations

from kwire._typing import override
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.contract import Assignor, ClusterView
from kwire.engine.groups.assignors.java_order import text_order
from kwire.engine.groups.assignors.members import Members, in_instance_order, topic_counts


class RoundRobin(Assignor):
    """Java's RoundRobinAssignor."""

    name = "roundrobin"

    @override
    def assign(self, cluster: ClusterView, members: Members) -> dict[str, list[TopicPartition]]:
        """The partitions of each member."""
        counts = topic_counts(cluster, members)
        order = in_instance_order(members)
        dealt: dict[str, list[TopicPartition]] = {member: [] for member in members}
        hands = [(dealt[member].append, frozenset(members[member].topics)) for member in order]
        turn = 0
        for topic in text_order(counts):
            for partition in range(counts[topic]):
                while topic not in hands[turn][1]:
                    turn = (turn + 1) % len(hands)
                hands[turn][0](TopicPartition(topic, partition))
                turn = (turn + 1) % len(hands)
        return dealt
