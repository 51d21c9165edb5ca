# Turns Python values into record batches: value, key, timestamp and headers into pointers (here and nowhere else), and
# the public batch builder.
#
# Taking a pointer may run Python code (`__buffer__`, iterating headers). Hence a record is taken completely first, the
# caller holds the objects, and only then the record is appended, with no Python call in between.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_GET_SIZE
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.unicode cimport PyUnicode_Check

cdef extern from "Python.h":
    bint PyObject_CheckBuffer(object value)
    bint PyIndex_Check(object value)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

cdef enum:
    SMALL_HEADERS = 8
    SAMPLED_ITEMS = 64

cdef tuple NO_HEADERS = ()


cdef inline object take_bytes(object value, datum_t *out, str field):
    """Points `out` at the bytes of value (None: null). Hold the returned object as long as `out` is used."""
    if PyBytes_Check(value):
        out.data = <const uint8_t *>PyBytes_AS_STRING(value)
        out.size = PyBytes_GET_SIZE(value)
        return value
    if value is None:
        out.data = NULL
        out.size = -1
        return None
    return _take_foreign_bytes(value, out, field)


cdef Buffer _take_foreign_bytes(object value, datum_t *out, str field):
    cdef Buffer held
    if not PyObject_CheckBuffer(value):
        raise TypeError(f"a record's {field} is bytes-like or None, not {type(value).__name__}; encode it first")
    try:
        held = pin(value)
    except TypeError as fault:
        raise TypeError(f"a record's {field}: {fault}") from None
    if held.size > MAX_BATCH_BYTES:
        raise_build_fault(BUILD_TOO_LARGE, 2)
    out.data = held.data
    out.size = held.size
    return held


cdef inline int64_t take_timestamp(object timestamp, int64_t when_none) except? -2:
    """Milliseconds since 1970 of an int or a datetime (a naive one is local time, as in Python)."""
    cdef int64_t milliseconds
    cdef int overflow = 0
    if timestamp is None:
        return when_none
    if PyLong_CheckExact(timestamp):
        milliseconds = PyLong_AsLongLongAndOverflow(timestamp, &overflow)
        if milliseconds >= -1 and overflow == 0:
            return milliseconds
    return _take_given_timestamp(timestamp)


cdef int64_t _take_given_timestamp(object timestamp) except? -2:
    cdef int64_t milliseconds
    cdef int overflow = 0
    if not PyIndex_Check(timestamp) or isinstance(timestamp, bool):
        timestamp = _milliseconds_of(timestamp)
    index = PyNumber_Index(timestamp)
    milliseconds = kw_long(index, &overflow)
    if overflow or milliseconds < -1:
        raise _errors.CodecError(f"a timestamp of {shown_int(index)} ms cannot be written: it is -1 (none) or from 0 "
                                 "to 2**63 - 1", "timestamp")
    return milliseconds


