"""Works against a sink: produce, consume, latency, memory. Slower clients handle fewer records of the same kind.

Latency is measured in two ways.

`one record in flight`: send with linger 0, wait until its fate is known, send the next. The raw socket is a contender
of the same rounds: a blocking `sendall` and `recv` of the same Produce request with the same sink. All processes wait
for wake-ups that an idle virtual core makes slower, the raw socket like the rest.

`send() to the wire`: the caller sends one record and then computes in plain Python, in one thread and without a call
that waits, for some milliseconds longer than the linger time; then it sends the next. So at each send the last answer
has long come and the connection is idle, and whatever a client has to do about a record it does beside a caller that
keeps the interpreter busy. The record holds the time just before the call. It arrives when the kernel takes it in at
the loopback device, by the stamp that a relay in front of the sink reads; when the relay gets to run does not matter.
An asyncio client has no such row: while its caller computes, its loop does not run.
"""

from __future__ import annotations

from typing import Any

from benchmarks.compare.work import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, KWIRE, RAW, Work

_SENT = {KWIRE: 400_000, CONFLUENT: 200_000, AIOKAFKA: 20_000, KAFKA_PYTHON: 6_000}
_SENT_LARGE = {KWIRE: 80_000, CONFLUENT: 60_000, AIOKAFKA: 8_000, KAFKA_PYTHON: 4_000}
_SENT_SPREAD = {KWIRE: 400_000, CONFLUENT: 150_000, AIOKAFKA: 8_000, KAFKA_PYTHON: 3_000}
_SENT_OLD = {KWIRE: 50_000, CONFLUENT: 50_000, KAFKA_PYTHON: 4_000}
_READ = {KWIRE: 600_000, CONFLUENT: 300_000, AIOKAFKA: 100_000, KAFKA_PYTHON: 40_000}
_READ_ONE_BY_ONE = {**_READ, AIOKAFKA: 40_000}
_READ_LARGE = {KWIRE: 100_000, CONFLUENT: 100_000, AIOKAFKA: 40_000, KAFKA_PYTHON: 15_000}
_EXCHANGED = {KWIRE: 2_500, RAW: 2_500, CONFLUENT: 2_500, AIOKAFKA: 800, KAFKA_PYTHON: 400}
_COMPUTED = {KWIRE: 100, CONFLUENT: 100, KAFKA_PYTHON: 50}
_ROUNDS_OF_MEMORY = 2
_FETCHED_MIB = 50
"""What one fetch may bring: fetch_max_bytes."""


def client_works() -> list[Work]:
    """The clients' rows."""
    return [*_produce(), *_consume(), *_latency(), *_memory()]


def _produce() -> list[Work]:
    in_c = {KWIRE: _SENT[KWIRE], CONFLUENT: _SENT[CONFLUENT]}
    fates: dict[str, Any] = {"options": {"fates": True}}
    return [
        Work(
            "produce-fates",
            "produce, each fate known",
            "produce",
            "produce",
            _SENT,
            goals={CONFLUENT: 6},
            most=0.30,
            **fates,
        ),
        Work(
            "produce-rate",
            "produce, each fate known: wall",
            "produce",
            "produce",
            _SENT,
            "wall_ns",
            "million records/s",
            rate=1e3,
            most=1e3 / 3.3,
            run="produce-fates",
            **fates,
        ),
        Work("produce-unasked", "produce, fates not asked", "produce", "produce", in_c, goals={CONFLUENT: 4}),
        Work(
            "produce-1",
            "produce to 1 partition, named",
            "produce",
            "produce",
            _SENT_SPREAD,
            options={"spread": True, "partitions": 1},
        ),
        Work(
            "produce-32",
            "produce to 32 partitions in turn",
            "produce",
            "produce",
            _SENT_SPREAD,
            options={"spread": True},
            beside={"produce-1": 1.1},
        ),
        Work(
            "produce-512",
            "produce to 512 partitions in turn",
            "produce",
            "produce",
            _SENT_SPREAD,
            options={"spread": True, "partitions": 512},
            beside={"produce-1": 1.1},
        ),
        Work(
            "produce-1k",
            "produce 1 KiB",
            "produce",
            "produce",
            _SENT_LARGE,
            options={"size": 1024},
            goals={CONFLUENT: 2},
        ),
        Work(
            "produce-lz4",
            "produce, lz4",
            "produce",
            "produce",
            _SENT,
            options={"compression": "lz4"},
            goals={CONFLUENT: 3},
        ),
        Work(
            "produce-old",
            "produce message sets (0.10)",
            "produce",
            "produce",
            _SENT_OLD,
            goals={CONFLUENT: 3},
            sink="embedded",
            release="0.10.0.1",
        ),
    ]


