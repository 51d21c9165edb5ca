"""Works against a sink: produce, consume, latency, memory. Slower clients handle fewer records of the same kind."""

from __future__ import annotations

from typing import Any

from benchmarks.compare.work import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, KWIRE, RAW, Work

_SENT = {KWIRE: 400_000, CONFLUENT: 200_000, AIOKAFKA: 20_000, KAFKA_PYTHON: 6_000}
_SENT_LARGE = {KWIRE: 80_000, CONFLUENT: 60_000, AIOKAFKA: 8_000, KAFKA_PYTHON: 4_000}
_SENT_SPREAD = {KWIRE: 400_000, CONFLUENT: 150_000, AIOKAFKA: 8_000, KAFKA_PYTHON: 3_000}
_READ = {KWIRE: 600_000, CONFLUENT: 300_000, AIOKAFKA: 100_000, KAFKA_PYTHON: 40_000}
_READ_LARGE = {KWIRE: 100_000, CONFLUENT: 100_000, AIOKAFKA: 40_000, KAFKA_PYTHON: 15_000}
_EXCHANGED = {KWIRE: 2_500, RAW: 2_500, CONFLUENT: 2_500, AIOKAFKA: 800, KAFKA_PYTHON: 400}
_COMPUTED = {KWIRE: 100, CONFLUENT: 100, KAFKA_PYTHON: 50}
_ROUNDS_OF_MEMORY = 2


def client_works() -> list[Work]:
    """The clients' rows."""
    return [*_produce(), *_consume(), *_latency(), *_memory()]


def _produce() -> list[Work]:
    in_c = {KWIRE: _SENT[KWIRE], CONFLUENT: _SENT[CONFLUENT]}
    return [
        Work("produce-fates", "produce, each fate known", "produce", "produce", _SENT, options={"fates": True},
             goals={CONFLUENT: 6}, most=0.30),
        Work("produce-unasked", "produce, fates not asked", "produce", "produce", in_c, goals={CONFLUENT: 4}),
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
             {KWIRE: 50_000, CONFLUENT: 50_000, KAFKA_PYTHON: 4_000}, goals={CONFLUENT: 3}, sink="embedded",
             release="0.10.0.1"),
    ]


def _consume() -> list[Work]:
    two = {name: _READ[name] for name in (KWIRE, CONFLUENT)}
    return [
        Work("consume-records", "consume to records", "consume", "consume", _READ, goals={CONFLUENT: 4.5}, most=0.21,
             loaded=True),
        Work("consume-one", "consume one by one, read 4 fields", "consume", "consume", _READ,
             options={"shape": "one"}, loaded=True),
        Work("consume-fields", "consume, read 4 fields of each", "consume", "consume", two,
             options={"shape": "fields"}, loaded=True),
        Work("consume-values", "consume to values", "consume", "consume", _READ, options={"shape": "values"},
             goals={CONFLUENT: 5.5}, most=0.17, loaded=True),
        Work("consume-columns", "consume to columns (confluent: to messages)", "consume", "consume", _READ,
             options={"shape": "columns"}, goals={CONFLUENT: 9}, most=0.10, loaded=True),
        Work("consume-1k", "consume 1 KiB to values", "consume", "consume", _READ_LARGE,
             options={"shape": "values", "size": 1024}, goals={CONFLUENT: 2.3}, loaded=True),
    ]


def _latency() -> list[Work]:
    micro: dict[str, Any] = {"unit": "µs", "options": {"linger_ms": 0}}
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


def _memory() -> list[Work]:
    million = {KWIRE: 1_000_000, CONFLUENT: 1_000_000}
    return [
        Work("memory-produce", "resident memory added: produce 1 M, fates not asked", "memory", "produce", million,
             "added_mib", "MiB", most=20, rounds=_ROUNDS_OF_MEMORY),
        Work("memory-consume", "resident memory added: consume 1 M to records", "memory", "consume", million,
             "added_mib", "MiB", loaded=True, rounds=_ROUNDS_OF_MEMORY),
    ]
