"""Members of a share group that are killed and started again, and what has become of each record by what they said."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.brokers import Cluster
from tests.brokers.groups.share_members import kwire_member
from tests.brokers.processes import Child

Place = tuple[int, int]
"""Partition and offset."""
_REFUSED = "INVALID_RECORD_STATE"


class ShareTeam:
    """So many members by kwire. A member's answer is lost when it is killed between its commit and its next line."""

    def __init__(self, cluster: Cluster, topic: str, folder: Path, size: int) -> None:
        self._cluster = cluster
        self._topic = topic
        self._folder = folder
        self._started = 0
        self._read: dict[Child, int] = {}
        self._open: dict[Child, set[Place]] = {}
        self._running = [self._start() for _ in range(size)]
        self.accepted: Counter[Place] = Counter()
        self.refused: set[Place] = set()
        self._unknown: set[Place] = set()

    def kill(self, number: int) -> None:
        """SIGKILL for one, and another in its place."""
        self._running[number].kill()
        self._running[number] = self._start()

    def close(self) -> None:
        """Kills all."""
        for member in self._running:
            member.kill()

    def gather(self) -> None:
        """Takes in what was said since the last time; a member that ended by itself is a failure."""
        for member in self._running:
            assert member.exit_code is None, member.tail()
        for member in self._read:
            with member.log.open("rb") as log:
                log.seek(self._read[member])
                whole, end, _ = log.read().rpartition(b"\n")
            self._read[member] += len(whole) + len(end)
            for line in whole.splitlines():
                if line.startswith(b"{"):
                    self._take_in(member, json.loads(line))

    @property
    def unknown(self) -> set[Place]:
        """Records that a member worked on and whose acceptance nobody was told of: accepted or not."""
        return self._unknown.union(*self._open.values()) - self.accepted.keys()

    def _start(self) -> Child:
        self._started += 1
        member = kwire_member(self._cluster, self._topic, self._folder, self._started)
        self._read[member] = 0
        self._open[member] = set()
        return member

    def _take_in(self, member: Child, event: dict[str, Any]) -> None:
        places = {(event["partition"], offset) for offset in event.get("offsets", ())}
        match event["name"]:
            case "worked_on":
                self._open[member] |= places
            case "accepted":
                self._open[member] -= places
                self.accepted.update(places)
            case "refused":
                self._open[member] -= places
                (self.refused if _REFUSED in event["error"] else self._unknown).update(places)
