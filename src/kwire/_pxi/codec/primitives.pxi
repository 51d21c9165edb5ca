# The errors that the faults of reader.pxi stand for, and the big-endian writer that every builder of the codec stands on.

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
