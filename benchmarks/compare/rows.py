"""The rows of the tables: what is measured, for which contenders, and which targets it has to reach.

Adding a row means adding a line here; what it does stands in `contenders/`, in the function that its `task` names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

KWIRE = "kwire"
CONFLUENT = "confluent-kafka"
AIOKAFKA = "aiokafka"
KAFKA_PYTHON = "kafka-python"
KIO = "kio"
RAW_SOCKET = "raw-socket"
OPENSSL = "openssl"
BARE = "bare"
CONTENDERS = (KWIRE, CONFLUENT, AIOKAFKA, KAFKA_PYTHON, KIO, RAW_SOCKET, OPENSSL, BARE)

RECORDS = 10_000
"""How many records the codec's batch has."""
RECORD_SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
BATCH_COUNTS = (1, 10, 100, 1_000, 10_000, 50_000)


@dataclass(frozen=True)
class Row:
    """One row of the tables.

    Measured: each contender of `records` does `task` with `options` on that many records (or exchanges) in a full run.
    `metric` is the figure that is compared, a cost; times `scale` it is in `unit`. With `rate`, the tables show `rate`
    divided by the cost. `same_run_as` names the row whose runs also yield this figure. A `release` is that of the
    embedded broker it runs against; a `broker` is the kind that it needs. `max_rounds` limits the rounds where more
    would say nothing new; a quick run has the `quick` rows only.

    Targets: `peer_min`, peer -> its cost is at least so many times kwire's; `peer_max`, peer -> kwire's cost is at most
    so many times the peer's; `row_max`, another row -> kwire's cost is at most so many times its own there; `max_cost`,
    what kwire may cost.

    Nobody can cost less than the contenders of `floor` together, each in the row that it names, "" for this one;
    `reasoned` is the heading of benchmarks/README.md under which it stands why, or why there is no such figure.
    """

    name: str
    title: str
    group: str
    task: str
    records: Mapping[str, int]
    metric: str = "cpu_s_per_million"
    unit: str = "CPU s per million"
    scale: float = 1.0
    rate: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    peer_min: Mapping[str, float] = field(default_factory=dict)
    peer_max: Mapping[str, float] = field(default_factory=dict)
    row_max: Mapping[str, float] = field(default_factory=dict)
    max_cost: float | None = None
    floor: Mapping[str, str] = field(default_factory=dict)
    reasoned: str = ""
    same_run_as: str = ""
    release: str = ""
    broker: str = ""
    max_rounds: int | None = None
    quick: bool = True

    @property
    def run(self) -> str:
        """The name of the row whose runs yield its figure."""
        return self.same_run_as or self.name

    def shown(self, cost: float) -> float:
        """The cost as the tables show it."""
        return self.rate / cost if self.rate else cost


def size_row(size: int, output: str) -> str:
    """The name of the row for records of that many bytes."""
    return f"size-{size}-{output}"


def batch_row(count: int, output: str) -> str:
    """The name of the row for batches of that many records."""
    return f"batch-{count}-{output}"


_PEER_KEYWORDS = {"confluent": CONFLUENT, "aiokafka": AIOKAFKA, "kafka_python": KAFKA_PYTHON, "kio": KIO}


def _row(kind: Mapping[str, Any], name: str, title: str, **how: Any) -> Row:
    """A row of that kind. A keyword is a field of Row, a peer (its `peer_min`), or else one of the `options`."""
    settings: dict[str, Any] = {
        **kind,
        "peer_min": {**kind.get("peer_min", {})},
        "options": {**kind.get("options", {})},
    }
    for keyword, value in how.items():
        if keyword in _PEER_KEYWORDS:
            settings["peer_min"][_PEER_KEYWORDS[keyword]] = value
        elif keyword in Row.__dataclass_fields__:
            settings[keyword] = value
        else:
            settings["options"][keyword] = value
    return Row(name, title, **settings)


def _once(*contenders: str) -> dict[str, int]:
    return dict.fromkeys(contenders, 1)


# How much each contender does in a full run

