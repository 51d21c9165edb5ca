# The Python face of an index: Records (a sequence of them), Record (one), BatchHeader.
#
# No object here is tracked by the garbage collector: they refer to an index, which holds a Buffer, and neither can
# refer back. Nothing is decoded before it is asked for: a Record is three pointers, its fields are made on access.

from cpython.number cimport PyNumber_AsSsize_t
from cpython.object cimport PyObject_GenericGetAttr

cdef tuple _NO_HEADERS = ()
cdef str _OFFSET = "offset"            # attribute names are interned, so that one look at the pointer tells them
cdef str _TIMESTAMP = "timestamp"
cdef str _KEY = "key"
cdef str _VALUE = "value"
cdef record_t _EMPTY_RECORD
cdef part_t _EMPTY_PART
cdef RecordIndex _NO_INDEX = RecordIndex.__new__(RecordIndex)
memset(&_EMPTY_RECORD, 0, sizeof(record_t))
memset(&_EMPTY_PART, 0, sizeof(part_t))


cdef inline object bytes_at(const part_t *part, uint32_t at, int32_t size):
    if size < 0:
        return None
    return PyBytes_FromStringAndSize(<const char *>part.data + at, size)


cdef int raise_changed_bytes() except -1:
    """Headers were checked when they were indexed: the owner of the bytes has written to them since."""
    raise _errors.CorruptError("the bytes have changed since they were decoded", "headers")


cdef tuple headers_of(const part_t *part, const record_t *record, bint raw):
    """((key, value or None), ...); keys are text with U+FFFD for invalid UTF-8, or bytes when `raw`."""
    cdef reader_t r
    cdef int32_t i
    cdef int64_t size
    cdef const char *p
    cdef list made
    if record.header_count == 0:
        return _NO_HEADERS
    reader_init_at(&r, part.data, part.data + part.size, part.data + record.headers_at)
    made = []
    for i in range(record.header_count):
        size = _read_length(&r)
        p = <const char *>read_span(&r, <size_t>max(size, 0))
        if p == NULL or size < 0:
            raise_changed_bytes()
        key = PyBytes_FromStringAndSize(p, size) if raw else PyUnicode_DecodeUTF8(p, size, "replace")
        size = _read_length(&r)
        p = <const char *>read_span(&r, <size_t>max(size, 0))
        if p == NULL:
            raise_changed_bytes()
        made.append((key, None if size < 0 else PyBytes_FromStringAndSize(p, size)))
    return tuple(made)


@cython.no_gc
@cython.freelist(256)
cdef class Record:
    """One record: `Record(value, key=None, timestamp=None, headers=())`, or one of `Records`.

    value, key: bytes-like or None. timestamp: milliseconds since 1970 as an int, a datetime, or None for none (-1).
    headers: a sequence of (str, bytes-like or None). Immutable.

    A decoded record shares the memory of its whole batch and keeps it alive; its `copy()` does not.
    """

    cdef RecordIndex index
    cdef const record_t *record
    cdef const part_t *part

    def __cinit__(self):
        self.record = &_EMPTY_RECORD
        self.part = &_EMPTY_PART

    def __init__(self, value, key=None, timestamp=None, headers=()):
        cdef record_t fields
        memset(&fields, 0, sizeof(record_t))
        fields.offset = -1
        fields.timestamp = take_timestamp(timestamp, -1)
        _stand_alone(self, &fields, 0, value, key, headers)

    def __getattribute__(self, name):
        # Python's own lookup asks the class first, which takes longer than reading one of these fields.
        if name is _VALUE:
            return bytes_at(self.part, self.record.value_at, self.record.value_size)
        if name is _KEY:
            return bytes_at(self.part, self.record.key_at, self.record.key_size)
        if name is _OFFSET:
            return self.record.offset
        if name is _TIMESTAMP:
            return self.record.timestamp
        return PyObject_GenericGetAttr(self, name)

    @property
    def offset(self):
        """The offset in its partition; -1 for a record that was not decoded."""
        return self.record.offset

    @property
    def timestamp(self):
        """Milliseconds since 1970-01-01 UTC, or -1."""
        return self.record.timestamp

    @property
    def timestamp_type(self):
        """-1 none (message format 0), 0 create time, 1 log append time."""
        return self.part.timestamp_type

    @property
    def key(self):
        """bytes or None."""
        return bytes_at(self.part, self.record.key_at, self.record.key_size)

    @property
    def value(self):
        """bytes or None."""
        return bytes_at(self.part, self.record.value_at, self.record.value_size)

    @property
    def headers(self):
        """A tuple of (str, bytes or None); U+FFFD stands for invalid UTF-8 in a key."""
        return headers_of(self.part, self.record, False)

    @property
    def raw_headers(self):
        """A tuple of (bytes, bytes or None)."""
        return headers_of(self.part, self.record, True)

    def copy(self):
        """An equal record with memory of its own."""
        return rebuild_record(self.record.offset, self.record.timestamp, self.part.timestamp_type, self.value, self.key,
                              self.raw_headers)

    def __eq__(self, other):
        if type(self) is not Record or type(other) is not Record:
            return NotImplemented
        return records_equal(self, <Record>other)

    def __hash__(self):
        return hash((self.record.offset, self.record.timestamp, self.key, self.value))

    def __reduce__(self):
        return rebuild_record, (self.record.offset, self.record.timestamp, self.part.timestamp_type, self.value,
                                self.key, self.raw_headers)

    def __repr__(self):
        return (f"Record(offset={self.offset}, timestamp={self.timestamp}, key={_shown(self.key)}, "
                f"value={_shown(self.value)}, headers={self.headers!r})")

    def _repr_html_(self):
        from kwire._html import of_record
        return of_record(self)


