"""AlterClientQuotas (key 49), versions 0-1: sets and removes quotas of clients (KIP-546).

    v1   flexible (KIP-482)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, f64, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["AlterClientQuotasRequest", "AlterClientQuotasResponse"]


class AlterClientQuotasRequest(Request, key=49, versions="0-1", flexible="1+"):
    """The changes, by entity; a name of None is the default entity."""

    class EntryData(Struct):
        class EntityData(Struct):
            entity_type: str = string("0+", default="")
            entity_name: str | None = string("0+", default="", nullable="0+")

        class OpData(Struct):
            key: str = string("0+", default="")
            value: float = f64("0+", default=0.0)
            remove: bool = bool_("0+", default=False)

        entity: Sequence[EntityData] = array(EntityData, "0+", default=())
        ops: Sequence[OpData] = array(OpData, "0+", default=())

    entries: Sequence[EntryData] = array(EntryData, "0+", default=())
    validate_only: bool = bool_("0+", default=False)


class AlterClientQuotasResponse(Response, key=49, versions="0-1", flexible="1+"):
    """What became of each entity."""

    class EntryData(Struct):
        class EntityData(Struct):
            entity_type: str = string("0+", default="")
            entity_name: str | None = string("0+", default="", nullable="0+")

        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default="", nullable="0+")
        entity: Sequence[EntityData] = array(EntityData, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    entries: Sequence[EntryData] = array(EntryData, "0+", default=())