_WITH_KIO = _once(KWIRE, AIOKAFKA, KAFKA_PYTHON, KIO)
_WITH_AIOKAFKA = _once(KWIRE, AIOKAFKA)
_WITH_BARE = _once(KWIRE, AIOKAFKA, KAFKA_PYTHON, BARE)
_SENT = {KWIRE: 400_000, CONFLUENT: 200_000, AIOKAFKA: 20_000, KAFKA_PYTHON: 6_000}
_RAW_SENT = {**_SENT, RAW_SOCKET: 400_000}
_SENT_1K = {KWIRE: 80_000, CONFLUENT: 60_000, AIOKAFKA: 8_000, KAFKA_PYTHON: 4_000}
_RAW_SENT_1K = {**_SENT_1K, RAW_SOCKET: 80_000}
_SENT_10K = {KWIRE: 16_000, CONFLUENT: 12_000, AIOKAFKA: 3_000, RAW_SOCKET: 16_000}
_SENT_TO_NAMED = {KWIRE: 400_000, CONFLUENT: 150_000, AIOKAFKA: 8_000, KAFKA_PYTHON: 3_000}
_SENT_TO_MANY = {KWIRE: 400_000, CONFLUENT: 150_000}
_SENT_SETS = {KWIRE: 50_000, CONFLUENT: 50_000, KAFKA_PYTHON: 4_000}
_SENT_IN_C = {KWIRE: 400_000, CONFLUENT: 200_000}
_READ = {KWIRE: 600_000, CONFLUENT: 300_000, AIOKAFKA: 100_000, KAFKA_PYTHON: 40_000}
_READ_1K = {KWIRE: 100_000, CONFLUENT: 100_000, AIOKAFKA: 40_000, KAFKA_PYTHON: 15_000}
_RAW_READ_1K = {**_READ_1K, RAW_SOCKET: 100_000}
_READ_10K = {KWIRE: 12_000, CONFLUENT: 12_000, AIOKAFKA: 6_000, RAW_SOCKET: 12_000}
_READ_ONE_BY_ONE = {**_READ, AIOKAFKA: 40_000}
_WRITTEN = {KWIRE: 1_000_000, CONFLUENT: 500_000, RAW_SOCKET: 1_000_000}
_WRITTEN_1K = {KWIRE: 100_000, CONFLUENT: 60_000, RAW_SOCKET: 100_000}
_READ_IN_C = {KWIRE: 600_000, CONFLUENT: 300_000}
_READ_1K_IN_C = {KWIRE: 100_000, CONFLUENT: 100_000}
_RAW_READ_1K_IN_C = {**_READ_1K_IN_C, RAW_SOCKET: 100_000}
_EXCHANGED = {KWIRE: 2_500, RAW_SOCKET: 2_500, CONFLUENT: 2_500, AIOKAFKA: 800, KAFKA_PYTHON: 400}
_COMPUTED = {KWIRE: 100, CONFLUENT: 100, KAFKA_PYTHON: 50}
_AIO_SENT = {KWIRE: 200_000, AIOKAFKA: 20_000, CONFLUENT: 40_000}
_AIO_SENT_BATCHES = {KWIRE: 200_000, AIOKAFKA: 200_000}
_AIO_READ = {KWIRE: 600_000, AIOKAFKA: 100_000, CONFLUENT: 300_000}
_AIO_READ_LISTS = {KWIRE: 600_000, AIOKAFKA: 100_000}
_AIO_READ_ONE_BY_ONE = {KWIRE: 300_000, AIOKAFKA: 40_000}
_AIO_EXCHANGED = {KWIRE: 2_500, RAW_SOCKET: 2_500, AIOKAFKA: 800}
_AIO_STOPPED = {KWIRE: 300_000, AIOKAFKA: 20_000}
_TLS_SENT = {KWIRE: 400_000, CONFLUENT: 200_000, OPENSSL: 400_000}
_TLS_READ = {KWIRE: 600_000, CONFLUENT: 300_000, OPENSSL: 400_000}
_TLS_READ_1K = {KWIRE: 100_000, CONFLUENT: 100_000, OPENSSL: 100_000}
_MEMBERS = {KWIRE: 20, CONFLUENT: 20, AIOKAFKA: 20}
_COMMITTED = {KWIRE: 1_500, RAW_SOCKET: 1_500, CONFLUENT: 1_000, AIOKAFKA: 500}
_TRANSACTED = {KWIRE: 100_000, CONFLUENT: 50_000, AIOKAFKA: 10_000}
_RAW_TRANSACTED = {KWIRE: 100_000, RAW_SOCKET: 100_000, CONFLUENT: 50_000}
_MILLION = dict.fromkeys((KWIRE, CONFLUENT), 1_000_000)
_RAW_MILLION = {**_MILLION, RAW_SOCKET: 1_000_000}

# Kinds: what rows have in common

_FLOORS = "what-nobody-can-leave-out"
"""The heading where most floors stand."""

