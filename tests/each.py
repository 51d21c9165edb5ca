"""Many values tried by one test: a failure names the value, and all others that fail, as if each were a test.

What is tried shares the fixtures of the test: `pytest.mark.parametrize` is for what needs its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

Test = Callable[..., None]


@contextmanager
def case(*what: object) -> Iterator[None]:
    """Adds a note of what was tried to whatever is raised in the block."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {' '.join(map(_shown, what))}")
        raise


def each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, but that all values are tried within one test."""
    keys = (names,) if isinstance(names, str) else names
    rows = [dict(zip(keys, (value,) if isinstance(names, str) else value, strict=True)) for value in values]
    assert rows, f"nothing to try for {names}"

    def looped(test: Test) -> Test:
        @wraps(test)
        def tests(**fixtures: Any) -> None:
            try_each(lambda **row: test(**row, **fixtures), rows)

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        tests.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return tests

    return looped


def try_each(test: Test, rows: Iterable[Mapping[str, Any]]) -> None:
    """Runs `test` with every row of arguments, and raises the first failure, with a note of the other cases."""
    failures: dict[str, Exception] = {}
    for row in rows:
        name = ", ".join(f"{key}={_shown(value)}" for key, value in row.items())
        try:
            with case(name):
                test(**row)
        except Exception as error:
            failures[name] = error
    if failures:
        first, *others = failures
        if others:
            failures[first].add_note(f"and in {len(others)} more: {'; '.join(others)}")
        raise failures[first]


def _shown(value: object) -> str:
    return str(getattr(value, "__name__", getattr(value, "name", value)))
