"""A blocking socket and nothing else: sends a table as Produce requests made beforehand. No client costs less."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.compare.contenders import raw_requests
from benchmarks.compare.contenders.tables import table_of
from benchmarks.compare.contenders.task import Task, rows_of_a_batch
from kwire import records


def write_table(task: Task) -> dict[str, float]:
    """Sends the table's batches."""
    return raw_requests.send(task, _batches(task))


def _batches(task: Task) -> Iterator[bytes]:
    for batch in table_of(task).combine_chunks().to_batches(max_chunksize=rows_of_a_batch(task)):
        yield records.encode_arrow(batch, compression=task.compression)
