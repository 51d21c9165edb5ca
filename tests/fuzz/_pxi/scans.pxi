# Record sets of all magics, batches whose header is right, wrapped messages and those of Kafka 0.7: scanned, and then all
# that the index says is held against the bytes. What is compressed counts as if it were stored: here the codecs are not
# asked.

cdef enum:
    SCAN_BUDGET = 1 << 18


cdef void begin_scan(scan_t *s, const uint8_t *data, size_t size, bint check_crc) noexcept nogil:
    memset(s, 0, sizeof(scan_t))
    s.data = data
    s.size = size
    s.check_crc = check_crc
    s.max_batch_bytes = s.max_bytes = s.limit_bytes = SCAN_BUDGET
    s.min_kept_offset = MIN_OFFSET
    s.max_kept_offset = MAX_OFFSET
    s.fault_record = -1


cdef int scan_all(scan_t *s) noexcept nogil:
    cdef kw_block *block
    cdef size_t size
    cdef int state = scan_plain(s)
    while state == SCAN_COMPRESSED:
        begin_compressed(s)
        size = s.compressed_size
        if <int64_t>size > content_budget(s):
            return scan_fault(s, FAULT_BUDGET, NULL, s.at)
        block = kw_block_new(size)
        memcpy(kw_block_data(block), s.compressed, size)
        s.content_bytes += size + BLOCK_OVERHEAD
        state = scan_content(s, kw_block_data(block), size, block)
        kw_block_release(block)
    return state


# --- what the index says, held against the bytes ---

cdef const char *check_ends(const scan_t *s, int state) noexcept nogil:
    """How a scan ended, and that its batches lie one after the other up to there."""
    cdef size_t i, at = 0
    if s.at > s.size or index_bytes(s) > SCAN_BUDGET:
        return b"a scan went beyond its bytes or its budget"
    if state == SCAN_END and s.needed <= s.size - s.at and (s.needed or s.at != s.size):
        return b"a scan ended early without a need of more bytes"
    if state == SCAN_FAULT and (s.fault == FAULT_NONE
                                or s.fault_position > (s.compressed_size if s.fault_inside else s.size)):
        return b"a fault without a place"
    for i in range(s.batch_count):
        if s.batches[i].position != at or s.batches[i].wire_size > s.size - at:
            return b"a batch does not begin where the one before it ends"
        at += s.batches[i].wire_size
    return unless(at == s.at, b"the batches do not end where the scan does")


cdef const char *check_record(const part_t *part, const batch_t *batch, const record_t *r) noexcept nogil:
    if (r.key_size < -1 or r.value_size < -1 or r.header_count < 0
            or r.key_at + <size_t>max(r.key_size, 0) > part.size or r.headers_at > part.size
            or r.value_at + <size_t>max(r.value_size, 0) > part.size):
        return b"a record lies outside of its part"
    if r.offset < batch.base_offset and batch.magic == 2 or r.offset > batch.last_offset and batch.magic == 2:
        return b"an offset outside of its batch"
    if batch.magic < 2 and r.key_at and (
            <int32_t>load_u32(part.data + r.key_at - 4) != r.key_size
            or <int32_t>load_u32(part.data + r.value_at - 4) != r.value_size
            or r.value_at != r.key_at + <uint32_t>max(r.key_size, 0) + 4):
        return b"a message's key and value are not where their sizes stand"
    return NULL


cdef const char *check_parts(const scan_t *s) noexcept nogil:
    """All records lie in their parts, and are as many as the headers say. For scans that leave none out."""
    cdef const char *wrong
    cdef const part_t *part
    cdef size_t i, n, records = 0, batch = 0
    cdef int64_t of_batch = 0
    for i in range(s.part_count):
        part = &s.parts[i]
        if part.first != records or part.batch >= s.batch_count or part.batch < batch:
            return b"parts out of order"
        if part.batch != batch:
            of_batch = 0
            batch = part.batch
        records += part.count
        of_batch += <int64_t>part.count
        if i + 1 == s.part_count or s.parts[i + 1].batch != batch:
            if of_batch != s.batches[batch].count:
                return b"a batch has not as many records as its header says"
        for n in range(part.first, records):
            wrong = check_record(part, &s.batches[batch], &s.records[n])
            if wrong != NULL:
                return wrong
        if s.batches[batch].magic == 2:
            wrong = check_carefully(s, part, &s.batches[batch])
            if wrong != NULL:
                return wrong
    return unless(records == s.record_count, b"records that belong to no part")


