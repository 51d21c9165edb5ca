"""Runs a Java program in one JVM and asks it: a JSON object a line, both ways.

Standard library only.
"""

import base64
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.brokers import BrokerError, find_release
from tests.brokers.java import find_java
from tests.brokers.maven import resolve_release
from tests.brokers.processes import JVM_FLAGS, dying_with_parent
from tests.oracle.compiling import compiled

JsonObject = dict[str, Any]

_SOURCES = Path(__file__).parent / "java"
_MAIN = "kwire.oracle.Main"


class RefusedError(Exception):
    """What a Kafka class threw: its full class name and its message."""

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(f"{java_class}: {message}")
        self.java_class = java_class
        self.message = message


class JavaProgram:
    """One JVM that answers questions, a JSON object a line; a context manager. `what` names it in errors."""

    def __init__(self, what: str, command: Sequence[str], stderr: int | None = None) -> None:
        self._what = what
        self._process = subprocess.Popen(
            dying_with_parent(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the JVM; harmless when it has ended."""
        self._process.kill()
        self._process.communicate()

    def answer(self, question: JsonObject) -> JsonObject:
        """The answer to one question, an error among them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise BrokerError(
                f"{self._what} ended with exit code {self._process.wait(10)} when asked {question!r:.200}"
            )
        answer: JsonObject = json.loads(line)
        return answer


class Oracle(JavaProgram):
    """One JVM with the classes of one release (4.4.0, or one that still has what 4.x dropped)."""

    def __init__(self, release: str) -> None:
        jars = resolve_release(find_release(release))
        classes = compiled(release, sorted(_SOURCES.rglob("*.java")), jars)
        super().__init__("the oracle", [find_java(), *JVM_FLAGS, "-cp", f"{classes}:{jars}/*", _MAIN])

    def ask(self, verb: str, **question: object) -> JsonObject:
        """The answer to one question; what the Kafka classes threw is raised as RefusedError."""
        answer = self.answer({"verb": verb, **question})
        if "error" in answer:
            raise RefusedError(answer["error"]["class"], answer["error"]["message"])
        return answer


def to_base64(data: bytes | None) -> str | None:
    """Bytes for a question."""
    return None if data is None else base64.b64encode(data).decode("ascii")


def from_base64(text: str | None) -> bytes | None:
    """Bytes of an answer."""
    return None if text is None else base64.b64decode(text)
