# Rows of a record batch appended to the open batches of one topic, as many as go in one stretch (THREADS in
# accumulator.pxi).
#
# What `Accumulator._commit` looks up and counts for each record is looked up once for each open batch here, and counted
# when the stretch ends. What takes more than an append is left to `_commit`: a record that opens a batch, that may not
# fit into one or into `buffer_memory`, or whose partition is not known or is not chosen by a hash.

cdef enum:
    MAX_STRETCH = 16384           # rows: the linger of batches is looked at when one ends


ctypedef struct place_t:
    int32_t result                # which of `Stretch.results`
    int32_t index                 # of the record there


ctypedef struct target_t:         # a partition's open batch
    int64_t stretch               # the one in which it was looked up; what follows holds during that
    PyObject *batch
    builder_t *core
    int64_t limit                 # of the bytes in it
    int64_t begun                 # the bytes in it when the stretch began
    int32_t result                # as in place_t
    int32_t stamped_first         # as in Batch
    bint names_partition
    bint has_headers


cdef int64_t _stretches = 0


@cython.final
cdef class Int32s:
    """The int32 numbers that a contiguous buffer lends, one for each row."""

    cdef Py_buffer view
    cdef bint held

    def __cinit__(self, object source, int64_t rows):
        self.held = False
        PyObject_GetBuffer(source, &self.view, PyBUF_SIMPLE)
        self.held = True
        if self.view.len != rows * <int64_t>sizeof(int32_t):
            raise ValueError(f"{rows} int32 numbers are needed, one for each row, not {self.view.len} bytes")

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    cdef inline int32_t at(self, int64_t row) noexcept nogil:
        cdef int32_t number
        memcpy(&number, <const uint8_t *>self.view.buf + row * <int64_t>sizeof(int32_t), sizeof(int32_t))
        return number


