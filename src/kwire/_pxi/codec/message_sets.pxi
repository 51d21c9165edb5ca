# Message sets: message formats 0 (Kafka 0.8 and 0.9) and 1 (0.10), plain and compressed.
#
#    0  offset       int64
#    8  size         int32    of what follows this field; at least 14 (magic 0) or 22 (magic 1)
#   12  crc          uint32   CRC-32 of everything after it
#   16  magic        int8     0 or 1
#   17  attributes   int8     bits 0-2 codec, bit 3 timestamp type (magic 1)
#   18  timestamp    int64    magic 1 only
#       key          int32 length (-1 null), bytes
#       value        int32 length (-1 null), bytes
# A set is such messages one after the other, without a count. A message whose attributes name a codec is a wrapper: its
# value is a compressed set of plain messages. Offsets of inner messages are absolute in a wrapper of magic 0; in one of
# magic 1 they count from the first, and the wrapper's offset is that of the last. The timestamp type of a wrapper of
# magic 1 rules those inside, and its log append time their timestamps. Inner messages may have another magic than the
# wrapper (KAFKA-4298): the wrapper rules offsets, each inner message its own layout.
# Sources: the protocol guide ("Messagesets"), KIP-31 (relative offsets), KIP-32 (timestamps), KIP-57 (lz4).
#
# May not touch a Python object: everything runs without the GIL. Wrappers do not nest, so nothing here recurs.

cdef enum:
    MIN_MESSAGE_SIZE_0 = 14
    MIN_MESSAGE_SIZE_1 = 22
    MESSAGE_PREFIX = 12        # offset and size


ctypedef struct message_t:
    record_t record            # places count from `base`
    int8_t magic
    int8_t attributes
    int8_t timestamp_type


cdef int parse_message(scan_t *s, const uint8_t *base, const uint8_t *p, size_t size, message_t *m) noexcept nogil:
    """One whole message of `size` bytes, its offset and size field included; the magic is known to be 0 or 1."""
    cdef reader_t r
    cdef uint32_t stored, computed
    cdef int64_t length
    reader_init_at(&r, base, p + size, p)
    m.record.offset = read_i64(&r)
    read_i32(&r)
    stored = read_u32(&r)
    m.magic = read_i8(&r)
    if size < MESSAGE_PREFIX + (MIN_MESSAGE_SIZE_1 if m.magic else MIN_MESSAGE_SIZE_0):
        return scan_fault(s, FAULT_BATCH_LENGTH, b"size", <size_t>(p + 8 - base), size - MESSAGE_PREFIX, 0)
    if s.check_crc:
        computed = kw_crc32(0, p + 16, size - 16)
        if stored != computed:
            return scan_fault(s, FAULT_CRC, b"crc", <size_t>(p + 12 - base), stored, computed)
    m.attributes = read_i8(&r)
    m.record.timestamp = read_i64(&r) if m.magic else -1
    m.timestamp_type = (1 if m.attributes & ATTRIBUTE_LOG_APPEND_TIME else 0) if m.magic else -1
    length = read_bytes_length(&r)
    m.record.key_size = <int32_t>length
    m.record.key_at = <uint32_t>(r.at - base)
    read_span(&r, <size_t>max(length, 0))
    if r.error != FAULT_NONE:
        return scan_fault(s, r.error, b"key", <size_t>(r.fault_at - base))
    length = read_bytes_length(&r)
    m.record.value_size = <int32_t>length
    m.record.value_at = <uint32_t>(r.at - base)
    read_span(&r, <size_t>max(length, 0))
    if r.error != FAULT_NONE:
        return scan_fault(s, r.error, b"value", <size_t>(r.fault_at - base))
    m.record.headers_at = 0
    m.record.header_count = 0
    if r.at != r.end:
        return scan_fault(s, FAULT_TRAILING, b"value", <size_t>(r.at - base), bytes_left(&r))
    return SCAN_GOES_ON


