# Messages of Kafka 0.7, and sets of them: no offsets, no keys, no timestamps on the wire.
#
#    0  length       int32    of what follows this field
#    4  magic        int8     0 or 1: not the formats 0 and 1 that later releases have
#    5  attributes   int8     magic 1 only; bits 0-1 codec: 0 none, 1 gzip, 2 snappy
#       crc          uint32   CRC-32 of the payload
#       payload      to the end
# A set is such messages one after the other, without a count; one that is cut off ends it. The payload of a message
# with a codec is a compressed set, which may hold compressed messages again. The offset of a message is the byte
# position at which it begins in its partition's log; messages inside a compressed one have the offset of the outermost,
# since only there can a fetch begin. So after a record one resumes at the offset of the next record, or at the end of
# the set. Sources: the page "Wire Format" of Kafka 0.7; resuming and nesting as the iterator of release 0.7.2 has them.

cdef enum:
    MESSAGE_HEAD_0_7 = 5       # magic and crc; one more with attributes
    CODEC_BITS_0_7 = 3
    MAX_CODEC_0_7 = 2
    MAX_NESTING_0_7 = 8


ctypedef struct message_0_7_t:
    size_t size                # of the whole message, its length field included
    const uint8_t *payload
    size_t payload_size
    int8_t magic
    int8_t codec


cdef int parse_message_0_7(scan_t *s, const uint8_t *data, size_t size, size_t at, message_0_7_t *m) noexcept nogil:
    """The message at `at` of `size` bytes; SCAN_END with `s.needed` when it is cut off there."""
    cdef const uint8_t *p = data + at
    cdef size_t left = size - at
    cdef size_t head = MESSAGE_HEAD_0_7
    cdef int32_t length
    cdef uint32_t stored, computed
    if left < 4:
        s.needed = 4 if left else 0
        return SCAN_END
    length = <int32_t>load_u32(p)
    if left > 4:
        if p[4] > 1:
            return scan_fault(s, FAULT_MAGIC_0_7, b"magic", at + 4, p[4])
        head += p[4]
    if length < <int32_t>head:
        return scan_fault(s, FAULT_BATCH_LENGTH, b"length", at, <uint64_t><int64_t>length, head - MESSAGE_HEAD_0_7)
    if <size_t>length > left - 4:
        s.needed = 4 + <size_t>length
        return SCAN_END
    m.size = 4 + <size_t>length
    m.magic = <int8_t>p[4]
    m.codec = p[5] & CODEC_BITS_0_7 if m.magic else 0
    m.payload = p + 4 + head
    m.payload_size = <size_t>length - head
    if m.codec > MAX_CODEC_0_7:
        s.batch.magic = m.magic
        return scan_fault(s, FAULT_CODEC, b"attributes", at + 5, m.codec)
    if s.check_crc:
        stored = load_u32(m.payload - 4)
        computed = kw_crc32(0, m.payload, m.payload_size)
        if stored != computed:
            return scan_fault(s, FAULT_CRC, b"crc", <size_t>(m.payload - 4 - data), stored, computed)
    return SCAN_GOES_ON


cdef int keep_message_0_7(scan_t *s, part_t *part, const message_0_7_t *m, int64_t offset) noexcept nogil:
    cdef record_t record
    memset(&record, 0, sizeof(record_t))
    record.offset = offset
    record.timestamp = -1
    record.key_size = -1
    record.value_at = <uint32_t>(m.payload - part.data)
    record.value_size = <int32_t>m.payload_size
    return keep_record(s, part, &record)


cdef int scan_plain_0_7(scan_t *s, int64_t origin) noexcept nogil:
    """Indexes message after message up to the end, a fault, or a compressed one. `origin` is the offset of `s.data`."""
    cdef message_0_7_t m
    cdef bint joins
    cdef int state
    while True:
        state = parse_message_0_7(s, s.data, s.size, s.at, &m)
        if state != SCAN_GOES_ON:
            return state
        joins = (s.run_open and m.codec == 0 and s.batches[s.batch_count - 1].magic == m.magic
                 and <size_t>(m.payload + m.payload_size - s.parts[s.part_count - 1].data) < 0x7FFFFFFF)
        if not joins:
            open_batch_0_7(s, &m, origin)
        if m.codec != 0:
            s.compressed = m.payload
            s.compressed_size = m.payload_size
            return SCAN_COMPRESSED
        if index_plain_0_7(s, &m, joins, origin + <int64_t>s.at) != SCAN_GOES_ON:
            return SCAN_FAULT
        s.at += m.size


