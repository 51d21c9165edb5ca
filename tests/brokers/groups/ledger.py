"""What the members of a group have owned and read, held against what may be."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from tests.brokers import Cluster
from tests.brokers.groups.described import committed
from tests.brokers.groups.members import PARTITIONS, Member, Members, Partition, partitions_of, wait_until
from tests.brokers.groups.traffic import Traffic

_SLACK_MS = 5


class Tenure(NamedTuple):
    """A member had a partition between these times, in ms."""

    since: float
    until: float
    member: str


def assert_nothing_lost(cluster: Cluster, topic: str, traffic: Traffic, members: Members) -> None:
    """Ends traffic and members: all was read and committed, and each partition was one member's at a time."""
    ends = traffic.stop()
    wait_until(lambda: is_all_read(members.all, ends), lambda: "not all records were read")
    for member in list(members.alive):
        member.end()
    assert_owned_once(members.all)
    assert committed(cluster, members.group, topic, PARTITIONS) == ends


def assert_owned_once(members: Iterable[Member]) -> None:
    """No partition was one member's while it was still another's."""
    tenures: dict[Partition, list[Tenure]] = {}
    for member in members:
        for partition, tenure in _tenures(member):
            tenures.setdefault(partition, []).append(tenure)
    for partition, row in tenures.items():
        row.sort()
        for before, after in pairwise(row):
            assert before.until <= after.since + _SLACK_MS, f"{partition}: {before} and {after}"


def _tenures(member: Member) -> list[tuple[Partition, Tenure]]:
    begun: dict[Partition, float] = {}
    found: list[tuple[Partition, Tenure]] = []
    for event in member.events:
        if event["name"] == "partitions_assigned" and "timestamp" in event:
            begun |= dict.fromkeys(partitions_of(event), event["timestamp"])
        elif event["name"] == "partitions_revoked":
            for partition in partitions_of(event) & begun.keys():
                found.append((partition, Tenure(begun.pop(partition), event["timestamp"], member.name)))
    # Java's members of old do not say that they give partitions up when they end.
    end = member.ended_at or float("inf")
    return found + [(partition, Tenure(since, end, member.name)) for partition, since in begun.items()]


def read_offsets(members: Iterable[Member]) -> dict[Partition, set[int]]:
    """The offsets of each partition that some member has read."""
    read: dict[Partition, set[int]] = {}
    for member in members:
        for event in member.named("records_consumed"):
            for row in event["partitions"]:
                offsets = range(row["minOffset"], row["maxOffset"] + 1)
                read.setdefault((row["topic"], row["partition"]), set()).update(offsets)
    return read


def is_all_read(members: Iterable[Member], ends: Mapping[Partition, int]) -> bool:
    """Whether each offset below the partitions' ends was read."""
    read = read_offsets(members)
    return all(read.get(partition, set()).issuperset(range(end)) for partition, end in ends.items() if end)
