# The bounds-checked big-endian reader that every parser of the codec, and every decoder of values, stands on.
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


cdef inline uint64_t read_long_uvarint(reader_t *r, int max_bytes, uint8_t last_byte_max) noexcept nogil:
    """The general form: `last_byte_max` is the greatest legal value of the last byte, so no bit is lost."""
    cdef inline uint64_t value = 0
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


cdef inline bint read_short_uvarint(reader_t *r, uint32_t *value) noexcept nogil:
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
    if read_short_uvarint(r, &value):
        return value
    return <uint32_t>read_long_uvarint(r, 5, 0x0F)


cdef inline int32_t read_varint(reader_t *r) noexcept nogil:
    cdef uint32_t raw = read_uvarint(r)
    return <int32_t>((raw >> 1) ^ (0 - (raw & 1)))


cdef inline int64_t read_varlong(reader_t *r) noexcept nogil:
    cdef uint32_t value
    cdef uint64_t raw
    if read_short_uvarint(r, &value):
        raw = value
    else:
        raw = read_long_uvarint(r, 10, 0x01)
    return <int64_t>((raw >> 1) ^ (0 - (raw & 1)))


cdef inline const uint8_t *quick_uvarint(const uint8_t *p, uint32_t *raw, uint32_t *unusual) noexcept nogil:
    """Returns where the uvarint at `p` ends; the caller knows that three bytes are there. A longer one is `unusual` & 1.

    For loops over records: the place stays in a register, where a reader's is stored and loaded for each field. The
    bits that announce another byte are taken off together.
    """
    cdef uint32_t first = p[0]
    if first < 0x80:
        raw[0] = first
        return p + 1
    if p[1] < 0x80:
        raw[0] = first + (<uint32_t>p[1] << 7) - 0x80
        return p + 2
    unusual[0] |= p[2] >> 7
    raw[0] = first + (<uint32_t>p[1] << 7) + (<uint32_t>p[2] << 14) - 0x4080
    return p + 3


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


cdef object fault_kind_and_text(int fault)
