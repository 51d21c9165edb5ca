"""Members of share groups as processes: kwire's (share_member.py), and Java's; and what they said."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import kwire
from kwire import protocol
from tests.brokers import Cluster, find_release
from tests.brokers.java import find_java
from tests.brokers.maven import resolve_tools
from tests.brokers.processes import JVM_FLAGS, Child
from tests.brokers.wire import wire_to

LOCK_S = 3.0
PARTITIONS = 3
_GROUP = 32
_ROOT = Path(__file__).parents[3]
QUICK = {
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.session.timeout.ms": "4000",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.record.lock.duration.ms": str(int(LOCK_S * 1000)),
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.delivery.count.limit": "10",
    "num.partitions": str(PARTITIONS),
}


def begin_at_first(cluster: Cluster, group_id: str) -> None:
    """Has the group begin with the first record there is."""
    made = protocol.IncrementalAlterConfigsRequest
    row = made.AlterConfigsResource
    config = row.AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    with wire_to(cluster) as wire:
        answer = wire.call(made(resources=[row(resource_type=_GROUP, resource_name=group_id, configs=[config])]), 1)
    assert [each.error_code for each in answer.responses] == [0]


def write(cluster: Cluster, topic: str, count: int) -> None:
    with kwire.Producer(cluster.bootstrap_servers) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
        producer.flush(20)


def kwire_member(cluster: Cluster, topic: str, folder: Path, number: int) -> Child:
    name = f"kwire-{number}"
    settings = {"bootstrap_servers": cluster.bootstrap_servers, "group_id": f"g-{topic}", "max_poll_records": 50}
    said = json.dumps({"topic": topic, "settings": {**settings, "client_id": name}})
    command = [sys.executable, "-m", "tests.brokers.groups.share_member", said]
    return Child(name, command, folder / f"{name}.log", _ROOT)


def java_member(cluster: Cluster, topic: str, folder: Path) -> Child:
    jars = resolve_tools(find_release("4.4.0"))
    command = [find_java(), *JVM_FLAGS, "-cp", f"{jars}/*", "org.apache.kafka.tools.VerifiableShareConsumer"]
    command += ["--bootstrap-server", cluster.bootstrap_servers, "--topic", topic, "--group-id", f"g-{topic}"]
    return Child("java", [*command, "--acknowledgement-mode", "sync", "--verbose"], folder / "java.log", _ROOT)


def accepted(members: Iterable[Child]) -> list[tuple[int, int]]:
    """What the members say that the broker has taken for done."""
    found = told(members, "accepted")
    for event in events(members, "offsets_acknowledged"):
        for row in event["partitions"] if event.get("success") else ():
            found += [(row["partition"], offset) for offset in row["offsets"]]
    return found


def told(members: Iterable[Child], name: str) -> list[tuple[int, int]]:
    """The records of kwire's events of that name."""
    return [(event["partition"], offset) for event in events(members, name) for offset in event["offsets"]]


def events(members: Iterable[Child], name: str) -> Iterator[dict[str, Any]]:
    for member in members:
        for line in member.log.read_bytes().split(b"\n")[:-1]:
            event = json.loads(line) if line.startswith(b"{") else {}
            if event.get("name") == name:
                yield event