cdef int index_plain_0_7(scan_t *s, const message_0_7_t *m, bint joins, int64_t offset) noexcept nogil:
    """Adds a message to the run before it, or opens one; on a fault neither."""
    cdef mark_t mark = scan_mark(s)
    if not joins and (push_batch(s) != SCAN_GOES_ON
                      or push_part(s, s.data + s.at, s.size - s.at, s.source, -1) == NULL
                      or reserve_records(s, 1) != SCAN_GOES_ON):
        scan_roll_back(s, mark)
        return SCAN_FAULT
    if keep_message_0_7(s, &s.parts[s.part_count - 1], m, offset) != SCAN_GOES_ON:
        scan_roll_back(s, mark)
        return SCAN_FAULT
    if joins:
        join_batch_0_7(&s.batches[s.batch_count - 1], m, offset)
    s.run_open = True
    return SCAN_GOES_ON


cdef void open_batch_0_7(scan_t *s, const message_0_7_t *m, int64_t origin) noexcept nogil:
    cdef batch_t *b = &s.batch
    memset(b, 0, sizeof(batch_t))
    b.position = s.at
    b.wire_size = m.size
    b.base_offset = origin + <int64_t>s.at
    b.last_offset = b.base_offset
    b.max_timestamp = -1
    b.timestamp_type = -1
    b.count = 1
    b.magic = m.magic
    b.codec = m.codec
    b.partition_leader_epoch = -1
    b.producer_id = -1
    b.producer_epoch = -1
    b.base_sequence = -1


cdef void join_batch_0_7(batch_t *run, const message_0_7_t *m, int64_t offset) noexcept nogil:
    run.last_offset = offset
    run.wire_size += m.size
    run.count += 1


cdef int index_wrapped_0_7(RecordIndex index, Buffer content, int depth) except -1:
    """The messages of a decompressed set, all with the offset of the current batch; CodecError for a bad one."""
    cdef scan_t *s = &index.scan
    cdef message_0_7_t m
    cdef part_t *part = NULL
    cdef Buffer inner
    cdef size_t at = 0
    cdef int state
    cdef size_t before = s.needed
    while True:
        state = parse_message_0_7(s, content.data, <size_t>content.size, at, &m)
        if state == SCAN_END:
            # As the consumer of 0.7.2 reads it: a set may be cut off, but not within its first message.
            if at == 0 and content.size:
                scan_fault(s, FAULT_INNER_CUT, b"length", 0, <uint64_t>content.size)
                state = SCAN_FAULT
            s.needed = before
        if state == SCAN_GOES_ON and m.codec == 0:
            if part == NULL:
                part = push_part(s, content.data, <size_t>content.size, content.block, -1)
            if part != NULL:
                part.batch = s.batch_count  # which joins when all of it is known to be good
            if part == NULL or check_budget(s, sizeof(record_t)) != SCAN_GOES_ON:
                state = SCAN_FAULT
            else:
                state = keep_message_0_7(s, part, &m, s.batch.base_offset)
        if state == SCAN_FAULT:
            s.fault_inside = True
            raise _scan_error(s)
        if state == SCAN_END:
            return 0
        if m.codec != 0:
            if depth == MAX_NESTING_0_7:
                raise _errors.LimitError(f"more than {MAX_NESTING_0_7} compressed messages inside each other",
                                         f"batches[{s.batch_count}]", s.at)
            inner = _decompressed_part(index, buffer_slice(content, m.payload - content.data, m.payload_size), m.codec)
            index_wrapped_0_7(index, inner, depth + 1)
            part = NULL
        at += m.size


cdef int index_compressed_0_7(RecordIndex index) except -1:
    """Indexes the current compressed message, all or nothing."""
    cdef scan_t *s = &index.scan
    cdef mark_t mark = scan_mark(s)
    cdef Buffer content = _decompressed(index)
    try:
        index_wrapped_0_7(index, content, 1)
        s.batch.count = <int32_t>(s.record_count - mark.records)
        if push_batch(s) != SCAN_GOES_ON:
            raise _scan_error(s)
    except _errors.CodecError:
        scan_roll_back(s, mark)
        raise
    end_compressed(s)
    s.at += s.batch.wire_size
    return 0


