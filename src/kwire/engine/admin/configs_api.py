"""What the APIs about configs have in common: whom a resource is asked of. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, TypeVar, override
from kwire.engine.admin.config_results import ConfigResource, resource_of
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller, named_broker
from kwire.engine.calls.refusals import each_of
from kwire.engine.common.request import ANY
from kwire.protocol import APIS

if TYPE_CHECKING:
    from typing import TypeAlias

    from kwire.engine.ports import Services

    Outcome: TypeAlias = (
        protocol.AlterConfigsResponse.AlterConfigsResourceResponse
        | protocol.DescribeConfigsResponse.DescribeConfigsResult
        | protocol.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    )

Result = TypeVar("Result")


class ConfigLookup(Controller[ConfigResource]):
    """The configs of a broker are asked of that broker, all others are read from any broker and changed by the
    controller. A broker that is not in fresh metadata is not waited for."""

    def __init__(self, *, reads: bool) -> None:
        self._reads = reads
        self._began = 0

    @override
    def begin(self, now: float) -> None:
        self._began = self.call.core.cluster.generation

    @override
    def find(self, key: ConfigResource, now: float) -> int | None:
        if key.node is None:
            return ANY if self._reads else super().find(key, now)
        return named_broker(self.call.core, key.node, newer_than=self._began, now=now)


class ConfigsApi(AdminApi[ConfigResource, Result]):
    """The keys are resources."""

    tells_all = True
    reads = False
    """Whether it has no effect."""

    def __init__(self, resources: Sequence[ConfigResource]) -> None:
        self.what = f"{APIS[self.api_key].name} of {', '.join(map(str, resources))}"
        self.lookup = ConfigLookup(reads=self.reads)
        self._resources = resources

    @override
    def split(self, core: Services) -> Sequence[ConfigResource]:
        return self._resources

    def outcomes(self, rows: Iterable[Outcome]) -> Mapping[ConfigResource, errors.KafkaError | None]:
        """Of each resource: its error, or None."""
        told = ((resource_of(row.resource_type, row.resource_name), row.error_code, row.error_message) for row in rows)
        return each_of(told, APIS[self.api_key].name)
