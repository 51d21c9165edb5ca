"""The jars that tests give to Spark: its Kafka connector, which kwire is compared with, and Avro.

Spark's parent pom names a mirror that is not public, so what the jars need is named here instead of followed. The
versions are the newest that were published whole; the token provider of the connector's own version was not, and is
called for delegation tokens alone.
"""

from pathlib import Path

from tests.brokers.maven import resolve

_CONNECTORS = {(4, 0): "4.0.1", (4, 1): "4.1.1"}
_NEWEST_CONNECTOR = "4.2.0"
"""It calls what Spark has from 4.2 on."""
_BESIDE_IT = (
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
_AVROS = {(4, 0): "4.0.1"}
_NEWEST_AVRO = "4.1.1"
_TRANSITIVE = ("*:*",)

LIMITS_BATCHES = (4, 2)
"""The first Spark that tells a Python source where a micro-batch begins, so that it can be limited."""


def resolve_spark_jars() -> list[Path]:
    """The jars for the PySpark that is here, or for the newest one, fetched once."""
    release = _release()
    connector = _CONNECTORS.get(release)
    avro = _AVROS.get(release)
    folders = (
        _resolve(
            "spark-connector", connector, f"spark-sql-kafka-0-10_2.13:{connector or _NEWEST_CONNECTOR}", _BESIDE_IT
        ),
        _resolve("spark-avro", avro, f"spark-avro_2.13:{avro or _NEWEST_AVRO}"),
    )
    return [jar for folder in folders for jar in sorted(folder.glob("*.jar"))]


def _resolve(name: str, older: str | None, artefact: str, others: tuple[str, ...] = ()) -> Path:
    return resolve(f"{name}-{older}" if older else name, (f"org.apache.spark:{artefact}", *others), _TRANSITIVE)


def spark_is(oldest: tuple[int, int]) -> bool:
    """Whether PySpark here is that release or a newer one."""
    return _release() >= oldest


def _release() -> tuple[int, ...]:
    try:
        import pyspark
    except ImportError:  # a newer one than any: the jars are fetched without it, too
        return (99,)
    return tuple(map(int, pyspark.__version__.split(".")[:2]))
