# Record batches: message format 2, Kafka 0.11 and later.
#
#    0  base_offset              int64
#    8  length                   int32    of what follows this field; at least 49
#   12  partition_leader_epoch   int32    not covered by the checksum: brokers set it
#   16  magic                    int8     2
#   17  crc                      uint32   CRC-32C of everything after it
#   21  attributes               int16    bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control, 6 delete horizon
#   23  last_offset_delta        int32
#   27  base_timestamp           int64
#   35  max_timestamp            int64
#   43  producer_id              int64
#   51  producer_epoch           int16
#   53  base_sequence            int32
#   57  count                    int32
#   61  count x record, compressed as one stream when the attributes name a codec
#
#   record:  length varint, attributes int8, timestamp_delta varlong, offset_delta varint,
#            key_length varint (-1 null), key, value_length varint (-1 null), value, header_count varint, headers
#   header:  key_length varint, key (UTF-8), value_length varint (-1 null), value
# Sources: KIP-98 (the format), KIP-82 (headers), KIP-534 (delete horizon), KIP-110 (zstd).
#
# May not touch a Python object: everything runs without the GIL.

cdef enum:
    MIN_BATCH_LENGTH = 49
    MIN_RECORD_SIZE = 7
    MIN_HEADER_SIZE = 2
    QUICK_VARINT = 3             # the longest varint that quick_uvarint takes
    QUICK_HEAD = 13              # four of them and the attributes


cdef int index_record_batch(scan_t *s) noexcept nogil:
    """Indexes the whole batch of magic 2 at `s.at`, or says that its records must be decompressed first."""
    cdef const uint8_t *p = s.data + s.at
    cdef batch_t *b = &s.batch
    cdef uint32_t stored, computed
    cdef int32_t last_offset_delta
    b.partition_leader_epoch = <int32_t>load_u32(p + 12)
    b.attributes = <int16_t>load_u16(p + 21)
    last_offset_delta = <int32_t>load_u32(p + 23)
    b.base_timestamp = <int64_t>load_u64(p + 27)
    b.max_timestamp = <int64_t>load_u64(p + 35)
    b.producer_id = <int64_t>load_u64(p + 43)
    b.producer_epoch = <int16_t>load_u16(p + 51)
    b.base_sequence = <int32_t>load_u32(p + 53)
    b.count = <int32_t>load_u32(p + 57)
    b.codec = <int8_t>(b.attributes & ATTRIBUTE_CODEC)
    b.timestamp_type = 1 if b.attributes & ATTRIBUTE_LOG_APPEND_TIME else 0
    b.last_offset = <int64_t>(<uint64_t>b.base_offset + <uint64_t>last_offset_delta)
    if s.check_crc:
        stored = load_u32(p + 17)
        computed = kw_crc32c(0, p + 21, b.wire_size - 21)
        if stored != computed:
            return scan_fault(s, FAULT_CRC, b"crc", s.at + 17, stored, computed)
    if b.codec > MAX_CODEC:
        return scan_fault(s, FAULT_CODEC, b"attributes", s.at + 21, b.codec)
    if last_offset_delta < 0 or b.base_offset > MAX_OFFSET - last_offset_delta:
        return scan_fault(s, FAULT_OFFSET_RANGE, b"last_offset_delta", s.at + 23)
    if b.count < 0:
        return scan_fault(s, FAULT_RECORD_COUNT, b"count", s.at + 57, b.count, b.wire_size - BATCH_HEADER)
    if b.codec != 0 and b.count > 0:
        s.compressed = p + BATCH_HEADER
        s.compressed_size = b.wire_size - BATCH_HEADER
        return SCAN_COMPRESSED
    if b.codec != 0:
        return push_batch(s)
    return index_batch_records(s, p + BATCH_HEADER, b.wire_size - BATCH_HEADER, s.source)


