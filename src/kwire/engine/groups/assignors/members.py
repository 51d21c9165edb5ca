"""What several assignors do alike: members in order, topics that exist, whether racks matter.

Layer 3, no I/O. Racks matter (KIP-881) when some consumer's rack has replicas and not every partition has replicas on
all racks: else every placement is as near as any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kwire.engine.groups.assignors.contract import ClusterView, MemberSubscription
from kwire.engine.groups.assignors.java_order import hash_order, text_key

Members = Mapping[str, MemberSubscription]
Racks = Collection[frozenset[str]]


def in_instance_order(members: Members) -> list[str]:
    """The ids of the members: static ones by their instance ids, then the others by their member ids."""
    static = [member for member in members if members[member].group_instance_id is not None]
    dynamic = [member for member in members if members[member].group_instance_id is None]
    static.sort(key=lambda member: text_key(members[member].group_instance_id or ""))
    dynamic.sort(key=text_key)
    return static + dynamic


def topic_counts(cluster: ClusterView, members: Members) -> dict[str, int]:
    """The partition count of each subscribed topic that exists, in the order in which Java goes over them."""
    wanted = hash_order(topic for subscription in members.values() for topic in subscription.topics)
    counts = {topic: cluster.partition_count(topic) for topic in wanted}
    return {topic: counts[topic] for topic in hash_order(topic for topic in wanted if counts[topic])}


def racks_matter(consumer_racks: Collection[str], partition_racks: Racks) -> bool:
    """Whether placing partitions by racks can bring anything."""
    everywhere = union(partition_racks)
    if everywhere.isdisjoint(consumer_racks):
        return False
    return any(racks != everywhere for racks in partition_racks)


def union(racks: Iterable[frozenset[str]]) -> frozenset[str]:
    """All of them."""
    return frozenset().union(*set(racks))
