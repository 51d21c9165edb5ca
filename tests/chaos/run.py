"""One schedule, run and judged: its clients under its faults, then in peace until all is read, then the checker."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import kwire
from tests.chaos.checker import Evidence, copied_once, judge, nothing_lost, nothing_unaccepted_lost
from tests.chaos.cluster import LOGINS, PLAIN, ChaosCluster
from tests.chaos.faults import Faults
from tests.chaos.final import positions, read_topic
from tests.chaos.history import History, read
from tests.chaos.passwords import Passwords
from tests.chaos.schedule import PARTITIONS, Schedule
from tests.chaos.team import Team

_SHARE = {
    "share.auto.offset.reset": "earliest",
    "share.delivery.count.limit": "25",
    "share.isolation.level": "read_committed",
}
"""No record is given up because connections died while it was on its way."""
_SOURCES = ("writer", "transactor")
_READERS = ("member", "copier", "sharer")
_CATCH_UP_S = 90.0
_END_S = 90.0
_LATE_S = 0.25


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker found wrong, and how much happened."""

    wrong: list[str]
    counts: dict[str, int]
    late_s: float


def run(cluster: ChaosCluster, schedule: Schedule, folder: Path) -> Verdict:
    """Runs one schedule; its history stays in `folder`."""
    folder.mkdir(parents=True)
    history = History(folder / "faults.jsonl", "faults")
    suffix = f"{schedule.seed}-{folder.name}"
    servers_of_team = cluster.proxied(LOGINS if schedule.logs_in else PLAIN)
    servers = cluster.bootstrap_servers
    passwords = Passwords(servers, folder / "password")
    way = {"servers": servers_of_team, "logs_in": schedule.logs_in, "password_file": str(passwords.file)}
    team = Team(schedule.clients, way, schedule.seed, suffix, history, folder)
    topics = _create_topics(cluster, schedule, team)
    try:
        with _watching_the_machine(history):
            team.keep_running()
            Faults(cluster, team, passwords, history).run(schedule.faults, schedule.seconds)
            team.end(_SOURCES, _END_S)
            _catch_up(servers, topics, team, folder, schedule)
            team.end(_READERS, _END_S)
    finally:
        team.close()
        history.close()
    evidence = Evidence(read(folder), _read_topics(servers, topics), damaged=schedule.damages)
    for group, topic in {(c.given["group"], c.given["topic"]) for c in schedule.clients if c.role in _READERS[:2]}:
        evidence.positions |= positions(servers, team.named(group), team.named(topic), PARTITIONS)
    evidence.lags |= _lags(servers, team, schedule)
    counts = Counter(str(event["event"]) for event in evidence.events)
    late = sum(event["until"] - event["since"] for event in evidence.of("late"))
    return Verdict(judge(evidence), dict(counts), late)


def _create_topics(cluster: ChaosCluster, schedule: Schedule, team: Team) -> list[str]:
    names = {client.given[key] for client in schedule.clients for key in ("topic", "target") if key in client.given}
    topics = sorted(team.named(name) for name in names)
    with kwire.Admin(cluster.bootstrap_servers) as admin:
        admin.create_topics(dict.fromkeys(topics, PARTITIONS))
        for client in schedule.clients:
            if client.role == "sharer":
                group = team.named(client.given["group"])
                admin.incremental_alter_configs({("group", group): _SHARE})
    return topics


def _catch_up(servers: str, topics: list[str], team: Team, folder: Path, schedule: Schedule) -> None:
    """Until the groups have read all; the checker says what they did not read in time."""
    deadline = time.monotonic() + (_CATCH_UP_S if not schedule.damages else 5.0)
    sources = [topic for topic in topics if not topic.startswith("copied")]
    logs = _read_topics(servers, sources)
    copied = {topic: read_topic(servers, topic, PARTITIONS) for topic in topics if topic not in sources}
    while time.monotonic() < deadline:
        team.keep_running()
        evidence = Evidence(read(folder), logs | copied, lags=_lags(servers, team, schedule))
        if not list(nothing_lost(evidence)) and not list(nothing_unaccepted_lost(evidence)):
            copied = {topic: read_topic(servers, topic, PARTITIONS) for topic in copied}
            if not list(copied_once(Evidence(evidence.events, logs | copied))):
                return
        time.sleep(0.5)


def _lags(servers: str, team: Team, schedule: Schedule) -> dict[tuple[str, str, int], int]:
    """How many records the share groups have not done with, by their coordinators; the partitions that those know."""
    groups = {team.named(client.given["group"]) for client in schedule.clients if client.role == "sharer"}
    with kwire.Admin(servers) as admin:
        return {
            (group, tp.topic, tp.partition): info.lag or 0
            for group in groups
            for tp, info in admin.list_share_group_offsets(group).items()
            if info is not None
        }


def _read_topics(servers: str, topics: list[str]) -> dict[str, dict[int, list[tuple[int, str]]]]:
    return {topic: read_topic(servers, topic, PARTITIONS) for topic in topics}


@contextmanager
def _watching_the_machine(history: History) -> Iterator[None]:
    """Writes down when the machine was too busy to wake a thread: no client can be in time then."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            before = time.monotonic()
            time.sleep(0.05)
            after = time.monotonic()
            if after - before > 0.05 + _LATE_S:
                history.note("late", since=before + 0.05, until=after)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
