# From bytes to an index: batch after batch of any magic, large ones without the GIL, compressed ones with its help.
#
# Every format begins alike, which is what tells them apart:
#    0 offset int64, 8 length int32 (of what follows it), 12 four bytes, 16 magic int8
# Source: the protocol guide; the magic has been in the same place since 0.8.
#
# Batches are checked, decompressed and indexed one by one, in order: what precedes a fault is whole and can be used.

cdef enum:
    FRAME_PREFIX = 12
    MIN_FRAME = 17           # up to the magic
    MAX_OFFSETS_OF_A_BATCH = 0x7FFFFFFF
    # So many bytes take some 20 us. The GIL is not released for them: where other threads want it, to get it back takes
    # a switch of threads, or 5 ms while one of them computes.
    SCANNED_HELD_BYTES = 65536
    SCANNED_HELD_SOURCE = 1 << 20      # plain batches may follow a compressed one

cdef object _decompress = None


cdef object decompressor():
    """kwire.compression.decompress, imported on first use because that module imports this one."""
    global _decompress
    if _decompress is None:
        from kwire.compression import decompress
        _decompress = decompress
    return _decompress


cdef int scan_frame(scan_t *s) noexcept nogil:
    """Looks at the batch at `s.at`: SCAN_GOES_ON when it is whole."""
    cdef const uint8_t *p = s.data + s.at
    cdef size_t left = s.size - s.at
    cdef int32_t length
    cdef uint8_t magic = 0
    if left < FRAME_PREFIX:
        s.needed = FRAME_PREFIX if left else 0
        return SCAN_END
    length = <int32_t>load_u32(p + 8)
    if left >= MIN_FRAME:
        magic = p[16]
        if magic > 2:
            return scan_fault(s, FAULT_MAGIC, b"magic", s.at + 16, magic)
    if length < (MIN_BATCH_LENGTH if magic == 2 else MIN_MESSAGE_SIZE_1 if magic == 1 else MIN_MESSAGE_SIZE_0):
        return scan_fault(s, FAULT_BATCH_LENGTH, b"length", s.at + 8, <uint64_t><int64_t>length, magic)
    if <size_t>length > left - FRAME_PREFIX:
        s.needed = FRAME_PREFIX + <size_t>length
        return SCAN_END
    memset(&s.batch, 0, sizeof(batch_t))
    s.batch.position = s.at
    s.batch.wire_size = FRAME_PREFIX + <size_t>length
    s.batch.base_offset = <int64_t>load_u64(p)
    s.batch.last_offset = s.batch.base_offset
    s.batch.magic = <int8_t>magic
    s.batch.partition_leader_epoch = -1
    s.batch.producer_id = -1
    s.batch.producer_epoch = -1
    s.batch.base_sequence = -1
    if s.ascending and s.batch_count and s.batch.base_offset <= s.batches[s.batch_count - 1].last_offset:
        return scan_fault(s, FAULT_OFFSET_BACK, b"base_offset", s.at, <uint64_t>s.batch.base_offset,
                          <uint64_t>s.batches[s.batch_count - 1].last_offset)
    return SCAN_GOES_ON


cdef int scan_plain(scan_t *s) noexcept nogil:
    """Indexes batch after batch up to the end, a fault, or a compressed one."""
    cdef size_t wire_size
    cdef int state
    while True:
        state = scan_frame(s)
        if state != SCAN_GOES_ON:
            return state
        wire_size = s.batch.wire_size
        state = index_record_batch(s) if s.batch.magic == 2 else index_message(s)
        if state != SCAN_GOES_ON:
            return state
        s.at += wire_size


cdef int scan_content(scan_t *s, const uint8_t *data, size_t size, kw_block *block) noexcept nogil:
    """Indexes the decompressed content of the current batch and goes on after it."""
    cdef int state
    if s.batch.magic == 2:
        state = index_batch_records(s, data, size, block)
    else:
        state = index_wrapped_messages(s, data, size, block)
    end_compressed(s)
    if state == SCAN_GOES_ON:
        s.at += s.batch.wire_size
        state = scan_plain(s)
    return state


