"""Texts that Spark jobs are given and that others may have written: options, schemas, checkpoints, decisions.

    spark-options   the options of a batch read, a stream, a write and a read of segments
    spark-texts     schemas, bounds by partition, the offsets of a checkpoint
    decisions       offsets' metadata in which the sink that writes exactly once finds what was decided last

Only KafkaErrors come out.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from kwire import TopicPartition, _prepared, errors
from kwire.spark.decoding.ddl import ddl, parse_schema
from kwire.spark.exactly_once.decision_reader import read_decision
from kwire.spark.exactly_once.decisions import Job, decide, encode, judge
from kwire.spark.options import log, read, stream, write
from kwire.spark.ranges.offsets import parse_offset_bound, parse_partitions, parse_times_by_partition
from kwire.spark.ranges.stream_offsets import offsets_from_json, offsets_to_json
from kwire.spark.streams.lag import lag
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import target

MEMORY = (8 << 20, 64 << 10)
_TOPIC_JSON = '{"a":{"0":23,"1":-1},"b":{"0":-2}}'
_VALUES = (
    "", " ", "1", "0", "-1", "9" * 5000, "9" * 400, "\u00b2", "true", "x", "latest", "earliest", "64m", "1g",
    "9" * 500 + "h", "15m", "500ms", "a,b", " a ", "key, value", "value.*", "a{99999999999}",
    "(" * 300 + ")" * 300, "[a&&b]", "(", "a|b", _TOPIC_JSON, '{"a":[0,1]}', '{"a":{"' + "0" * 5000 + '":1}}',
    '{"a":{"\u00b2":1}}', '{"a":{"0":' + "9" * 50 + "}}", "[" * 3000, "{}", "[]", '["/x"]', '["a", 5]', "json",
    "csv", "avro", "protobuf", "no.such:f", "json:loads", ":", "id BIGINT, name STRING", "./missing.avsc",
    '{"type":"record","name":"R","fields":[]}', "permissive", "dropmalformed", "exactly-once", "read_committed",
    "skip", "INFO", "a=b", "/x", "s3://\x00/", "UTC", "Mars/Olympus", "\\", "::",
    "org.apache.kafka.common.security.plain.PlainLoginModule required username=u password=p;", "SASL_SSL",
    "GSSAPI",
)  # fmt: skip
_PARSERS: tuple[tuple[Any, frozenset[str]], ...] = (
    (read.parse_batch_options, read.NAMES), (stream.parse_stream_options, stream.NAMES),
    (write.parse_write_options, write.NAMES), (log.parse_log_options, log.NAMES), (read.result_schema, read.NAMES),
)  # fmt: skip
_OTHERS = (
    "kafka.bootstrap.servers", "kafka.security.protocol", "kafka.sasl.jaas.config", "kafka.group.id", "kafka.",
    "kafka.max.poll.records", "kafka.isolation.level", "path", "paths", "provider", "nosuch",
)  # fmt: skip


@target(seeds=lambda: [bytes([n % 5, 3, n, 7 * n & 0xFF, n >> 1, 25, 5 * n & 0xFF, n, 0, 1, 2]) for n in range(150)],
        traced="spark", max_len=120, budget=MEMORY)  # fmt: skip
def spark_options(data: bytes) -> None:
    """the options of reads, streams, writes and segments, as a job gives them"""
    drawing = Drawing(data)
    parse, names = drawing.choice(_PARSERS)
    known = (*sorted(names), *_OTHERS)
    given = {"kafka.bootstrap.servers": "a:1", "subscribe": "t"} if drawing.flag() else {}
    for _ in range(1 + drawing.below(5)):
        name = drawing.choice(known)
        given[name] = drawing.choice(_VALUES) if drawing.byte() < 220 else drawing.text()
    with contextlib.suppress(errors.KafkaError):
        parse(given)


def _text_seeds() -> Iterator[bytes]:
    yield b"\0id BIGINT, `a b` STRUCT<x: ARRAY<DECIMAL(10,2)>, y: MAP<STRING, INTERVAL DAY TO SECOND>> NOT NULL"
    yield b"\0a INT COMMENT 'c'"
    yield b"\0STRUCT<a: INT>"
    yield b'\0{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
    array = b'{"type":"array","elementType":"decimal(5,2)","containsNull":true}'
    yield b'\0{"type":"struct","fields":[{"name":"a","nullable":true,"metadata":{},"type":' + array + b"}]}"
    for number in range(1, 6):
        yield bytes([number]) + _TOPIC_JSON.encode()
        yield bytes([number]) + b'{"a":[0,1]}'


@target(seeds=_text_seeds, traced="spark", max_len=300, budget=MEMORY, share=0.5,
        words=(b"ARRAY<", b"STRUCT<", b"MAP<", b"DECIMAL(", b'"type":"', b'"fields":', b"NOT NULL", b"COMMENT '"),
        )  # fmt: skip
def spark_texts(data: bytes) -> None:
    """DDL and JSON of schemas, bounds by partition, and the offsets of a checkpoint"""
    kind, text = data[0] % 6 if data else 0, data[1:].decode("utf-8", "replace")
    with contextlib.suppress(errors.KafkaError):
        if kind == 0:
            schema = parse_schema(text)
            assert parse_schema(ddl(schema)) == schema
        elif kind == 1:
            parse_offset_bound("startingOffsets", text)
        elif kind == 2:
            parse_times_by_partition("startingOffsetsByTimestamp", text, "error")
        elif kind == 3:
            parse_partitions("assign", text)
        else:
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(text)
                _check_offsets(value, text if kind == 5 else value)


def _check_offsets(value: Any, told: Any) -> None:
    lag({"sources": [{"endOffset": told, "latestOffset": told}]})
    found = offsets_from_json(value)
    assert offsets_from_json(offsets_to_json(found)) == found


_RUN, _OTHER = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"


def _value(drawing: Drawing) -> Any:
    return drawing.choice((0, 1, 2, -1, 10**12, "x", None, [], [["a", 1, 2, 3]], [[]], {}, True, 1.5, [5], "", _RUN))


def _stored(drawing: Drawing, job: Job) -> str:
    """One offset's metadata: a part of a decision, which may be changed, or anything else."""
    how = drawing.byte()
    if how > 230:
        return drawing.choice(("", "x", "[]", "5", '{"kwire":1}', '{"kwire":2}', "[" * 3000, '{"kwire":1,"parts":1}'))
    names = [_prepared.PreparedTransaction(job.name_of("0123456789ab", number), 7, 1, 2) for number in range(how % 4)]
    made = encode(decide(None, job, 5, names, [_OTHER]), job, 1 + drawing.below(3))
    found = json.loads(drawing.choice(made))
    for _ in range(drawing.below(4)):
        name = drawing.choice(("number", "run", "batch", "rows", "writers", "ended", "width", "parts", "open", "part"))
        if drawing.flag():
            found[name] = _value(drawing)
        else:
            found.pop(name, None)
    return json.dumps(found)


@target(seeds=lambda: [bytes([n, n & 3, n >> 1, 3 * n & 0xFF, 0, n, n >> 2, 1, n, 5, 7 * n & 0xFF]) for n in range(60)],
        traced="spark/exactly_once", max_len=80, budget=MEMORY, share=0.5)  # fmt: skip
def decisions(data: bytes) -> None:
    """what a driver reads as the last decision, of offsets that others may have committed"""
    drawing = Drawing(data)
    job = Job("p-batch", _RUN, drawing.choice((None, 5)))
    asked = 0

    def committed(*_: Any, **__: Any) -> dict[TopicPartition, str]:
        nonlocal asked
        asked += 1
        assert asked < 1000, "asks without end"
        return {TopicPartition(drawing.choice(("t", "t", "u")), number): _stored(drawing, job)
                for number in range(drawing.below(4))}  # fmt: skip

    before, _prepared.committed_metadata = _prepared.committed_metadata, committed
    try:
        with contextlib.suppress(errors.KafkaError):
            last = read_decision(None, job)  # type: ignore[arg-type]
            judge(last, job)
    finally:
        _prepared.committed_metadata = before