cdef int index_batch_records(scan_t *s, const uint8_t *data, size_t size, kw_block *block) noexcept nogil:
    """Indexes the (decompressed) records of the current batch, all or none."""
    cdef mark_t mark = scan_mark(s)
    cdef part_t *part
    cdef int state
    if <uint64_t>s.batch.count > size // MIN_RECORD_SIZE:
        return scan_fault(s, FAULT_RECORD_COUNT, b"count", s.at + 57, s.batch.count, size)
    if push_batch(s) != SCAN_GOES_ON:
        return SCAN_FAULT
    part = push_part(s, data, size, block, s.batch.timestamp_type)
    if part == NULL or reserve_records(s, s.batch.count) != SCAN_GOES_ON:
        scan_roll_back(s, mark)
        return SCAN_FAULT
    state = _index_records(s, part, size)
    if state == SCAN_FAULT:
        scan_roll_back(s, mark)
        return SCAN_FAULT
    if _is_dropped(s, part):
        s.record_count = part.first
    if s.batch.base_offset < s.min_kept_offset or s.batch.last_offset > s.max_kept_offset:
        _keep_between(s, part.first)
    if s.range_count:
        _keep_ranges(s, part.first)
    part.count = s.record_count - part.first
    return SCAN_GOES_ON


cdef void _keep_ranges(scan_t *s, size_t first) noexcept nogil:
    """Drops the records from `first` on, whose offsets ascend, that lie in none of the ranges."""
    cdef size_t kept = first
    cdef size_t at
    cdef size_t i
    if first == s.record_count:
        return
    at = range_at(s, s.records[first].offset)
    for i in range(first, s.record_count):
        while at < s.range_count and s.ranges[at].last < s.records[i].offset:
            at += 1
        if at == s.range_count:
            break
        if s.ranges[at].first <= s.records[i].offset:
            s.records[kept] = s.records[i]
            kept += 1
    s.record_count = kept


cdef void _keep_between(scan_t *s, size_t first) noexcept nogil:
    """Drops the records from `first` on, whose offsets ascend, that come before or after those asked for."""
    cdef size_t begin = first
    cdef size_t end = s.record_count
    while begin < end and s.records[begin].offset < s.min_kept_offset:
        begin += 1
    while begin < end and s.records[end - 1].offset > s.max_kept_offset:
        end -= 1
    if begin > first:
        memmove(s.records + first, s.records + begin, (end - begin) * sizeof(record_t))
    s.record_count = first + end - begin


cdef inline int64_t _read_length(reader_t *r) noexcept nogil:
    cdef const uint8_t *begin = r.at
    return _length_or_fault(r, read_varint(r), begin)


cdef inline void _skip_headers(reader_t *r, int32_t count) noexcept nogil:
    """Checks `count` headers; a key is never null."""
    cdef int32_t i
    cdef int64_t size
    cdef const uint8_t *begin
    for i in range(count):
        begin = r.at
        size = _read_length(r)
        if size < 0 and r.error == FAULT_NONE:
            r.at = begin
            reader_fail(r, FAULT_NULL)
        if r.error != FAULT_NONE:
            return
        read_span(r, <size_t>size)
        size = _read_length(r)
        if size > 0:
            read_span(r, <size_t>size)


cdef inline int32_t _read_header_count(reader_t *r) noexcept nogil:
    cdef const uint8_t *begin = r.at
    cdef int32_t count = read_varint(r)
    if count == -1:
        r.at = begin
        reader_fail(r, FAULT_LENGTH)
        return 0
    return <int32_t>check_count(r, count, MIN_HEADER_SIZE, begin)


cdef int _index_records(scan_t *s, part_t *part, size_t size) noexcept nogil:
    """The hot loop."""
    cdef record_t *out = s.records + s.record_count
    cdef const uint8_t *data = part.data
    cdef const uint8_t *end = data + size
    cdef const uint8_t *at = data
    cdef const uint8_t *begin
    cdef int64_t delta, timestamp
    cdef int64_t previous = -1
    cdef int64_t last = s.batch.last_offset - s.batch.base_offset
    cdef int64_t base_offset = s.batch.base_offset
    cdef bint append_time = s.batch.timestamp_type == 1
    cdef uint64_t base_timestamp = <uint64_t>(s.batch.max_timestamp if append_time else s.batch.base_timestamp)
    cdef uint64_t delta_mask = 0 if append_time else ~<uint64_t>0
    cdef int32_t i
    for i in range(s.batch.count):
        begin = at
        at = _quick_record(begin, data, end, out, &timestamp, &delta)
        if at == NULL:
            at = _careful_record(begin, data, end, out)
            timestamp = out.timestamp
            delta = out.offset
        if at == NULL or delta <= previous or delta > last:
            return _record_fault(s, part, begin, i, previous)
        previous = delta
        out.offset = base_offset + delta
        out.timestamp = <int64_t>(base_timestamp + (<uint64_t>timestamp & delta_mask))
        out += 1
    if at != end:
        s.fault_record = -1
        scan_fault(s, FAULT_TRAILING, b"records", <size_t>(at - data), <size_t>(end - at))
        return _place_inside(s, part)
    s.record_count = <size_t>(out - s.records)
    return SCAN_GOES_ON


