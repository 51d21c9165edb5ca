# The batch builder: takes records, makes one record batch or message set. Plain C, except for the compressor.
#
#   magic 2 (KIP-98), one batch:
#     base_offset int64, length int32, leader_epoch int32, magic int8 = 2, crc uint32 (CRC-32C of what follows),
#     attributes int16, last_offset_delta int32, base_timestamp int64, max_timestamp int64, producer_id int64,
#     producer_epoch int16, base_sequence int32, count int32                                          = 61 bytes
#     then records, compressed as one block when attributes bits 0-2 say so:
#     length varint, attributes int8, timestamp_delta varlong, offset_delta varint,
#     key varint length + bytes, value likewise (-1 null), header count varint, headers (key, value) likewise
#   magic 0 and 1 (KIP-31, KIP-32), a message set = messages one after another, no count:
#     offset int64, size int32, crc uint32 (CRC-32 of what follows), magic int8, attributes int8,
#     [magic 1: timestamp int64,] key int32 length + bytes, value likewise (-1 null)
#     compressed: one wrapper message, key null, value = the compressed set, offset = that of the last inner message,
#     timestamp = the greatest inner one; inner offsets count from 0 in magic 1 and are absolute in magic 0
# Sources: the "Messages" pages of the implementation guide, KIP-31, KIP-32, KIP-98, org.apache.kafka.common.record.
#
# Every size is computed before a byte is written: one check for room per record.

cdef enum:
    BATCH_HEADER = 61
    BATCH_CRC_FROM = 21          # the CRC-32C covers from `attributes` on
    LEGACY_LOG_OVERHEAD = 12     # offset and size
    MIN_RECORD_BODY = 6        # attributes and five varints of one byte
    LEGACY_CRC_FROM = 16         # the CRC-32 covers from `magic` on

cdef extern from * nogil:
    void kw_prefetch "__builtin_prefetch"(const void *at, int writing)

cdef enum:
    LINE = 64                    # bytes of memory that a processor fetches at once
    FOR_WRITING = 1

cdef int64_t MAX_BATCH_BYTES = 0x7FFFFFFF
cdef int64_t MAX_OFFSET = 0x7FFFFFFFFFFFFFFF
cdef size_t FIRST_BLOCK = 4096 - 64
cdef int64_t USUAL_OVERHEAD = 32     # bytes of a record or message beside its key and value

cdef enum BuildFault:
    BUILD_OK = 0
    BUILD_MEMORY = 1
    BUILD_TOO_LARGE = 2          # a length that does not fit an int32
    BUILD_HEADERS = 3            # headers, in a magic that has none
    BUILD_OFFSET = 4             # an offset that does not fit an int64


ctypedef struct header_datum_t:
    datum_t key
    datum_t value


ctypedef struct record_datum_t:
    datum_t value
    datum_t key
    int64_t timestamp
    const header_datum_t *headers
    int64_t header_count


ctypedef struct builder_t:
    kw_block *block              # magic 2: the first BATCH_HEADER bytes are left free for the header
    uint8_t *data                # of the block, and ...
    size_t capacity              # ... its size: here they need no line of memory of their own for each record
    size_t used
    int64_t base_offset
    int64_t next_delta           # offset of the next record, counted from base_offset
    int64_t base_timestamp
    int64_t max_timestamp
    int32_t count
    int magic
    int codec


ctypedef struct seal_t:
    int64_t producer_id
    int16_t producer_epoch
    int32_t base_sequence
    int32_t leader_epoch
    bint is_transactional
    bint is_control


cdef void builder_init(builder_t *b, int magic, int codec, int64_t base_offset) noexcept nogil:
    builder_hold(b, NULL)
    b.magic = magic
    b.codec = codec
    b.base_offset = base_offset
    builder_reset(b)


cdef inline void builder_hold(builder_t *b, kw_block *block) noexcept nogil:
    """Has the builder write to that block, or with NULL to none."""
    b.block = block
    b.data = kw_block_data(block) if block != NULL else NULL
    b.capacity = block.capacity if block != NULL else 0


