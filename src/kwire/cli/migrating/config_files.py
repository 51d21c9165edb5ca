"""Reads files of settings: properties of Java and librdkafka, INI files with such lines in sections, and JSON."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from kwire.cli.migrating.judging import is_known_setting, judge_property
from kwire.cli.migrating.programs import Finding
from kwire.cli.properties import parse_properties
from kwire.errors import ConfigError

SUFFIXES = (".cfg", ".conf", ".config", ".ini", ".json", ".properties")
_SECTION = re.compile(r"^[ \t]*\[.*\][ \t]*$", re.MULTILINE)
_BROKERS = re.compile(r"bootstrap[._]servers|metadata\.broker\.list")


def is_of_clients(text: str) -> bool:
    """Whether a file that was not named may be one of settings of clients."""
    return _BROKERS.search(text) is not None


def findings(text: str, path: Path) -> list[Finding]:
    """The settings in the file. ConfigError if it cannot be read."""
    if path.suffix == ".json":
        return list(_of_json(text, path))
    plain = _SECTION.sub("", text) if path.suffix != ".properties" else text
    properties = parse_properties(plain, str(path)).items()
    return [Finding(each.line, name, judge_property(name, each.value)) for name, each in properties]


def _of_json(text: str, path: Path) -> Iterator[Finding]:
    """The settings of the objects that have some; JSON is read as Python, which knows lines."""
    try:
        json.loads(text)
        tree = ast.parse(text.strip("\ufeff \t\r\n"), mode="eval")
    except (ValueError, SyntaxError, RecursionError) as error:
        raise ConfigError(f"{path}: no JSON that can be read: {error}") from error
    begins = text[: len(text) - len(text.lstrip("\ufeff \t\r\n"))].count("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            named = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
            texts = [(key, str(ast.literal_eval(key)), value) for key, value in named]
            if any(is_known_setting(name) for _, name, _ in texts):
                for key, name, value in texts:
                    if not isinstance(value, ast.Dict | ast.List):
                        yield Finding(key.lineno + begins, name, judge_property(name, _value(value)))


def _value(node: ast.expr) -> object:
    words = {"true": True, "false": False, "null": None}
    return words[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)
