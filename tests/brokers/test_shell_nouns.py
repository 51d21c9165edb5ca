"""Topics, configs, brokers and groups of real Kafka from the shell, looked at by confluent-kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import ConfigResource as TheirResource

from tests.brokers import Cluster
from tests.brokers.test_admin_configs import seen_at_last
from tests.cli.conftest import Kwire, kwire
from tests.timing import PATIENT

__all__ = ["kwire"]

ClusterOf = Callable[[str], Cluster]
NewTopic = Callable[[], str]

WITHOUT_QUORUM = ("2.8.2", "1.1.1")
WITHOUT_INCREMENTAL_CHANGES = ("1.1.1",)


@pytest.mark.parametrize(("release", "line"), [("4.4.0", "4.4"), ("2.8.2", "2.8"), ("1.1.1", "1.1")])
def test_a_topic_and_its_group_from_the_first_day_to_the_last(
    kafka_cluster: ClusterOf, new_topic: NewTopic, kwire: Kwire, release: str, line: str
) -> None:
    servers, topic = kafka_cluster(release).bootstrap_servers, new_topic()
    group = f"{topic}-group"
    seen = AdminClient({"bootstrap.servers": servers})

    def rows(*arguments: str, stdin: bytes = b"") -> list[dict[str, Any]]:
        outcome = kwire(*arguments, "--json", "-b", servers, stdin=stdin)
        assert outcome.code == 0, outcome.err
        return [json.loads(text) for text in outcome.lines]

    def partitions() -> int:
        known = seen.list_topics(timeout=PATIENT).topics.get(topic)
        return 0 if known is None else len(known.partitions)

    def retention() -> str:
        (asked,) = seen.describe_configs([TheirResource("topic", topic)]).values()
        return str(asked.result()["retention.ms"].value)

    assert {row["release"] for row in rows("brokers")} == {line}
    (cluster,) = rows("cluster")
    assert (cluster["quorum_leader"] is None) == (release in WITHOUT_QUORUM)
    assert rows("topics", "create", f"{topic}:1", "--topic-config", "retention.ms=86400000")[0]["error"] is None
    assert seen_at_last(partitions, 1)
    rows("topics", "alter", topic, "--partitions", "2")
    assert seen_at_last(partitions, 2)
    if release not in WITHOUT_INCREMENTAL_CHANGES:
        rows("configs", "set", "topics", topic, "retention.ms=3600000")
        assert seen_at_last(retention, "3600000")
    assert "retention.ms" in {row["config"] for row in rows("configs", "list", "topics", topic)}
    assert kwire("produce", topic, "--partition", "1", "-b", servers, stdin=b"a\nb\nc\n").code == 0
    member = ("consume", topic, "--group", group, "--from", "earliest", "-b", servers)
    assert kwire(*member, "-c", "3").lines == ["a", "b", "c"]
    (moved,) = (row for row in rows("groups", "reset", group, "--to", "-2", "--execute") if row["partition"] == 1)
    assert (moved["from"], moved["to"]) == (3, 1)
    with_group = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": group})
    (place,) = with_group.committed([confluent_kafka.TopicPartition(topic, 1)], timeout=PATIENT)
    with_group.close()
    assert place.offset == 1
    assert kwire(*member, "-c", "2").lines == ["b", "c"]
    assert rows("groups", "delete", group, "--yes") == [{"group": group, "error": None}]
    assert group not in {row["group"] for row in rows("groups")}
    assert rows("topics", "delete", topic, "--yes") == [{"topic": topic, "error": None}]
    assert seen_at_last(partitions, 0)
