# Tuples through which no cycle leads, taken out of the cyclic collector's sight.
#
# Python does so with a plain tuple when it first collects, and never with one of a subclass: each full collection visits
# all named tuples there are, and a large cluster has hundreds of thousands.

from cpython.long cimport PyLong_CheckExact
from cpython.tuple cimport PyTuple_Check, PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact


cdef inline bint _is_atom(PyObject *item) noexcept:
    return (PyLong_CheckExact(<object>item) or PyUnicode_CheckExact(<object>item)
            or (PyTuple_CheckExact(<object>item) and not kw_gc_is_tracked(item)))


def untracked(made):
    """Returns `made`, a tuple; the collector looks at it no more if it holds ints, texts and untracked tuples alone."""
    cdef Py_ssize_t i
    if not PyTuple_Check(made):
        raise TypeError(f"a tuple is wanted, not {type(made).__name__}")
    for i in range(PyTuple_GET_SIZE(made)):
        if not _is_atom(PyTuple_GET_ITEM(made, i)):
            return made
    kw_gc_untrack(<PyObject *>made)
    return made