cdef bint records_equal(Record one, Record other) except -1:
    return (
        one.record.offset == other.record.offset
        and one.record.timestamp == other.record.timestamp
        and one.part.timestamp_type == other.part.timestamp_type
        and one.key == other.key
        and one.value == other.value
        and one.raw_headers == other.raw_headers
    )


cdef Record same_record(Record record):
    """A plain Record of the same memory."""
    cdef Record made = Record.__new__(Record)
    made.index = record.index
    made.record = record.record
    made.part = record.part
    return made


cdef object _shown(object data):
    if data is None or len(data) <= 64:
        return repr(data)
    return f"{data[:64]!r}... ({len(data)} bytes)"


cdef int _stand_alone(Record made, record_t *fields, int8_t timestamp_type, object value, object key,
                      object headers) except -1:
    """Makes an index for `made` alone, with copies of its bytes."""
    cdef record_datum_t datum
    cdef header_datum_t small[SMALL_HEADERS]
    cdef object held_value = take_bytes(value, &datum.value, "value")
    cdef object held_key = take_bytes(key, &datum.key, "key")
    cdef list held_headers = take_headers(headers, &datum, small)
    cdef RecordIndex index = RecordIndex.__new__(RecordIndex)
    cdef int64_t key_size = max(datum.key.size, 0)
    cdef int64_t value_size = max(datum.value.size, 0)
    cdef int64_t headers_size = _headers_size(&datum)
    cdef part_t *part
    _check_datum_size("key", key_size)
    _check_datum_size("value", value_size)
    _check_datum_size("headers", headers_size)
    part = <part_t *>malloc(sizeof(part_t))
    index.scan.parts = part
    index.own = <uint8_t *>malloc(sizeof(record_t) + <size_t>(key_size + value_size + headers_size))
    if part == NULL or index.own == NULL:
        raise _errors.LimitError(f"no memory for a record of {key_size + value_size + headers_size} bytes")
    memset(part, 0, sizeof(part_t))
    part.data = index.own + sizeof(record_t)
    part.size = <size_t>(key_size + value_size + headers_size)
    part.count = 1
    part.timestamp_type = timestamp_type
    fields.key_at = 0
    fields.value_at = <uint32_t>key_size
    fields.headers_at = <uint32_t>(key_size + value_size)
    fields.key_size = <int32_t>datum.key.size
    fields.value_size = <int32_t>datum.value.size
    fields.header_count = <int32_t>datum.header_count
    _put_fields(index.own + sizeof(record_t), &datum)
    index.scan.part_count = 1
    index.scan.records = <record_t *>index.own
    index.scan.records[0] = fields[0]
    index.scan.record_count = 1
    if made.index is not None:
        raise TypeError("a Record is immutable: it cannot be initialised again")
    made.index = index
    made.record = index.scan.records
    made.part = part
    return 0


