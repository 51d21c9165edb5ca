# What the builder writes, read back by the scan: batches of magic 2 and messages of magic 0 and 1. And varints: what is
# read of any bytes, by each of the readers and by a plain one, and what is written of any number.

cdef enum:
    MAX_WRITTEN = 64
    MAX_WRITTEN_HEADERS = 3


cdef const char *written_records(const uint8_t *data, size_t size) except? NULL:
    cdef header_datum_t headers[MAX_WRITTEN * MAX_WRITTEN_HEADERS]
    cdef record_datum_t given[MAX_WRITTEN]
    cdef drawn_t d = drawn_of(data, size)
    cdef const char *wrong = NULL
    cdef int magic = drawn_byte(&d) % 3
    cdef int64_t base = <int64_t>drawn_number(&d, 1)
    cdef builder_t b
    cdef int count = 0
    builder_init(&b, magic, 0, <int64_t>(<uint64_t>base << drawn_byte(&d) % 56))
    while wrong == NULL and drawn_left(&d) and count < MAX_WRITTEN:
        _draw_record(&d, &given[count], &headers[count * MAX_WRITTEN_HEADERS], magic)
        wrong = _append(&b, &given[count])
        count += 1
    if wrong == NULL and count:
        wrong = _check_written(&b, given, count)
    builder_reset(&b)
    return wrong


cdef void _draw_record(drawn_t *d, record_datum_t *r, header_datum_t *headers, int magic) noexcept nogil:
    cdef int64_t i
    drawn_blob_or_none(d, &r.key)
    drawn_blob_or_none(d, &r.value)
    r.timestamp = drawn_signed(d, 2)
    r.timestamp = max(<int64_t>(<uint64_t>r.timestamp << drawn_byte(d) % 48), <int64_t>-1)
    r.headers = headers
    r.header_count = drawn_byte(d) % (MAX_WRITTEN_HEADERS + 1) if magic == 2 else 0
    for i in range(r.header_count):
        drawn_blob(d, &headers[i].key)
        drawn_blob_or_none(d, &headers[i].value)


cdef const char *_append(builder_t *b, const record_datum_t *r) noexcept nogil:
    """Each record takes as many bytes as were counted for it."""
    cdef size_t before = b.used
    cdef int64_t size = builder_record_size(b, r)
    if builder_append(b, r) != BUILD_OK:
        return b"a record that the builder does not take"
    if <int64_t>(b.used - before) != size or size > record_size_bound(r) and b.magic == 2:
        return b"a record of another size than was counted"
    return unless(b.used <= b.capacity, b"a batch beyond its block")


cdef const char *_check_written(builder_t *b, const record_datum_t *given, int count) noexcept nogil:
    cdef const uint8_t *exact
    cdef const char *wrong
    cdef seal_t seal
    cdef scan_t s
    memset(&seal, 0, sizeof(seal_t))
    seal.producer_id = 7
    seal.producer_epoch = 3
    seal.base_sequence = seal.leader_epoch = count
    if b.magic == 2:
        put_batch_header(b.data, b.used, b, &seal)
    exact = copied_bytes(b.data, b.used)
    begin_scan(&s, exact, b.used, True)
    wrong = check_all(&s, scan_all(&s), 0)
    if wrong == NULL and (s.at != b.used or s.record_count != <size_t>count):
        wrong = b"what was written is not read to its end"
    if wrong == NULL and b.magic == 2:
        wrong = unless(s.batch_count == 1 and s.batches.producer_id == 7 and s.batches.producer_epoch == 3
                       and s.batches.base_sequence == count and s.batches.partition_leader_epoch == count
                       and s.batches.last_offset == b.base_offset + count - 1
                       and s.batches.max_timestamp == b.max_timestamp, b"another header than was written")
    if wrong == NULL:
        wrong = _check_read_back(&s, b, given)
    scan_free(&s)
    free(<void *>exact)
    return wrong


cdef const char *_check_read_back(const scan_t *s, const builder_t *b, const record_datum_t *given) noexcept nogil:
    cdef const part_t *part = s.parts
    cdef const record_t *r
    cdef size_t i
    for i in range(s.record_count):
        if i == part.first + part.count:
            part += 1
        r = &s.records[i]
        if (r.offset != b.base_offset + <int64_t>i or r.timestamp != (given[i].timestamp if b.magic else -1)
                or r.header_count != given[i].header_count):
            return b"a record is read back with another offset, timestamp or number of headers"
        if (not same_bytes(part.data + r.key_at, r.key_size, &given[i].key)
                or not same_bytes(part.data + r.value_at, r.value_size, &given[i].value)):
            return b"a record is read back with another key or value"
        if not _are_written(part, r, given[i].headers):
            return b"a record is read back with other headers"
    return NULL


