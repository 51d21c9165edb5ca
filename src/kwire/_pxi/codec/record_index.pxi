# The index of a batch or message set: where the fields of each record lie, as one pass over the bytes finds them.
#
# Everything here is plain C memory: the parsers fill it, views and columns read it, both without the GIL. Bytes of
# records are never copied into it, only their places.
#
#   batches   one per wire batch, per compressed wrapper message, and per run of plain messages of one kind
#   parts     one per stretch of records that lie in the same bytes and share the timestamp type
#   records   40 bytes each; places count from the start of their part's bytes

ctypedef struct record_t:
    int64_t offset
    int64_t timestamp          # milliseconds; -1 none
    uint32_t key_at
    uint32_t value_at
    int32_t key_size           # -1 null
    int32_t value_size         # -1 null
    int32_t header_count
    uint32_t headers_at        # the first header; they are checked already and are decoded when asked for. 0 without


ctypedef struct part_t:
    const uint8_t *data
    size_t size
    kw_block *block            # holds `data`
    size_t first               # place of its first record in the index
    size_t count
    size_t batch
    int8_t timestamp_type      # -1 none, 0 create time, 1 log append time


ctypedef struct batch_t:
    size_t position            # in the bytes that were decoded
    size_t wire_size
    int64_t base_offset
    int64_t last_offset
    int64_t base_timestamp
    int64_t max_timestamp
    int64_t producer_id
    int32_t partition_leader_epoch
    int32_t base_sequence
    int32_t count
    int16_t attributes
    int16_t producer_epoch
    int8_t magic
    int8_t codec
    int8_t timestamp_type


ctypedef struct aborted_t:     # sorted by producer id, then by first offset
    int64_t producer_id
    int64_t first_offset
    size_t ended               # in the first entry of a producer: how many of its entries are over


cdef enum:
    MAX_CONTENT = 0x7FFFFFFF   # places within decompressed bytes must fit into an int32 of Arrow
    EXPECTED_AT_MOST = 16384   # records for which room is made before their batches are read: 640 KiB


cdef enum ScanState:
    SCAN_GOES_ON = 0
    SCAN_END = 1               # no whole batch is left
    SCAN_COMPRESSED = 2        # `compressed` holds what must be decompressed before the scan can go on
    SCAN_FAULT = 3


cdef enum ScanFault:           # beside those of primitives.pxi
    FAULT_CRC = 101
    FAULT_MAGIC = 102
    FAULT_CODEC = 103
    FAULT_BATCH_LENGTH = 104
    FAULT_RECORD_COUNT = 105
    FAULT_RECORD_LENGTH = 106
    FAULT_OFFSET_ORDER = 107
    FAULT_OFFSET_RANGE = 108
    FAULT_NESTED = 109
    FAULT_NULL_WRAPPER = 110
    FAULT_EMPTY_WRAPPER = 111
    FAULT_WRAPPER_OFFSET = 112
    FAULT_INNER_MAGIC = 113
    FAULT_INNER_CUT = 114
    FAULT_BUDGET = 115
    FAULT_MAGIC_0_7 = 116
    FAULT_OFFSET_BACK = 117


ctypedef struct offset_range_t:
    int64_t first
    int64_t last


ctypedef struct scan_t:
    const uint8_t *data
    size_t size
    size_t at                  # where the current batch begins
    size_t needed              # size of the batch that is cut off at the end; 0 if none is
    kw_block *source           # holds `data`
    bint check_crc
    bint skip_control
    bint ascending             # a batch may not begin before the end of the one before it
    uint64_t content_bytes     # decompressed so far
    uint64_t max_bytes         # of content and index together, for all batches
    uint64_t max_batch_bytes   # the same for one compressed batch
    uint64_t limit_bytes       # what `taken_bytes` may reach now: of the call, or of the current compressed batch
    int64_t min_kept_offset
    int64_t max_kept_offset
    aborted_t *aborted
    size_t aborted_count
    offset_range_t *ranges     # of the offsets to keep, ascending; NULL: all between min_offset and max_offset
    size_t range_count
    record_t *records
    kw_block *records_block
    size_t record_count
    size_t record_room
    part_t *parts
    size_t part_count
    size_t part_room
    batch_t *batches
    size_t batch_count
    size_t batch_room
    bint run_open              # the last batch is a run of plain messages that the next one may join
    batch_t batch              # the current one
    const uint8_t *compressed
    size_t compressed_size
    int fault
    size_t fault_position      # counted from `data`, or from the decompressed bytes
    bint fault_inside          # the position lies in decompressed bytes
    int64_t fault_record       # number of the record within its batch, or -1
    const char *fault_field
    uint64_t fault_detail[2]