cdef inline const uint8_t *_quick_record(const uint8_t *at, const uint8_t *data, const uint8_t *end, record_t *out,
                                         int64_t *timestamp, int64_t *delta) noexcept nogil:
    """Returns where the record at `at` ends; NULL where it is bad or unusual: then `_careful_record` decides.

    Nearly all have varints of three bytes at most, and enough bytes after them that one check of the bounds will do
    before the key, one before the value and one before the headers. What is odd is negative, as a zigzag varint.
    """
    cdef const uint8_t *body
    cdef uint32_t length, offset, raw
    cdef uint32_t unusual = 0
    if end - at < QUICK_HEAD:
        return NULL
    body = quick_uvarint(at, &length, &unusual)
    at = quick_uvarint(body + 1, &raw, &unusual)
    timestamp[0] = <int32_t>((raw >> 1) ^ (0 - (raw & 1)))
    at = quick_uvarint(at, &offset, &unusual)
    delta[0] = offset >> 1
    at = quick_uvarint(at, &raw, &unusual)
    at = _quick_datum(at, data, raw, &out.key_at, &out.key_size, &unusual)
    if at > end - QUICK_VARINT:
        return NULL
    at = quick_uvarint(at, &raw, &unusual)
    at = _quick_datum(at, data, raw, &out.value_at, &out.value_size, &unusual)
    if at >= end:
        return NULL
    at = _after_headers(at, data, end, out)
    # Keep these tests in one expression: otherwise the compiler derives the next record's address from this record's
    # sizes instead of its length, and the loads serialize.
    if ((unusual | length | offset) & 1) | (at == NULL) | ((at - body) ^ (length >> 1)):
        return NULL
    return body + (length >> 1)


cdef inline const uint8_t *_quick_datum(const uint8_t *at, const uint8_t *data, uint32_t raw, uint32_t *place,
                                        int32_t *size, uint32_t *unusual) noexcept nogil:
    """Returns where the bytes end that begin at `at`, perhaps beyond the end of all. A size below -1 is `unusual` & 1."""
    place[0] = <uint32_t>(at - data)
    if raw & 1:
        size[0] = -1
        unusual[0] |= raw != 1
        return at
    size[0] = <int32_t>(raw >> 1)
    return at + (raw >> 1)


cdef inline const uint8_t *_after_headers(const uint8_t *at, const uint8_t *data, const uint8_t *end,
                                          record_t *out) noexcept nogil:
    """Returns where the headers end whose count is at `at`, where a byte must be; NULL where they are bad."""
    if at[0] == 0:
        out.header_count = 0
        out.headers_at = 0
        return at + 1
    return _after_some_headers(at, data, end, out)


cdef const uint8_t *_after_some_headers(const uint8_t *at, const uint8_t *data, const uint8_t *end,
                                        record_t *out) noexcept nogil:
    cdef reader_t r
    reader_init_at(&r, data, end, at)
    out.header_count = _read_header_count(&r)
    out.headers_at = <uint32_t>(r.at - data)
    _skip_headers(&r, out.header_count)
    return r.at if r.error == FAULT_NONE else NULL


cdef const uint8_t *_careful_record(const uint8_t *at, const uint8_t *data, const uint8_t *end,
                                    record_t *out) noexcept nogil:
    """Returns where the record at `at` ends; NULL where it is bad. Faults are sticky: the reader is checked once."""
    cdef reader_t r
    cdef const uint8_t *body
    cdef int32_t length
    reader_init_at(&r, data, end, at)
    length = read_varint(&r)
    body = r.at
    read_span(&r, 1)
    out.timestamp = read_varlong(&r)
    out.offset = read_varint(&r)
    out.key_size = <int32_t>_read_length(&r)
    out.key_at = <uint32_t>(r.at - data)
    read_span(&r, <size_t>max(out.key_size, 0))
    out.value_size = <int32_t>_read_length(&r)
    out.value_at = <uint32_t>(r.at - data)
    read_span(&r, <size_t>max(out.value_size, 0))
    if r.error != FAULT_NONE or r.at == end:
        return NULL
    at = _after_headers(r.at, data, end, out)
    return at if at != NULL and at - body == length else NULL


