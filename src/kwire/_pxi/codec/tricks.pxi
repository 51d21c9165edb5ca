# The allocator tricks of tricks.h, and the one that is about Python objects. A build with KWIRE_PLAIN has none of them.

cdef extern from "tricks.h":
    bint KW_PLAIN
    object kw_bare_instance(PyObject *cls)
    void kw_use_free_instance(PyObject *cls) noexcept

PLAIN_MEMORY = True if KW_PLAIN else False

cdef enum:
    KEPT_EVERY = 4096

cdef list _kept_values = []


def keep_arenas(list values not None):
    """Keeps a few of a poll's values until the next poll.

    Python returns an arena of small objects to the system when its last object goes. With one value kept in each, the
    next poll's values reuse the arenas instead of costing a page fault for every 4 KiB.
    """
    if not KW_PLAIN:
        _kept_values[:] = values[::KEPT_EVERY] if len(values) > KEPT_EVERY else ()
