# One Produce request: the batches it carries while it is in flight, its bytes, and its response in the usual form.
#
#   Produce v0, v1   message sets of magic 0        v2   message sets of magic 1 (KIP-32)
#   v3 and later     one batch of magic 2 per partition (KIP-98); zstd from v7 on (KIP-110)
#   v12 and later    in a transaction, adds its partitions to it (KIP-890)
#   v13 and later    topics by id (KIP-516)
#
# A request may have a row for each of thousands of partitions. So rows are written and read here, without an object for
# each; what is around those of a request goes by its plan, and so does a response that says anything but that all was
# written. From v9 on sizes are compact and tags follow (KIP-482):
#
#   topic      name string, from v13 on id uuid; array of rows; tags
#   row        of a request    index int32, records bytes, tags
#              of a response   index int32, error_code int16, base_offset int64, v2 log_append_time_ms int64,
#                              v5 log_start_offset int64, v8 record_errors array, error_message string; tags
#   response   array of topics, v1 throttle_time_ms int32, tags
# Source: schema/k00_produce.py.

cdef enum:
    PRODUCE_KEY = 0
    FIRST_WITH_THROTTLE = 1
    FIRST_WITH_MAGIC_1 = 2
    FIRST_WITH_APPEND_TIME = 2
    FIRST_WITH_MAGIC_2 = 3
    FIRST_WITH_START_OFFSET = 5
    FIRST_WITH_ZSTD = 7
    FIRST_WITH_WORDS = 8
    FIRST_COMPACT = 9
    FIRST_WITH_TOPIC_IDS = 13
    ROOM_FOR_THE_REST = 512               # bytes of a request beside its batches
    ROW_BOUND = 4 + 5 + 1                 # bytes of a request's row beside its records
    COUNT_BOUND = 5

# The end of a response's row: no errors of records, no message, no tags.
cdef const char *NO_WORDS = b"\0\0\0\0\xff\xff"
cdef const char *NO_WORDS_COMPACT = b"\1\0\0"


cdef inline uint8_t *put_count(uint8_t *at, size_t count, bint compact) noexcept nogil:
    """How many rows, topics or bytes follow."""
    if compact:
        return at + put_uvarint(at, count + 1)
    store_u32(at, <uint32_t>count)
    return at + 4


cdef inline int64_t read_count(reader_t *r, bint compact) noexcept nogil:
    return <int64_t>read_uvarint(r) - 1 if compact else <int32_t>read_u32(r)


cdef inline uint8_t *put_tags(uint8_t *at, bint compact) noexcept nogil:
    """That there are none."""
    if compact:
        at[0] = 0
    return at + compact


cdef inline bint has_tags(reader_t *r, bint compact) noexcept nogil:
    return compact and read_uvarint(r) != 0


