"""`kwire decode --html`: a capture as one page for the browser, each request beside its answer.

The page is `decode_page.html` with the data in it as JSON: fields of frames as they are read, each in an element of its
own that the page's script parses when it is opened; then the list of exchanges. The page loads nothing, and its policy
lets no script run but that of the template. What was read from the wire is in the JSON alone, as ASCII without angle
brackets, and the script shows it as text.

Bytes are shown only of fields whose value is: what is secret, cut off, damaged, passed over or compressed stays out.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO

from kwire import protocol
from kwire._html import readable
from kwire.cli.capture.conversations import Conversations, Message
from kwire.cli.capture.files import Reader
from kwire.cli.decode_capture import Filter, described, error_names, messages_of, tell_notes, token_text
from kwire.cli.frame_gist import gist_of
from kwire.cli.rendering import cut
from kwire.errors import ConfigError
from kwire.schema.describing.rendering import lines_of, value_text
from kwire.schema.describing.tree import Field

__all__ = ["write_page"]

_MAX_DETAIL_BYTES = 24 * 1024 * 1024
_MAX_FIELDS = 2000
_MAX_TOPICS = 100
_MAX_TEXT = 300
_MAX_HEX = 64
_LONGEST_NUMBER = 10
_NULLS = {b"\x00", b"\x01", b"\xff\xff", b"\xff\xff\xff\xff"}
_DATA = "<!-- data -->"
_POLICY = "POLICY"


def write_page(source: BinaryIO, head: bytes, size: int | None, options: argparse.Namespace) -> int:
    """Writes the page; notes about the capture are in it, and go to stderr, too."""
    reader = Reader(source, head)
    conversations = Conversations(port=options.port, generation=options.generation, max_frame=options.max_frame)
    begin, end = _template()
    with _target(options.page) as write:
        write(begin)
        page = _Page(conversations, options, write)
        for message in messages_of(reader, conversations, size):
            page.take(message)
        page.end([*reader.notes, *conversations.notes])
        write(end)
    tell_notes(reader, conversations)
    return 0


@contextmanager
def _target(file: str | None) -> Iterator[Callable[[str], object]]:
    if file is None:
        yield sys.stdout.write
        return
    try:
        target = Path(file).open("w", encoding="ascii")
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    with target:
        yield target.write


def _template() -> tuple[str, str]:
    """What stands before the data and after them."""
    text = files("kwire.cli").joinpath("decode_page.html").read_text(encoding="ascii")
    style, script = (_hash_of(text, tag) for tag in ("style", "script"))
    policy = f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"
    begin, _, end = text.replace(_POLICY, policy, 1).partition(_DATA)
    return begin, end


def _hash_of(text: str, tag: str) -> str:
    content = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[0]
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


class _Page:
    """Writes the fields of frames as they come, and at the end the list of exchanges, which is held until then."""

    def __init__(
        self, conversations: Conversations, options: argparse.Namespace, write: Callable[[str], object]
    ) -> None:
        self._conversations = conversations
        self._options = options
        self._write = write
        self._wanted = Filter(options)
        self._exchanges: dict[int, dict[str, Any]] = {}
        self._connections: dict[int, tuple[str, str]] = {}
        self._left_out = 0
        self._detailed: set[int] = set()
        self._failing_details = 0
        self._detail_bytes = 0

    def take(self, message: Message) -> None:
        """Puts the frame into the list, by itself or as the answer of its request."""
        asked = None if message.answers is None else self._exchanges.get(message.answers)
        if asked is None and not self._wanted.wants(message):
            return
        if asked is None and len(self._exchanges) >= self._options.max_exchanges:
            self._left_out += message.answers is None
            return
        exchange = self._begun(message) if asked is None else asked
        if message.kind == "response":
            exchange["answer"] = message.number
            exchange["answer_size"] = len(message.frame.data) + message.frame.missing
            if message.latency_ns is not None:
                exchange["latency"] = message.latency_ns // 1000
        gist = gist_of(message, self._conversations.topic_names)
        topics = dict.fromkeys([*exchange["topics"], *map(_text, gist.topics)])
        exchange["topics"] = list(topics)[:_MAX_TOPICS]
        failed = self._detail(exchange["number"], message, is_failing=bool(gist.errors))
        exchange["errors"] += [name for name in gist.errors or failed if name not in exchange["errors"]]

    def _begun(self, message: Message) -> dict[str, Any]:
        ends = (str(message.source), str(message.target))
        if message.kind in ("request", "response"):
            self._connections[message.connection] = ends if message.kind == "request" else (ends[1], ends[0])
        else:
            self._connections.setdefault(message.connection, ends)
        made: dict[str, Any] = {
            "number": message.number,
            "kind": message.kind,
            "time": message.frame.begin_ns // 1000,
            "connection": message.connection,
            "api": message.name,
            "version": message.generation or message.version,
            "correlation_id": message.correlation_id,
            "client_id": None if message.client_id is None else _text(message.client_id),
            "size": None if message.kind == "response" else len(message.frame.data) + message.frame.missing,
            "topics": [],
            "errors": [],
        }
        self._exchanges[message.number] = made
        if len(self._exchanges) <= self._options.max_details:
            self._detailed.add(message.number)
        return made

    def _detail(self, exchange: int, message: Message, *, is_failing: bool) -> list[str]:
        """Writes the fields of a frame, if they are wanted; the error codes that they hold, and "damaged"."""
        if self._detail_bytes >= _MAX_DETAIL_BYTES:
            self._detailed.discard(exchange)
            return []
        if exchange not in self._detailed:
            if not is_failing or self._failing_details >= self._options.max_details:
                return []
            self._failing_details += 1
        description = described(message, self._conversations, self._options)
        text = _script(f"frame-{message.number}", self._frame(message, description))
        self._detail_bytes += len(text)
        self._write(text)
        if description is None:
            return []
        return [*error_names(description), *(["damaged"] if description.errors else [])]

    def _frame(self, message: Message, description: protocol.Description | None) -> dict[str, Any]:
        made: dict[str, Any] = {"title": _title(message, description, secrets=self._options.secrets)}
        if message.frame.missing:
            made["missing"] = message.frame.missing
        if description is not None:
            lines = [
                _line(mark, depth, field, message.frame.data)
                for (mark, depth, field), _ in zip(lines_of(description.root), range(_MAX_FIELDS), strict=False)
            ]
            made["fields"] = lines
            made["more"] = sum(1 for _ in lines_of(description.root)) - len(lines)
            made["notes"] = [_text(note) for note in description.notes]
            made["damages"] = [_text(f"{type(error).__name__}: {error}") for error in description.errors]
        return made

    def end(self, notes: list[str]) -> None:
        """Writes the list."""
        summary = {
            "file": "standard input" if self._options.file == "-" else _text(Path(self._options.file).name),
            "connections": {number: list(ends) for number, ends in self._connections.items()},
            "notes": [_text(note) for note in notes],
            "left_out": self._left_out,
            "without_details": len(self._exchanges) - len(self._detailed),
            "most_topics": _MAX_TOPICS,
        }
        self._write(_script("summary", summary))
        self._write(_script("exchanges", list(self._exchanges.values())))


def _script(name: str, content: object) -> str:
    text = json.dumps(content, separators=(",", ":")).replace("&", "\\u0026")
    text = text.replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def _text(text: str) -> str:
    return cut(readable(text[: _MAX_TEXT + 1]), _MAX_TEXT)


def _title(message: Message, description: protocol.Description | None, *, secrets: bool) -> str:
    if description is not None:
        return _text(description.title)
    if message.kind == "token":
        return _text(token_text(message, secrets=secrets))
    return f"{message.kind} frame of {len(message.frame.data)} bytes: what it belongs to is not in the capture"


def _line(mark: str, depth: int, field: Field, frame: bytes) -> list[Any]:
    """Depth, mark and place, name, type, value, meaning, bytes in hex, and whether it is damaged."""
    data = b"" if mark == "~" or not _is_told(field, frame) else frame[field.start : field.end]
    shown = data[:_MAX_HEX].hex(" ") + (f" \u2026 ({len(data)} bytes)" if len(data) > _MAX_HEX else "")
    place = f"{mark.strip()}{field.start}"
    texts = (field.name, field.type, value_text(field), field.meaning)
    return [depth, place, *map(_text, texts), shown, int(field.error is not None)]


def _is_told(field: Field, frame: bytes) -> bool:
    """Whether the value says all that the bytes of a field without parts do."""
    if field.secret or field.children or field.decompressed is not None:
        return False
    if field.value is None:
        return frame[field.start : field.end] in _NULLS
    return not isinstance(field.value, int) or field.size <= _LONGEST_NUMBER