_CODEC = {
    "group": "codec",
    "task": "codec",
    "records": _once(KWIRE, AIOKAFKA, KAFKA_PYTHON),
    "metric": "cpu_ns",
    "unit": "ns",
}
_KWIRE = {**_CODEC, "records": _once(KWIRE)}
_WITH_FLOOR = {
    **_CODEC,
    "records": _WITH_BARE,
    "floor": {BARE: "", KWIRE: "index"},
    "reasoned": _FLOORS,
}
_UNPACKED = {**_WITH_FLOOR, "floor": {BARE: "", KWIRE: "index-unchecked"}}
_MESSAGE = {**_CODEC, "records": _WITH_KIO, "unit": "µs", "scale": 1e-3}
_METADATA = {**_MESSAGE, "peer_min": {AIOKAFKA: 30, KAFKA_PYTHON: 20, KIO: 3}}
_THREADS = {**_CODEC, "task": "threads", "records": _WITH_AIOKAFKA, "metric": "share", "unit": "times one thread"}
_SWEEP = {**_CODEC, "group": "sweep", "records": _WITH_AIOKAFKA, "max_rounds": 3, "quick": False}
_SWEEP_WITH_FLOOR = {
    **_SWEEP,
    "records": _once(KWIRE, AIOKAFKA, BARE),
    "floor": {BARE: ""},
    "reasoned": _FLOORS,
}
_PRODUCE = {"group": "produce", "task": "produce", "records": _SENT}
_DELIVERIES = {
    **_PRODUCE,
    "records": _RAW_SENT,
    "options": {"read_deliveries": True},
    "same_run_as": "produce-deliveries",
    "floor": {RAW_SOCKET: ""},
    "reasoned": _FLOORS,
}
_NAMED = {**_PRODUCE, "records": _SENT_TO_NAMED, "options": {"round_robin": True}}
_OLD = {**_PRODUCE, "records": _SENT_SETS, "release": "0.10.0.1"}
_NOT_WORSE = {"row_max": {"produce-1-partition": 1.1}, "reasoned": "many-partitions"}
_HALF_WORSE = {**_NOT_WORSE, "records": _SENT_TO_MANY, "row_max": {"produce-1-partition": 1.5}}
_CONSUME = {"group": "consume", "task": "consume", "records": _READ}
_ONE_BY_ONE = {**_CONSUME, "records": _READ_ONE_BY_ONE}
_COLUMNS = {**_CONSUME, "options": {"output": "columns"}}
_LARGE_VALUES = {**_CONSUME, "records": _RAW_READ_1K, "options": {"output": "values", "size": 1024}}
_READ_TABLE = {"group": "tables", "task": "read_table", "records": _READ_IN_C}
_WRITE_TABLE = {"group": "tables", "task": "write_table", "records": _WRITTEN}
_WRITE_1K = {**_WRITE_TABLE, "records": _WRITTEN_1K}
_EXCHANGE = {"group": "latency", "unit": "µs", "records": _EXCHANGED, "options": {"linger_ms": 0}}
_ROUND_TRIP = {**_EXCHANGE, "task": "round_trip", "same_run_as": "round-trip-p50"}
_COMPUTE = {"group": "latency", "unit": "µs", "records": _COMPUTED, "task": "send_and_compute"}
_LINGER_0 = {**_COMPUTE, "options": {"linger_ms": 0}, "same_run_as": "wire-linger-0-p50"}
_LINGER_5 = {**_COMPUTE, "options": {"linger_ms": 5}, "same_run_as": "wire-linger-5-p50"}
_TO_THE_WIRE = "send() to the wire, caller computes"
_AIO = {"group": "asyncio"}
_AIO_ROUND_TRIP = {
    **_AIO,
    "task": "aio_round_trip",
    "unit": "µs",
    "records": _AIO_EXCHANGED,
    "options": {"linger_ms": 0},
    "same_run_as": "aio-round-trip-p50",
    "peer_max": {RAW_SOCKET: 1.4},
    "floor": {RAW_SOCKET: ""},
    "reasoned": _FLOORS,
}
_ON_UVLOOP = {
    **_AIO_ROUND_TRIP,
    "options": {"linger_ms": 0, "uvloop": True},
    "same_run_as": "uvloop-round-trip-p50",
    "peer_max": {},
}
_AIO_PRODUCE = {**_AIO, "task": "aio_produce", "records": _AIO_SENT}
_AIO_CONSUME = {**_AIO, "task": "aio_consume", "records": _AIO_READ}
_STOPS = {**_AIO, "task": "loop_stops", "unit": "ms", "records": _AIO_STOPPED, "same_run_as": "loop-stop-consume"}
_TLS = {"group": "tls", "options": {"tls": True}}
_TLS_COLUMNS = {**_TLS, "task": "consume", "records": _TLS_READ, "options": {"tls": True, "output": "columns"}}
_TLS_DELIVERIES = {
    **_TLS,
    "task": "produce",
    "records": _TLS_SENT,
    "options": {"tls": True, "read_deliveries": True},
}
_GROUPS = {"group": "groups"}
_JOIN = {
    **_GROUPS,
    "task": "group_join",
    "records": _MEMBERS,
    "options": {"partitions": 1_000},
    "same_run_as": "group-join",
}
_TRANSACTIONS = {**_GROUPS, "task": "transactions", "records": _TRANSACTED}
_COMMIT = {**_GROUPS, "task": "commits", "unit": "µs", "records": _COMMITTED, "options": {"partitions": 1}}
_MANY = {**_GROUPS, "task": "subscribe_many", "max_rounds": 2}
_MEMORY = {
    "group": "memory",
    "records": _MILLION,
    "metric": "added_mib",
    "unit": "MiB",
    "max_rounds": 2,
    "quick": False,
}
_KAFKA = {"group": "kafka", "broker": "kafka", "quick": False}
_KAFKA_COLUMNS = {**_TLS_COLUMNS, **_KAFKA, "records": _READ_IN_C, "options": {"output": "columns"}}
_KAFKA_TLS_COLUMNS = {**_TLS_COLUMNS, **_KAFKA, "records": _READ_IN_C}
_RATE = {"metric": "wall_ns", "unit": "million records/s", "rate": 1e3}
_WAITS = {"metric": "waits_per_million", "unit": "waits per MB", "scale": 1 / 100}
_NODES = {**_KAFKA_COLUMNS, "broker": "kafka-3", "records": _MILLION}
_NODES_COLUMNS_LZ4 = {**_NODES, "records": _RAW_MILLION, "floor": {RAW_SOCKET: ""}, "reasoned": _FLOORS}
_NODES_LZ4 = {"compression": "lz4", "writer": "java", "partitions": 1_000}
_NODES_ZSTD = {**_NODES_LZ4, "compression": "zstd"}
_OF_NODES = "three nodes of Kafka, 1,000 partitions written by Java"
_BY_MEMBERS = "the same partitions, by three members of a group"
_KAFKA_DELIVERIES = {**_PRODUCE, **_KAFKA, "records": _SENT_IN_C, "options": {"read_deliveries": True}}
_PACKAGE = {"group": "package", "records": _once(KWIRE, CONFLUENT, AIOKAFKA, KAFKA_PYTHON)}
_IMPORT = {**_PACKAGE, "task": "import_time", "metric": "cpu_ms", "unit": "CPU ms over bare Python"}
_SIZE = {**_PACKAGE, "task": "size", "unit": "MB", "max_rounds": 1, "reasoned": _FLOORS}

