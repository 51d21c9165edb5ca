"""Who leads a partition, and who is in sync, as nodes die and come back.

As in Kafka: the leader is a replica that is in sync, the first of the replicas by preference. A node that dies leaves
the in-sync replicas unless it is the last one: then the partition has no leader until that node is back, unless
`unclean.leader.election.enable` lets any replica lead. A node that comes back is in sync at once, but leads nothing
that has a leader. With eligible leader replicas (KIP-966) the last one leaves, too: those that leave while too few are
in sync (min.insync.replicas) may lead when none is. The leader epoch changes with the leader alone, as with KRaft; with
ZooKeeper it does when a follower leaves, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.errors import ConfigError
from kwire.errors import broker as codes
from kwire.testing.state.nodes import NO_NODE, Nodes
from kwire.testing.state.partition import Partition


def place_replicas(nodes: Nodes, index: int, factor: int) -> list[int]:
    """The replicas of partition `index`, the preferred leader first: one node after the other, the living ones.

    Raises BrokerError (INVALID_REPLICATION_FACTOR).
    """
    alive = [node.node_id for node in nodes.alive]
    if not 1 <= factor <= len(alive):
        raise codes.INVALID_REPLICATION_FACTOR(f"replication factor {factor} with {len(alive)} living nodes")
    return [alive[(index + n) % len(alive)] for n in range(factor)]


def node_died(partition: Partition, node: int, nodes: Nodes, *, has_elr: bool = False) -> None:
    """Takes a dead node out of the in-sync replicas, and elects another leader where it led."""
    if node not in partition.replicas:
        return
    others = [replica for replica in partition.isr if replica != node]
    if has_elr and node in partition.isr and len(others) < _min_in_sync(partition):
        partition.elr.append(node)
    if others or has_elr:
        partition.isr = others
    if partition.leader == node:
        elect(partition, nodes)


def node_came_back(partition: Partition, node: int, nodes: Nodes, *, has_elr: bool = False) -> None:
    """Takes the node into the in-sync replicas; elects a leader where there is none."""
    if node not in partition.replicas:
        return
    if partition.leader == NO_NODE:
        elect(partition, nodes)
    if partition.leader != NO_NODE:
        partition.isr = [replica for replica in partition.replicas if nodes.is_alive(replica)]
    _settle_elr(partition)


def elect(partition: Partition, nodes: Nodes) -> None:
    """Makes the first living in-sync replica the leader, or any living one where that is allowed."""
    alive = [replica for replica in partition.replicas if nodes.is_alive(replica)]
    clean = [replica for replica in alive if replica in (partition.isr or partition.elr)]
    if not clean and alive and partition.topic.settings.values["unclean.leader.election.enable"] == "true":
        partition.isr = clean = alive[:1]
    chosen = clean[0] if clean else NO_NODE
    if chosen != NO_NODE and chosen not in partition.isr:
        partition.isr = [chosen]
    _settle_elr(partition)
    if chosen != partition.leader:
        partition.lead_by(chosen)


def _settle_elr(partition: Partition) -> None:
    """Nobody is eligible besides those in sync once these are enough."""
    enough = len(partition.isr) >= _min_in_sync(partition)
    partition.elr = [] if enough else [replica for replica in partition.elr if replica not in partition.isr]


def _min_in_sync(partition: Partition) -> int:
    return min(int(partition.topic.settings.values["min.insync.replicas"]), len(partition.replicas))


def move_leader(partition: Partition, node: int, nodes: Nodes) -> None:
    """Makes `node` the leader; it becomes a replica if it was none. Raises ConfigError for one that does not live."""
    if not nodes[node].alive:
        raise ConfigError(f"node {node} is down, so it cannot lead {partition}")
    if node not in partition.replicas:
        partition.replicas[partition.replicas.index(partition.leader) if partition.leader != NO_NODE else 0] = node
        partition.isr = [replica for replica in partition.isr if replica in partition.replicas]
    if node not in partition.isr:
        partition.isr.append(node)
    if partition.leader != node:
        partition.lead_by(node)


def check_in_sync(partition: Partition) -> None:
    """Raises BrokerError (NOT_ENOUGH_REPLICAS) below min.insync.replicas: for producers with acks -1."""
    wanted = _min_in_sync(partition)
    if len(partition.isr) < wanted:
        raise codes.NOT_ENOUGH_REPLICAS(f"{partition} has {len(partition.isr)} replicas in sync, {wanted} are wanted")


def check_assignment(nodes: Nodes, replicas: Sequence[int]) -> None:
    """Raises BrokerError (INVALID_REPLICA_ASSIGNMENT) for replicas that no partition may have."""
    unknown = [replica for replica in replicas if not nodes.is_alive(replica)]
    if not replicas or unknown or len(set(replicas)) != len(replicas):
        raise codes.INVALID_REPLICA_ASSIGNMENT(f"replicas {list(replicas)}; nodes are {nodes.ids}")
