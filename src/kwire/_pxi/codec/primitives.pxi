# The bounds-checked big-endian reader and writer that every parser and builder of the codec stands on.
#
# This is the one place where a pointer into foreign bytes is compared with its end. A parser may dereference only what
# a read_* handed to it.
#
#   int8 .. int64, uint16, uint32    big-endian, two's complement
#   float64                          IEEE 754, big-endian
#   uvarint                          base 128, least significant group first, at most 5 bytes and 32 bits
#   varint / varlong                 zigzag of an int32 (5 bytes) / int64 (10 bytes)
#   string                           int16 length, -1 null        compact: uvarint length + 1, 0 null
#   bytes                            int32 length, -1 null        compact: uvarint length + 1, 0 null
#   array                            int32 count, -1 null         compact: uvarint count + 1, 0 null
# Sources: the protocol guide ("Protocol Primitive Types"), KIP-482 (compact forms, tagged fields).
#
# A fault is sticky: the first one is kept with its position, the reader jumps to its end, and each later read returns
# zero. A parser therefore checks `error` once per structure instead of once per field.

cdef enum Fault:
    FAULT_NONE = 0
    FAULT_TRUNCATED = 1      # the bytes end before the field does
    FAULT_LENGTH = 2         # a length or count below what is legal
    FAULT_VARINT = 3         # more than 5 (10) bytes, or bits beyond 32 (64)
    FAULT_NULL = 4           # null where the field is not nullable
    FAULT_COUNT = 5          # more elements claimed than the bytes left could hold
    FAULT_TAG_ORDER = 6      # tagged fields out of order or twice
    FAULT_TAG_SIZE = 7       # a tagged field whose size is not the size of its content
    FAULT_TRAILING = 8       # bytes left after the last field
    FAULT_MEMORY = 9         # the allocator said no


ctypedef struct reader_t:
    const uint8_t *start     # where positions are counted from
    const uint8_t *at
    const uint8_t *end
    const uint8_t *fault_at
    int error


cdef inline void reader_init(reader_t *r, const uint8_t *data, size_t size) noexcept nogil:
    r.start = data
    r.at = data
    r.end = data + size
    r.fault_at = data
    r.error = FAULT_NONE


cdef inline void reader_init_at(reader_t *r, const uint8_t *data, const uint8_t *end, const uint8_t *at) noexcept nogil:
    """A reader that begins at `at`; at the end, if that is beyond it, so that `at` never is."""
    r.start = data
    r.at = at if at < end else end
    r.end = end
    r.fault_at = data
    r.error = FAULT_NONE


cdef inline void reader_fail(reader_t *r, int fault) noexcept nogil:
    if r.error == FAULT_NONE:
        r.error = fault
        r.fault_at = r.at
    r.at = r.end


cdef inline size_t bytes_left(const reader_t *r) noexcept nogil:
    """0 when `at` is beyond the end: no reader gets there, but the difference would be nearly 2**64."""
    return <size_t>(r.end - r.at) if r.at < r.end else 0


cdef inline const uint8_t *read_span(reader_t *r, size_t size) noexcept nogil:
    """The next `size` bytes, or NULL with a fault when fewer are left."""
    cdef const uint8_t *span = r.at
    if <size_t>(r.end - r.at) < size:
        reader_fail(r, FAULT_TRUNCATED)
        return NULL
    r.at += size
    return span


cdef inline uint16_t load_u16(const uint8_t *p) noexcept nogil:
    cdef uint16_t raw
    memcpy(&raw, p, 2)
    return kw_be16(raw)


cdef inline uint32_t load_u32(const uint8_t *p) noexcept nogil:
    cdef uint32_t raw
    memcpy(&raw, p, 4)
    return kw_be32(raw)


cdef inline uint64_t load_u64(const uint8_t *p) noexcept nogil:
    cdef uint64_t raw
    memcpy(&raw, p, 8)
    return kw_be64(raw)


cdef inline uint32_t load_le32(const uint8_t *p) noexcept nogil:
    cdef uint32_t raw
    memcpy(&raw, p, 4)
    return kw_le32(raw)


