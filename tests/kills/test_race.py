"""The short form of `make kills`: a few kills, and each writer's records arrive once and in order."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

import pytest

from tests.kills.race import PER_SECOND, Race

pytestmark = [pytest.mark.kafka, pytest.mark.kafka_all, pytest.mark.wall_clock]

KILLS = 3
RECORDS = 20_000


@pytest.mark.timeout(400)
def test_each_record_of_kwire_arrives_once_and_it_goes_on_after_each_kill(tmp_path: Path) -> None:
    kwire, *others = Race(tmp_path, seed=1).run(KILLS, RECORDS)
    assert kwire.faults == {}
    assert kwire.acknowledged >= max(RECORDS, PER_SECOND)
    assert len(kwire.of_led) >= KILLS
    assert all(map(isfinite, kwire.of_led + kwire.of_others))
    assert [result.writer for result in others] == ["librdkafka", "Java"]