cdef inline int keep_record(scan_t *s, part_t *part, const record_t *record) noexcept nogil:
    if record.offset < s.min_kept_offset or record.offset > s.max_kept_offset:
        return SCAN_GOES_ON
    if s.range_count and not is_in_ranges(s, record.offset):
        return SCAN_GOES_ON
    if s.record_count == s.record_room and reserve_records(s, 1) != SCAN_GOES_ON:
        return SCAN_FAULT
    s.records[s.record_count] = record[0]
    s.record_count += 1
    part.count += 1
    return SCAN_GOES_ON


cdef int index_message(scan_t *s) noexcept nogil:
    """Indexes the whole message at `s.at`, or says that what it wraps must be decompressed first."""
    cdef message_t m
    cdef batch_t *b = &s.batch
    cdef const uint8_t *p = s.data + s.at
    # Places of a run count from its first message, as far as they fit.
    cdef const uint8_t *base = p
    cdef bint joins = s.run_open and s.batches[s.batch_count - 1].magic == b.magic
    if joins and <size_t>(p + b.wire_size - s.parts[s.part_count - 1].data) < 0x7FFFFFFF:
        base = s.parts[s.part_count - 1].data
    else:
        joins = False
    if parse_message(s, base, p, b.wire_size, &m) != SCAN_GOES_ON:
        s.fault_position += <size_t>(base - s.data)
        return SCAN_FAULT
    b.attributes = m.attributes
    b.codec = <int8_t>(m.attributes & ATTRIBUTE_CODEC)
    b.timestamp_type = m.timestamp_type
    b.max_timestamp = m.record.timestamp
    if b.codec > MAX_MESSAGE_CODEC:
        return scan_fault(s, FAULT_CODEC, b"attributes", s.at + 17, b.codec)
    if b.codec != 0:
        if m.record.value_size < 0:
            return scan_fault(s, FAULT_NULL_WRAPPER, b"value", s.at + 17)
        s.compressed = base + m.record.value_at
        s.compressed_size = <size_t>m.record.value_size
        return SCAN_COMPRESSED
    if joins and s.batches[s.batch_count - 1].timestamp_type == b.timestamp_type:
        return _join_run(s, &m)
    return _open_run(s, &m, p, base)


cdef int _open_run(scan_t *s, message_t *m, const uint8_t *p, const uint8_t *base) noexcept nogil:
    cdef part_t *part
    cdef mark_t mark = scan_mark(s)
    cdef uint32_t shift = <uint32_t>(p - base)
    m.record.key_at -= shift
    m.record.value_at -= shift
    s.batch.last_offset = s.batch.base_offset
    s.batch.count = 1
    if push_batch(s) != SCAN_GOES_ON:
        return SCAN_FAULT
    part = push_part(s, p, s.batch.wire_size, s.source, m.timestamp_type)
    if part == NULL or reserve_records(s, 1) != SCAN_GOES_ON or keep_record(s, part, &m.record) != SCAN_GOES_ON:
        scan_roll_back(s, mark)
        return SCAN_FAULT
    s.run_open = True
    return SCAN_GOES_ON


cdef int _join_run(scan_t *s, message_t *m) noexcept nogil:
    cdef batch_t *run = &s.batches[s.batch_count - 1]
    cdef part_t *part = &s.parts[s.part_count - 1]
    if keep_record(s, part, &m.record) != SCAN_GOES_ON:
        return SCAN_FAULT
    run.last_offset = m.record.offset
    run.wire_size += s.batch.wire_size
    run.max_timestamp = max(run.max_timestamp, m.record.timestamp)
    run.count += 1
    part.size += s.batch.wire_size
    return SCAN_GOES_ON


