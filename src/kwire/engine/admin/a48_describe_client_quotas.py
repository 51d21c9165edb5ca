"""DescribeClientQuotas: the quotas of the entities that a filter finds; any broker answers. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.access_api import AccessQuery, refusal
from kwire.engine.admin.quotas import NEEDS, Component, Entity, Limits, ordered
from kwire.engine.calls.rows import once_each
from kwire.schema.api_keys import DESCRIBE_CLIENT_QUOTAS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    ComponentData = protocol.DescribeClientQuotasRequest.ComponentData

Found = dict[Entity, Limits]
_EXACT, _DEFAULT, _ANY = range(3)


class DescribeClientQuotas(AccessQuery[Found]):
    """{entity: {quota: its value}}. With `strict` entities may have no other types besides."""

    api_key = DESCRIBE_CLIENT_QUOTAS
    needs = NEEDS

    def __init__(self, components: Sequence[Component], *, strict: bool) -> None:
        super().__init__()
        self._components = components
        self._strict = strict

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.DescribeClientQuotasRequest:
        rows = [_row(component) for component in self._components]
        return protocol.DescribeClientQuotasRequest(components=rows, strict=self._strict)

    @override
    def result(
        self, keys: Sequence[None], response: protocol.DescribeClientQuotasResponse, version: int
    ) -> Mapping[None, Found]:
        if response.error_code:
            raise refusal(response.error_code, self.what, response.error_message)
        rows = (
            (
                ordered((part.entity_type, part.entity_name) for part in row.entity),
                {limit.key: limit.value for limit in row.values},
            )
            for row in response.entries or ()
        )
        return {None: once_each(rows, self.what)}


def _row(component: Component) -> ComponentData:
    kind = _ANY if component.any_name else _DEFAULT if component.name is None else _EXACT
    return protocol.DescribeClientQuotasRequest.ComponentData(
        entity_type=component.type, match_type=kind, match=component.name
    )