@cython.final
cdef class RecordFault:
    """What ended a scan before the end of its bytes.

    `error` is the CodecError; `position` and `size` say where in the bytes the bad batch lies (size 0 when its length
    cannot be believed); `base_offset` is its first offset and `next_offset` the one to seek to in order to pass it.
    """

    cdef readonly object error
    cdef readonly Py_ssize_t position
    cdef readonly Py_ssize_t size
    cdef readonly int64_t base_offset
    cdef readonly int64_t next_offset

    def __init__(self):
        raise TypeError("faults are made by decoding")


cdef RecordFault _record_fault_of(scan_t *s, object error):
    cdef RecordFault made = RecordFault.__new__(RecordFault)
    cdef bint framed = s.batch.wire_size != 0 and s.batch.position == s.at
    made.error = error
    made.position = s.at
    made.size = s.batch.wire_size if framed else 0
    made.base_offset = <int64_t>load_u64(s.data + s.at)
    made.next_offset = _offset_after(s, framed)
    return made


cdef int64_t _offset_after(const scan_t *s, bint framed) noexcept:
    """Where reading may go on after the bad batch at `s.at`, which may lie about its offsets.

    Never after the next batch's first offset, where that is at hand. A header whose checksum does not match is believed
    only if it says the same twice, as batches do that were not compacted; else it is one offset further.
    """
    cdef int64_t begin = max(<int64_t>load_u64(s.data + s.at), s.min_kept_offset)
    cdef int64_t min_offset = begin if begin == MAX_OFFSET else begin + 1
    cdef int64_t follower = MAX_OFFSET
    cdef bint trusted = s.fault != FAULT_CRC or s.batch.last_offset - s.batch.base_offset == s.batch.count - 1
    if s.batch_count:
        min_offset = max(min_offset, s.batches[s.batch_count - 1].last_offset + 1)
    if not framed:
        return min_offset
    if _follows(s, s.at + s.batch.wire_size, min_offset):
        follower = <int64_t>load_u64(s.data + s.at + s.batch.wire_size)
        if s.fault == FAULT_CRC:
            return follower
    if not trusted or s.batch.last_offset == MAX_OFFSET:
        return min_offset
    return min(max(min_offset, s.batch.last_offset + 1), follower)


cdef bint _follows(const scan_t *s, size_t at, int64_t min_offset) noexcept:
    """Whether a batch of message format 2 begins there whose first offset can be that of the next one."""
    cdef int64_t found
    if at > s.size or s.size - at < MIN_FRAME or s.data[at + 16] != 2:
        return False
    found = <int64_t>load_u64(s.data + at)
    return min_offset <= found and found - min_offset <= MAX_OFFSETS_OF_A_BATCH


cdef object _budget_words(what):
    """The text about what does not fit, with the setting that allows more."""
    from kwire.errors.wording import Wording

    return Wording("{what}; {max_decompressed_bytes} sets it", what=what)


