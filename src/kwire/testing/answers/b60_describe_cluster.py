"""DescribeCluster (key 60).

Behaviour
    The cluster's id, its living nodes and the controller. Any node answers; who may not DESCRIBE the cluster is told no
    operations.

Version notes
    v1   endpoint_type: 1 brokers; 2 controllers are MISMATCHED_ENDPOINT_TYPE, since a broker is asked; others
         UNSUPPORTED_ENDPOINT_TYPE
    v2   include_fenced_brokers lists the dead nodes, too, and is_fenced tells them apart
"""

from __future__ import annotations

from kwire.errors import broker as codes
from kwire.protocol import DescribeClusterRequest, DescribeClusterResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER

Context = RequestContext[DescribeClusterRequest]
_Node = DescribeClusterResponse.DescribeClusterBroker
_BROKERS, _CONTROLLERS = 1, 2
_NOT_ASKED = -(2**31)


def answer(context: Context) -> DescribeClusterResponse:
    """The cluster as this node sees it."""
    request, cluster = context.request, context.cluster
    if context.version >= 1 and request.endpoint_type != _BROKERS:
        is_known = request.endpoint_type == _CONTROLLERS
        return refuse(context, (codes.MISMATCHED_ENDPOINT_TYPE if is_known else codes.UNSUPPORTED_ENDPOINT_TYPE).code)
    listed = cluster.nodes if context.version >= 2 and request.include_fenced_brokers else cluster.nodes.alive
    return DescribeClusterResponse(
        error_message=None,
        cluster_id=cluster.cluster_id,
        controller_id=cluster.nodes.controller,
        brokers=[
            _Node(
                broker_id=node.node_id,
                **context.address_of(node)._asdict(),
                rack=node.rack,
                is_fenced=context.version >= 2 and not node.alive,
            )
            for node in listed
        ],
        cluster_authorized_operations=(
            context.operations(CLUSTER) if request.include_cluster_authorized_operations else _NOT_ASKED
        ),
    )


def refuse(context: Context, code: int) -> DescribeClusterResponse:
    """The error alone."""
    return DescribeClusterResponse(error_code=code, brokers=[])