@cython.final
@cython.nonecheck(True)
cdef class PendingProduce(Request):
    """One Produce request: has its batches from the moment it is written until its response."""

    cdef readonly Sink sink
    cdef readonly list batches            # once they are written, those of a topic together
    cdef readonly dict topic_ids          # of its topics, at versions that name them so
    cdef list topics                      # [(what comes before the rows of a topic, the end of its batches)]
    cdef SenderBase sender
    cdef double then                      # when the request was made

    cdef object message(self, int version):
        """Takes the batches as the request is written, at most one of each partition; the message lacks them."""
        return self.sender._build(self, version)

    cpdef answer(self, message, double now):
        """Ends the request with its response, None with acks=0."""
        if not self.done:
            self._finish()
            self.sender._on_answer(self, message, now)

    cpdef fail(self, error, double now):
        """Ends the request with an error."""
        if not self.done:
            self._finish()
            self.sender._on_error(self, error, now)

    # -- its bytes ------------------------------------------------------------------------------------------------

    cdef list encode(self, Plan header_plan, object header, Plan plan, object message):
        cdef bint compact = plan.version >= FIRST_COMPACT
        cdef writer_t head
        cdef walk_t walk
        self._gather_topics(plan.version)
        walk_init(&walk)
        try:
            encode_all(&head, &walk, header_plan, header, plan, message)
            head.at -= 2 if compact else 4  # the empty array, and the tags
            return self._encode_topics(&head, compact)
        finally:
            writer_free(&head)

    cdef int _gather_topics(self, int version) except -1:
        """Sorts the batches by topic, and notes what comes before the rows of each."""
        cdef TopicQueue topic = None
        cdef Batch batch
        cdef list found
        cdef dict by_topic = {}
        cdef list batches = []
        cdef list topics = []
        for batch in self.batches:
            if batch.queue.topic is not topic:
                topic = batch.queue.topic
                found = by_topic.setdefault(topic, [])
            found.append(batch)
        for topic, found in by_topic.items():
            batches += found
            topics.append((self._start_of(topic, PyList_GET_SIZE(found), version), PyList_GET_SIZE(batches)))
        self.batches = batches
        self.topics = topics
        return 0

    cdef bytes _start_of(self, TopicQueue topic, Py_ssize_t rows, int version):
        """Its name or id, and how many rows follow."""
        cdef uint8_t count[COUNT_BOUND]
        cdef bint compact = version >= FIRST_COMPACT
        cdef bytes name = topic.name.encode()
        cdef bytes size
        if version >= FIRST_WITH_TOPIC_IDS:
            name = <bytes?>bytes_of_uuid(self.topic_ids[topic.name])
        elif compact:
            name = PyBytes_FromStringAndSize(<char *>count, put_uvarint(count, len(name) + 1)) + name
        else:
            name = len(name).to_bytes(2, "big") + name
        return name + PyBytes_FromStringAndSize(<char *>count, put_count(count, <size_t>rows, compact) - count)

    cdef size_t _bound(self) except 0:
        """The most that the topics take, without the records that are sent from where they are."""
        cdef Batch batch
        cdef bytes start
        cdef size_t bound = COUNT_BOUND + 1
        for start, _ in self.topics:
            bound += <size_t>len(start) + 1
        for batch in self.batches:
            bound += ROW_BOUND + (<size_t>batch.sealed.size if batch.sealed.size < MIN_GATHERED else 0)
        return bound

    cdef list _encode_topics(self, const writer_t *head, bint compact):
        """The frame as a list of buffers to send in order."""
        cdef kw_block *block = kw_block_new(written(head) + self._bound())
        cdef Buffer whole
        cdef uint8_t *at
        cdef Py_ssize_t begin = 0
        cdef int64_t size = 0
        cdef list parts = []
        cdef Py_ssize_t i = 0
        cdef Batch batch
        cdef bytes start
        cdef Py_ssize_t end
        if block == NULL:
            raise _errors.LimitError(f"out of memory for a request of {PyList_GET_SIZE(self.batches)} batches")
        try:
            whole = buffer_of_block(block, kw_block_data(block), <Py_ssize_t>block.capacity)
        finally:
            kw_block_release(block)
        at = put_bytes(kw_block_data(block), head.start, written(head))
        at = put_count(at, <size_t>PyList_GET_SIZE(self.topics), compact)
        for start, end in self.topics:
            at = put_bytes(at, <const uint8_t *>PyBytes_AS_STRING(start), <size_t>PyBytes_GET_SIZE(start))
            while i < end:
                batch = <Batch>self.batches[i]
                store_u32(at, <uint32_t>batch.batch_result.partition)
                at = put_count(at + 4, <size_t>batch.sealed.size, compact)
                if batch.sealed.size < MIN_GATHERED:
                    at = put_bytes(at, batch.sealed.data, <size_t>batch.sealed.size)
                else:
                    parts.append(buffer_slice(whole, begin, at - whole.data - begin))
                    parts.append(batch.sealed)
                    size += batch.sealed.size
                    begin = at - whole.data
                at = put_tags(at, compact)
                i += 1
            at = put_tags(at, compact)
        at = put_tags(at, compact)
        if at - whole.data > begin:
            parts.append(buffer_slice(whole, begin, at - whole.data - begin))
        store_frame_size(kw_block_data(block), size + (at - whole.data), "ProduceRequest")
        return parts

    # -- its response ---------------------------------------------------------------------------------------------

    cdef bint answer_quickly(self, Buffer frame, double now) except -1:
        """Ends the request by a response that says that all was written."""
        cdef int32_t throttle_ms = 0
        cdef const uint8_t **rows = <const uint8_t **>malloc(
            <size_t>max(PyList_GET_SIZE(self.batches), 1) * sizeof(const uint8_t *))
        if rows == NULL:
            return False
        try:
            if not self._find_rows(frame, rows, &throttle_ms):
                return False
            self._finish()
            self.sender._on_all_written(self, rows, throttle_ms, now)
        finally:
            free(rows)
        return True

    cdef bint _find_rows(self, Buffer frame, const uint8_t **rows, int32_t *throttle_ms) except -1:
        """Where the row of each batch is; False unless there are these rows, in this order, without an error."""
        cdef bint compact = self.version >= FIRST_COMPACT
        cdef const char *rest = NO_WORDS_COMPACT if compact else NO_WORDS
        cdef size_t rest_size = 3 if compact else 6 if self.version >= FIRST_WITH_WORDS else 0
        cdef size_t width = 14 + 8 * (self.version >= FIRST_WITH_APPEND_TIME) + 8 * (
            self.version >= FIRST_WITH_START_OFFSET)
        cdef reader_t r
        cdef const uint8_t *span
        cdef Py_ssize_t i = 0
        cdef bytes start
        cdef Py_ssize_t end
        reader_init(&r, frame.data, <size_t>frame.size)
        read_u32(&r)  # correlation id
        if has_tags(&r, compact) or read_count(&r, compact) != PyList_GET_SIZE(self.topics):
            return False
        for start, end in self.topics:
            span = read_span(&r, <size_t>PyBytes_GET_SIZE(start))
            if span == NULL or memcmp(span, PyBytes_AS_STRING(start), <size_t>PyBytes_GET_SIZE(start)) != 0:
                return False
            while i < end:
                rows[i] = span = read_span(&r, width + rest_size)
                if (span == NULL or memcmp(span + width, rest, rest_size) != 0 or load_u16(span + 4) != 0
                        or <int32_t>load_u32(span) != (<Batch>self.batches[i]).batch_result.partition):
                    return False
                i += 1
            if has_tags(&r, compact):
                return False
        if self.version >= FIRST_WITH_THROTTLE:
            throttle_ms[0] = <int32_t>read_u32(&r)
        return not has_tags(&r, compact) and r.error == FAULT_NONE and r.at == r.end

    cdef dict by_place(self):
        """Returns {(topic name or id, as the response has it, partition): batch}.

        An id stands there as its number: to hash and compare a UUID is a call of Python each.
        """
        cdef Batch batch
        cdef dict found = {}
        for batch in self.batches:
            topic = batch.batch_result.topic
            found[self.topic_ids[topic].int if self.topic_ids else topic, batch.batch_result.partition] = batch
        return found


@cython.final
@cython.nonecheck(True)
cdef class ProduceRequestWriter:
    """Makes the messages of Produce requests, without their topics."""

    cdef Layout request
    cdef Py_ssize_t transactional_id
    cdef Py_ssize_t acks
    cdef Py_ssize_t timeout

    def __init__(self, request):
        self.request = request.__layout__
        self.transactional_id = self.request.offset_of("transactional_id")
        self.acks = self.request.offset_of("acks")
        self.timeout = self.request.offset_of("timeout_ms")

    cdef object made_for(self, SenderBase sender):
        cdef object made = self.request.make()
        if sender.transactional_id is not None:
            fill_slot(<PyObject *>made, self.transactional_id, sender.transactional_id)
        fill_slot(<PyObject *>made, self.acks, sender._acks)
        fill_slot(<PyObject *>made, self.timeout, sender._timeout_ms)
        return made
