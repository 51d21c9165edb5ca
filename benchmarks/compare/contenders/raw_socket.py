"""A blocking socket and nothing else, and requests made beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice

from benchmarks.compare.contenders import raw_requests
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
    """Sends the records in batches as large as a client's."""
    return raw_requests.send(task, _batches(task))


def consume(task: Task) -> dict[str, float]:
    """Receives the records and looks at none."""
    return raw_requests.receive(task)


def _batches(task: Task) -> Iterator[bytes]:
    values, each = cycle(values_of(task.size)), rows_of_a_batch(task)
    for start in range(0, task.count, each):
        yield records.encode(list(islice(values, min(each, task.count - start))), compression=task.compression)
