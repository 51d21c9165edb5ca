"""What one client of a run does until its time is over or it is told to stop, in a process or thread of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire.cli.benching.histogram import Histogram
from kwire.errors import KafkaError, KafkaTimeoutError

if TYPE_CHECKING:
    from kwire.consumer import Consumer
    from kwire.producer import Producer

PRODUCE, CONSUME, LATENCY = "produce", "consume", "latency"
ACK, POLL, END_TO_END = "ack", "poll", "end_to_end"
_TELL_EVERY_S = 0.25
_AT_ONCE = 64
_EVERY = 16
"""Of so many records the time of one is taken, where they are not few."""
_TIMED_RATE = 10_000
_PAYLOADS = 64
_PATIENCE_S = 30.0


@dataclass
class Job:
    """What a client is to do: `share` of `clients` says which partitions are its."""

    kind: str
    topic: str
    clients: list[Any]
    size: int
    seconds: float
    warm_up: float
    rate: float | None
    records: int | None
    share: int
    of: int


@dataclass
class Done:
    """What was done since the last time, and in which times."""

    records: int = 0
    bytes: int = 0
    times: dict[str, Histogram] = field(default_factory=dict)
    cpu_s: float = 0.0

    def add(self, other: Done) -> None:
        """Takes in what another has done."""
        self.records += other.records
        self.bytes += other.bytes
        self.cpu_s += other.cpu_s
        for name, histogram in other.times.items():
            self.times.setdefault(name, Histogram()).merge(histogram)


class Meter:
    """Counts what is done, and tells it every moment; what was done to warm up is not counted."""

    def __init__(self, job: Job, tell: Callable[[Done], object], stopped: Callable[[], bool]) -> None:
        self._tell = tell
        self._stopped = stopped
        self._left = job.records
        self.began = time.monotonic() + job.warm_up
        self._ends = self.began + job.seconds
        self._next = self.began
        self._cpu = time.process_time()
        self._done = Done()

    def goes_on(self) -> bool:
        """Whether there is time left, and records to be done. Tells what was done when it is time."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _TELL_EVERY_S
            self.report()
        return now < self._ends and not self._stopped() and (self._left is None or self._left > 0)

    def count(self, records: int, size: int) -> None:
        """Counts records and the bytes of their values."""
        if time.monotonic() >= self.began:
            self._done.records += records
            self._done.bytes += size
            if self._left is not None:
                self._left -= records

    def time(self, name: str, seconds: float) -> None:
        """Counts a time."""
        if time.monotonic() >= self.began:
            self._done.times.setdefault(name, Histogram()).add(seconds)

    def report(self) -> None:
        """Tells what was done since the last time."""
        done, self._done = self._done, Done()
        cpu, self._cpu = self._cpu, time.process_time()
        done.cpu_s = self._cpu - cpu if time.monotonic() - _TELL_EVERY_S >= self.began else 0.0
        self._tell(done)


def work(job: Job, tell: Callable[[Done], object], stopped: Callable[[], bool], go: Callable[[], object]) -> None:
    """Opens the client's connections, waits for the others, and does the job."""
    first, *others = job.clients
    with first:
        if others:
            with others[0]:
                _measure_latency(job, first, others[0], tell, stopped, go)
        elif job.kind == PRODUCE:
            _produce(job, first, tell, stopped, go)
        else:
            _consume(job, first, tell, stopped, go)


def payloads(size: int) -> list[bytes]:
    """Some values that compress to about half, as texts do."""
    half = size // 2
    return [os.urandom(size - half) + bytes([65 + number % 26]) * half for number in range(_PAYLOADS)]


def _produce(job: Job, producer: Producer, tell: Any, stopped: Callable[[], bool], go: Callable[[], object]) -> None:
    values = payloads(job.size)
    is_timed_each = (job.rate is not None and job.rate <= _TIMED_RATE) or (job.records or _TIMED_RATE) < _TIMED_RATE
    every = 1 if is_timed_each else _EVERY
    producer.send(job.topic, values[0]).result()
    go()
    meter = Meter(job, tell, stopped)
    failed: list[BaseException] = []
    send, clock = producer.send, time.monotonic

    def acknowledged(sent: float) -> Callable[[Any], None]:
        def note(delivery: Any) -> None:
            error = delivery.exception()
            if error is not None:
                failed.append(error)
                return
            meter.time(ACK, clock() - sent)
            meter.count(every, every * job.size)

        return note

    for number in _paced(job, meter):
        delivery = send(job.topic, values[number % _PAYLOADS])
        if number % every == 0:
            delivery.add_done_callback(acknowledged(clock()))
            if failed:
                raise failed[0]
    if stopped():
        with suppress(KafkaError):  # what is on its way is given up
            producer.close(0)
    else:
        producer.flush(_PATIENCE_S)
    meter.report()


def _paced(job: Job, meter: Meter) -> Iterator[int]:
    """0, 1, 2 ... at the rate of the job, as long as there is time, and no more than its records."""
    began = time.monotonic()
    number = 0
    while meter.goes_on() and (job.records is None or number < job.records):
        until = number + _AT_ONCE
        if job.rate is not None:
            until = min(int((time.monotonic() - began) * job.rate) + 1, until)
        if job.records is not None:
            until = min(until, job.records)
        if number >= until:
            time.sleep(min(1 / (job.rate or 1), 0.005))
        while number < until:
            yield number
            number += 1


def _own(consumer: Consumer, job: Job) -> list[Any]:
    partitions = consumer.partitions_for(job.topic)
    return partitions[job.share :: job.of] or partitions[:1]


def _consume(job: Job, consumer: Consumer, tell: Any, stopped: Callable[[], bool], go: Callable[[], object]) -> None:
    """Reads from the first record on, and again from there once it is at the end."""
    partitions = _own(consumer, job)
    ends = consumer.end_offsets(partitions)
    consumer.assign(partitions, until=ends)
    consumer.seek_to_beginning()
    go()
    meter = Meter(job, tell, stopped)
    while meter.goes_on():
        began = time.monotonic()
        records = consumer.poll(timeout=0.1)
        if records:
            meter.time(POLL, time.monotonic() - began)
            meter.count(len(records), sum(len(value) for value in records.values() if value is not None))
        elif consumer.done():
            consumer.assign(partitions, until=ends)
            consumer.seek_to_beginning()
    meter.report()


def _measure_latency(
    job: Job,
    producer: Producer,
    consumer: Consumer,
    tell: Any,
    stopped: Callable[[], bool],
    go: Callable[[], object],
) -> None:
    """One record at a time: sent, acknowledged, and read again before the next one is sent."""
    (partition, *_) = _own(consumer, job)
    values = payloads(job.size)
    producer.send(job.topic, values[0], partition=partition.partition).result()
    consumer.assign([partition])
    consumer.seek_to_end()
    consumer.position(partition)
    go()
    meter = Meter(job, tell, stopped)
    for number in _paced(job, meter):
        sent = time.monotonic()
        written = producer.send(job.topic, values[number % _PAYLOADS], partition=partition.partition).result()
        meter.time(ACK, time.monotonic() - sent)
        while not any(record.offset >= written.offset for record in consumer.poll(timeout=0.5)):
            if stopped():
                return
            if time.monotonic() - sent > _PATIENCE_S:
                raise KafkaTimeoutError(f"record {written.offset} of {partition} was not read within {_PATIENCE_S:g} s")
        meter.time(END_TO_END, time.monotonic() - sent)
        meter.count(1, job.size)
    meter.report()