cdef void builder_reset(builder_t *b) noexcept nogil:
    """Empties the builder and releases its block."""
    kw_block_release(b.block)
    builder_hold(b, NULL)
    b.used = builder_prefix(b)
    b.next_delta = 0
    b.base_timestamp = -1
    b.max_timestamp = -1
    b.count = 0


cdef inline size_t builder_prefix(const builder_t *b) noexcept nogil:
    return BATCH_HEADER if b.magic == 2 else 0


cdef int _builder_grow(builder_t *b, size_t more) noexcept nogil:
    cdef kw_block *fresh
    cdef size_t wanted = b.used + more
    if wanted < 2 * b.capacity:
        wanted = 2 * b.capacity
    fresh = kw_block_new(wanted if wanted > FIRST_BLOCK else FIRST_BLOCK)
    if fresh == NULL:
        return BUILD_MEMORY
    if b.block != NULL:
        memcpy(kw_block_data(fresh), b.data, b.used)
        kw_block_release(b.block)
    builder_hold(b, fresh)
    return BUILD_OK


cdef inline void builder_begin(builder_t *b, size_t size) noexcept nogil:
    """Takes a block of that size for a batch without records. Without memory for it, the first record asks again."""
    if b.block == NULL:
        builder_hold(b, kw_block_new(size))


cdef inline int builder_room(builder_t *b, size_t more) noexcept nogil:
    if b.used + more > b.capacity:
        return _builder_grow(b, more)
    return BUILD_OK


cdef void builder_expect(builder_t *b, int64_t records, int64_t datum_bytes) noexcept nogil:
    """Makes room for `records` records at once. Without the memory, the builder grows step by step."""
    cdef int64_t size = datum_bytes + records * USUAL_OVERHEAD
    if 0 < size <= MAX_BATCH_BYTES:
        builder_room(b, <size_t>size)


cdef inline int varint_size(int64_t value) noexcept nogil:
    cdef uint64_t raw = zigzag64(value)
    return 1 if raw < 0x80 else 2 if raw < 0x4000 else uvarint_size(raw)


cdef inline uint8_t *put_varint(uint8_t *at, int64_t value) noexcept nogil:
    """`at` has room for the varint, whose size was counted by varint_size."""
    cdef uint64_t raw = zigzag64(value)
    if raw < 0x80:
        at[0] = <uint8_t>raw
        return at + 1
    if raw < 0x4000:
        at[0] = <uint8_t>(raw | 0x80)
        at[1] = <uint8_t>(raw >> 7)
        return at + 2
    return at + put_uvarint(at, raw)


cdef inline int64_t varint_datum_size(const datum_t *datum) noexcept nogil:
    return varint_size(datum.size) + (datum.size if datum.size > 0 else 0)


cdef inline uint8_t *put_bytes(uint8_t *at, const uint8_t *data, size_t size) noexcept nogil:
    """The 8 to 16 bytes that most keys have go as the first eight and the last eight, which needs no call."""
    if 8 <= size <= 16:
        memcpy(at, data, 8)
        memcpy(at + size - 8, data + size - 8, 8)
    else:
        memcpy(at, data, size)
    return at + size


cdef inline uint8_t *put_varint_datum(uint8_t *at, const datum_t *datum) noexcept nogil:
    at = put_varint(at, datum.size)
    return put_bytes(at, datum.data, <size_t>datum.size) if datum.size > 0 else at


cdef inline uint8_t *put_int32_datum(uint8_t *at, const datum_t *datum) noexcept nogil:
    store_u32(at, <uint32_t>datum.size)
    at += 4
    if datum.size > 0:
        memcpy(at, datum.data, datum.size)
        at += datum.size
    return at


cdef inline int64_t _message_size(const builder_t *b, const record_datum_t *r) noexcept nogil:
    cdef int64_t size = LEGACY_LOG_OVERHEAD + 4 + 1 + 1 + 4 + 4 + (8 if b.magic == 1 else 0)
    return size + (r.key.size if r.key.size > 0 else 0) + (r.value.size if r.value.size > 0 else 0)


