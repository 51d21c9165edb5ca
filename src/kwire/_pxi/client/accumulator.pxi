# From send() to the batch: topic -> partition -> the open batch there, compiled whole.
#
# A send turns its arguments into pointers first and makes the objects it may need. The rest runs no Python, so with the
# GIL held no other thread, signal handler or finalizer sees it half done.
#
#   open batch     one per partition with records; takes records until the next does not fit
#   waiting        batches that are closed, oldest first, and those to be sent again
#   ready          partitions with something to send now: a closed batch, or an open one whose linger has ended
#   unassigned     partition -1 of a topic whose partitions are not known yet; its records are placed once they are
#
# THREADS. Any number of threads run send() with the GIL alone; one at a time, with the reactor's lock, runs the sender.
# Both change the state of this file and of queues.pxi, under one rule: what both touch is read and changed in stretches
# of compiled code that keep the GIL and run no Python. Up to Python 3.11 every allocation of an object that the cyclic
# collector tracks may run it, and so finalizers, weak references' callbacks and gc.callbacks. Hence in a stretch
#
#   may stand      reads, assignments, arithmetic; append, popleft, get, pop and item assignment of lists, deques and
#                  dicts with keys of ours; int, float, bytes; instances of no_gc classes (Delivery); the drop of a
#                  reference that is not the last one, or is to what leads to no object of users
#   may not stand  a call of Python; `with nogil`; a new list, dict, set, tuple, iterator, bound method, exception or
#                  instance of a class; a method that takes its arguments as a tuple (dict.update); hash and comparison
#                  of users' objects; the drop of the last reference to what leads to such: an error with a traceback,
#                  a callback, a future
#
# What a stretch needs is made before it, and then everything is looked at again (`_commit`); where it is not known
# before what that is, the collector is switched off meanwhile (placing.pxi). A copy is one stretch:
# list(x) makes the list and the iterator before it reads. Python gets copies (`topics`, `pending`) and takes from the
# deques by popleft; it never iterates over what send() may change.

from collections import deque as _deque

MAX_FAILED_RESULTS = 10000

cdef enum:
    PLENTY = 4194304                      # bytes for one broker that, closed, keep it busy


cdef extern from "Python.h":
    bint PyGC_Disable()
    bint PyGC_Enable()

cdef extern from "clock.h" nogil:
    int64_t kw_wall_milliseconds()
    double kw_coarse_seconds()


cdef int raise_too_large(int64_t size, str setting, int64_t limit) except -1:
    """Raises the error about a record that is larger than that setting allows."""
    from kwire.errors.wording import SettingName, Wording

    raise _errors.LimitError(
        Wording("a record of {size} bytes is larger than {setting}={limit}",
                size=size, setting=SettingName(setting), limit=limit))