cdef object _fault_text(const scan_t *s):
    cdef int64_t a = <int64_t>s.fault_detail[0]
    cdef int64_t b = <int64_t>s.fault_detail[1]
    cdef int fault = s.fault
    if fault == FAULT_CRC:
        return f"the checksum does not match: 0x{a:08x} is stored, 0x{b:08x} computed"
    if fault == FAULT_MAGIC:
        return f"message format (magic) {a} is not known; known are 0, 1 and 2"
    if fault == FAULT_MAGIC_0_7:
        return f"magic {a} is not known; Kafka 0.7 has 0 and 1"
    if fault == FAULT_CODEC:
        return f"compression codec {a} is not known in message format {s.batch.magic}"
    if fault == FAULT_BATCH_LENGTH:
        return f"a length of {a} bytes is less than message format {b} needs at least"
    if fault == FAULT_RECORD_COUNT:
        return f"{a} records are claimed with {b} bytes for them"
    if fault == FAULT_RECORD_LENGTH:
        return f"the record claims {a} bytes, which is not what its fields or the bytes left ({b}) say"
    if fault == FAULT_OFFSET_ORDER:
        return f"offset delta {a} after {b}: deltas must rise, up to last_offset_delta"
    if fault == FAULT_OFFSET_RANGE:
        return "the offset leaves the range of an int64"
    if fault == FAULT_OFFSET_BACK:
        return f"offset {a} does not come after offset {b}, the last of the batch before it"
    if fault == FAULT_NESTED:
        return "a compressed message inside a compressed message"
    if fault == FAULT_NULL_WRAPPER:
        return "a compressed message without a value"
    if fault == FAULT_EMPTY_WRAPPER:
        return "a compressed message with no messages inside"
    if fault == FAULT_WRAPPER_OFFSET:
        return f"the compressed message has offset {a}, but the last message inside has {b}"
    if fault == FAULT_INNER_MAGIC:
        return f"a message of format {a} inside a compressed message"
    if fault == FAULT_INNER_CUT:
        return f"the compressed message ends within a message ({a} bytes are left)"
    if fault == FAULT_BUDGET:
        return _budget_words(f"decompressed content and index would take {a} bytes, more than {b}")
    if fault == FAULT_TRAILING:
        return f"{a} bytes are left over"
    return fault_kind_and_text(fault)[1]


cdef object _fault_kind(int fault):
    if fault in (FAULT_MAGIC, FAULT_MAGIC_0_7):
        return _errors.UnknownVersionError
    if fault == FAULT_CODEC:
        return _errors.UnknownCodecError
    if fault in (FAULT_BATCH_LENGTH, FAULT_RECORD_COUNT, FAULT_RECORD_LENGTH):
        return _errors.InvalidLengthError
    if fault == FAULT_BUDGET:
        return _errors.LimitError
    if fault == FAULT_INNER_CUT:
        return _errors.TruncatedError
    if fault > FAULT_CRC or fault == FAULT_CRC:
        return _errors.CorruptError
    return fault_kind_and_text(fault)[0]


cdef object _scan_error(const scan_t *s):
    """The scan's fault as the CodecError it stands for."""
    cdef str field = f"batches[{s.batch_count}]"
    text = _fault_text(s)
    cdef size_t position = s.fault_position
    if s.fault_record >= 0:
        field += f".records[{s.fault_record}]"
    if s.fault_field != NULL:
        field += "." + s.fault_field.decode("ascii")
    if s.fault_inside:
        text += f" (byte {position} of the decompressed records)"
        position = s.at
    return _fault_kind(s.fault)(text, field, position)


cdef Buffer _decompressed(RecordIndex index):
    """The content of the current compressed batch; CodecError with its place when it has none."""
    cdef scan_t *s = &index.scan
    cdef Buffer packed = buffer_slice(index.source, <Py_ssize_t>(s.compressed - s.data), s.compressed_size)
    begin_compressed(s)
    return _decompressed_part(index, packed, s.batch.codec)


cdef Buffer _decompressed_part(RecordIndex index, Buffer packed, int codec):
    cdef scan_t *s = &index.scan
    cdef Buffer content
    try:
        content = exact(decompressor()(CODEC_NAMES[codec], packed, content_budget(s), magic=s.batch.magic))
    except _errors.CodecError as error:
        text = error.message
        if isinstance(error, _errors.LimitError):
            text = _budget_words(text)
        raise type(error)(text, f"batches[{s.batch_count}].records", s.at) from None
    s.content_bytes += <uint64_t>content.size + BLOCK_OVERHEAD
    return content


