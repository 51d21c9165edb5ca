"""Random frames and options of a write, by seed, with what Kafka's sink must refuse among them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.spark.connector.option_sets import Options

PARTITIONS: Final = 3

_HEADERS: Final = ("array<struct<key: string, value: binary>>", "array<struct<Key: string, VALUE: binary>>")

Make = Callable[[random.Random, int], Any]


@dataclass(frozen=True)
class WritePlan:
    """A frame as rows with their schema, and the options; `{}` stands for the beginning of all names of topics.

    It is written by a batch, or `in_a_stream`; kwire may be asked to do it `exactly_once`.
    """

    columns: Sequence[str]
    ddl: str
    rows: Sequence[tuple[Any, ...]]
    options: Options
    tasks: int
    in_a_stream: bool
    exactly_once: bool

    def rows_for(self, prefix: str) -> list[tuple[Any, ...]]:
        """The rows with the names of their topics."""
        return [
            tuple(
                _named(prefix, each) if name == "topic" else each for name, each in zip(self.columns, row, strict=True)
            )
            for row in self.rows
        ]

    def options_for(self, prefix: str) -> Options:
        """The options with the name of the topic."""
        return {name: f"{prefix}{each}" if name == "topic" else each for name, each in self.options.items()}


def _named(prefix: str, topic: Any) -> Any:
    return f"{prefix}{topic}" if isinstance(topic, str) else topic


def draw_write(seed: int) -> WritePlan:
    """One write. Two of three draw nothing that could be refused."""
    dice = random.Random(f"write {seed}")
    faulty = dice.random() < 0.33
    columns: dict[str, tuple[str, Make]] = {"value": _bytes_column(dice, nulls=0.1)}
    if dice.random() < 0.7:
        columns["key"] = _bytes_column(dice, nulls=0.3)
    if dice.random() < 0.4:
        columns["partition"] = ("int", lambda dice, row: None if dice.random() < 0.3 else dice.randrange(PARTITIONS))
    if dice.random() < 0.5:
        columns["headers"] = (dice.choice(_HEADERS), _headers)
    if dice.random() < 0.2:
        columns["other"] = ("double", lambda dice, row: row / 3)
    options = _options(dice)
    if dice.random() < 0.5:
        columns["topic"] = ("string", lambda dice, row: dice.choice("ab"))
    if "topic" not in columns or dice.random() < 0.3:
        options["topic"] = "a"
    if faulty:
        _spoil(dice, columns, options)
    names = dice.sample(list(columns), len(columns))
    makers = [columns[name][1] for name in names]
    count = dice.choice((0, 1, 50, 400))
    rows = [tuple(make(dice, row) for make in makers) for row in range(count)]
    ddl = ", ".join(f"{name} {columns[name][0]}" for name in names)
    return WritePlan(names, ddl, rows, options, dice.randint(1, 3), dice.random() < 0.5, dice.random() < 0.5)


def _bytes_column(dice: random.Random, nulls: float) -> tuple[str, Make]:
    if dice.random() < 0.5:
        return "string", lambda dice, row: None if dice.random() < nulls else f"ü-{row}" * dice.randrange(4)
    return "binary", lambda dice, row: None if dice.random() < nulls else dice.randbytes(dice.choice((0, 3, 90)))


def _headers(dice: random.Random, row: int) -> list[tuple[str, bytes | None]] | None:
    if dice.random() < 0.3:
        return None
    return [(dice.choice(("a", "", "ü")), dice.choice((None, b"", b"\xff"))) for _ in range(dice.randrange(3))]


def _options(dice: random.Random) -> Options:
    options = {"kafka.compression.type": dice.choice(("none", "gzip", "snappy", "lz4", "zstd"))}
    if dice.random() < 0.3:
        options["kafka.batch.size"] = str(dice.choice((0, 200, 20_000)))
    if dice.random() < 0.3:
        options["kafka.acks"] = dice.choice(("all", "-1"))
    if dice.random() < 0.3:
        options["kafka.linger.ms"] = str(dice.choice((0, 5)))
    return options


def _spoil(dice: random.Random, columns: dict[str, tuple[str, Make]], options: Options) -> None:
    """Makes one mistake of those that a user makes."""

    def no_topic() -> None:
        columns.pop("topic", None)
        options.pop("topic", None)

    def null_topic() -> None:
        options.pop("topic", None)
        columns["topic"] = ("string", lambda dice, row: None if row == 0 else "a")

    def no_value() -> None:
        del columns["value"]
        columns["other"] = ("int", lambda dice, row: row)

    def value_of_numbers() -> None:
        columns["value"] = ("int", lambda dice, row: row)

    def key_of_numbers() -> None:
        columns["key"] = ("bigint", lambda dice, row: row)

    def topic_of_numbers() -> None:
        options.pop("topic", None)
        columns["topic"] = ("int", lambda dice, row: row)

    def partition_of_text() -> None:
        columns["partition"] = ("string", lambda dice, row: "1")

    def headers_of_text() -> None:
        columns["headers"] = ("string", lambda dice, row: "1")

    def negative_partition() -> None:
        columns["partition"] = ("int", lambda dice, row: -1)

    def far_partition() -> None:
        options["kafka.max.block.ms"] = "1000"
        columns["partition"] = ("int", lambda dice, row: PARTITIONS + 4)

    def too_large() -> None:
        options["kafka.max.request.size"] = "2000"
        columns["value"] = ("binary", lambda dice, row: dice.randbytes(3000))

    def serializer() -> None:
        options["kafka.value.serializer"] = "org.apache.kafka.common.serialization.IntegerSerializer"

    dice.choice(
        (
            *(no_topic, null_topic, no_value, value_of_numbers, key_of_numbers, topic_of_numbers),
            *(partition_of_text, headers_of_text, negative_partition, far_partition, too_large, serializer),
        )
    )()
