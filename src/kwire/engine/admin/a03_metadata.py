"""Metadata, as Admin describes topics with it: any broker answers. Never creates a topic. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.authorized_operations import names_in
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import AnyBroker
from kwire.engine.calls.refusals import all_of, where_missing
from kwire.engine.calls.rows import by_key
from kwire.engine.metadata.metadata import TopicInfo, metadata_request, topic_info
from kwire.errors import KafkaError, UnknownTopicError
from kwire.protocol import APIS
from kwire.schema.api_keys import METADATA
from kwire.schema.error_codes import NONE, TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.ports import Services

Topics = dict[str, TopicInfo]

_FIRST_VERSION_WITH_OPERATIONS = 8
_FIRST_VERSION_BY_ID = 12


class DescribeTopics(AdminApi[None, Topics]):
    """What the metadata says now; {name: TopicInfo}, of all topics for None.

    `operation`, such as "read": what the client is about to do with them. A topic on which it may not has the error
    TOPIC_AUTHORIZATION_FAILED, though it may be described; brokers say so from Kafka 2.3 on.
    """

    api_key = METADATA

    def __init__(self, names: Sequence[str] | None, *, operation: str | None = None) -> None:
        self.what = "Metadata of " + ("all topics" if names is None else ", ".join(names))
        self.lookup = AnyBroker()
        self._names = names
        self._operation = operation

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.MetadataRequest:
        request = metadata_request(version, self._names, allow_auto_create=False)
        if self._operation is not None and version >= _FIRST_VERSION_WITH_OPERATIONS:
            request.include_topic_authorized_operations = True
        return request

    @override
    def result(self, keys: Sequence[None], response: protocol.MetadataResponse, version: int) -> Mapping[None, Topics]:
        found = {row.name: self._info(row) for row in response.topics if row.name is not None}
        return {None: found if self._names is None else self._each(self._names, found)}

    def _info(self, row: protocol.MetadataResponse.MetadataResponseTopic) -> TopicInfo:
        info = _in_order(topic_info(row))
        allowed = names_in(row.topic_authorized_operations)
        # Who sees a topic may describe it: an answer without that is none.
        if self._operation is None or info.error or allowed is None or "describe" not in allowed:
            return info
        return info if self._operation in allowed else info._replace(error=TOPIC_AUTHORIZATION_FAILED)

    def _each(self, names: Sequence[str], found: Topics) -> Topics:
        """What was found of each; raises the error that tells of those that were not."""
        failed: dict[str, KafkaError] = {}
        for name in names:
            code = found[name].error if name in found else UNKNOWN_TOPIC_OR_PARTITION
            if code == UNKNOWN_TOPIC_OR_PARTITION:
                failed[name] = UnknownTopicError(f"topic {name!r} does not exist; asked: {self.asked}")
            elif code != NONE:
                aim = "" if self._operation is None else f", to {self._operation} it"
                failed[name] = errors.broker.error_for(code, f"topic {name!r}{aim}")
        if failed:
            raise all_of(failed, {name: found[name] for name in names if name not in failed})
        return {name: found[name] for name in names}

    @override
    def merge(self, results: Mapping[None, Topics]) -> Topics:
        return results[None]


class DescribeTopicsById(AdminApi["UUID", TopicInfo]):
    """What the metadata says now; {id: TopicInfo}."""

    api_key = METADATA
    tells_all = True

    def __init__(self, ids: Sequence[UUID]) -> None:
        self.what = f"Metadata of topics with the ids {', '.join(map(str, ids))}"
        self.lookup = AnyBroker()
        self.versions = range(_FIRST_VERSION_BY_ID, APIS[METADATA].versions[-1] + 1)
        self._ids = ids

    @override
    def split(self, core: Services) -> Sequence[UUID]:
        return self._ids

    @override
    def request(self, core: Services, keys: Sequence[UUID], version: int) -> protocol.MetadataRequest:
        row = protocol.MetadataRequest.MetadataRequestTopic
        return protocol.MetadataRequest(
            topics=[row(topic_id=key, name=None) for key in keys], allow_auto_topic_creation=False
        )

    @override
    def result(
        self, keys: Sequence[UUID], response: protocol.MetadataResponse, version: int
    ) -> Mapping[UUID, TopicInfo | KafkaError]:
        return by_key(((row.topic_id, self._one(_in_order(topic_info(row)))) for row in response.topics), self.what)

    def _one(self, info: TopicInfo) -> TopicInfo | KafkaError:
        if info.error == UNKNOWN_TOPIC_ID:
            return UnknownTopicError(f"no topic has the id {info.topic_id}; asked: {self.asked}")
        if info.error != NONE:
            return errors.broker.error_for(info.error, f"the topic with the id {info.topic_id}")
        return info

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return where_missing(error, METADATA, "topics can be described by their ids from Kafka 3.1 on")


def _in_order(info: TopicInfo) -> TopicInfo:
    """The topic with its partitions by number: brokers with ZooKeeper name them in any order."""
    return info._replace(partitions=dict(sorted(info.partitions.items())))
