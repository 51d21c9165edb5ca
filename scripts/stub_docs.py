"""Copies the docstrings of what users of the extensions meet into their stubs, where editors look for them.

The extensions must be built.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from scripts.sources import PACKAGE, formatted

from kwire import _codec, _values

DOCUMENTED = {
    _codec: (
        "Buffer", "FrameReceiver", "crc32c", "crc32", "BatchBuilder", "encode", "encode_arrow", "Record", "BatchHeader",
        "Records", "ConsumerRecord", "RecordColumns", "RecordMetadata", "Delivery", "ProducerBase",
    ),
    _values: (
        "ColumnLayout", "BuiltColumns", "framed_ids", "AvroPlan", "decode_avro", "ProtobufPlan", "decode_protobuf",
        "TextPlan", "decode_json", "CsvPlan", "decode_csv",
    ),
}  # fmt: skip

Definition = ast.ClassDef | ast.FunctionDef


def wanted() -> dict[Path, str]:
    """The stub of each extension."""
    stubs = {PACKAGE / f"{extension.__name__.rpartition('.')[2]}.pyi": extension for extension in DOCUMENTED}
    return {
        path: formatted(with_docstrings(path.read_text(encoding="utf-8"), extension), path)
        for path, extension in stubs.items()
    }


def with_docstrings(stub: str, extension: ModuleType) -> str:
    lines = stub.splitlines(keepends=True)
    for node, doc in reversed(list(documented(ast.parse(stub), extension))):
        _document(lines, node, doc)
    return "".join(lines)


def documented(tree: ast.Module, extension: ModuleType) -> Iterator[tuple[Definition, str]]:
    """The classes and functions of the stub that have a docstring in the extension, top down."""
    for node in tree.body:
        if isinstance(node, Definition) and node.name in DOCUMENTED[extension]:
            known = getattr(extension, node.name)
            yield node, _doc_of(known)
            for part in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                    yield part, _doc_of(getattr(known, part.name))


def _doc_of(known: Any) -> str:
    doc = inspect.getdoc(known)
    if not doc:
        raise SystemExit(f"{known!r} has no docstring")
    return doc


def _document(lines: list[str], node: Definition, doc: str) -> None:
    """Puts `doc` first into the body of `node`, in place of the docstring or the dots that are there."""
    first = node.body[0]
    indent = " " * (node.col_offset + 4)
    text = "".join(f"{indent}{line}".rstrip() + "\n" for line in _literal(doc).splitlines())
    begin, end = first.lineno - 1, first.end_lineno or first.lineno
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        begin = end = min([first.lineno, *(mark.lineno for mark in getattr(first, "decorator_list", ()))]) - 1
    elif first.value.value is ...:
        lines[begin] = lines[begin].rstrip().removesuffix("...").rstrip() + "\n"
        begin = end
    lines[begin:end] = [text]


def _literal(doc: str) -> str:
    """As a string literal over several lines, the way docstrings are written."""
    escaped = doc.replace("\\", "\\\\")
    closed_on_its_own_line = "\n" in doc
    return f'"""{escaped}\n"""' if closed_on_its_own_line else f'"""{escaped}"""'
