"""What group members tell each other: bytes of librdkafka and of Apache's assignors, newer versions, and damage."""

from __future__ import annotations

import pytest

from kwire import errors, protocol
from kwire.protocol import group_blobs
from kwire.schema.logs.parts import LogPart

# What librdkafka 2.16 sent to a 4.4.0 broker, and got as its assignment.
_METADATA = bytes.fromhex("0003 00000001 0002 7431 00000000 00000000 ffffffff 0000")
_ASSIGNMENT = bytes.fromhex("0000 00000001 0002 7431 00000001 00000000 00000000")


def _found(part: LogPart | None) -> LogPart:
    assert part is not None
    return part


def test_a_subscription() -> None:
    found = _found(protocol.decode_member_metadata(_METADATA))
    assert (found.name, found.version, found.start, found.end) == ("ConsumerProtocolSubscription", 3, 2, len(_METADATA))
    assert found.message == group_blobs.ConsumerProtocolSubscription(topics=["t1"], user_data=b"", rack_id="")
    assert found.message.to_blob(3) == _METADATA


def test_an_assignment() -> None:
    found = _found(protocol.decode_member_assignment(_ASSIGNMENT))
    topic = group_blobs.ConsumerProtocolAssignment.TopicPartition(topic="t1", partitions=[0])
    assert found.message == group_blobs.ConsumerProtocolAssignment(assigned_partitions=[topic], user_data=b"")
    assert found.message.to_blob(0) == _ASSIGNMENT


def test_a_newer_version_is_read_as_the_newest_known() -> None:
    newer = b"\x00\x09" + _METADATA[2:] + b"more"
    found = _found(protocol.decode_member_metadata(newer))
    assert (found.words[0].value, found.version, found.problem) == (9, 3, None)
    assert found.end == len(newer) - len(b"more")


def test_a_negative_version_is_refused() -> None:
    found = _found(protocol.decode_member_metadata(b"\xff\xff" + _METADATA[2:]))
    assert isinstance(found.problem, errors.UnknownVersionError)
    assert found.message is None


def test_every_cut_is_said_with_its_place() -> None:
    for end in range(1, len(_METADATA)):
        found = _found(protocol.decode_member_metadata(_METADATA[:end]))
        assert isinstance(found.problem, (errors.TruncatedError, errors.InvalidLengthError))
        assert found.problem.field
        assert found.problem.offset is not None
        assert found.problem.offset <= end


@pytest.mark.parametrize("decode", [protocol.decode_member_metadata, protocol.decode_member_assignment])
def test_other_protocol_types_are_not_looked_into(decode: object) -> None:
    assert callable(decode)
    assert decode(_METADATA, protocol_type="schema-registry") is None
    assert decode(b"") is None


def test_user_data_of_the_sticky_assignor() -> None:
    older = bytes.fromhex("00000001 0002 7431 00000002 00000000 00000003")
    topic = group_blobs.StickyAssignorUserData.TopicPartition(topic="t1", partitions=[0, 3])
    found = _found(protocol.decode_user_data(older, "sticky"))
    assert (found.version, found.message) == (0, group_blobs.StickyAssignorUserData(previous_assignment=[topic]))
    found = _found(protocol.decode_user_data(older + bytes.fromhex("00000007"), "sticky"))
    assert found.version == 1
    assert found.message == group_blobs.StickyAssignorUserData(previous_assignment=[topic], generation=7)
    found = _found(protocol.decode_user_data(older[:-2], "sticky"))
    assert isinstance(found.problem, errors.CodecError)


def test_user_data_of_other_assignors() -> None:
    found = _found(protocol.decode_user_data(bytes.fromhex("00000007"), "cooperative-sticky"))
    assert found.message == group_blobs.CooperativeStickyAssignorUserData(generation=7)
    assert protocol.decode_user_data(b"\x00", "range") is None
    assert protocol.decode_user_data(b"", "sticky") is None


def test_a_worker_of_connect() -> None:
    state = "0001 0014 687474703a2f2f6772c3b6c39f653a383038332f 0000000000000007 ffffffff"
    found = _found(protocol.decode_member_metadata(bytes.fromhex(state), protocol_type="connect"))
    assert (found.name, found.version) == ("ConnectWorkerState", 1)
    assert found.message == group_blobs.ConnectWorkerState(url="http://größe:8083/", config_offset=7)


def test_what_a_worker_of_connect_is_to_run() -> None:
    text = (
        "0000 0001 0008 6c65616465722d31 0001 75 0000000000000009 00000001 0006 6f7264657273 00000002 ffffffff 00000003"
    )
    found = _found(protocol.decode_member_assignment(bytes.fromhex(text), protocol_type="connect"))
    orders = group_blobs.ConnectAssignment.ConnectorAssignment(connector="orders", tasks=[-1, 3])
    assert found.message == group_blobs.ConnectAssignment(
        error=1, leader="leader-1", leader_url="u", config_offset=9, assignment=[orders]
    )
    assert found.message.to_blob(0) == bytes.fromhex(text)
