"""DescribeClientQuotas (key 48), versions 0-1: quotas of clients that match a filter (KIP-546).

    v1   flexible (KIP-482)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, f64, i8, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeClientQuotasRequest", "DescribeClientQuotasResponse"]


class DescribeClientQuotasRequest(Request, key=48, versions="0-1", flexible="1+"):
    """`match_type`: 0 that name, 1 the default, 2 any name."""

    class ComponentData(Struct):
        entity_type: str = string("0+", default="")
        match_type: int = i8("0+", default=0)
        match: str | None = string("0+", default="", nullable="0+")

    components: Sequence[ComponentData] = array(ComponentData, "0+", default=())
    strict: bool = bool_("0+", default=False)


class DescribeClientQuotasResponse(Response, key=48, versions="0-1", flexible="1+"):
    """The entities and their quotas; `entries` None after an error."""

    class EntryData(Struct):
        class EntityData(Struct):
            entity_type: str = string("0+", default="")
            entity_name: str | None = string("0+", default="", nullable="0+")

        class ValueData(Struct):
            key: str = string("0+", default="")
            value: float = f64("0+", default=0.0)

        entity: Sequence[EntityData] = array(EntityData, "0+", default=())
        values: Sequence[ValueData] = array(ValueData, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+")
    entries: Sequence[EntryData] | None = array(EntryData, "0+", default=(), nullable="0+")
