# `async for` over a consumer: records at hand are given without a coroutine, and the loop turns often enough.

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
    cdef AtHand at_hand
    cdef double turned_at
    cdef int given

    def __init__(self, wait_for_next):
        self.wait_for_next = wait_for_next
        self.at_hand = AtHand()

    def __aiter__(self):
        return self

    def __anext__(self):
        cdef AtHand found
        if self.records is None or self._has_been_long():
            return self.wait_for_next(self)
        record = next(self.records, None)
        if record is None:
            return self.wait_for_next(self)
        found = self.at_hand if self.at_hand.value is None else AtHand()
        found.value = record
        return found

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

    def take(self):
        """The next record at hand, or None."""
        return None if self.records is None else next(self.records, None)
