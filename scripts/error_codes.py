"""Makes two files of the table of error codes in kwire.errors.broker: its stub, which type checkers and editors need
since the classes are made when they are first asked for, and the numbers by themselves, which load faster.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from scripts.sources import PACKAGE, formatted

from kwire.errors import BrokerError, broker

TABLE = PACKAGE / "errors" / "broker.py"
STUB = TABLE.with_suffix(".pyi")
NUMBERS = PACKAGE / "schema" / "error_codes.py"

STUB_HEAD = '''"""Types of `broker.py`: one class per error code, and the same class under Apache's own name.

Generated from the table there by `make docs`.
"""

from kwire.errors import BrokerError
'''
NUMBERS_HEAD = '''"""The error codes by Kafka's names, generated from the table in `kwire.errors.broker` by `make docs`.

Layer 2: numbers only, so that clients need not load that table to compare a code. What a code means, and whether it is
retriable or a sign of stale metadata, stands there and only there.
"""
'''


def wanted() -> dict[Path, str]:
    """The stub and the numbers."""
    return {STUB: formatted(stub(), STUB), NUMBERS: numbers()}


def stub() -> str:
    """The functions of the module, the classes that it makes, and their other names."""
    made = classes()
    parts = [
        STUB_HEAD,
        *functions(TABLE.read_text(encoding="utf-8")),
        *(f'class {each.__name__}(BrokerError):\n    """{each.__doc__}"""\n' for each in made),
        "\n".join(f"{each.name} = {each.__name__}" for each in made) + "\n",
    ]
    return "\n".join(parts)


def classes() -> list[type[BrokerError]]:
    """The class of each code, by code."""
    named = (getattr(broker, name) for name in dir(broker))
    found = {each for each in named if isinstance(each, type) and issubclass(each, BrokerError)}
    return sorted(found - {BrokerError}, key=lambda each: each.code)


def functions(source: str) -> Iterator[str]:
    """The public functions of a module, with their docstrings in place of their bodies."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield ast.unparse(ast.FunctionDef(**{**vars(node), "body": node.body[:1]})) + "\n"


def numbers() -> str:
    """A constant for each code."""
    return NUMBERS_HEAD + "\n" + "".join(f"{each.name} = {each.code}\n" for each in classes())
