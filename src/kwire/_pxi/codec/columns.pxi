# Records as columns in Arrow layout: from the index straight into buffers, without an object per record.
#
# A plan (column_plan.pxi) says which columns; the same filler serves Records, a consumer's result and Spark. Sizes are
# measured first, so each buffer is allocated once; measuring and filling run without the GIL. Columns hold blocks, not
# Python objects, and outlive everything else.

cdef enum FillState:
    FILL_OK = 0
    FILL_MEMORY = 1
    FILL_TIMESTAMP = 2
    FILL_CHANGED = 3               # lent bytes that were written to since they were indexed

cdef enum:
    VIEW_INLINE = 12
    SHORT = 16                     # what is not longer is copied as so many bytes; blocks have that much room after it


ctypedef struct run_t:
    const record_t *records
    int64_t count
    const part_t *part
    const batch_t *batch
    const uint8_t *topic
    const uint8_t *file
    int64_t topic_size
    int64_t file_size
    int64_t name_size              # of the longer of the two
    int64_t position               # in the file, of the bytes that were decoded
    int32_t partition


ctypedef struct sizes_t:           # what one batch of columns needs, in bytes and elements
    int64_t rows
    int64_t key_bytes
    int64_t key_nulls
    int64_t value_bytes
    int64_t value_nulls
    int64_t name_bytes             # enough for topics, and for files
    int64_t headers
    int64_t header_key_bytes
    int64_t header_value_bytes
    int64_t header_value_nulls


ctypedef struct binary_out_t:      # a binary column in progress
    int32_t *offsets
    uint8_t *validity              # NULL when nothing is null
    uint8_t *data
    int64_t row
    int32_t used
    int64_t rows                   # how much room there is
    int64_t size


# --- measuring ---

cdef int _measure_headers(const part_t *part, const record_t *record, sizes_t *sizes) noexcept nogil:
    cdef reader_t r
    cdef const uint8_t *key
    cdef int32_t i
    cdef int64_t size
    reader_init_at(&r, part.data, part.data + part.size, part.data + record.headers_at)
    for i in range(record.header_count):
        size = max(_read_length(&r), 0)
        key = read_span(&r, <size_t>size)
        if key != NULL:
            sizes.header_key_bytes += <int64_t>kw_utf8_repaired_size(key, <size_t>size)
        size = _read_length(&r)
        if size < 0:
            sizes.header_value_nulls += 1
        else:
            sizes.header_value_bytes += size
            read_span(&r, <size_t>size)
    sizes.headers += record.header_count
    return 0


cdef bint _fits(const sizes_t *sizes, int64_t limit) noexcept nogil:
    """Whether no column is over `limit` bytes; a record alone may need more, up to what Arrow can hold."""
    if sizes.rows == 1:
        limit = MAX_COLUMN_BYTES
    return (sizes.key_bytes <= limit and sizes.value_bytes <= limit and sizes.name_bytes <= limit
            and sizes.headers < limit and sizes.header_key_bytes <= limit and sizes.header_value_bytes <= limit)


cdef inline void _measure_record(const run_t *run, const record_t *record, bint with_headers,
                                 sizes_t *sizes) noexcept nogil:
    sizes.rows += 1
    sizes.key_nulls += record.key_size < 0
    sizes.key_bytes += max(record.key_size, 0)
    sizes.value_nulls += record.value_size < 0
    sizes.value_bytes += max(record.value_size, 0)
    sizes.name_bytes += run.name_size
    if with_headers and record.header_count:
        _measure_headers(run.part, record, sizes)


cdef int64_t _measure_run(const run_t *run, int64_t first, int64_t limit, bint with_headers,
                          sizes_t *sizes) noexcept nogil:
    """Adds the run's records from `first` on and returns how many fit into `limit` bytes per column."""
    cdef sizes_t before = sizes[0]
    cdef sizes_t whole = before       # of its own, so that it need not be in memory
    cdef int64_t n
    for n in range(first, run.count):
        _measure_record(run, &run.records[n], with_headers, &whole)
    sizes[0] = whole
    if _fits(sizes, limit):
        return run.count - first
    sizes[0] = before
    for n in range(first, run.count):
        before = sizes[0]
        _measure_record(run, &run.records[n], with_headers, sizes)
        if not _fits(sizes, limit):
            sizes[0] = before
            break
    return n - first


