"""IncrementalAlterConfigs: a broker's configs are changed by that broker, all others by the controller.

Layer 3, no I/O. Brokers before Kafka 2.3 do not have it. To read all configs and write them back would undo what others
set in between, and lose the secrets, which nobody is told; so that is left to those who call `alter_configs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.admin.config_results import TYPE_CODES, ConfigResource
from kwire.engine.admin.configs_api import ConfigsApi
from kwire.engine.calls.refusals import where_missing
from kwire.errors import KafkaError
from kwire.schema.api_keys import INCREMENTAL_ALTER_CONFIGS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

OPERATIONS = {"set": 0, "delete": 1, "append": 2, "subtract": 3}

_INSTEAD = (
    "single configs can be changed from Kafka 2.3 on; AlterConfigs, which older brokers have, resets each config that "
    "it is not given"
)


class Change(NamedTuple):
    """What is done to one config; `value` is None for "delete" alone."""

    operation: str
    value: str | None


class IncrementalAlterConfigs(ConfigsApi[None]):
    """Makes these changes, by resource and name; the result is None."""

    api_key = INCREMENTAL_ALTER_CONFIGS

    def __init__(self, changes: Mapping[ConfigResource, Mapping[str, Change]], *, validate_only: bool) -> None:
        super().__init__(list(changes))
        self._changes = changes
        self._validate_only = validate_only

    @override
    def request(
        self, core: Services, keys: Sequence[ConfigResource], version: int
    ) -> protocol.IncrementalAlterConfigsRequest:
        made = protocol.IncrementalAlterConfigsRequest.AlterConfigsResource
        return protocol.IncrementalAlterConfigsRequest(
            resources=[
                made(
                    resource_type=TYPE_CODES[key.type],
                    resource_name=key.name,
                    configs=[
                        made.AlterableConfig(
                            name=name, config_operation=OPERATIONS[change.operation], value=change.value
                        )
                        for name, change in self._changes[key].items()
                    ],
                )
                for key in keys
            ],
            validate_only=self._validate_only,
        )

    @override
    def result(
        self, keys: Sequence[ConfigResource], response: protocol.IncrementalAlterConfigsResponse, version: int
    ) -> Mapping[ConfigResource, KafkaError | None]:
        return self.outcomes(response.responses)

    @override
    def merge(self, results: Mapping[ConfigResource, None]) -> None:
        return None

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return where_missing(error, INCREMENTAL_ALTER_CONFIGS, _INSTEAD)
