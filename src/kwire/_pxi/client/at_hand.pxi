# What an `await` gets that has nothing to wait for, without the cost of a coroutine and of an exception.

cdef extern from "Python.h":
    void PyErr_SetObject(object kind, object value) except *

    ctypedef struct PyAsyncMethods:
        int (*am_send)(PyObject *, PyObject *, PyObject **) except -1

    ctypedef struct type_t "PyTypeObject":
        PyAsyncMethods *tp_as_async

    const int PYGEN_RETURN


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class AtHand:
    """The awaitable of a value that is there, for one `await`."""

    cdef object value

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        """For callers that do not know `am_send`, which is what the interpreter calls."""
        value = self.value
        self.value = None
        PyErr_SetObject(StopIteration, value)


cdef int _send_at_hand(PyObject *at_hand, PyObject *_, PyObject **result) except -1:
    cdef object value = (<AtHand>at_hand).value
    (<AtHand>at_hand).value = None
    Py_INCREF(value)
    result[0] = <PyObject *>value
    return PYGEN_RETURN


(<type_t *>AtHand).tp_as_async.am_send = _send_at_hand
