"""kwire.protocol against Kafka's own generated classes: random messages, every version, both directions.

Kafka draws a message from its schema and writes it. kwire must read from those bytes what Kafka's JSON says, write the
same bytes from what it read, and write them again from the JSON.
"""

import struct
from typing import Any

import pytest

from kwire import protocol
from tests.oracle import messages
from tests.oracle.comparing import assert_message_agrees, message_class
from tests.oracle.driver import Oracle
from tests.oracle.plugin import LAST_WITH_OLD_VERSIONS, NEWEST
from tests.schema.apache_versions import ROWS
from tests.schema.messages.typical import typical

_IN_NEWEST = [key for key, row in ROWS.items() if row.newest.last >= 0]
_IN_OLD = [key for key, row in ROWS.items() if row.old.last >= 0]
_NAMES_IN_OLD = {74: "ListClientMetricsResources"}
# Unstable in 3.9, it has got a field since then; and one of which 3.9 draws nulls that it cannot read.
_ONLY_IN_NEWEST = {"ReadShareGroupStateSummaryResponse", "FetchSnapshotResponse"}
_WITH_DROPPED_VERSIONS = [key for key, row in ROWS.items() if row.dropped]
_SEEDS = range(6)


# Schemas of 3.9 lack the byte that says whether a struct is there, so that nothing can be drawn from them.
_NOT_DRAWN = {
    "ConsumerGroupHeartbeatResponse",
    "DescribeTopicPartitionsRequest",
    "DescribeTopicPartitionsResponse",
    "ShareGroupHeartbeatResponse",
}


def _cases(keys: list[int]) -> list[Any]:
    return [
        pytest.param(key, direction, id=f"{ROWS[key].name}{direction}")
        for key in keys
        for direction in ("Request", "Response")
    ]


def _assert_agrees(oracle: Oracle, name: str, key: int, direction: str, version: int) -> None:
    message = message_class(key, direction)
    for seed in _SEEDS:
        drawn = messages.random_message(oracle, name, version, seed)
        what = f"{name} v{version} seed {seed}"
        assert_message_agrees(message, version, drawn.data, drawn.json, what)


def _assert_tame_ones_agree(oracle: Oracle, name: str, key: int, direction: str, version: int) -> None:
    """With messages that kwire makes, with and without nulls, and Kafka reads and writes."""
    message = message_class(key, direction)
    for nulls in (False, True):
        data = typical(message, version, with_nulls=nulls).encode(version)
        json = messages.to_json(oracle, name, version, data)
        assert messages.to_bytes(oracle, name, version, json) == data
        assert_message_agrees(message, version, data, json, f"{name} v{version}, nulls {nulls}")


@pytest.mark.parametrize(("key", "direction"), _cases(_IN_NEWEST))
def test_every_version_of_the_newest_release(oracle: Oracle, key: int, direction: str) -> None:
    name = ROWS[key].name + direction
    theirs = messages.versions(oracle, name)
    assert theirs == range(ROWS[key].newest.first, ROWS[key].newest.last + 1), f"{name}: Kafka {NEWEST} has {theirs}"
    for version in theirs:
        _assert_agrees(oracle, name, key, direction, version)


@pytest.mark.parametrize(("key", "direction"), _cases(_IN_OLD))
def test_every_version_of_the_last_release_with_old_ones(old_oracle: Oracle, key: int, direction: str) -> None:
    name = _NAMES_IN_OLD.get(key, ROWS[key].name) + direction
    theirs = messages.versions(old_oracle, name)
    assert theirs == range(ROWS[key].old.first, ROWS[key].old.last + 1), f"Kafka {LAST_WITH_OLD_VERSIONS} has {theirs}"
    for version in theirs:
        if name in _NOT_DRAWN:
            _assert_tame_ones_agree(old_oracle, name, key, direction, version)
        elif name not in _ONLY_IN_NEWEST:
            _assert_agrees(old_oracle, name, key, direction, version)


@pytest.mark.parametrize("key", _IN_NEWEST)
def test_frames_with_kafkas_headers(oracle: Oracle, key: int) -> None:
    for version in range(ROWS[key].newest.first, ROWS[key].newest.last + 1):
        _assert_frames_agree(oracle, key, version)


@pytest.mark.parametrize("key", _WITH_DROPPED_VERSIONS)
def test_frames_with_the_headers_of_dropped_versions(old_oracle: Oracle, key: int) -> None:
    for version in ROWS[key].dropped:
        _assert_frames_agree(old_oracle, key, version)


def _assert_frames_agree(oracle: Oracle, key: int, version: int) -> None:
    request_header, response_header = messages.header_versions(oracle, key, version)
    header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 77}
    client_id = "größe" if request_header > 0 else ""
    if client_id:
        header["clientId"] = client_id
    head = messages.to_bytes(oracle, "RequestHeader", request_header, header)
    frame = _framed(head + _drawn_body(oracle, key, "Request", version))
    parsed, message = protocol.decode_request(frame)
    assert (parsed.correlation_id, parsed.client_id) == (77, client_id)
    assert protocol.encode_request(message, version, correlation_id=77, client_id=client_id) == frame

    head = messages.to_bytes(oracle, "ResponseHeader", response_header, {"correlationId": 78})
    frame = _framed(head + _drawn_body(oracle, key, "Response", version))
    answered, answer = protocol.decode_response(frame, key, version)
    assert answered.correlation_id == 78
    assert protocol.encode_response(answer, version, correlation_id=78) == frame


def _drawn_body(oracle: Oracle, key: int, direction: str, version: int) -> bytes:
    name = ROWS[key].name + direction
    if name in _NOT_DRAWN:
        data: bytes = typical(message_class(key, direction), version).encode(version)
        return data
    return messages.random_message(oracle, name, version, seed=version).data


def _framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body