# The rows

_READING = [
    _row(_KWIRE, "index", "decode to an index", max_cost=20),
    _row(_KWIRE, "index-unchecked", "decode to an index, checksums not verified"),
    _row(_WITH_FLOOR, "columns", "to 4 columns", max_cost=30, aiokafka=25, kafka_python=100),
    _row(_CODEC, "columns-kept", "to all columns, batches kept", max_cost=60),
    _row(_CODEC, "columns-view", "to 4 columns, binary_view", max_cost=28),
    _row(_CODEC, "records", "to records", records=_WITH_KIO, max_cost=95, aiokafka=6, kafka_python=40),
    _row(_WITH_FLOOR, "records-fields", "to records, read 4 fields", max_cost=180, aiokafka=3.3, kafka_python=20),
    _row(_CODEC, "consumer-records", "to ConsumerRecords, read 4 fields", aiokafka=5, kafka_python=25),
    _row(_WITH_FLOOR, "values", "to values", records={**_WITH_KIO, BARE: 1}, max_cost=45, aiokafka=13, kafka_python=80),
    _row(_CODEC, "headers-unread", "3 headers per record, not read", aiokafka=10, kafka_python=60),
    _row(_CODEC, "magic-1", "message set (magic 1) to records", aiokafka=6, kafka_python=40),
    _row(_UNPACKED, "values-gzip", "gzip to values", aiokafka=5),
    _row(_CODEC, "values-snappy", "snappy to values", aiokafka=3),
    _row(_UNPACKED, "values-lz4", "lz4 to values", aiokafka=6),
    _row(_UNPACKED, "values-zstd", "zstd to values", aiokafka=4.5),
    _row(_CODEC, "records-1k", "1 KiB to records", aiokafka=4),
    _row(_CODEC, "columns-1k", "1 KiB to 4 columns", max_cost=115),
    _row(_KWIRE, "columns-view-1k", "1 KiB to 4 columns, binary_view", row_max={"columns-1k": 1.0}),
    _row(_CODEC, "small-batches", "10 records per batch, read 4 fields", max_cost=230),
]
_GZIP = {**_CODEC, "same_run_as": "encode-gzip"}
_WRITING = [
    _row(_CODEC, "append", "encode, one append() per record", max_cost=95, aiokafka=2.8, kafka_python=20),
    _row(_CODEC, "encode-values", "encode a list of values", max_cost=45, aiokafka=5),
    _row(_CODEC, "encode-arrow", "encode from Arrow", max_cost=30, aiokafka=8),
    _row(_GZIP, "encode-gzip", "encode 1.1 MB with gzip", unit="ms", scale=RECORDS / 1e6, aiokafka=4, kafka_python=4),
    _row(_GZIP, "encode-gzip-size", "size of that gzip batch", metric="bytes_each", unit="kB", scale=RECORDS / 1e3),
]
_MESSAGES = [
    _row(_METADATA, "metadata-decode", "Metadata, 1,000 partitions, decode", max_cost=120),
    _row(_METADATA, "metadata-encode", "Metadata, 1,000 partitions, encode", max_cost=70),
    _row(_MESSAGE, "fetch-decode", "Fetch, 100 partitions, decode", max_cost=8, kio=4),
    _row(_MESSAGE, "produce-encode", "Produce of one record, encode", max_cost=1.0),
    _row(_CODEC, "crc32c", "CRC-32C of 1 MiB", records=_WITH_AIOKAFKA, unit="GB/s", rate=2**20, max_cost=2**20 / 15),
    _row(_THREADS, "two-threads", "to 4 columns in two threads", rate=1, max_cost=1 / 1.7),
]


