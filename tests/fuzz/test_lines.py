"""Functions that count their lines do what they did."""

from __future__ import annotations

import ast
from typing import Any

from tests.fuzz import lines

_SOURCE = b'''
"""A module."""
from __future__ import annotations
class Shape:
    """A class."""
    sides = 4 if True else 3
    def has(self, number):
        """A method."""
        for each in range(self.sides):
            if each == number and (number or self.sides > 3):
                return "has"
        else:
            number = (lambda: [side for side in range(number) if side])()
        try:
            return sorted(number, key=lambda side: -side)[0]
        except IndexError:
            return "nothing" if number == [] else None
        finally:
            self.asked = True
'''


def _loaded(tree: ast.Module) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(tree, "shape", "exec", dont_inherit=True), names)
    return names


def test_functions_tell_their_lines_and_do_what_they_did(monkeypatch: Any) -> None:
    told: list[int] = []
    monkeypatch.setattr("builtins.count_line_of_kwire", told.append, raising=False)
    plain, counted = _loaded(ast.parse(_SOURCE)), _loaded(lines.counted(_SOURCE, "shape"))
    ways = set()
    for number in (0, 3, 1, 9, -1):
        shape, same = counted["Shape"](), plain["Shape"]()
        told.clear()
        assert shape.has(number) == same.has(number)
        assert shape.__dict__ == same.__dict__
        ways.add(tuple(told))
    assert len(ways) == 5
    assert counted["Shape"].has.__doc__ == "A method."
    assert counted["__doc__"] == "A module."
