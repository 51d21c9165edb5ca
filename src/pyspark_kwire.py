"""How Spark finds `format("kwire")` by itself: it imports every top-level module named pyspark_* and registers its
`DefaultSource`. Nothing else belongs here.
"""

from kwire.spark.data_source import KwireDataSource as DefaultSource

__all__ = ["DefaultSource"]
