"""The jars that tests give to Spark: its Kafka connector, which kwire is compared with, and Avro.

Spark's parent pom names a mirror that is not public, so what the jars need is named here instead of followed. The
versions are the newest that were published whole; the token provider of the connector's own version was not, and is
called for delegation tokens alone.
"""

from pathlib import Path

from tests.brokers.maven import resolve

_CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
_AVRO = ("org.apache.spark:spark-avro_2.13:4.1.1",)
_TRANSITIVE = ("*:*",)

OLDEST_SPARK = (4, 2)
"""The connector here calls methods that older releases of Spark don't have."""


def resolve_spark_jars() -> list[Path]:
    """The jars, fetched once."""
    folders = (resolve("spark-connector", _CONNECTOR, _TRANSITIVE), resolve("spark-avro", _AVRO, _TRANSITIVE))
    return [jar for folder in folders for jar in sorted(folder.glob("*.jar"))]


def spark_is(oldest: tuple[int, int]) -> bool:
    """Whether PySpark here is that release or a newer one."""
    import pyspark

    return tuple(map(int, pyspark.__version__.split(".")[:2])) >= oldest