cdef inline uint64_t load_le64(const uint8_t *p) noexcept nogil:
    cdef uint64_t raw
    memcpy(&raw, p, 8)
    return kw_le64(raw)


cdef inline double load_f64(const uint8_t *p) noexcept nogil:
    cdef uint64_t bits = load_u64(p)
    cdef double value
    memcpy(&value, &bits, 8)
    return value


cdef inline int8_t read_i8(reader_t *r) noexcept nogil:
    cdef const uint8_t *p = read_span(r, 1)
    return <int8_t>p[0] if p != NULL else 0


cdef inline int16_t read_i16(reader_t *r) noexcept nogil:
    cdef const uint8_t *p = read_span(r, 2)
    return <int16_t>load_u16(p) if p != NULL else 0


cdef inline int32_t read_i32(reader_t *r) noexcept nogil:
    cdef const uint8_t *p = read_span(r, 4)
    return <int32_t>load_u32(p) if p != NULL else 0


cdef inline uint32_t read_u32(reader_t *r) noexcept nogil:
    cdef const uint8_t *p = read_span(r, 4)
    return load_u32(p) if p != NULL else 0


cdef inline int64_t read_i64(reader_t *r) noexcept nogil:
    cdef const uint8_t *p = read_span(r, 8)
    return <int64_t>load_u64(p) if p != NULL else 0


cdef uint64_t _read_uvarint_tail(reader_t *r, int max_bytes, uint8_t last_byte_max) noexcept nogil:
    """The general form: `last_byte_max` is the greatest legal value of the last byte, so no bit is lost."""
    cdef uint64_t value = 0
    cdef const uint8_t *begin = r.at
    cdef uint8_t byte
    cdef int i
    for i in range(max_bytes):
        if r.at >= r.end:
            r.at = begin
            reader_fail(r, FAULT_TRUNCATED)
            return 0
        byte = r.at[0]
        r.at += 1
        if i == max_bytes - 1 and byte > last_byte_max:
            break
        value |= (<uint64_t>(byte & 0x7F)) << (7 * i)
        if byte < 0x80:
            return value
    r.at = begin
    reader_fail(r, FAULT_VARINT)
    return 0


cdef inline bint _read_short_uvarint(reader_t *r, uint32_t *value) noexcept nogil:
    """The forms of one and two bytes, which nearly all lengths and deltas have; False leaves the reader as it was."""
    cdef const uint8_t *p = r.at
    cdef ptrdiff_t left = r.end - r.at
    if left >= 1 and p[0] < 0x80:
        value[0] = p[0]
        r.at = p + 1
        return True
    if left >= 2 and p[1] < 0x80:
        value[0] = (<uint32_t>p[0] & 0x7F) | <uint32_t>p[1] << 7
        r.at = p + 2
        return True
    return False


cdef inline uint32_t read_uvarint(reader_t *r) noexcept nogil:
    cdef uint32_t value
    if _read_short_uvarint(r, &value):
        return value
    return <uint32_t>_read_uvarint_tail(r, 5, 0x0F)


cdef inline int32_t read_varint(reader_t *r) noexcept nogil:
    cdef uint32_t raw = read_uvarint(r)
    return <int32_t>((raw >> 1) ^ (0 - (raw & 1)))


cdef inline int64_t read_varlong(reader_t *r) noexcept nogil:
    cdef uint32_t value
    cdef uint64_t raw
    if _read_short_uvarint(r, &value):
        raw = value
    else:
        raw = _read_uvarint_tail(r, 10, 0x01)
    return <int64_t>((raw >> 1) ^ (0 - (raw & 1)))


cdef inline const uint8_t *quick_varint(const uint8_t *p, int32_t *value, bint *is_long) noexcept nogil:
    """Returns where the varint at `p` ends; the caller knows that three bytes are there. A longer one sets `is_long`.

    For loops over records: the place stays in a register, where a reader's is stored and loaded for each field.
    """
    cdef uint32_t raw = p[0]
    if p[0] < 0x80:
        p += 1
    elif p[1] < 0x80:
        raw = (raw & 0x7F) | <uint32_t>p[1] << 7
        p += 2
    else:
        is_long[0] |= p[2] >= 0x80
        raw = (raw & 0x7F) | (<uint32_t>p[1] & 0x7F) << 7 | <uint32_t>p[2] << 14
        p += 3
    value[0] = <int32_t>((raw >> 1) ^ (0 - (raw & 1)))
    return p


