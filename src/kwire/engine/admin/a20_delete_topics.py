"""DeleteTopics: asked of the controller. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller
from kwire.engine.calls.refusals import raise_all
from kwire.schema.api_keys import DELETE_TOPICS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

_FIRST_VERSION_WITH_STATES = 6


class DeleteTopics(AdminApi[str, None]):
    """Deletes the topics; the result is None. Fails with the error of the first topic that failed."""

    api_key = DELETE_TOPICS

    def __init__(self, names: Sequence[str]) -> None:
        self.what = f"DeleteTopics of {', '.join(names)}"
        self.lookup = Controller()
        self._names = names

    @override
    def split(self, core: Services) -> Sequence[str]:
        return self._names

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.DeleteTopicsRequest:
        request = protocol.DeleteTopicsRequest(timeout_ms=core.settings.request_timeout_ms)
        if version >= _FIRST_VERSION_WITH_STATES:
            request.topics = [protocol.DeleteTopicsRequest.DeleteTopicState(name=name) for name in keys]
        else:
            request.topic_names = list(keys)
        return request

    @override
    def result(self, keys: Sequence[str], response: protocol.DeleteTopicsResponse, version: int) -> Mapping[str, None]:
        raise_all(((row.name, row.error_code, row.error_message) for row in response.responses), "DeleteTopics")
        return dict.fromkeys(keys)

    @override
    def merge(self, results: Mapping[str, None]) -> None:
        return None