cdef const char *check_carefully(const scan_t *s, const part_t *part, const batch_t *batch) noexcept nogil:
    """The careful path alone reads the same."""
    cdef const uint8_t *at = part.data
    cdef record_t r
    cdef size_t i
    memset(&r, 0, sizeof(record_t))
    for i in range(part.count):
        at = _careful_record(at, part.data, part.data + part.size, &r)
        if at == NULL:
            return b"a record that the careful path refuses"
        r.offset += batch.base_offset
        r.timestamp = (batch.max_timestamp if batch.timestamp_type == 1
                       else <int64_t>(<uint64_t>batch.base_timestamp + <uint64_t>r.timestamp))
        if memcmp(&r, &s.records[part.first + i], sizeof(record_t)) != 0:
            return b"a record that the careful path reads in another way"
        if i and r.offset <= s.records[part.first + i - 1].offset:
            return b"offsets that do not ascend"
    return unless(at == part.data + part.size, b"records that the careful path ends elsewhere")


cdef bint is_readable(const scan_t *s, const uint8_t *at, size_t size) noexcept nogil:
    """Whether the careful path alone takes the records of the current batch."""
    cdef const uint8_t *end = at + size
    cdef const uint8_t *data = at
    cdef int64_t previous = -1
    cdef record_t r
    cdef int32_t i
    for i in range(s.batch.count):
        at = _careful_record(at, data, end, &r)
        if at == NULL or r.offset <= previous or r.offset > s.batch.last_offset - s.batch.base_offset:
            return False
        previous = r.offset
    return at == end


# --- a scan that leaves records out, held against one that does not ---

cdef bint is_wanted(const scan_t *s, const record_t *r) noexcept nogil:
    cdef size_t i
    if r.offset < s.min_kept_offset or r.offset > s.max_kept_offset:
        return False
    for i in range(s.range_count):
        if s.ranges[i].first <= r.offset <= s.ranges[i].last:
            return True
    return s.range_count == 0


cdef const char *check_kept(const scan_t *all, const scan_t *some) noexcept nogil:
    """Of each part, what is wanted of it; or nothing, where transactions may be dropped."""
    cdef const part_t *part
    cdef const part_t *kept
    cdef size_t i, n, found
    for i in range(min(all.part_count, some.part_count)):
        part = &all.parts[i]
        kept = &some.parts[i]
        if kept.count == 0 and all.batches[part.batch].attributes & (ATTRIBUTE_CONTROL | ATTRIBUTE_TRANSACTIONAL):
            continue
        found = 0
        for n in range(part.first, part.first + part.count):
            if not is_wanted(some, &all.records[n]):
                continue
            if found == kept.count:
                if i + 1 == some.part_count and some.at < all.at:
                    return NULL
                return b"a record is missing that is wanted"
            if memcmp(&all.records[n], &some.records[kept.first + found], sizeof(record_t)) != 0:
                return b"another record than is wanted"
            found += 1
        if found != kept.count:
            return b"a record that is not wanted"
    return NULL


