"""Apache's own test tools as child processes: they tell what they do by JSON lines on standard output."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.brokers import find_release
from tests.brokers.java import find_java
from tests.brokers.maven import resolve, resolve_tools
from tests.brokers.processes import JVM_FLAGS, Child
from tests.brokers.releases import ALWAYS_EXCLUDED
from tests.oracle.compiling import compiled

WITHIN_S = 60.0
STREAMS = "4.3.1"
_TOOLS = "org.apache.kafka.tools"


class JavaTool:
    """A running class with a `main`; the context ends it."""

    def __init__(self, folder: Path, name: str, main: str, *arguments: str, jars: Sequence[str] = ()) -> None:
        classes = ":".join(jars) or f"{resolve_tools(find_release('4.4.0'))}/*"
        command = [find_java(), *JVM_FLAGS, "-cp", classes, main, *arguments]
        self._log = folder / f"{name}.log"
        self._child = Child(name, command, self._log, folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        """What it has told so far, of one name or of all."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
        found = [json.loads(line) for line in lines if line.startswith("{")]
        return [event for event in found if name is None or event.get("name") == name]

    def wait_for(self, condition: Callable[[Self], bool], what: str) -> None:
        until = time.monotonic() + WITHIN_S
        while not condition(self):
            assert time.monotonic() < until, f"{what}: not within {WITHIN_S} s\n{self._child.tail()}"
            assert self._child.exit_code is None or condition(self), f"{what}: it ended\n{self._child.tail()}"
            time.sleep(0.05)

    @property
    def has_ended(self) -> bool:
        return self._child.exit_code is not None

    def tail(self) -> str:
        """The end of what it said."""
        return self._child.tail()

    def terminate(self) -> None:
        """SIGTERM: it closes its clients in order."""
        os.kill(self._child.pid, signal.SIGTERM)
        assert self._child.wait(WITHIN_S) is not None, f"it does not end\n{self._child.tail()}"

    def kill(self) -> None:
        """SIGKILL."""
        self._child.kill()

    def finish(self) -> str:
        """Waits for its end, which must be a good one; returns its output."""
        code = self._child.wait(WITHIN_S)
        assert code == 0, f"ended with {code}\n{self._child.tail()}"
        return self._log.read_text(encoding="utf-8")


def run(folder: Path, tool: str, *arguments: str) -> str:
    """The output of a tool of `org.apache.kafka.tools` that ends by itself."""
    with JavaTool(folder, f"{tool}-{time.monotonic_ns()}", f"{_TOOLS}.{tool}", *arguments) as running:
        return running.finish()


class VerifiableConsumer(JavaTool):
    """One member of a group; it commits after each poll."""

    def __init__(self, folder: Path, name: str, servers: str, topic: str, group: str, *arguments: str) -> None:
        config = folder / f"{name}.properties"
        heartbeats = "" if "consumer" in arguments else "heartbeat.interval.ms=200\n"
        config.write_text(f"client.id={name}\nmetadata.max.age.ms=1000\n{heartbeats}")
        named = ("--bootstrap-server", servers, "--topic", topic, "--group-id", group, "--command-config", str(config))
        super().__init__(folder, name, f"{_TOOLS}.VerifiableConsumer", *named, *arguments)

    def partitions(self) -> set[int]:
        """What it has now, by the events of its rebalances."""
        held: set[int] = set()
        for event in self.events():
            named = {each["partition"] for each in event.get("partitions", ()) if "partition" in each}
            if event["name"] == "partitions_assigned":
                held |= named
            elif event["name"] in ("partitions_revoked", "partitions_lost"):
                held -= named
        return held

    def consumed(self) -> int:
        return sum(event["count"] for event in self.events("records_consumed"))


class VerifiableShareConsumer(JavaTool):
    """One member of a share group; `mode` is how it acknowledges: auto, sync or async."""

    def __init__(self, folder: Path, name: str, servers: str, topic: str, group: str, mode: str) -> None:
        named = ("--bootstrap-server", servers, "--topic", topic, "--group-id", group, "--acknowledgement-mode", mode)
        main = f"{_TOOLS}.VerifiableShareConsumer"
        super().__init__(folder, name, main, *named, "--offset-reset-strategy", "earliest", "--max-messages", "-1")

    def acknowledged(self) -> list[tuple[int, int]]:
        """Each (partition, offset) that it acknowledged."""
        return [
            (each["partition"], offset)
            for event in self.events("offsets_acknowledged")
            for each in event["partitions"]
            for offset in each["offsets"]
        ]


class LateMember(JavaTool):
    """Apache's clients in the schedule of a member that is late: see `java/LateMember.java`."""

    def __init__(self, folder: Path, servers: str, read: str, written: str, group: str, protocol: str) -> None:
        jars = resolve_tools(find_release("4.4.0"))
        classes = compiled("tools-4.4.0", [Path(__file__).parent / "java" / "LateMember.java"], jars)
        arguments = (servers, read, written, group, protocol)
        super().__init__(folder, "late", "LateMember", *arguments, jars=[str(classes), f"{jars}/*"])


def settle(members: Sequence[VerifiableConsumer], partitions: int) -> None:
    """Waits until every partition is with exactly one of the members, and each has some."""
    until = time.monotonic() + WITHIN_S
    while True:
        held = [each.partitions() for each in members]
        if all(held) and sorted(index for each in held for index in each) == list(range(partitions)):
            return
        said = f"not balanced: {held}\n" + "\n".join(each.tail() for each in members)
        assert not any(each.has_ended for each in members), said
        assert time.monotonic() < until, said
        time.sleep(0.05)


class CountWords(JavaTool):
    """An application of Kafka Streams with exactly-once processing, "counting": it counts the values of a topic."""

    def __init__(
        self, folder: Path, name: str, servers: str, read: str, written: str, *, protocol: str = "classic"
    ) -> None:
        # Its store is in memory: RocksDB, the largest of all jars, is not needed.
        jars = resolve(
            f"streams-{STREAMS}",
            (f"org.apache.kafka:kafka-streams:{STREAMS}", "org.slf4j:slf4j-simple:1.7.36"),
            (*ALWAYS_EXCLUDED, "org.rocksdb:rocksdbjni"),
        )
        source = Path(__file__).parent / "java" / "CountWords.java"
        classes = compiled(f"streams-{STREAMS}", [source], jars)
        state = folder / f"state-{name}"
        arguments = (servers, "counting", read, written, str(state), protocol)
        super().__init__(folder, name, "CountWords", *arguments, jars=[str(classes), f"{jars}/*"])
