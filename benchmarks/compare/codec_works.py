"""Works that need no sink: records and messages in process, imports, sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.compare.contenders.inputs import RECORDS
from benchmarks.compare.contenders.sweep import BATCHES, SIZES, batch_name, size_name
from benchmarks.compare.work import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, KIO, KWIRE, Work

_CODECS = (KWIRE, AIOKAFKA, KAFKA_PYTHON)
_WITH_KIO = (*_CODECS, KIO)
_NO_CLIFF = 1.5
_ROUNDS_OF_SWEEP = 3
_CLIENTS = (KWIRE, CONFLUENT, AIOKAFKA, KAFKA_PYTHON)


def codec_works() -> list[Work]:
    """The codec's rows."""
    return [*_reading(), *_writing(), *_messages(), *_threads(), *_sweep()]


def _reading() -> list[Work]:
    return [
        _codec("index", "decode to an index", most=20, who=(KWIRE,)),
        _codec("columns", "to 4 columns", aiokafka=25, kafka_python=100, most=30),
        _codec("columns-kept", "to all columns, batches kept", most=60),
        _codec("columns-view", "to 4 columns, binary_view", most=28),
        _codec("records", "to records", aiokafka=6, kafka_python=40, most=95, who=_WITH_KIO),
        _codec("fields", "to records, read 4 fields", aiokafka=3.3, kafka_python=20, most=180),
        _codec("handed-out", "to what consumers hand out, read 4 fields", aiokafka=5, kafka_python=25),
        _codec("values", "to values", aiokafka=13, kafka_python=80, most=45, who=_WITH_KIO),
        _codec("headers-unread", "3 headers each, not read", aiokafka=10, kafka_python=60),
        _codec("magic-1", "message set (magic 1) to records", aiokafka=6, kafka_python=40),
        _codec("values-gzip", "gzip to values", aiokafka=5),
        _codec("values-snappy", "snappy to values", aiokafka=3),
        _codec("values-lz4", "lz4 to values", aiokafka=6),
        _codec("values-zstd", "zstd to values", aiokafka=4.5),
        _codec("records-1k", "1 KiB to records", aiokafka=4),
        _codec("columns-1k", "1 KiB to 4 columns", most=115),
        _codec("columns-view-1k", "1 KiB to 4 columns, binary_view", who=(KWIRE,), beside={"columns-1k": 1.0}),
        _codec("small-batches", "10 records per batch, read 4 fields", most=230),
    ]


def _writing() -> list[Work]:
    return [
        _codec("append", "encode, an append each", aiokafka=2.5, kafka_python=20, most=95),
        _codec("encode-values", "encode a list of values", aiokafka=5, most=45),
        _codec("encode-arrow", "encode from Arrow", aiokafka=8, most=30),
        _gzip(
            "encode-gzip",
            "encode 1.1 MB with gzip",
            metric="cpu_ns",
            unit="ms",
            scale=RECORDS / 1e6,
            goals={AIOKAFKA: 4, KAFKA_PYTHON: 4},
        ),
        _gzip("encode-gzip-size", "size of what gzip made of it", metric="bytes_each", unit="kB", scale=RECORDS / 1e3),
    ]


def _messages() -> list[Work]:
    large = {"kio": 3, "kafka_python": 20, "aiokafka": 30}
    return [
        _message("metadata-decode", "Metadata, 1,000 partitions, decode", 120, **large),
        _message("metadata-encode", "Metadata, 1,000 partitions, encode", 70, **large),
        _message("fetch-decode", "Fetch, 100 partitions, decode", 8, kio=4),
        _message("produce-encode", "Produce of one record, encode", 1.0),
        Work(
            "crc32c",
            "CRC-32C of 1 MiB",
            "codec",
            "codec",
            dict.fromkeys((KWIRE, AIOKAFKA), 1),
            "cpu_ns",
            "GB/s",
            rate=2**20,
            most=2**20 / 15,
        ),
    ]


def _threads() -> list[Work]:
    return [
        Work(
            "two-threads",
            "to 4 columns by two threads: speed beside one's",
            "codec",
            "threads",
            dict.fromkeys((KWIRE, AIOKAFKA), 1),
            "share",
            "times; 2 is best",
            rate=1,
            most=1 / 1.7,
        )
    ]


