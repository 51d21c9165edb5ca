"""Plans for values of many Avro schemas: one for each schema's id, made when it is met first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Final, Generic, TypeVar

from kwire._values import AvroPlan
from kwire.columns.avro_plan import AvroReader
from kwire.errors import ConfigError, UnknownSchemaError
from kwire.registry.avro_text import AvroText

Id = TypeVar("Id", bound=Hashable)

_MAX_PLANS: Final = 1000
"""Writers' schemas that are kept besides those of the present batch."""
_MAX_UNKNOWN: Final = 50
"""Ids that are looked for in vain: bytes that are no values have any number of them."""


class AvroPlans(Generic[Id]):
    """The plans of the ids met so far. An id without a schema that fits is refused, each time it comes."""

    def __init__(self, text_of: Callable[[Id], AvroText], reader: AvroReader) -> None:
        self.reader = reader
        self._text_of = text_of
        self._plans: dict[Id, AvroPlan] = {}
        self._unknown = 0

    def of(self, ids: Collection[Id]) -> dict[Id, AvroPlan]:
        if len(self._plans) > _MAX_PLANS:
            self._plans = {id_: plan for id_, plan in self._plans.items() if id_ in ids}
        for id_ in sorted(set(ids) - self._plans.keys(), key=str):
            self._plans[id_] = self._plan(id_)
        return self._plans

    def _plan(self, id_: Id) -> AvroPlan:
        reason = f"schema {id_} was not looked up: {_MAX_UNKNOWN} others of this task were not found"
        if self._unknown < _MAX_UNKNOWN:
            try:
                return self.reader.plan(self._text_of(id_).parse_framed())
            except UnknownSchemaError as fault:
                self._unknown += 1
                reason = str(fault)
            except ConfigError as fault:
                reason = f"schema {id_}: {fault}"
        return AvroPlan(self.reader.layout, [("refuse", -1, (), 0, reason, "")])
