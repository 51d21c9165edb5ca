"""Which node leads a partition now, and which one coordinates a group: asked of the nodes in turn, without a client."""

import socket
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

from kwire import protocol
from tests.brokers.wire import Wire

GROUP, SHARE = 0, 2
"""What has a coordinator: a group, and what a share group has accepted of a partition."""
_ANSWERS_WITHIN_S = 1.0


def leader(servers: str, topic: str, partition: int) -> int | None:
    """The node that leads the partition, if one does and any node says so."""
    found = _first_answer(servers, lambda wire: _metadata(wire, topic))
    rows = {row.partition_index: row.leader_id for each in found.topics for row in each.partitions} if found else {}
    return _node(rows.get(partition))


def coordinator(servers: str, group: str) -> int | None:
    """The node that coordinates the group."""
    return _coordinator(servers, GROUP, lambda wire: group)


def share_coordinator(servers: str, group: str, topic: str, partition: int) -> int | None:
    """The node that keeps what the share group has accepted of the partition."""
    return _coordinator(servers, SHARE, lambda wire: f"{group}:{_topic_id(wire, topic)}:{partition}")


def _coordinator(servers: str, kind: int, key: Callable[[Wire], str]) -> int | None:
    def ask(wire: Wire) -> Any:
        return wire.call(protocol.FindCoordinatorRequest(key_type=kind, coordinator_keys=[key(wire)]), 6)

    found = _first_answer(servers, ask)
    return _node(found.coordinators[0].node_id) if found else None


def _metadata(wire: Wire, topic: str) -> Any:
    row = protocol.MetadataRequest.MetadataRequestTopic
    return wire.call(protocol.MetadataRequest(topics=[row(name=topic)]), 12)


def _topic_id(wire: Wire, topic: str) -> str:
    """As Kafka writes it."""
    return urlsafe_b64encode(_metadata(wire, topic).topics[0].topic_id.bytes).decode().rstrip("=")


def _first_answer(servers: str, ask: Callable[[Wire], Any]) -> Any:
    for address in servers.split(","):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=_ANSWERS_WITHIN_S) as connection:
                return ask(Wire(connection))
        except (OSError, AssertionError):
            continue  # this node hangs, or is down
    return None


def _node(number: int | None) -> int | None:
    return number if number is not None and number >= 0 else None
