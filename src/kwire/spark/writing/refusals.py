"""Rows of a stream that no repetition would write: their task reports them, and the driver fails the micro-batch, once.

Spark repeats a task that fails, each time in a new Python worker, and nothing tells it that this is in vain. In a batch
write tasks fail all the same: the driver is asked only when all of them, maybe thousands, have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql.datasource import WriterCommitMessage

from kwire.spark.writing.write_task import WriteError


class Refused(WriterCommitMessage):
    """A task's message to the driver: the row that ended it."""

    def __init__(self, text: str, row: int) -> None:
        self.text = text
        self.row = row


def told(write: Callable[[], WriterCommitMessage]) -> WriterCommitMessage:
    """What `write` returns, or why it failed for good."""
    try:
        return write()
    except WriteError as error:
        if not error.is_final:
            raise
        return Refused(str(error), error.row)


def raise_refused(messages: Sequence[WriterCommitMessage | None]) -> None:
    """Raises WriteError if a task was refused a row."""
    for message in messages:
        if isinstance(message, Refused):
            raise WriteError(message.text, message.row, is_final=True)
