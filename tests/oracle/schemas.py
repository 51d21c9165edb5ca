"""Questions to the classes of old releases: the layouts they have, and what they read and write by them.

From 0.8.2 to 0.10.2 the Java clients kept every message as a schema in one table, by key and version. A layout is a
tuple of (field name, type) in wire order; a type is the name of a plain one ("INT16", "NULLABLE_STRING"), an Array, or
a layout. As in the reference codec, a structure of one field inside an array is written as its field, and a structure
that is no element of an array as its fields.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.brokers import BrokerError, find_release
from tests.brokers.maven import resolve_clients, resolve_release
from tests.brokers.releases import CLIENTS_OF_EVERY_RUN
from tests.oracle.compiling import program

_WITHIN_S = 180

Layout = tuple[tuple[str, Any], ...]


class Case(NamedTuple):
    """A message: the direction is "request" or "response"."""

    direction: str
    key: int
    version: int


class Array(NamedTuple):
    """The type of a field with a count before its elements."""

    element: Any
    nullable: bool


class Answer(NamedTuple):
    """What the classes read (structures as tuples) and wrote; or the refusal, and nothing."""

    values: tuple[Any, ...]
    data: bytes
    refusal: str = ""


def jars_of(version: str) -> Path:
    """The folder with the jars of a release: a broker's, where brokers of it are started by other tests."""
    return resolve_clients(version) if version in CLIENTS_OF_EVERY_RUN else resolve_release(find_release(version))


@cache
def layouts(jars: Path) -> dict[Case, Layout]:
    """Every schema of the release's table."""
    found = {}
    for line in _run([*program("Schemas", jars), "layouts"], "").splitlines():
        direction, key, version, layout = line.split("\t")
        found[Case(direction, int(key), int(version))] = _fields(json.loads(layout))
    return found


def as_text(layout: Layout) -> str:
    """The layout as the reference codec's tables have it: "group_ids [string], metadata string?"."""
    return ", ".join(f"{name} {_type_text(kind)}" for name, kind in layout)


def _type_text(kind: Any) -> str:
    if isinstance(kind, Array):
        return f"[{_type_text(kind.element)}]{'?' * kind.nullable}"
    if isinstance(kind, tuple):
        return as_text(kind)
    plain = str(kind).removeprefix("NULLABLE_")
    return ("bool" if plain == "BOOLEAN" else plain.lower()) + ("?" if plain != kind else "")


def read_and_write(jars: Path, bodies: Sequence[tuple[Case, bytes]]) -> list[Answer]:
    """What the release's classes read from each body, and write from what they read."""
    lines = [f"{case.direction}\t{case.key}\t{case.version}\t{body.hex()}\n" for case, body in bodies]
    return _answers(_run([*program("Schemas", jars), "bodies"], "".join(lines)), len(bodies))


def read_and_write_in_scala(jars: Path, messages: Sequence[tuple[str, bytes]]) -> list[Answer]:
    """The same with classes of kafka.api, by name: of a request what follows its key, of a response its size.

    The values are the plain ones in the order of the classes' own fields, which is not that of the wire.
    """
    lines = [f"{name}\t{data.hex()}\n" for name, data in messages]
    return _answers(_run(program("ScalaMessages", jars), "".join(lines)), len(messages))


def _answers(said: str, count: int) -> list[Answer]:
    answers = [line.split("\t") for line in said.splitlines()]
    if len(answers) != count:
        raise BrokerError(f"{len(answers)} answers for {count} messages")
    return [
        Answer((), b"", second) if first == "refused" else Answer(_values(json.loads(first)), bytes.fromhex(second))
        for first, second in answers
    ]


def _run(command: list[str], questions: str) -> str:
    run = subprocess.run(
        command, input=questions, capture_output=True, encoding="utf-8", timeout=_WITHIN_S, check=False
    )
    if run.returncode != 0:
        raise BrokerError(f"{' '.join(command)} failed:\n{run.stdout[-2000:]}{run.stderr}")
    return run.stdout


def _fields(layout: dict[str, Any]) -> Layout:
    found: list[tuple[str, Any]] = []
    for name, kind in layout.items():
        if isinstance(kind, str):
            found.append((name, kind))
        elif kind.keys() <= {"[]", "[]?"}:
            ((mark, element),) = kind.items()
            found.append((name, Array(_element(element), mark == "[]?")))
        else:
            found.extend(_fields(kind))
    return tuple(found)


def _element(kind: str | dict[str, Any]) -> Any:
    if isinstance(kind, str):
        return kind
    fields = _fields(kind)
    return fields[0][1] if len(fields) == 1 else fields


def _values(read: dict[str, Any] | list[Any]) -> tuple[Any, ...]:
    return _struct(read) if isinstance(read, dict) else tuple(_value(item) for item in read)


def _struct(read: dict[str, Any]) -> tuple[Any, ...]:
    found: list[Any] = []
    for value in read.values():
        if isinstance(value, dict):
            found.extend(_struct(value))
        else:
            found.append(_value(value))
    return tuple(found)


def _value(read: Any) -> Any:
    if isinstance(read, list):
        return [_value(item) for item in read]
    if isinstance(read, dict):
        fields = _struct(read)
        return fields[0] if len(fields) == 1 else fields
    if isinstance(read, str):
        data = bytes.fromhex(read[1:])
        return data.decode() if read[0] == "s" else data
    return read
