"""Metadata (key 3).

Behaviour
    The nodes that live; a partition without a leader is LEADER_NOT_AVAILABLE, its replicas are named. A topic that is
    asked for by name and missing is made at once if broker and request allow it (a real broker answers
    LEADER_NOT_AVAILABLE first; see `Faults` for that), else it is answered with UNKNOWN_TOPIC_OR_PARTITION; a name that
    no topic may have with INVALID_TOPIC_EXCEPTION. Topics are listed by name.

Version notes
    v0    replicas that do not live are left out, and REPLICA_NOT_AVAILABLE says so; from v1 on they are named
    v0    an empty list means all topics; from v1 on null means all and an empty list none
    v0    releases before 0.10 answer any version as this one (see release.py)
    v0    releases before 0.9 list no broker as long as there is no topic
    v5    offline_replicas
    v4    allow_auto_topic_creation; before it creation is always allowed
    v8    authorized operations, where asked for; those of the cluster up to v10
    v10   topic ids; v12 topics may be asked for by id, an unknown one is answered with UNKNOWN_TOPIC_ID
    v13   error_code of the whole answer
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import MetadataRequest, MetadataResponse
from kwire.testing.cluster import ClusterState
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, CREATE, DESCRIBE, THE_CLUSTER, TOPIC
from kwire.testing.state.internal_topics import KINDS
from kwire.testing.state.nodes import NO_NODE
from kwire.testing.state.partition import Partition, Topic, check_topic_name

KEY = 3
_NOT_ASKED = -(2**31)
_Asked = MetadataRequest.MetadataRequestTopic
_Broker = MetadataResponse.MetadataResponseBroker
_Topic = MetadataResponse.MetadataResponseTopic
_Partition = MetadataResponse.MetadataResponseTopic.MetadataResponsePartition


def answer(context: RequestContext[MetadataRequest]) -> MetadataResponse:
    """The broker and the topics asked for."""
    asked = context.request.topics
    if asked is None or (context.version == 0 and not asked):
        topics = [
            _known(context, topic)
            for name, topic in sorted(context.cluster.topics.items())
            if context.allows(DESCRIBE, TOPIC, name)
        ]
    else:
        topics = [_topic(context, wanted) for wanted in asked]
    return _response(context, topics)


def refuse(context: RequestContext[MetadataRequest], code: int) -> MetadataResponse:
    """Every topic asked for (or every topic there is) answered with `code`, without partitions."""
    asked = context.request.topics
    if asked:
        return _response(context, [_refused(context, topic, code) for topic in asked])
    return _response(context, [_Topic(error_code=code, name=name) for name in sorted(context.cluster.topics)])


def _response(context: RequestContext[MetadataRequest], topics: list[_Topic]) -> MetadataResponse:
    cluster = context.cluster
    listed = cluster.topics or context.release.lists_brokers_without_topics
    return MetadataResponse(
        brokers=[
            _Broker(node_id=node.node_id, **context.address_of(node)._asdict(), rack=node.rack)
            for node in cluster.nodes.alive
        ]
        if listed
        else [],
        cluster_id=cluster.cluster_id,
        controller_id=cluster.nodes.controller,
        topics=topics,
        cluster_authorized_operations=_operations(
            context, context.request.include_cluster_authorized_operations, CLUSTER, THE_CLUSTER
        ),
    )


def _operations(context: RequestContext[MetadataRequest], asked: bool, resource_type: int, name: str) -> int:
    return context.operations(resource_type, name) if asked else _NOT_ASKED


def _topic(context: RequestContext[MetadataRequest], asked: _Asked) -> _Topic:
    try:
        known = context.cluster.topics_by_id.get(asked.topic_id) if asked.name is None else None
        if known is not None and not context.allows(DESCRIBE, TOPIC, known.name):
            raise codes.UNKNOWN_TOPIC_ID("not authorized")
        if asked.name is not None:
            context.require(DESCRIBE, TOPIC, asked.name)
        return _known(context, _found_or_made(context, asked))
    except BrokerError as refused:
        return _refused(context, asked, refused.code)


def _refused(context: RequestContext[MetadataRequest], asked: _Asked, code: int) -> _Topic:
    name = "" if asked.name is None and context.version < 12 else asked.name
    return _Topic(error_code=code, name=name, topic_id=asked.topic_id)


def _found_or_made(context: RequestContext[MetadataRequest], asked: _Asked) -> Topic:
    cluster = context.cluster
    if asked.name is None or asked.name in cluster.topics:
        return cluster.topic(asked.name, asked.topic_id)
    check_topic_name(asked.name)
    if cluster.auto_create_topics and (context.version < 4 or context.request.allow_auto_topic_creation):
        if not context.allows(CREATE, CLUSTER):
            context.require(CREATE, TOPIC, asked.name)
        return _made(cluster, asked.name)
    return cluster.topic(asked.name)


def _made(cluster: ClusterState, name: str) -> Topic:
    internal = cluster.internal_topics.ensure(KINDS[name]) if name in KINDS else None
    return internal or cluster.create_topic(name, cluster.num_partitions)


def _known(context: RequestContext[MetadataRequest], topic: Topic) -> _Topic:
    return _Topic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[_partition(context, partition) for partition in topic.partitions],
        topic_authorized_operations=_operations(
            context, context.request.include_topic_authorized_operations, TOPIC, topic.name
        ),
    )


def _partition(context: RequestContext[MetadataRequest], partition: Partition) -> _Partition:
    nodes = context.cluster.nodes
    replicas, in_sync = partition.replicas, partition.isr
    offline = [replica for replica in replicas if not nodes.is_alive(replica)]
    code = codes.LEADER_NOT_AVAILABLE.code if partition.leader == NO_NODE else 0
    if context.version == 0 and offline:
        code = code or codes.REPLICA_NOT_AVAILABLE.code
        replicas, in_sync = ([each for each in some if nodes.is_alive(each)] for some in (replicas, in_sync))
    return _Partition(
        error_code=code,
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=in_sync,
        offline_replicas=offline,
    )