cdef int _place_inside(scan_t *s, part_t *part) noexcept nogil:
    """Turns a position within the records into one within the buffer, where they were not compressed."""
    if s.batch.codec == 0:
        s.fault_position += <size_t>(part.data - s.data)
    else:
        s.fault_inside = True
    return SCAN_FAULT


cdef int _record_fault(scan_t *s, part_t *part, const uint8_t *begin, int32_t number, int64_t previous) noexcept nogil:
    """Walks a record that was found bad again, field by field, to say which it was."""
    cdef reader_t r
    cdef const uint8_t *body
    cdef const char *field = b"length"
    cdef int32_t length
    cdef int64_t delta = 0
    cdef int64_t size
    reader_init_at(&r, part.data, part.data + part.size, begin)
    length = read_varint(&r)
    body = r.at
    if r.error == FAULT_NONE and (length < 0 or <size_t>length > bytes_left(&r)):
        scan_fault(s, FAULT_RECORD_LENGTH, field, <size_t>(begin - part.data), length, bytes_left(&r))
        s.fault_record = number
        return _place_inside(s, part)
    if r.error == FAULT_NONE:
        field = b"timestamp_delta"
        read_span(&r, 1)
        read_varlong(&r)
    if r.error == FAULT_NONE:
        field = b"offset_delta"
        delta = read_varint(&r)
    if r.error == FAULT_NONE and (delta <= previous or delta > s.batch.last_offset - s.batch.base_offset):
        r.at = body
        reader_fail(&r, FAULT_OFFSET_ORDER)
    if r.error == FAULT_NONE:
        field = b"key"
        size = _read_length(&r)
        read_span(&r, <size_t>max(size, 0))
    if r.error == FAULT_NONE:
        field = b"value"
        size = _read_length(&r)
        read_span(&r, <size_t>max(size, 0))
    if r.error == FAULT_NONE:
        field = b"headers"
        _skip_headers(&r, _read_header_count(&r))
    if r.error == FAULT_NONE:
        field = b"length"
        size = r.at - body
        r.at = begin
        reader_fail(&r, FAULT_RECORD_LENGTH)
        scan_fault(s, FAULT_RECORD_LENGTH, field, <size_t>(begin - part.data), length, size)
    else:
        scan_fault(s, r.error, field, <size_t>(r.fault_at - part.data), <uint64_t>delta, <uint64_t>previous)
    s.fault_record = number
    return _place_inside(s, part)


cdef bint _is_dropped(scan_t *s, part_t *part) noexcept nogil:
    """Whether the consumer does not want the records of the batch just indexed: markers, aborted transactions.

    An abort marker ends the transactions of its producer that began before it, which are the first of its entries.
    """
    cdef batch_t *b = &s.batch
    cdef size_t first, begun
    cdef bint marker = (b.attributes & ATTRIBUTE_CONTROL) != 0
    if not marker and not b.attributes & ATTRIBUTE_TRANSACTIONAL:
        return False
    if s.aborted_count == 0:
        return marker and s.skip_control
    first = _aborted_before(s, b.producer_id, MIN_OFFSET)
    begun = _aborted_before(s, b.producer_id, b.last_offset) - first
    if not marker:
        return begun > 0 and begun > s.aborted[first].ended
    if begun > 0 and begun > s.aborted[first].ended and _is_abort_marker(part):
        s.aborted[first].ended = begun
    return s.skip_control


cdef size_t _aborted_before(const scan_t *s, int64_t producer_id, int64_t offset) noexcept nogil:
    """How many entries are of smaller producer ids, or of this one and begin at `offset` or before."""
    cdef size_t low = 0
    cdef size_t high = s.aborted_count
    cdef size_t middle
    cdef const aborted_t *entry
    while low < high:
        middle = (low + high) // 2
        entry = &s.aborted[middle]
        if entry.producer_id < producer_id or (entry.producer_id == producer_id and entry.first_offset <= offset):
            low = middle + 1
        else:
            high = middle
    return low


cdef bint _is_abort_marker(const part_t *part) noexcept nogil:
    """A control record's key is version int16, type int16 (0 abort, 1 commit) and what later versions add.

    Read from the bytes, not from the index: a marker below the first offset asked for ends its transaction, too.
    """
    cdef reader_t r
    reader_init(&r, part.data, part.size)
    read_varint(&r)
    read_span(&r, 1)
    read_varlong(&r)
    read_varint(&r)
    if _read_length(&r) < 4:
        return False
    read_i16(&r)
    return read_i16(&r) == 0 and r.error == FAULT_NONE
