"""AlterConfigs: what a resource has set is replaced as a whole. Layer 3, no I/O.

A broker's configs are changed by that broker, all others by the controller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.config_results import TYPE_CODES, ConfigResource
from kwire.engine.admin.configs_api import ConfigsApi
from kwire.engine.calls.refusals import where_missing
from kwire.errors import KafkaError
from kwire.schema.api_keys import ALTER_CONFIGS

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class AlterConfigs(ConfigsApi[None]):
    """Sets these configs, by resource and name, and resets all others; the result is None."""

    api_key = ALTER_CONFIGS

    def __init__(self, configs: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool) -> None:
        super().__init__(list(configs))
        self._configs = configs
        self._validate_only = validate_only

    @override
    def request(self, core: Services, keys: Sequence[ConfigResource], version: int) -> protocol.AlterConfigsRequest:
        made = protocol.AlterConfigsRequest.AlterConfigsResource
        return protocol.AlterConfigsRequest(
            resources=[
                made(
                    resource_type=TYPE_CODES[key.type],
                    resource_name=key.name,
                    configs=[made.AlterableConfig(name=name, value=text) for name, text in self._configs[key].items()],
                )
                for key in keys
            ],
            validate_only=self._validate_only,
        )

    @override
    def result(
        self, keys: Sequence[ConfigResource], response: protocol.AlterConfigsResponse, version: int
    ) -> Mapping[ConfigResource, KafkaError | None]:
        return self.outcomes(response.responses)

    @override
    def merge(self, results: Mapping[ConfigResource, None]) -> None:
        return None

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return where_missing(error, ALTER_CONFIGS, "configs can be changed from Kafka 0.11 on")