cdef int index_wrapped_messages(scan_t *s, const uint8_t *data, size_t size, kw_block *block) noexcept nogil:
    """Indexes the decompressed set inside the current wrapper, all or nothing."""
    cdef mark_t mark = scan_mark(s)
    cdef int64_t first_offset = 0, last_offset = 0, shift = 0
    cdef int32_t count = 0
    cdef bint absolute = s.batch.magic == 0
    cdef int64_t wrapper_offset = s.batch.base_offset
    if _measure_inner_set(s, data, size, &first_offset, &last_offset, &count) != SCAN_GOES_ON:
        return SCAN_FAULT
    # A wrapper offset of 0 comes from a producer that did not set it: then the inner offsets are all there is.
    if not absolute and wrapper_offset != 0:
        if wrapper_offset < last_offset or last_offset < 0:
            return scan_fault(s, FAULT_WRAPPER_OFFSET, b"offset", s.at, wrapper_offset, last_offset)
        shift = wrapper_offset - last_offset
    s.batch.base_offset = <int64_t>(<uint64_t>first_offset + <uint64_t>shift)
    s.batch.last_offset = max(last_offset + shift, wrapper_offset)
    s.batch.count = count
    if push_batch(s) != SCAN_GOES_ON:
        return SCAN_FAULT
    if (check_budget(s, <uint64_t>count * sizeof(record_t) + sizeof(part_t)) != SCAN_GOES_ON
            or reserve_records(s, <size_t>count) != SCAN_GOES_ON
            or _index_inner_set(s, data, size, block, shift) != SCAN_GOES_ON):
        scan_roll_back(s, mark)
        return SCAN_FAULT
    return SCAN_GOES_ON


cdef int _inner_fault(scan_t *s, int fault, const char *field, size_t position, int64_t number,
                      uint64_t a) noexcept nogil:
    scan_fault(s, fault, field, position, a)
    s.fault_inside = True
    s.fault_record = number
    return SCAN_FAULT


cdef int _measure_inner_set(scan_t *s, const uint8_t *data, size_t size, int64_t *first_offset, int64_t *last_offset,
                            int32_t *count) noexcept nogil:
    """Walks the inner messages by their sizes: the offset of the last one is needed before the first can be placed."""
    cdef size_t at = 0
    cdef int32_t length
    while at < size:
        if size - at < MESSAGE_PREFIX + MIN_MESSAGE_SIZE_0:
            return _inner_fault(s, FAULT_INNER_CUT, b"size", at, count[0], size - at)
        length = <int32_t>load_u32(data + at + 8)
        if length < MIN_MESSAGE_SIZE_0:
            return _inner_fault(s, FAULT_BATCH_LENGTH, b"size", at + 8, count[0], <uint64_t><int64_t>length)
        if <size_t>length > size - at - MESSAGE_PREFIX:
            return _inner_fault(s, FAULT_INNER_CUT, b"size", at + 8, count[0], size - at)
        if data[at + 16] > 1:
            return _inner_fault(s, FAULT_INNER_MAGIC, b"magic", at + 16, count[0], data[at + 16])
        last_offset[0] = <int64_t>load_u64(data + at)
        if count[0] == 0:
            first_offset[0] = last_offset[0]
        count[0] += 1
        at += MESSAGE_PREFIX + <size_t>length
    if count[0] == 0:
        return scan_fault(s, FAULT_EMPTY_WRAPPER, b"value", s.at)
    return SCAN_GOES_ON


cdef int _index_inner_set(scan_t *s, const uint8_t *data, size_t size, kw_block *block, int64_t shift) noexcept nogil:
    cdef message_t m
    cdef part_t *part = NULL
    cdef int64_t number = 0
    cdef size_t at = 0
    cdef size_t message_size
    cdef bint append_time = s.batch.timestamp_type == 1
    while at < size:
        message_size = MESSAGE_PREFIX + load_u32(data + at + 8)
        if parse_message(s, data, data + at, message_size, &m) != SCAN_GOES_ON:
            s.fault_inside = True
            s.fault_record = number
            return SCAN_FAULT
        if m.attributes & ATTRIBUTE_CODEC:
            return _inner_fault(s, FAULT_NESTED, b"attributes", at + 17, number, 0)
        if m.record.offset > MAX_OFFSET - shift:
            return _inner_fault(s, FAULT_OFFSET_RANGE, b"offset", at, number, 0)
        m.record.offset += shift
        if append_time and m.magic:
            m.record.timestamp = s.batch.max_timestamp
        if m.magic and s.batch.magic:
            m.timestamp_type = s.batch.timestamp_type
        if part == NULL or part.timestamp_type != m.timestamp_type:
            part = push_part(s, data, size, block, m.timestamp_type)
        if part == NULL or keep_record(s, part, &m.record) != SCAN_GOES_ON:
            return SCAN_FAULT
        at += message_size
        number += 1
    return SCAN_GOES_ON
