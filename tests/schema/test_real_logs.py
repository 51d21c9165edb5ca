"""Logs that a 4.4.0 broker wrote, kept here: read whole without Java, and by the program in the documentation.

A topic was written to and read by a classic group and by one of the new protocol, a transaction was committed and one
aborted; the broker had been formatted just before. tests/brokers/test_log_records.py does more, with running brokers.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from kwire import protocol, records
from kwire.schema.logs.transaction_state import TRANSACTION_STATES
from tests.schema.whole_logs import Shown, message_of, read_log
from tests.snippets import run, snippet

FILES = json.loads(Path(__file__).with_name("real_logs.json").read_text("ascii"))


def _log(name: str) -> list[Shown]:
    return read_log(name.partition("-")[0], base64.b64decode(FILES[name]))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("__cluster_metadata-0/00000000000000000000-0000000000.checkpoint", 10),
        ("__cluster_metadata-0/00000000000000000000.log", 55),
        ("__consumer_offsets-1/00000000000000000000.log", 5),
        ("__consumer_offsets-2/00000000000000000000.log", 12),
        ("__transaction_state-3/00000000000000000000.log", 7),
    ],
)
def test_every_record_is_whole(name: str, count: int) -> None:
    assert [shown.offset for shown in _log(name)] == list(range(count))


def test_the_last_record_of_a_transaction() -> None:
    log = _log("__transaction_state-3/00000000000000000000.log")
    states = [TRANSACTION_STATES[message_of(shown.parts.value).transaction_status] for shown in log]
    assert states == [
        *("Empty", "Ongoing", "PrepareCommit", "CompleteCommit"),
        *("Ongoing", "PrepareAbort", "CompleteAbort"),
    ]
    assert {message_of(shown.parts.key).transactional_id for shown in log} == {"peer-of-tx"}


def test_what_a_fresh_cluster_knows() -> None:
    log = _log("__cluster_metadata-0/00000000000000000000.log")
    messages = [message_of(shown.parts.value) for shown in log]
    features = {m.name: m.feature_level for m in messages if isinstance(m, protocol.logs.FeatureLevelRecord)}
    assert features["metadata.version"] == 33
    assert features["share.version"] == 2
    (broker,) = [m for m in messages if isinstance(m, protocol.logs.RegisterBrokerRecord)]
    assert [(e.name, e.host) for e in broker.end_points] == [("PLAINTEXT", "127.0.0.1")]
    topics = {m.name: m.topic_id for m in messages if isinstance(m, protocol.logs.TopicRecord)}
    assert set(topics) == {"t1", "tx", "__transaction_state", "__consumer_offsets"}
    partitions = [m.topic_id for m in messages if isinstance(m, protocol.logs.PartitionRecord)]
    assert set(partitions) == set(topics.values())


def test_a_member_of_the_new_protocol_has_no_classic_metadata() -> None:
    log = _log("__consumer_offsets-2/00000000000000000000.log")
    members = [
        message_of(shown.parts.value)
        for shown in log
        if "ConsumerGroupMemberMetadataValue" in shown.names() and shown.parts.value is not None
    ]
    assert [(m.subscribed_topic_names, m.classic_member_metadata) for m in members] == [(("t1",), None)]


def test_the_documented_program() -> None:
    read = run(snippet("docs/logs.md", "def read_log("))["read_log"]
    data = base64.b64decode(FILES["__consumer_offsets-1/00000000000000000000.log"])
    lines = [f"{offset} {messages}" for offset, messages in read("__consumer_offsets", data)]
    assert lines[2] in (Path(__file__).parents[2] / "docs" / "logs.md").read_text("utf-8").splitlines()


def test_described_presence_of_a_tagged_struct() -> None:
    """Said by an unsigned varint, 0 or 1, where an untagged one has an int8, -1 or 1."""
    key = protocol.logs.ConsumerGroupMemberMetadataKey(group_id="g", member_id="m").to_log()
    classic = protocol.logs.ConsumerGroupMemberMetadataValue.ClassicMemberMetadata(session_timeout_ms=5)
    for held, shown in ((classic, "1"), (None, "null")):
        value = protocol.logs.ConsumerGroupMemberMetadataValue(classic_member_metadata=held).to_log(0)
        lines = str(protocol.describe_records(records.encode([(value, key)]), topic="__consumer_offsets")).splitlines()
        (line,) = [line for line in lines if line.split()[2:3] == ["present" if held else "classic_member_metadata"]]
        assert line.split()[-1] == shown