@cython.final
cdef class Accumulator:
    """Gathers records into batches, within `buffer_memory` bytes. Times are in seconds.

    Set by the constructor, constant from then on:
        batch_size, linger, buffer_memory, max_request_size     the settings
        partitioner            the name of one in partitioning.pxi, or a callable
        max_unassigned_age     a batch of records without a known partition takes no more after so long, because all its
                               records fail with the oldest
        after_step             deque of callables for the driver to run outside any lock

    Set by the client before the first send:
        wait_for_room(size, since)           blocks until there may be room; `since`: when the record began to wait
        let_drain()                          may block a moment before a batch is opened where they are filled, while
                                             PLENTY waits; may be None
        wait_for_partitions(topic)           blocks until no record of it waits for its partitions; may be None
        wait_for(delivery, timeout)          drives until the delivery's result is known
        run_callback(function, delivery)     calls a user's callback
        future_for(delivery)                 returns a future of the running event loop, for a task that waits
        settle_future(future)                wakes that task
        on_attention()                       something became ready, or the first batch was opened; may be None
        is_transactional                     whether batches belong to transactions

    Changed by send() and by the sender, see THREADS above:
        used, records_sent                   bytes of records not delivered yet; records taken so far
        queued                               bytes of batches that are closed and not delivered yet
        closed                               None, or why send() raises for ever; `bar` makes it raise for a while
        ready, lingering, unknown_topics     queues: partitions to be sent, batches by age, topics that need metadata
        failed, failures_dropped             the last MAX_FAILED_RESULTS failed results; how many records older ones had
        held                                 list of blocked partitions with something to send, as `route_ready` met them
    """

    cdef readonly int64_t batch_size, buffer_memory, max_request_size
    cdef readonly double linger, max_unassigned_age
    cdef readonly object after_step
    cdef public object wait_for_room
    cdef public object let_drain
    cdef public object wait_for_partitions
    cdef public object wait_for
    cdef public object run_callback
    cdef public object future_for
    cdef public object settle_future
    cdef public object on_attention
    cdef public bint is_transactional
    cdef readonly int64_t used
    cdef readonly int64_t queued
    cdef readonly double waited_s         # seconds that send() has waited for room, together
    cdef public int64_t records_sent
    cdef object why_closed
    cdef object barred                    # None, or what makes send() raise: see `_refusal`
    cdef bint gated                       # the queues of new partitions are blocked
    cdef readonly list held
    cdef readonly Fifo ready              # of PartitionQueue
    cdef readonly Fifo lingering          # of Batch, oldest first: open, or closed and not yet taken off
    cdef readonly object unknown_topics   # deque of TopicQueue
    cdef readonly object failed
    cdef public int64_t failures_dropped
    cdef dict topics_by_name
    cdef readonly TopicQueue former       # the counts of topics that were dropped, together
    cdef object last_name                 # the str that named the topic of the last send, and ...
    cdef TopicQueue last_topic            # ... that topic
    cdef Roll unfinished                  # of Batch, in the order of opening: its result is not known
    cdef int64_t opened                   # batches so far
    cdef bint attention                   # on_attention is to be called
    cdef bint linger_reported             # it was called since the oldest batch's linger ended
    cdef int64_t last_stamp               # of the last record that the clock has stamped
    cdef int64_t looked_at                # when the oldest batch was last looked at, as such a stamp
    cdef int partitioner
    cdef object partition_by              # a callable partitioner, or None
    cdef list refused                     # (BatchResult, error) of records that it has refused, to be completed
    cdef BatchResult first_decided        # a chain, oldest first: decided, and to be announced
    cdef BatchResult last_decided
    cdef bint suspected                   # the user was warned of a timestamp that looked like seconds
    cdef bint frozen                      # the clock is set by `set_clock`
    cdef double frozen_now
    cdef int64_t frozen_wall
    cdef uint64_t rng

    def __cinit__(self, *, int64_t batch_size=16384, double linger=0.005, int64_t buffer_memory=33554432,
                  int64_t max_request_size=1048576, double max_unassigned_age=1.0, uint64_t seed=1,
                  object after_step=None, object partitioner="default"):
        self.batch_size = batch_size
        self.linger = linger
        self.buffer_memory = buffer_memory
        self.max_request_size = max_request_size
        self.max_unassigned_age = max_unassigned_age
        self.rng = seed | 1
        self.partitioner = partitioner_of(partitioner)
        self.partition_by = partitioner if self.partitioner == BY_CALLABLE else None
        self.refused = []
        self.topics_by_name = {}
        self.former = TopicQueue.__new__(TopicQueue)
        self.last_name = self.topics_by_name  # no send has that for a topic
        self.ready = Fifo()
        self.lingering = Fifo()
        self.unfinished = roll_of(number_batch)
        self.unknown_topics = _deque()
        self.failed = _deque()
        self.held = []
        self.after_step = _deque() if after_step is None else after_step

    @property
    def topics(self):
        """Name -> TopicQueue, a copy."""
        return dict(self.topics_by_name)

    @property
    def pending(self):
        """The batches whose result is not known, in the order of opening, a copy."""
        return self.unfinished.items()

    @property
    def closed(self):
        """None, or why send() raises for ever."""
        return self.why_closed

    @closed.setter
    def closed(self, why):
        self.why_closed = self.barred = why

    def check_open(self):
        """Raises what send() would for ever, once there is something."""
        if self.why_closed is not None:
            raise _errors.ClientClosedError(self.why_closed)

    def check_taking(self):
        """Raises what send() would now, whatever the record."""
        if self.barred is not None:
            raise self._refusal()

    def bar(self, refusal):
        """From now on send() raises what `refusal()` returns; with None it takes records, unless it is closed."""
        if self.why_closed is None:
            self.barred = refusal

    @property
    def is_empty(self):
        """Whether the result of every batch is known."""
        return self.unfinished.is_empty()

    def set_clock(self, double now, int64_t wall_milliseconds):
        """Replaces the clock by this time, for tests in virtual time."""
        self.frozen = True
        self.frozen_now = now
        self.frozen_wall = wall_milliseconds

    cdef inline double _now(self) noexcept nogil:
        return self.frozen_now if self.frozen else kw_coarse_seconds()

    cdef inline int64_t _wall(self) noexcept nogil:
        return self.frozen_wall if self.frozen else kw_wall_milliseconds()

    cdef inline int64_t _stamp(self, int64_t earlier) noexcept nogil:
        """The time of day; or that of an earlier stamp of the same call, while nothing was stamped since (0: none)."""
        if earlier == 0 or earlier < self.last_stamp:
            self.last_stamp = self._wall()
            return self.last_stamp
        return earlier

    # -- sending --------------------------------------------------------------------------------------------------

    cdef Delivery send(self, object topic, object value, object key, object partition, object timestamp,
                       object headers, bint nowait):
        cdef record_datum_t record
        cdef header_datum_t small[SMALL_HEADERS]
        cdef TopicQueue queue
        cdef Delivery delivery
        cdef int32_t requested = -1
        cdef bint stamped = True
        if self.barred is not None:
            raise self._refusal()
        if topic is self.last_name:
            queue = self.last_topic
        else:
            queue = self._find_topic(topic)
        if partition is not None:
            requested = partition_number(partition)
        held_value = take_bytes(value, &record.value, "value")
        held_key = take_bytes(key, &record.key, "key")
        held_headers = take_headers(headers, &record, small)
        record.timestamp = take_timestamp(timestamp, NO_STAMP)
        if record.timestamp == NO_STAMP:
            stamped = False
        elif looks_like_seconds(record.timestamp) and not self.suspected:
            self._warn_of_seconds(record.timestamp)
        delivery = Delivery.__new__(Delivery)
        self._commit(queue, &record, requested, stamped, 0, nowait, delivery)
        if self.attention:
            self._say_attention()
        return delivery

    cdef object send_bytes(self, PyObject *topic, PyObject *value, PyObject *key, PyObject *partition):
        """As `send`, where one append does: a record of bytes for an open batch of the last send's topic. Else None.

        key, partition: NULL if they were not given. Nothing that is looked at needs a reference of its own.
        """
        cdef record_datum_t record
        cdef Delivery delivery
        cdef int64_t number = -1
        if (topic != <PyObject *>self.last_name or self.barred is not None
                or not lend_bytes(value, &record.value) or not lend_bytes(key, &record.key)):
            return None
        if partition != NULL and partition != <PyObject *>None and (
                not kw_is_short_int(partition, &number) or number < 0):
            return None
        record.headers = NULL
        record.header_count = 0
        delivery = Delivery.__new__(Delivery)
        if not self._append(self.last_topic, &record, record_size_bound(&record), <int32_t>number, False, 0, delivery):
            return None
        if record.timestamp != self.looked_at:
            self._look_after_linger(record.timestamp)
        if self.attention:
            self._say_attention()
        return delivery

    cdef TopicQueue _find_topic(self, object name):
        """The topic, which is made if need be. The next send to that very str need not look it up."""
        cdef TopicQueue queue = <TopicQueue>self.topics_by_name.get(name)
        if queue is None:
            queue = self._new_topic(name)
        if type(name) is str:
            self.last_topic = queue
            self.last_name = name
        return queue

    cdef int _commit(self, TopicQueue topic, record_datum_t *record, int32_t requested, bint stamped, int64_t earlier,
                     bint nowait, Delivery delivery) except -1:
        """Appends one record to the open batch of its partition, and points `delivery` at it.

        After whatever may run Python it looks again; from the last look on it is one stretch. There the record is
        stamped, unless it is `stamped`, so that stamps come in the order of the records: see `_stamp` for `earlier`.
        """
        cdef PartitionQueue queue
        cdef Batch batch, fresh = None
        cdef int64_t bound = record_size_bound(record)
        cdef int64_t size, before
        cdef double waits_since = -1.0
        cdef int fault
        if self._append(topic, record, bound, requested, stamped, earlier, delivery):
            if stamped or record.timestamp != self.looked_at:
                self._look_after_linger(record.timestamp)
            return 0
        if bound > self.max_request_size or bound > self.buffer_memory:
            self._check_record_size(bound)
        while True:
            if topic.is_dropped:
                topic = self._find_topic(topic.name)
            if self.used + bound > self.buffer_memory:
                if waits_since < 0:
                    waits_since = self._now()
                self._make_room(bound, nowait, waits_since)
                earlier = 0
                continue
            queue = self._choose(topic, record, requested)
            if queue is None:
                if requested >= 0:
                    self._add_unknown_partition(topic, requested)
                else:
                    requested = self._ask_partitioner(topic, record)
                    earlier = 0
                continue
            batch = queue.open
            if batch is None:
                if fresh is None:
                    # A batch that was not filled is larger for waiting open while brokers are busy.
                    if (self.queued >= PLENTY and not nowait and 2 * <int64_t>queue.expected > self.batch_size
                            and self.let_drain is not None):
                        self.let_drain()
                        earlier = 0
                    fresh = self._new_batch()
                    continue
                if self.barred is not None:  # while Python ran since the first look; an open batch is still waited for
                    raise self._refusal()
                batch = fresh
                if queue.expected:
                    builder_begin(&batch.core, self._block_size(queue, bound))
            if (queue.partition < 0 and requested >= 0 and batch.requested is None) or (
                    stamped and batch.lacks_room_for_stamp()):
                batch.make_room_for_notes()
                continue
            if not stamped:
                record.timestamp = self._stamp(earlier)
            before = <int64_t>batch.core.used
            if (before + bound <= self.batch_size or batch is fresh
                    or before + builder_record_size(&batch.core, record) <= self.batch_size):
                break
            self._close(queue)
        if stamped or (queue.partition < 0 and requested >= 0):
            batch.note_next(requested if queue.partition < 0 else -1, stamped)
        fault = builder_append(&batch.core, record)
        if fault != BUILD_OK:
            batch.forget_next()
            raise_build_fault(fault, 2)
        size = <int64_t>batch.core.used - before
        if batch is fresh:
            self._open(queue, batch)
        batch.has_headers = batch.has_headers or record.header_count > 0
        batch.accounted += size
        self.used += size
        self.records_sent += 1
        delivery.batch_result = batch.batch_result
        delivery.index = batch.core.count - 1
        delivery.timestamp = record.timestamp
        if requested >= 0:
            batch.names_partition = True
        topic.turn += 1
        if queue is topic.sticky:
            topic.sticky_bytes += size
        if <int64_t>batch.core.used >= self.batch_size:
            self._close_full(queue)
        elif stamped or record.timestamp != self.looked_at:
            self._look_after_linger(record.timestamp)
        return 0

    @cython.nonecheck(False)
    cdef inline bint _append(self, TopicQueue topic, record_datum_t *record, int64_t bound, int32_t requested,
                             bint stamped, int64_t earlier, Delivery delivery) noexcept:
        """`_commit` where the record goes to an open batch that it surely fits into; else False, and nothing is changed.

        One stretch, of borrowed references.
        """
        cdef PyObject *queue = self._known_queue(topic, record, requested)
        cdef PyObject *batch
        cdef builder_t *core
        cdef int64_t size
        if queue == NULL or bound > self.max_request_size or self.used + bound > self.buffer_memory:
            return False
        batch = <PyObject *>(<PartitionQueue>queue).open
        if batch == <PyObject *>None:
            return False
        core = &(<Batch>batch).core
        size = <int64_t>core.used
        if size + bound >= self.batch_size or size + bound > <int64_t>core.capacity:
            return False
        if not stamped:
            record.timestamp = self._stamp(earlier)
        elif (<Batch>batch).stamped_first == core.count:
            (<Batch>batch).stamped_first += 1
        else:
            return False
        builder_put(core, record)
        builder_fetch_ahead(core)
        size = <int64_t>core.used - size
        if record.header_count > 0:
            (<Batch>batch).has_headers = True
        if requested >= 0:
            (<Batch>batch).names_partition = True
        (<Batch>batch).accounted += size
        self.used += size
        self.records_sent += 1
        topic.turn += 1
        if queue == <PyObject *>topic.sticky:
            topic.sticky_bytes += size
        delivery.batch_result = (<Batch>batch).batch_result
        delivery.index = core.count - 1
        delivery.timestamp = record.timestamp
        return True

    @cython.nonecheck(False)
    cdef inline PyObject *_known_queue(self, TopicQueue topic, const record_datum_t *record,
                                       int32_t requested) noexcept:
        """`_choose` by default, as a borrowed reference; NULL where that does not tell."""
        cdef Py_ssize_t known = PyList_GET_SIZE(topic.partitions)
        if known == 0 or requested >= known:
            return NULL
        if requested < 0:
            if self.partitioner != BY_DEFAULT:
                return NULL
            if record.key.size < 0:
                return <PyObject *>topic.sticky
            requested = (murmur2_of(record.key.data, <size_t>record.key.size) & 0x7FFFFFFF) % <uint32_t>known
        return PyList_GET_ITEM(topic.partitions, requested)

    cdef int _look_after_linger(self, int64_t timestamp) except -1:
        """Looks at the oldest batch, if there is one whose linger has not been reported."""
        if not self.linger_reported and not self.lingering.is_empty():
            self.looked_at = timestamp
            self._look_at_oldest(<Batch>self.lingering.first())
        return 0

    cdef int _warn_of_seconds(self, int64_t timestamp) except -1:
        from warnings import warn
        self.suspected = True
        warn(f"timestamp={timestamp} is in January to April 1970: timestamps are milliseconds, and this looks like "
             "seconds")
        return 0

    cdef inline int _look_at_oldest(self, Batch batch) except -1:
        if self._now() >= batch.created_at + self.linger and not batch.queue._is_held_up():
            self.linger_reported = self.attention = True
        return 0

    cdef inline PartitionQueue _choose(self, TopicQueue topic, const record_datum_t *record, int32_t requested):
        """The queue for the record; None if it is that of an unknown partition and has yet to be made, or if no partition
        is requested and a callable is to be asked for one."""
        cdef Py_ssize_t known = PyList_GET_SIZE(topic.partitions)
        if known == 0:
            return self._not_too_old(topic.unassigned)
        if requested >= 0:
            if requested < known:
                return <PartitionQueue>topic.partitions[requested]
            return self._not_too_old(<PartitionQueue>topic.unknown_partitions.get(requested))
        if self.partitioner != BY_DEFAULT:
            return self._choose_by(topic, record, requested)
        if record.key.size >= 0:
            return <PartitionQueue>topic.partitions[
                (murmur2_of(record.key.data, <size_t>record.key.size) & 0x7FFFFFFF) % <uint32_t>known]
        return topic.sticky

    cdef PartitionQueue _choose_by(self, TopicQueue topic, const record_datum_t *record, int32_t requested):
        cdef uint64_t turn = topic.turn
        if self.partitioner == BY_CALLABLE:
            return topic.sticky if requested == ANY_PARTITION else None
        if hashes(self.partitioner, &record.key):
            return <PartitionQueue>topic.partitions[
                key_hash(self.partitioner, &record.key) % <uint32_t>PyList_GET_SIZE(topic.partitions)]
        if self.partitioner == BY_RANDOM:
            turn = mixed(self.rng ^ turn)
        elif self.partitioner != BY_ROUND_ROBIN:
            return topic.sticky
        return <PartitionQueue>topic.available[<Py_ssize_t>(turn % <uint64_t>PyList_GET_SIZE(topic.available))]

    cdef int32_t _ask_partitioner(self, TopicQueue topic, const record_datum_t *record) except -1:
        """The partition that the callable chooses among those that are known, or ANY_PARTITION."""
        topic.number_partitions()
        return ask_partitioner(self.partition_by, topic.name, key_of(record), topic.numbers, topic.available_numbers)

    cdef int _add_unknown_partition(self, TopicQueue topic, int32_t requested) except -1:
        """Makes a queue for a partition beyond those that are known, if it still is."""
        cdef PartitionQueue queue = self._new_queue(topic, requested)
        if requested >= PyList_GET_SIZE(topic.partitions):
            topic.unknown_partitions.setdefault(requested, queue)
        return 0

    cdef PartitionQueue _not_too_old(self, PartitionQueue queue):
        """The queue, for records whose partition is not known: its batch takes no more when it has waited for long."""
        if queue is not None and queue.open is not None and (
                self._now() - queue.open.created_at > self.max_unassigned_age):
            self._close(queue)
        return queue

    cdef int _check_record_size(self, int64_t size) except -1:
        if size > self.max_request_size:
            return raise_too_large(size, "max_request_size", self.max_request_size)
        return raise_too_large(size, "buffer_memory", self.buffer_memory)

    cdef int _make_room(self, int64_t size, bint nowait, double since) except -1:
        cdef double began
        if nowait:
            raise _errors.BufferFull(f"{self.used} of buffer_memory={self.buffer_memory} bytes wait to be delivered")
        began = self._now()
        try:
            self.wait_for_room(size, since)
        finally:
            self.waited_s += self._now() - began
        if self.barred is not None:
            raise self._refusal()
        return 0

    cdef object _refusal(self):
        """The error for a record that is not taken."""
        return _errors.ClientClosedError(self.why_closed) if self.why_closed is not None else self.barred()

    cdef int _say_attention(self) except -1:
        """An exception in it leaves the call to the next send."""
        self.attention = False
        if self.on_attention is not None:
            try:
                self.on_attention()
            except BaseException:
                self.attention = True
                raise
        return 0

    cdef int send_arrow(self, object topic, object source, object partition, bint nowait,
                        list deliveries) except -1:
        """Sends the rows of an Arrow array, or of all batches of an Arrow stream."""
        cdef ArrowBatches batches = ArrowBatches(source)
        cdef ArrowRecords rows
        cdef TopicQueue queue
        cdef int32_t requested = -1
        if self.barred is not None:
            raise self._refusal()
        queue = self._find_topic(topic)
        if partition is not None:
            requested = partition_number(partition)
        rows = batches.next(NO_STAMP)
        if rows is not None and rows.unused:
            warn_of_columns(rows.unused)
        while rows is not None:
            self._send_rows(queue, rows, requested, nowait, deliveries)
            rows = batches.next(NO_STAMP)
        return 0

    cdef int _send_rows(self, TopicQueue queue, ArrowRecords rows, int32_t requested, bint nowait,
                        list deliveries) except -1:
        cdef record_datum_t record
        cdef Delivery delivery
        cdef int64_t row
        cdef int64_t earlier = 0
        cdef int fault
        cdef bint stamped
        for row in range(rows.length):
            fault = rows.record(row, &record)
            if fault != ARROW_OK:
                raise_arrow_fault(rows, fault, row, 2)
            stamped = record.timestamp != NO_STAMP
            delivery = Delivery.__new__(Delivery)
            self._commit(queue, &record, requested, stamped, earlier, nowait, delivery)
            if not stamped:
                earlier = record.timestamp
            deliveries.append(delivery)
            if self.attention:
                self._say_attention()
        return 0

    # -- queues and batches ---------------------------------------------------------------------------------------

    cdef TopicQueue _new_topic(self, object name):
        cdef TopicQueue topic
        if not isinstance(name, str):
            raise TypeError(f"a topic is a str, not {type(name).__name__}")
        check_topic_name(name)
        topic = TopicQueue.__new__(TopicQueue)
        topic.name = str(name)
        topic.owner = self
        topic.partitions = []
        topic.unknown_partitions = {}
        topic.available = []
        topic.unassigned = self._new_queue(topic, -1)
        return <TopicQueue>self.topics_by_name.setdefault(topic.name, topic)

    cdef PartitionQueue _new_queue(self, TopicQueue topic, int32_t partition):
        cdef PartitionQueue queue = PartitionQueue.__new__(PartitionQueue)
        queue.topic = topic
        queue.partition = partition
        queue.waiting = Fifo()
        queue.number = NOT_ENROLLED
        queue.sequences = Sequences()
        queue.blocked = self.gated
        return queue

    cdef Batch _new_batch(self):
        cdef Batch batch = Batch.__new__(Batch)
        batch.batch_result = self._new_result()
        batch.is_transactional = self.is_transactional
        return batch

    cdef inline size_t _block_size(self, PartitionQueue queue, int64_t bound):
        """Room for a batch that is an eighth larger than the last one, and for the bound of one more record."""
        cdef int64_t size = <int64_t>(queue.expected + queue.expected // 8)
        return <size_t>(max(min(size, self.batch_size), bound) + bound)

    cdef BatchResult _new_result(self):
        cdef BatchResult result = BatchResult.__new__(BatchResult)
        result.base_offset = -1
        result.append_time = -1
        result.owner = self
        return result

    cdef int _open(self, PartitionQueue queue, Batch batch) except -1:
        """Makes `batch`, which has a record, the open batch of the queue, which has none; changes nothing if it raises."""
        self._adopt(queue, batch, self._now())
        try:
            if not 0 <= queue.partition < PyList_GET_SIZE(queue.topic.partitions):
                self._needs_metadata(queue.topic)
            elif self.linger <= 0:
                self._mark_ready(queue)
                batch.due = True
            else:
                if self.lingering.is_empty():
                    self.attention = True
                self.lingering.append(batch)
        except MemoryError:
            self._release(batch)
            raise
        queue.open = batch
        return 0

    cdef int _adopt(self, PartitionQueue queue, Batch batch, double created_at) except -1:
        self.unfinished.enter(batch)
        self.opened += 1
        batch.order = self.opened
        batch.queue = queue
        batch.created_at = created_at
        batch.batch_result.topic = queue.topic.name
        batch.batch_result.partition = queue.partition
        batch.batch_result.batch = batch
        queue.topic.pending_batches += 1
        queue.topic.used_at = created_at
        return 0

    cdef int _needs_metadata(self, TopicQueue topic) except -1:
        if topic not in self.unknown_topics:
            self.unknown_topics.append(topic)
        self.attention = True
        return 0

    cdef Batch _close_batch(self, PartitionQueue queue):
        """Closes the open batch: it takes no more records."""
        cdef Batch batch = queue.open
        batch.closed = True
        batch.queued = <int64_t>batch.core.used
        self.queued += batch.queued
        queue.open = None
        queue.expected = batch.core.used
        if queue is queue.topic.sticky and queue.topic.sticky_bytes >= self.batch_size:
            self._next_sticky(queue.topic)
        return batch

    cdef int _close(self, PartitionQueue queue) except -1:
        """Has the open batch wait, closed; leaves it open if it raises."""
        self._mark_ready(queue)
        queue.waiting.append(queue.open)
        self._close_batch(queue)
        return 0

    cdef int _close_full(self, PartitionQueue queue) except -1:
        """As `_close`; without memory for that a batch is closed by the next record, or sent when its linger ends."""
        try:
            self._close(queue)
        except MemoryError:
            pass
        return 0

    cdef int _mark_ready(self, PartitionQueue queue) except -1:
        if not 0 <= queue.partition < PyList_GET_SIZE(queue.topic.partitions):
            self._needs_metadata(queue.topic)
        elif not queue.in_ready:
            self.ready.append(queue)
            queue.in_ready = True
            if not queue._is_held_up():
                self.attention = True
        return 0

    cdef int _next_sticky(self, TopicQueue topic) except -1:
        """Chooses another partition for records without a key, by xorshift64; not the same twice if there are two."""
        cdef Py_ssize_t count = PyList_GET_SIZE(topic.available)
        cdef Py_ssize_t i
        topic.sticky_bytes = 0
        self.rng ^= self.rng << 13
        self.rng ^= self.rng >> 7
        self.rng ^= self.rng << 17
        i = <Py_ssize_t>((self.rng >> 11) % <uint64_t>count)
        if topic.available[i] is topic.sticky:
            i = (i + 1) % count
        topic.sticky = <PartitionQueue>topic.available[i]
        return 0

    # -- for the sender -------------------------------------------------------------------------------------------

    cpdef expire_linger(self, double now):
        """Makes batches due whose linger has ended; returns the moment of the next, or None."""
        cdef Batch batch
        self.linger_reported = False
        while not self.lingering.is_empty():
            batch = <Batch>self.lingering.first()
            if not batch.closed:
                if batch.created_at + self.linger > now:
                    return batch.created_at + self.linger
                self._mark_ready(batch.queue)
                batch.due = True
            self.lingering.drop_first()
        return None

    @cython.nonecheck(True)
    cpdef make_due(self, Batch batch):
        """Ends the linger of a batch that a thread waits for."""
        if not batch.closed and not batch.due:
            self._mark_ready(batch.queue)
            batch.due = True

    def make_all_due(self):
        """Ends the linger of all batches, for flush."""
        cdef Batch batch
        while not self.lingering.is_empty():
            batch = <Batch>self.lingering.first()
            self.make_due(batch)
            self.lingering.drop_first()

    cpdef list route_ready(self):
        """Moves the partitions with something to send to the sinks of their leaders; returns those that have no sink.

        From then on send() calls on_attention again.
        """
        cdef PartitionQueue queue
        cdef list unrouted = []
        while not self.ready.is_empty():
            queue = <PartitionQueue>self.ready.first()
            if queue.partition >= PyList_GET_SIZE(queue.topic.partitions):
                self._needs_metadata(queue.topic)
            else:
                if queue.blocked:
                    self.held.append(queue)
                if queue.sink is None:
                    unrouted.append(queue)
                else:
                    queue.sink.enrol(queue)
            self.ready.drop_first()
            queue.in_ready = False
        self.attention = False
        return unrouted

    def begin_transaction(self, *, bint gated, bint anew):
        """Nothing is unfinished. gated: blocks every partition, new ones too; anew: sequences begin again."""
        cdef TopicQueue topic
        cdef PartitionQueue queue
        self.gated = gated
        self.held.clear()
        for topic in list(self.topics_by_name.values()):
            for queue in topic.queues:
                queue.blocked = gated
                if anew:
                    queue.sequences.begin(-1, -1)

    def open_gate(self):
        """Partitions are blocked no longer."""
        cdef TopicQueue topic
        cdef PartitionQueue queue
        self.gated = False
        self.held.clear()
        for topic in list(self.topics_by_name.values()):
            for queue in topic.queues:
                queue.blocked = False

    def unroute_all(self):
        """Leaders may have moved: `route_ready` returns all partitions that hold something, to be routed again."""
        cdef TopicQueue topic
        cdef PartitionQueue queue
        for topic in list(self.topics_by_name.values()):
            for queue in topic.partitions:
                queue._leave_sink()
                if queue._head() is not None:
                    self._mark_ready(queue)

    def abandon(self, Batch batch not None, error not None):
        """Ends a batch with an error that flush does not report."""
        batch.queue._remove(batch)
        self._release(batch)
        self._settle(batch.batch_result, -1, -1, error, False)
        self.announce()

    @cython.nonecheck(True)
    cpdef complete(self, Batch batch, int64_t base_offset, int64_t append_time, object error):
        """Sets the result of a batch, wherever it is, and frees its memory."""
        batch.queue._remove(batch)
        self._release(batch)
        self._settle(batch.batch_result, base_offset, append_time, error, error is not None)
        self.announce()

    cdef int _settle(self, BatchResult result, int64_t base_offset, int64_t append_time, object error,
                     bint is_noted) except -1:
        """Sets a result, which `announce` makes known: with `is_noted` to the next flush, too."""
        if result.settle(base_offset, append_time, error):
            result.is_unnoted = is_noted
            self._chain(result)
        return 0

    cdef int _chain(self, BatchResult result) except -1:
        if self.last_decided is None:
            self.first_decided = result
        else:
            self.last_decided.next_decided = result
        self.last_decided = result
        return 0

    cpdef announce(self):
        """Hands on the callbacks of what has been decided, and notes what failed. If memory for that is missing, all of
        it is done by the next call.
        """
        cdef BatchResult result
        while self.first_decided is not None:
            result = self.first_decided
            if result.is_unnoted:
                self._note_failed(result)
            result.hand_on()
            self.first_decided = result.next_decided
            result.next_decided = None
            if self.first_decided is None:
                self.last_decided = None

    cdef int _note_failed(self, BatchResult result) except -1:
        """Counts its records, and keeps it for the next flush; of the oldest beyond MAX_FAILED_RESULTS only the count."""
        cdef TopicQueue topic = <TopicQueue>self.topics_by_name.get(result.topic)
        self.failed.append(result)
        result.is_unnoted = False
        if topic is not None:
            topic.records_failed += result.count
        if len(self.failed) > MAX_FAILED_RESULTS:
            for _, count in (<BatchResult>self.failed[0]).failures():
                self.failures_dropped += count
            self.failed.popleft()
        return 0

    cdef int _release(self, Batch batch) except -1:
        self.used -= batch.accounted
        batch.accounted = 0
        self.queued -= batch.queued
        batch.queued = 0
        if self.unfinished.strike(batch, batch.number):
            batch.queue.topic.pending_batches -= 1
        batch.sealed = None
        kw_block_release(batch.core.block)
        builder_hold(&batch.core, NULL)
        return 0

    def update_partitions(self, TopicQueue topic not None, int count, available, *, bint anew=False):
        """The topic has `count` partitions; `available` are the numbers of those that have a leader.

        Records that waited for that are placed. A smaller count is believed of a topic that was made `anew`; records of
        partitions that are gone wait for them to appear again, as those of any unknown partition.
        """
        cdef list numbers = list(available)
        cdef list placed = []  # dropped when all is done: an error that a batch had may lead to users' objects
        restore_unplaced(self, topic, count if anew else topic.known)
        while not place_by_partitions(self, topic, count, numbers, anew, placed):
            pass
        while self.refused:
            result, error = self.refused.pop()
            self._settle(result, -1, -1, error, True)
        self.announce()

    def forget_partitions(self, TopicQueue topic not None):
        """Nothing is known of the topic from now on; False if it has records. Its sequences are kept: see `drop`."""
        cdef PartitionQueue queue
        cdef list partitions = [], available = []
        if topic.pending_batches:
            return False
        for queue in topic.partitions:
            queue._leave_leader()
            topic.unknown_partitions[queue.partition] = queue
        topic.partitions = partitions
        topic.available = available
        topic.sticky = None
        topic.topic_id = None
        return True

    def drop(self, TopicQueue topic not None):
        """Forgets a topic of which `forget_partitions` was asked, but for its counts: the next record makes it anew, and
        its sequences. False if it has records, or is to be looked at.
        """
        cdef list queues = topic.queues
        cdef PartitionQueue queue
        if topic.pending_batches or topic.partitions or topic in self.unknown_topics:
            return False
        for queue in queues:
            if queue.in_ready:
                return False
        if topic is self.last_topic:
            self.last_name = self.topics_by_name
            self.last_topic = None
        self.topics_by_name.pop(topic.name)
        topic.is_dropped = True
        self.former.add_counts(topic)
        return True

    def split(self, Batch batch not None):
        """Halves a batch that was too large for the broker; its records go on in smaller ones, first in line.

        False when it holds a single record.
        """
        if batch.core.count < 2:
            return False
        part_batch(self, batch, max(<int64_t>batch.core.used // 2, 1))
        return True

    def without_headers(self, Batch batch not None, object error):
        """Takes the records with headers out of the batch and fails them; the others go on, first in line."""
        part_batch(self, batch, MAX_BATCH_BYTES, error)

    @cython.nonecheck(True)
    def without_timestamps(self, Batch batch not None, object error):
        """Takes the records whose timestamp the caller gave out of the batch and fails them; the others go on."""
        part_batch(self, batch, MAX_BATCH_BYTES, error, True)
