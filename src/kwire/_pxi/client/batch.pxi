# A batch on its way to one partition: records under construction, then sealed bytes, then sent, perhaps sent again.
#
# Records are always gathered as magic 2; for a leader that is older they are written once more as a message set, when
# the batch is sealed. Sealed bytes are kept until the broker has answered, so that a second sending is the same bytes.


ctypedef struct record_walk_t:
    reader_t reader
    int64_t base_timestamp
    header_datum_t *spans
    int64_t span_room


cdef int walk_begin(record_walk_t *walk, const uint8_t *records, size_t size, int64_t base_timestamp) noexcept nogil:
    reader_init(&walk.reader, records, size)
    walk.base_timestamp = base_timestamp
    walk.spans = NULL
    walk.span_room = 0
    return 0


cdef void walk_end(record_walk_t *walk) noexcept nogil:
    free(walk.spans)
    walk.spans = NULL


cdef inline void _walk_datum(reader_t *reader, datum_t *out) noexcept nogil:
    out.size = read_varint(reader)
    out.data = read_span(reader, <size_t>out.size) if out.size > 0 else reader.at


cdef bint walk_next(record_walk_t *walk, record_datum_t *out) noexcept nogil:
    """The next record; False at the end, or when the bytes are not as we wrote them (reader.error is set)."""
    cdef reader_t *reader = &walk.reader
    cdef header_datum_t *moved
    cdef int64_t i
    if bytes_left(reader) == 0:
        return False
    read_varint(reader)
    read_i8(reader)
    out.timestamp = walk.base_timestamp + read_varlong(reader)
    read_varint(reader)
    _walk_datum(reader, &out.key)
    _walk_datum(reader, &out.value)
    out.header_count = read_varint(reader)
    if out.header_count < 0 or <size_t>out.header_count > bytes_left(reader):
        reader_fail(reader, FAULT_COUNT)
        return False
    if out.header_count > walk.span_room:
        moved = <header_datum_t *>realloc(walk.spans, <size_t>out.header_count * sizeof(header_datum_t))
        if moved == NULL:
            reader_fail(reader, FAULT_MEMORY)
            return False
        walk.spans = moved
        walk.span_room = out.header_count
    for i in range(out.header_count):
        _walk_datum(reader, &walk.spans[i].key)
        _walk_datum(reader, &walk.spans[i].value)
    out.headers = walk.spans
    return reader.error == FAULT_NONE