def _consume() -> list[Work]:
    two = {name: _READ[name] for name in (KWIRE, CONFLUENT)}
    return [
        Work(
            "consume-records",
            "consume to records",
            "consume",
            "consume",
            _READ,
            goals={CONFLUENT: 4.5},
            most=0.21,
            loaded=True,
        ),
        Work(
            "consume-one",
            "consume one by one, read 4 fields",
            "consume",
            "consume",
            _READ_ONE_BY_ONE,
            options={"shape": "one"},
            loaded=True,
        ),
        Work(
            "consume-fields",
            "consume, read 4 fields of each",
            "consume",
            "consume",
            two,
            options={"shape": "fields"},
            loaded=True,
        ),
        Work(
            "consume-values",
            "consume to values",
            "consume",
            "consume",
            _READ,
            options={"shape": "values"},
            goals={CONFLUENT: 5.5},
            most=0.17,
            loaded=True,
        ),
        Work(
            "consume-columns",
            "consume to columns (confluent: to messages)",
            "consume",
            "consume",
            _READ,
            options={"shape": "columns"},
            goals={CONFLUENT: 9},
            most=0.10,
            loaded=True,
        ),
        Work(
            "consume-1k",
            "consume 1 KiB to values",
            "consume",
            "consume",
            _READ_LARGE,
            options={"shape": "values", "size": 1024},
            goals={CONFLUENT: 2.3},
            loaded=True,
        ),
    ]


def _latency() -> list[Work]:
    one: dict[str, Any] = {"unit": "µs", "options": {"linger_ms": 0}, "run": "one-p50"}
    return [
        Work(
            "one-p50",
            "one record in flight, p50",
            "latency",
            "exchange_one",
            _EXCHANGED,
            "p50_us",
            within={RAW: 1.5},
            **one,
        ),
        Work(
            "one-p99",
            "one record in flight, p99",
            "latency",
            "exchange_one",
            _EXCHANGED,
            "p99_us",
            within={RAW: 2},
            **one,
        ),
        *_to_the_wire("wire-linger-0", "linger 0", 0, most_us=200),
        *_to_the_wire("wire-linger-5", "linger 5 ms", 5, most_us=7000),
    ]


def _to_the_wire(name: str, title: str, linger_ms: int, most_us: float) -> list[Work]:
    shared: dict[str, Any] = {"unit": "µs", "options": {"linger_ms": linger_ms}, "run": name}
    title = f"send() to the wire, caller computes, {title}"
    return [
        Work(f"{name}-p50", f"{title}: p50", "latency", "send_and_compute", _COMPUTED, "p50_us", **shared),
        Work(name, f"{title}: p99", "latency", "send_and_compute", _COMPUTED, "p99_us", most=most_us, **shared),
    ]


def _memory() -> list[Work]:
    return [
        _resident("memory-produce", "resident memory added: produce 1 M, fates not asked", "produce", 20),
        _resident("memory-consume", "resident memory added: consume 1 M to records", "consume", _FETCHED_MIB + 20),
    ]


def _resident(name: str, title: str, verb: str, most: float) -> Work:
    """A quick run leaves it out, since it needs the whole million."""
    return Work(
        name,
        title,
        "memory",
        verb,
        dict.fromkeys((KWIRE, CONFLUENT), 1_000_000),
        "added_mib",
        "MiB",
        most=most,
        loaded=verb == "consume",
        rounds=_ROUNDS_OF_MEMORY,
        quick=False,
    )
