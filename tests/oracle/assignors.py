"""Java's assignors in one JVM, asked by bytes: what members send, and what a leader sends back.

The classes are those of the newest clients that the tools come with. Standard library only.
"""

import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.brokers import find_release
from tests.brokers.maven import resolve_tools
from tests.oracle.compiling import program
from tests.oracle.driver import JavaProgram, JsonObject, RefusedError, from_base64, to_base64

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


class JavaAssignors(JavaProgram):
    """The assignors; a context manager."""

    def __init__(self) -> None:
        command = program("Assignors", resolve_tools(find_release("4.4.0")))
        super().__init__("the JVM with the assignors", command, subprocess.DEVNULL)

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

    def _ask(self, assignor: str, **question: object) -> JsonObject:
        answer = self.answer({"assignor": assignor, **question})
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