cdef inline size_t range_at(const scan_t *s, int64_t offset) noexcept nogil:
    """The first range that does not end before `offset`."""
    cdef size_t low = 0
    cdef size_t high = s.range_count
    cdef size_t middle
    while low < high:
        middle = (low + high) // 2
        if s.ranges[middle].last < offset:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline bint is_in_ranges(const scan_t *s, int64_t offset) noexcept nogil:
    cdef size_t at = range_at(s, offset)
    return at < s.range_count and s.ranges[at].first <= offset


cdef int scan_fault(scan_t *s, int fault, const char *field, size_t position, uint64_t a=0,
                    uint64_t b=0) noexcept nogil:
    s.fault = fault
    s.fault_field = field
    s.fault_position = position
    s.fault_inside = False
    s.fault_record = -1
    s.fault_detail[0] = a
    s.fault_detail[1] = b
    return SCAN_FAULT


cdef inline uint64_t index_bytes(const scan_t *s) noexcept nogil:
    return s.record_count * sizeof(record_t) + s.part_count * sizeof(part_t) + s.batch_count * sizeof(batch_t)


cdef inline uint64_t taken_bytes(const scan_t *s) noexcept nogil:
    return s.content_bytes + index_bytes(s)


cdef int check_budget(scan_t *s, uint64_t more) noexcept nogil:
    """Whether `more` bytes of index are allowed beside what the call has taken so far."""
    cdef uint64_t needed = taken_bytes(s) + more
    if needed > s.limit_bytes:
        return scan_fault(s, FAULT_BUDGET, NULL, s.at, needed, s.limit_bytes)
    return SCAN_GOES_ON


cdef void begin_compressed(scan_t *s) noexcept nogil:
    """From here to `end_compressed` the limit is that of one compressed batch."""
    s.limit_bytes = min(s.max_bytes, taken_bytes(s) + s.max_batch_bytes)


cdef void end_compressed(scan_t *s) noexcept nogil:
    s.limit_bytes = s.max_bytes


cdef int64_t content_budget(const scan_t *s) noexcept nogil:
    """How many bytes more may be decompressed now."""
    cdef uint64_t taken = taken_bytes(s)
    return <int64_t>min(s.limit_bytes - taken, <uint64_t>MAX_CONTENT) if taken < s.limit_bytes else 0


cdef size_t _expected_records(const scan_t *s, size_t more) noexcept nogil:
    """How many there will be if each byte up to the end brings as many as those of the current batch, `more` records."""
    cdef size_t left = s.size - s.at
    if s.batch.wire_size == 0 or s.batch.wire_size >= left:
        return 0
    return s.record_count + <size_t>min(<double>more * left / s.batch.wire_size, <double>EXPECTED_AT_MOST)