cdef bint _begins_compressed(const scan_t *s) noexcept:
    """Whether there is nothing to scan but one checksum before the library is called, which releases the GIL."""
    return s.size > BATCH_HEADER and s.data[16] == 2 and s.data[22] & ATTRIBUTE_CODEC != 0


cdef object _scan_all(RecordIndex index):
    """Runs the scan to its end; returns the error that stopped it, or None."""
    cdef scan_t *s = &index.scan
    cdef Buffer content
    cdef int state
    if index.source.size > (SCANNED_HELD_SOURCE if _begins_compressed(s) else SCANNED_HELD_BYTES):
        with nogil:
            state = scan_plain(s)
    else:
        state = scan_plain(s)
    while state == SCAN_COMPRESSED:
        try:
            content = _decompressed(index)
        except _errors.CodecError as error:
            return error
        if content.size > SCANNED_HELD_BYTES or index.source.size > SCANNED_HELD_SOURCE:
            with nogil:
                state = scan_content(s, content.data, content.size, content.block)
        else:
            state = scan_content(s, content.data, content.size, content.block)
    return _scan_error(s) if state == SCAN_FAULT else None


cdef int _take_aborted(scan_t *s, object aborted) except -1:
    cdef size_t i
    cdef list pairs = sorted(aborted)
    if not pairs:
        return 0
    s.aborted = <aborted_t *>malloc(len(pairs) * sizeof(aborted_t))
    if s.aborted == NULL:
        raise _errors.LimitError(f"out of memory for {len(pairs)} aborted transactions")
    for i in range(len(pairs)):
        s.aborted[i].producer_id, s.aborted[i].first_offset = pairs[i]
        s.aborted[i].first_offset = max(s.aborted[i].first_offset, MIN_OFFSET + 1)
        s.aborted[i].ended = 0
    s.aborted_count = len(pairs)
    return 0


cdef int _take_ranges(scan_t *s, object ranges) except -1:
    cdef list pairs = list(ranges)
    cdef size_t i
    cdef int64_t end = MIN_OFFSET
    s.ranges = <offset_range_t *>malloc(max(len(pairs), 1) * sizeof(offset_range_t))
    if s.ranges == NULL:
        raise _errors.LimitError(f"out of memory for {len(pairs)} ranges of offsets")
    for i in range(len(pairs)):
        s.ranges[i].first, s.ranges[i].last = pairs[i]
        if s.ranges[i].last < s.ranges[i].first or (i and s.ranges[i].first <= end):
            raise _errors.ConfigError(f"ranges: {pairs[i]} does not ascend; the next (first, last) is needed")
        end = s.ranges[i].last
    s.range_count = len(pairs)
    s.min_kept_offset = max(s.min_kept_offset, s.ranges[0].first if pairs else MAX_OFFSET)
    s.max_kept_offset = min(s.max_kept_offset, end)
    return 0


cdef Buffer _steady(object data):
    """`data` without a copy where its bytes cannot change under the index; else a copy of it."""
    cdef Buffer pinned = pin(data)
    return copied(pinned) if may_change(pinned) else pinned


cdef int64_t MIN_OFFSET = -MAX_OFFSET - 1
cdef int64_t DEFAULT_MAX_BATCH_BYTES = 256 << 20
cdef int64_t DEFAULT_MAX_BYTES = 1 << 30


cdef RecordIndex _index_for(object data, bint check_crc, int64_t max_batch_bytes, object max_bytes):
    """An index without content yet. `max_bytes` None: 1 GiB, or `max_batch_bytes` if that is more."""
    cdef int64_t total = max(DEFAULT_MAX_BYTES, max_batch_bytes) if max_bytes is None else max_bytes
    cdef RecordIndex index = RecordIndex.__new__(RecordIndex)
    cdef scan_t *s = &index.scan
    index.source = _steady(data)
    s.data = index.source.data
    s.size = <size_t>index.source.size
    s.source = index.source.block
    s.check_crc = check_crc
    s.max_batch_bytes = <uint64_t>max(max_batch_bytes, 0)
    s.max_bytes = s.limit_bytes = <uint64_t>max(total, 0)
    s.min_kept_offset = MIN_OFFSET
    s.max_kept_offset = MAX_OFFSET
    s.fault_record = -1
    return index


