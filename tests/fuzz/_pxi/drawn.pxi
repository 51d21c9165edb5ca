# The choices that an input stands for, taken from its beginning on as `drawing.py` takes them.

ctypedef struct drawn_t:
    const uint8_t *at
    const uint8_t *end


cdef inline drawn_t drawn_of(const uint8_t *data, size_t size) noexcept nogil:
    cdef drawn_t d
    d.at = data
    d.end = data + size
    return d


cdef inline size_t drawn_left(const drawn_t *d) noexcept nogil:
    return <size_t>(d.end - d.at)


cdef inline uint8_t drawn_byte(drawn_t *d) noexcept nogil:
    if d.at == d.end:
        return 0
    d.at += 1
    return d.at[-1]


cdef inline uint64_t drawn_number(drawn_t *d, size_t size) noexcept nogil:
    cdef uint64_t value = 0
    for _ in range(min(size, drawn_left(d))):
        value = value << 8 | d.at[0]
        d.at += 1
    return value


cdef inline int64_t drawn_signed(drawn_t *d, size_t size) noexcept nogil:
    """The sign is that of the bytes there are."""
    cdef size_t bits = 8 * min(size, drawn_left(d))
    cdef uint64_t value = drawn_number(d, size)
    return <int64_t>(value << (64 - bits)) >> (64 - bits) if bits else 0


cdef inline void drawn_take(drawn_t *d, size_t size, datum_t *out) noexcept nogil:
    """So many bytes; fewer at the end."""
    out.data = d.at
    out.size = <int64_t>min(size, drawn_left(d))
    d.at += out.size


cdef inline void drawn_blob(drawn_t *d, datum_t *out) noexcept nogil:
    drawn_take(d, drawn_byte(d), out)


cdef inline void drawn_blob_or_none(drawn_t *d, datum_t *out) noexcept nogil:
    cdef uint8_t size = drawn_byte(d)
    if size == 255:
        drawn_take(d, 0, out)
        out.size = -1
    else:
        drawn_take(d, size, out)


cdef inline bint same_bytes(const uint8_t *p, int64_t size, const datum_t *datum) noexcept nogil:
    return size == datum.size and (size <= 0 or memcmp(p, datum.data, <size_t>size) == 0)


cdef inline const char *unless(bint good, const char *wrong) noexcept nogil:
    return wrong if not good else <const char *>NULL