def _sweep(output: str, title: str, last: Mapping[str, Any] = _SWEEP) -> list[Row]:
    """No cliff: a record ten times as large may cost 15 times as much, and one of a larger batch 1.5 times."""
    sizes = [(size_row(size, output), f"records of {size:,} bytes, to {title}") for size in RECORD_SIZES]
    batches = [(batch_row(count, output), f"records per batch: {count:,}, to {title}") for count in BATCH_COUNTS]
    return [*_steps(sizes, 15, _SWEEP), *_steps(batches, 1.5, last)]


def _steps(named: list[tuple[str, str]], limit: float, last: Mapping[str, Any]) -> list[Row]:
    """Rows of which each may cost `limit` times what the one before it does; the last is of that kind."""
    kinds = [_SWEEP] * (len(named) - 1) + [last]
    limits = [{}, *({name: limit} for name, _ in named[:-1])]
    return [
        _row(kind, name, title, row_max=row_max)
        for kind, (name, title), row_max in zip(kinds, named, limits, strict=True)
    ]


_PRODUCING = [
    _row(_DELIVERIES, "produce-deliveries", "produce, each delivery read", max_cost=0.30, confluent=10),
    _row(
        _DELIVERIES,
        "produce-deliveries-rate",
        "produce, each delivery read: rate",
        metric="wall_ns",
        unit="million records/s",
        rate=1e3,
        max_cost=1e3 / 3.3,
    ),
    _row(_PRODUCE, "produce-fire-and-forget", "produce, fire and forget", records=_SENT_IN_C, confluent=7),
    _row(_NAMED, "produce-1-partition", "produce to 1 named partition", partitions=1),
    _row(_NAMED, "produce-32-partitions", "produce to 32 partitions, round robin", partitions=32, **_NOT_WORSE),
    _row(_NAMED, "produce-512-partitions", "produce to 512 partitions, round robin", partitions=512, **_NOT_WORSE),
    _row(_NAMED, "produce-4096-partitions", "produce to 4,096 partitions, round robin", partitions=4096, **_HALF_WORSE),
    _row(_PRODUCE, "produce-1k", "produce 1 KiB", records=_RAW_SENT_1K, confluent=2, size=1024),
    _row(_PRODUCE, "produce-10k", "produce 10 KiB", records=_SENT_10K, size=10_240),
    _row(_PRODUCE, "produce-lz4", "produce, lz4", confluent=3, compression="lz4"),
    _row(_OLD, "produce-message-sets", "produce message sets (0.10)", confluent=3),
]
_CONSUMING = [
    _row(_CONSUME, "consume-records", "consume to records", max_cost=0.21, confluent=6.5),
    _row(_ONE_BY_ONE, "consume-one-by-one", "consume one by one, read 4 fields", output="one-by-one"),
    _row(_CONSUME, "consume-fields", "consume, read 4 fields", records=_READ_IN_C, output="fields"),
    _row(_CONSUME, "consume-values", "consume to values", max_cost=0.17, confluent=9, output="values"),
    _row(_COLUMNS, "consume-columns", "consume to columns (confluent: to messages)", max_cost=0.10, confluent=11),
    _row(_LARGE_VALUES, "consume-1k", "consume 1 KiB to values", confluent=2.3),
    _row(_LARGE_VALUES, "consume-10k", "consume 10 KiB to values", records=_READ_10K, size=10_240),
]
_TABLES = [
    _row(_READ_TABLE, "table-read", "kwire.read to pandas (confluent: a loop to a DataFrame)", confluent=9),
    _row(_WRITE_TABLE, "table-write", "kwire.write of a table (confluent: a loop with callbacks)", confluent=8),
    _row(_WRITE_TABLE, "table-write-values", "the same, no keys", confluent=8, columns="value"),
    _row(_WRITE_TABLE, "table-write-times", "the same, with timestamps", confluent=8, columns="key value timestamp"),
    _row(_WRITE_TABLE, "table-write-lz4", "the same, lz4", confluent=4, compression="lz4"),
    _row(_WRITE_1K, "table-write-1k", "the same, 1 KiB", confluent=3, size=1024),
]
_LATENCY = [
    _row(_ROUND_TRIP, "round-trip-p50", "one record in flight, p50", metric="p50_us", peer_max={RAW_SOCKET: 1.5}),
    _row(_ROUND_TRIP, "round-trip-p99", "one record in flight, p99", metric="p99_us", peer_max={RAW_SOCKET: 2}),
    _row(_LINGER_0, "wire-linger-0-p50", f"{_TO_THE_WIRE}, linger 0: p50", metric="p50_us"),
    _row(_LINGER_0, "wire-linger-0-p99", f"{_TO_THE_WIRE}, linger 0: p99", metric="p99_us", max_cost=200),
    _row(_LINGER_5, "wire-linger-5-p50", f"{_TO_THE_WIRE}, linger 5 ms: p50", metric="p50_us"),
    _row(_LINGER_5, "wire-linger-5-p99", f"{_TO_THE_WIRE}, linger 5 ms: p99", metric="p99_us", max_cost=7000),
]
_ASYNCIO = [
    _row(_AIO_ROUND_TRIP, "aio-round-trip-p50", "asyncio, one record in flight, p50", metric="p50_us", aiokafka=4.5),
    _row(_AIO_ROUND_TRIP, "aio-round-trip-p99", "asyncio, one record in flight, p99", metric="p99_us", aiokafka=4.5),
    _row(_ON_UVLOOP, "uvloop-round-trip-p50", "uvloop, one record in flight, p50", metric="p50_us"),
    _row(
        _AIO_PRODUCE,
        "aio-produce",
        "asyncio produce, each delivery awaited",
        max_cost=0.6,
        aiokafka=15,
        confluent=9,
    ),
    _row(
        _AIO_PRODUCE,
        "aio-produce-batches",
        "asyncio produce, each delivery awaited (aiokafka: send_batch)",
        records=_AIO_SENT_BATCHES,
        own_batches=True,
    ),
    _row(_AIO_CONSUME, "aio-consume-records", "asyncio consume to records", aiokafka=10),
    _row(
        _AIO_CONSUME,
        "aio-consume-columns",
        "asyncio consume to columns (aiokafka: to lists)",
        records=_AIO_READ_LISTS,
        output="columns",
        aiokafka=18,
    ),
    _row(
        _AIO_CONSUME,
        "aio-consume-one-by-one",
        "`async for`, read 4 fields",
        records=_AIO_READ_ONE_BY_ONE,
        output="one-by-one",
        aiokafka=12,
    ),
    _row(
        _STOPS,
        "loop-stop-consume",
        "longest stop of the loop, consuming beside 1,000 tasks",
        metric="consume_stop_ms",
        max_cost=5,
    ),
    _row(
        _STOPS,
        "loop-stop-produce",
        "longest stop of the loop, producing beside 1,000 tasks",
        metric="produce_stop_ms",
        max_cost=5,
    ),
]
_OVER_TLS = [
    _row(_TLS_COLUMNS, "tls-consume-columns", "TLS, consume to columns (confluent: to messages)", confluent=4),
    _row(
        _TLS_COLUMNS,
        "tls-consume-columns-1k",
        "TLS, consume 1 KiB to columns (confluent: to messages)",
        records=_TLS_READ_1K,
        confluent=1.5,
        size=1024,
    ),
    _row(_TLS_DELIVERIES, "tls-produce-deliveries", "TLS, produce, each delivery read", confluent=3.5),
    _row(
        _TLS,
        "tls-aio-consume-columns",
        "TLS, asyncio, consume to columns (aiokafka: to lists)",
        task="aio_consume",
        records=_AIO_READ_LISTS,
        options={"tls": True, "output": "columns"},
    ),
    _row(
        _TLS,
        "tls-first-record",
        "TLS, SCRAM-SHA-512, first record acknowledged",
        task="first_record",
        records={KWIRE: 15, CONFLUENT: 15},
        options={"tls": True, "linger_ms": 0},
        metric="first_ms",
        unit="ms",
        peer_max={CONFLUENT: 0.7},
    ),
]
_WITH_KAFKA = [
    _row(_KAFKA_COLUMNS, "kafka-columns", "Kafka, consume to columns (confluent: to messages)", confluent=9),
    _row(_KAFKA_COLUMNS, "kafka-columns-rate", "the same: rate", same_run_as="kafka-columns", **_RATE),
    _row(_KAFKA_COLUMNS, "kafka-columns-waits", "the same: wake-ups", same_run_as="kafka-columns", **_WAITS),
    _row(
        _KAFKA_COLUMNS,
        "kafka-columns-1k",
        "Kafka, consume 1 KiB to columns (confluent: to messages)",
        records=_RAW_READ_1K_IN_C,
        size=1024,
    ),
    _row(_KAFKA_DELIVERIES, "kafka-deliveries", "Kafka, produce, each delivery read"),
    _row(
        _KAFKA_TLS_COLUMNS,
        "kafka-tls-columns",
        "Kafka with TLS, consume to columns (confluent: to messages)",
        confluent=4,
    ),
    _row(_KAFKA_TLS_COLUMNS, "kafka-tls-columns-rate", "the same: rate", same_run_as="kafka-tls-columns", **_RATE),
    _row(
        _KAFKA_TLS_COLUMNS, "kafka-tls-columns-waits", "the same: wake-ups", same_run_as="kafka-tls-columns", **_WAITS
    ),
    _row(
        _KAFKA_TLS_COLUMNS,
        "kafka-tls-columns-1k",
        "Kafka with TLS, consume 1 KiB to columns (confluent: to messages)",
        records=_TLS_READ_1K,
        confluent=2,
        floor={OPENSSL: "", RAW_SOCKET: "kafka-columns-1k"},
        reasoned=_FLOORS,
        size=1024,
    ),
    _row(_KAFKA_DELIVERIES, "kafka-tls-deliveries", "Kafka with TLS, produce, each delivery read", tls=True),
    _row(
        {**_TRANSACTIONS, **_KAFKA},
        "kafka-transactions",
        "Kafka, produce, 1,000 records per transaction",
        records=_RAW_TRANSACTED,
        confluent=5,
        floor={RAW_SOCKET: ""},
        reasoned="transactions",
    ),
    _row(_NODES_COLUMNS_LZ4, "nodes-columns-lz4", f"{_OF_NODES}, lz4, to columns", confluent=6, **_NODES_LZ4),
    _row(
        _NODES_COLUMNS_LZ4,
        "nodes-columns-lz4-rate",
        "the same: rate",
        same_run_as="nodes-columns-lz4",
        **_NODES_LZ4,
        **_RATE,
    ),
    _row(
        _NODES,
        "nodes-columns-zstd",
        f"{_OF_NODES}, zstd, to columns",
        confluent=6,
        reasoned=_FLOORS,
        **_NODES_ZSTD,
    ),
    _row(_NODES, "nodes-columns-zstd-rate", "the same: rate", same_run_as="nodes-columns-zstd", **_NODES_ZSTD, **_RATE),
    _row(
        _NODES,
        "nodes-group-lz4",
        f"{_BY_MEMBERS}, lz4",
        task="group_read",
        confluent=6,
        floor={KWIRE: "nodes-columns-lz4"},
        reasoned=_FLOORS,
        **_NODES_LZ4,
    ),
]


