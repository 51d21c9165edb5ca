# The result of a record: a Delivery (one per record, 40 bytes) points into a BatchResult (one per batch).
#
#   BatchResult    pending -> done (base offset, or an error), once
#                  pending -> redirected: its records went on in other batches (a split, a re-encoding, unassigned
#                  records that were placed); `redirects` says where, in the order of the records
#
# Either needs no memory. What does, to hand on callbacks and futures, follows in Accumulator.announce: if there is none,
# again when the client has recovered from the step that it cut.
#
# A Delivery never points to the payload. It is not tracked by the cyclic collector: what it reaches leads to user
# objects only through callbacks and futures, and a BatchResult drops those when it is done. Check and update are one
# stretch, by the rule THREADS in accumulator.pxi, so a Delivery may be asked from any thread.

from cpython.list cimport PyList_GET_SIZE

from functools import partial as _partial

cdef enum:
    MOST_CAUSES = 1000                    # errors that one comes from


@cython.final
cdef class Watcher:
    """A callback that only looks on: an error that it is given still counts as not looked at."""

    cdef object function                  # called with the metadata, None after an error, and the error

    def __init__(self, function):
        self.function = function

    def __call__(self, Delivery delivery not None):
        cdef BatchResult result = decider_of(delivery)
        if result.error is None:
            self.function(metadata_of(result, delivery), None)
        else:
            self.function(None, own_error(result.error))


@cython.final
@cython.nonecheck(True)
cdef class Redirect:
    """Records of a batch, from `first` on, went on as those of `result`, from `there` on."""

    cdef int32_t first
    cdef int32_t there
    cdef BatchResult result


@cython.final
@cython.freelist(8192)
@cython.nonecheck(True)
cdef class BatchResult:
    """The result of a batch."""

    cdef readonly str topic
    cdef readonly int32_t partition
    cdef readonly bint done
    cdef readonly int64_t base_offset
    cdef readonly int64_t append_time
    cdef readonly object error
    cdef int32_t count            # of its records, once it is done
    cdef int32_t reported         # records whose result was asked for
    cdef list redirects           # of Redirect
    cdef list callbacks           # [(Delivery, function)]
    cdef Py_ssize_t handed_on     # so many of them, once it is decided
    cdef dict futures             # future -> Delivery: a task waits for each
    cdef object owner             # the Accumulator: its hooks, and after_step
    cdef readonly object batch    # the Batch, until done or redirected
    cdef bint is_unnoted          # flush does not know of its error yet
    cdef BatchResult next_decided  # after it in Accumulator.first_decided
    cdef int64_t noted_by         # the SentRows that has rows here, by its number, and ...
    cdef int32_t noted_as         # ... which of its results this is

    def __init__(self):
        raise TypeError("results are made by send()")

    cdef str place(self):
        return f"{self.topic}-{self.partition}" if self.partition >= 0 else self.topic

    cdef bint settle(self, int64_t base_offset, int64_t append_time, object error):
        """Sets the result; only the first call counts, and returns True. Has no need of memory."""
        if self.done or self.redirects is not None:
            return False
        self.base_offset = base_offset
        self.append_time = append_time
        self.error = error
        if error is not None:
            drop_frames(error)
        if self.batch is not None:
            self.count = (<Batch>self.batch).core.count
        self.batch = None
        self.done = True
        return True

    cdef int redirect(self, list redirects) except -1:
        """Its records went on elsewhere. Has no need of memory."""
        self.batch = None
        self.redirects = redirects
        return 0

    cdef int hand_on(self) except -1:
        """Hands callbacks on to the driver, which runs them, or to where their records went; and futures alike.

        Goes on where it has found no memory before.
        """
        if self.callbacks is not None:
            while self.handed_on < PyList_GET_SIZE(self.callbacks):
                delivery, function = self.callbacks[self.handed_on]
                hand_callback_on(<Delivery>delivery, function)
                self.handed_on += 1
            self.callbacks = None
        if self.futures is not None:
            self._hand_on_futures()
        return 0

    cdef int _hand_on_futures(self) except -1:
        """A task that is woken, on a thread of its own, takes its future off while others are still to be woken."""
        cdef dict futures = self.futures
        self.futures = None
        try:
            for future, delivery in futures.items():
                add_future(<Delivery>delivery, future)
        except BaseException:
            self.futures = futures
            raise
        return 0

    cdef int add_callback(self, list fresh) except -1:
        """`fresh` has one (Delivery, function)."""
        if self.callbacks is None:
            self.callbacks = fresh
        else:
            self.callbacks.extend(fresh)
        return 0

    @property
    def all_complete(self):
        """Whether the result of every one of its records is known."""
        return self._all_complete()

    cdef bint _all_complete(self) except -1:
        if self.redirects is not None:
            return all([(<Redirect>entry).result._all_complete() for entry in self.redirects])
        return self.done

    def failures(self):
        """Returns (error, number of records) for each of its batches with records whose error was not looked at.

        All count as looked at from then on.
        """
        if self.redirects is not None:
            return [failure for entry in self.redirects for failure in (<Redirect>entry).result.failures()]
        if self.error is None or self.reported >= self.count:
            return []
        found = [(self.error, self.count - self.reported)]
        self.reported = self.count
        return found


