"""What an answer says of the leader when it is another node (KIP-951).

Fills in rows of answers; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.testing.cluster import ClusterState
from kwire.testing.requests import RequestContext

MOVED = {codes.NOT_LEADER_OR_FOLLOWER.code, codes.FENCED_LEADER_EPOCH.code}


def name_leader(row: Any, cluster: ClusterState, name: str | None, topic_id: Any, index: int) -> None:
    """Fills in `row.current_leader` of an answer that refuses a partition, where the partition is known."""
    try:
        partition = cluster.partition(name, topic_id, index)
    except BrokerError:
        return
    row.current_leader.leader_id = partition.leader
    row.current_leader.leader_epoch = partition.leader_epoch


def endpoints(context: RequestContext[Any], leaders: Iterable[int], made: Any) -> list[Any]:
    """Where these nodes are reached, as rows of the type `made`."""
    wanted = set(leaders)
    return [
        made(node_id=each.node_id, **context.address_of(each)._asdict(), rack=each.rack)
        for each in context.cluster.nodes.alive
        if each.node_id in wanted
    ]
