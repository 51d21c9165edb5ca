"""Which Python runs a source: Spark has one for those that it finds on its own, and one for those that are registered.

    found by itself       PYSPARK_DRIVER_PYTHON, else PYSPARK_PYTHON, else python3: on the driver and on the executors
    registered            PYSPARK_PYTHON, else python3, as for UDFs

No Spark, no socket.
"""

from __future__ import annotations

import logging
import os

_log = logging.getLogger("kwire.spark")


def warn_of_the_drivers_python() -> None:
    """For a source that Spark has found by itself: warns where its tasks run in another Python than those of UDFs."""
    driver, workers = os.environ.get("PYSPARK_DRIVER_PYTHON"), os.environ.get("PYSPARK_PYTHON")
    if driver and workers and driver != workers:
        _log.warning(
            "Spark found this source by itself and runs it in PYSPARK_DRIVER_PYTHON, %s, on the executors, too, not in "
            "PYSPARK_PYTHON, %s. Call kwire.spark.register(spark) first, or set both to the same path",
            driver,
            workers,
        )
