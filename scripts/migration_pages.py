"""Writes the tables of the pages about other clients, docs/from-*.md, between their marks.

What becomes of a method and of a setting is what `kwire migrate-check` says of it. The names are those of the clients
that are installed here; the rest of the pages is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from scripts.sources import DOCS

from kwire.cli.migrating.judging import (
    TABLES,
    UNKNOWN_VALUE,
    Judgment,
    hinted,
    judge_method,
    judge_property,
    judge_setting,
)
from kwire.cli.migrating.other_names import NAMES
from kwire.cli.migrating.peers import AIOKAFKA, CLASSES, CONFLUENT, KAFKA_PYTHON, Made
from kwire.cli.migrating.registries import CALLS, SERIALIZER_SETTINGS, SETTINGS
from kwire.engine.settings import foreign
from kwire.engine.settings.clients import names_of

PAGES = {peer: DOCS / f"from-{peer}.md" for peer in (CONFLUENT, AIOKAFKA, KAFKA_PYTHON)}
_MODULES = {
    CONFLUENT: ("confluent_kafka", "confluent_kafka.admin"),
    AIOKAFKA: ("aiokafka", "aiokafka.admin"),
    KAFKA_PYTHON: ("kafka", "kafka.admin"),
}
_MORE_MODULES = {
    CONFLUENT: (
        "confluent_kafka.avro",
        "confluent_kafka.error",
        "confluent_kafka.schema_registry",
        "confluent_kafka.serialization",
    ),
    AIOKAFKA: ("aiokafka.abc", "aiokafka.errors", "aiokafka.helpers", "aiokafka.structs"),
    KAFKA_PYTHON: ("kafka.errors", "kafka.partitioner", "kafka.serializer", "kafka.structs"),
}
_MADE = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def wanted() -> dict[Path, str]:
    """The pages whose client is installed: without it nobody knows its names."""
    return {path: with_tables(peer, path.read_text(encoding="utf-8")) for peer, path in PAGES.items() if _is_here(peer)}


def with_tables(peer: str, text: str) -> str:
    """The page with its tables."""
    tables: dict[str, Callable[[str], Iterable[str]]] = {
        "calls": _calls,
        "names": _names,
        "registry": _registry,
        "settings": _librdkafka if peer == CONFLUENT else _settings,
    }
    return _MADE.sub(lambda found: "\n".join([found[1], *tables[found[2]](peer), "", found[3]]), text)


def _is_here(peer: str) -> bool:
    return find_spec(_MODULES[peer][0]) is not None


def _classes(peer: str) -> Iterable[tuple[str, str, type]]:
    modules = [import_module(name) for name in _MODULES[peer]]
    for name, kind in CLASSES[peer].items():
        cls = next((getattr(module, name) for module in modules if hasattr(module, name)), None)
        if cls is not None and not name.startswith(("Serializing", "Deserializing")):
            yield name, kind, cls


def _calls(peer: str) -> Iterable[str]:
    for name, kind, cls in _classes(peer):
        yield from _rows(name, {each: judge_method(Made(peer, kind), each) for each in _methods(cls)})
    if peer == CONFLUENT:
        record = import_module("confluent_kafka").Message
        yield from _rows("Message", {each: judge_method(Made(peer, "Record"), each) for each in _methods(record)})


def _rows(head: str, judged: Mapping[str, Judgment]) -> Iterable[str]:
    """A table of names, those with the same answer in one row; what stays the same comes last."""
    yield from (f"| `{head}` | | in kwire |", "|---|---|---|")
    rows: dict[Judgment, list[str]] = {}
    for each, judgment in judged.items():
        rows.setdefault(judgment, []).append(f"`{each}`")
    same = rows.pop(Judgment("same"), [])
    for (outcome, text), names in rows.items():
        yield f"| {', '.join(names)} | {outcome} | {_cell(text)} |"
    if same:
        yield f"| {', '.join(same)} | same | |"
    yield ""


def _names(peer: str) -> Iterable[str]:
    """What programs import beside clients; what has the same name in kwire is left out."""
    modules = [import_module(name) for name in (*_MODULES[peer], *_MORE_MODULES[peer])]
    names = [name for name in NAMES[peer] if any(hasattr(module, name) for module in modules)]
    yield from _rows(peer, {name: hinted(NAMES[peer], name) for name in names})


def _registry(peer: str) -> Iterable[str]:
    judged = {name: judge_method(Made(peer, "Registry"), name) for name in sorted({*CALLS, "delete_subject"})}
    yield from _rows("SchemaRegistryClient", judged)
    for head, kind, settings in (
        ("settings of SchemaRegistryClient", "Registry", SETTINGS),
        ("settings of serializers", "Serializer", SERIALIZER_SETTINGS),
    ):
        yield from _rows(head, {name: judge_setting(kind, name, is_keyword=False) for name in settings})


def _librdkafka(peer: str) -> Iterable[str]:
    """Settings without a counterpart of the same meaning; docs/settings.md has the others with all their names."""
    yield from _rows("setting", {name: judge_property(name, UNKNOWN_VALUE) for name in foreign.names()})


def _methods(cls: type) -> list[str]:
    return [name for name in dir(cls) if name[0].islower() and callable(getattr(cls, name))]


def _settings(peer: str) -> Iterable[str]:
    for name, kind, cls in _classes(peer):
        rows = names_of(TABLES[kind])
        yield from (f"| `{name}` | its default | default in kwire | |", "|---|---|---|---|")
        same = []
        for setting, default in _defaults(cls).items():
            outcome, text = judge_setting(kind, setting, is_keyword=True)
            row = rows.get(setting)
            ours = "" if row is None else f"`{row.default!r}`"
            theirs = f"`{default!r}`" if isinstance(default, str | int | float | tuple | None) else ""
            if outcome == "same" and (not theirs or theirs == ours):
                same.append(f"`{setting}`")
            else:
                yield f"| `{setting}` | {theirs} | {ours} | {_cell(f'{outcome}: {text}' if text else outcome)} |"
        yield f"| {', '.join(same)} | | | same |"
        yield ""


def _defaults(cls: Any) -> dict[str, Any]:
    """The keywords of a constructor with their defaults, where these are plain values."""
    given = getattr(cls, "DEFAULT_CONFIG", None)
    if given is None:
        named = signature(cls).parameters.values()
        given = {each.name: each.default for each in named if each.kind is not Parameter.VAR_POSITIONAL}
    return {name: _plain(default) for name, default in given.items()}


def _plain(default: Any) -> Any:
    if isinstance(default, tuple) and all(isinstance(each, type) for each in default):
        return tuple(each.__name__ for each in default)
    return default if default is None or isinstance(default, str | int | float) else object


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