cdef inline int64_t builder_record_size(const builder_t *b, const record_datum_t *r) noexcept nogil:
    """Bytes that the record adds to the batch before compression, its length field included."""
    cdef int64_t size
    if b.magic != 2:
        return _message_size(b, r)
    size = _record_body_size(b, r)
    return size + varint_size(size)


cdef inline int64_t _timestamp_delta(const builder_t *b, const record_datum_t *r) noexcept nogil:
    return r.timestamp - b.base_timestamp if b.count else 0


cdef inline int64_t _record_body_size(const builder_t *b, const record_datum_t *r) noexcept nogil:
    cdef int64_t i
    cdef int64_t size = (
        1 + varint_size(_timestamp_delta(b, r)) + varint_size(b.next_delta)
        + varint_datum_size(&r.key) + varint_datum_size(&r.value) + varint_size(r.header_count)
    )
    for i in range(r.header_count):
        size += varint_datum_size(&r.headers[i].key) + varint_datum_size(&r.headers[i].value)
    return size


cdef inline int64_t builder_size(const builder_t *b) noexcept nogil:
    """Bytes of the batch so far, before compression."""
    return <int64_t>b.used if b.count else 0


cdef inline int64_t record_size_bound(const record_datum_t *record) noexcept nogil:
    """The maximum size of the record in any batch: each varint at its longest."""
    cdef int64_t i
    cdef int64_t size = 5 + 1 + 10 + 5 + 5 + 5 + 5
    size += (record.key.size if record.key.size > 0 else 0) + (record.value.size if record.value.size > 0 else 0)
    for i in range(record.header_count):
        size += 10 + record.headers[i].key.size + (record.headers[i].value.size if record.headers[i].value.size > 0 else 0)
    return size


cdef int builder_append(builder_t *b, const record_datum_t *r) noexcept nogil:
    """Adds the record, or returns a BuildFault and leaves the batch unchanged."""
    cdef int64_t size = record_size_bound(r)
    cdef int fault
    if r.header_count and b.magic != 2:
        return BUILD_HEADERS
    if b.used + <size_t>size > b.capacity or <int64_t>b.used + size > MAX_BATCH_BYTES:
        size = builder_record_size(b, r)
        if <int64_t>b.used + size > MAX_BATCH_BYTES:
            return BUILD_TOO_LARGE
        fault = builder_room(b, <size_t>size)
        if fault != BUILD_OK:
            return fault
    if b.next_delta > MAX_BATCH_BYTES:
        return BUILD_TOO_LARGE
    if b.base_offset > MAX_OFFSET - b.next_delta:
        return BUILD_OFFSET
    if b.count == 0:
        b.base_timestamp = r.timestamp
    if b.magic == 2:
        builder_put(b, r)
    else:
        b.used += _put_message(b, r)
        _count_record(b, r)
    return BUILD_OK


cdef inline void builder_put(builder_t *b, const record_datum_t *r) noexcept nogil:
    """Adds the record to a batch of magic 2 that has others, and room for as much as `record_size_bound` says."""
    b.used += _put_record(b, r)
    _count_record(b, r)


cdef inline void builder_fetch_ahead(const builder_t *b) noexcept nogil:
    """Asks for the lines of memory that the next record goes to, where others are filled before that: by then they are
    here, and nothing waits for them."""
    cdef const uint8_t *at = b.data + b.used
    kw_prefetch(at + LINE, FOR_WRITING)
    kw_prefetch(at + 2 * LINE, FOR_WRITING)
    kw_prefetch(at + 3 * LINE, FOR_WRITING)


cdef inline void _count_record(builder_t *b, const record_datum_t *r) noexcept nogil:
    if r.timestamp > b.max_timestamp:
        b.max_timestamp = r.timestamp
    b.count += 1
    b.next_delta += 1


