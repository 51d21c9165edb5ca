"""A streaming query that goes on where Spark gave up the start of a Python process.

Spark gives each of its Python processes ten seconds to connect, and no setting changes that. On a busy machine a start
may take longer; the query ends then, though nothing is wrong with it. Started again, it goes on from its checkpoint.
Whatever else ends a query is raised.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

STARTS = 5
"""How often a query is started, the first time included."""

_LOOK_S = 0.05


def spark_gave_up(failure: Exception) -> bool:
    """Whether it ended because a Python process did not connect in time."""
    return "Python worker failed to connect back" in str(failure)


class KeptQuery:
    """Starts the query, and waits until its sources run; `query` is the one that runs now."""

    def __init__(self, start: Callable[[], StreamingQuery]) -> None:
        self._start = start
        self._starts_left = STARTS
        self._begin()

    def _begin(self) -> None:
        self._starts_left -= 1
        self.query = self._start()
        while self.query.isActive and self.query.status["message"].startswith("Initializing"):
            time.sleep(_LOOK_S)

    def keep(self) -> None:
        """Starts the query again if Spark gave up a start; raises StreamingQueryException if it ended otherwise."""
        failure = self.query.exception()
        if failure is None:
            return
        if not spark_gave_up(failure) or not self._starts_left:
            raise failure
        print(f"  {self.query.name}: no Python process within Spark's ten seconds; starting again", flush=True)
        self._begin()

    def finish(self) -> None:
        """Waits until everything that is there has been read and written."""
        while True:
            try:
                self.query.processAllAvailable()
                return
            except StreamingQueryException:
                self.keep()