# What is kept for reuse is no allocation that the collector counts. With a thousand kept it ran hundreds of times while
# 400,000 records went to 4,096 partitions, over all that the process has: a fifth of what they cost.
@cython.final
@cython.freelist(8192)
@cython.nonecheck(True)
cdef class Batch:
    """Records for one partition that are delivered or fail together. Made by the accumulator, moved by the sender."""

    cdef builder_t core
    cdef readonly BatchResult batch_result
    cdef readonly PartitionQueue queue
    cdef Batch next_in_flight             # after it in PartitionQueue.first_in_flight
    cdef readonly double created_at       # seconds, on the accumulator's clock
    cdef readonly bint closed             # takes no more records
    cdef bint due                         # to be sent although it is not full
    cdef bint awaited                     # by a task, so that it is due as soon as its leader has no request of ours
    cdef bint has_headers
    cdef bint names_partition             # the caller chose the partition of some of its records
    cdef int32_t stamped_first            # so many of its first records have a timestamp that the caller gave
    cdef set stamped                      # indexes of others that have one; None: no others so far
    cdef public bint is_transactional
    cdef int64_t number                   # in Accumulator.unfinished
    cdef int64_t order                    # its place in the order of opening; parts of a split share one
    cdef int64_t first_index              # of its first record in the batch that was split
    cdef int64_t accounted                # bytes that it takes of buffer_memory
    cdef int64_t queued                   # the bytes that it had when it was closed
    cdef readonly int64_t producer_id
    cdef readonly int16_t producer_epoch
    cdef readonly int32_t base_sequence   # -1: none yet
    cdef dict requested                   # while unassigned: index -> the partition that was asked for
    cdef int32_t asked                    # while unassigned: a callable partitioner knows so many of its first records
    cdef dict refused                     # while unassigned: index -> its error, of records that it has none for
    cdef Buffer sealed
    cdef int sealed_magic
    cdef int sealed_codec
    cdef public int attempts
    cdef public bint may_be_written       # some try of it was not answered, or in a way that leaves that open
    cdef readonly bint may_be_within      # the log may have it in the batch that was split, so a refusal proves nothing
    cdef bint left_behind                 # in flight to a log that its topic has no more
    cdef public object last_error

    def __cinit__(self):
        builder_init(&self.core, 2, 0, 0)
        self.producer_id = -1
        self.producer_epoch = -1
        self.base_sequence = -1
        self.sealed_magic = -1
        self.number = NOT_ENROLLED

    def __dealloc__(self):
        kw_block_release(self.core.block)

    cdef int make_room_for_notes(self) except -1:
        cdef dict requested = {}
        cdef set stamped = set()
        if self.requested is None:
            self.requested = requested
        if self.stamped is None:
            self.stamped = stamped
        return 0

    cdef int note_next(self, int32_t requested, bint stamped) except -1:
        """Notes of the next record, before it is appended, the partition that the caller asked for, and a timestamp."""
        try:
            if requested >= 0:
                self.requested[self.core.count] = requested
            if stamped:
                self.note_stamp(self.core.count)
        except MemoryError:
            self.forget_next()
            raise
        return 0

    cdef int forget_next(self) except -1:
        """There was no memory for the record that was noted."""
        if self.requested is not None:
            self.requested.pop(self.core.count, None)
        if self.stamped is not None:
            self.stamped.discard(self.core.count)
        self.stamped_first = min(self.stamped_first, self.core.count)
        return 0

    cdef int note_stamp(self, int32_t index) except -1:
        """Notes that the caller gave the timestamp of that record."""
        if index == self.stamped_first:
            self.stamped_first += 1
        elif self.stamped is None:
            self.stamped = {index}
        else:
            self.stamped.add(index)
        return 0

    cdef inline bint lacks_room_for_stamp(self) noexcept:
        """Whether `note_stamp` of the next record would make a set."""
        return self.stamped is None and self.stamped_first != self.core.count

    cdef inline bint is_stamped(self, int32_t index) except -1:
        return index < self.stamped_first or (self.stamped is not None and index in self.stamped)

    cdef inline bint has_stamps(self):
        return self.stamped_first > 0 or (self.stamped is not None and len(self.stamped) > 0)

    def __len__(self):
        return self.core.count

    def __repr__(self):
        return f"<batch of {self.core.count} records for {self.place}>"

    @property
    def topic(self):
        return self.batch_result.topic

    @property
    def partition(self):
        return self.batch_result.partition

    @property
    def place(self):
        """Topic and partition in words: the topic alone, as long as no partition is chosen."""
        return self.batch_result.place()

    @property
    def size(self):
        """Its bytes in a request: exact once it is sealed, before that without compression."""
        return self.bytes_to_send()

    cdef inline int64_t bytes_to_send(self):
        return self.sealed.size if self.sealed is not None else <int64_t>self.core.used

    cpdef Buffer seal(self, int magic, int codec, object level):
        """The bytes to send, in the record format `magic` and compressed by `codec` (a number).

        With magic 2 and a sequence assigned, under that producer id, epoch and sequence.
        """
        cdef seal_t seal = [self.producer_id, self.producer_epoch, self.base_sequence, -1, self.is_transactional, False]
        if self.sealed is None or self.sealed_magic != magic or self.sealed_codec != codec:
            if magic == 2:
                self._restore()
                self.core.codec = codec
                self.sealed = builder_seal(&self.core, &seal, level)
            else:
                self.sealed = self._as_message_set(magic, codec, level)
            self.sealed_magic = magic
            self.sealed_codec = codec
            if magic == 2 and codec != 0:
                kw_block_release(self.core.block)
                builder_hold(&self.core, NULL)
        return self.sealed

    cpdef set_producer_state(self, int64_t producer_id, int16_t producer_epoch, int32_t base_sequence):
        """Sets producer id, epoch and sequence, also in sealed bytes; for when, see sequences.pxi."""
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        if self.sealed is not None and self.sealed_magic == 2:
            set_batch_producer_state(<uint8_t *>self.sealed.data, <size_t>self.sealed.size, producer_id, producer_epoch,
                                     base_sequence)

    cdef int _restore(self) except -1:
        """The builder's own bytes again, after a compressed sealing let go of them."""
        cdef Buffer raw
        if self.core.block != NULL:
            return 0
        raw = decompressor()(CODEC_NAMES[self.sealed_codec], self.sealed[BATCH_HEADER:], MAX_BATCH_BYTES, magic=2)
        self.core.used = 0
        if builder_room(&self.core, BATCH_HEADER + raw.size) != BUILD_OK:
            raise_build_fault(BUILD_MEMORY, 2)
        memcpy(kw_block_data(self.core.block) + BATCH_HEADER, raw.data, raw.size)
        self.core.used = BATCH_HEADER + raw.size
        return 0

    cdef int _walk(self, record_walk_t *walk) except -1:
        self._restore()
        walk_begin(walk, kw_block_data(self.core.block) + BATCH_HEADER, self.core.used - BATCH_HEADER,
                   self.core.base_timestamp)
        return 0

    cdef Buffer _as_message_set(self, int magic, int codec, object level):
        cdef builder_t out
        cdef record_walk_t walk
        cdef record_datum_t record
        cdef seal_t seal = [-1, -1, -1, -1, False, False]
        cdef int fault = BUILD_OK
        self._walk(&walk)
        builder_init(&out, magic, codec, 0)
        try:
            with nogil:
                while fault == BUILD_OK and walk_next(&walk, &record):
                    fault = builder_append(&out, &record)
            if fault != BUILD_OK:
                raise_build_fault(fault, magic)
            if walk.reader.error != FAULT_NONE:
                raise_read_fault(&walk.reader, "records")
            return builder_seal(&out, &seal, level)
        finally:
            walk_end(&walk)
            kw_block_release(out.block)


cdef void number_batch(PyObject *batch, int64_t number) noexcept:
    (<Batch>batch).number = number
