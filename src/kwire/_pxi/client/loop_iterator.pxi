# `async for` over a consumer: records at hand are returned without a coroutine, and the loop turns often enough.

cdef enum:
    RECORDS_PER_LOOK = 32

# Seconds of records at hand after which the event loop turns once.
cdef double _long_turn_s = 0.002


@cython.final
@cython.nonecheck(True)
cdef class LoopIterator:
    """The iterator of `async for`. `wait_for_next(iterator)` is a coroutine function: it returns the next record where
    none is at hand, or after the loop has not turned for long.
    """

    cdef object wait_for_next
    cdef ConsumedIterator records
    cdef NextRecord spare                 # one that was awaited: used again
    cdef double turned_at
    cdef int given

    def __init__(self, wait_for_next):
        self.wait_for_next = wait_for_next

    def __aiter__(self):
        return self

    def __anext__(self):
        cdef NextRecord made
        if self.records is None or self._has_been_long():
            return self.wait_for_next(self)
        made = self.spare
        self.spare = None
        if made is None:
            made = NextRecord.__new__(NextRecord)
        made.iterator = self
        return made

    cdef bint _has_been_long(self) noexcept:
        self.given += 1
        return self.given % RECORDS_PER_LOOK == 0 and kw_fine_seconds() - self.turned_at > _long_turn_s

    def begin(self, ConsumedIterator records):
        """Goes on with these; returns them."""
        self.records = records
        return records

    def turned(self):
        """The loop has turned just now."""
        self.turned_at = kw_fine_seconds()

    cpdef take(self):
        """The next record at hand, or None."""
        return None if self.records is None else next(self.records, None)


@cython.final
@cython.freelist(8)
@cython.nonecheck(True)
cdef class NextRecord:
    """The awaitable of the next record. The record is taken by the `await`, not before: one that is cancelled before it
    begins takes none.
    """

    cdef LoopIterator iterator
    cdef object waiting                   # the coroutine that waits, where no record was at hand

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        return self.send(None)

    def send(self, value):
        """For callers that do not know `am_send`, which is what the interpreter calls."""
        cdef PyObject *result = NULL
        cdef int kind = _send_next_record(<PyObject *>self, <PyObject *>value, &result)
        found = <object>result
        Py_XDECREF(result)
        if kind == PYGEN_RETURN:
            PyErr_SetObject(StopIteration, found)
        return found

    def throw(self, *what):
        """Raises that where it waits."""
        if self.waiting is None:
            if self.iterator is None:
                raise what[0]
            self.waiting = self.iterator.wait_for_next(self.iterator)
        return self.waiting.throw(*what)

    def close(self):
        """Waits no longer."""
        if self.waiting is not None:
            self.waiting.close()


cdef int _send_next_record(PyObject *awaited, PyObject *value, PyObject **result) except -1:
    cdef NextRecord it = <NextRecord>awaited
    if it.waiting is None:
        if it.iterator is None:
            raise RuntimeError("the next record is awaited once")
        record = it.iterator.take()
        if record is not None:
            it.iterator.spare = it
            it.iterator = None
            Py_INCREF(record)
            result[0] = <PyObject *>record
            return PYGEN_RETURN
        it.waiting = it.iterator.wait_for_next(it.iterator)
    return PyIter_Send(it.waiting, <object>value, result)


(<type_t *>NextRecord).tp_as_async.am_send = _send_next_record
