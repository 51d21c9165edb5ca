"""Metadata, as Admin describes topics with it: any broker answers. Never creates a topic. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import AnyBroker
from kwire.engine.metadata.metadata import TopicInfo, metadata_request, topic_info
from kwire.errors import UnknownTopicError
from kwire.schema.api_keys import METADATA
from kwire.schema.error_codes import NONE, UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Topics = dict[str, TopicInfo]


class DescribeTopics(AdminApi[None, Topics]):
    """What the metadata says now; {name: TopicInfo}, of all topics for None."""

    api_key = METADATA

    def __init__(self, names: Sequence[str] | None) -> None:
        self.what = "Metadata of " + ("all topics" if names is None else ", ".join(names))
        self.lookup = AnyBroker()
        self._names = names

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.MetadataRequest:
        return metadata_request(version, self._names, allow_auto_create=False)

    @override
    def result(self, keys: Sequence[None], response: protocol.MetadataResponse, version: int) -> Mapping[None, Topics]:
        found = {row.name: topic_info(row) for row in response.topics if row.name is not None}
        if self._names is None:
            return {None: found}
        for name in self._names:
            code = found[name].error if name in found else UNKNOWN_TOPIC_OR_PARTITION
            if code == UNKNOWN_TOPIC_OR_PARTITION:
                raise UnknownTopicError(f"topic {name!r} does not exist; asked: {self.asked}")
            if code != NONE:
                raise errors.broker.error_for(code, f"topic {name!r}")
        return {None: {name: found[name] for name in self._names}}

    @override
    def merge(self, results: Mapping[None, Topics]) -> Topics:
        return results[None]
