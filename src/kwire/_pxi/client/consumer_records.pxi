# Records as a consumer hands them out: each with the topic and partition that it came from, and with its tenure: the
# number of the assignment by a group under which that partition was fetched, 0 without a group. It is kept beside the
# bytes, so that each slice and each single record has it.


def set_tenure(Records records not None, int64_t tenure):
    """Of records that were fetched, before anybody has them."""
    if records.index is not _NO_INDEX:
        records.index.tenure = tenure


def tenure_of(records not None):
    """That of Records, or of a ConsumerRecord; 0 where it is not known, as of a record that was unpickled."""
    if type(records) is Records:
        return (<Records>records).index.tenure
    return (<ConsumerRecord?>records).index.tenure


@cython.final
@cython.no_gc
cdef class ConsumerRecord(Record):
    """One consumed record: a Record with `topic` and `partition`. Made by a consumer.

    It shares the memory of its whole batch and keeps it alive; its `copy()` does not.
    """

    cdef readonly str topic
    cdef readonly int32_t partition

    def __init__(self, Record record not None, str topic not None, int32_t partition):
        if self.topic is not None:
            raise TypeError("a ConsumerRecord is immutable: it cannot be initialised again")
        self.index = record.index
        self.record = record.record
        self.part = record.part
        self.topic = topic
        self.partition = partition

    @property
    def error(self):
        raise _errors.UnsupportedError("ConsumerRecord.error(): errors are raised, never returned as records; value, key "
                                       "and all else are attributes here: record.value without ()")

    def copy(self):
        """An equal record with memory of its own."""
        cdef ConsumerRecord made = ConsumerRecord(same_record(self).copy(), self.topic, self.partition)
        made.index.tenure = self.index.tenure
        return made

    def __eq__(self, other):
        cdef ConsumerRecord that
        if type(other) is not ConsumerRecord:
            return NotImplemented
        that = <ConsumerRecord>other
        return self.topic == that.topic and self.partition == that.partition and records_equal(self, that)

    def __hash__(self):
        return hash((self.topic, self.partition, self.record.offset))

    def __reduce__(self):
        return ConsumerRecord, (same_record(self), self.topic, self.partition)

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
        cdef RecordsIterator records
        while self.records is None or self.records.place >= self.records.stop:
            (self.topic, self.partition), part = next(self.parts)
            self.records = <RecordsIterator?>iter(part)
        records = self.records
        made = ConsumerRecord.__new__(ConsumerRecord)
        made.index = records.index
        made.record = next_record(records)
        made.part = records.part
        made.topic = self.topic
        made.partition = self.partition
        self.given += 1
        return made

    def end(self):
        """Ends the iteration; returns how many records it returned."""
        self.records = None
        self.parts = iter(())
        return self.given