def _sweep() -> list[Work]:
    """No cliff: a record ten times as large may cost fifteen times as much, one of a larger batch half more."""
    steps = []
    for shape, title in (("values", "values"), ("columns", "4 columns")):
        sizes = [(size_name(size, shape), f"records of {size:,} bytes, to {title}") for size in SIZES]
        batches = [(batch_name(count, shape), f"records per batch: {count:,}, to {title}") for count in BATCHES]
        steps += [*_steps(sizes, 10 * _NO_CLIFF), *_steps(batches, _NO_CLIFF)]
    return steps


def _steps(named: Sequence[tuple[str, str]], most_times: float) -> list[Work]:
    """Works of which each may cost so many times what the one before it does."""
    before = [{}, *({name: most_times} for name, _ in named)]
    return [
        Work(
            name,
            title,
            "sweep",
            "codec",
            dict.fromkeys((KWIRE, AIOKAFKA), 1),
            "cpu_ns",
            "ns",
            beside=limit,
            rounds=_ROUNDS_OF_SWEEP,
            quick=False,
        )
        for (name, title), limit in zip(named, before, strict=False)
    ]


def _codec(
    name: str,
    title: str,
    *,
    aiokafka: float | None = None,
    kafka_python: float | None = None,
    most: float | None = None,
    who: tuple[str, ...] = _CODECS,
    beside: Mapping[str, float] | None = None,
) -> Work:
    return Work(
        name,
        title,
        "codec",
        "codec",
        dict.fromkeys(who, 1),
        "cpu_ns",
        "ns",
        most=most,
        beside=beside or {},
        goals=_set({AIOKAFKA: aiokafka, KAFKA_PYTHON: kafka_python}),
    )


def _message(
    name: str,
    title: str,
    most: float,
    *,
    kio: float | None = None,
    kafka_python: float | None = None,
    aiokafka: float | None = None,
) -> Work:
    return Work(
        name,
        title,
        "codec",
        "codec",
        dict.fromkeys(_WITH_KIO, 1),
        "cpu_ns",
        "µs",
        1e-3,
        most=most,
        goals=_set({AIOKAFKA: aiokafka, KAFKA_PYTHON: kafka_python, KIO: kio}),
    )


def _set(goals: Mapping[str, float | None]) -> dict[str, float]:
    return {peer: goal for peer, goal in goals.items() if goal is not None}


def _gzip(name: str, title: str, **how: Any) -> Work:
    """Both figures of one run: speed says nothing without the size that it reached."""
    return Work(
        name, title, "codec", "codec", dict.fromkeys((KWIRE, AIOKAFKA, KAFKA_PYTHON), 1), run="encode-gzip", **how
    )


def package_works() -> list[Work]:
    """What it costs to have and to import a package."""
    statements = {
        KWIRE: "import kwire",
        CONFLUENT: "import confluent_kafka",
        AIOKAFKA: "import aiokafka",
        KAFKA_PYTHON: "import kafka",
    }
    codecs = {
        KWIRE: "import kwire.records",
        AIOKAFKA: "import aiokafka.record.memory_records",
        KAFKA_PYTHON: "import kafka.record.memory_records",
    }
    producers = {
        KWIRE: "from kwire import Producer",
        CONFLUENT: "from confluent_kafka import Producer",
        AIOKAFKA: "from aiokafka import AIOKafkaProducer",
        KAFKA_PYTHON: "from kafka import KafkaProducer",
    }
    once = dict.fromkeys(_CLIENTS, 1)
    return [
        _import("import-package", "import the package", statements, 3),
        _import("import-records", "import the codec", codecs, 10),
        _import("import-producer", "import the producer", producers, 30),
        Work("size-wheel", "wheel (its files, deflated)", "package", "sizes", once, "wheel_mb", "MB", most=1, rounds=1),
        Work("size-compiled", "compiled code in it", "package", "sizes", once, "compiled_mb", "MB", most=0.8, rounds=1),
    ]


def _import(name: str, title: str, statements: Mapping[str, str], most: float) -> Work:
    return Work(
        name,
        title,
        "package",
        "import",
        dict.fromkeys(statements, 1),
        "cpu_ms",
        "CPU ms over bare Python",
        options=statements,
        most=most,
    )