@cython.final
@cython.nonecheck(True)
cdef class Results:
    """The results of some batches, for who waits for all of them; those found complete at the end are let go."""

    cdef readonly Py_ssize_t count        # of the batches
    cdef list left

    def __init__(self, list batches not None):
        cdef Batch batch
        self.left = []
        for batch in batches:
            self.left.append(batch.batch_result)
        self.count = PyList_GET_SIZE(self.left)

    def all_complete(self):
        """Whether the result of every record is known. Any thread may ask at any time."""
        cdef BatchResult last
        while PyList_GET_SIZE(self.left) > 0:
            last = self.left[PyList_GET_SIZE(self.left) - 1]
            if not last._all_complete():
                return False
            if PyList_GET_SIZE(self.left) > 0 and self.left[PyList_GET_SIZE(self.left) - 1] is last:
                self.left.pop()
        return True

    def incomplete(self):
        """How many are not complete."""
        cdef BatchResult result
        cdef Py_ssize_t found = 0
        for result in list(self.left):
            found += not result._all_complete()
        return found


# A Delivery is nothing that the collector looks into. If the error of its result led to a frame that holds it, in which
# result() was called or the error came up, they would keep each other, and all that the frame has, for ever.

cdef object own_error(object error):
    """A copy of a result's error, for one caller: to raise it adds frames to the copy alone."""
    cls = type(error)
    try:
        made = cls.__new__(cls, *error.args)
        made.__dict__.update(error.__dict__)
    except (TypeError, ValueError, AttributeError):  # of a class with a `__new__` of its own
        return error.with_traceback(None)
    made.__cause__, made.__context__ = error.__cause__, error.__context__
    made.__suppress_context__ = error.__suppress_context__
    return made


cdef struct errors_above_t:
    PyObject *error
    const errors_above_t *above


cdef int drop_frames(object error) except -1:
    """Takes the frames out of an error and out of what it comes from, whoever raised it: each leads to its callers. Has
    no need of memory.
    """
    cdef int left = MOST_CAUSES
    return drop_frames_below(error, NULL, &left)


cdef int drop_frames_below(object error, const errors_above_t *above, int *left) except -1:
    cdef errors_above_t here = errors_above_t(error=<PyObject *>error, above=above)
    if error is None or left[0] == 0:
        return 0
    while above != NULL:
        if above.error == here.error:
            return 0  # they come from each other
        above = above.above
    left[0] -= 1
    error.__traceback__ = None
    drop_frames_below(error.__cause__, &here, left)
    if error.__context__ is not error.__cause__:
        drop_frames_below(error.__context__, &here, left)
    return 0


cdef int note_redirect(list redirects, int32_t index, BatchResult result, int32_t there) except -1:
    """Record `index` went to `result` as record `there`; a run of records that went on together is one entry.

    The last entry is for those that go nowhere: see `place_batch`.
    """
    cdef Py_ssize_t end = PyList_GET_SIZE(redirects) - 1
    cdef Redirect entry
    if end > 0:
        entry = <Redirect>redirects[end - 1]
        if entry.result is result and index - entry.first == there - entry.there:
            return 0
    entry = Redirect.__new__(Redirect)
    entry.first = index
    entry.there = there
    entry.result = result
    redirects.insert(end, entry)
    return 0


@cython.final
cdef class RecordMetadata:
    """Where a record was written.

    `topic` and `partition`; `offset`, -1 with acks=0; `timestamp` in milliseconds since 1970, the broker's where the
    topic is set to that.
    """

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

    def _repr_html_(self):
        from kwire._html import of_fields
        return of_fields("RecordMetadata", [("topic", self.topic), ("partition", self.partition),
                                            ("offset", self.offset), ("timestamp", self.timestamp)])

    def __reduce__(self):
        return RecordMetadata, (self.topic, self.partition, self.offset, self.timestamp)


cdef RecordMetadata metadata_of(BatchResult result, Delivery delivery):
    """Where a delivered record is."""
    cdef RecordMetadata made = RecordMetadata.__new__(RecordMetadata)
    made.topic = result.topic
    made.partition = result.partition
    made.offset = result.base_offset + delivery.index if result.base_offset >= 0 else -1
    made.timestamp = result.append_time if result.append_time >= 0 else delivery.timestamp
    return made


cdef extern from "regions.h":
    void kw_use_regions(object cls) noexcept