cdef int _check_datum_size(str field, int64_t size) except -1:
    if size > MAX_BATCH_BYTES:
        raise _errors.LimitError(f"a record's {field} of {size} bytes; {MAX_BATCH_BYTES} is the most", field)
    return 0


cdef int64_t _headers_size(const record_datum_t *datum) noexcept nogil:
    cdef int64_t size = 0
    cdef int64_t i
    for i in range(datum.header_count):
        size += varint_datum_size(&datum.headers[i].key) + varint_datum_size(&datum.headers[i].value)
    return size


cdef void _put_fields(uint8_t *at, const record_datum_t *datum) noexcept nogil:
    cdef int64_t i
    if datum.key.size > 0:
        memcpy(at, datum.key.data, datum.key.size)
        at += datum.key.size
    if datum.value.size > 0:
        memcpy(at, datum.value.data, datum.value.size)
        at += datum.value.size
    for i in range(datum.header_count):
        at = put_varint_datum(at, &datum.headers[i].key)
        at = put_varint_datum(at, &datum.headers[i].value)


def rebuild_record(int64_t offset, int64_t timestamp, int8_t timestamp_type, value, key, headers):
    """A Record from its fields; header keys may be bytes. For pickle and `copy`."""
    cdef Record made = Record.__new__(Record)
    cdef record_t fields
    memset(&fields, 0, sizeof(record_t))
    fields.offset = offset
    fields.timestamp = timestamp
    _stand_alone(made, &fields, timestamp_type, value, key, headers)
    return made


@cython.final
@cython.auto_pickle(True)
cdef class BatchHeader:
    """The header of one wire batch or of one message set.

    A message set is one compressed message with the messages in it, or a run of plain messages of one kind. Fields that
    its format does not have are -1 (False for the flags). `position` and `size` are its place in the decoded bytes;
    `count` is the number of records on the wire, which may be 0 after compaction; `delete_horizon` is in ms or None
    (KIP-534).
    """

    cdef readonly Py_ssize_t position
    cdef readonly Py_ssize_t size
    cdef readonly int64_t base_offset
    cdef readonly int64_t last_offset
    cdef readonly int magic
    cdef readonly str compression
    cdef readonly int timestamp_type
    cdef readonly int64_t max_timestamp
    cdef readonly bint is_transactional
    cdef readonly bint is_control
    cdef readonly int64_t producer_id
    cdef readonly int producer_epoch
    cdef readonly int base_sequence
    cdef readonly int partition_leader_epoch
    cdef readonly int count
    cdef readonly object delete_horizon

    def __init__(self):
        raise TypeError("batch headers are made by decoding")

    def __repr__(self):
        kind = "control batch" if self.is_control else "batch"
        return (f"<{kind} of magic {self.magic}: offsets {self.base_offset} to {self.last_offset}, "
                f"{self.count} records, compression {self.compression}>")


cdef BatchHeader header_of(const batch_t *b):
    cdef BatchHeader made = BatchHeader.__new__(BatchHeader)
    cdef bint new_format = b.magic == 2
    made.position = b.position
    made.size = b.wire_size
    made.base_offset = b.base_offset
    made.last_offset = b.last_offset
    made.magic = b.magic
    made.compression = CODEC_NAMES[b.codec]
    made.timestamp_type = b.timestamp_type
    made.max_timestamp = b.max_timestamp
    made.is_transactional = new_format and b.attributes & ATTRIBUTE_TRANSACTIONAL
    made.is_control = new_format and b.attributes & ATTRIBUTE_CONTROL
    made.producer_id = b.producer_id
    made.producer_epoch = b.producer_epoch
    made.base_sequence = b.base_sequence
    made.partition_leader_epoch = b.partition_leader_epoch
    made.count = b.count
    made.delete_horizon = b.base_timestamp if new_format and b.attributes & ATTRIBUTE_DELETE_HORIZON else None
    return made


