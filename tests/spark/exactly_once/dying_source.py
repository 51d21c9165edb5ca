"""`format("kwire-dying")`: kwire's sink, whose driver dies at a given instant of the commit of a given batch.

The environment of the driver says when: `KWIRE_TEST_DEATH` is `{batch}:{place}`, where the place is a step of the
commit before which it dies, `half` (one of the tasks' transactions is committed), or `returned`: commit() is back, and
Spark has not heard of it, so that it has not written that the batch is committed. `KWIRE_TEST_VICTIM` is `worker` or
`executor`: what is killed when the batch's first task has written its rows for the first time, and told nobody.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from kwire import _prepared
from kwire.spark.data_source import KwireDataSource
from kwire.spark.exactly_once import writers
from kwire.spark.exactly_once.writers import ExactlyOnceStreamWriter
from kwire.spark.options.write import parse_write_options
from tests.spark.standalone import kill, parent_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

DEATH: Final = "KWIRE_TEST_DEATH"
VICTIM: Final = "KWIRE_TEST_VICTIM"
FOLDER: Final = "KWIRE_TEST_FOLDER"
NAME: Final = "kwire-dying"


class DyingSource(KwireDataSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802 - Spark's name
        made = DyingStreamWriter(parse_write_options(self.options), self.options)
        made.death, made.victim, made.folder = os.environ[DEATH], os.environ[VICTIM], os.environ[FOLDER]
        return made


class DyingStreamWriter(ExactlyOnceStreamWriter):
    death = victim = folder = ""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        written = super().write(iterator)
        task = TaskContext.get()
        assert task is not None
        batch = task.getLocalProperty("streaming.sql.batchId")
        if (batch, task.partitionId()) == (self.death.partition(":")[0], 0) and self._is_first():
            daemon = os.getppid()
            executor = parent_of(daemon)
            assert executor is not None
            kill(executor if self.victim == "executor" else os.getpid())
        return written

    def _is_first(self) -> bool:
        """Attempts are counted anew where a lost executor has a whole stage run again."""
        try:
            Path(self.folder, f"killed-{self.death}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        batch, _, place = self.death.partition(":")
        committer = writers._committer(self.options, messages)
        assert committer is not None

        def step(name: str) -> None:
            if name == "finish" and place == "half":
                _prepared.end(committer._producer, committer._prepared[:1], commit=True)
                die()
            if name == place:
                die()

        if str(batchId) == batch:
            committer._step = step
        with committer:
            committer.commit()
        if str(batchId) == batch:
            die()


def die() -> None:
    """The driver, its JVM and this process, at once: its session was made for them. Executors see that it is gone."""
    os.killpg(os.getsid(0), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
