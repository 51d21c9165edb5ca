"""What ShareFetch and ShareAcknowledge have in common: the acknowledgements in them, and the partitions they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.testing.answers.leaders import MOVED, endpoints, name_leader
from kwire.testing.groups.share_partition import GAP, RENEW, Acknowledgement, SharePartition
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import GROUP, READ

Context = RequestContext[Any]


def check_member(context: Context) -> tuple[str, str]:
    """(group id, member id). Raises BrokerError."""
    group_id, member_id = context.request.group_id or "", context.request.member_id or ""
    context.require(READ, GROUP, group_id)
    if not group_id or not member_id:
        raise codes.INVALID_REQUEST("a group and a member must be named")
    return group_id, member_id


def share_partition(context: Context, group_id: str, topic_id: UUID, index: int) -> SharePartition:
    """The partition as the group sees it, if this node leads it and the client may read it. Raises BrokerError."""
    cluster = context.cluster
    context.require_topic(READ, None, topic_id)
    found = cluster.groups.shares.partition(group_id, cluster.partition_led_by(context.node, None, topic_id, index))
    found.begin()
    return found


def acknowledge(
    context: Context, group_id: str, member_id: str, topic_id: UUID, index: int, batches: Sequence[Any]
) -> BrokerError | None:
    """Takes in what the member says of a partition; returns what is wrong with it."""
    try:
        found = share_partition(context, group_id, topic_id, index)
        found.acknowledge(member_id, _checked(context, batches))
    except BrokerError as refused:
        return refused
    return None


def _checked(context: Context, batches: Sequence[Any]) -> list[Acknowledgement]:
    newest = RENEW if context.request.is_renew_ack else RENEW - 1
    given, end = [], -1
    for batch in batches:
        types = tuple(batch.acknowledge_types)
        count = batch.last_offset - batch.first_offset + 1
        in_order = end < batch.first_offset <= batch.last_offset
        if not in_order or len(types) not in (1, count) or not all(GAP <= each <= newest for each in types):
            raise codes.INVALID_REQUEST(f"offsets {batch.first_offset} to {batch.last_offset} with types {types}")
        given.append(Acknowledgement(batch.first_offset, batch.last_offset, types))
        end = batch.last_offset
    return given


def name_leaders(context: Context, response: Any, made_endpoint: Any) -> None:
    """Says where the leaders are of the partitions that this node does not lead."""
    leaders = set()
    for topic in response.responses:
        for row in topic.partitions:
            if {row.error_code, getattr(row, "acknowledge_error_code", 0)} & MOVED:
                name_leader(row, context.cluster, None, topic.topic_id, row.partition_index)
                leaders.add(row.current_leader.leader_id)
    if leaders:
        response.node_endpoints = endpoints(context, leaders, made_endpoint)
