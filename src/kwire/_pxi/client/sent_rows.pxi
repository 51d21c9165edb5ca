# The rows of a record batch on their way to brokers, without an object for each row.
#
# A row is known by the BatchResult that decides it and by its index there: 8 bytes. What a Delivery would say about one
# row is worked out when it is asked for.

@cython.final
@cython.nonecheck(True)
cdef class SentRows:
    """The rows of one record batch that were handed over to an accumulator, in order; `len()` is how many so far."""

    cdef Accumulator accumulator
    cdef list results             # BatchResult, each once, in the order of their first rows
    cdef Stretch stretch
    cdef place_t *places
    cdef int64_t count

    def __cinit__(self, Accumulator accumulator not None):
        self.accumulator = accumulator
        self.results = []
        self.stretch = Stretch(accumulator, self.results)
        self.places = NULL

    def __dealloc__(self):
        free(self.places)

    def __len__(self):
        return self.count

    def send(self, list topics not None, columns, topic_of=None, partition_of=None):
        """Hands over the rows of a record batch, once; its columns are those of `send_many`.

        topic_of, partition_of: buffers of an int32 for each row. topic_of says which of `topics` (None: the first);
        partition_of the partition, -1 where it is to be chosen (None: everywhere). Blocks and raises as `send` does;
        the rows before that, `len()` of them, are on their way then.
        """
        cdef ArrowRecords rows = ArrowRecords(columns, NO_STAMP)
        cdef Int32s topic = None if topic_of is None else Int32s(topic_of, rows.length)
        cdef Int32s partition = None if partition_of is None else Int32s(partition_of, rows.length)
        if self.places != NULL:
            raise RuntimeError("a record batch was sent already")
        if not topics:
            raise ValueError("no topics")
        if self.accumulator.barred is not None:
            raise self.accumulator._refusal()
        self.places = <place_t *>malloc(max(<size_t>rows.length, 1) * sizeof(place_t))
        if self.places == NULL:
            raise _errors.LimitError(f"out of memory for the places of {rows.length} rows")
        self.stretch.places = self.places
        try:
            self._send_rows(topics, rows, topic, partition)
        finally:
            self.stretch.leave_room()

    cdef int _send_rows(self, list topics, ArrowRecords rows, Int32s topic, Int32s partition) except -1:
        cdef Accumulator accumulator = self.accumulator
        cdef Delivery delivery = Delivery.__new__(Delivery)
        cdef list queues = [None] * len(topics)
        cdef list lost = [None] * len(topics)
        cdef TopicQueue queue = None
        cdef int32_t which = 0
        while self.count < rows.length:
            if topic is not None:
                which = topic.at(self.count)
                if not 0 <= which < PyList_GET_SIZE(queues):
                    raise IndexError(f"row {self.count}: topic {which} of {len(queues)}")
            elif queue is not None:
                self.count = self.stretch.append(queue, rows, self.count, partition)
                if accumulator.attention:
                    accumulator._say_attention()
                if self.count == rows.length:
                    break
            queue = <TopicQueue>queues[which]
            if queue is None:
                queue = queues[which] = accumulator._find_topic(topics[which])
            if lost[which] is None:
                self._commit(queue, rows, partition, delivery)
                lost[which] = self._await_partitions(queue, delivery)
            else:
                self._note(<Delivery>lost[which])
        return 0

    cdef int _commit(self, TopicQueue queue, ArrowRecords rows, Int32s partition, Delivery delivery) except -1:
        """Hands over the next row."""
        cdef Accumulator accumulator = self.accumulator
        cdef record_datum_t record
        cdef int32_t requested = -1 if partition is None else partition.at(self.count)
        cdef int fault = rows.record(self.count, &record)
        cdef bint stamped
        if fault != ARROW_OK:
            raise_arrow_fault(rows, fault, self.count, 2, False)  # len() says which row
        stamped = record.timestamp != NO_STAMP
        self.stretch.make_room()
        accumulator._commit(queue, &record, requested, stamped, self.stretch.stamp, False, delivery)
        if not stamped:
            self.stretch.stamp = record.timestamp
        self._note(delivery)
        if accumulator.attention:
            accumulator._say_attention()
        return 0

    cdef int _note(self, Delivery delivery) except -1:
        self.stretch.note(self.count, delivery)
        self.count += 1
        return 0

    cdef Delivery _await_partitions(self, TopicQueue queue, Delivery last):
        """Once rows for an unknown topic have filled a batch, waits for its partitions: each row has to be placed anew.

        None; or, if they never became known, the Delivery whose fate the topic's further rows share.
        """
        cdef Delivery lost
        if PyList_GET_SIZE(queue.partitions) or queue.unassigned.waiting.is_empty():
            return None
        if self.accumulator.wait_for_partitions is not None:
            self.accumulator.wait_for_partitions(queue)
        if PyList_GET_SIZE(queue.partitions) or decider_of(last).error is None:
            return None
        lost = Delivery.__new__(Delivery)
        lost.batch_result = last.batch_result
        lost.index = last.index
        return lost

    # -- what became of them --------------------------------------------------------------------------------------

    @property
    def all_complete(self):
        """Whether the result of every row is known."""
        return all([(<BatchResult>result)._all_complete() for result in self.results])

    def failed(self):
        """Returns ([row, ...], (topic, partition, error) of the first) for the rows that are known to have failed.

        ([], None) if none is. Their errors count as looked at.
        """
        cdef Delivery delivery
        cdef BatchResult result
        cdef tuple first = None
        cdef list found = []
        cdef int64_t row
        if all([(<BatchResult>result).redirects is None and (<BatchResult>result).error is None
                for result in self.results]):
            return found, None
        for row in range(self.count):
            delivery = self._delivery(row)
            result = decider_of(delivery)
            if result.error is not None:
                note_reported(delivery, result)
                first = (result.topic, result.partition, result.error) if first is None else first
                found.append(row)
        return found, first

    def next_offsets(self):
        """{(topic, partition): the offset after its last row} for the rows that were written and have an offset."""
        cdef Delivery delivery
        cdef BatchResult result
        cdef dict found = {}
        cdef int64_t row
        for row in self._last_rows():
            delivery = self._delivery(row)
            result = decider_of(delivery)
            if result.done and result.base_offset >= 0:
                place = (result.topic, result.partition)
                found[place] = max(found.get(place, 0), result.base_offset + delivery.index + 1)
        return found

    cdef list _last_rows(self):
        """The last row of each result, and all rows of those that went on elsewhere.

        A result may have none: that of a batch that was looked at, and had no room.
        """
        cdef Py_ssize_t count = PyList_GET_SIZE(self.results)
        cdef list rows = []
        cdef int64_t *last = <int64_t *>malloc(max(<size_t>count, 1) * sizeof(int64_t))
        cdef int64_t row
        if last == NULL:
            raise _errors.LimitError(f"out of memory for {count} numbers of rows")
        try:
            for which in range(count):
                last[which] = -1
            for row in range(self.count):
                last[self.places[row].result] = row
            for which in range(count):
                if last[which] < 0:
                    continue
                if (<BatchResult>self.results[which]).redirects is None:
                    rows.append(last[which])
                else:
                    rows += [row for row in range(self.count) if self.places[row].result == which]
        finally:
            free(last)
        return rows

    cdef Delivery _delivery(self, int64_t row):
        cdef Delivery delivery = Delivery.__new__(Delivery)
        delivery.batch_result = <BatchResult>self.results[self.places[row].result]
        delivery.index = self.places[row].index
        delivery.timestamp = -1
        return delivery
