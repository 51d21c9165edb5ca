"""Which records a topic takes: by their time, and on compacted topics by their key."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import records
from kwire.errors import ConfigError
from kwire.errors import broker as codes
from kwire.testing import Broker
from tests.testing.in_process import WALL_CLOCK_MS, InProcess
from tests.testing.wire import produce

HOUR_MS = 3_600_000
BEFORE, AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
DIFFERENCE, STAMP = "message.timestamp.difference.max.ms", "message.timestamp.type"
Item = tuple[bytes, bytes | None, int]


def record(age_ms: int = 0, key: bytes | None = b"k") -> Item:
    return b"v", key, WALL_CLOCK_MS - age_ms


def asked(release: str, settings: dict[str, str], *items: Item, magic: int = 2, version: int = 9) -> Any:
    """The answer to these records in one record set."""
    broker = InProcess(release)
    broker.cluster.create_topic("orders", 1, settings)
    found = broker.ask(produce(records.encode(items, magic=magic)), version)
    row = found.responses[0].partition_responses[0]
    end = broker.cluster.topics["orders"].partitions[0].log.end_offset
    assert end == (0 if row.error_code else len(items))
    return row


@pytest.mark.parametrize(
    ("release", "settings", "age_ms", "code"),
    [
        ("4.4.0", {}, -2 * HOUR_MS, 32),
        ("4.4.0", {}, -HOUR_MS + 1000, 0),
        ("4.4.0", {}, 10**12, 0),
        ("3.9.2", {}, -2 * HOUR_MS, 0),
        ("3.9.2", {AFTER: "1000"}, -2 * HOUR_MS, 32),
        ("4.4.0", {BEFORE: "1000"}, HOUR_MS, 32),
        ("4.4.0", {BEFORE: "1000"}, 900, 0),
        ("4.4.0", {BEFORE: "1000", STAMP: "LogAppendTime"}, HOUR_MS, 0),
        ("4.4.0", {STAMP: "LogAppendTime"}, -2 * HOUR_MS, 0),
        ("3.9.2", {DIFFERENCE: "1000"}, -5000, 32),
        ("3.9.2", {DIFFERENCE: "1000"}, 5000, 32),
        ("3.9.2", {DIFFERENCE: "1000", BEFORE: "9000"}, 5000, 0),
        ("2.8.2", {DIFFERENCE: "1000"}, 5000, 32),
    ],
)
def test_a_record_is_to_be_of_about_the_present(release: str, settings: dict[str, str], age_ms: int, code: int) -> None:
    row = asked(release, settings, record(), record(age_ms), record())
    assert row.error_code == code
    assert [each.batch_index for each in row.record_errors] == ([1] if code else [])


def test_a_record_without_a_time_is_of_any() -> None:
    assert asked("4.4.0", {BEFORE: "1000"}, (b"v", b"k", -1)).error_code == 0


def test_a_compacted_topic_wants_keys() -> None:
    for policy in ("compact", "compact,delete"):
        row = asked("4.4.0", {"cleanup.policy": policy}, record(), record(key=None), record(key=b""))
        assert (row.error_code, [each.batch_index for each in row.record_errors]) == (87, [1])
    assert asked("2.3.1", {"cleanup.policy": "compact"}, record(key=None), version=7).error_code == 2
    old = asked("0.10.2.2", {"cleanup.policy": "compact"}, record(key=None), magic=1, version=2)
    assert old.error_code == codes.CORRUPT_MESSAGE.code
    both = {"cleanup.policy": "compact", BEFORE: "1000"}
    assert asked("4.4.0", both, record(5000, key=None)).error_code == 87
    assert asked("4.4.0", both, record(key=None), record(5000)).error_code == 32


def test_settings_of_another_release_are_unknown() -> None:
    for release, name in (
        ("4.4.0", DIFFERENCE),
        ("3.5.1", AFTER),
        ("0.9.0.1", STAMP),
        ("2.2.2", "max.compaction.lag.ms"),
    ):
        with pytest.raises(codes.INVALID_CONFIG):
            InProcess(release).cluster.create_topic("orders", 1, {name: "1000"})


def test_what_is_appended_without_a_client_is_checked_too() -> None:
    with Broker() as broker:
        broker.create_topic("t", settings={"cleanup.policy": "compact"})
        with pytest.raises(ConfigError, match="without a key"):
            broker.append("t", [b"v"])
        broker.append("t", [(b"v", b"k")])
        with pytest.raises(ConfigError, match="timestamp"):
            broker.append("t", [(b"v", b"k", broker.clock.time_ms() + 2 * HOUR_MS)])
        assert broker.offsets("t") == (0, 1)
