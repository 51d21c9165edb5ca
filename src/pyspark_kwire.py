"""How Spark finds `format("kwire")` by itself: it imports every top-level module named pyspark_* and registers its
`DefaultSource`. Nothing else belongs here.
"""

from kwire.spark.data_source import KwireDataSource


class DefaultSource(KwireDataSource):
    """The source as Spark finds it, and runs it in another Python than one that a program registers."""

    is_found_by_spark = True


__all__ = ["DefaultSource"]
