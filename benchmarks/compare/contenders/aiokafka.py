"""aiokafka: asyncio, its codec compiled. One task on one loop."""

from __future__ import annotations

import asyncio
import io
import resource
import time
from itertools import cycle, islice
from typing import Any

import pyarrow as pa
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.consumer.fetcher import READ_UNCOMMITTED, PartitionRecords
from aiokafka.protocol.fetch import FetchResponse_v10
from aiokafka.protocol.metadata import MetadataResponse_v5
from aiokafka.protocol.produce import ProduceRequest_v7
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from benchmarks.compare.contenders import in_flight, inputs
from benchmarks.compare.contenders.codec_loop import Works, read_fields, run_codec
from benchmarks.compare.contenders.peer_records import reading, shapes, writing
from benchmarks.compare.contenders.sweep import sweep
from benchmarks.compare.contenders.two_threads import share_of_one
from benchmarks.compare.measure import Meter
from benchmarks.compare.task import Task, values_of

_PLACE = TopicPartition("topic", 0)


def produce(task: Task) -> dict[str, float]:
    """Sends, flushes, reads each future's result."""
    return asyncio.run(_produce(task))


async def _produce(task: Task) -> dict[str, float]:
    values = list(islice(cycle(values_of(task.size)), task.count))
    async with _producer(task) as producer:
        for partition in range(task.partitions if task.spread else 1):
            await producer.send(task.topic, values[0], partition=partition if task.spread else None)
        await producer.flush()
        partitions = cycle(range(task.partitions)) if task.spread else cycle([None])
        with Meter() as meter:
            futures = [
                await producer.send(task.topic, value, partition=partition)
                for value, partition in zip(values, partitions, strict=False)
            ]
            await producer.flush()
            for future in futures:
                future.result()
    return meter.of(task.count)


def consume(task: Task) -> dict[str, float]:
    """getmany() into lists of ConsumerRecords."""
    return asyncio.run(_consume(task))


async def _consume(task: Task) -> dict[str, float]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=task.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False
    )
    await consumer.start()
    partitions = [TopicPartition(task.topic, partition) for partition in range(task.partitions)]
    got = 0
    with Meter() as meter:
        consumer.assign(partitions)
        if task.shape == "one":
            await _read_one_by_one(consumer, task.count)
            got = task.count
        while got < task.count:
            for found in (await consumer.getmany(timeout_ms=1000)).values():
                got += len(found)
                if task.shape == "values":
                    [record.value for record in found]
                elif task.shape == "columns":
                    to_columns(found)
    await consumer.stop()
    return meter.of(got)


async def _read_one_by_one(consumer: AIOKafkaConsumer, count: int) -> None:
    left = count
    async for record in consumer:
        _offset, _timestamp, _key, _value = record.offset, record.timestamp, record.key, record.value
        left -= 1
        if not left:
            return


def to_columns(found: Any) -> pa.RecordBatch:
    """Four columns of a sequence of records."""
    four = [(record.offset, record.timestamp, record.key, record.value) for record in found]
    offsets, times, keys, values = zip(*four, strict=True)
    return pa.record_batch(
        {
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": pa.array(times, pa.int64()),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
    )


def exchange_one(task: Task) -> dict[str, float]:
    """send_and_wait(), one after the other."""
    return asyncio.run(_exchange_one(task))


async def _exchange_one(task: Task) -> dict[str, float]:
    value = values_of(task.size)[0]
    async with _producer(task) as producer:
        for _ in range(50):
            await producer.send_and_wait(task.topic, value, partition=0)
        taken = []
        before = resource.getrusage(resource.RUSAGE_SELF)
        for _ in range(task.count):
            started = time.perf_counter()
            await producer.send_and_wait(task.topic, value, partition=0)
            taken.append(time.perf_counter() - started)
        return in_flight.summary(taken, before)


def codec(task: Task) -> dict[str, Any]:
    """Records and messages, in process."""
    return run_codec(
        task,
        {
            **reading(MemoryRecords),
            **writing(_builder),
            **_messages(),
            **sweep(shapes(MemoryRecords), task.works),
            "handed-out": (_hand_out, inputs.COUNT),
            "crc32c": (lambda d=bytes(2**20): calc_crc32c(d), 1),
        },
    )


def _hand_out() -> None:
    """The consumer's own records of a fetched batch."""
    records = MemoryRecords(inputs.batch())
    read_fields(PartitionRecords(_PLACE, records, [], 0, None, None, True, READ_UNCOMMITTED))


def threads(task: Task) -> dict[str, float]:
    """Two threads decode to columns."""
    make, data = shapes(MemoryRecords)["columns"], inputs.batch()
    return share_of_one(lambda: make(data), task.budget_s)


def _builder(compression_type: int) -> DefaultRecordBatchBuilder:
    return DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression_type,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=2**22,
    )


def _messages() -> Works:
    works: dict[str, Any] = {}
    for name, kind, (message, version) in (
        ("metadata", MetadataResponse_v5, inputs.metadata_response()),
        ("fetch", FetchResponse_v10, inputs.fetch_response()),
        ("produce", ProduceRequest_v7, inputs.produce_request()),
    ):
        data = message.encode(version)
        decoded = kind.decode(io.BytesIO(data))
        works[f"{name}-decode"] = (lambda k=kind, d=data: k.decode(io.BytesIO(d)), 1)
        works[f"{name}-encode"] = (lambda m=decoded: m.encode(), 1)
    return works


def _producer(task: Task) -> AIOKafkaProducer:
    return AIOKafkaProducer(
        bootstrap_servers=task.bootstrap,
        acks=1,
        linger_ms=task.linger_ms,
        max_batch_size=task.batch_size,
        compression_type=None if task.compression == "none" else task.compression,
    )


VERBS = {"produce": produce, "consume": consume, "exchange_one": exchange_one, "codec": codec, "threads": threads}