cdef void _measure(const run_t *runs, int64_t run_count, int64_t first, int64_t limit, bint with_headers,
                   sizes_t *sizes) noexcept nogil:
    """Adds up records from the `first` of the first run on, as many as `limit` bytes per column allow."""
    cdef int64_t i, begin
    memset(sizes, 0, sizeof(sizes_t))
    for i in range(run_count):
        begin = first if i == 0 else 0
        if _measure_run(&runs[i], begin, limit, with_headers, sizes) < runs[i].count - begin:
            return


# --- filling, one column after the other ---

cdef inline size_t _padded(size_t size) noexcept nogil:
    return (size + 63) & ~<size_t>63


cdef void *_fixed_buffer(ArrowArray *array, int64_t length, size_t width) noexcept nogil:
    """Makes `array` one of `length` fixed-width elements; returns where they go, or NULL without memory."""
    cdef kw_block *block = kw_block_new(max(<size_t>length * width, 8))
    if block == NULL:
        return NULL
    if kw_array_init(array, length, 2, 0, 1) < 0:
        kw_block_release(block)
        return NULL
    kw_array_hold(array, block)
    array.buffers[1] = kw_block_data(block)
    return kw_block_data(block)


cdef int _binary_buffers(ArrowArray *array, int64_t rows, int64_t nulls, int64_t data_bytes,
                         binary_out_t *out) noexcept nogil:
    """Makes `array` a binary or string one: offsets, bits and bytes lie in one block."""
    cdef size_t offsets_size = _padded(<size_t>(rows + 1) * 4)
    cdef size_t bits_size = _padded(<size_t>(rows + 7) // 8) if nulls else 0
    cdef kw_block *block = kw_block_new(offsets_size + bits_size + <size_t>data_bytes + SHORT)
    if block == NULL:
        return FILL_MEMORY
    if kw_array_init(array, rows, 3, 0, 1) < 0:
        kw_block_release(block)
        return FILL_MEMORY
    kw_array_hold(array, block)
    out.offsets = <int32_t *>kw_block_data(block)
    out.offsets[0] = 0
    out.validity = kw_block_data(block) + offsets_size if nulls else NULL
    out.data = kw_block_data(block) + offsets_size + bits_size
    out.row = 0
    out.used = 0
    out.rows = rows
    out.size = data_bytes
    if nulls:
        memset(out.validity, 0xFF, bits_size)
    array.null_count = nulls
    array.buffers[0] = out.validity
    array.buffers[1] = out.offsets
    array.buffers[2] = out.data
    return FILL_OK


cdef inline void _put_binary(binary_out_t *out, const uint8_t *p, int64_t size) noexcept nogil:
    if size > 0:
        memcpy(out.data + out.used, p, <size_t>size)
        out.used += <int32_t>size
    elif size < 0:
        clear_bit(out.validity, out.row)
    out.row += 1
    out.offsets[out.row] = out.used


ctypedef struct span_t:            # the runs of one batch of columns: the first begins at `first`, `rows` in all
    const run_t *runs
    int64_t run_count
    int64_t first
    int64_t rows


cdef inline int64_t _run_rows(const span_t *span, int64_t i, int64_t done) noexcept nogil:
    """How many rows of run `i` belong to the span when `done` rows came before."""
    return min(span.runs[i].count - (span.first if i == 0 else 0), span.rows - done)


cdef inline const record_t *_run_records(const span_t *span, int64_t i) noexcept nogil:
    return span.runs[i].records + (span.first if i == 0 else 0)


cdef inline void _put_run(binary_out_t *out, const part_t *part, const record_t *record, int64_t rows,
                          bint values) noexcept nogil:
    """Values, or else keys, of which none is null. Short ones go by a copy of fixed size where that stays in bounds."""
    cdef const uint8_t *last = part.data + part.size - SHORT
    cdef const uint8_t *p
    cdef uint8_t *to = out.data + out.used
    cdef int32_t *offsets = out.offsets + out.row + 1
    cdef int64_t n
    cdef int32_t size
    if part.size < SHORT:
        last = part.data - 1
    for n in range(rows):
        p = part.data + (record[n].value_at if values else record[n].key_at)
        size = record[n].value_size if values else record[n].key_size
        if size <= SHORT and p <= last:
            memcpy(to, p, SHORT)
        else:
            memcpy(to, p, <size_t>size)
        to += size
        offsets[n] = <int32_t>(to - out.data)
    out.used = <int32_t>(to - out.data)
    out.row += rows


cdef int _fill_binary(ArrowArray *array, const span_t *span, bint values, int64_t nulls, int64_t size) noexcept nogil:
    cdef binary_out_t out
    cdef const record_t *record
    cdef const uint8_t *data
    cdef int64_t i, n, rows, done = 0
    if _binary_buffers(array, span.rows, nulls, size, &out) != FILL_OK:
        return FILL_MEMORY
    for i in range(span.run_count):
        rows = _run_rows(span, i, done)
        record = _run_records(span, i)
        data = span.runs[i].part.data
        if nulls == 0:
            _put_run(&out, span.runs[i].part, record, rows, values)
            done += rows
            continue
        for n in range(rows):
            if values:
                _put_binary(&out, data + record[n].value_at, record[n].value_size)
            else:
                _put_binary(&out, data + record[n].key_at, record[n].key_size)
        done += rows
    return FILL_OK


cdef int _fill_names(ArrowArray *array, const span_t *span, bint files, int64_t size) noexcept nogil:
    """Files, or else topics."""
    cdef binary_out_t out
    cdef const uint8_t *name
    cdef int64_t i, n, rows, name_size, done = 0
    if _binary_buffers(array, span.rows, 0, size, &out) != FILL_OK:
        return FILL_MEMORY
    for i in range(span.run_count):
        rows = _run_rows(span, i, done)
        name = span.runs[i].file if files else span.runs[i].topic
        name_size = span.runs[i].file_size if files else span.runs[i].topic_size
        for n in range(rows):
            _put_binary(&out, name, name_size)
        done += rows
    return FILL_OK


cdef inline int32_t _int32_of_run(const run_t *run, int kind) noexcept nogil:
    if kind == COLUMN_LEADER_EPOCH:
        return run.batch.partition_leader_epoch
    if kind == COLUMN_BASE_SEQUENCE:
        return run.batch.base_sequence
    return run.partition


cdef inline size_t _head_of_message(const run_t *run, const record_t *record) noexcept nogil:
    """How many bytes of a plain message stand before its key; 0.7 has no key, and says nothing of its place."""
    if record.key_at == 0:
        return record.value_at - 9 - run.batch.magic
    return record.key_at - (30 if run.batch.magic else 22)


cdef int _fill_position(ArrowArray *array, const span_t *span) noexcept nogil:
    """Where the record's batch begins; each plain message of magic 0 and 1 is one."""
    cdef int64_t *out = <int64_t *>_fixed_buffer(array, span.rows, 8)
    cdef const record_t *record
    cdef const run_t *run
    cdef int64_t i, n, rows, begin, done = 0
    if out == NULL:
        return FILL_MEMORY
    for i in range(span.run_count):
        rows = _run_rows(span, i, done)
        record = _run_records(span, i)
        run = &span.runs[i]
        begin = run.position + <int64_t>run.batch.position
        for n in range(rows):
            out[done + n] = begin
            if run.batch.magic < 2 and run.batch.codec == 0:
                out[done + n] += <int64_t>_head_of_message(run, &record[n])
        done += rows
    return FILL_OK


cdef int _fill_producer_id(ArrowArray *array, const span_t *span) noexcept nogil:
    cdef int64_t *out = <int64_t *>_fixed_buffer(array, span.rows, 8)
    cdef int64_t i, n, rows, done = 0
    if out == NULL:
        return FILL_MEMORY
    for i in range(span.run_count):
        rows = _run_rows(span, i, done)
        for n in range(rows):
            out[done + n] = span.runs[i].batch.producer_id
        done += rows
    return FILL_OK


cdef int _fill_int32(ArrowArray *array, const span_t *span, int kind) noexcept nogil:
    """What is the same in all records of a run: the partition, or of the batch its leader epoch or sequence."""
    cdef int32_t *out = <int32_t *>_fixed_buffer(array, span.rows, 4)
    cdef int64_t i, n, rows, done = 0
    cdef int32_t number
    if out == NULL:
        return FILL_MEMORY
    for i in range(span.run_count):
        rows = _run_rows(span, i, done)
        number = _int32_of_run(&span.runs[i], kind)
        for n in range(rows):
            out[done + n] = number
        done += rows
    return FILL_OK


cdef int _fill_offset(ArrowArray *array, const span_t *span) noexcept nogil:
    cdef int64_t *out = <int64_t *>_fixed_buffer(array, span.rows, 8)
    cdef const record_t *record
    cdef int64_t i, n, rows, done = 0
    if out == NULL:
        return FILL_MEMORY
    for i in range(span.run_count):
        rows = _run_rows(span, i, done)
        record = _run_records(span, i)
        for n in range(rows):
            out[done + n] = record[n].offset
        done += rows
    return FILL_OK


cdef int _fill_timestamp(ArrowArray *array, const span_t *span, int type) noexcept nogil:
    """Plain integers keep -1 for none in every unit; a timestamp column shows it as the instant it is."""
    cdef int64_t *out = <int64_t *>_fixed_buffer(array, span.rows, 8)
    cdef const record_t *record
    cdef int64_t factor = 1 if type == TYPE_MS else 1000000 if type == TYPE_NS else 1000
    cdef int64_t max_timestamp = MAX_OFFSET // factor
    cdef int64_t i, n, rows, timestamp, done = 0
    if out == NULL:
        return FILL_MEMORY
    for i in range(span.run_count):
        rows = _run_rows(span, i, done)
        record = _run_records(span, i)
        for n in range(rows):
            timestamp = record[n].timestamp
            if timestamp > max_timestamp or timestamp < -max_timestamp:
                if factor > 1:
                    return FILL_TIMESTAMP
            elif timestamp != -1 or type == TYPE_TIMESTAMP_US:
                timestamp *= factor
            out[done + n] = timestamp
        done += rows
    return FILL_OK


cdef int _fill_timestamp_type(ArrowArray *array, const span_t *span, int type) noexcept nogil:
    cdef void *out = _fixed_buffer(array, span.rows, 4 if type == TYPE_INT32 else 1)
    cdef int64_t i, n, rows, done = 0
    if out == NULL:
        return FILL_MEMORY
    for i in range(span.run_count):
        rows = _run_rows(span, i, done)
        if type == TYPE_INT8:
            memset(<int8_t *>out + done, span.runs[i].part.timestamp_type, <size_t>rows)
        else:
            for n in range(rows):
                (<int32_t *>out)[done + n] = span.runs[i].part.timestamp_type
        done += rows
    return FILL_OK


cdef int _fill_headers(ArrowArray *array, const span_t *span, const sizes_t *sizes, bint null_when_none) noexcept nogil:
    """list<struct<key, value>>: the list has offsets (and bits), the struct nothing of its own."""
    cdef size_t offsets_size = _padded(<size_t>(span.rows + 1) * 4)
    cdef size_t bits_size = _padded(<size_t>(span.rows + 7) // 8) if null_when_none else 0
    cdef kw_block *block = kw_block_new(offsets_size + bits_size)
    cdef binary_out_t keys, values
    cdef ArrowArray *pairs
    cdef int32_t *offsets
    cdef uint8_t *bits
    cdef const record_t *record
    cdef int64_t i, n, rows, done = 0
    if block == NULL:
        return FILL_MEMORY
    if kw_array_init(array, span.rows, 2, 1, 1) < 0:
        kw_block_release(block)
        return FILL_MEMORY
    kw_array_hold(array, block)
    offsets = <int32_t *>kw_block_data(block)
    bits = kw_block_data(block) + offsets_size
    pairs = array.children[0]
    if kw_array_init(pairs, sizes.headers, 1, 2, 0) < 0:
        return FILL_MEMORY
    if _binary_buffers(pairs.children[0], sizes.headers, 0, sizes.header_key_bytes, &keys) != FILL_OK:
        return FILL_MEMORY
    if _binary_buffers(pairs.children[1], sizes.headers, sizes.header_value_nulls, sizes.header_value_bytes,
                       &values) != FILL_OK:
        return FILL_MEMORY
    array.buffers[0] = bits if null_when_none else NULL
    array.buffers[1] = offsets
    if null_when_none:
        memset(bits, 0xFF, bits_size)
    offsets[0] = 0
    for i in range(span.run_count):
        rows = _run_rows(span, i, done)
        record = _run_records(span, i)
        for n in range(rows):
            if record[n].header_count:
                if not _put_headers(span.runs[i].part, &record[n], &keys, &values):
                    return FILL_CHANGED
            elif null_when_none:
                clear_bit(bits, done + n)
                array.null_count += 1
            offsets[done + n + 1] = <int32_t>keys.row
        done += rows
    return FILL_OK


cdef bint _has_room(const binary_out_t *out, int64_t size) noexcept nogil:
    return out.row < out.rows and size <= out.size - out.used and (size >= 0 or out.validity != NULL)


cdef bint _put_headers(const part_t *part, const record_t *record, binary_out_t *keys,
                       binary_out_t *values) noexcept nogil:
    """False when the headers are not those that were measured."""
    cdef reader_t r
    cdef const uint8_t *p
    cdef int32_t i
    cdef int64_t size, repaired
    reader_init_at(&r, part.data, part.data + part.size, part.data + record.headers_at)
    for i in range(record.header_count):
        size = max(_read_length(&r), 0)
        p = read_span(&r, <size_t>size)
        if p == NULL or not _has_room(keys, 0):
            return False
        repaired = kw_utf8_repair(keys.data + keys.used, <size_t>(keys.size - keys.used), p, <size_t>size)
        if repaired < 0:
            return False
        keys.used += <int32_t>repaired
        keys.row += 1
        keys.offsets[keys.row] = keys.used
        size = _read_length(&r)
        p = read_span(&r, <size_t>max(size, 0))
        if p == NULL or not _has_room(values, size):
            return False
        _put_binary(values, p, size)
    return True


cdef void _hold_bytes(ArrowArray *array, const part_t *part, int64_t place, int64_t *sizes) noexcept nogil:
    """The bytes of `part` become a variadic buffer."""
    kw_block_retain(part.block)
    kw_array_hold(array, part.block)
    array.buffers[2 + place] = part.data
    sizes[place] = <int64_t>part.size


cdef int _fill_binary_view(ArrowArray *array, const span_t *span, bint values, int64_t nulls) noexcept nogil:
    """16 bytes per row: int32 length, then the bytes (up to 12), or 4 bytes of prefix, int32 buffer, int32 place."""
    cdef size_t views_size = _padded(<size_t>span.rows * 16)
    cdef size_t bits_size = _padded(<size_t>(span.rows + 7) // 8) if nulls else 0
    cdef kw_block *block = kw_block_new(views_size + bits_size + <size_t>span.run_count * 8 + 8)
    cdef uint8_t *view
    cdef uint8_t *bits
    cdef int64_t *sizes
    cdef const record_t *record
    cdef const part_t *part
    cdef int64_t i, n, rows, done = 0, lent = 0
    cdef int32_t size, greatest
    if block == NULL:
        return FILL_MEMORY
    if kw_array_init(array, span.rows, 3 + span.run_count, 0, 1 + span.run_count) < 0:
        kw_block_release(block)
        return FILL_MEMORY
    kw_array_hold(array, block)
    view = kw_block_data(block)
    bits = view + views_size
    sizes = <int64_t *>(bits + bits_size)
    memset(bits, 0xFF, bits_size)
    array.null_count = nulls
    array.buffers[0] = bits if nulls else NULL
    array.buffers[1] = view
    for i in range(span.run_count):
        part = span.runs[i].part
        rows = _run_rows(span, i, done)
        record = _run_records(span, i)
        greatest = 0
        for n in range(rows):
            size = record[n].value_size if values else record[n].key_size
            if size < 0:
                clear_bit(bits, done + n)
            _put_view(view, part.data, record[n].value_at if values else record[n].key_at, size, <int32_t>lent)
            view += 16
            greatest = max(greatest, size)
        done += rows
        if greatest > VIEW_INLINE:
            _hold_bytes(array, part, lent, sizes)
            lent += 1
    array.buffers[2 + lent] = sizes
    array.n_buffers = 3 + lent
    return FILL_OK


cdef inline void _put_view(uint8_t *view, const uint8_t *data, uint32_t at, int32_t size,
                           int32_t buffer) noexcept nogil:
    cdef int32_t place = <int32_t>at
    if size < 0:
        memset(view, 0, 16)
        return
    memcpy(view, &size, 4)
    if size <= VIEW_INLINE:
        memset(view + 4, 0, VIEW_INLINE)
        memcpy(view + 4, data + at, <size_t>size)
        return
    memcpy(view + 4, data + at, 4)
    memcpy(view + 8, &buffer, 4)
    memcpy(view + 12, &place, 4)


cdef int _fill_column(ArrowArray *array, column_t column, const span_t *span, const sizes_t *sizes) noexcept nogil:
    if column.kind == COLUMN_OFFSET:
        return _fill_offset(array, span)
    if column.kind == COLUMN_TIMESTAMP:
        return _fill_timestamp(array, span, column.type)
    if column.kind == COLUMN_TIMESTAMP_TYPE:
        return _fill_timestamp_type(array, span, column.type)
    if column.kind == COLUMN_HEADERS:
        return _fill_headers(array, span, sizes, column.type == TYPE_LIST_OR_NULL)
    if column.kind == COLUMN_TOPIC or column.kind == COLUMN_FILE:
        return _fill_names(array, span, column.kind == COLUMN_FILE, sizes.name_bytes)
    if column.kind == COLUMN_POSITION:
        return _fill_position(array, span)
    if column.kind == COLUMN_PRODUCER_ID:
        return _fill_producer_id(array, span)
    if column.kind in (COLUMN_PARTITION, COLUMN_LEADER_EPOCH, COLUMN_BASE_SEQUENCE):
        return _fill_int32(array, span, column.kind)
    if column.type == TYPE_BINARY_VIEW:
        return _fill_binary_view(array, span, column.kind == COLUMN_VALUE,
                                 sizes.value_nulls if column.kind == COLUMN_VALUE else sizes.key_nulls)
    if column.kind == COLUMN_VALUE:
        return _fill_binary(array, span, True, sizes.value_nulls, sizes.value_bytes)
    return _fill_binary(array, span, False, sizes.key_nulls, sizes.key_bytes)


cdef int _fill_columns(ArrowArray *array, const column_t *columns, int count, const span_t *span,
                       const sizes_t *sizes) noexcept nogil:
    """A struct array of all columns; on a fault nothing is left allocated."""
    cdef int i, state
    if kw_array_init(array, span.rows, 1, count, 0) < 0:
        return FILL_MEMORY
    for i in range(count):
        state = _fill_column(array.children[i], columns[i], span, sizes)
        if state != FILL_OK:
            array.release(array)
            return state
    return FILL_OK
