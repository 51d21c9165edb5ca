"""Cython's own code in the extensions: what crashes without memory is mended, in the C code that was built last."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "kwire").glob("_*.c"))


@pytest.mark.skipif(not SOURCES, reason="the extensions were built elsewhere")
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_an_item_for_which_a_comprehension_has_no_room_is_given_back_once(source: Path) -> None:
    text = source.read_text()
    if "__Pyx_ListComp_AppendAndDecref" in text:
        assert "PyList_Append(list, x);\n    Py_DECREF(x);" not in text
        assert text.count("if (likely(result == 0)) Py_DECREF(x);") == 2


@pytest.mark.skipif(not SOURCES, reason="the extensions were built elsewhere")
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_keywords_of_a_class_that_were_not_read_yet_are_not_given_back(source: Path) -> None:
    text = source.read_text()
    calls = text.count("        kwnames = PyTuple_New(k_size);\n")
    assert text.count("j < total_size; ++j) args[j] = NULL;\n        kwnames = PyTuple_New(k_size);\n") == calls
