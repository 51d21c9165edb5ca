"""Copies the docstrings of what users of the codec meet from the extension into its stub, where editors look for them.

`python scripts/stub_docs.py` rewrites src/kwire/_codec.pyi; with --check it changes nothing and fails where something
would change. The extension must be built.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kwire import _codec

STUB = Path(__file__).parents[1] / "src" / "kwire" / "_codec.pyi"
DOCUMENTED = (
    "Buffer", "FrameReceiver", "crc32c", "crc32", "BatchBuilder", "encode", "encode_arrow", "Record", "BatchHeader",
    "Records", "ConsumerRecord", "RecordColumns", "RecordMetadata", "Delivery", "ProducerBase",
)  # fmt: skip

Definition = ast.ClassDef | ast.FunctionDef


def main(arguments: list[str]) -> int:
    present = STUB.read_text()
    wanted = formatted(with_docstrings(present))
    if present == wanted:
        return 0
    if "--check" in arguments:
        print(f"{STUB.name} does not have the docstrings of the extension: run python scripts/{Path(__file__).name}")
        return 1
    STUB.write_text(wanted)
    return 0


def with_docstrings(stub: str) -> str:
    lines = stub.splitlines(keepends=True)
    for node, doc in reversed(list(documented(ast.parse(stub)))):
        _document(lines, node, doc)
    return "".join(lines)


def documented(tree: ast.Module) -> Iterator[tuple[Definition, str]]:
    """The classes and functions of the stub that have a docstring in the extension, top down."""
    for node in tree.body:
        if isinstance(node, Definition) and node.name in DOCUMENTED:
            known = getattr(_codec, node.name)
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


def formatted(text: str) -> str:
    """The text as ruff formats the file."""
    command = ["ruff", "format", "--quiet", "--stdin-filename", str(STUB), "-"]
    return subprocess.run(command, check=True, input=text, capture_output=True, text=True).stdout


def _literal(doc: str) -> str:
    """As a string literal over several lines, the way docstrings are written."""
    escaped = doc.replace("\\", "\\\\")
    closed_on_its_own_line = "\n" in doc
    return f'"""{escaped}\n"""' if closed_on_its_own_line else f'"""{escaped}"""'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
