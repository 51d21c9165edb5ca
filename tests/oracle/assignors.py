"""Java's assignors in one JVM, asked by bytes: what members send, and what a leader sends back.

The classes are those of the newest clients that the tools come with. Standard library only.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from tests.brokers import BrokerError, find_release
from tests.brokers.maven import resolve_tools
from tests.brokers.processes import dying_with_parent
from tests.oracle.compiling import program
from tests.oracle.driver import RefusedError, from_base64, to_base64

Racks = Mapping[str, Sequence[Sequence[str | None]]]
"""By topic the racks of each partition's replicas."""


class Member(NamedTuple):
    """A row of JoinGroup's answer to the leader."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class Times(NamedTuple):
    """Seconds of the fastest run: of the assignor alone, and with reading and writing."""

    of_class: float
    with_bytes: float


class JavaAssignors:
    """One JVM; a context manager."""

    def __init__(self) -> None:
        jars = resolve_tools(find_release("4.4.0"))
        self._process = subprocess.Popen(
            dying_with_parent(program("Assignors", jars)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> "JavaAssignors":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the JVM; harmless when it has ended."""
        self._process.kill()
        self._process.communicate()

    def assign(
        self, assignor: str, topics: Racks, members: Sequence[Member], *, leader: str | None = None
    ) -> dict[str, bytes]:
        """Each member's assignment; RefusedError with what Java threw. The same leader has the same assignor."""
        return _assignments(self._ask(assignor, topics=topics, members=_rows(members), leader=leader))

    def time(self, assignor: str, topics: Racks, members: Sequence[Member], times: int) -> Times:
        """How long the fastest of so many runs took."""
        answer = self._ask(assignor, topics=topics, members=_rows(members), times=times, leader=None)
        return Times(answer["class_ns"] / 1e9, answer["bytes_ns"] / 1e9)

    def metadata(
        self,
        assignor: str,
        *,
        subscribed: Sequence[str],
        owned: Sequence[tuple[str, int]] = (),
        generation: int = -1,
        assigned: bytes | None = None,
        rack: str | None = None,
        version: int = 3,
    ) -> bytes:
        """What a member sends in JoinGroup whose last assignment was `assigned`, in that generation."""
        answer = self._ask(
            assignor,
            subscribed=subscribed,
            owned=owned,
            generation=generation,
            assigned=to_base64(assigned),
            rack=rack,
            version=version,
        )
        return from_base64(answer["metadata"]) or b""

    def _ask(self, assignor: str, **question: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"assignor": assignor, **question}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise BrokerError(f"the JVM with the assignors ended with exit code {self._process.wait(10)}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            java_class, _, message = answer["error"].partition(": ")
            raise RefusedError(java_class, message)
        return answer


def _rows(members: Sequence[Member]) -> list[dict[str, str | None]]:
    return [
        {"id": row.member_id, "instance": row.group_instance_id, "metadata": to_base64(row.metadata)} for row in members
    ]


def _assignments(answer: Mapping[str, Any]) -> dict[str, bytes]:
    return {member: from_base64(data) or b"" for member, data in answer["assignments"].items()}
