"""`kwire decode` of a packet capture: each frame with its time, its pair, and its fields.

Reads the capture once, from a file or a pipe, and holds the connections, not the packets.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO

from kwire import errors, protocol
from kwire.cli.capture.conversations import Conversations, Message
from kwire.cli.capture.files import Reader
from kwire.cli.capture.packets import Segment, segment_of
from kwire.cli.frame_gist import Gist, gist_of
from kwire.cli.rendering import as_text
from kwire.cli.usage import UsageError
from kwire.engine.common.numbers import signed_number
from kwire.errors.listing import counted

__all__ = ["Filter", "decode_capture", "described", "error_names", "messages_of", "tell_notes", "token_text"]

_PROGRESS_EVERY = 4096
_TOPIC_FIELDS = {"topic", "name", "topic_name", "topics"}


def decode_capture(
    source: BinaryIO,
    head: bytes,
    size: int | None,
    options: argparse.Namespace,
    write: Callable[[str], None],
    color: bool,
) -> int:
    """Writes what the capture holds. `size` is that of the file, for the progress shown on a terminal.

    Raises CodecError for a file that is not a capture; what is odd inside it is reported on stderr at the end.
    """
    reader = Reader(source, head)
    conversations = Conversations(port=options.port, generation=options.generation, max_frame=options.max_frame)
    wanted = Filter(options)
    shown = 0
    for message in messages_of(reader, conversations, size):
        if not wanted.wants(message):
            continue
        text = _Shown(message, conversations, options).text(color)
        if text is not None:
            shown += 1
            write(text)
    tell_notes(reader, conversations)
    if not shown:
        print("no frame to show" + wanted.explanation(), file=sys.stderr)
    return 0


def tell_notes(reader: Reader, conversations: Conversations) -> None:
    """Says on stderr what was odd, and what was guessed."""
    for note in (*reader.notes, *conversations.notes):
        print(f"note: {note}", file=sys.stderr)


def messages_of(reader: Reader, conversations: Conversations, size: int | None) -> Iterator[Message]:
    """The frames of the capture, while its progress is shown; `size` is that of the file."""
    progress = _Progress(size)
    for number, packet in enumerate(reader.packets()):
        if number % _PROGRESS_EVERY == 0:
            progress.show(reader.position)
        segment = segment_of(packet)
        if isinstance(segment, Segment):
            yield from conversations.take(segment)
        else:
            conversations.counts[f"packets skipped, {segment}"] += 1
    yield from conversations.end()
    progress.clear()


class _Progress:
    """How far it is, on a terminal only, once a second."""

    def __init__(self, size: int | None) -> None:
        self._size = size if size and sys.stderr.isatty() and not sys.stdout.isatty() else None
        self._next = time.monotonic() + 1
        self._told = False

    def show(self, position: int) -> None:
        now = time.monotonic()
        if self._size is not None and now >= self._next:
            self._next, self._told = now + 1, True
            print(f"\r{position * 100 // self._size:3} %", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._told:
            print("\r     \r", end="", file=sys.stderr, flush=True)


class Filter:
    """Which frames are wanted; topics and errors are judged when a frame is looked into."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._keys = {_key_of(text) for text in options.key or ()}
        self._correlation = options.correlation
        self._frame = options.frame
        self._at = options.at if options.frame is None else None
        self._since, self._until = options.since, options.until
        self._span: tuple[int, int] | None = None

    def wants(self, message: Message) -> bool:
        """Judges by the header alone."""
        if self._keys and message.api_key not in self._keys:
            return False
        if self._correlation is not None and message.correlation_id != self._correlation:
            return False
        if self._frame is not None and message.number != self._frame:
            return False
        if self._at is not None and message.frame.offset_of(self._at) is None:
            return False
        return self._in_time(message.frame.begin_ns)

    def _in_time(self, time_ns: int) -> bool:
        if self._since is None and self._until is None:
            return True
        if self._span is None:
            first = _moment(self._since, time_ns, "--from") if self._since is not None else 0
            last = _moment(self._until, time_ns, "--to") if self._until is not None else 2**63
            self._span = (first, last)
        return self._span[0] <= time_ns <= self._span[1]

    def explanation(self) -> str:
        if self._at is not None:
            return f": byte {self._at} of the file belongs to no frame"
        return ""


def _key_of(text: str) -> int:
    number = signed_number(text)
    if number is not None:
        return number
    by_name = {api.name.lower(): api.key for api in protocol.APIS.values()}
    if text.lower() not in by_name:
        raise UsageError(f"--key {text!r}: not an API; 'Metadata' or 3 would work")
    return by_name[text.lower()]


