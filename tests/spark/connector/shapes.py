"""What a job does with the rows of a read, by seed: columns in another order, filters, unions and joins with itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CONDITIONS: Final = (
    "partition % 2 = 0 AND key IS NOT NULL",
    "offset BETWEEN 5 AND 40",
    "timestamp > '2020-01-01' AND timestampType = 0",
    "length(value) > 30 OR topic LIKE '%4'",
)
_PLACE: Final = ("topic", "partition", "offset")


def draw_shape(seed: int) -> Callable[[DataFrame], DataFrame]:
    """Three of five times all rows as they are."""
    dice = random.Random(f"shape {seed}")
    if dice.random() < 0.6:
        return lambda frame: frame
    condition = dice.choice(_CONDITIONS)
    order = dice.random()
    shapes: tuple[Callable[[DataFrame], DataFrame], ...] = (
        lambda frame: frame.where(condition).select(_shuffled(frame.columns, order)),
        lambda frame: frame.where(condition).select(*_PLACE, "value"),
        lambda frame: frame.unionByName(frame.where(condition)).repartition(3),
        lambda frame: frame.alias("a").join(frame.where(condition).select(*_PLACE), list(_PLACE)),
        _counted,
        _first_of_each_partition,
    )
    return dice.choice(shapes)


def _shuffled(names: list[str], order: float) -> list[str]:
    return random.Random(order).sample(names, len(names))


def _counted(frame: DataFrame) -> DataFrame:
    return frame.groupBy("topic", "partition").agg({"value": "count", "offset": "max", "timestamp": "min"})


def _first_of_each_partition(frame: DataFrame) -> DataFrame:
    number = "row_number() OVER (PARTITION BY topic, partition ORDER BY offset) AS number"
    return frame.selectExpr("*", number).where("number <= 5").drop("number")