cdef const char *check_choice(const scan_t *all, uint8_t options) noexcept nogil:
    """The same bytes again, with what `options` chooses of them."""
    cdef offset_range_t ranges[3]
    cdef aborted_t aborted[3]
    cdef const char *wrong
    cdef scan_t s
    begin_scan(&s, all.data, all.size, all.check_crc)
    s.skip_control = (options & 8) != 0
    s.ascending = (options & 4) != 0
    if options & 64:
        s.min_kept_offset = options
    if options & 128:
        s.max_kept_offset = options * 3 - 1
    if options & 16:
        ranges[0].first, ranges[0].last = 0, 3
        ranges[1].first, ranges[1].last = 100, 102
        ranges[2].first, ranges[2].last = 200 + options, 1 << 62
        s.ranges, s.range_count = ranges, 3
        s.min_kept_offset = max(s.min_kept_offset, <int64_t>0)
    if options & 8:
        memset(aborted, 0, sizeof(aborted))
        aborted[0].producer_id = -1
        aborted[1].producer_id, aborted[1].first_offset = 5, 100
        aborted[2].producer_id, aborted[2].first_offset = max(options, 5), options + 100
        s.aborted, s.aborted_count = aborted, 3
    wrong = check_ends(&s, scan_all(&s))
    if wrong == NULL and all.fault != FAULT_BUDGET:
        wrong = check_kept(all, &s)
    s.ranges = NULL
    s.aborted = NULL
    scan_free(&s)
    return wrong


# --- the targets ---

cdef void make_right(uint8_t *data, size_t size) noexcept nogil:
    """What `records.right` does."""
    cdef size_t at = 0, end, length
    while at + 27 <= size:
        length = load_u32(data + at + 8)
        if length < 14 or length > size - at - 12:
            length = size - at - 12
            store_u32(data + at + 8, <uint32_t>length)
        end = at + 12 + length
        if data[at + 16] < 2:
            store_u32(data + at + 12, kw_crc32(0, data + at + 16, end - at - 16))
        elif length >= 9:
            store_u32(data + at + 17, kw_crc32c(0, data + at + 21, end - at - 21))
        at = end


cdef void make_right_0_7(uint8_t *data, size_t size) noexcept nogil:
    """What `records._right_0_7` does."""
    cdef size_t at = 0, length, head
    while at + 10 <= size:
        length = load_u32(data + at)
        if length < 6 or length > size - at - 4:
            length = size - at - 4
            store_u32(data + at, <uint32_t>length)
        head = 9 + data[at + 4]
        if data[at + 4] < 2:
            store_u32(data + at + head - 4, kw_crc32(0, data + at + head, at + 4 + length - (at + head)))
        at += 4 + length


cdef uint8_t *copied_bytes(const uint8_t *data, size_t size) noexcept nogil:
    """In memory of their size."""
    cdef uint8_t *copy = <uint8_t *>malloc(max(size, <size_t>1))
    memcpy(copy, data, size)
    return copy


cdef const char *check_all(scan_t *s, int state, uint8_t options) noexcept nogil:
    """Everything about a scan of a record set."""
    cdef const char *wrong = check_ends(s, state)
    if wrong == NULL:
        wrong = check_parts(s)
    if wrong == NULL and options & 0xDC:
        wrong = check_choice(s, options)
    if wrong == NULL:
        wrong = check_columns(s, options)
    return wrong


cdef const char *_scanned_set(const uint8_t *wire, size_t size, uint8_t options) noexcept nogil:
    cdef const char *wrong
    cdef scan_t s
    begin_scan(&s, wire, size, not options & 2)
    wrong = check_all(&s, scan_all(&s), options)
    scan_free(&s)
    return wrong


cdef const char *record_sets(const uint8_t *data, size_t size) except? NULL:
    cdef drawn_t d = drawn_of(data, size)
    cdef uint8_t options = drawn_byte(&d)
    cdef uint8_t *wire
    cdef const char *wrong
    if not options & 1:
        return _scanned_set(d.at, drawn_left(&d), options)
    wire = copied_bytes(d.at, drawn_left(&d))
    make_right(wire, drawn_left(&d))
    wrong = _scanned_set(wire, drawn_left(&d), options)
    free(wire)
    return wrong


