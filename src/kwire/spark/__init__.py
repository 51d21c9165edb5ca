"""Kafka records as Spark rows, without a JVM connector.

    spark.read.format("kwire").option("kafka.bootstrap.servers", ...).option("subscribe", ...).load()
    decode_record_sets(df, "record_set")

Layer 6: stands on the clients and the codec. pyspark and pyarrow are imported in this package only.
"""

from __future__ import annotations