cdef object _milliseconds_of(object timestamp):
    from datetime import datetime, timedelta, timezone
    if not isinstance(timestamp, datetime):
        raise TypeError(f"a timestamp is an int of milliseconds or a datetime, not {type(timestamp).__name__}")
    if timestamp.tzinfo is None:
        try:
            timestamp = timestamp.astimezone()
        except (ValueError, OverflowError) as fault:
            raise _errors.CodecError(f"the local time {timestamp} has no timestamp: {fault}", "timestamp") from None
    return (timestamp - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


cdef inline list take_headers(object headers, record_datum_t *record, header_datum_t *small):
    """Points the record's headers at `headers`; `small` has room for SMALL_HEADERS. Hold the returned list."""
    record.headers = small
    record.header_count = 0
    if headers is None or headers is NO_HEADERS:
        return None
    return _take_given_headers(headers, record, small)


cdef list _take_given_headers(object headers, record_datum_t *record, header_datum_t *small):
    cdef tuple pairs
    cdef list held
    cdef header_datum_t *spans = small
    cdef Py_ssize_t i, count
    pairs = tuple(headers)
    count = len(pairs)
    if count == 0:
        return None
    held = [pairs]
    if count > SMALL_HEADERS:
        arena = PyBytes_FromStringAndSize(NULL, count * <Py_ssize_t>sizeof(header_datum_t))
        held.append(arena)
        spans = <header_datum_t *>PyBytes_AS_STRING(arena)
    for i in range(count):
        _take_header(pairs[i], &spans[i], held)
    record.headers = spans
    record.header_count = count
    return held


cdef int _take_header(object pair, header_datum_t *span, list held) except -1:
    cdef Py_ssize_t size = 0
    if type(pair) is not tuple:
        if isinstance(pair, (str, bytes)):
            raise TypeError("headers are pairs (str, bytes or None), not a mapping or a flat list")
        pair = tuple(pair)
        held.append(pair)
    if len(<tuple>pair) != 2:
        raise TypeError(f"a header is a pair (str, bytes or None), not {len(pair)} values")
    key = (<tuple>pair)[0]
    if PyUnicode_Check(key):
        try:
            span.key.data = <const uint8_t *>PyUnicode_AsUTF8AndSize(key, &size)
        except UnicodeEncodeError as fault:
            raise _errors.CodecError(f"a header key cannot be written as UTF-8: {fault.reason}", "headers") from None
        span.key.size = size
    elif key is None:
        raise TypeError("a header's key is a str, not None")
    else:
        held.append(take_bytes(key, &span.key, "header key"))
    held.append(take_bytes((<tuple>pair)[1], &span.value, "header value"))
    return 0


cdef tuple item_fields(object item):
    """(value, key, timestamp, headers) of anything but bytes that `encode` and `send_many` accept as a record."""
    cdef Py_ssize_t size
    if type(item) is tuple:
        size = len(<tuple>item)
        if size == 4:
            return <tuple>item
        if size == 2:
            return ((<tuple>item)[0], (<tuple>item)[1], None, None)
        if size == 3:
            return ((<tuple>item)[0], (<tuple>item)[1], (<tuple>item)[2], None)
        raise TypeError(f"a record is bytes, (value, key), (value, key, timestamp, headers) or a Record, not a tuple "
                        f"of {size}")
    if item is None or PyObject_CheckBuffer(item):
        return (item, None, None, None)
    try:
        headers = item.raw_headers if hasattr(item, "raw_headers") else item.headers
        return (item.value, item.key, item.timestamp, headers)
    except AttributeError:
        raise TypeError(f"a record is bytes, (value, key), (value, key, timestamp, headers) or a Record, not "
                        f"{type(item).__name__}") from None


cdef int64_t int_argument(object value, str name, int64_t low, int64_t high) except? -2:
    """An int between `low` and `high`; CodecError or TypeError that names the argument."""
    cdef int overflow = 0
    cdef int64_t number
    if not PyIndex_Check(value):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    index = PyNumber_Index(value)
    number = kw_long(index, &overflow)
    if overflow or not low <= number <= high:
        raise _errors.CodecError(f"{name}={shown_int(index)} is not an int from {low} to {high}", name)
    return number


cdef int magic_argument(object value) except -1:
    cdef int overflow = 0
    if not PyIndex_Check(value):
        raise TypeError(f"magic is an int, not {type(value).__name__}")
    index = PyNumber_Index(value)
    if not 0 <= kw_long(index, &overflow) <= 2 or overflow:
        raise _errors.UnknownVersionError(f"magic {shown_int(index)} is not known: use 0, 1 or 2", "magic")
    return index


@cython.final
cdef class BatchBuilder:
    """Builds one record batch (magic 2) or message set (magic 0, 1), record by record.

    `compression` is "none", "gzip", "snappy", "lz4" or "zstd" (magic 2 only), `level` the codec's own level or None.
    `max_bytes` bounds the bytes before compression, header included; None leaves only the wire's own 2 GiB. The first
    record is always taken, so a single record may exceed it. Records get consecutive offsets from `base_offset`.
    Raises UnknownVersionError (magic), UnknownCodecError (compression), CodecError (a value this magic cannot carry).
    """

    cdef builder_t core
    cdef seal_t seal
    cdef object level
    cdef int64_t max_bytes

    def __cinit__(self, *, object magic=2, object compression="none", object level=None, object max_bytes=None,
                  object base_offset=0, object producer_id=-1, object producer_epoch=-1, object base_sequence=-1,
                  bint is_transactional=False, bint is_control=False, object partition_leader_epoch=-1):
        cdef int format = magic_argument(magic)
        self.level = level
        self.max_bytes = MAX_BATCH_BYTES if max_bytes is None else int_argument(max_bytes, "max_bytes", INT64_MIN,
                                                                                INT64_MAX)
        self.seal.producer_id = int_argument(producer_id, "producer_id", INT64_MIN, INT64_MAX)
        self.seal.producer_epoch = int_argument(producer_epoch, "producer_epoch", -0x8000, 0x7FFF)
        self.seal.base_sequence = int_argument(base_sequence, "base_sequence", INT32_MIN, INT32_MAX)
        self.seal.is_transactional = is_transactional
        self.seal.is_control = is_control
        self.seal.leader_epoch = int_argument(partition_leader_epoch, "partition_leader_epoch", INT32_MIN, INT32_MAX)
        if format < 2 and (self.seal.producer_id != -1 or self.seal.producer_epoch != -1
                           or self.seal.base_sequence != -1 or is_transactional or is_control):
            raise _errors.CodecError(f"producer ids, sequences, transactions and control batches need magic 2, "
                                     f"not {format}", "magic")
        builder_init(&self.core, format, codec_number(compression, format),
                     int_argument(base_offset, "base_offset", 0, MAX_OFFSET))

    def __dealloc__(self):
        kw_block_release(self.core.block)
        if kw_foreign_waits():
            give_back_borrowed()

    def __len__(self):
        return self.core.count

    @property
    def size(self):
        """Bytes of the batch so far, before compression; 0 while it is empty."""
        return builder_size(&self.core)

    def append(self, value, key=None, timestamp=None, headers=()):
        """Adds a record; returns False, and adds nothing, when it would not fit into `max_bytes`.

        value and key are bytes-like or None, timestamp int milliseconds, a datetime or None (-1, none, is written),
        headers a sequence of (str, bytes or None), magic 2 only.
        """
        return self._add(value, key, timestamp, headers)

    def extend(self, items):
        """Adds records (bytes, (value, key), (value, key, timestamp, headers) or Record) until one does not fit.

        Returns how many were added; one that did not fit has been taken from an iterator, so give it a sequence where
        `max_bytes` is set.
        """
        cdef Py_ssize_t added = 0
        for item in items:
            if not self._add_item(item):
                break
            added += 1
        return added

    def build(self):
        """Returns the finished bytes, b"" when nothing was added. More may be appended, and built again."""
        cdef Buffer sealed = builder_seal(&self.core, &self.seal, self.level)
        return b"" if sealed is None else bytes(sealed)

    cdef bint _add_item(self, object item) except -1:
        cdef tuple fields
        if PyBytes_Check(item):
            return self._add(item, None, None, None)
        fields = item_fields(item)
        return self._add(fields[0], fields[1], fields[2], fields[3])

    cdef bint _add(self, object value, object key, object timestamp, object headers) except -1:
        cdef record_datum_t record
        cdef header_datum_t small[SMALL_HEADERS]
        cdef int fault
        held_value = take_bytes(value, &record.value, "value")
        held_key = take_bytes(key, &record.key, "key")
        held_headers = take_headers(headers, &record, small)
        record.timestamp = take_timestamp(timestamp, -1)
        if (self.core.count and <int64_t>self.core.used + record_size_bound(&record) > self.max_bytes
                and <int64_t>self.core.used + builder_record_size(&self.core, &record) > self.max_bytes):
            return False
        fault = builder_append(&self.core, &record)
        if fault != BUILD_OK:
            raise_build_fault(fault, self.core.magic)
        return True

    cdef int _expect(self, int64_t more) except -1:
        """Makes room for about `more` bytes, in the bytes object that `_finish` returns where nothing is compressed."""
        cdef size_t size = self.core.used + <size_t>max(more, 0)
        cdef kw_block *block = NULL
        if self.core.codec == 0 and size <= <size_t>MAX_BATCH_BYTES:
            block = block_of_new_bytes(size)
        if block == NULL:
            builder_expect(&self.core, 0, more)
            return 0
        if self.core.block != NULL:
            memcpy(kw_block_data(block), kw_block_data(self.core.block), self.core.used)
            kw_block_release(self.core.block)
        builder_hold(&self.core, block)
        return 0

    cdef object _finish(self):
        """Like `build()`, but nothing may be appended afterwards: records that lie in a bytes object are not copied."""
        cdef kw_block *block = self.core.block
        cdef Py_ssize_t size = <Py_ssize_t>self.core.used
        if self.core.count == 0 or not kw_block_is_foreign(block):
            return self.build()
        if self.core.magic == 2:
            put_batch_header(kw_block_data(block), self.core.used, &self.core, &self.seal)
        builder_hold(&self.core, NULL)
        return bytes_of_block(block, size)

    cdef int _skip_to(self, int64_t offset) except -1:
        """The next record gets this offset; those in between are missing, as after compaction."""
        if offset < 0 or offset - self.core.base_offset < self.core.next_delta:
            raise _errors.CodecError(f"offset {offset} does not come after the one before it", "offset")
        if offset - self.core.base_offset > MAX_BATCH_BYTES:
            raise _errors.CodecError(f"offset {offset} is too far from base offset {self.core.base_offset}", "offset")
        self.core.next_delta = offset - self.core.base_offset
        return 0


cdef int check_generation(object generation) except -1:
    if generation != "0.7":
        raise _errors.UnknownVersionError(
            f"generation {generation!r}: \"0.7\" is one, None stands for Kafka 0.8 and newer", "generation")
    return 0


cdef int64_t _kept_offset(object item) except? -2:
    try:
        offset = item.offset
    except AttributeError:
        raise TypeError(f"keep_offsets=True needs Records, which have an offset, not {type(item).__name__}") from None
    return int_argument(offset, "offset", INT64_MIN, INT64_MAX)


def encode(items, *, magic=None, compression="none", level=None, base_offset=None, producer_id=-1, producer_epoch=-1,
           base_sequence=-1, bint is_transactional=False, bint is_control=False, partition_leader_epoch=-1,
           bint keep_offsets=False, generation=None):
    """One record batch (magic 2) or message set (magic 0, 1) of all items, as bytes; b"" for no items.

    With `generation="0.7"` a message set of Kafka 0.7 (its magic 0 or 1, none, gzip or snappy), of which items can have
    a value only. `magic` None: 2, or in Kafka 0.7 its 1.

    An item is bytes (a value), (value, key), (value, key, timestamp, headers) or a Record. A timestamp of None is
    written as -1: the codec reads no clock. Offsets count from `base_offset`; with `keep_offsets` every item is a
    Record whose own `.offset` is kept, gaps included, and `base_offset` defaults to that of the first.
    Raises UnknownVersionError (magic, generation), UnknownCodecError (compression), CodecError (headers and magic 0 or
    1, keys and Kafka 0.7, a timestamp below -1, offsets going back), LimitError (more than 2 GiB).
    """
    cdef BatchBuilder builder
    cdef size_t each
    if generation is not None:
        check_generation(generation)
        return encode_0_7(items, 1 if magic is None else magic_argument(magic), compression or "none", level)
    if magic is None:
        magic = 2
    if keep_offsets:
        items = list(items)
        if base_offset is None and items:
            base_offset = _kept_offset(items[0])
    builder = BatchBuilder(magic=magic, compression=compression, level=level, base_offset=base_offset or 0,
                           producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence,
                           is_transactional=is_transactional, is_control=is_control,
                           partition_leader_epoch=partition_leader_epoch)
    for item in items:
        if keep_offsets:
            builder._skip_to(_kept_offset(item))
        if not builder._add_item(item):
            raise_build_fault(BUILD_TOO_LARGE, builder.core.magic)
        if builder.core.count == SAMPLED_ITEMS and isinstance(items, (list, tuple)):
            each = builder.core.used // SAMPLED_ITEMS
            builder._expect((len(items) - SAMPLED_ITEMS) * <int64_t>(each + each // 16))
    return builder._finish()
