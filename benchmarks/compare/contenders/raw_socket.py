"""A blocking socket and nothing else, and requests made beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice, repeat
from math import copysign

from benchmarks.compare.contenders import raw_lz4, raw_requests
from benchmarks.compare.contenders.meters import round_trips
from benchmarks.compare.contenders.raw_requests import check, connected, exchange, produce_frame
from benchmarks.compare.contenders.task import Task, rows_of_a_batch, values_of
from kwire import records


def round_trip(task: Task) -> dict[str, float]:
    """Sends the same Produce request of one record again and again, and reads the response."""
    frame = produce_frame(task)
    with connected(task) as connection:
        check(exchange(connection, frame), task.topic)
        return round_trips(lambda: exchange(connection, frame), task.count)


def produce(task: Task) -> dict[str, float]:
    """Sends the records in batches as large as a client's; with `read_deliveries`, makes and reads objects too."""
    if not task.read_deliveries:
        return raw_requests.send(task, _batches(task))
    return raw_requests.send(task, _batches(task), partial(_make_and_read, task.count))


def _make_and_read(count: int) -> None:
    """An object per record, made by a function of two arguments, whose attribute is read: the least of its kind."""
    make = copysign
    made = [make(1.0, 1.0) for _ in repeat(None, count)]
    if any(each.imag for each in made):
        raise AssertionError("a float has an imaginary part")


def consume(task: Task) -> dict[str, float]:
    """Receives the records and looks at none, but for their lz4."""
    if task.compression == "lz4":
        return raw_lz4.consume(task)
    return raw_requests.receive(task)


def _batches(task: Task) -> Iterator[bytes]:
    values, each = cycle(values_of(task.size)), rows_of_a_batch(task)
    for start in range(0, task.count, each):
        yield records.encode(list(islice(values, min(each, task.count - start))), compression=task.compression)
