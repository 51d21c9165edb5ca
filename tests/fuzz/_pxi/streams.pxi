# The containers around compressed blocks, walked to their end: blocks follow each other within the stream, and what needs
# no library is written out and as long as was said. And the checksums, by each way that the processor has.

cdef int64_t STREAM_BUDGET = 1 << 18
cdef size_t MOST_SUMMED = 8192


cdef const char *streams(const uint8_t *data, size_t size) except? NULL:
    cdef drawn_t d = drawn_of(data, size)
    cdef int codec = drawn_byte(&d) % 5
    cdef int magic = drawn_byte(&d) % 3
    cdef Buffer stream = _buffer_on(None, NULL, d.at, <Py_ssize_t>drawn_left(&d))
    try:
        if codec == 2:
            return _walk_snappy(stream)
        if codec == 3:
            return _walk_lz4(stream, magic)
        if codec == 4:
            return unless(zstd_ceiling(stream, STREAM_BUDGET) >= 0, b"a zstd stream of less than nothing")
    except _errors.CodecError:
        pass
    return NULL


cdef const char *_walk_snappy(Buffer stream) except? NULL:
    cdef OutputBlock output = OutputBlock(0)
    cdef int64_t total = snappy_size(stream)
    cdef int64_t claimed = 0
    cdef Py_ssize_t at = 0, begin, size
    cdef object found = next_snappy_block(stream, 0, output)
    if total > SNAPPY_MAX_RATIO * stream.size:
        return b"more is claimed than snappy can hold"
    while found is not None:
        begin, size, claim = found
        claimed += claim
        if begin < at or size < 0 or size > stream.size - begin:
            return b"a snappy block that lies elsewhere"
        at = begin + size
        found = next_snappy_block(stream, at, output)
    return unless(output.size + claimed == total, b"snappy blocks that hold more or less than they claim")


cdef const char *_walk_lz4(Buffer stream, int magic) except? NULL:
    cdef OutputBlock output = OutputBlock(0)
    cdef Py_ssize_t at, begin, size, end
    cdef int64_t most, stored, possible
    cdef object found
    flags, most, _, at = lz4_header(stream, magic)
    stored, possible, end = lz4_sizes(stream, at, flags & 0x10, most)
    if stored > possible or end > stream.size or not 65536 <= most <= 4 << 20:
        return b"sizes of lz4 blocks that cannot be"
    found = next_lz4_block(stream, at, flags & 0x10, most, output, STREAM_BUDGET)
    while found is not None:
        begin, size, following = found
        if begin < at or size <= 0 or size > most or following < begin + size or following > end:
            return b"an lz4 block that lies elsewhere"
        at = following
        found = next_lz4_block(stream, at, flags & 0x10, most, output, STREAM_BUDGET)
    return unless(output.size <= possible, b"lz4 blocks that hold more than they can")


cdef uint32_t _plain_crc(uint32_t polynomial, const uint8_t *p, size_t size) noexcept nogil:
    cdef uint32_t crc = 0xFFFFFFFF
    cdef size_t i
    for i in range(size):
        crc ^= p[i]
        for _ in range(8):
            crc = crc >> 1 ^ (polynomial if crc & 1 else 0)
    return ~crc


cdef uint8_t *_repeated(const uint8_t *data, size_t size, size_t repeated) noexcept nogil:
    cdef uint8_t *made = <uint8_t *>malloc(max(repeated, <size_t>1))
    cdef size_t at
    for at in range(repeated):
        made[at] = data[at % size]
    return made


cdef const char *checksums(const uint8_t *data, size_t size) except? NULL:
    """Of the bytes as often as the second one says: some ways begin at thousands of them."""
    cdef size_t repeated = min(size * (1 + (data[1] & 63 if size > 1 else 0)), MOST_SUMMED)
    cdef uint8_t *made = _repeated(data, size, repeated)
    cdef const char *wrong = _check_checksums(made, repeated, min(<size_t>(33 * data[0] if size else 0), repeated))
    free(made)
    return wrong


cdef const char *_check_checksums(const uint8_t *data, size_t size, size_t cut) noexcept nogil:
    cdef uint32_t castagnoli = _plain_crc(0x82F63B78, data, size)
    cdef uint32_t classic = _plain_crc(0xEDB88320, data, size)
    cdef const char *wrong = NULL
    cdef int way
    for way in range(3):
        kw_crc_use_hardware(way > 0, way > 1)
        if (kw_crc32c(0, data, size) != castagnoli or kw_crc32(0, data, size) != classic
                or kw_crc32c(kw_crc32c(0, data, cut), data + cut, size - cut) != castagnoli
                or kw_crc32(kw_crc32(0, data, cut), data + cut, size - cut) != classic):
            wrong = b"a checksum that is another one by another way"
    return wrong if wrong != NULL else _check_xxh32(data, size)


cdef const char *_check_xxh32(const uint8_t *data, size_t size) noexcept nogil:
    """It is the same where the bytes lie at another distance from a boundary."""
    cdef uint8_t *moved = <uint8_t *>malloc(size + 1)
    cdef uint32_t hash
    memcpy(moved + 1, data, size)
    hash = kw_xxh32(0, moved + 1, size)
    free(moved)
    return unless(hash == kw_xxh32(0, data, size), b"an XXH32 that depends on where the bytes lie")