cdef inline int64_t _length_or_fault(reader_t *r, int64_t length, const uint8_t *begin) noexcept nogil:
    """-1 null, else a length that is known to lie within the bytes left."""
    if length < -1:
        r.at = begin
        reader_fail(r, FAULT_LENGTH)
        return -1
    if length > 0 and length > r.end - r.at:
        r.at = begin
        reader_fail(r, FAULT_TRUNCATED)
        return -1
    return length


cdef inline int64_t read_string_length(reader_t *r) noexcept nogil:
    cdef const uint8_t *begin = r.at
    return _length_or_fault(r, read_i16(r), begin)


cdef inline int64_t read_bytes_length(reader_t *r) noexcept nogil:
    cdef const uint8_t *begin = r.at
    return _length_or_fault(r, read_i32(r), begin)


cdef inline int64_t read_compact_length(reader_t *r) noexcept nogil:
    cdef const uint8_t *begin = r.at
    return _length_or_fault(r, <int64_t>read_uvarint(r) - 1, begin)


cdef inline int64_t check_count(reader_t *r, int64_t count, size_t min_size, const uint8_t *begin) noexcept nogil:
    """An element count is believed only if the bytes left could hold that many of `min_size` each."""
    if count < -1:
        r.at = begin
        reader_fail(r, FAULT_LENGTH)
        return -1
    if count > 0 and count > (r.end - r.at) // <ptrdiff_t>(min_size if min_size else 1):
        r.at = begin
        reader_fail(r, FAULT_COUNT)
        return -1
    return count


cdef inline int64_t read_array_count(reader_t *r, size_t min_size) noexcept nogil:
    cdef const uint8_t *begin = r.at
    return check_count(r, read_i32(r), min_size, begin)


cdef inline int64_t read_short_count(reader_t *r, size_t min_size) noexcept nogil:
    cdef const uint8_t *begin = r.at
    return check_count(r, read_i16(r), min_size, begin)


cdef inline int64_t read_compact_count(reader_t *r, size_t min_size) noexcept nogil:
    cdef const uint8_t *begin = r.at
    return check_count(r, <int64_t>read_uvarint(r) - 1, min_size, begin)


cdef object fault_kind_and_text(int fault):
    if fault == FAULT_TRUNCATED:
        return _errors.TruncatedError, "the bytes end before the field does"
    if fault == FAULT_LENGTH:
        return _errors.InvalidLengthError, "a length below -1"
    if fault == FAULT_VARINT:
        return _errors.InvalidLengthError, "a varint with too many bytes or bits"
    if fault == FAULT_NULL:
        return _errors.InvalidLengthError, "null in a field that is not nullable"
    if fault == FAULT_COUNT:
        return _errors.InvalidLengthError, "more elements claimed than the bytes left can hold"
    if fault == FAULT_TAG_ORDER:
        return _errors.InvalidLengthError, "tagged fields out of order or repeated"
    if fault == FAULT_TAG_SIZE:
        return _errors.InvalidLengthError, "a tagged field whose size does not match its content"
    if fault == FAULT_TRAILING:
        return _errors.InvalidLengthError, "bytes left over after the last field"
    return _errors.LimitError, "out of memory"


cdef int raise_read_fault(const reader_t *r, object field) except -1:
    """Raises the reader's fault as the CodecError it stands for, with `field` (str or None) and the byte offset."""
    kind, text = fault_kind_and_text(r.error)
    raise kind(text, field, r.fault_at - r.start)


ctypedef struct writer_t:
    uint8_t *start
    uint8_t *at
    uint8_t *end
    int error


