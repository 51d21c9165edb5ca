"""One request frame of every API in every version that a release serves: the corpus of the mutation tests."""

from __future__ import annotations

import random
from collections.abc import Iterator

from kwire import protocol, records
from kwire.protocol import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from tests.testing.wire import fetch, produce


def requests(key: int, version: int) -> Iterator[protocol.Request]:
    """Requests that say something in this version."""
    magic = 2 if version >= 3 else version // 2
    by_key: dict[int, list[protocol.Request]] = {
        0: [
            produce(records.encode([(b"v", b"k"), (b"w", None)], magic=magic, compression=compression))
            for compression in ("none", "gzip")
        ],
        1: [fetch(0, partitions=[0, 1, 7], max_wait_ms=3), fetch(99)],
        2: [
            ListOffsetsRequest(
                topics=[
                    ListOffsetsRequest.ListOffsetsTopic(
                        name="orders",
                        partitions=[
                            ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(partition_index=n, timestamp=when)
                            for n, when in ((0, -1), (1, -2), (9, 0))
                        ],
                    )
                ]
            )
        ],
        3: [
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in ("orders", "new", "?")])
        ],
        17: [SaslHandshakeRequest(mechanism="PLAIN")],
        18: [ApiVersionsRequest()],
        19: [
            CreateTopicsRequest(
                topics=[CreateTopicsRequest.CreatableTopic(name="made", num_partitions=2, replication_factor=1)]
            )
        ],
        20: [
            DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name="made")])
            if version >= 6
            else DeleteTopicsRequest(topic_names=["made", "none"])
        ],
        22: [InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)],
        36: [SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret")],
    }
    yield from by_key.get(key, [])


def corpus(release: str) -> list[bytes]:
    """The frames, without their size field."""
    frames = []
    for key, (low, high) in protocol.versions_of(release).items():
        for version in range(low, high + 1):
            for request in requests(key, version):
                frames.append(protocol.encode_request(request, version, correlation_id=5, client_id="c")[4:])
    return frames


def damage(frame: bytearray, rng: random.Random) -> None:
    """Spoils the frame in one of six ways."""
    if not frame:
        return
    at = rng.randrange(len(frame))
    match rng.randrange(6):
        case 0:
            frame[at] ^= 1 << rng.randrange(8)
        case 1:
            frame[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        case 2:
            del frame[at:]
        case 3:
            frame[at:at] = rng.randbytes(rng.randrange(1, 9))
        case 4:
            frame[at : at + 4] = rng.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0"))
        case _:
            del frame[at : at + rng.randrange(1, 9)]
