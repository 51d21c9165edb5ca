"""Mends of the C code that Cython writes around ours, made while setup.py runs: where memory fails, Cython 3.3 crashes.

    ListCompAppendAndDecref   a list comprehension whose list cannot grow gives its item back, and so does the caller
    CallSlotAsVectorcall      a class called with keywords gives back arguments that it has not read yet

Each is a text in Cython's library and what stands for it; a Cython that has no such text is left as it is.
"""

from __future__ import annotations

from typing import Final

from Cython.Compiler.Code import UtilityCode

_IMPLEMENTATION: Final = 1
_MENDS: Final = (
    (
        "Optimize.c",
        "ListCompAppendAndDecref",
        "    int result = PyList_Append(list, x);\n    Py_DECREF(x);\n",
        "    int result = PyList_Append(list, x);\n    if (likely(result == 0)) Py_DECREF(x);\n",
    ),
    (
        "ExtensionTypes.c",
        "CallSlotAsVectorcall",
        "        kwnames = PyTuple_New(k_size);\n",
        "        for (Py_ssize_t j = i; j < total_size; ++j) args[j] = NULL;\n        kwnames = PyTuple_New(k_size);\n",
    ),
)


def mend() -> None:
    """From now on Cython writes the mended code."""
    for file, name, faulty, right in _MENDS:
        found = UtilityCode.load_utilities_from_file(file).get(name)
        if found is not None and found[_IMPLEMENTATION] is not None:
            found[_IMPLEMENTATION] = found[_IMPLEMENTATION].replace(faulty, right)
