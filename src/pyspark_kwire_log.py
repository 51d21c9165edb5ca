"""How Spark finds `format("kwire-log")` by itself; `pyspark_kwire` says more. Nothing else belongs here."""

from kwire.spark.log_source import KwireLogDataSource


class DefaultSource(KwireLogDataSource):
    """The source as Spark finds it."""

    is_found_by_spark = True


__all__ = ["DefaultSource"]
