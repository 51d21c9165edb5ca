"""ListConfigResources: what has configs of its own, asked of any broker. Layer 3, no I/O.

Version 0 lists client metrics alone, and says no types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.config_results import TYPE_CODES, ConfigResource, resource_of
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import AnyBroker
from kwire.engine.calls.refusals import where_missing
from kwire.errors import KafkaError
from kwire.protocol import APIS
from kwire.schema.api_keys import LIST_CONFIG_RESOURCES

if TYPE_CHECKING:
    from kwire.engine.ports import Services

_FIRST_VERSION_WITH_TYPES = 1


class ListConfigResources(AdminApi[None, list[ConfigResource]]):
    """The resources of these types, of all for none, sorted."""

    api_key = LIST_CONFIG_RESOURCES
    retries_codes = True

    def __init__(self, types: Sequence[str]) -> None:
        self.what = f"ListConfigResources of {', '.join(types) or 'all types'}"
        self.lookup = AnyBroker()
        self._types = types
        self._of_metrics_alone = list(types) == ["client-metrics"]
        needed = 0 if self._of_metrics_alone else _FIRST_VERSION_WITH_TYPES
        self.versions = range(needed, APIS[LIST_CONFIG_RESOURCES].versions[-1] + 1)

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.ListConfigResourcesRequest:
        if version < _FIRST_VERSION_WITH_TYPES:
            return protocol.ListConfigResourcesRequest()
        return protocol.ListConfigResourcesRequest(resource_types=[TYPE_CODES[name] for name in self._types])

    @override
    def result(
        self, keys: Sequence[None], response: protocol.ListConfigResourcesResponse, version: int
    ) -> Mapping[None, list[ConfigResource]]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, self.what)
        return {None: sorted(resource_of(row.resource_type, row.resource_name) for row in response.config_resources)}

    @override
    def merge(self, results: Mapping[None, list[ConfigResource]]) -> list[ConfigResource]:
        return results[None]

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        since = (
            "client metrics are there from Kafka 3.7 on"
            if self._of_metrics_alone
            else "types other than client-metrics are listed from Kafka 4.1 on; of topics, groups and brokers older "
            "ones have lists of their own"
        )
        return where_missing(error, LIST_CONFIG_RESOURCES, since)