cdef bint _are_written(const part_t *part, const record_t *record, const header_datum_t *headers) noexcept nogil:
    cdef const uint8_t *p
    cdef reader_t r
    cdef int64_t size
    cdef int32_t i
    reader_init_at(&r, part.data, part.data + part.size, part.data + record.headers_at)
    for i in range(record.header_count):
        size = read_varint(&r)
        p = read_span(&r, <size_t>size)
        if not same_bytes(p, size, &headers[i].key):
            return False
        size = read_varint(&r)
        p = read_span(&r, <size_t>max(size, <int64_t>0))
        if not same_bytes(p, size, &headers[i].value):
            return False
    return True


# --- varints ---

cdef const char *varints(const uint8_t *data, size_t size) except? NULL:
    """Varints one after the other up to the first that is none; and the same bytes as numbers to be written."""
    cdef const char *wrong = NULL
    cdef drawn_t d = drawn_of(data, size)
    cdef const uint8_t *at = data
    cdef const uint8_t *before = NULL
    while wrong == NULL and at != before and at < data + size:
        before = at
        wrong = _check_reading(data, data + size, &at)
    while wrong == NULL and drawn_left(&d):
        wrong = _check_writing(drawn_number(&d, 8))
    return wrong


cdef bint _plain_varint(const uint8_t *at, const uint8_t *end, int bits, uint64_t *value,
                        const uint8_t **after) noexcept nogil:
    """Whether a varint of at most so many bits, and of no more bytes than those need, is there."""
    cdef int shift = 0
    value[0] = 0
    while at < end and shift < bits:
        if shift + 7 > bits and at[0] >> (bits - shift):
            return False
        value[0] |= <uint64_t>(at[0] & 0x7F) << shift
        shift += 7
        at += 1
        if at[-1] < 0x80:
            after[0] = at
            return True
    return False


cdef const char *_check_reading(const uint8_t *data, const uint8_t *end, const uint8_t **at) noexcept nogil:
    cdef const uint8_t *after = at[0]
    cdef const uint8_t *quick
    cdef uint64_t value, wide
    cdef uint32_t narrow
    cdef uint32_t unusual = 0
    cdef bint is_narrow = _plain_varint(at[0], end, 32, &value, &after)
    cdef reader_t r
    reader_init_at(&r, data, end, at[0])
    narrow = read_uvarint(&r)
    if is_narrow != (r.error == FAULT_NONE) or is_narrow and (narrow != value or r.at != after):
        return b"a varint of 32 bits is read in another way"
    reader_init_at(&r, data, end, at[0])
    if read_short_uvarint(&r, &narrow) and (not is_narrow or narrow != value or r.at != after):
        return b"a short varint is read in another way"
    if end - at[0] >= QUICK_VARINT:
        quick = quick_uvarint(at[0], &narrow, &unusual)
        if not unusual & 1 and (not is_narrow or quick != after or narrow != value):
            return b"a varint is read quickly in another way"
    is_narrow = _plain_varint(at[0], end, 64, &wide, &after)
    reader_init_at(&r, data, end, at[0])
    value = zigzag64(read_varlong(&r))
    if is_narrow != (r.error == FAULT_NONE) or is_narrow and (value != wide or r.at != after):
        return b"a varint of 64 bits is read in another way"
    if is_narrow:
        at[0] = after
    return NULL


cdef const char *_check_writing(uint64_t value) noexcept nogil:
    cdef uint8_t *p = <uint8_t *>malloc(<size_t>uvarint_size(value))
    cdef const char *wrong = NULL
    cdef int64_t signed_value = <int64_t>(value >> 1) ^ -<int64_t>(value & 1)
    cdef int size = <int>(put_varint(p, signed_value) - p)
    cdef reader_t r
    reader_init(&r, p, <size_t>size)
    if size != uvarint_size(value) or size != varint_size(signed_value):
        wrong = b"a varint of another size than was counted"
    elif read_varlong(&r) != signed_value or r.at != r.end or r.error != FAULT_NONE:
        wrong = b"a varint is read back in another way"
    free(p)
    return wrong
