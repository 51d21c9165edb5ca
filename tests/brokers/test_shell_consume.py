"""`kwire consume` on real Kafka, with records that confluent-kafka has written."""

from __future__ import annotations

import json
from collections.abc import Callable

import confluent_kafka
import pytest

from tests.brokers import Cluster
from tests.cli.conftest import Kwire, kwire
from tests.timing import PATIENT

__all__ = ["kwire"]

ClusterOf = Callable[[str], Cluster]
NewTopic = Callable[[], str]

RELEASE = "4.4.0"
NOW = 1_700_000_000_000


def write(servers: str, topic: str, count: int, partition: int = 0) -> None:
    """Records 0, 1, ... a second apart, keys k0, k1, ..., the odd ones with a header."""
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "linger.ms": 5})
    for n in range(count):
        headers = [("odd", str(n)), ("none", None)] if n % 2 else []
        producer.produce(topic, str(n), f"k{n}", partition, timestamp=NOW + 1000 * n, headers=headers)
    assert producer.flush(PATIENT) == 0


@pytest.fixture
def servers(kafka_cluster: ClusterOf) -> str:
    return kafka_cluster(RELEASE).bootstrap_servers


@pytest.fixture
def two(servers: str, new_topic: NewTopic, kwire: Kwire) -> str:
    """A topic of two partitions with ten records and five."""
    topic = new_topic()
    assert kwire("topics", "create", f"{topic}:2", "-b", servers).code == 0
    write(servers, topic, 10)
    write(servers, topic, 5, partition=1)
    return topic


def test_bounds_and_filters(servers: str, two: str, kwire: Kwire) -> None:
    def values(*arguments: str) -> str:
        outcome = kwire("consume", two, *arguments, "-f", "%p%s ", "-b", servers)
        assert outcome.code == 0, outcome.err
        return " ".join(sorted(outcome.out.decode().split()))

    assert values("--from", "3", "--to", "5") == "03 04 13 14"
    assert values("-o", "-2", "--to", "-1") == "08 13"
    assert values("-o", f"s@{NOW + 3000}", "--to", f"@{NOW + 4500}") == "03 04 13 14"
    assert values("-p", "1", "-c", "2") == "10 11"
    assert values("--follow", "-e", "--filter", "key=k4") == "04 14"
    assert values("--filter", "header.odd=3") == "03 13"
    assert values("--filter", "value > `7`", "--filter", "value~9") == "09"


def test_a_group_ends_where_it_is_told_to(servers: str, two: str, kwire: Kwire) -> None:
    member = ("consume", two, "--group", f"{two}-group", "--from", "earliest", "-b", servers)
    first = kwire(*member, "--to", "4")
    assert (first.code, sorted(first.lines)) == (0, sorted("01230123"))
    rows = [json.loads(line) for line in kwire("lag", f"{two}-group", "--json", "-b", servers).lines]
    assert sorted((row["partition"], row["committed"]) for row in rows) == [(0, 4), (1, 4)]
    rest = kwire(*member, "-e", "-X", "group.protocol=consumer")
    assert (rest.code, sorted(rest.lines)) == (0, sorted("4567894"))
    assert kwire(*member, "--follow", "-e").lines == []


def test_topics_by_pattern(servers: str, two: str, kwire: Kwire) -> None:
    write(servers, f"{two}-audit", 2)
    found = kwire("consume", f"^{two}", "--filter", "value=1", "-f", "%t ", "-b", servers)
    assert sorted(found.out.decode().split()) == [two, two, f"{two}-audit"]
    member = ("--group", f"{two}-pattern", "--from", "earliest", "-e", "-b", servers)
    for protocol in ("classic", "consumer"):
        outcome = kwire("consume", f"^{two}-au", *member, "-X", f"group.protocol={protocol}", "-G", f"{two}-{protocol}")
        assert (outcome.code, outcome.lines) == (0, ["0", "1"]), outcome.err


def test_what_is_committed_only(servers: str, new_topic: NewTopic, kwire: Kwire) -> None:
    topic = new_topic()
    assert kwire("topics", "create", f"{topic}:1", "-b", servers).code == 0
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer.init_transactions(PATIENT)
    for value, end in ((b"aborted", producer.abort_transaction), (b"committed", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(PATIENT)
        end(PATIENT)
    for level, expected in (("read_committed", ["committed"]), ("read_uncommitted", ["aborted", "committed"])):
        outcome = kwire("consume", topic, "--isolation-level", level, "--timeout", "60", "-b", servers)
        assert (outcome.code, outcome.lines) == (0, expected)
        member = ("-G", f"{topic}-{level}", "--from", "earliest", "-e")
        outcome = kwire("consume", topic, "--isolation-level", level, *member, "-b", servers)
        assert (outcome.code, outcome.lines) == (0, expected)


def test_json_of_headers_and_bytes(servers: str, two: str, kwire: Kwire) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": servers})
    producer.produce(two, b"\xff", None, 1, timestamp=NOW, headers=[("h", b"\x80"), ("n", None)])
    assert producer.flush(PATIENT) == 0
    (line,) = kwire("consume", two, "-p", "1", "-o", "-1", "-J", "-b", servers).lines
    assert json.loads(line) == {
        "topic": two,
        "partition": 1,
        "offset": 5,
        "timestamp": NOW,
        "key": None,
        "value": {"base64": "/w=="},
        "headers": [["h", {"base64": "gA=="}], ["n", None]],
    }
