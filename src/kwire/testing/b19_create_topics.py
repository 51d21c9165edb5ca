"""CreateTopics (key 19).

Behaviour
    Each topic is made or refused by itself, at once: timeout_ms has nothing to wait for. There is one broker, so one
    replica: a replication factor of 1, or -1 for the default, and assignments that name this broker.

Version notes
    v1   validate_only checks and makes nothing; error_message
    v4   -1 partitions and replication factor mean the broker's defaults (KIP-464); below it they are refused
    v5   the answer has partitions, replication factor and all settings of the new topic (KIP-525)
    v7   topic_id
"""

from __future__ import annotations

from collections import Counter

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import CreateTopicsRequest, CreateTopicsResponse
from kwire.testing.cluster import ClusterState, Topic, check_topic_name
from kwire.testing.requests import RequestContext
from kwire.testing.topic_settings import TopicSettings, is_default

_Asked = CreateTopicsRequest.CreatableTopic
_Result = CreateTopicsResponse.CreatableTopicResult
_Setting = CreateTopicsResponse.CreatableTopicResult.CreatableTopicConfigs

_SET_ON_TOPIC, _SHIPPED_DEFAULT = 1, 5


def answer(context: RequestContext[CreateTopicsRequest]) -> CreateTopicsResponse:
    """One result per topic name."""
    names = Counter(topic.name for topic in context.request.topics)
    results = []
    for topic in context.request.topics:
        if names[topic.name] == 1:
            results.append(_result(context, topic))
        elif topic.name not in {result.name for result in results}:
            results.append(_refused(topic.name, codes.INVALID_REQUEST.code, "the request names this topic twice"))
    return CreateTopicsResponse(topics=results)


def refuse(context: RequestContext[CreateTopicsRequest], code: int) -> CreateTopicsResponse:
    """Every topic answered with `code`."""
    return CreateTopicsResponse(topics=[_refused(topic.name, code, None) for topic in context.request.topics])


def _result(context: RequestContext[CreateTopicsRequest], asked: _Asked) -> _Result:
    try:
        partitions = _partition_count(context, asked)
        settings = {setting.name: setting.value for setting in asked.configs}
        if context.request.validate_only and context.version >= 1:
            return _validated(context.cluster, asked.name, partitions, context.cluster.settings_for(settings))
        return _made(context.cluster.create_topic(asked.name, partitions, settings))
    except BrokerError as refused:
        return _refused(asked.name, refused.code, refused.context)


def _partition_count(context: RequestContext[CreateTopicsRequest], asked: _Asked) -> int:
    if asked.assignments:
        return _assigned_partitions(context.cluster, asked)
    defaults_allowed = context.version >= 4
    if asked.replication_factor != 1 and not (asked.replication_factor == -1 and defaults_allowed):
        raise codes.INVALID_REPLICATION_FACTOR(
            f"replication factor {asked.replication_factor}: there is one broker, so 1"
            + (" (or -1) works" if defaults_allowed else " works"),
        )
    if asked.num_partitions == -1 and defaults_allowed:
        return context.cluster.num_partitions
    return asked.num_partitions


def _assigned_partitions(cluster: ClusterState, asked: _Asked) -> int:
    if asked.num_partitions != -1 or asked.replication_factor != -1:
        raise codes.INVALID_REQUEST("with assignments num_partitions and replication_factor have to be -1")
    if sorted(given.partition_index for given in asked.assignments) != list(range(len(asked.assignments))):
        raise codes.INVALID_REPLICA_ASSIGNMENT("partitions have to be 0, 1, 2 and so on, once each")
    if any(list(given.broker_ids) != [cluster.node_id] for given in asked.assignments):
        raise codes.INVALID_REPLICA_ASSIGNMENT(f"the one broker is {cluster.node_id}")
    return len(asked.assignments)


def _validated(cluster: ClusterState, name: str, partitions: int, settings: TopicSettings) -> _Result:
    check_topic_name(name)
    if name in cluster.topics:
        raise codes.TOPIC_ALREADY_EXISTS(f"topic {name!r} exists already")
    if partitions < 1:
        raise codes.INVALID_PARTITIONS(f"{partitions} partitions")
    return _described(name, partitions, settings)


def _made(topic: Topic) -> _Result:
    result = _described(topic.name, len(topic.partitions), topic.settings)
    result.topic_id = topic.topic_id
    return result


def _described(name: str, partitions: int, settings: TopicSettings) -> _Result:
    configs = [
        _Setting(
            name=key,
            value=value,
            read_only=False,
            config_source=_SHIPPED_DEFAULT if is_default(key, value) else _SET_ON_TOPIC,
            is_sensitive=False,
        )
        for key, value in settings.values.items()
    ]
    return _Result(name=name, error_message=None, num_partitions=partitions, replication_factor=1, configs=configs)


def _refused(name: str, code: int, reason: str | None) -> _Result:
    return _Result(name=name, error_code=code, error_message=reason, configs=[])