def _large_clusters() -> Iterator[Row]:
    """Linear: ten times the partitions may cost each of them a quarter more."""
    base: dict[str, str] = {}
    for count in (1_000, 10_000, 100_000):
        run = f"cluster-{count}"
        kind = {**_MANY, "records": dict.fromkeys((KWIRE, CONFLUENT), count), "same_run_as": run}
        title = f"subscribe to {count:,} partitions by pattern"
        for name, figure, metric, unit in (
            (run, "CPU", "cpu_us", "CPU µs per partition"),
            (f"{run}-memory", "memory", "bytes", "bytes per partition"),
        ):
            limits = {base[metric]: 1.25} if metric in base else {}
            yield _row(kind, name, f"{title}: {figure}", metric=metric, unit=unit, row_max=limits)
            base[metric] = name


_IN_GROUPS = [
    _row(
        _JOIN,
        "group-join",
        "20th member joins, 1,000 partitions: CPU of all members",
        metric="cpu_ms",
        unit="CPU ms",
        peer_max={CONFLUENT: 0.5},
    ),
    _row(
        _JOIN,
        "group-join-time",
        "20th member joins, 1,000 partitions: until stable",
        metric="wall_ms",
        unit="ms",
        peer_max={CONFLUENT: 1},
    ),
    _row(
        _GROUPS,
        "group-consume",
        "consume in a group with auto-commit",
        task="group_consume",
        records={KWIRE: 600_000},
        metric="share",
        unit="times assigned partitions",
        max_cost=1.03,
        reasoned=_FLOORS,
    ),
    _row(_COMMIT, "commit", "commit(), one after the other, p50", metric="p50_us", peer_max={RAW_SOCKET: 1.5}),
    _row(_TRANSACTIONS, "transactions", "produce, 1,000 records per transaction", confluent=4),
    *_large_clusters(),
]

