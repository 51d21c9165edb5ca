"""Whether a request about a group may be answered: by this node, which coordinates it, and to this client.

A group moves with its coordinator when somebody asks for it at the new one: the first request there is told
COORDINATOR_LOAD_IN_PROGRESS.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from kwire.errors import broker as codes
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, READ, TOPIC
from kwire.testing.state.authorizer import GROUP as GROUP_RESOURCE
from kwire.testing.state.coordinators import GROUP


def check_coordinator(context: RequestContext[Any], group_id: str, operation: int = READ) -> None:
    """Raises BrokerError if the client may not do this, or this node does not coordinate the group, or not yet."""
    context.require(operation, GROUP_RESOURCE, group_id)
    if not coordinates(context, group_id):
        raise codes.NOT_COORDINATOR(f"node {context.node} does not coordinate group {group_id!r}")
    if context.cluster.groups.follow_coordinator(group_id):
        raise codes.COORDINATOR_LOAD_IN_PROGRESS(f"group {group_id!r} has just moved to node {context.node}")


def check_group_id(context: RequestContext[Any], group_id: str, operation: int = READ) -> None:
    """As `check_coordinator`; a name that is empty is refused, too: only offsets may have such a group."""
    context.require(operation, GROUP_RESOURCE, group_id)
    if not group_id:
        raise codes.INVALID_GROUP_ID("a group id is empty")
    check_coordinator(context, group_id, operation)


def check_described(context: RequestContext[Any], topic_ids: Iterable[UUID]) -> None:
    """Raises BrokerError if the members to be described have a topic that the client may not describe."""
    topics = context.cluster.topics_by_id
    if not all(context.allows(DESCRIBE, TOPIC, topics[each].name) for each in topic_ids if each in topics):
        raise codes.TOPIC_AUTHORIZATION_FAILED(
            "The group has described topic(s) that the client is not authorized to describe."
        )


def coordinates(context: RequestContext[Any], group_id: str) -> bool:
    """Whether the node that was asked coordinates the group."""
    return context.cluster.coordinators.leader(GROUP, group_id) == context.node