cdef const char *record_batches(const uint8_t *data, size_t size) except? NULL:
    cdef drawn_t d = drawn_of(data, size)
    cdef uint8_t options = drawn_byte(&d)
    cdef const char *wrong = NULL
    cdef int64_t base
    cdef bint readable
    cdef scan_t s
    begin_scan(&s, NULL, 0, False)
    drawn_byte(&d)
    s.batch.magic = 2
    s.batch.attributes = <int16_t>(drawn_signed(&d, 2) & ~7)
    s.batch.count = <int32_t>drawn_signed(&d, 2)
    s.batch.base_timestamp = s.batch.max_timestamp = drawn_signed(&d, 2)
    s.batch.partition_leader_epoch = <int32_t>drawn_number(&d, 2)
    base = <int64_t>drawn_number(&d, 1)
    s.batch.base_offset = <int64_t>(<uint64_t>base << drawn_byte(&d) % 56)
    s.batch.producer_id = drawn_byte(&d)
    s.batch.last_offset = s.batch.base_offset + drawn_byte(&d)
    s.batch.timestamp_type = 1 if s.batch.attributes & ATTRIBUTE_LOG_APPEND_TIME else 0
    s.data, s.size = d.at, drawn_left(&d)
    if s.batch.count < 0 or s.batch.last_offset < s.batch.base_offset:
        return NULL
    readable = is_readable(&s, s.data, s.size)
    if index_batch_records(&s, s.data, s.size, NULL) == SCAN_GOES_ON:
        wrong = unless(readable, b"records that the careful path refuses")
        if wrong == NULL:
            wrong = check_parts(&s)
        if wrong == NULL:
            wrong = check_columns(&s, options)
    elif readable and s.fault != FAULT_BUDGET:
        wrong = b"records that the careful path takes"
    elif s.record_count or s.part_count or s.batch_count or s.fault == FAULT_NONE or s.fault_position > s.size + 57:
        wrong = b"a batch that was refused left something behind"
    scan_free(&s)
    return wrong


cdef const char *_wrapped(const uint8_t *content, size_t size, int magic, int codec, uint8_t options) noexcept nogil:
    """As the content of a compressed message."""
    cdef const char *wrong = NULL
    cdef scan_t s
    begin_scan(&s, content, size, not options & 2)
    s.batch.magic = <int8_t>magic
    s.batch.codec = <int8_t>codec
    s.batch.base_offset = 9
    s.batch.max_timestamp = 7
    s.batch.timestamp_type = -1 if magic == 0 else 1 if options & 4 else 0
    if index_wrapped_messages(&s, content, size, NULL) == SCAN_GOES_ON:
        wrong = check_parts(&s)
        if wrong == NULL:
            wrong = check_columns(&s, options)
    elif s.record_count or s.part_count or s.batch_count or s.fault == FAULT_NONE or s.fault_position > size:
        wrong = b"a wrapper that was refused left something behind"
    scan_free(&s)
    return wrong


cdef const char *_scanned_0_7(const uint8_t *wire, size_t size, uint8_t options) noexcept nogil:
    cdef const char *wrong = NULL
    cdef scan_t s
    cdef int state
    begin_scan(&s, wire, size, not options & 2)
    state = scan_plain_0_7(&s, <int64_t>options << 8)
    if state != SCAN_COMPRESSED:
        wrong = check_ends(&s, state)
    if wrong == NULL:
        wrong = check_parts(&s)
    if wrong == NULL:
        wrong = check_columns(&s, options)
    scan_free(&s)
    return wrong


cdef const char *message_sets(const uint8_t *data, size_t size) except? NULL:
    cdef drawn_t d = drawn_of(data, size)
    cdef uint8_t options = drawn_byte(&d)
    cdef int kind = drawn_byte(&d) % 4
    cdef int codec = drawn_byte(&d) % 4
    cdef size_t left = drawn_left(&d)
    cdef uint8_t *wire = copied_bytes(d.at, drawn_left(&d))
    cdef const char *wrong
    if not options & 1:
        if kind < 2:
            make_right(wire, left)
        else:
            make_right_0_7(wire, left)
    if kind >= 2:
        wrong = _scanned_0_7(wire, left, options)
    elif codec:
        wrong = _wrapped(wire, left, kind, codec, options)
    else:
        wrong = _scanned_set(wire, left, options)
    free(wire)
    return wrong
