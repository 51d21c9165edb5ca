"""Metadata (key 3).

Behaviour
    One broker, controller and leader of all. A topic that is asked for by name and missing is made at once if broker
    and request allow it (a real broker answers LEADER_NOT_AVAILABLE first; see `Faults` for that), else it is answered
    with UNKNOWN_TOPIC_OR_PARTITION; a name that no topic may have with INVALID_TOPIC_EXCEPTION. Topics are listed by
    name.

Version notes
    v0    an empty list means all topics; from v1 on null means all and an empty list none
    v0    releases before 0.10 answer any version as this one (see release.py)
    v0    releases before 0.9 list no broker as long as there is no topic
    v4    allow_auto_topic_creation; before it creation is always allowed
    v8    authorized operations: there is no authorizer, so they are never computed
    v10   topic ids; v12 topics may be asked for by id, an unknown one is answered with UNKNOWN_TOPIC_ID
    v13   error_code of the whole answer
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import MetadataRequest, MetadataResponse
from kwire.testing.cluster import Topic, check_topic_name
from kwire.testing.requests import RequestContext

KEY = 3
_Asked = MetadataRequest.MetadataRequestTopic
_Broker = MetadataResponse.MetadataResponseBroker
_Topic = MetadataResponse.MetadataResponseTopic
_Partition = MetadataResponse.MetadataResponseTopic.MetadataResponsePartition


def answer(context: RequestContext[MetadataRequest]) -> MetadataResponse:
    """The broker and the topics asked for."""
    asked = context.request.topics
    if asked is None or (context.version == 0 and not asked):
        topics = [_known(context, topic) for _, topic in sorted(context.cluster.topics.items())]
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
        brokers=[_Broker(node_id=cluster.node_id, host=cluster.host, port=cluster.port)] if listed else [],
        cluster_id=cluster.cluster_id,
        controller_id=cluster.node_id,
        topics=topics,
    )


def _topic(context: RequestContext[MetadataRequest], asked: _Asked) -> _Topic:
    try:
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
        return cluster.create_topic(asked.name, cluster.num_partitions)
    return cluster.topic(asked.name)


def _known(context: RequestContext[MetadataRequest], topic: Topic) -> _Topic:
    node = context.cluster.node_id
    return _Topic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            _Partition(
                partition_index=partition.index,
                leader_id=node,
                leader_epoch=partition.leader_epoch,
                replica_nodes=[node],
                isr_nodes=[node],
            )
            for partition in topic.partitions
        ],
    )
