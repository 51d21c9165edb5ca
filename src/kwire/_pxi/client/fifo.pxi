# A queue that compiled code uses without a call of Python, which each method of a deque is.

cdef enum:
    ROOM_AT_FIRST = 16


@cython.final
cdef class Fifo:
    """First in, first out. Only `append` may lack memory, and then nothing is changed."""

    cdef list places              # a ring in the first `room` of them; None where nothing is
    cdef Py_ssize_t room          # a power of two
    cdef Py_ssize_t begin
    cdef Py_ssize_t count

    def __cinit__(self):
        self.room = ROOM_AT_FIRST
        self.places = [None] * self.room

    def __len__(self):
        return self.count

    cdef inline bint is_empty(self) noexcept:
        return self.count == 0

    cdef inline int append(self, object item) except -1:
        if self.count == self.room:
            self._grow()
        self.places[(self.begin + self.count) & (self.room - 1)] = item
        self.count += 1
        return 0

    cdef inline PyObject *first(self) noexcept:
        """Borrowed; there is one."""
        return PyList_GET_ITEM(self.places, self.begin)

    cdef inline int drop_first(self) except -1:
        self.places[self.begin] = None
        self.begin = (self.begin + 1) & (self.room - 1)
        self.count -= 1
        return 0

    cdef int _grow(self) except -1:
        """Doubles the room, place by place: to make a new list may run the collector."""
        cdef Py_ssize_t i
        while PyList_GET_SIZE(self.places) < 2 * self.room:
            self.places.append(None)
        for i in range(self.begin):
            self.places[self.room + i] = self.places[i]
            self.places[i] = None
        self.room *= 2
        return 0
