"""DescribeConfigs: a broker's configs are asked of that broker, all others of any. Layer 3, no I/O.

Version 0 says whether a value is the default in place of where it is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.config_results import (
    TYPE_CODES,
    ConfigEntry,
    ConfigResource,
    ConfigSynonym,
    resource_of,
    source_of,
    value_type_of,
)
from kwire.engine.admin.configs_api import ConfigsApi
from kwire.engine.calls.refusals import where_missing
from kwire.errors import KafkaError
from kwire.protocol import APIS
from kwire.schema.api_keys import DESCRIBE_CONFIGS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult

Configs = dict[str, ConfigEntry]

_FIRST_VERSION_WITH_SYNONYMS = 1
_FIRST_VERSION_WITH_DOCUMENTATION = 3
_SET_BY_V0 = {"topic": "dynamic-topic-config", "broker": "static-broker-config"}


class DescribeConfigs(ConfigsApi[Configs]):
    """{resource: {name: ConfigEntry}}; `names` has those that are asked for, None for all."""

    api_key = DESCRIBE_CONFIGS
    reads = True

    def __init__(
        self,
        names: Mapping[ConfigResource, Sequence[str] | None],
        *,
        include_synonyms: bool,
        include_documentation: bool,
    ) -> None:
        super().__init__(list(names))
        self._names = names
        self._synonyms = include_synonyms
        self._documentation = include_documentation
        needed = _FIRST_VERSION_WITH_SYNONYMS if include_synonyms else 0
        needed = _FIRST_VERSION_WITH_DOCUMENTATION if include_documentation else needed
        self.versions = range(needed, APIS[DESCRIBE_CONFIGS].versions[-1] + 1)

    @override
    def request(self, core: Services, keys: Sequence[ConfigResource], version: int) -> protocol.DescribeConfigsRequest:
        made = protocol.DescribeConfigsRequest
        return made(
            resources=[
                made.DescribeConfigsResource(
                    resource_type=TYPE_CODES[key.type], resource_name=key.name, configuration_keys=self._names[key]
                )
                for key in keys
            ],
            include_synonyms=self._synonyms,
            include_documentation=self._documentation,
        )

    @override
    def result(
        self, keys: Sequence[ConfigResource], response: protocol.DescribeConfigsResponse, version: int
    ) -> Mapping[ConfigResource, Configs | KafkaError]:
        refused = self.outcomes(response.results)
        found = {resource_of(row.resource_type, row.resource_name): row.configs for row in response.results}
        return {
            resource: refused[resource] or {config.name: _entry(config, resource, version) for config in configs}
            for resource, configs in found.items()
        }

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return where_missing(error, DESCRIBE_CONFIGS, "configs can be asked for from Kafka 0.11 on")


def _entry(row: Row, resource: ConfigResource, version: int) -> ConfigEntry:
    return ConfigEntry(
        row.name,
        None if row.is_sensitive else row.value,
        _source(row, resource, version),
        value_type_of(row.config_type),
        row.read_only,
        row.is_sensitive,
        tuple(
            ConfigSynonym(each.name, None if row.is_sensitive else each.value, source_of(each.source))
            for each in row.synonyms
        ),
        row.documentation or None,
    )


def _source(row: Row, resource: ConfigResource, version: int) -> str:
    if version > 0:
        return source_of(row.config_source)
    return "default-config" if row.is_default else _SET_BY_V0.get(resource.type, "unknown")
