"""Reads the pieces of segments of one task in a Spark worker and yields their records as Arrow batches.

Asks no broker: what the bounds come to was decided when the read was planned.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire.errors.listing import counted
from kwire.log_files.reading import StoppedAtDamage, read_piece
from kwire.log_files.splits import Piece
from kwire.spark.logs.storage import storages_of
from kwire.spark.options.log import LogOptions
from kwire.spark.ranges.offsets import DataLossError
from kwire.spark.reading.columns import ColumnBatches
from kwire.spark.reading.count import Count
from kwire.spark.workers.heap import settle_heap
from kwire.spark.workers.logs import task_name, tell_from

if TYPE_CHECKING:
    from kwire.spark.logs.plan import LogTask

_log = logging.getLogger("kwire.spark")


def read_log_task(options: LogOptions, task: LogTask) -> Iterator[pa.RecordBatch]:
    """The records of all pieces in their order.

    Raises CodecError for damage, as `onCorrupt` says, with file, byte, topic, partition and offset.
    """
    settle_heap()
    tell_from(options.log_level)
    storages = [storage for storage, _ in storages_of(options.paths)]
    batches = ColumnBatches(options.columns, options.decoding)
    ended: set[tuple[str, int]] = set()
    for piece in task:
        if (piece.topic, piece.partition) in ended:
            continue
        file = storages[piece.root].shown(piece.path)
        began, count = time.monotonic(), Count()
        try:
            for records, position in read_piece(storages[piece.root], piece, options.policy):
                count.add(records)
                yield from batches.add(records, piece.topic, piece.partition, file, position)
        except StoppedAtDamage:
            ended.add((piece.topic, piece.partition))
        except FileNotFoundError:
            text = (
                f"{file} is gone: {piece.topic}-{piece.partition} lacks the records that it held from offset "
                f"{piece.first_offset} on. Its broker may have deleted it since the read was planned. To read what "
                "there is, set the option failOnDataLoss to false"
            )
            if options.fail_on_data_loss:
                raise DataLossError(text) from None
            _log.warning("%s", text)
        if _log.isEnabledFor(logging.INFO):
            _tell(piece, file, count, time.monotonic() - began)
    yield from batches.flush()


def _tell(piece: Piece, file: str, count: Count, seconds: float) -> None:
    _log.info(
        "%s read %s-%d, bytes %d to %d of %s: %s, %d bytes, in %.3f s",
        task_name(), piece.topic, piece.partition, piece.start, piece.end, file,
        counted(count.rows, "row"), count.size, seconds,
    )  # fmt: skip
