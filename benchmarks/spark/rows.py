"""The table of what is measured: each row's topic, contenders and targets. Start here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.spark import cases
from benchmarks.spark.cases import KAFKA, KWIRE, READY, RECEIVED, Work
from benchmarks.spark.session import Context
from benchmarks.spark.topics import AVRO_SCHEMA, ORDER_DDL, TOPICS

_ORDERS = {"decoder.schema": ORDER_DDL, "columns": "id,price,name"}
_AVRO = {"decoder.schema": AVRO_SCHEMA, "columns": "id,price,name"}
MAP_IN_ARROW, FROM_JSON, FROM_AVRO = "kafka + mapInArrow", "kafka + from_json", "kafka + from_avro"
TOPIC_READ, MADE_ROWS = "kwire, the topic", "the rows alone"


@dataclass(frozen=True)
class Row:
    """One kind of work. `targets`: (metric, times), against the contender `rival`; metrics are cpu, wall and broker.

    What ready batches cost, with the bytes of the topic where a row has that, is the least that anybody can.

    `records` stands for a topic's own number where that is 0 (what is written, what trickles).
    """

    name: str
    title: str
    topic: str
    contenders: Mapping[str, Work]
    rival: str = KAFKA
    targets: tuple[tuple[str, float], ...] = ()
    records: int = 0
    max_rounds: int | None = None
    warm_up: bool = True

    def count(self, *, quick: bool) -> int:
        """How many records the topic has for this row, in whole batches of every contender."""
        full = self.records or TOPICS[self.topic].records
        return full // 4 if quick and full >= 1_000_000 else full


def _read(topic: str, size: int = 100, **options: str) -> dict[str, Work]:
    return {
        KAFKA: cases.read(KAFKA, topic),
        KWIRE: cases.read(KWIRE, topic, **options),
        READY: cases.ready(size),
        RECEIVED: cases.ready(size, receive=topic),
    }


def _trickle(partitions: int, times: float, rounds: int) -> Row:
    topic = f"trickle-{partitions}"
    return Row(
        topic,
        f"micro-batch on a trickle of 2,000 records/s, {partitions:,} partitions",
        topic,
        {source: cases.trickle(source, topic, 2000) for source in (KAFKA, KWIRE)},
        targets=(("wall", times),),
        records=1,
        max_rounds=rounds,
        warm_up=False,
    )


def _folders(topic: str) -> str:
    """The folders of a topic's partitions on the one broker that there is, as a glob."""
    return f"{topic}-[0-9]*"


def _segments_of(topic: str) -> Work:
    def folder(context: Context) -> str:
        return str(Path(context.data_folder, _folders(topic)))

    return cases.segments(folder)


ROWS = (
    Row("plain", "read of 100 B, 7 columns", "plain-100", _read("plain-100"), targets=(("cpu", 2.2), ("wall", 2.5))),
    Row("1k", "read of 1 KB", "plain-1k", _read("plain-1k", 1000), targets=(("cpu", 1.8),)),
    Row("lz4", "read of 100 B, lz4", "lz4-100", _read("lz4-100"), targets=(("cpu", 2.0),)),
    Row(
        "sum",
        "sum(length(value)), columns=value",
        "plain-100",
        {
            KAFKA: cases.sum_of_lengths(KAFKA, "plain-100"),
            KWIRE: cases.sum_of_lengths(KWIRE, "plain-100", columns="value"),
            READY: cases.sum_of_ready(),
            RECEIVED: cases.sum_of_ready(receive="plain-100"),
        },
        targets=(("cpu", 5.0),),
    ),
    Row(
        "json",
        "three fields of JSON to columns",
        "json",
        {
            MAP_IN_ARROW: cases.json_in_map_in_arrow(KAFKA, "json"),
            FROM_JSON: cases.from_json(KAFKA, "json"),
            KWIRE: cases.read(KWIRE, "json", decoder="json", **_ORDERS),
            READY: cases.ready(columns=ORDER_DDL),
            RECEIVED: cases.ready(columns=ORDER_DDL, receive="json"),
        },
        rival=MAP_IN_ARROW,
        targets=(("cpu", 6.0),),
    ),
    Row(
        "avro",
        "three fields of Avro to columns",
        "avro",
        {
            FROM_AVRO: cases.from_avro(KAFKA, "avro"),
            KWIRE: cases.read(KWIRE, "avro", decoder="avro", **_AVRO),
            READY: cases.ready(columns=ORDER_DDL),
            RECEIVED: cases.ready(columns=ORDER_DDL, receive="avro"),
        },
        rival=FROM_AVRO,
        targets=(("cpu", 6.0),),
    ),
    Row(
        "skewed",
        "read of 100 B, 90 % of them in one of 12 partitions",
        "skewed",
        _read("skewed"),
        targets=(("cpu", 2.0), ("wall", 4.0)),
    ),
    Row(
        "many",
        "1,000 partitions x 1,000 rows",
        "many",
        _read("many"),
        targets=(("wall", 15.0),),
        max_rounds=2,
        warm_up=False,
    ),
    Row(
        "sparse",
        "100 partitions x 10 records",
        "sparse",
        {KAFKA: cases.read(KAFKA, "sparse"), KWIRE: cases.read(KWIRE, "sparse")},
        targets=(("wall", 130.0),),
        max_rounds=2,
        warm_up=False,
    ),
    _trickle(12, 1.0, 3),
    _trickle(100, 8.0, 2),
    _trickle(1000, 60.0, 1),
    Row(
        "slow",
        "micro-batch each second on a trickle of 1 record/s, 1,000 partitions",
        "trickle-1000",
        {source: cases.trickle(source, "trickle-1000", 1, every="1 second") for source in (KAFKA, KWIRE, READY)},
        targets=(("cpu", 1.5),),
        records=1,
        max_rounds=3,
        warm_up=False,
    ),
    Row(
        "stream",
        "a stream of 1 M records in 20 micro-batches",
        "stream",
        {source: cases.stream(source, "stream", 20) for source in (KAFKA, KWIRE, READY)},
    ),
    Row(
        "running",
        "the same once it runs, without its first 5 micro-batches",
        "stream",
        {source: cases.stream(source, "stream", 20, without=5) for source in (KAFKA, KWIRE, READY)},
        targets=(("cpu", 1.5),),
    ),
    Row(
        "write",
        "write of 100 B, acks all",
        "written",
        {
            KAFKA: cases.write(KAFKA, "written"),
            KWIRE: cases.write(KWIRE, "written"),
            READY: cases.write(READY, "written"),
            MADE_ROWS: cases.made_rows(),
        },
        targets=(("cpu", 1.5), ("wall", 1.5)),
        records=1_000_000,
    ),
    Row(
        "segments",
        "log segments on the local disk against the topic read by kwire",
        "plain-100",
        {TOPIC_READ: cases.read(KWIRE, "plain-100"), KWIRE: _segments_of("plain-100"), READY: cases.ready()},
        rival=TOPIC_READ,
        targets=(("cpu", 1.3),),
    ),
)
NAMES = [row.name for row in ROWS]
