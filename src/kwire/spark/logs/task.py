"""Reads the pieces of segments of one task in a Spark worker and yields their records as Arrow batches.

Asks no broker: what the bounds come to was decided when the read was planned.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire.log_files.reading import StoppedAtDamage, read_piece
from kwire.spark.logs.storage import storages_of
from kwire.spark.options.log import LogOptions
from kwire.spark.ranges.offsets import DataLossError
from kwire.spark.reading.columns import ColumnBatches
from kwire.spark.workers.heap import settle_heap

if TYPE_CHECKING:
    from kwire.spark.logs.plan import LogTask

_log = logging.getLogger("kwire.spark")


def read_log_task(options: LogOptions, task: LogTask) -> Iterator[pa.RecordBatch]:
    """The records of all pieces in their order.

    Raises CodecError for damage, as `onCorrupt` says, with file, byte, topic, partition and offset.
    """
    settle_heap()
    storages = [storage for storage, _ in storages_of(options.paths)]
    batches = ColumnBatches(options.columns, options.decoding)
    ended: set[tuple[str, int]] = set()
    for piece in task:
        if (piece.topic, piece.partition) in ended:
            continue
        file = storages[piece.root].shown(piece.path)
        try:
            for records, position in read_piece(storages[piece.root], piece, options.policy):
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
    yield from batches.flush()
