"""The programs of docs/clients.md, run one after the other on one broker, as a reader would."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import Admin, records, testing
from tests.snippets import run, snippet, snippets

PAGE = "docs/clients.md"


def test_the_programs_do_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.Broker() as broker:

        def outcome(phrase: str) -> dict[str, Any]:
            return run(snippet(PAGE, phrase), servers=broker.bootstrap_servers)

        assert outcome('b"%d.00"')["count"] == 10
        assert len(capsys.readouterr().out.splitlines()) == 10

        outcome("def on_done(")
        assert capsys.readouterr().out.startswith("payments ")
        assert stored(broker, "payments") == 15
        outcome("pyarrow.table")
        assert stored(broker, "payments") == 17
        outcome("def by_region(")
        assert contents(broker, "payments", b"e"[0] % 3)[-1][1] == b"eu-17"

        found = outcome("frame = polled")
        assert found["table"].num_rows == len(found["frame"]) == len(found["polled"]) > 0
        assert len(outcome("values += consumer")["values"]) == 18
        assert outcome("an_hour_ago")["recent"].values()
        last = outcome("last += consumer")["last"]
        assert {record.partition for record in last} == {0, 1, 2}
        assert len(last) <= 6
        assert outcome("json.dumps")["events"] == [{"user": 3, "kind": "login"}]

        outcome("payments-copy")
        for partition in range(3):
            assert contents(broker, "payments-copy", partition) == contents(broker, "payments", partition)

        found = outcome("fromtimestamp")
        assert found["when"].timestamp() * 1000 == pytest.approx(found["record"].timestamp)
        capsys.readouterr()
        outcome("NewTopic(")
        assert "TOPIC_ALREADY_EXISTS" in capsys.readouterr().out
        assert "logs" not in broker.topics()
        outcome("create_partitions(")
        assert "BrokerInfo(id=1" in capsys.readouterr().out
        assert "audit" not in broker.topics()
        outcome("incremental_alter_configs(")
        assert capsys.readouterr().out.splitlines()[:2] == [
            "cleanup.policy delete,compact dynamic-topic-config",
            "retention.ms 86400000 dynamic-topic-config",
        ]
        found = outcome("describe_log_dirs")
        out = capsys.readouterr().out
        assert "1 /kwire-1 " in out
        assert "TransactionListing(transactional_id='billing'" in out
        assert "INVALID_UPDATE_VERSION" in out
        assert [state.current_transaction_start_offset for state in found["producers"]["orders", 0]] == [0]


def test_what_the_page_says_of_access_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.Broker(authorizer=True, super_users=["User:ANONYMOUS"]) as broker:
        run(snippet(PAGE, "create_acls("), servers=broker.bootstrap_servers)
        acls, quotas_and_users = capsys.readouterr().out.splitlines()
        assert acls.startswith("[AclBinding(resource_type='topic', name='payments', pattern_type='literal'")
        assert quotas_and_users == (
            "{(('user', 'bob'), ('client-id', 'reports')): {'consumer_byte_rate': 1000000.0}} "
            "{'bob': {'SCRAM-SHA-256': 8192}}"
        )
        with Admin(broker.bootstrap_servers) as admin:
            assert admin.describe_acls() == []


def contents(broker: testing.Broker, topic: str, partition: int) -> list[tuple[Any, ...]]:
    """Value, key, timestamp and headers of each record."""
    return [
        (record.value, record.key, record.timestamp, record.headers)
        for record in records.decode(broker.record_set(topic, partition=partition))
    ]


def stored(broker: testing.Broker, topic: str) -> int:
    return sum(len(contents(broker, topic, partition)) for partition in range(3))


def test_the_page_starts_with_a_broker() -> None:
    assert snippets(PAGE, "sh") == ["kwire broker --port 9092\n"]
