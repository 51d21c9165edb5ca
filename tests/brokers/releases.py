"""The matrix of Apache Kafka releases as typed data: which Maven artefact each is, and what it needs to run on Java 17.

Every number here was run: an entry is a fact about a release, not a wish. A release that can run both with ZooKeeper
and with KRaft stands here once for each, under two names. How a release is resolved is in maven.py, how it is
configured in properties.py.
"""

from dataclasses import dataclass
from typing import Literal

Mode = Literal["zookeeper", "kraft"]
Version = tuple[int, ...]

ALWAYS_EXCLUDED = ("com.sun.jdmk:jmxtools", "com.sun.jmx:jmxri", "javax.jms:jms")
"""Dependencies of an old log4j that no repository serves."""

_LOGS_LOG4J1 = "org.slf4j:slf4j-reload4j:1.7.36"
_LOGS_LOG4J2 = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.3"
_DATATYPE_CONVERTER = "javax.xml.bind:jaxb-api:2.3.1"
_SNAPPY_FOR_NEW_JAVA = "org.xerial.snappy:snappy-java:1.1.1.7"
_ZOOKEEPER_3_4_12 = "org.apache.zookeeper:zookeeper:3.4.12"


@dataclass(frozen=True, slots=True)
class Release:
    """One release in one mode: `version` as Apache numbers it, `extras` and `excluded` as Maven coordinates."""

    name: str
    version: str
    scala: str
    mode: Mode
    extras: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    tools: str | None = None

    @property
    def number(self) -> Version:
        """The version as a tuple, for comparing: (0, 9, 0, 1)."""
        return tuple(int(part) for part in self.version.split("."))

    @property
    def artefact(self) -> str:
        """The broker: `org.apache.kafka:kafka_2.13:4.4.0`."""
        return f"org.apache.kafka:kafka_{self.scala}:{self.version}"

    @property
    def newest_magic(self) -> int:
        """The newest message format that the release stores: 0, 1 (from 0.10) or 2 (from 0.11)."""
        return 2 if self.number >= (0, 11) else 1 if self.number >= (0, 10) else 0

    @property
    def abilities(self) -> frozenset[str]:
        """What a test may ask for by `pytest.mark.needs`.

        "committed-offsets" (in Kafka instead of ZooKeeper, 0.8.2), "api-versions" (0.10) and "transactions" (0.11).
        """
        found = {"committed-offsets"} if self.number >= (0, 8, 2) else set()
        if self.number >= (0, 10):
            found.add("api-versions")
        # The preview of KRaft could not give out producer ids yet.
        if self.number >= (0, 11) and self.name != "2.8.2-kraft":
            found.add("transactions")
        return frozenset(found)

    @property
    def codecs(self) -> tuple[str, ...]:
        """The compressions that the release reads and writes: lz4 came with 0.8.2, zstd with 2.1."""
        names = ["none", "gzip", "snappy"]
        if self.number >= (0, 8, 2):
            names.append("lz4")
        if self.number >= (2, 1):
            names.append("zstd")
        return tuple(names)


def _zookeeper(version: str, scala: str, *extras: str, name: str | None = None, tools: str | None = None) -> Release:
    return Release(name or version, version, scala, "zookeeper", extras, (), tools)


def _kraft(
    version: str,
    *extras: str,
    name: str | None = None,
    tools: str | None = None,
    excluded: tuple[str, ...] = (),
) -> Release:
    return Release(name or version, version, "2.13", "kraft", extras, excluded, tools)


RELEASES: tuple[Release, ...] = (
    # The snappy of these two cannot load its library on Java 17: every snappy message is answered by error -1.
    _zookeeper("0.8.0", "2.9.2", _SNAPPY_FOR_NEW_JAVA),
    _zookeeper("0.8.1.1", "2.9.2", _SNAPPY_FOR_NEW_JAVA),
    _zookeeper("0.8.2.2", "2.11"),
    _zookeeper("0.9.0.1", "2.11"),
    _zookeeper("0.10.0.1", "2.11"),
    _zookeeper("0.10.2.2", "2.11", _DATATYPE_CONVERTER),
    _zookeeper("0.11.0.3", "2.12", _DATATYPE_CONVERTER),
    _zookeeper("1.1.1", "2.12", _LOGS_LOG4J1),
    _zookeeper("2.1.1", "2.12", _LOGS_LOG4J1, _ZOOKEEPER_3_4_12),
    _zookeeper("2.4.1", "2.13", _LOGS_LOG4J1),
    _zookeeper("2.8.2", "2.13", _LOGS_LOG4J1),
    _kraft("2.8.2", _LOGS_LOG4J1, name="2.8.2-kraft"),
    _zookeeper("3.0.2", "2.13", _LOGS_LOG4J1),
    _kraft("3.5.2", _LOGS_LOG4J1),
    _zookeeper("3.9.2", "2.13", _LOGS_LOG4J1, name="3.9.2-zookeeper", tools="3.9.2"),
    _kraft("3.9.2", _LOGS_LOG4J1, tools="3.9.2"),
    _kraft("4.0.2", _LOGS_LOG4J2, tools="4.0.2"),
    _kraft("4.1.2", _LOGS_LOG4J2, tools="4.1.2"),
    _kraft("4.2.1", _LOGS_LOG4J2, tools="4.2.1"),
    _kraft("4.3.1", _LOGS_LOG4J2, tools="4.3.1"),
    # Its pom names kafka-tools-api, which was not published with it; its command line tools were not either.
    _kraft("4.4.0", _LOGS_LOG4J2, tools="4.3.1", excluded=("org.apache.kafka:kafka-tools-api",)),
)

EVERY_RUN = ("4.4.0", "3.9.2", "0.10.2.2", "0.9.0.1", "0.8.2.2")
"""The releases that every test run starts; the others are for `make test-brokers`."""

CLIENTS_OF_EVERY_RUN = ("0.10.1.1",)
"""The releases of which every test run asks the clients' classes and starts no broker."""

_BY_NAME = {release.name: release for release in RELEASES}


def find_release(name: str) -> Release:
    """The release of that name; an unknown one is an error that lists the known."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise ValueError(f"no release {name!r} in the matrix; known are {', '.join(_BY_NAME)}") from None
