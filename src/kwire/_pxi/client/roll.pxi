# A roll of objects in the order in which they came, from which any can be struck off without a search or a hash.
#
# Each object keeps its number, by which it is found; where many were struck off, the others get lower ones. A dict would
# do, but takes hundreds of instructions more for each batch, which enters one of these, as its partition does another.

cdef enum:
    NOT_ENROLLED = -1

ctypedef void (*number_t)(PyObject *item, int64_t number) noexcept


@cython.final
cdef class Roll:
    """Only `enter` may lack memory, and then nothing is changed."""

    cdef list places              # a ring; None where nothing is, or nothing is any more
    cdef int64_t room             # of the ring: a power of two
    cdef int64_t begin            # the number of the first that is left ...
    cdef int64_t end              # ... and of the next that comes
    cdef Py_ssize_t count
    cdef number_t number          # has an object keep its number

    cdef inline bint is_empty(self) noexcept:
        return self.count == 0

    cdef inline int enter(self, object item) except -1:
        """Adds one that is not enrolled."""
        if self.end - self.begin == self.room:
            self._make_room()
        put_at(<PyObject *>self.places, self.end & (self.room - 1), <PyObject *>item)
        self.number(<PyObject *>item, self.end)
        self.end += 1
        self.count += 1
        return 0

    cdef inline bint strike(self, object item, int64_t number) except -1:
        """Takes out the one with that number, which it keeps; False if it is not here."""
        if number == NOT_ENROLLED or self.at(number) != <PyObject *>item:
            return False
        put_at(<PyObject *>self.places, number & (self.room - 1), <PyObject *>None)
        self.number(<PyObject *>item, NOT_ENROLLED)
        self.count -= 1
        while self.begin < self.end and self.at(self.begin) == <PyObject *>None:
            self.begin += 1
        return True

    cdef inline PyObject *at(self, int64_t number) noexcept:
        """Borrowed; None where one was struck off. From `begin` on, before `end`."""
        return PyList_GET_ITEM(self.places, number & (self.room - 1))

    cdef list items(self):
        """A copy."""
        cdef list found = []
        cdef int64_t number
        for number in range(self.begin, self.end):
            if self.at(number) != <PyObject *>None:
                found.append(<object>self.at(number))
        return found

    cdef int _make_room(self) except -1:
        if 2 * self.count > self.room:
            self._grow()
        else:
            self._close_up()
        return 0

    cdef int _grow(self) except -1:
        """Doubles the room, place by place: to make a new list may run the collector."""
        cdef int64_t room = self.room
        cdef int64_t number
        while PyList_GET_SIZE(self.places) < 2 * room:
            self.places.append(None)
        self.room = 2 * room
        for number in range(self.begin, self.end):
            if number & (2 * room - 1) != number & (room - 1):
                self.places[number & (2 * room - 1)] = self.places[number & (room - 1)]
                self.places[number & (room - 1)] = None
        return 0

    cdef int _close_up(self) except -1:
        cdef int64_t free = self.begin
        cdef int64_t number
        for number in range(self.begin, self.end):
            if self.at(number) == <PyObject *>None:
                continue
            if free != number:
                self.places[free & (self.room - 1)] = <object>self.at(number)
                self.number(self.at(free), free)
                self.places[number & (self.room - 1)] = None
            free += 1
        self.end = free
        return 0


cdef Roll roll_of(number_t number):
    """An empty roll of objects that keep their numbers by that function."""
    cdef Roll made = Roll.__new__(Roll)
    made.room = ROOM_AT_FIRST
    made.places = [None] * ROOM_AT_FIRST
    made.number = number
    return made
