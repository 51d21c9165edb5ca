# Records as a consumer hands them out: each with the topic and partition that it came from.

cdef Record _NO_RECORD = Record.__new__(Record)


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class ConsumerRecord:
    """One consumed record: what a Record has, and `topic` and `partition`. Made by a consumer.

    It shares the memory of its whole batch and keeps it alive; `copy()` does not.
    """

    cdef Record record
    cdef readonly str topic
    cdef readonly int32_t partition

    def __cinit__(self):
        self.record = _NO_RECORD

    def __init__(self, Record record not None, str topic not None, int32_t partition):
        if self.record is not _NO_RECORD:
            raise TypeError("a ConsumerRecord is immutable: it cannot be initialised again")
        self.record = record
        self.topic = topic
        self.partition = partition

    def __getattribute__(self, name):
        # As in Record.
        if name is _VALUE:
            return bytes_at(self.record.part, self.record.record.value_at, self.record.record.value_size)
        if name is _KEY:
            return bytes_at(self.record.part, self.record.record.key_at, self.record.record.key_size)
        if name is _OFFSET:
            return self.record.record.offset
        if name is _TIMESTAMP:
            return self.record.record.timestamp
        return PyObject_GenericGetAttr(self, name)

    @property
    def offset(self):
        """The offset in its partition."""
        return self.record.record.offset

    @property
    def timestamp(self):
        """Milliseconds since 1970-01-01 UTC, or -1."""
        return self.record.record.timestamp

    @property
    def timestamp_type(self):
        """-1 none (message format 0), 0 create time, 1 log append time."""
        return self.record.part.timestamp_type

    @property
    def key(self):
        """bytes or None."""
        return bytes_at(self.record.part, self.record.record.key_at, self.record.record.key_size)

    @property
    def value(self):
        """bytes or None."""
        return bytes_at(self.record.part, self.record.record.value_at, self.record.record.value_size)

    @property
    def headers(self):
        """A tuple of (str, bytes or None); a key that is no UTF-8 is shown with U+FFFD."""
        return headers_of(self.record.part, self.record.record, False)

    @property
    def raw_headers(self):
        """A tuple of (bytes, bytes or None)."""
        return headers_of(self.record.part, self.record.record, True)

    def copy(self):
        """An equal record with memory of its own."""
        return ConsumerRecord(self.record.copy(), self.topic, self.partition)

    def __eq__(self, other):
        cdef ConsumerRecord that
        if type(other) is not ConsumerRecord:
            return NotImplemented
        that = <ConsumerRecord>other
        return self.topic == that.topic and self.partition == that.partition and self.record == that.record

    def __hash__(self):
        return hash((self.topic, self.partition, self.record.record.offset))

    def __reduce__(self):
        return ConsumerRecord, (self.record, self.topic, self.partition)

    def __repr__(self):
        return (f"ConsumerRecord({self.topic}-{self.partition}, offset={self.offset}, timestamp={self.timestamp}, "
                f"key={_shown(self.key)}, value={_shown(self.value)}, headers={self.headers!r})")


@cython.final
cdef class ConsumedIterator:
    """Iterates over a sequence of ((topic, partition), Records), record by record."""

    cdef object parts
    cdef Py_ssize_t given
    cdef RecordsIterator records
    cdef str topic
    cdef int32_t partition

    def __init__(self, parts):
        self.parts = iter(parts)
        self.records = None

    def __iter__(self):
        return self

    def __next__(self):
        cdef ConsumerRecord made
        while self.records is None or self.records.place >= self.records.stop:
            (self.topic, self.partition), records = next(self.parts)
            self.records = <RecordsIterator?>iter(records)
        made = ConsumerRecord.__new__(ConsumerRecord)
        made.record = <Record>next(self.records)
        made.topic = self.topic
        made.partition = self.partition
        self.given += 1
        return made

    def end(self):
        """Gives no more; how many records it gave."""
        self.records = None
        self.parts = iter(())
        return self.given
