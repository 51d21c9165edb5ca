"""FindCoordinator (key 10).

Behaviour
    Names the node that coordinates a group, a transactional id or a share partition. The first time the topic is made
    in which Kafka keeps its state (see internal_topics.py), without the COORDINATOR_NOT_AVAILABLE that Kafka says then.

Version notes
    v0   groups only
    v1   key_type: 0 a group, 1 a transactional id, 2 (v6) a share partition; any other is INVALID_REQUEST, and so is a
         share partition that is not group:topicId:partition; before 4.0 none is available
    v4   several keys at once, each with an error of its own
"""

from __future__ import annotations

import re

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import FindCoordinatorRequest, FindCoordinatorResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, CLUSTER_ACTION, DESCRIBE, TRANSACTIONAL_ID
from kwire.testing.state.authorizer import GROUP as GROUP_RESOURCE
from kwire.testing.state.coordinators import GROUP, SHARE, TRANSACTION
from kwire.testing.state.nodes import Node

Context = RequestContext[FindCoordinatorRequest]
_Coordinator = FindCoordinatorResponse.Coordinator
_KINDS = (GROUP, TRANSACTION, SHARE)
_SHARE_SINCE = 6
_NO_ERROR = "NONE"
_SHARE_PARTITION = re.compile(r".+:[A-Za-z0-9_-]{22}:[+-]?[0-9]+", re.DOTALL)


def answer(context: Context) -> FindCoordinatorResponse:
    """The coordinator of each key."""
    return _response(context, [_coordinator(context, key) for key in _keys(context)])


def refuse(context: Context, code: int) -> FindCoordinatorResponse:
    """Every key answered with `code`."""
    return _response(context, [_refused(key, code, None) for key in _keys(context)])


def _keys(context: Context) -> list[str]:
    return list(context.request.coordinator_keys) if context.version >= 4 else [context.request.key]


def _coordinator(context: Context, key: str) -> _Coordinator:
    try:
        node = _node(context, key)
    except BrokerError as refused:
        return _refused(key, refused.code, refused.context)
    where = context.address_of(node)
    return _Coordinator(key=key, node_id=node.node_id, **where._asdict(), error_message=_NO_ERROR)


def _node(context: Context, key: str) -> Node:
    kind = context.request.key_type
    if kind not in _KINDS or (kind == SHARE and context.version < _SHARE_SINCE):
        raise codes.INVALID_REQUEST(f"key type {kind}")
    if kind == GROUP:
        context.require(DESCRIBE, GROUP_RESOURCE, key)
    elif kind == TRANSACTION:
        context.require(DESCRIBE, TRANSACTIONAL_ID, key)
    else:
        context.require(CLUSTER_ACTION, CLUSTER)
    if kind == SHARE:
        _check_share_partition(context, key)
    context.cluster.internal_topics.ensure(kind)
    leader = context.cluster.coordinators.leader(kind, key)
    if leader is None:
        raise codes.COORDINATOR_NOT_AVAILABLE("no node is alive")
    return context.cluster.nodes[leader]


def _check_share_partition(context: Context, key: str) -> None:
    """Raises BrokerError unless it is group:topicId:partition, the topic id in base64."""
    if not context.release.has_share_coordinator:
        raise codes.COORDINATOR_NOT_AVAILABLE("there are no share groups")
    if not _SHARE_PARTITION.fullmatch(key):
        raise codes.INVALID_REQUEST(f"{key!r} is not group:topicId:partition")


def _refused(key: str, code: int, reason: str | None) -> _Coordinator:
    return _Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=reason)


def _response(context: Context, found: list[_Coordinator]) -> FindCoordinatorResponse:
    if context.version >= 4:
        return FindCoordinatorResponse(coordinators=found)
    one = found[0]
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )
