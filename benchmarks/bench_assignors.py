"""Sticky assignments of large groups: how long the leader computes, beside Java's assignor on the same bytes.

    python -m benchmarks.bench_assignors        the table: milliseconds of the fastest run, and the ratios

`first`: nobody has anything. `again`: all have their shares and nothing changes. `joins`: one member more has come.
`leaves`: one is gone. "assign" is the assignor alone, on subscriptions that are read already; "bytes" has reading the
members' subscriptions and writing their assignments in it. Ours are CPU time; Java's the fastest of
many runs, after its compilers.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from tests.oracle.assignors import JavaAssignors, Member, Times

from kwire.engine.groups.assignors import Assignors, ClusterView, assignors_of
from kwire.engine.groups.assignors.blobs import decode_subscription
from kwire.engine.groups.assignors.sticky import CooperativeSticky

NAME = "cooperative-sticky"
MEMBERS = 100
TOPICS = 10
PARTITIONS = (1_000, 10_000, 100_000)
RUNS = 25
JAVA_RUNS = 400


class Group(NamedTuple):
    """What the leader is asked."""

    topics: dict[str, int]
    rows: Sequence[Member]

    @property
    def view(self) -> ClusterView:
        return ClusterView(self.topics)


def groups_of(partitions: int) -> dict[str, Group]:
    """The four situations with so many partitions."""
    rng = random.Random(partitions)
    topics = {f"topic-{n}": partitions // TOPICS for n in range(TOPICS)}
    ids = [f"consumer-group-1-{UUID(int=rng.getrandbits(128))}" for _ in range(MEMBERS + 1)]
    members = {member: assignors_of(NAME) for member in ids}
    first = Group(topics, [_row(member, members[member], topics, b"") for member in ids[:MEMBERS]])
    assigned = assignors_of(NAME).assign(NAME, first.view, first.rows)
    again = [_row(member, members[member], topics, assigned[member]) for member in ids[:MEMBERS]]
    joining = _row(ids[-1], members[ids[-1]], topics, b"")
    return {
        "first": first,
        "again": Group(topics, again),
        "joins": Group(topics, [*again, joining]),
        "leaves": Group(topics, again[1:]),
    }


def _row(member: str, assignors: Assignors, topics: dict[str, int], assigned: bytes) -> Member:
    owned = assignors.assigned(NAME, assigned, 1) if assigned else []
    [(_, metadata)] = assignors.metadata(topics, owned, 1 if assigned else -1, None)
    return Member(member, None, metadata)


def timed(group: Group) -> Times:
    """Our two figures."""
    members = {row.member_id: decode_subscription(row.metadata) for row in group.rows}
    view = group.view
    alone = _fastest(lambda: CooperativeSticky().assign(view, members))
    return Times(alone, _fastest(lambda: assignors_of(NAME).assign(NAME, view, group.rows)))


def timed_by_java(java: JavaAssignors, group: Group) -> Times:
    """Java's two figures."""
    topics = {topic: [[None]] * count for topic, count in group.topics.items()}
    runs = max(30, JAVA_RUNS * 10_000 // max(10_000, sum(group.topics.values())))
    return java.time(NAME, topics, group.rows, runs)


def _fastest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        begin = time.thread_time()
        work()
        times.append(time.thread_time() - begin)
    return min(times)


def main() -> None:
    """Prints the table."""
    print(
        f"{'partitions':>10} {'case':<7} {'assign':>8} {'Java':>8} {'ratio':>6}   {'bytes':>8} {'Java':>8} {'ratio':>6}"
    )
    with JavaAssignors() as java:
        for partitions in PARTITIONS:
            for case, group in groups_of(partitions).items():
                ours, javas = timed(group), timed_by_java(java, group)
                cells = [
                    f"{mine * 1e3:8.2f} {theirs * 1e3:8.2f} {mine / theirs:6.2f}"
                    for mine, theirs in zip(ours, javas, strict=True)
                ]
                print(f"{partitions:>10} {case:<7} {'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
