# A queue that compiled code uses without a call of Python, which each method of a deque is.

cdef enum:
    ROOM_AT_FIRST = 16


cdef extern from "Python.h":
    PyObject *kw_list_item "PyList_GET_ITEM"(PyObject *list, Py_ssize_t i) noexcept


cdef inline void put_at(PyObject *places, Py_ssize_t place, PyObject *item) noexcept:
    """`places[place] = item` of a list that has the place; Cython calls a function for that, which looks."""
    cdef PyObject *before = kw_list_item(places, place)
    kw_set_list_item(places, place, kw_new_reference(item))
    Py_XDECREF(before)


@cython.final
cdef class Fifo:
    """First in, first out. Only `append` and `insert` may lack memory, and then nothing is changed."""

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
        put_at(<PyObject *>self.places, (self.begin + self.count) & (self.room - 1), <PyObject *>item)
        self.count += 1
        return 0

    cdef inline PyObject *first(self) noexcept:
        """Borrowed; there is one."""
        return PyList_GET_ITEM(self.places, self.begin)

    cdef inline int drop_first(self) except -1:
        put_at(<PyObject *>self.places, self.begin, <PyObject *>None)
        self.begin = (self.begin + 1) & (self.room - 1)
        self.count -= 1
        return 0

    cdef int empty(self) except -1:
        """Drops all; so many have room then."""
        while self.count > 0:
            self.drop_first()
        return 0

    cdef inline PyObject *at(self, Py_ssize_t place) noexcept:
        """Borrowed; the first is at 0."""
        return PyList_GET_ITEM(self.places, (self.begin + place) & (self.room - 1))

    cdef list items(self):
        """A copy."""
        cdef list found = []
        cdef Py_ssize_t place
        for place in range(self.count):
            found.append(<object>self.at(place))
        return found

    cdef int insert(self, Py_ssize_t place, object item) except -1:
        """Puts it before the one at `place`; as `append` with memory."""
        cdef Py_ssize_t i
        self.append(item)
        for i in range(self.count - 1, place, -1):
            self._put(i, <object>self.at(i - 1))
        self._put(place, item)
        return 0

    cdef bint remove(self, object item) except -1:
        """Takes it out, wherever it is; False if it is not here."""
        cdef Py_ssize_t place = 0
        cdef Py_ssize_t i
        while place < self.count and self.at(place) != <PyObject *>item:
            place += 1
        if place == self.count:
            return False
        for i in range(place, self.count - 1):
            self._put(i, <object>self.at(i + 1))
        self._put(self.count - 1, None)
        self.count -= 1
        return True

    cdef int _put(self, Py_ssize_t place, object item) except -1:
        self.places[(self.begin + place) & (self.room - 1)] = item
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
