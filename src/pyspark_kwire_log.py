"""How Spark finds `format("kwire-log")` by itself; `pyspark_kwire` says more. Nothing else belongs here."""

from kwire.spark.log_source import KwireLogDataSource as DefaultSource

__all__ = ["DefaultSource"]
