"""CreateTopics (key 19).

Behaviour
    Each topic is made or refused by itself, at once: timeout_ms has nothing to wait for. Partition n is led by the n-th
    living node, and the nodes after it follow; or assignments name the replicas, the leader first.

Version notes
    v1   validate_only checks and makes nothing; error_message
    v4   -1 partitions and replication factor mean the broker's defaults (KIP-464); below it they are refused
    v5   the answer has partitions, replication factor and all settings of the new topic (KIP-525)
    v7   topic_id
"""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import CreateTopicsRequest, CreateTopicsResponse
from kwire.schema.fields import NO_UUID
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, CREATE, DESCRIBE_CONFIGS, TOPIC
from kwire.testing.state.configs import ON_TOPIC, SHIPPED
from kwire.testing.state.partition import Topic

_Asked = CreateTopicsRequest.CreatableTopic
_Result = CreateTopicsResponse.CreatableTopicResult
_Setting = CreateTopicsResponse.CreatableTopicResult.CreatableTopicConfigs

_DEFAULTS_SINCE = 4


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
        context.check_controller()
        if not context.allows(CREATE, CLUSTER):
            context.require(CREATE, TOPIC, asked.name)
        validate_only = context.request.validate_only and context.version >= 1
        make = context.cluster.plan_topic if validate_only else context.cluster.create_topic
        settings = {setting.name: setting.value for setting in asked.configs}
        if asked.assignments:
            assignment = _assignment(asked)
            made = make(asked.name, len(assignment), settings, assignment=assignment)
        else:
            made = make(
                asked.name, _partition_count(context, asked), settings, replication_factor=_factor(context, asked)
            )
        result = _described(made, NO_UUID if validate_only else made.topic_id)
        if not context.allows(DESCRIBE_CONFIGS, TOPIC, asked.name):
            _hide(result)
        return result
    except BrokerError as refused:
        return _refused(asked.name, refused.code, refused.context)


def _partition_count(context: RequestContext[CreateTopicsRequest], asked: _Asked) -> int:
    if asked.num_partitions == -1 and context.version >= _DEFAULTS_SINCE:
        return context.cluster.num_partitions
    return asked.num_partitions


def _factor(context: RequestContext[CreateTopicsRequest], asked: _Asked) -> int:
    if asked.replication_factor == -1 and context.version < _DEFAULTS_SINCE:
        raise codes.INVALID_REPLICATION_FACTOR("-1 is the default only from version 4 on")
    return asked.replication_factor


def _assignment(asked: _Asked) -> list[list[int]]:
    if asked.num_partitions != -1 or asked.replication_factor != -1:
        raise codes.INVALID_REQUEST("with assignments num_partitions and replication_factor have to be -1")
    if sorted(given.partition_index for given in asked.assignments) != list(range(len(asked.assignments))):
        raise codes.INVALID_REPLICA_ASSIGNMENT("partitions have to be 0, 1, 2 and so on, once each")
    if len({len(given.broker_ids) for given in asked.assignments}) > 1:
        raise codes.INVALID_REPLICA_ASSIGNMENT("all partitions must have the same number of replicas")
    by_index = sorted(asked.assignments, key=lambda given: given.partition_index)
    return [list(given.broker_ids) for given in by_index]


def _described(topic: Topic, topic_id: UUID) -> _Result:
    configs = [
        _Setting(
            name=key,
            value=value,
            read_only=False,
            config_source=ON_TOPIC if key in topic.settings.given else SHIPPED,
            is_sensitive=False,
        )
        for key, value in topic.settings.values.items()
    ]
    return _Result(
        name=topic.name,
        topic_id=topic_id,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=len(topic.partitions[0].replicas),
        configs=configs,
    )


def _hide(result: _Result) -> None:
    """Says nothing of how a topic was made to who may not know."""
    result.topic_config_error_code = codes.TOPIC_AUTHORIZATION_FAILED.code
    result.num_partitions, result.replication_factor, result.configs = -1, -1, []


def _refused(name: str, code: int, reason: str | None) -> _Result:
    return _Result(name=name, error_code=code, error_message=reason, configs=[])
