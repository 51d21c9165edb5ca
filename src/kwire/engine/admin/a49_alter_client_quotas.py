"""AlterClientQuotas: sets and removes quotas of entities; asked of the controller. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.access_api import AccessChange, refusal
from kwire.engine.admin.quotas import NEEDS, Entity, ordered
from kwire.engine.calls.rows import by_key
from kwire.errors import KafkaError
from kwire.schema.api_keys import ALTER_CLIENT_QUOTAS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    EntryData = protocol.AlterClientQuotasRequest.EntryData

Changes = Mapping[str, float | None]


class AlterClientQuotas(AccessChange[Entity, None]):
    """Changes the quotas of each entity; one of None is removed."""

    api_key = ALTER_CLIENT_QUOTAS
    needs = NEEDS

    def __init__(self, changes: Mapping[Entity, Changes], *, validate_only: bool) -> None:
        super().__init__(list(changes))
        self._changes = changes
        self._validate_only = validate_only

    @override
    def request(self, core: Services, keys: Sequence[Entity], version: int) -> protocol.AlterClientQuotasRequest:
        return protocol.AlterClientQuotasRequest(
            entries=[_entry(entity, self._changes[entity]) for entity in keys], validate_only=self._validate_only
        )

    @override
    def result(
        self, keys: Sequence[Entity], response: protocol.AlterClientQuotasResponse, version: int
    ) -> Mapping[Entity, KafkaError | None]:
        rows = ((ordered((part.entity_type, part.entity_name) for part in row.entity), row) for row in response.entries)
        told = (
            (
                entity,
                refusal(row.error_code, f"AlterClientQuotas of {entity}", row.error_message)
                if row.error_code
                else None,
            )
            for entity, row in rows
        )
        return by_key(told, self.what)


def _entry(entity: Entity, changes: Changes) -> EntryData:
    made = protocol.AlterClientQuotasRequest.EntryData
    return made(
        entity=[made.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[
            made.OpData(key=name, value=0.0 if value is None else value, remove=value is None)
            for name, value in changes.items()
        ],
    )