def scan_generation(generation, data, bint check_crc, int64_t max_decompressed_bytes, int64_t base_offset,
                    max_total_bytes=None):
    """(Records, the CodecError that ended them or None): messages of Kafka 0.7 that begin at byte `base_offset`.

    `max_decompressed_bytes` and `max_total_bytes` as in `scan_records`.
    """
    check_generation(generation)
    cdef RecordIndex index = _index_for(data, check_crc, max_decompressed_bytes, max_total_bytes)
    cdef scan_t *s = &index.scan
    cdef int state
    if base_offset < 0 or base_offset > MAX_OFFSET - <int64_t>s.size:
        raise _errors.CodecError(f"a base offset of {base_offset}: it is a byte position, from 0 on", "base_offset")
    while True:
        with nogil:
            state = scan_plain_0_7(s, base_offset)
        if state != SCAN_COMPRESSED:
            break
        try:
            index_compressed_0_7(index)
        except _errors.CodecError as error:
            return records_of_index(index), error
    return records_of_index(index), _scan_error(s) if state == SCAN_FAULT else None


cdef object value_of_0_7(object item):
    """The value of an item as `encode` takes it, which may have nothing else but a timestamp."""
    value, key, _, headers = item_fields(item)
    if key is not None or headers:
        raise _errors.CodecError("Kafka 0.7 has neither keys nor headers", "headers" if key is None else "key")
    return value


cdef bytes encode_0_7(object items, int magic, str compression, object level):
    """A message set of Kafka 0.7. Compressed, it is one message of magic 1."""
    cdef list held = []
    cdef size_t size = 0
    cdef datum_t datum
    cdef int codec = _codec_0_7(magic, compression)
    cdef size_t head = 4 + MESSAGE_HEAD_0_7 + magic
    cdef bytes made
    cdef uint8_t *p
    for item in items:
        held.append(take_bytes(value_of_0_7(item), &datum, "value"))
        if datum.size < 0:
            raise _errors.CodecError("null: a message of Kafka 0.7 has a payload, which may be empty", "value")
        size += head + <size_t>datum.size
        if size > MAX_BATCH_BYTES:
            raise _errors.LimitError(f"more than {MAX_BATCH_BYTES} bytes of messages in one set")
    made = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
    p = <uint8_t *>PyBytes_AS_STRING(made)
    for value in held:
        take_bytes(value, &datum, "value")
        p = put_message_0_7(p, magic, 0, datum.data, <size_t>datum.size)
    if codec == 0 or not held:
        return made
    packed = _compressor()(compression, made, level, magic=magic)
    take_bytes(packed, &datum, "value")
    made = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>head + datum.size)
    put_message_0_7(<uint8_t *>PyBytes_AS_STRING(made), magic, codec, datum.data, <size_t>datum.size)
    return made


cdef int _codec_0_7(int magic, str compression) except -1:
    if magic not in (0, 1):
        raise _errors.UnknownVersionError(f"magic {magic}: Kafka 0.7 has 0 and 1", "magic")
    if compression not in CODEC_NAMES[:MAX_CODEC_0_7 + 1]:
        raise _errors.UnknownCodecError(f"compression {compression!r}: Kafka 0.7 has none, gzip and snappy",
                                        "compression")
    if magic == 0 and compression != "none":
        raise _errors.UnknownCodecError("magic 0 of Kafka 0.7 has no compression; magic 1 has", "compression")
    return CODEC_NAMES.index(compression)


cdef uint8_t *put_message_0_7(uint8_t *p, int magic, int codec, const uint8_t *payload, size_t size) noexcept nogil:
    """Writes one message; returns where it ends."""
    store_u32(p, <uint32_t>(MESSAGE_HEAD_0_7 + magic + size))
    p[4] = <uint8_t>magic
    p += 5
    if magic:
        p[0] = <uint8_t>codec
        p += 1
    store_u32(p, kw_crc32(0, payload, size))
    memcpy(p + 4, payload, size)
    return p + 4 + size