@cython.final
@cython.no_gc
cdef class Records:
    """The decoded records: a sequence of Record that makes an object per record only when one is asked for.

    `len()`, indexing, slices (Records of the same memory), iteration, `values()`, `keys()`, and columns through
    `to_arrow()` or the Arrow PyCapsule interface. Immutable; may be shared between threads.
    """

    cdef RecordIndex index
    cdef size_t start
    cdef size_t stop

    def __cinit__(self):
        self.index = _NO_INDEX

    def __init__(self):
        raise TypeError("Records come from kwire.records.decode()")

    def __len__(self):
        return <Py_ssize_t>(self.stop - self.start)

    def __getitem__(self, item):
        cdef Py_ssize_t first, last
        cdef Py_ssize_t count = <Py_ssize_t>(self.stop - self.start)
        if isinstance(item, slice):
            first, last, step = item.indices(count)
            if step != 1:
                raise ValueError("Records are cut in steps of one")
            return _records_between(self.index, self.start + first, self.start + max(first, last))
        first = PyNumber_AsSsize_t(item, IndexError)
        if first < 0:
            first += count
        if first < 0 or first >= count:
            raise IndexError(f"record {item} of {count}")
        return record_view(self.index, self.start + first, self.index.part_of(self.start + first))

    def __iter__(self):
        cdef RecordsIterator made = RecordsIterator.__new__(RecordsIterator)
        made.index = self.index
        made.place = self.start
        made.stop = self.stop
        made.part = self.index.part_of(self.start) if self.start < self.stop else NULL
        return made

    def values(self):
        """The values as a list of bytes or None."""
        return self._column(True)

    def keys(self):
        """The keys as a list of bytes or None."""
        return self._column(False)

    cdef list _column(self, bint values):
        cdef list made = PyList_New(<Py_ssize_t>(self.stop - self.start))
        cdef const record_t *record
        cdef const part_t *part
        cdef size_t place
        if self.start == self.stop:
            return made
        part = self.index.part_of(self.start)
        for place in range(self.start, self.stop):
            while place >= part.first + part.count:
                part += 1
            record = &self.index.scan.records[place]
            item = (bytes_at(part, record.value_at, record.value_size) if values
                    else bytes_at(part, record.key_at, record.key_size))
            Py_INCREF(item)
            PyList_SET_ITEM(made, <Py_ssize_t>(place - self.start), item)
        return made

    def measure(self, Py_ssize_t first, Py_ssize_t count, int64_t max_bytes):
        """(how many of the `count` records from `first` on fit into `max_bytes`, at least one; their size in bytes).

        The size is that from the first key to the last value, after decompression. Takes no time per record.
        """
        cdef size_t place = self.start + <size_t>first
        cdef size_t stop = place + <size_t>count
        cdef size_t end
        cdef const part_t *part
        cdef int64_t room = max_bytes
        if first < 0 or count < 0 or first > len(self) or count > len(self) - first:
            raise IndexError(f"records {first} to {first + count} of {len(self)}")
        if count == 0:
            return 0, 0
        part = self.index.part_of(place)
        while place < stop:
            end = min(part.first + part.count, stop)
            end = self.index.end_within(place, end, room)
            room -= self.index.bytes_between(place, end)
            place = end
            if place < part.first + part.count:
                break
            part += 1
        if place == self.start + <size_t>first:
            place += 1
            room = max_bytes - self.index.bytes_between(place - 1, place)
        return <Py_ssize_t>(place - self.start) - first, max_bytes - room

    def _repr_html_(self):
        from kwire._html import of_records
        return of_records("records", ((None, self),), self.__getitem__)

    def to_arrow(self, columns=None, *, binary_view=False, timestamp_unit="ms"):
        """A pyarrow.RecordBatch of the records; pyarrow is imported here and nowhere else.

        Columns, all or those named in `columns`, in that order: offset int64, timestamp int64 (-1 none),
        timestamp_type int8, key and value binary, headers list<struct<key: string, value: binary>> (empty without
        headers). With `binary_view=True` key and value are views into the decoded bytes instead of copies, and keep
        them alive; `timestamp_unit` is "ms", "us" or "ns". Raises LimitError when a column is larger than 2 GiB, and
        ConfigError for a column or unit that does not exist.
        """
        plan = record_plan(columns, binary_view=binary_view, timestamp_unit=timestamp_unit)
        return RecordColumns(plan, ((self, None, 0),)).to_arrow()

    def __arrow_c_schema__(self):
        """The schema of all columns as a PyCapsule."""
        return record_plan().__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema=None):
        """(schema, array) of all columns as PyCapsules; LimitError when a column is larger than 2 GiB."""
        return RecordColumns(record_plan(), ((self, None, 0),)).__arrow_c_array__()

    def __arrow_c_stream__(self, requested_schema=None):
        """All columns as a PyCapsule stream, cut where a column would be larger than 2 GiB."""
        return RecordColumns(record_plan(), ((self, None, 0),)).__arrow_c_stream__()

    @property
    def batches(self):
        """A tuple with one BatchHeader per whole wire batch or message set of the decoded bytes."""
        cdef size_t i
        return tuple([header_of(&self.index.scan.batches[i]) for i in range(self.index.scan.batch_count)])

    @property
    def consumed(self):
        """Number of bytes used; a batch that is cut off at the end is not."""
        return self.index.scan.at

    @property
    def decompressed_bytes(self):
        """Bytes of memory that the decompressed batches take in addition to the bytes given."""
        cdef uint64_t total = 0
        cdef size_t i
        cdef const part_t *part
        cdef const uint8_t *before = NULL
        for i in range(self.index.scan.part_count):
            part = &self.index.scan.parts[i]
            if part.block != self.index.scan.source and part.data != before:
                total += part.size + BLOCK_OVERHEAD
            before = part.data
        return total

    @property
    def index_bytes(self):
        """How many bytes of memory say where the records of the decoded bytes lie."""
        return index_bytes(&self.index.scan)

    @property
    def needed(self):
        """Whole size of the batch that is cut off at the end (12 while it is unknown); 0 if none is cut off.

        With `consumed == 0` the bytes are a part of the first batch only.
        """
        return self.index.scan.needed

    @property
    def last_leader_epoch(self):
        """The partition_leader_epoch of the last whole batch; -1 without one, or where its format has none."""
        cdef size_t count = self.index.scan.batch_count
        return self.index.scan.batches[count - 1].partition_leader_epoch if count else -1

    @property
    def next_offset(self):
        """The offset after the last whole batch, even when none of its records is left; None without a batch."""
        cdef const batch_t *last
        if self.index.scan.batch_count == 0:
            return None
        last = &self.index.scan.batches[self.index.scan.batch_count - 1]
        return <object>last.last_offset + 1

    def __repr__(self):
        return f"<{len(self)} Records>"


