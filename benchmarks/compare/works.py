"""What is measured: each work with its contenders, how much each of them does, and the ratio to reach.

Slower contenders handle fewer records of the same kind; costs are per record, so they compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KWIRE = "kwire"
CONFLUENT = "confluent-kafka"
AIOKAFKA = "aiokafka"
KAFKA_PYTHON = "kafka-python"
KIO = "kio"
RAW = "raw-socket"
BARE = "bare"

CONTENDERS = (KWIRE, CONFLUENT, AIOKAFKA, KAFKA_PYTHON, KIO, RAW, BARE)


@dataclass(frozen=True)
class Work:
    """One row of the tables.

    `counts`: contender -> records (or exchanges) of a full run. `metric`: which of the measured figures is compared,
    less being better; `unit` says what it is and `scale` brings it there. `goals`: peer -> how many times kwire's cost
    its cost is to be at least. `most`: the most that kwire may cost, where a figure is the goal.
    """

    name: str
    title: str
    group: str
    verb: str
    counts: Mapping[str, int]
    metric: str = "cpu_s_per_million"
    unit: str = "CPU s per million"
    scale: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)
    goals: Mapping[str, float] = field(default_factory=dict)
    most: float | None = None
    sink: str = ""
    release: str = ""
    loaded: bool = False


_SENT = {KWIRE: 600_000, CONFLUENT: 300_000, AIOKAFKA: 30_000, KAFKA_PYTHON: 12_000}
_SENT_LARGE = {KWIRE: 100_000, CONFLUENT: 80_000, AIOKAFKA: 15_000, KAFKA_PYTHON: 8_000}
_SENT_SPREAD = {KWIRE: 400_000, CONFLUENT: 200_000, AIOKAFKA: 10_000, KAFKA_PYTHON: 4_000}
_READ = {KWIRE: 600_000, CONFLUENT: 600_000, AIOKAFKA: 150_000, KAFKA_PYTHON: 50_000}
_READ_LARGE = {KWIRE: 100_000, CONFLUENT: 100_000, AIOKAFKA: 50_000, KAFKA_PYTHON: 20_000}
_EXCHANGED = {KWIRE: 3_000, RAW: 3_000, CONFLUENT: 3_000, AIOKAFKA: 1_000, KAFKA_PYTHON: 500}
_COMPUTED = {KWIRE: 100, CONFLUENT: 100, KAFKA_PYTHON: 100}


def _client_works() -> list[Work]:
    no_peer_in_c = {KWIRE: _SENT[KWIRE], CONFLUENT: _SENT[CONFLUENT]}
    return [
        Work("produce-fates", "produce, each fate known", "produce", "produce", _SENT, options={"fates": True},
             goals={CONFLUENT: 6}, most=0.30),
        Work("produce", "produce, fates not asked", "produce", "produce", no_peer_in_c, goals={CONFLUENT: 4}),
        Work("produce-1", "produce to 1 partition, named", "produce", "produce", _SENT_SPREAD,
             options={"spread": True, "partitions": 1}),
        Work("produce-32", "produce to 32 partitions in turn", "produce", "produce", _SENT_SPREAD,
             options={"spread": True}),
        Work("produce-512", "produce to 512 partitions in turn", "produce", "produce", _SENT_SPREAD,
             options={"spread": True, "partitions": 512}),
        Work("produce-1k", "produce 1 KiB", "produce", "produce", _SENT_LARGE, options={"size": 1024},
             goals={CONFLUENT: 2}),
        Work("produce-lz4", "produce, lz4", "produce", "produce", _SENT, options={"compression": "lz4"},
             goals={CONFLUENT: 3}),
        Work("produce-old", "produce message sets (0.10)", "produce", "produce",
             {KWIRE: 200_000, CONFLUENT: 200_000, KAFKA_PYTHON: 12_000}, goals={CONFLUENT: 3}, sink="embedded",
             release="0.10.0.1"),
        *_consume_works(),
        *_latency_works(),
    ]


def _consume_works() -> list[Work]:
    two = {name: _READ[name] for name in (KWIRE, CONFLUENT)}
    return [
        Work("consume", "consume to records", "consume", "consume", _READ, goals={CONFLUENT: 4.5}, most=0.21,
             loaded=True),
        Work("consume-fields", "consume, read 4 fields of each", "consume", "consume", two,
             options={"shape": "fields"}, loaded=True),
        Work("consume-values", "consume to values", "consume", "consume", _READ, options={"shape": "values"},
             goals={CONFLUENT: 5.5}, most=0.17, loaded=True),
        Work("consume-columns", "consume to columns (confluent: to messages)", "consume", "consume", _READ,
             options={"shape": "columns"}, goals={CONFLUENT: 9}, most=0.10, loaded=True),
        Work("consume-1k", "consume 1 KiB to values", "consume", "consume", _READ_LARGE,
             options={"shape": "values", "size": 1024}, goals={CONFLUENT: 2.3}, loaded=True),
    ]


def _latency_works() -> list[Work]:
    micro = {"unit": "µs", "options": {"linger_ms": 0}}
    return [
        Work("one-p50", "one record in flight, p50", "latency", "exchange_one", _EXCHANGED, "p50_us",
             goals={RAW: 1 / 1.5}, **micro),
        Work("one-p99", "one record in flight, p99", "latency", "exchange_one", _EXCHANGED, "p99_us",
             goals={RAW: 1 / 2}, **micro),
        Work("wire-linger-0", "send() to the wire, caller computes, linger 0: p99", "latency", "send_and_compute",
             _COMPUTED, "p99_us", most=200, **micro),
        Work("wire-linger-5", "send() to the wire, caller computes, linger 5 ms: p99", "latency", "send_and_compute",
             _COMPUTED, "p99_us", "µs", options={"linger_ms": 5}, most=7000),
    ]


def _memory_works() -> list[Work]:
    return [
        Work("memory-produce", "resident memory added by produce, fates not asked", "memory", "produce",
             {KWIRE: 1_000_000, CONFLUENT: 1_000_000}, "added_mib", "MiB", most=20),
        Work("memory-consume", "resident memory added by consume to records", "memory", "consume",
             {KWIRE: 600_000, CONFLUENT: 600_000}, "added_mib", "MiB", loaded=True),
    ]


def _import_works() -> list[Work]:
    once = dict.fromkeys((KWIRE, CONFLUENT, AIOKAFKA, KAFKA_PYTHON), 1)
    return [
        Work("import-package", "import the package", "import", "import", once, "cpu_ms", "CPU ms over bare Python",
             options={KWIRE: "import kwire", CONFLUENT: "import confluent_kafka", AIOKAFKA: "import aiokafka",
                      KAFKA_PYTHON: "import kafka"}, most=3),
        Work("import-records", "import the codec", "import", "import", {KWIRE: 1, AIOKAFKA: 1, KAFKA_PYTHON: 1},
             "cpu_ms", "CPU ms over bare Python",
             options={KWIRE: "import kwire.records", AIOKAFKA: "import aiokafka.record.memory_records",
                      KAFKA_PYTHON: "import kafka.record.memory_records"}, most=10),
        Work("import-producer", "import the producer", "import", "import", once, "cpu_ms", "CPU ms over bare Python",
             options={KWIRE: "from kwire import Producer", CONFLUENT: "from confluent_kafka import Producer",
                      AIOKAFKA: "from aiokafka import AIOKafkaProducer",
                      KAFKA_PYTHON: "from kafka import KafkaProducer"}, most=30),
    ]


def _codec(name: str, title: str, *, aiokafka: float | None = None, kafka_python: float | None = None,
           kio: float | None = None, most: float | None = None, micro: bool = False, peers: bool = True) -> Work:
    goals = {AIOKAFKA: aiokafka, KAFKA_PYTHON: kafka_python, KIO: kio}
    names = (KWIRE, AIOKAFKA, KAFKA_PYTHON, KIO) if peers else (KWIRE,)
    return Work(
        name, title, "codec", "codec", dict.fromkeys(names, 1), "cpu_ns", "µs" if micro else "ns",
        1e-3 if micro else 1.0, goals={peer: goal for peer, goal in goals.items() if goal is not None}, most=most)


def _codec_works() -> list[Work]:
    return [
        _codec("index", "decode to an index", most=20, peers=False),
        _codec("columns", "to 4 columns", aiokafka=25, kafka_python=100, most=30),
        _codec("columns-all", "to all columns", most=60),
        _codec("columns-view", "to 4 columns, binary_view", most=28),
        _codec("records", "to records", aiokafka=6, kafka_python=40, most=95),
        _codec("fields", "to records, read 4 fields", aiokafka=3.3, kafka_python=20, most=180),
        _codec("values", "to values", aiokafka=13, kafka_python=80, most=45),
        _codec("headers-unread", "3 headers each, not read", aiokafka=10, kafka_python=60),
        _codec("magic-1", "message set (magic 1) to records", aiokafka=6, kafka_python=40),
        _codec("values-gzip", "gzip to values", aiokafka=5),
        _codec("values-snappy", "snappy to values", aiokafka=3),
        _codec("values-lz4", "lz4 to values", aiokafka=6),
        _codec("values-zstd", "zstd to values", aiokafka=4.5),
        _codec("records-1k", "1 KiB to records", aiokafka=4),
        _codec("columns-1k", "1 KiB to 4 columns", most=115),
        _codec("small-batches", "10 records per batch, read 4 fields", most=230),
        _codec("append", "encode, an append each", aiokafka=2.5, kafka_python=20, most=95),
        _codec("encode-values", "encode a list of values", aiokafka=5, most=45),
        _codec("encode-arrow", "encode from Arrow", aiokafka=8, most=30),
        _codec("encode-gzip", "encode with gzip", aiokafka=4, kafka_python=4),
        _codec("metadata-decode", "Metadata, 1,000 partitions, decode", kio=3, kafka_python=20, aiokafka=30, most=120,
               micro=True),
        _codec("metadata-encode", "Metadata, 1,000 partitions, encode", most=70, micro=True),
        _codec("fetch-decode", "Fetch, 100 partitions, decode", kio=4, most=8, micro=True),
        _codec("produce-encode", "Produce of one record, encode", most=1.0, micro=True),
        _codec("crc32c", "CRC-32C of 1 MiB", most=2**20 / 15 / 1000, micro=True),
    ]


WORKS: tuple[Work, ...] = (*_codec_works(), *_client_works(), *_memory_works(), *_import_works())
GROUPS = tuple(dict.fromkeys(work.group for work in WORKS))


def chosen(names: list[str]) -> list[Work]:
    """The works of these names or groups, all if none is given. Raises ValueError for a name that is neither."""
    known = {*GROUPS, *(work.name for work in WORKS)}
    for name in names:
        if name not in known:
            raise ValueError(f"{name!r} is no work and no group; --list shows them")
    return [work for work in WORKS if not names or work.name in names or work.group in names]
