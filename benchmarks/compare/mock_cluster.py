"""librdkafka's mock cluster as a process: prints its address and serves until its stdin ends.

    python -m benchmarks.compare.mock_cluster TOPIC:PARTITIONS ...

confluent-kafka has no function that creates a topic with many partitions, so the library in its wheel is
called directly (rdkafka_mock.h of librdkafka 2.x). The cluster keeps 5 MiB per partition and answers a fetch with one
batch per partition.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import confluent_kafka

_PRODUCER = 0


def load_library() -> ctypes.CDLL:
    """librdkafka from confluent-kafka's wheel."""
    package = Path(confluent_kafka.__file__).parent
    for folder in (package.with_name("confluent_kafka.libs"), package / ".dylibs"):
        found = sorted(folder.glob("librdkafka*"))
        if found:
            return ctypes.CDLL(str(found[0]))
    raise SystemExit(f"no librdkafka beside {package}: is confluent-kafka installed from a wheel?")


def start(library: ctypes.CDLL, topics: list[tuple[str, int]]) -> str:
    """A cluster of one broker with these topics; returns its address. It lives as long as the process."""
    library.rd_kafka_conf_new.restype = ctypes.c_void_p
    library.rd_kafka_new.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    text = ctypes.create_string_buffer(512)
    configuration = ctypes.c_void_p(library.rd_kafka_conf_new())
    library.rd_kafka_conf_set(configuration, b"log_level", b"0", text, ctypes.c_size_t(512))
    client = library.rd_kafka_new(_PRODUCER, configuration, text, ctypes.c_size_t(512))
    if not client:
        raise SystemExit(text.value.decode())
    cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(ctypes.c_void_p(client), 1))
    for name, partitions in topics:
        code = library.rd_kafka_mock_topic_create(cluster, name.encode(), partitions, 1)
        if code:
            raise SystemExit(f"the mock cluster did not create the topic {name}: error {code}")
    address: bytes = library.rd_kafka_mock_cluster_bootstraps(cluster)
    return address.decode()


def main(arguments: list[str]) -> None:
    """Serves."""
    topics = [(name, int(partitions)) for name, _, partitions in (text.partition(":") for text in arguments)]
    print(start(load_library(), topics), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
