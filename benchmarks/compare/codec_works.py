"""Works that need no sink: records and messages in process, imports, sizes."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.compare.contenders.sweep import BATCHES, SIZES, batch_name, size_name
from benchmarks.compare.work import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, KIO, KWIRE, Work

_CODECS = (KWIRE, AIOKAFKA, KAFKA_PYTHON, KIO)
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
        _codec("records", "to records", aiokafka=6, kafka_python=40, most=95),
        _codec("fields", "to records, read 4 fields", aiokafka=3.3, kafka_python=20, most=180),
        _codec("handed-out", "to what consumers hand out, read 4 fields", aiokafka=5, kafka_python=25),
        _codec("values", "to values", aiokafka=13, kafka_python=80, most=45),
        _codec("headers-unread", "3 headers each, not read", aiokafka=10, kafka_python=60),
        _codec("magic-1", "message set (magic 1) to records", aiokafka=6, kafka_python=40),
        _codec("values-gzip", "gzip to values", aiokafka=5),
        _codec("values-snappy", "snappy to values", aiokafka=3),
        _codec("values-lz4", "lz4 to values", aiokafka=6),
        _codec("values-zstd", "zstd to values", aiokafka=4.5),
        _codec("records-1k", "1 KiB to records", aiokafka=4),
        _codec("columns-1k", "1 KiB to 4 columns", most=115),
        _codec("columns-view-1k", "1 KiB to 4 columns, binary_view", who=(KWIRE,)),
        _codec("small-batches", "10 records per batch, read 4 fields", most=230),
    ]


def _writing() -> list[Work]:
    return [
        _codec("append", "encode, an append each", aiokafka=2.5, kafka_python=20, most=95),
        _codec("encode-values", "encode a list of values", aiokafka=5, most=45),
        _codec("encode-arrow", "encode from Arrow", aiokafka=8, most=30),
        _codec("encode-gzip", "encode with gzip", aiokafka=4, kafka_python=4),
    ]


def _messages() -> list[Work]:
    return [
        _codec("metadata-decode", "Metadata, 1,000 partitions, decode", kio=3, kafka_python=20, aiokafka=30, most=120,
               micro=True),
        _codec("metadata-encode", "Metadata, 1,000 partitions, encode", most=70, micro=True),
        _codec("fetch-decode", "Fetch, 100 partitions, decode", kio=4, most=8, micro=True),
        _codec("produce-encode", "Produce of one record, encode", most=1.0, micro=True),
        _codec("crc32c", "CRC-32C of 1 MiB", most=2**20 / 15 / 1000, micro=True),
    ]


def _threads() -> list[Work]:
    return [Work("two-threads", "to 4 columns, two threads: time beside one thread's", "codec", "threads",
                 dict.fromkeys((KWIRE, AIOKAFKA), 1), "share", "of one's; 0.5 is best", most=1 / 1.7)]


def _sweep() -> list[Work]:
    two = (KWIRE, AIOKAFKA)
    shapes = (("values", "values"), ("columns", "4 columns"))
    return [
        *(_codec(size_name(size, shape), f"records of {size:,} bytes, to {title}", who=two, group="sweep")
          for shape, title in shapes for size in SIZES),
        *(_codec(batch_name(count, shape), f"records per batch: {count:,}, to {title}", who=two, group="sweep")
          for shape, title in shapes for count in BATCHES),
    ]


def _codec(name: str, title: str, *, aiokafka: float | None = None, kafka_python: float | None = None,
           kio: float | None = None, most: float | None = None, micro: bool = False, who: tuple[str, ...] = _CODECS,
           group: str = "codec") -> Work:
    goals = {AIOKAFKA: aiokafka, KAFKA_PYTHON: kafka_python, KIO: kio}
    return Work(
        name, title, group, "codec", dict.fromkeys(who, 1), "cpu_ns", "µs" if micro else "ns",
        1e-3 if micro else 1.0, goals={peer: goal for peer, goal in goals.items() if goal is not None}, most=most)


def package_works() -> list[Work]:
    """What it costs to have and to import a package."""
    statements = {KWIRE: "import kwire", CONFLUENT: "import confluent_kafka", AIOKAFKA: "import aiokafka",
                  KAFKA_PYTHON: "import kafka"}
    codecs = {KWIRE: "import kwire.records", AIOKAFKA: "import aiokafka.record.memory_records",
              KAFKA_PYTHON: "import kafka.record.memory_records"}
    producers = {KWIRE: "from kwire import Producer", CONFLUENT: "from confluent_kafka import Producer",
                 AIOKAFKA: "from aiokafka import AIOKafkaProducer", KAFKA_PYTHON: "from kafka import KafkaProducer"}
    once = dict.fromkeys(_CLIENTS, 1)
    return [
        _import("import-package", "import the package", statements, 3),
        _import("import-records", "import the codec", codecs, 10),
        _import("import-producer", "import the producer", producers, 30),
        Work("size-wheel", "wheel (its files, deflated)", "package", "sizes", once, "wheel_mb", "MB", most=1, rounds=1),
        Work("size-compiled", "compiled code in it", "package", "sizes", once, "compiled_mb", "MB", most=0.8, rounds=1),
    ]


def _import(name: str, title: str, statements: Mapping[str, str], most: float) -> Work:
    return Work(name, title, "package", "import", dict.fromkeys(statements, 1), "cpu_ms", "CPU ms over bare Python",
                options=statements, most=most)
