"""ListConfigResources (key 74).

Behaviour
    The names of resources that have configs: topics, living brokers (and their loggers), and what configs were set for
    of groups and client metrics. An unknown type is UNSUPPORTED_VERSION.

Version notes
    v0   client metrics only; v1 the types asked for, all for an empty list
"""

from __future__ import annotations

from kwire.errors import broker as codes
from kwire.protocol import ListConfigResourcesRequest, ListConfigResourcesResponse
from kwire.testing.requests import RequestContext
from kwire.testing.settings.config_names import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from kwire.testing.state import authorizer

Context = RequestContext[ListConfigResourcesRequest]
_Resource = ListConfigResourcesResponse.ConfigResource
_ALL = (GROUP, CLIENT_METRICS, BROKER_LOGGER, BROKER, TOPIC)


def answer(context: Context) -> ListConfigResourcesResponse:
    """The names by type."""
    if not context.allows(authorizer.DESCRIBE_CONFIGS, authorizer.CLUSTER):
        return refuse(context, codes.CLUSTER_AUTHORIZATION_FAILED.code)
    asked = [CLIENT_METRICS] if context.version == 0 else list(context.request.resource_types) or list(_ALL)
    if not set(asked) <= set(_ALL):
        return refuse(context, codes.UNSUPPORTED_VERSION.code)
    resources = [
        _Resource(resource_name=name, resource_type=kind if context.version >= 1 else CLIENT_METRICS)
        for kind in _ALL
        if kind in asked
        for name in _names(context, kind)
    ]
    return ListConfigResourcesResponse(config_resources=resources)


def refuse(context: Context, code: int) -> ListConfigResourcesResponse:
    """The error alone."""
    return ListConfigResourcesResponse(error_code=code, config_resources=[])


def _names(context: Context, kind: int) -> list[str]:
    cluster = context.cluster
    if kind == TOPIC:
        return sorted(cluster.topics)
    if kind in (BROKER, BROKER_LOGGER):
        return [str(node.node_id) for node in cluster.nodes.alive]
    names = {name for of, name in cluster.configs.changed if of == kind}
    return sorted(names.union(cluster.groups.configs.groups) if kind == GROUP else names)