@cython.final
@cython.no_gc
cdef class RecordsIterator:
    cdef RecordIndex index
    cdef size_t place
    cdef size_t stop
    cdef const part_t *part

    def __iter__(self):
        return self

    def __length_hint__(self):
        return <Py_ssize_t>(self.stop - self.place)

    def __next__(self):
        cdef Record made
        if self.place >= self.stop:
            raise StopIteration
        made = Record.__new__(Record)
        made.index = self.index
        made.record = next_record(self)
        made.part = self.part
        return made


cdef inline const record_t *next_record(RecordsIterator records) noexcept:
    """The next record, of which there is one; `records.part` is then its part."""
    cdef size_t place = records.place
    while place >= records.part.first + records.part.count:
        records.part += 1
    records.place = place + 1
    return &records.index.scan.records[place]


cdef inline Record record_view(RecordIndex index, size_t place, const part_t *part):
    cdef Record made = Record.__new__(Record)
    made.index = index
    made.record = &index.scan.records[place]
    made.part = part
    return made


cdef Records _records_between(RecordIndex index, size_t start, size_t stop):
    cdef Records made = Records.__new__(Records)
    made.index = index
    made.start = start
    made.stop = stop
    return made


cdef Records records_of_index(RecordIndex index):
    return _records_between(index, 0, index.scan.record_count)
