# What became of a record: a Delivery (one per record, 40 bytes) points into a Fate (one per batch).
#
# Needs: nothing but Python. Gives: Fate, Delivery, RecordMetadata.
#
#   Fate      pending -> done (base offset, or an error), once
#             pending -> redirected: its records went on in other batches (a split, a re-encoding, a staged topic that
#             became known); `redirects` = [(first index, Fate, index of that record there)], ascending
# A Delivery never points to the payload. It is not tracked by the cyclic collector: what it reaches leads to user
# objects only through callbacks, and a Fate drops those when it is done. All changes happen with the GIL held and
# without a Python call between look and leap, so a Delivery may be asked from any thread.

from cpython.list cimport PyList_GET_SIZE

from functools import partial as _partial


@cython.final
@cython.nonecheck(True)
cdef class Fate:
    """What became of a batch."""

    cdef readonly str topic
    cdef readonly int32_t partition
    cdef readonly bint done
    cdef readonly int64_t base_offset
    cdef readonly int64_t append_time
    cdef readonly object error
    cdef bint seen                # its error was given to somebody
    cdef list redirects
    cdef list callbacks           # [(Delivery, function)]
    cdef object keeper            # has wait_for(delivery, timeout), run_callback(function, delivery), after_step
    cdef readonly object batch    # the Batch, until done or redirected

    def __init__(self):
        raise TypeError("Fates are made by send()")

    cdef int settle(self, int64_t base_offset, int64_t append_time, object error) except -1:
        """The end of the matter; a second one changes nothing. Callbacks are left to keeper.after_step."""
        cdef list callbacks
        if self.done or self.redirects is not None:
            return 0
        self.base_offset = base_offset
        self.append_time = append_time
        self.error = error
        self.batch = None
        self.done = True
        callbacks = self.callbacks
        self.callbacks = None
        if callbacks is not None:
            for delivery, function in callbacks:
                self.keeper.after_step.append(_partial(self.keeper.run_callback, function, delivery))
        return 0

    cdef int redirect(self, list redirects) except -1:
        cdef list callbacks = self.callbacks
        self.callbacks = None
        self.batch = None
        self.redirects = redirects
        if callbacks is not None:
            for delivery, function in callbacks:
                (<Delivery>delivery).add_done_callback(function)
        return 0

    @property
    def settled(self):
        """Whether the fate of every one of its records is known."""
        if self.redirects is not None:
            return all([(<Fate>entry[1]).settled for entry in self.redirects])
        return self.done

    def errors(self, bint unseen=False):
        """The errors of its records as a list, one per batch; only those that nobody was given yet if `unseen`."""
        if self.redirects is not None:
            return [error for entry in self.redirects for error in (<Fate>entry[1]).errors(unseen)]
        if self.error is None or (unseen and self.seen):
            return []
        self.seen = True
        return [self.error]


@cython.final
cdef class RecordMetadata:
    """Where a record went: `topic`, `partition`, `offset` (-1 when the broker did not say), `timestamp` in ms."""

    cdef readonly str topic
    cdef readonly int32_t partition
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp

    def __init__(self, str topic, int32_t partition, int64_t offset, int64_t timestamp):
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp

    def __eq__(self, other):
        cdef RecordMetadata that
        if type(other) is not RecordMetadata:
            return NotImplemented
        that = other
        return (self.topic == that.topic and self.partition == that.partition and self.offset == that.offset
                and self.timestamp == that.timestamp)

    def __hash__(self):
        return hash((self.topic, self.partition, self.offset))

    def __repr__(self):
        return (f"RecordMetadata(topic={self.topic!r}, partition={self.partition}, offset={self.offset}, "
                f"timestamp={self.timestamp})")

    def __reduce__(self):
        return RecordMetadata, (self.topic, self.partition, self.offset, self.timestamp)


@cython.final
@cython.no_gc
@cython.freelist(256)
@cython.nonecheck(True)
cdef class Delivery:
    """What `send()` gives back: the verbs of a Future for one record."""

    cdef Fate fate
    cdef int32_t index
    cdef int64_t timestamp

    def __init__(self):
        raise TypeError("Deliveries are made by send()")

    cdef Fate _follow(self):
        """The Fate that decides now; redirects that were followed are not followed again."""
        cdef Py_ssize_t low, high, middle
        cdef tuple entry
        while self.fate.redirects is not None:
            low = 0
            high = len(self.fate.redirects)
            while high - low > 1:
                middle = (low + high) // 2
                if <int32_t>(<tuple>self.fate.redirects[middle])[0] <= self.index:
                    low = middle
                else:
                    high = middle
            entry = <tuple>self.fate.redirects[low]
            self.index = self.index - <int32_t>entry[0] + <int32_t>entry[2]
            self.fate = <Fate>entry[1]
        return self.fate

    def done(self):
        """Whether the record's fate is known. Never blocks."""
        return self._follow().done

    def result(self, timeout=None):
        """Waits up to `timeout` seconds (None: until delivery_timeout_ms decides) and gives a RecordMetadata.

        Raises what went wrong, or KafkaTimeoutError when the fate is not known by then (the record goes on).
        """
        cdef Fate fate = self._decided(timeout)
        if fate.error is not None:
            raise fate.error.with_traceback(None)
        return RecordMetadata(fate.topic, fate.partition,
                              fate.base_offset + self.index if fate.base_offset >= 0 else -1,
                              fate.append_time if fate.append_time >= 0 else self.timestamp)

    def exception(self, timeout=None):
        """Waits like `result`; gives what went wrong, or None."""
        return self._decided(timeout).error

    def add_done_callback(self, function):
        """Calls function(delivery) once the fate is known, at once if it is; what it raises is logged.

        It runs on the thread that drives the client, outside any lock; blocking calls of the client in it raise.
        """
        cdef list fresh = [(self, function)]
        cdef Fate fate = self._follow()
        fate.seen = True
        if fate.done:
            fate.keeper.run_callback(function, self)
        elif fate.callbacks is None:
            fate.callbacks = fresh
        else:
            fate.callbacks.extend(fresh)

    cdef Fate _decided(self, object timeout):
        cdef Fate fate = self._follow()
        if not fate.done:
            fate.keeper.wait_for(self, timeout)
            fate = self._follow()
        fate.seen = True
        return fate

    @property
    def _fate(self):
        return self._follow()

    def __repr__(self):
        cdef Fate fate = self._follow()
        where = f"{fate.topic}[{fate.partition}]" if fate.partition >= 0 else fate.topic
        if not fate.done:
            return f"<Delivery to {where}: pending>"
        if fate.error is not None:
            return f"<Delivery to {where}: failed, {fate.error}>"
        return f"<Delivery to {where}: offset {fate.base_offset + self.index if fate.base_offset >= 0 else -1}>"