cdef inline size_t _put_record(builder_t *b, const record_datum_t *r) noexcept nogil:
    """Writes the record, for which there is room, and returns its size.

    Its length comes first but is known last: room is left for the length of the shortest record with such a key and
    value, which is nearly always right.
    """
    cdef uint8_t *begin = b.data + b.used
    cdef int width = varint_size(MIN_RECORD_BODY + max(r.key.size, 0) + max(r.value.size, 0))
    cdef uint8_t *at = begin + width
    cdef int64_t i, body
    at[0] = 0
    at = put_varint(at + 1, _timestamp_delta(b, r))
    at = put_varint(at, b.next_delta)
    at = put_varint_datum(at, &r.key)
    at = put_varint_datum(at, &r.value)
    at = put_varint(at, r.header_count)
    for i in range(r.header_count):
        at = put_varint_datum(at, &r.headers[i].key)
        at = put_varint_datum(at, &r.headers[i].value)
    body = at - begin - width
    if varint_size(body) != width:
        memmove(begin + varint_size(body), begin + width, <size_t>body)
    put_varint(begin, body)
    return <size_t>(varint_size(body) + body)


cdef inline size_t _put_message(builder_t *b, const record_datum_t *r) noexcept nogil:
    cdef int64_t offset = b.next_delta
    cdef int64_t size = _message_size(b, r)
    if b.codec == 0 or b.magic == 0:
        offset += b.base_offset
    put_message(b.data + b.used, size, b.magic, 0, offset, r)
    return <size_t>size


cdef void put_message(uint8_t *at, int64_t size, int magic, int attributes, int64_t offset,
                      const record_datum_t *r) noexcept nogil:
    """One message of magic 0 or 1 of exactly `size` bytes, offset and size fields included."""
    cdef uint8_t *begin = at
    store_u64(at, <uint64_t>offset)
    store_u32(at + 8, <uint32_t>(size - LEGACY_LOG_OVERHEAD))
    at[LEGACY_CRC_FROM] = <uint8_t>magic
    at[LEGACY_CRC_FROM + 1] = <uint8_t>attributes
    at += LEGACY_CRC_FROM + 2
    if magic == 1:
        store_u64(at, <uint64_t>r.timestamp)
        at += 8
    at = put_int32_datum(at, &r.key)
    put_int32_datum(at, &r.value)
    store_u32(begin + 12, kw_crc32(0, begin + LEGACY_CRC_FROM, <size_t>(size - LEGACY_CRC_FROM)))


cdef void put_batch_header(uint8_t *at, size_t total, const builder_t *b, const seal_t *seal) noexcept nogil:
    """Fills the 61 bytes before the records, which are in place already, and the CRC-32C over them."""
    cdef int attributes = b.codec
    if seal.is_transactional:
        attributes |= ATTRIBUTE_TRANSACTIONAL
    if seal.is_control:
        attributes |= ATTRIBUTE_CONTROL
    store_u64(at, <uint64_t>b.base_offset)
    store_u32(at + 8, <uint32_t>(total - LEGACY_LOG_OVERHEAD))
    store_u32(at + 12, <uint32_t>seal.leader_epoch)
    at[16] = 2
    store_u16(at + 21, <uint16_t>attributes)
    store_u32(at + 23, <uint32_t>(b.next_delta - 1))
    store_u64(at + 27, <uint64_t>b.base_timestamp)
    store_u64(at + 35, <uint64_t>b.max_timestamp)
    put_producer_state(at, total, seal.producer_id, seal.producer_epoch, seal.base_sequence)
    store_u32(at + 57, <uint32_t>b.count)
    store_u32(at + 17, kw_crc32c(0, at + BATCH_CRC_FROM, total - BATCH_CRC_FROM))


cdef inline void put_producer_state(uint8_t *at, size_t total, int64_t producer_id, int16_t producer_epoch,
                                    int32_t base_sequence) noexcept nogil:
    store_u64(at + 43, <uint64_t>producer_id)
    store_u16(at + 51, <uint16_t>producer_epoch)
    store_u32(at + 53, <uint32_t>base_sequence)


