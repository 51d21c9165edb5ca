# Timers in virtual time: callbacks to run at a given moment.
#
# Reads no clock: moments are seconds on whatever clock the driver passes in. The heap holds (moment, number, Timer);
# a cancelled timer stays in it until it comes to the top, or until most of the heap is cancelled timers.

from _heapq import heapify as _heapify, heappop as _heappop, heappush as _heappush

cdef Py_ssize_t COMPACT_AT = 64
cdef double FOR_EVER = float("inf")


@cython.final
cdef class Timer:
    """A callback that waits for its moment; `cancel()` is allowed at any time, also afterwards."""

    cdef readonly double when
    cdef Timers owner
    cdef object callback

    def __init__(self):
        raise TypeError("timers are made by Timers.call_at")

    def cancel(self):
        """The callback will not run."""
        if self.callback is not None:
            self.callback = None
            self.owner._one_is_void()

    @property
    def active(self):
        """Whether the callback is still to run."""
        return self.callback is not None


@cython.final
cdef class Timers:
    """A heap of timers; those of one moment run in the order in which they were set."""

    cdef list heap
    cdef int64_t count
    cdef Py_ssize_t void
    cdef object running

    def __cinit__(self):
        self.heap = []

    def call_at(self, double when, callback):
        """Runs `callback(now)` in the first `run` whose now is not before `when`; the Timer."""
        cdef Timer timer = Timer.__new__(Timer)
        timer.owner = self
        timer.when = when
        timer.callback = callback
        self.count += 1
        _heappush(self.heap, (when, self.count, timer))
        return timer

    def next_moment(self):
        """The moment of the earliest timer, or None."""
        cdef double moment = self._next()
        return None if moment == FOR_EVER else moment

    cdef double _next(self) except? -1:
        cdef Timer timer
        while self.heap:
            timer = <Timer>(<tuple>self.heap[0])[2]
            if timer.callback is not None:
                return timer.when
            _heappop(self.heap)
            self.void -= 1
        return FOR_EVER

    def peek(self):
        """The moment of the first timer, even a cancelled one; changes nothing, so any thread may ask at any time."""
        return (<Timer>(<tuple>self.heap[0])[2]).when if self.heap else None

    def run(self, double now):
        """Runs all callbacks that are due; those set meanwhile for now or earlier run too."""
        cdef Timer timer
        while self.heap and self._next() <= now:
            timer = <Timer>(<tuple>self.heap[0])[2]
            self.running = callback = timer.callback
            timer.callback = None
            _heappop(self.heap)
            callback(now)
            self.running = None

    def recover(self, double now):
        """After a `run` that an exception cut: the callback that was running runs again, with the next `run`."""
        if self.running is not None:
            self.call_at(now, self.running)
            self.running = None

    def clear(self):
        """Forgets all timers."""
        self.heap.clear()
        self.void = 0

    cdef int _one_is_void(self) except -1:
        self.void += 1
        if self.void > COMPACT_AT and self.void * 2 > PyList_GET_SIZE(self.heap):
            self.heap = [entry for entry in self.heap if (<Timer>(<tuple>entry)[2]).callback is not None]
            _heapify(self.heap)
            self.void = 0
