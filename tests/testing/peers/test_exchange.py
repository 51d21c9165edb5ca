"""Foreign clients with their default settings on the embedded broker: what one writes, every other reads."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import cast

import pytest

from kwire import records
from kwire.testing import Broker
from tests.brokers import Cluster, find_release
from tests.brokers.peers import Confluent, KafkaPython, Peer, PeerRecord
from tests.brokers.releases import Release
from tests.testing.peers.aiokafka_peer import AioKafka
from tests.thorough import THOROUGH

PEERS: dict[str, type[Peer]] = {"confluent": Confluent, "kafka-python": KafkaPython, "aiokafka": AioKafka}
COUNT = 100


@dataclass(frozen=True)
class Address:
    """What the peers ask of a cluster."""

    bootstrap_servers: str
    release: Release


def records_for(release: Release) -> list[PeerRecord]:
    """Keys, nulls, headers and times as far as the release's format has them and all three clients take them."""
    has_headers, has_times = release.newest_magic == 2, release.newest_magic >= 1
    return [
        PeerRecord(
            None if n % 10 == 9 else b"value-%d " % n * (n % 7),
            None if n % 5 == 3 else b"key-%d" % (n % 3),
            1_700_000_000_000 + n if has_times else None,
            (("n", b"%d" % n), ("n", b"")) if has_headers and n % 3 == 0 else (),
        )
        for n in range(COUNT)
    ]


def peers_of(release: Release) -> list[str]:
    """aiokafka writes magic 2 to every broker, so it needs 0.11."""
    return [name for name in PEERS if release.number >= (0, 11) or name != "aiokafka"]


@pytest.mark.parametrize(
    "name", [*["0.9.0.1", "0.10.2.2", "4.4.0"], *(["0.11.0.3", "2.4.1", "3.9.2", "4.0.2"] if THOROUGH else [])]
)
def test_what_one_client_writes_every_other_reads(name: str) -> None:
    release = find_release(name)
    sent = records_for(release)
    with Broker(release=release.version) as broker:
        cluster = cast(Cluster, Address(broker.bootstrap_servers, release))
        codecs = itertools.cycle(release.codecs)
        for writer in peers_of(release):
            topic, codec = f"from-{writer}", next(codecs)
            PEERS[writer](cluster).produce(topic, sent, compression=codec)
            assert broker.offsets(topic) == (0, COUNT)
            assert {entry.magic for entry in records.decode(broker.record_set(topic)).batches} == {release.newest_magic}
            for reader in peers_of(release):
                assert PEERS[reader](cluster).consume(topic, COUNT) == sent, f"{codec}: {writer} to {reader}"


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("writer", list(PEERS))
def test_every_codec_of_every_client(writer: str, codec: str) -> None:
    release = find_release("4.4.0")
    sent = records_for(release)
    with Broker() as broker:
        cluster = cast(Cluster, Address(broker.bootstrap_servers, release))
        PEERS[writer](cluster).produce("coded", sent, compression=codec)
        decoded = records.decode(broker.record_set("coded"))
        assert codec in {entry.compression for entry in decoded.batches}
        assert [PeerRecord(r.value, r.key, r.timestamp, tuple(r.headers)) for r in decoded] == sent


@pytest.mark.parametrize("reader", list(PEERS))
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_every_format_that_a_log_may_hold_is_read(reader: str, magic: int) -> None:
    release = find_release("4.4.0")
    # aiokafka refuses lz4 in magic 0.
    codecs = ["none", "gzip", "snappy"] + (["lz4"] if (reader, magic) != ("aiokafka", 0) else [])
    written = []
    with Broker(topics={"old": 1}) as broker:
        cluster = cast(Cluster, Address(broker.bootstrap_servers, release))
        for codec in codecs:
            values = [f"{codec} {n}".encode() for n in range(5)]
            items = [(value, None, 1000 if magic else None) for value in values]
            broker.append("old", records.encode(items, magic=magic, compression=codec))
            written += values
        found = PEERS[reader](cluster).consume("old", len(written))
        assert [record.value for record in found] == written