cdef void set_batch_producer_state(uint8_t *at, size_t total, int64_t producer_id, int16_t producer_epoch,
                                   int32_t base_sequence) noexcept nogil:
    """A finished batch of magic 2 under another producer id, epoch and sequence."""
    put_producer_state(at, total, producer_id, producer_epoch, base_sequence)
    store_u32(at + 17, kw_crc32c(0, at + BATCH_CRC_FROM, total - BATCH_CRC_FROM))


cdef Buffer builder_seal(builder_t *b, const seal_t *seal, object level):
    """Returns the finished bytes. The builder keeps its records and can be sealed again until it is reset.

    Other threads may run while the records are compressed, and append: the header counts the compressed records only.
    """
    cdef builder_t now = b[0]
    cdef size_t prefix = builder_prefix(b)
    cdef uint8_t *data
    if b.count == 0:
        return None
    data = b.data
    if b.codec == 0:
        if b.magic == 2:
            put_batch_header(data, b.used, b, seal)
        return buffer_of_block(b.block, data, b.used)
    packed = _compressor()(CODEC_NAMES[b.codec], buffer_of_block(b.block, data + prefix, b.used - prefix), level,
                           magic=b.magic)
    return _seal_compressed(&now, seal, pin(packed))


cdef Buffer _seal_compressed(const builder_t *b, const seal_t *seal, Buffer packed):
    cdef record_datum_t wrapper
    cdef builder_t out
    cdef int64_t size
    builder_init(&out, b.magic, 0, b.base_offset)
    wrapper.key.size = -1
    wrapper.value.data = packed.data
    wrapper.value.size = packed.size
    wrapper.timestamp = b.max_timestamp
    wrapper.header_count = 0
    size = BATCH_HEADER + packed.size if b.magic == 2 else builder_record_size(&out, &wrapper)
    if size > MAX_BATCH_BYTES:
        raise_build_fault(BUILD_TOO_LARGE, b.magic)
    out.used = 0
    if builder_room(&out, size) != BUILD_OK:
        raise_build_fault(BUILD_MEMORY, b.magic)
    try:
        if b.magic == 2:
            memcpy(kw_block_data(out.block) + BATCH_HEADER, packed.data, packed.size)
            put_batch_header(kw_block_data(out.block), size, b, seal)
        else:
            put_message(kw_block_data(out.block), size, b.magic, b.codec, b.base_offset + b.next_delta - 1, &wrapper)
        return buffer_of_block(out.block, kw_block_data(out.block), size)
    finally:
        kw_block_release(out.block)


cdef object _pack_function = None


cdef object _compressor():
    """kwire.compression.compress, imported on first use because that module imports this one."""
    global _pack_function
    if _pack_function is None:
        from kwire.compression import compress
        _pack_function = compress
    return _pack_function


cdef int codec_number(object name, int magic) except -1:
    """The codec's number in the attributes, if records of that magic may use it."""
    cdef int number
    if name is None:
        return 0
    if name not in CODEC_NAMES:
        raise _errors.UnknownCodecError(f"compression {name!r} is not known: use one of {', '.join(CODEC_NAMES)}",
                                        "compression")
    number = CODEC_NAMES.index(name)
    if number == 4 and magic < 2:
        raise _errors.UnknownCodecError(f"zstd exists only in record batches of magic 2, not in magic {magic}: use "
                                        "lz4, snappy or gzip", "compression")
    return number


cdef int raise_build_fault(int fault, int magic) except -1:
    if fault == BUILD_MEMORY:
        raise _errors.LimitError("out of memory for a batch")
    if fault == BUILD_HEADERS:
        raise _errors.CodecError(f"records of magic {magic} cannot carry headers; magic 2 (Kafka 0.11) can", "headers")
    if fault == BUILD_OFFSET:
        raise _errors.CodecError("offsets end at 2**63 - 1: the base offset leaves no room for this record",
                                 "base_offset")
    raise _errors.LimitError("a batch of more than 2147483647 bytes or offsets cannot be written")
