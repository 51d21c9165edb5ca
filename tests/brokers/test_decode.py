"""`kwire decode` of what real brokers answered: each exchange written down as a capture, read back without damage."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kwire import protocol, records
from tests.brokers import Cluster
from tests.brokers.wire import Wire
from tests.cli import captures
from tests.cli.captures import pcap, pcapng
from tests.cli.conftest import Kwire, kwire

__all__ = ["kwire"]

_TIMEOUT_S = 30
_PRODUCE, _FETCH, _LIST_OFFSETS, _METADATA = 0, 1, 2, 3
_OTHER_REQUESTS = {
    16: protocol.ListGroupsRequest(),
    32: protocol.DescribeConfigsRequest(resources=[]),
    60: protocol.DescribeClusterRequest(),
}


class _Recorder(Wire):
    """A connection that writes down what went over it."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self.wire = captures.Wire().open()
        self.asked: list[tuple[str, int]] = []

    def call(self, request: Any, version: int) -> Any:
        self.asked.append((protocol.APIS[request.__api_key__].name, version))
        return super().call(request, version)

    def _on_exchange(self, request: bytes, answer: bytes) -> None:
        self.wire.ask(request)
        self.wire.answer(answer)


def _exchange(cluster: Cluster, topic: str) -> _Recorder:
    """Every version of the data requests that the release has, and the newest of some others."""
    known = protocol.versions_of(cluster.release.version)
    host, _, port = cluster.bootstrap_servers.partition(":")
    with socket.create_connection((host, int(port)), timeout=_TIMEOUT_S) as connection:
        recorder = _Recorder(connection)
        if 18 in known:
            recorder.call(protocol.ApiVersionsRequest(client_software_name="a", client_software_version="1"), 0)
        topic_id = _wait_for_leader(recorder, topic, known[_METADATA][1])
        for version in range(max(known[_PRODUCE][0], 3 if known[_FETCH][0] >= 4 else 0), known[_PRODUCE][1] + 1):
            recorder.call(_produce(topic, topic_id, version), version)
        for version in range(known[_FETCH][0], known[_FETCH][1] + 1):
            recorder.call(_fetch(topic, topic_id), version)
        for version in range(known[_METADATA][0], known[_METADATA][1] + 1):
            asked = protocol.MetadataRequest.MetadataRequestTopic(name=topic)
            recorder.call(protocol.MetadataRequest(topics=[asked]), version)
        for key, request in _OTHER_REQUESTS.items():
            if key in known:
                recorder.call(request, known[key][1])
    return recorder


def _wait_for_leader(recorder: _Recorder, topic: str, version: int) -> Any:
    """Each question is a frame of the exchange, so that it is bounded by their number, not by a clock."""
    asked = protocol.MetadataRequest.MetadataRequestTopic(name=topic)
    for _ in range(3000):
        (found,) = recorder.call(protocol.MetadataRequest(topics=[asked]), version).topics
        if found.error_code == 0 and found.partitions and found.partitions[0].leader_id >= 0:
            return found.topic_id
    raise AssertionError(f"{topic} has no leader")


def _produce(topic: str, topic_id: Any, version: int) -> Any:
    of_topic = protocol.ProduceRequest.TopicProduceData
    magic = 2 if version >= 3 else 1 if version == 2 else 0
    data = records.encode([(b"value %d" % n, b"key") for n in range(5)], magic=magic, compression="gzip")
    partition = of_topic.PartitionProduceData(index=0, records=data)
    return protocol.ProduceRequest(
        acks=-1, timeout_ms=10_000, topic_data=[of_topic(name=topic, topic_id=topic_id, partition_data=[partition])]
    )


def _fetch(topic: str, topic_id: Any) -> Any:
    of_topic = protocol.FetchRequest.FetchTopic
    partition = of_topic.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [of_topic(topic=topic, topic_id=topic_id, partitions=[partition])]
    return protocol.FetchRequest(max_wait_ms=1000, min_bytes=1, topics=topics)


@pytest.mark.parametrize("write", [pcap, pcapng], ids=["pcap", "pcapng"])
def test_an_exchange_is_explained_to_its_last_byte(
    kafka: Cluster, kwire: Kwire, new_topic: Callable[[], str], tmp_path: Path, write: Callable[..., bytes]
) -> None:
    recorder = _exchange(kafka, new_topic())
    path = tmp_path / "trace"
    path.write_bytes(write(recorder.wire.packets))
    outcome = kwire("decode", "--json", "--items", "all", str(path))
    assert outcome.code == 0
    rows = [json.loads(line) for line in outcome.lines]
    assert [(row["kind"], row["api_name"], row["version"]) for row in rows] == [
        (kind, *asked) for asked in recorder.asked for kind in ("request", "response")
    ]
    assert [row["errors"] for row in rows if "errors" in row] == []
    values = [leaf["value"] for row in rows if row["api_name"] == "Fetch" for leaf in _leaves(row["fields"])
              if leaf["name"] == "value"]  # fmt: skip
    assert set(values) >= {f"value {n}" for n in range(5)}
    wrong = [
        leaf for row in rows for leaf in _leaves(row["fields"]) if leaf["name"] == "crc" if leaf["meaning"] != "right"
    ]
    assert wrong == []
    if any(name == "ApiVersions" for name, _ in recorder.asked):
        assert "offers the versions of Kafka" in outcome.err


def _leaves(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for field in fields:
        parts = [*field.get("fields", []), *field.get("decompressed", [])]
        found += _leaves(parts) if parts else [field]
    return found
