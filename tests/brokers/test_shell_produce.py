"""`kwire produce` and `consume --output` on a real Kafka: what comes back, what is refused, and transactions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.brokers import Cluster
from tests.cli.conftest import Kwire, kwire
from tests.cli.processes import started

__all__ = ["kwire"]

ClusterOf = Callable[[str], Cluster]
NewTopic = Callable[[], str]

LINES = b"".join(
    json.dumps(line).encode() + b"\n"
    for line in (
        {
            "key": None if n % 5 == 0 else f"key-{n}",
            "value": None if n % 7 == 0 else {"base64": "/w=="} if n % 3 == 0 else f"value {n}",
            "timestamp": 1_700_000_000_000 + n,
            "headers": [["h", f"{n}"], ["h", None]] if n % 2 else [],
            "partition": n % 2,
        }
        for n in range(500)
    )
)


@pytest.fixture
def servers(kafka_cluster: ClusterOf) -> str:
    return kafka_cluster("4.4.0").bootstrap_servers


@pytest.fixture
def created(servers: str, kwire: Kwire, new_topic: NewTopic) -> Callable[..., str]:
    """Makes a topic of two partitions, with configs."""

    def make(*configs: str) -> str:
        topic = new_topic()
        given = [part for each in configs for part in ("--topic-config", each)]
        assert kwire("topics", "create", f"{topic}:2", *given, "-b", servers).code == 0
        return topic

    return make


def _objects(kwire: Kwire, servers: str, topic: str, *more: str) -> list[dict[str, Any]]:
    outcome = kwire("consume", topic, "--format", "json", "-b", servers, *more)
    assert outcome.code == 0, outcome.err
    rows = [json.loads(line) for line in outcome.lines]
    return sorted(
        ({name: value for name, value in row.items() if name != "topic"} for row in rows),
        key=lambda row: (row["partition"], row["offset"]),
    )


def test_records_go_round_by_json_csv_parquet_and_arrow(
    servers: str, created: Callable[..., str], kwire: Kwire, tmp_path: Path
) -> None:
    first = created()
    assert kwire("produce", first, "--format", "json", "-b", servers, stdin=LINES).code == 0
    expected = _objects(kwire, servers, first)
    assert len(expected) == 500
    for suffix in ("parquet", "arrow"):
        path, copy = str(tmp_path / f"t.{suffix}"), created()
        assert kwire("consume", first, "--output", path, "-b", servers).err == f"500 records in {path}\n"
        assert kwire("produce", copy, path, "--compression", "zstd", "-b", servers).code == 0
        assert _objects(kwire, servers, copy) == expected
    copy = created()
    lines = kwire("consume", first, "--format", "json", "-b", servers).out
    assert kwire("produce", copy, "--format", "json", "-b", servers, stdin=lines).code == 0
    assert _objects(kwire, servers, copy) == expected


def test_lines_that_the_broker_refuses_are_told(servers: str, created: Callable[..., str], kwire: Kwire) -> None:
    topic = created("max.message.bytes=1000")
    lines = b"a\n" + b"x" * 5000 + b"\nb\n"
    given = ("-p", "0", "-X", "batch.size=1", "-b", servers)
    outcome = kwire("produce", topic, *given, stdin=lines)
    assert outcome.code == 3
    assert "standard input, line 2 was not written: " in outcome.err
    assert outcome.err.endswith(f"2 records to {topic}, acknowledged, 1 not written\n")
    assert kwire("consume", topic, "-b", servers).lines == ["a", "b"]


def test_a_topic_that_needs_keys_tells_which_lines_have_none(
    servers: str, created: Callable[..., str], kwire: Kwire
) -> None:
    topic = created("cleanup.policy=compact")
    outcome = kwire("produce", topic, "-b", servers, stdin=b"a\n")
    assert outcome.code == 1
    assert "standard input, line 1" in outcome.err
    assert "INVALID_RECORD" in outcome.err
    assert outcome.err.count("without key") == 1, outcome.err


def test_transactions_are_seen_whole_or_not_at_all(
    servers: str, created: Callable[..., str], kwire: Kwire, tmp_path: Path
) -> None:
    topic = created()
    committed = ("consume", topic, "--isolation-level", "read_committed", "-b", servers)
    (tmp_path / "good").write_bytes(b"k:1\nk:2\n")
    (tmp_path / "bad").write_bytes(b"k:3\nnone\n")
    good, bad = str(tmp_path / "good"), str(tmp_path / "bad")
    given = ("produce", topic, "-K", ":", "-b", servers)
    assert kwire(*given, "--transaction", good, bad).code == 1
    assert kwire(*committed).lines == []
    per_file = kwire(*given, "--transaction-per-file", "--transactional-id", topic, good, bad)
    assert per_file.code == 1
    assert per_file.err.endswith("nothing of it can be seen; before it 1 transaction committed\n")
    assert kwire(*committed).lines == ["1", "2"]
    assert kwire(*given, "--transaction", good).err == f"2 records to {topic}, committed in 1 transaction\n"
    assert kwire(*committed).lines == ["1", "2", "1", "2"]


def test_ctrl_c_aborts_a_transaction(servers: str, created: Callable[..., str], kwire: Kwire) -> None:
    import signal
    import time

    topic = created()
    with started("produce", topic, "--transaction", "-b", servers, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"a\n")
        process.stdin.flush()
        until = time.monotonic() + 30
        while kwire("consume", topic, "-b", servers).lines != ["a"] and time.monotonic() < until:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 130
    assert b"0 records were committed, the transaction was aborted" in errors
    assert kwire("consume", topic, "--isolation-level", "read_committed", "-b", servers).lines == []
