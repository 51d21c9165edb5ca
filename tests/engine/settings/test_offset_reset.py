"""Where reading begins: the rule, durations as Java reads them, and the lookup that comes of it."""

from __future__ import annotations

import pytest

from kwire.engine.settings.clients import ConsumerSettings
from kwire.engine.settings.offset_reset import duration_ms, offset_reset
from kwire.errors import ConfigError
from kwire.schema.api_keys import LIST_OFFSETS
from tests.engine.consumer.test_fetcher import T0, LogBroker, Reading

DURATIONS = {
    "PT1H": 3_600_000,
    "P1D": 86_400_000,
    "P2DT3H4M": 183_840_000,
    "PT20.345S": 20_345,
    "PT15M": 900_000,
    "pt36h": 129_600_000,
    "PT0S": 0,
    "PT1H0.5S": 3_600_500,
}
NOT_DURATIONS = (
    "",
    "P",
    "PT",
    "1H",
    "P1H",
    "PT1D",
    "P1M",
    "P1Y",
    "PT1S1H",
    "PT1.5H",
    "PT-1H",
    "-PT1H",
    "PT1H2",
    "P1DT",
)


@pytest.mark.parametrize(("text", "ms"), DURATIONS.items())
def test_durations_are_those_of_iso_8601(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", [*NOT_DURATIONS, "PT1.1.1S", "PTS", "PT.S", f"PT{'9' * 400}S"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        duration_ms(text)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("EARLIEST", "earliest"),
        ("smallest", "earliest"),
        ("end", "latest"),
        ("error", "none"),
        ("By_Duration:pt1h", "by_duration:PT1H"),
    ],
)
def test_spellings(given: str, meant: str) -> None:
    assert offset_reset(given) == meant
    assert ConsumerSettings(bootstrap_servers="a", auto_offset_reset=given).auto_offset_reset == meant


@pytest.mark.parametrize("given", ["soon", "by_duration:", "by_duration:1h", "by_duration:-PT1H", 5])
def test_what_cannot_be_meant_names_what_would_work(given: object) -> None:
    with pytest.raises(ConfigError, match=r"auto_offset_reset=.*'earliest', 'latest', 'none', or 'by_duration:'"):
        ConsumerSettings(bootstrap_servers="a", auto_offset_reset=given)


def looked_up(reading: Reading) -> list[int]:
    """The times of the ListOffsets requests."""
    return [
        row.timestamp
        for key, _, message in reading.broker.requests
        if key == LIST_OFFSETS
        for row in message.topics[0].partitions
    ]


def test_a_duration_is_looked_up_by_the_time_of_day() -> None:
    reading = Reading(LogBroker(), auto_offset_reset="by_duration:PT1H")
    reading.world.core.wall_clock = lambda: 1_700_000_000.0
    reading.broker.append(0, [b"v"])
    reading.assign(T0)
    state = reading.fetcher.subscription.state(T0)
    reading.world.run(lambda: state.position >= 0)
    assert looked_up(reading)[0] == 1_700_000_000_000 - 3_600_000


def test_an_offset_out_of_range_is_looked_up_by_the_time_of_then() -> None:
    reading = Reading(LogBroker(), auto_offset_reset="by_duration:PT1H")
    reading.broker.append(0, [b"v"])
    reading.assign(T0)
    state = reading.fetcher.subscription.state(T0)
    state.seek(1)
    reading.world.core.wall_clock = lambda: 1_700_000_777.0
    reading.broker.logs[0] = []
    reading.fetcher.pump(reading.world.now)
    reading.world.run(lambda: bool(looked_up(reading)))
    assert looked_up(reading) == [1_700_000_777_000 - 3_600_000]