@cython.final
cdef class Stretch:
    """Appends rows of one topic, and notes in `places` where each of them is."""

    cdef Accumulator accumulator
    cdef TopicQueue topic
    cdef list results             # BatchResult, each once, in the order of their first rows
    cdef place_t *places          # of all rows; the owner's
    cdef int64_t number           # among all, by which a BatchResult knows that it is in `results`
    cdef target_t *targets        # by partition
    cdef int32_t *looked_up       # the partitions of those that were, in this stretch
    cdef int32_t looked_up_count
    cdef int32_t known            # partitions
    cdef int64_t stretch          # the number of this one
    cdef int64_t stamp            # of rows without a timestamp, as long as it holds; 0: none yet

    def __cinit__(self, Accumulator accumulator not None, list results not None):
        global _stretches
        _stretches += 1
        self.number = _stretches
        self.accumulator = accumulator
        self.results = results
        self.targets = NULL
        self.looked_up = NULL

    def __dealloc__(self):
        free(self.targets)
        free(self.looked_up)

    cdef int note(self, int64_t row, Delivery delivery) except -1:
        """The row is where `_commit` says in `delivery`."""
        self.places[row].result = self.note_result(delivery.batch_result)
        self.places[row].index = delivery.index
        return 0

    cdef int make_room(self) except -1:
        """Puts a None behind the results, in whose place the next one can be noted without memory."""
        if not self.results or self.results[PyList_GET_SIZE(self.results) - 1] is not None:
            self.results.append(None)
        return 0

    cdef int leave_room(self) except -1:
        """Takes that None away."""
        if self.results and self.results[PyList_GET_SIZE(self.results) - 1] is None:
            self.results.pop()
        return 0

    cdef int32_t note_result(self, BatchResult result) except -1:
        if result.noted_by != self.number:
            self.make_room()
            result.noted_by = self.number
            result.noted_as = <int32_t>PyList_GET_SIZE(self.results) - 1
            self.results[result.noted_as] = result
        return result.noted_as

    cdef int64_t append(self, TopicQueue topic, ArrowRecords rows, int64_t row, Int32s partition) except -1:
        """Appends the rows from `row` on; returns the first that was not."""
        cdef Accumulator accumulator = self.accumulator
        cdef record_datum_t record
        cdef target_t *target
        cdef int64_t begun = row
        cdef int64_t end = min(rows.length, row + MAX_STRETCH)
        cdef int64_t room = accumulator.buffer_memory - accumulator.used
        cdef int64_t bound, number
        self._begin(topic)
        while row < end:
            if rows.record(row, &record) != ARROW_OK:
                break
            bound = record_size_bound(&record)
            if bound > room or bound > accumulator.max_request_size:
                break
            number = -1 if partition is None else partition.at(row)
            target = self._target(number if number >= 0 else self._chosen(&record))
            if target == NULL or <int64_t>target.core.used + bound > target.limit:
                break
            if record.timestamp == NO_STAMP:
                record.timestamp = self.stamp = accumulator._stamp(self.stamp)
            elif target.stamped_first == target.core.count:
                target.stamped_first += 1
            else:
                break
            room += <int64_t>target.core.used
            builder_put(target.core, &record)
            builder_fetch_ahead(target.core)
            room -= <int64_t>target.core.used
            target.names_partition = target.names_partition or number >= 0
            target.has_headers = target.has_headers or record.header_count > 0
            self.places[row].result = target.result
            self.places[row].index = target.core.count - 1
            row += 1
        if row > begun:
            self._count(row - begun)
        return row

    cdef int _begin(self, TopicQueue topic) except -1:
        cdef int32_t known = <int32_t>PyList_GET_SIZE(topic.partitions)
        self.stretch += 1
        self.looked_up_count = 0
        self.topic = topic
        if known > self.known:
            free(self.targets)
            free(self.looked_up)
            self.known = 0
            self.targets = <target_t *>calloc(<size_t>known, sizeof(target_t))
            self.looked_up = <int32_t *>malloc(<size_t>known * sizeof(int32_t))
            if self.targets == NULL or self.looked_up == NULL:
                raise _errors.LimitError(f"out of memory for {known} partitions")
        self.known = known
        return 0

    cdef inline int64_t _chosen(self, const record_datum_t *record) noexcept:
        """The partition of a record whose caller leaves it open; -1 where no hash decides it."""
        cdef int partitioner = self.accumulator.partitioner
        if self.known == 0:
            return -1
        if partitioner == BY_DEFAULT and record.key.size >= 0:
            return (murmur2_of(record.key.data, <size_t>record.key.size) & 0x7FFFFFFF) % <uint32_t>self.known
        if hashes(partitioner, &record.key):
            return key_hash(partitioner, &record.key) % <uint32_t>self.known
        if partitioner == BY_CALLABLE or partitioner == BY_RANDOM or partitioner == BY_ROUND_ROBIN:
            return -1
        return self.topic.sticky.partition

    cdef inline target_t *_target(self, int64_t partition) except? NULL:
        """The open batch there; NULL if there is none, or no memory to note its result, which `_commit` will say."""
        cdef target_t *target
        if not 0 <= partition < self.known:
            return NULL
        target = self.targets + partition
        if target.stretch != self.stretch and not self._look_up(target, partition):
            return NULL
        return target

    cdef bint _look_up(self, target_t *target, int64_t partition) except -1:
        cdef Batch batch = (<PartitionQueue>self.topic.partitions[partition]).open
        if batch is None:
            return False
        try:
            target.result = self.note_result(batch.batch_result)
        except MemoryError:
            return False
        target.batch = <PyObject *>batch
        target.core = &batch.core
        target.limit = min(self.accumulator.batch_size, <int64_t>batch.core.capacity)
        target.begun = <int64_t>batch.core.used
        target.stamped_first = batch.stamped_first
        target.names_partition = target.has_headers = False
        target.stretch = self.stretch
        self.looked_up[self.looked_up_count] = <int32_t>partition
        self.looked_up_count += 1
        return True

    cdef int _count(self, int64_t rows) except -1:
        """The end of a stretch: its rows count."""
        cdef Accumulator accumulator = self.accumulator
        cdef target_t *target
        cdef Batch batch
        cdef int64_t size
        cdef int32_t i
        for i in range(self.looked_up_count):
            target = self.targets + self.looked_up[i]
            batch = <Batch>target.batch
            size = <int64_t>target.core.used - target.begun
            batch.stamped_first = target.stamped_first
            batch.names_partition = batch.names_partition or target.names_partition
            batch.has_headers = batch.has_headers or target.has_headers
            batch.accounted += size
            accumulator.used += size
            if batch.queue is self.topic.sticky:
                self.topic.sticky_bytes += size
        accumulator.records_sent += rows
        self.topic.turn += <uint64_t>rows
        if not accumulator.lingering.is_empty() and not accumulator.linger_reported:
            accumulator._look_at_oldest(<Batch>accumulator.lingering.first())
        return 0