cdef inline int writer_init(writer_t *w, size_t capacity) noexcept nogil:
    """The caller frees with writer_free, also after -1."""
    if capacity == 0:
        capacity = 64
    w.start = <uint8_t *>malloc(capacity)
    w.at = w.start
    w.end = w.start + capacity if w.start != NULL else NULL
    w.error = FAULT_NONE if w.start != NULL else FAULT_MEMORY
    return 0 if w.start != NULL else -1


cdef inline void writer_free(writer_t *w) noexcept nogil:
    free(w.start)
    w.start = NULL
    w.at = NULL
    w.end = NULL


cdef inline size_t written(const writer_t *w) noexcept nogil:
    return <size_t>(w.at - w.start)


cdef int _writer_grow(writer_t *w, size_t more) noexcept nogil:
    cdef size_t used = written(w)
    cdef size_t capacity = <size_t>(w.end - w.start) * 2
    cdef uint8_t *moved
    if w.error != FAULT_NONE:
        return -1
    if capacity < used + more:
        capacity = used + more
    moved = <uint8_t *>realloc(w.start, capacity)
    if moved == NULL:
        w.error = FAULT_MEMORY
        return -1
    w.start = moved
    w.at = moved + used
    w.end = moved + capacity
    return 0


cdef inline uint8_t *write_span(writer_t *w, size_t size) noexcept nogil:
    """Room for `size` bytes, to be filled by the caller; NULL with a sticky error when there is no memory."""
    cdef uint8_t *span
    if <size_t>(w.end - w.at) < size and _writer_grow(w, size) < 0:
        return NULL
    span = w.at
    w.at += size
    return span


cdef inline void store_u16(uint8_t *p, uint16_t value) noexcept nogil:
    value = kw_be16(value)
    memcpy(p, &value, 2)


cdef inline void store_u32(uint8_t *p, uint32_t value) noexcept nogil:
    value = kw_be32(value)
    memcpy(p, &value, 4)


cdef inline void store_u64(uint8_t *p, uint64_t value) noexcept nogil:
    value = kw_be64(value)
    memcpy(p, &value, 8)


cdef inline void store_f64(uint8_t *p, double value) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &value, 8)
    store_u64(p, bits)


cdef inline void write_raw(writer_t *w, const void *data, size_t size) noexcept nogil:
    cdef uint8_t *p = write_span(w, size)
    if p != NULL and size:
        memcpy(p, data, size)


cdef inline void write_i8(writer_t *w, int8_t value) noexcept nogil:
    cdef uint8_t *p = write_span(w, 1)
    if p != NULL:
        p[0] = <uint8_t>value


cdef inline void write_u16(writer_t *w, uint16_t value) noexcept nogil:
    cdef uint8_t *p = write_span(w, 2)
    if p != NULL:
        store_u16(p, value)


cdef inline void write_i16(writer_t *w, int16_t value) noexcept nogil:
    write_u16(w, <uint16_t>value)


cdef inline void write_u32(writer_t *w, uint32_t value) noexcept nogil:
    cdef uint8_t *p = write_span(w, 4)
    if p != NULL:
        store_u32(p, value)


cdef inline void write_i32(writer_t *w, int32_t value) noexcept nogil:
    write_u32(w, <uint32_t>value)


cdef inline int put_uvarint(uint8_t *p, uint64_t value) noexcept nogil:
    """Writes at `p`, which must have room for 10 bytes; returns the number of bytes used."""
    cdef int used = 0
    while value >= 0x80:
        p[used] = <uint8_t>(value | 0x80)
        value >>= 7
        used += 1
    p[used] = <uint8_t>value
    return used + 1


cdef inline int uvarint_size(uint64_t value) noexcept nogil:
    cdef int size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


cdef inline uint64_t zigzag64(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline void write_uvarint(writer_t *w, uint32_t value) noexcept nogil:
    cdef uint8_t buffer[10]
    write_raw(w, buffer, put_uvarint(buffer, value))


cdef int raise_write_fault(const writer_t *w) except -1:
    raise _errors.LimitError(f"out of memory after {written(w)} bytes")


cdef str shown_int(object value):
    """Python refuses to print integers of more than a few thousand digits."""
    bits = value.bit_length()
    return str(value) if bits <= 256 else f"an integer of {bits} bits"