def scan_records(data, *, bint check_crc=True, int64_t max_decompressed_bytes=DEFAULT_MAX_BATCH_BYTES,
                 max_total_bytes=None, int64_t min_offset=MIN_OFFSET, end_offset=None, bint skip_control=False,
                 bint ascending=False, aborted=(), ranges=None):
    """(Records, RecordFault or None): what stands in `data` up to its end or its first bad batch.

    Only records with min_offset <= offset < end_offset (None: no end) are kept; `skip_control` drops control records;
    `ascending`, as in a log, makes it a fault when a batch does not begin after the one before it;
    `ranges`, ascending pairs of a first and a last offset, keeps only the records in them (KIP-932);
    `aborted` is a sequence of (producer id, first offset) whose transactions are dropped. Headers of all whole batches
    are in `Records.batches` nevertheless. `max_decompressed_bytes` bounds what each compressed batch takes, its content
    and its index together; `max_total_bytes` what all take, the index of plain ones included (default: 1 GiB, or
    max_decompressed_bytes if that is more).
    """
    cdef RecordIndex index = _index_for(data, check_crc, max_decompressed_bytes, max_total_bytes)
    cdef scan_t *s = &index.scan
    s.skip_control = skip_control
    s.ascending = ascending
    s.min_kept_offset = min_offset
    if end_offset is not None:
        s.max_kept_offset = <int64_t>end_offset - 1
    if aborted:
        _take_aborted(s, aborted)
    if ranges is not None:
        _take_ranges(s, ranges)
    error = _scan_all(index)
    fault = None if error is None else _record_fault_of(s, error)
    index.source = None           # the parts hold what they need of it
    return records_of_index(index), fault


def decode_records(data, bint check_crc, int64_t max_decompressed_bytes):
    """All records of `data`, or the error of its first bad batch; content and index take no more than that."""
    cdef RecordIndex index = _index_for(data, check_crc, max_decompressed_bytes, max_decompressed_bytes)
    error = _scan_all(index)
    if error is not None:
        raise error
    index.source = None
    return records_of_index(index)


def record_paths(bytes data not None):
    """(indexed, careful): the first record of `data` as it is indexed, and as the careful path alone reads it.

    For the test that they agree. Each is None if the record is refused, else (size, timestamp delta, offset delta,
    place of the key, its size, place of the value, its size, place of the headers, their count).
    """
    cdef Buffer pinned = pin(data)
    cdef const uint8_t *begin = pinned.data
    cdef const uint8_t *end = begin + pinned.size
    cdef record_t record
    cdef scan_t s
    cdef size_t size
    memset(&s, 0, sizeof(scan_t))
    s.data = begin
    s.limit_bytes = <uint64_t>MAX_OFFSET
    s.max_kept_offset = s.batch.last_offset = MAX_OFFSET
    s.batch.count = 1
    indexed = careful = None
    try:
        size = len(data)
        if index_batch_records(&s, begin, size, NULL) == SCAN_FAULT and s.fault == FAULT_TRAILING:
            size = s.fault_position
        if s.fault == FAULT_NONE or s.fault == FAULT_TRAILING:
            indexed = _record_fields(size, &s.records[0])
    finally:
        scan_free(&s)
    end = _careful_record(begin, begin, end, &record)
    if end != NULL and record.offset >= 0:
        careful = _record_fields(<size_t>(end - begin), &record)
    return indexed, careful


cdef tuple _record_fields(size_t size, const record_t *record):
    return (size, record.timestamp, record.offset, record.key_at, record.key_size, record.value_at, record.value_size,
            record.headers_at, record.header_count)
