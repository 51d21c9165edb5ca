"""Compiles the Java program against one release's jars, runs one JVM and asks it: a JSON object a line, both ways.

The class files are kept in the cache folder under a digest of their sources, so that a session compiles only what
changed. Standard library only.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.brokers import BrokerError, find_release
from tests.brokers.java import OLDEST_JAVA, find_java
from tests.brokers.maven import cache_folder, resolve_release
from tests.brokers.processes import JVM_FLAGS, dying_with_parent

JsonObject = dict[str, Any]

_SOURCES = Path(__file__).parent / "java"
_MAIN = "kwire.oracle.Main"
_COMPILE_WITHIN_S = 120


class RefusedError(Exception):
    """What a Kafka class threw: its full class name and its message."""

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(f"{java_class}: {message}")
        self.java_class = java_class
        self.message = message


class Oracle:
    """One JVM with the classes of one release (4.4.0, or one that still has what 4.x dropped); a context manager."""

    def __init__(self, release: str) -> None:
        jars = resolve_release(find_release(release))
        classes = _compiled(release, jars)
        command = [find_java(), *JVM_FLAGS, "-cp", f"{classes}:{jars}/*", _MAIN]
        self._process = subprocess.Popen(
            dying_with_parent(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the JVM; harmless when it has ended."""
        self._process.kill()
        self._process.communicate()

    def ask(self, verb: str, **question: object) -> JsonObject:
        """The answer to one question; what the Kafka classes threw is raised as RefusedError."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"verb": verb, **question}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise BrokerError(f"the oracle ended with exit code {self._process.wait(10)} when asked to {verb}")
        answer: JsonObject = json.loads(line)
        if "error" in answer:
            raise RefusedError(answer["error"]["class"], answer["error"]["message"])
        return answer


def to_base64(data: bytes | None) -> str | None:
    """Bytes for a question."""
    return None if data is None else base64.b64encode(data).decode("ascii")


def from_base64(text: str | None) -> bytes | None:
    """Bytes of an answer."""
    return None if text is None else base64.b64decode(text)


def _compiled(release: str, jars: Path) -> Path:
    sources = sorted(_SOURCES.rglob("*.java"))
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    folder = cache_folder() / "oracle" / f"{release}-{digest}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _compile(sources, jars, partial)
        if not folder.is_dir():
            partial.rename(folder)
    except OSError:
        # Another process may have put the same classes in place between the look and the rename.
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _compile(sources: list[Path], jars: Path, target: Path) -> None:
    # For the oldest Java that is let in, so that classes in the cache outlive a change of JDK.
    command = [find_java("javac"), "--release", str(OLDEST_JAVA), "-encoding", "UTF-8", "-d", str(target)]
    command += ["-cp", f"{jars}/*", *map(str, sources)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_WITHIN_S, check=False)
    if run.returncode != 0:
        raise BrokerError(f"the oracle does not compile:\n{run.stdout}{run.stderr}")
