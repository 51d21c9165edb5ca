"""Records of Kafka's own topics and control records: bytes of a running 4.4.0, what is unknown, and what is damaged."""

from __future__ import annotations

from uuid import UUID

import pytest

from kwire import errors, protocol
from kwire.schema.logs.envelopes import Word, int16_word, read_words, uvarint_word

_GROUP = b"\x00\x02g0"
_OFFSET_KEY = b"\x00\x01" + _GROUP + b"\x00\x02t1\x00\x00\x00\x00"
_TOPIC_ID = UUID("a871b16d-35f1-4e76-b48f-b44d59582b10")


def _record(topic: str, key: bytes | None, value: bytes | None, *, is_control: bool = False) -> protocol.LogRecord:
    found = protocol.decode_log_record(topic, key, value, is_control=is_control)
    assert found is not None
    return found


def test_a_committed_offset() -> None:
    value = bytes.fromhex("0004 0000000000000014 00000000 01 000001a1fe6d4267 01 00 10") + _TOPIC_ID.bytes
    key, committed = _record("__consumer_offsets", _OFFSET_KEY, value)
    assert key is not None
    assert (key.name, key.words[0].name, key.words[0].value, key.start) == ("OffsetCommitKey", "type", 1, 2)
    assert key.message == protocol.logs.OffsetCommitKey(group="g0", topic="t1", partition=0)
    assert committed is not None
    assert (committed.name, committed.version, committed.start, committed.end) == ("OffsetCommitValue", 4, 2, 42)
    assert committed.message == protocol.logs.OffsetCommitValue(
        offset=20, leader_epoch=0, metadata="", commit_timestamp=1795269935719, topic_id=_TOPIC_ID
    )
    assert committed.message.to_log(4) == value
    assert protocol.logs.OffsetCommitKey(group="g0", topic="t1").to_log() == _OFFSET_KEY


def test_a_tombstone_has_no_value() -> None:
    key, value = _record("__consumer_offsets", _OFFSET_KEY, None)
    assert key is not None
    assert key.message is not None
    assert value is None


def test_a_metadata_record() -> None:
    value = bytes.fromhex("01 0c 00") + b"\x11metadata.version\x00\x21\x00"
    key, feature = _record("__cluster_metadata", None, value)
    assert key is None
    assert feature is not None
    assert [(word.name, word.value, word.end) for word in feature.words] == [
        ("frame_version", 1, 1),
        ("type", 12, 2),
        ("version", 0, 3),
    ]
    assert feature.message == protocol.logs.FeatureLevelRecord(name="metadata.version", feature_level=33)
    assert feature.message.to_log(0) == value


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("0000 0000", "0000 00000007", protocol.control_records.EndTxnMarker(coordinator_epoch=7)),
        ("0000 0001", "0003 00000007 ff", protocol.control_records.EndTxnMarker(coordinator_epoch=7)),
        ("0000 0003", "0000 000001a1fe6d127d 00", None),
        ("0000 0005", "0000 0001 00", protocol.control_records.KRaftVersionRecord(k_raft_version=1)),
        ("0001 0004 ffff", "0000 00", protocol.control_records.SnapshotFooterRecord()),
    ],
)
def test_control_records_of_any_topic(key: str, value: str, expected: object) -> None:
    kind, content = _record("t1", bytes.fromhex(key), bytes.fromhex(value), is_control=True)
    assert kind is not None
    assert kind.message == protocol.control_records.ControlRecordTypeSchema(type=bytes.fromhex(key)[3])
    assert content is not None
    assert content.problem is None
    named = protocol.control_records.CONTROL_RECORD_TYPES[bytes.fromhex(key)[3]]
    assert content.name == named.message.__name__
    assert expected is None or content.message == expected


def test_topics_of_users_are_not_looked_into() -> None:
    assert protocol.decode_log_record("orders", b"\x00\x01", b"\x00\x01") is None


@pytest.mark.parametrize(
    ("topic", "key", "value", "said"),
    [
        ("__consumer_offsets", "0063", "0000", "no record type 99"),
        ("__consumer_offsets", "0012", "0000", "no record type 18"),
        ("__consumer_offsets", "0002 0001 67", "0009", "GroupMetadataValue has no version 9"),
        ("__consumer_offsets", None, "0000", "key does not say its type"),
        ("__transaction_state", "0001", "0000", "no record type 1"),
        ("__share_group_state", "0002", "0000", "no record type 2"),
        ("__cluster_metadata", None, "020000", "no frame version 2"),
        ("__cluster_metadata", None, "017f00", "no record type 127"),
        ("__cluster_metadata", None, "010009", "RegisterBrokerRecord has no version 9"),
        ("__cluster_metadata", "00", None, "have no key"),
        ("__remote_log_metadata", None, "010500", "no record type 5"),
    ],
)
def test_what_is_not_known_is_said(topic: str, key: str | None, value: str | None, said: str) -> None:
    parts = _record(topic, _bytes(key), _bytes(value))
    problems = [part.problem for part in parts if part is not None and part.problem is not None]
    assert problems
    assert all(isinstance(problem, errors.UnknownVersionError) for problem in problems)
    assert said in str(problems[-1])


def test_an_unknown_control_record_is_said() -> None:
    key, value = _record("t", b"\x00\x00\x00\x63", b"\x00\x00", is_control=True)
    assert key is not None
    assert key.problem is None
    assert value is not None
    assert "type 99; kwire knows 0 ABORT, 1 COMMIT" in str(value.problem)
    assert _record("t", None, b"\x00\x00", is_control=True).value is not None


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def test_damage_is_named_with_its_place() -> None:
    key, value = _record("__consumer_offsets", _OFFSET_KEY[:-2], b"\x00")
    assert key is not None
    assert isinstance(key.problem, errors.TruncatedError)
    assert (key.problem.field, key.problem.offset, key.message) == ("partition", 10, None)
    assert value is not None
    assert isinstance(value.problem, errors.TruncatedError)
    assert value.problem.field == "version"


def test_words_of_an_envelope() -> None:
    for number in (0, 1, 127, 128, 300, 2**31 - 1):
        words: list[Word] = []
        read_words(uvarint_word(number) + b"\x05", (("a", "uvarint"), ("b", "uvarint")), words)
        assert [word.value for word in words] == [number, 5]
    with pytest.raises(errors.TruncatedError, match="within an unsigned varint"):
        read_words(b"\x80", (("a", "uvarint"),), [])
    with pytest.raises(errors.InvalidLengthError, match="more than 5 bytes"):
        read_words(b"\xff" * 6, (("a", "uvarint"),), [])
    assert int16_word(-2) == b"\xff\xfe"
