"""What a source checks when Spark asks it for a schema, a reader or a writer.

Every session that looks a Python source up imports this module: it imports the rest of kwire when it is used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.spark.decoding.decoding import Decoding


def check_arrow() -> None:
    """Says how to get pyarrow where it is missing, without the cost of importing it."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigError('The Spark source needs pyarrow: pip install "kwire[spark]"')


def tell_which_python(source: Any) -> None:
    """Warns where a source that Spark has found by itself runs in another Python than the tasks of UDFs."""
    if source.is_found_by_spark:
        from kwire.spark.workers.python import warn_of_the_drivers_python

        warn_of_the_drivers_python()


def check_schema(given: Sequence[str], columns: Sequence[str], decoding: Decoding) -> None:
    """The schema is the source's; `.schema(...)` on the DataFrameReader can only repeat it."""
    if list(given) != list(columns):
        raise ConfigError(
            f"The source has a fixed schema, {decoding.ddl(columns)}; got the columns {', '.join(given)}. "
            "Use the option columns to choose columns"
        )
