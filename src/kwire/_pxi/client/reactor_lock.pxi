# The lock that guards an engine and its reactor: a threading.Lock that compiled code takes without a Python call.

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1
    ctypedef void *PyThread_type_lock
    ctypedef enum PyLockStatus:
        PY_LOCK_ACQUIRED
    PyThread_type_lock PyThread_allocate_lock() nogil
    void PyThread_free_lock(PyThread_type_lock lock) nogil
    PyLockStatus PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int interruptible) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil
    unsigned long PyThread_get_thread_ident() nogil


@cython.final
@cython.nonecheck(True)
cdef class ReactorLock:
    """A threading.Lock that compiled code takes without a Python call. Ctrl-C cuts the wait for it, as there.

    A thread that holds it gets a ConcurrentUseError where it would wait for itself: in a signal handler, a log handler
    or a finalizer that runs meanwhile.
    """

    cdef PyThread_type_lock lock
    cdef unsigned long holder             # thread that holds it; 0: none, no thread has that number

    def __cinit__(self):
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    def __enter__(self):
        self.take()

    def __exit__(self, kind, error, trace):
        self.give()

    @property
    def mine(self):
        """Whether the calling thread holds it."""
        return self._is_mine()

    cdef inline bint _is_mine(self) noexcept:
        return self.holder == PyThread_get_thread_ident()

    cdef int take(self) except -1:
        cdef PyLockStatus status
        if self._is_mine():
            raise _errors.ConcurrentUseError(
                "a signal handler, log handler or finalizer uses the client that it interrupts")
        status = PyThread_acquire_lock_timed(self.lock, 0, 0)
        while status != PY_LOCK_ACQUIRED:
            with nogil:
                status = PyThread_acquire_lock_timed(self.lock, -1, 1)
            if status != PY_LOCK_ACQUIRED:
                PyErr_CheckSignals()
        self.holder = PyThread_get_thread_ident()
        return 0

    cdef void give(self) noexcept:
        self.holder = 0
        PyThread_release_lock(self.lock)