ROWS: tuple[Row, ...] = (
    *_READING,
    *_WRITING,
    *_MESSAGES,
    *_sweep("values", "values", _SWEEP_WITH_FLOOR),
    *_sweep("columns", "4 columns"),
    *_PRODUCING,
    *_CONSUMING,
    *_TABLES,
    *_LATENCY,
    *_ASYNCIO,
    *_OVER_TLS,
    *_IN_GROUPS,
    *_WITH_KAFKA,
    _row(_MEMORY, "memory-produce", "resident memory added: produce 1 M, fire and forget", task="produce", max_cost=20),
    # a fetch may return 50 MiB
    _row(_MEMORY, "memory-consume", "resident memory added: consume 1 M to records", task="consume", max_cost=70),
    _row(_IMPORT, "import-package", "import the package", max_cost=3),
    _row(_IMPORT, "import-records", "import the codec", records=_once(KWIRE, AIOKAFKA, KAFKA_PYTHON), max_cost=10),
    _row(_IMPORT, "import-producer", "import the producer", max_cost=30),
    _row(_SIZE, "size-wheel", "wheel (its files, deflated)", metric="wheel_mb", max_cost=1),
    _row(_SIZE, "size-compiled", "compiled code in it", metric="compiled_mb", max_cost=0.8),
)
GROUPS = tuple(dict.fromkeys(row.group for row in ROWS))
_BY_NAME = {row.name: row for row in ROWS}


def row_named(name: str) -> Row:
    """The row of that name. Raises KeyError."""
    return _BY_NAME[name]


def choose(names: list[str], *, quick: bool = False) -> list[Row]:
    """The rows of these names or groups; without names, all, or those of a quick run.

    Raises ValueError for a name that is neither.
    """
    for name in names:
        if name not in _BY_NAME and name not in GROUPS:
            raise ValueError(f"{name!r} is neither a row nor a group; --list shows them")
    if names:
        return [row for row in ROWS if row.name in names or row.group in names]
    return [row for row in ROWS if row.quick or not quick]


def left_out(rows: list[Row]) -> str:
    """Which of all rows are missing in these: whole groups by name, others by title; "" if none is."""
    groups = [group for group in GROUPS if not any(row.group == group for row in rows)]
    titles = [row.title for row in ROWS if row not in rows and row.group not in groups]
    return ", ".join([*groups, *titles])