def _moment(text: str, day_of_ns: int, option: str) -> int:
    """A time of day, on the day of the capture's first frame, or an ISO date; in UTC unless it says otherwise."""
    try:
        day = datetime.fromtimestamp(day_of_ns // 1_000_000_000, UTC)
        if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?", text):
            text = f"{day.date().isoformat()}T{text:0>5}"
        found = datetime.fromisoformat(text)
    except (OverflowError, ValueError, OSError):
        raise UsageError(f"{option} {text!r}: write a time as 14:03, 14:03:07.5 or 2026-11-21T14:03:07Z") from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return int(found.timestamp() * 1_000_000) * 1000


class _Shown:
    """One frame as it is to be printed; None when a filter that looks inside it does not want it."""

    def __init__(self, message: Message, conversations: Conversations, options: argparse.Namespace) -> None:
        self.message = message
        self.conversations = conversations
        self.options = options

    def text(self, color: bool) -> str | None:
        options = self.options
        description = None
        if not options.summary or options.topic or options.errors:
            description = described(self.message, self.conversations, options)
        failing = [] if description is None else error_names(description)
        if options.errors and not failing and not (description and description.errors):
            return None
        if options.topic and (description is None or not _names_topic(description, options.topic)):
            return None
        if options.summary:
            gist = gist_of(self.message, self.conversations.topic_names)
            return self._json(None, gist) if options.json else self._summary(description, gist)
        if options.json:
            return self._json(description)
        return self._lines(description, color)

    def _place(self) -> str:
        message = self.message
        return f"#{message.number}  {_time_text(message.frame.begin_ns)}  {message.source} → {message.target}"

    def _lines(self, description: protocol.Description | None, color: bool) -> str:
        message = self.message
        about = [self._place()]
        if message.answers is not None:
            about.append(f"answers #{message.answers}{_latency_text(message.latency_ns)}")
        if message.frame.missing:
            about.append(f"{counted(message.frame.missing, 'byte')} not in the capture")
        head = "  ".join(about)
        at = self.options.at
        if at is not None and self.options.frame is None:
            at = message.frame.offset_of(at)
            head += f"  (byte {at} of the frame)"
        if description is None:
            return f"{head}\n{self._untold()}\n"
        return f"{head}\n{description.to_text(color=color, at=at)}\n"

    def _untold(self) -> str:
        message = self.message
        size = len(message.frame.data)
        if message.kind == "token":
            return token_text(message, secrets=self.options.secrets)
        if message.correlation_id is not None:
            return f"response, correlation id {message.correlation_id}, {size} bytes: its request is not in the capture"
        return f"a frame of {counted(size, 'byte')} that is too short for a header"

    def _summary(self, description: protocol.Description | None, gist: Gist) -> str:
        message = self.message
        way = "→" if message.kind == "request" else "←"
        version = message.generation or ("" if message.version is None else f"v{message.version}")
        correlation = "" if message.correlation_id is None else f"id {message.correlation_id}"
        size = f"{len(message.frame.data) + message.frame.missing} B"
        text = (
            f"{message.number:>6}  {_time_text(message.frame.begin_ns)}  {message.connection:>3} {way} "
            f"{message.name:<24} {version:<4} {correlation:<14} {size:>12}{_latency_text(message.latency_ns):>14}"
        )
        text += f"  {gist}"
        if description is not None and description.errors:
            text += f"  DAMAGED: {description.errors[0]}"
        return text.rstrip()

    def _json(self, description: protocol.Description | None, gist: Gist | None = None) -> str:
        message = self.message
        made: dict[str, Any] = {
            "frame": message.number,
            "time": _time_text(message.frame.begin_ns),
            "connection": message.connection,
            "from": str(message.source),
            "to": str(message.target),
            "kind": message.kind,
        }
        if message.api_key is not None:
            made["api_name"] = message.name
        for name in ("generation", "api_key", "version", "correlation_id", "client_id", "answers"):
            if getattr(message, name) is not None:
                made[name] = getattr(message, name)
        if message.latency_ns is not None:
            made["latency_us"] = message.latency_ns // 1000
        made["size"] = len(message.frame.data) + message.frame.missing
        if message.kind == "token":
            made["token"] = as_text(message.frame.data[4:]) if self.options.secrets else "<secret>"
        if message.frame.missing:
            made["missing"] = message.frame.missing
        if gist is not None and gist.topics:
            made["topics"] = gist.topics
        if gist is not None and gist.errors:
            made["error_codes"] = gist.errors
        if description is not None:
            made.update(description.to_dict())
        return json.dumps(made, ensure_ascii=False)


def described(
    message: Message, conversations: Conversations, options: argparse.Namespace
) -> protocol.Description | None:
    """The frame field by field; None where it is neither a request nor a response to one."""
    if message.kind not in ("request", "response"):
        return None
    asked = () if message.kind == "request" else (message.api_key, message.version)
    return protocol.describe(
        message.frame.data,
        *asked,
        generation=message.generation,
        secrets=options.secrets,
        max_items=None if options.at is not None else options.items,
        topic_names=conversations.topic_names,
    )


def token_text(message: Message, *, secrets: bool) -> str:
    """A line about a token of SASL."""
    shown = repr(message.frame.data[4:])[2:-1] if secrets else "not shown: <secret>"
    return f"SASL token, {counted(len(message.frame.data), 'byte')}, {shown}"


def error_names(description: protocol.Description) -> list[str]:
    """The names of the error codes in a response, each once, in their order."""
    if description.direction != "response":
        return []
    codes = (leaf for leaf in description.leaves() if leaf.name.endswith("error_code") and leaf.value)
    return list(dict.fromkeys(errors.broker.by_code(leaf.value).name for leaf in codes))


def _names_topic(description: protocol.Description, topic: str) -> bool:
    for leaf in description.leaves():
        if leaf.value == topic and (leaf.name in _TOPIC_FIELDS or leaf.name.startswith("[")):
            return True
        if leaf.name == "topic_id" and leaf.meaning == topic:
            return True
    return False


def _time_text(time_ns: int) -> str:
    if not time_ns:
        return "-"
    try:
        moment = datetime.fromtimestamp(time_ns // 1_000_000_000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{time_ns} ns"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ns % 1_000_000_000 // 1000:06}Z"


def _latency_text(latency_ns: int | None) -> str:
    if latency_ns is None:
        return ""
    return f"  {latency_ns / 1_000_000:.3f} ms"