# Without methods in C, for which each would have eight bytes.
@cython.final
@cython.no_gc
@cython.nonecheck(True)
cdef class Delivery:
    """One record on its way, as `send()` returns it: the methods of a Future."""

    cdef BatchResult batch_result
    cdef int32_t index
    cdef bint reported                # counted in BatchResult.reported
    cdef int64_t timestamp

    def __init__(self):
        raise TypeError("Deliveries are made by send()")

    def done(self):
        """Whether the record's result is known. Never blocks."""
        return decider_of(self).done

    def result(self, timeout=None):
        """Waits for the record's delivery and returns its RecordMetadata.

        `timeout` is in seconds, or a timedelta; None waits until the record is delivered or delivery_timeout_ms ends.
        Raises the error of a record that was not delivered, and KafkaTimeoutError when neither is known in time: the
        record is still on its way then.
        """
        cdef BatchResult result = decided(self, timeout)
        if result.error is not None:
            raise own_error(result.error)
        return metadata_of(result, self)

    def exception(self, timeout=None):
        """Waits like `result`; returns the error of a record that was not delivered, or None."""
        cdef BatchResult result = decided(self, timeout)
        return None if result.error is None else own_error(result.error)

    def add_done_callback(self, function):
        """Calls function(delivery) once the result is known, at once if it is; what it raises is logged.

        It runs on the thread that drives the client, outside any lock; blocking calls of the client in it raise.
        """
        cdef list fresh = [(self, function)]
        cdef BatchResult result = decider_of(self)
        if result.done:
            if type(function) is not Watcher:
                note_reported(self, result)
            result.owner.run_callback(function, self)
        else:
            result.add_callback(fresh)

    def __await__(self):
        """As `result`, for a task: `await delivery`. To cancel the task does not cancel the record."""
        cdef BatchResult result = decider_of(self)
        cdef AtHand found
        if not result.done:
            return _result_of(self, result.owner.future_for(self))
        found = AtHand.__new__(AtHand)
        found.value = self.result()
        return found

    @property
    def _batch_result(self):
        return decider_of(self)

    def __repr__(self):
        cdef BatchResult result = decider_of(self)
        where = result.place()
        if not result.done:
            return f"<Delivery to {where}: pending>"
        if result.error is not None:
            return f"<Delivery to {where}: failed, {result.error}>"
        return f"<Delivery to {where}: offset {result.base_offset + self.index if result.base_offset >= 0 else -1}>"

    def _repr_html_(self):
        from kwire._html import of_fields
        cdef BatchResult result = decider_of(self)
        cdef RecordMetadata found
        if not result.done or result.error is not None:
            return of_fields("Delivery", [("topic", result.topic),
                                          ("partition", result.partition if result.partition >= 0 else None),
                                          ("state", "failed" if result.done else "pending"), ("error", result.error)])
        found = metadata_of(result, self)
        return of_fields("Delivery", [("topic", found.topic), ("partition", found.partition), ("state", "delivered"),
                                      ("offset", found.offset), ("timestamp", found.timestamp)])


kw_use_regions(Delivery)


@cython.nonecheck(True)
cdef inline BatchResult decider_of(Delivery delivery):
    """The BatchResult that decides now."""
    return delivery.batch_result if delivery.batch_result.redirects is None else _follow(delivery)


@cython.nonecheck(True)
cdef BatchResult _follow(Delivery delivery):
    """The same where its record went on elsewhere; redirects that were followed are not followed again."""
    cdef Py_ssize_t low, high, middle
    cdef Redirect entry
    while delivery.batch_result.redirects is not None:
        low = 0
        high = len(delivery.batch_result.redirects)
        while high - low > 1:
            middle = (low + high) // 2
            if (<Redirect>delivery.batch_result.redirects[middle]).first <= delivery.index:
                low = middle
            else:
                high = middle
        entry = <Redirect>delivery.batch_result.redirects[low]
        delivery.index += entry.there - entry.first
        delivery.batch_result = entry.result
    return delivery.batch_result


cdef inline BatchResult decided(Delivery delivery, object timeout):
    """The BatchResult, whose result is known, perhaps after a wait, and from now on given to the user."""
    cdef BatchResult result = decider_of(delivery)
    if not result.done:
        result.owner.wait_for(delivery, timeout)
        result = decider_of(delivery)
    note_reported(delivery, result)
    return result


cdef inline void note_reported(Delivery delivery, BatchResult result) noexcept:
    """Its result is given to the user."""
    if not delivery.reported:
        delivery.reported = True
        result.reported += 1


cdef int hand_callback_on(Delivery delivery, object function) except -1:
    """As `add_done_callback`, but that it is run later if the result is known."""
    cdef BatchResult result = decider_of(delivery)
    if result.done:
        result.owner.after_step.append(_partial(result.owner.run_callback, function, delivery))
        if type(function) is not Watcher:
            note_reported(delivery, result)
    else:
        result.add_callback([(delivery, function)])
    return 0


cdef int add_future(Delivery delivery, object future) except -1:
    cdef dict fresh = {future: delivery}
    cdef BatchResult result = decider_of(delivery)
    if result.done:
        result.owner.settle_future(future)
    elif result.futures is None:
        result.futures = fresh
    else:
        result.futures[future] = delivery
    return 0


cdef int remove_future(Delivery delivery, object future) except -1:
    cdef BatchResult result = decider_of(delivery)
    if result.futures is not None:
        result.futures.pop(future, None)
    return 0


def _result_of(Delivery delivery not None, future not None):
    """Waits for the future, which the delivery's batch sets, and returns what `result` does."""
    add_future(delivery, future)
    try:
        yield from future
    finally:
        remove_future(delivery, future)
    return delivery.result()
