"""The plans of many schemas, within bounds."""

from __future__ import annotations

import pytest

from kwire.columns.avro_plan import AvroReader
from kwire.columns.avro_schema import parse_avro_schema
from kwire.errors import UnknownSchemaError
from kwire.registry import avro_plans
from kwire.registry.avro_plans import AvroPlans
from kwire.registry.avro_text import AvroText

RECORD = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'


def test_plans_and_ids_looked_for_in_vain_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_plans, "_MAX_PLANS", 3)
    monkeypatch.setattr(avro_plans, "_MAX_UNKNOWN", 2)
    asked: list[int] = []

    def text_of(id_: int) -> AvroText:
        asked.append(id_)
        if id_ >= 100:
            raise UnknownSchemaError(f"there is no schema {id_}")
        return AvroText(RECORD)

    plans = AvroPlans(text_of, AvroReader(parse_avro_schema(RECORD)))
    for id_ in range(10):
        assert len(plans.of([id_])) <= 4
    plans.of(range(100, 110))
    assert [id_ for id_ in asked if id_ >= 100] == [100, 101]
