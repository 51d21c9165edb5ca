"""A leak of a known size is found and measured; noise, steps and sawteeth are none."""

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.each import each
from tests.soak.gauges import GAUGES, row
from tests.soak.judge import WINDOWS, Slope, slope_of
from tests.soak.report import plot, table

MINUTE = 60.0


def samples(seed: int, *, per_hour: float = 0.0, minutes: float = 5.0) -> tuple[list[float], list[float]]:
    """A level of 100 with noise of which nine tenths last until the next second, a sawtooth of 10 s, and a leak."""
    rng = random.Random(seed)
    moments = [float(second) for second in range(int(minutes * MINUTE))]
    values, lasting = [], 0.0
    for moment in moments:
        lasting = 0.9 * lasting + rng.gauss(0, 0.5)
        values.append(100 + lasting + moment % 10 / 5 + per_hour * moment / 3600)
    return moments, values


def test_noise_is_no_leak() -> None:
    found = [slope_of(*samples(seed)) for seed in range(200)]
    assert sum(slope.is_leak(0.0) for slope in found) <= 2
    assert not any(slope.is_leak(1.0) for slope in found)


def test_a_leak_of_a_known_size_is_found_and_measured() -> None:
    found = [slope_of(*samples(seed, per_hour=200)) for seed in range(100)]
    assert all(slope.is_leak(1.0) for slope in found)
    assert sum(abs(slope.per_hour - 200) < slope.margin for slope in found) >= 98


def test_a_longer_run_finds_smaller_leaks() -> None:
    assert not slope_of(*samples(1, per_hour=5, minutes=5)).is_leak(1.0)
    assert slope_of(*samples(1, per_hour=5, minutes=60)).is_leak(1.0)


def test_a_step_is_no_slope() -> None:
    """As a heap grows once: the line through it rises, and is unsure by as much."""
    moments, values = samples(3)
    stepped = [value + (1.5 if moment > 150 else 0) for moment, value in zip(moments, values, strict=True)]
    assert slope_of(moments, values).per_hour < slope_of(moments, stepped).per_hour
    assert not slope_of(moments, stepped).is_leak(1.5)


def test_what_falls_is_no_leak() -> None:
    assert not slope_of(*samples(4, per_hour=-500)).is_leak(0.0)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="23 samples are too few"):
        slope_of(list(range(23)), [0.0] * 23)


@each("gauge", ["Python blocks", "resident MB"])
def test_objects_that_are_kept_show_in_the_gauges(gauge: str) -> None:
    """In a process of its own: what other tests have freed would take up the lists."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        slope = process.submit(slope_of_a_leak, gauge).result()
    assert slope.is_leak(GAUGES[gauge])
    assert slope.per_hour / 3600 == pytest.approx({"Python blocks": 2_000.0, "resident MB": 1.0}[gauge], rel=0.3)


def slope_of_a_leak(gauge: str) -> Slope:
    """Each turn keeps 500 lists, of four blocks each, a megabyte in all."""
    kept: list[object] = []
    moments, values = [], []
    for turn in range(3 * WINDOWS):
        kept.append([[bytearray(b"x" * 2_000)] for _ in range(500)])
        moments.append(float(turn))
        values.append(row([])[gauge])
    return slope_of(moments, values)


def test_the_table_shows_level_slope_and_course() -> None:
    moments, values = samples(5, per_hour=500)
    slope, late = slope_of(moments, values), slope_of(*samples(6, per_hour=60))
    text = table({"it": slope}, {"it": late}, {"it": 1.0}, {"it": values})
    head, row = (line.split() for line in text.splitlines())
    assert head == ["gauge", "level", "low", "high", "per", "hour", "+/-", "last", "half", "+/-", "allowed"]
    assert row[4:8] == [f"{each:.1f}" for each in (slope.per_hour, slope.margin, late.per_hour, late.margin)]
    assert text.splitlines()[1].endswith("█  LEAK")
    assert plot([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert plot([2.0] * 100, 4) == "▁▁▁▁"
