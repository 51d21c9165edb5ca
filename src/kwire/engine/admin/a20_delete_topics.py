"""DeleteTopics: asked of the controller, by names or by ids. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller
from kwire.engine.calls.refusals import each_of, where_missing
from kwire.errors import KafkaError
from kwire.protocol import APIS
from kwire.schema.api_keys import DELETE_TOPICS
from kwire.schema.error_codes import UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from typing import TypeAlias
    from uuid import UUID

    from kwire.engine.ports import Services

    Topic: TypeAlias = str | UUID

_FIRST_VERSION_WITH_IDS = 6


class DeleteTopics(AdminApi["Topic", None]):
    """Deletes the topics, all named or all by their ids; the result is None."""

    api_key = DELETE_TOPICS
    means_done = frozenset({UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID})
    tells_all = True

    def __init__(self, topics: Sequence[Topic]) -> None:
        self.what = f"DeleteTopics of {', '.join(map(str, topics))}"
        self.lookup = Controller()
        self._topics = topics
        self._by_id = bool(topics) and not isinstance(topics[0], str)
        if self._by_id:
            self.versions = range(_FIRST_VERSION_WITH_IDS, APIS[DELETE_TOPICS].versions[-1] + 1)

    @override
    def split(self, core: Services) -> Sequence[Topic]:
        return self._topics

    @override
    def request(self, core: Services, keys: Sequence[Topic], version: int) -> protocol.DeleteTopicsRequest:
        request = protocol.DeleteTopicsRequest(timeout_ms=self.patience_ms)
        if version < _FIRST_VERSION_WITH_IDS:
            request.topic_names = [str(name) for name in keys]
        else:
            request.topics = [_state(key) for key in keys]
        return request

    @override
    def result(
        self, keys: Sequence[Topic], response: protocol.DeleteTopicsResponse, version: int
    ) -> Mapping[Topic, KafkaError | None]:
        return each_of(
            ((self._key(row), row.error_code, row.error_message) for row in response.responses), "DeleteTopics"
        )

    def _key(self, row: protocol.DeleteTopicsResponse.DeletableTopicResult) -> Topic:
        return row.topic_id if self._by_id else row.name or ""

    @override
    def merge(self, results: Mapping[Topic, None]) -> None:
        return None

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        since = "by their ids from Kafka 2.8 on" if self._by_id else "from Kafka 0.10.1 on"
        return where_missing(error, DELETE_TOPICS, f"topics can be deleted {since}")


def _state(key: str | UUID) -> protocol.DeleteTopicsRequest.DeleteTopicState:
    made = protocol.DeleteTopicsRequest.DeleteTopicState
    return made(name=key) if isinstance(key, str) else made(name=None, topic_id=key)
