"""What happened, as JSON lines that are only appended to: one file for each process, one clock for all of them.

A line has `t` (CLOCK_MONOTONIC, which all processes of a machine share), `who` (a client's name and its incarnation),
`event`, and what belongs to that:

    started         role, and what it works on: group, topic, target, share, transactional
    begun           call, name, within: a call, and the seconds in which it promises to return
    ended           call, waited: the seconds without a processor, and error if it raised
    sent            topic, partition, value, within: a record before it is handed to the producer
    delivered       topic, partition, value, offset
    failed          topic, partition, value, error
    handed_out      group, topic, partition, records: [[offset, value], ...]
    committing      commit, group, topic, positions: {partition: offset}
    committed       commit
    accepting       group, topic, partition, offsets: of a share group, before it is told
    accepted        group, topic, partition, offsets: of a share group, once the broker has said so
    transaction     transaction, topic, values: before it begins
    resolved        transaction, outcome: "committed" or "aborted"
    forked          does, code: what a child did, and how it ended
    cut, healed     fault: what the program does to the cluster and to clients
    hangs           fault, node: the node that is stopped
    killed          client: SIGKILL
    stopped         client, since, until: SIGSTOP and SIGCONT, written down after the second
    exited          client, code, tail: the end of a process that was not killed
    late            since, until: the machine let a thread sleep so much longer than it wanted to
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class History:
    """Appends to one file. A line is one write, so that SIGKILL leaves all of them whole but the last."""

    def __init__(self, path: Path, who: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._who = who

    def note(self, event: str, **facts: object) -> None:
        """Writes one line."""
        line = json.dumps({"t": time.monotonic(), "who": self._who, "event": event, **facts}) + "\n"
        os.write(self._file, line.encode())

    def close(self) -> None:
        """No more lines."""
        os.close(self._file)


def read(folder: Path) -> list[Event]:
    """All events of a folder, in the order of time."""
    events = [event for path in sorted(folder.glob("*.jsonl")) for event in _events(path)]
    return sorted(events, key=lambda event: float(event["t"]))


def _events(path: Path) -> Iterator[Event]:
    for line in path.read_bytes().split(b"\n")[:-1]:
        yield json.loads(line)