cdef int reserve_records(scan_t *s, size_t more) noexcept nogil:
    """Room for `more` records; the caller has checked that the bytes at hand can hold that many."""
    cdef size_t room, affordable
    cdef kw_block *block
    if check_budget(s, more * sizeof(record_t)) != SCAN_GOES_ON:
        return SCAN_FAULT
    if s.record_room - s.record_count >= more:
        return SCAN_GOES_ON
    affordable = <size_t>(s.limit_bytes - taken_bytes(s)) // sizeof(record_t)
    room = max(2 * s.record_room, _expected_records(s, more))
    room = max(s.record_count + more, min(room, s.record_count + affordable))
    block = kw_block_new(room * sizeof(record_t))
    if block == NULL:
        return scan_fault(s, FAULT_MEMORY, NULL, s.at)
    if s.record_count:
        memcpy(kw_block_data(block), s.records, s.record_count * sizeof(record_t))
    kw_block_release(s.records_block)
    s.records_block = block
    s.records = <record_t *>kw_block_data(block)
    s.record_room = min(block.capacity // sizeof(record_t), s.record_count + affordable)
    return SCAN_GOES_ON


cdef void *_room_for_one(void *items, size_t count, size_t *room, size_t item_size) noexcept nogil:
    cdef void *moved
    if count < room[0]:
        return items
    moved = realloc(items, (2 * count + 8) * item_size)
    if moved != NULL:
        room[0] = 2 * count + 8
    return moved


cdef part_t *push_part(scan_t *s, const uint8_t *data, size_t size, kw_block *block,
                       int8_t timestamp_type) noexcept nogil:
    """A part without records yet, of the batch pushed last; NULL with a fault when there is no room for it."""
    cdef part_t *parts
    cdef part_t *part
    if check_budget(s, sizeof(part_t)) != SCAN_GOES_ON:
        return NULL
    parts = <part_t *>_room_for_one(s.parts, s.part_count, &s.part_room, sizeof(part_t))
    if parts == NULL:
        scan_fault(s, FAULT_MEMORY, NULL, s.at)
        return NULL
    s.parts = parts
    part = &parts[s.part_count]
    s.part_count += 1
    kw_block_retain(block)
    part.data = data
    part.size = size
    part.block = block
    part.first = s.record_count
    part.count = 0
    part.batch = s.batch_count - 1
    part.timestamp_type = timestamp_type
    return part


cdef int push_batch(scan_t *s) noexcept nogil:
    """Adds the current batch to the index."""
    cdef batch_t *batches
    if check_budget(s, sizeof(batch_t)) != SCAN_GOES_ON:
        return SCAN_FAULT
    batches = <batch_t *>_room_for_one(s.batches, s.batch_count, &s.batch_room, sizeof(batch_t))
    if batches == NULL:
        return scan_fault(s, FAULT_MEMORY, NULL, s.at)
    s.batches = batches
    batches[s.batch_count] = s.batch
    s.batch_count += 1
    s.run_open = False
    return SCAN_GOES_ON


ctypedef struct mark_t:
    size_t records
    size_t parts
    size_t batches


cdef inline mark_t scan_mark(scan_t *s) noexcept nogil:
    cdef mark_t mark
    mark.records = s.record_count
    mark.parts = s.part_count
    mark.batches = s.batch_count
    return mark


cdef void scan_roll_back(scan_t *s, mark_t mark) noexcept nogil:
    """Takes back what a batch with a fault has pushed."""
    s.record_count = mark.records
    while s.part_count > mark.parts:
        s.part_count -= 1
        kw_block_release(s.parts[s.part_count].block)
    s.batch_count = mark.batches


cdef void scan_free(scan_t *s) noexcept nogil:
    cdef mark_t nothing
    nothing.records = 0
    nothing.parts = 0
    nothing.batches = 0
    scan_roll_back(s, nothing)
    kw_block_release(s.records_block)
    free(s.parts)
    free(s.batches)
    free(s.aborted)
    free(s.ranges)
    s.records_block = NULL
    s.parts = NULL
    s.batches = NULL
    s.aborted = NULL
    s.ranges = NULL


@cython.final
@cython.no_gc
cdef class RecordIndex:
    """Owner of an index and of the bytes it points into; immutable once made, but for `tenure`."""

    cdef scan_t scan
    cdef Buffer source            # while it is scanned
    cdef uint8_t *own             # a record that stands alone keeps its bytes here
    cdef int64_t tenure           # see client/consumer_records.pxi

    def __cinit__(self):
        memset(&self.scan, 0, sizeof(scan_t))
        self.source = None
        self.own = NULL

    def __init__(self):
        raise TypeError("an index is made by decoding")

    def __dealloc__(self):
        scan_free(&self.scan)
        free(self.own)
        if kw_foreign_waits():
            give_back_borrowed()

    cdef inline const part_t *part_of(self, size_t place) noexcept:
        """The part that the record at `place` belongs to; there is one."""
        cdef size_t low = 0
        cdef size_t high = self.scan.part_count - 1
        cdef size_t middle
        while low < high:
            middle = (low + high + 1) // 2
            if self.scan.parts[middle].first <= place:
                low = middle
            else:
                high = middle - 1
        return &self.scan.parts[low]

    cdef int64_t bytes_between(self, size_t begin, size_t end) noexcept:
        """From the first key to the last value of these records, which lie in one part."""
        cdef const record_t *last = &self.scan.records[end - 1]
        if end == begin:
            return 0
        return <int64_t>last.value_at + max(last.value_size, 0) - <int64_t>self.scan.records[begin].key_at

    cdef size_t end_within(self, size_t begin, size_t end, int64_t most_bytes) noexcept:
        """The greatest end up to `end`, in the same part, so that the records from `begin` on have so many bytes."""
        cdef size_t low = begin
        cdef size_t middle
        while low < end:
            middle = (low + end + 1) // 2
            if self.bytes_between(begin, middle) <= most_bytes:
                low = middle
            else:
                end = middle - 1
        return low
