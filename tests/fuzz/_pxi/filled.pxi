# Columns in Arrow layout that are filled from an index, cell by cell against its records.

cdef enum:
    COLUMN_SETS = 4
    COLUMNS_OF_A_SET = 7

cdef column_t COLUMN_SET[COLUMN_SETS][COLUMNS_OF_A_SET]


cdef int _add_column_set(int number, list names) except -1:
    cdef int i
    for i in range(COLUMNS_OF_A_SET):
        kind, type_name = names[i].split()
        COLUMN_SET[number][i].kind = _COLUMN_KINDS.index(kind)
        COLUMN_SET[number][i].type = _COLUMN_TYPES.index(type_name)
    return 0


_add_column_set(0, ["offset int64", "timestamp ms", "key binary", "value binary", "headers list", "topic string",
                    "timestamp_type int8"])
_add_column_set(1, ["key binary_view", "value binary_view", "headers list_or_null", "timestamp ns", "file string",
                    "position int64", "partition int32"])
_add_column_set(2, ["key binary_view", "value binary", "timestamp us", "leader_epoch int32", "producer_id int64",
                    "base_sequence int32", "timestamp_type int32"])
_add_column_set(3, ["value binary_view", "key binary", "headers list", "timestamp timestamp_us", "offset int64",
                    "position int64", "topic string"])


cdef bint _is_cell(const ArrowArray *array, int type, int64_t row, const datum_t *expected) noexcept nogil:
    """Whether the row of a binary column is these bytes, or null."""
    cdef const uint8_t *bits = <const uint8_t *>array.buffers[0]
    cdef const uint8_t *view
    cdef const int32_t *offsets
    cdef const int32_t *words
    if arrow_is_null(bits, row) or expected.size < 0:
        return arrow_is_null(bits, row) and expected.size < 0
    if type != TYPE_BINARY_VIEW:
        offsets = <const int32_t *>array.buffers[1]
        return same_bytes(<const uint8_t *>array.buffers[2] + offsets[row], offsets[row + 1] - offsets[row], expected)
    view = <const uint8_t *>array.buffers[1] + 16 * row
    words = <const int32_t *>view
    if words[0] <= VIEW_INLINE:
        return same_bytes(view + 4, words[0], expected)
    return (memcmp(view + 4, expected.data, 4) == 0 and words[2] < array.n_buffers - 3
            and same_bytes(<const uint8_t *>array.buffers[2 + words[2]] + words[3], words[0], expected))


cdef bint _are_headers(const ArrowArray *array, int64_t row, const part_t *part, const record_t *record) noexcept nogil:
    """Whether there are as many, with the same values; keys may have been repaired."""
    cdef const int32_t *offsets = <const int32_t *>array.buffers[1]
    cdef ArrowArray *pairs = array.children[0]
    cdef const int32_t *key_ends = <const int32_t *>pairs.children[0].buffers[1]
    cdef const uint8_t *key
    cdef datum_t value
    cdef reader_t r
    cdef int64_t size, i
    if offsets[row + 1] - offsets[row] != record.header_count or offsets[row + 1] > pairs.length:
        return False
    reader_init_at(&r, part.data, part.data + part.size, part.data + record.headers_at)
    for i in range(offsets[row], offsets[row + 1]):
        size = read_varint(&r)
        key = read_span(&r, <size_t>size)
        if key_ends[i + 1] - key_ends[i] != <int64_t>kw_utf8_repaired_size(key, <size_t>size):
            return False
        if not kw_utf8_is_valid(<const uint8_t *>pairs.children[0].buffers[2] + key_ends[i],
                                <size_t>(key_ends[i + 1] - key_ends[i])):
            return False
        value.size = read_varint(&r)
        value.data = read_span(&r, <size_t>max(value.size, 0))
        if r.error != FAULT_NONE or not _is_cell(pairs.children[1], TYPE_BINARY, i, &value):
            return False
    return True


cdef bint _is_filled(const ArrowArray *array, column_t column, int64_t row, const run_t *run,
                     const record_t *record) noexcept nogil:
    cdef datum_t datum
    cdef int64_t factor = 1
    if column.kind == COLUMN_KEY or column.kind == COLUMN_VALUE:
        datum.data = run.part.data + (record.value_at if column.kind == COLUMN_VALUE else record.key_at)
        datum.size = record.value_size if column.kind == COLUMN_VALUE else record.key_size
        return _is_cell(array, column.type, row, &datum)
    if column.kind == COLUMN_TOPIC or column.kind == COLUMN_FILE:
        datum.data = run.file if column.kind == COLUMN_FILE else run.topic
        datum.size = run.file_size if column.kind == COLUMN_FILE else run.topic_size
        return _is_cell(array, column.type, row, &datum)
    if column.kind == COLUMN_HEADERS:
        return _are_headers(array, row, run.part, record)
    if column.kind == COLUMN_OFFSET:
        return (<const int64_t *>array.buffers[1])[row] == record.offset
    if column.kind == COLUMN_TIMESTAMP:
        if column.type != TYPE_MS and (record.timestamp != -1 or column.type == TYPE_TIMESTAMP_US):
            factor = 1000000 if column.type == TYPE_NS else 1000
        return (<const int64_t *>array.buffers[1])[row] == record.timestamp * factor
    if column.kind == COLUMN_POSITION:
        return (run.batch.magic != 2
                or (<const int64_t *>array.buffers[1])[row] == run.position + <int64_t>run.batch.position)
    if column.kind == COLUMN_PRODUCER_ID:
        return (<const int64_t *>array.buffers[1])[row] == run.batch.producer_id
    if column.type == TYPE_INT8:
        return (<const int8_t *>array.buffers[1])[row] == run.part.timestamp_type
    if column.kind == COLUMN_TIMESTAMP_TYPE:
        return (<const int32_t *>array.buffers[1])[row] == run.part.timestamp_type
    return (<const int32_t *>array.buffers[1])[row] == _int32_of_run(run, column.kind)


cdef const char *_check_filled(const ArrowArray *array, const column_t *columns, const span_t *span) noexcept nogil:
    cdef int64_t i, n, rows, done = 0
    cdef int column
    if array.length != span.rows:
        return b"columns of another length than was measured"
    for i in range(span.run_count):
        rows = _run_rows(span, i, done)
        for n in range(rows):
            for column in range(COLUMNS_OF_A_SET):
                if not _is_filled(array.children[column], columns[column], done + n, &span.runs[i],
                                  _run_records(span, i) + n):
                    return b"a cell that is not what its record says"
        done += rows
    return unless(done == span.rows, b"columns with more rows than records")


cdef const char *check_columns(const scan_t *s, uint8_t options) noexcept nogil:
    """All records in one set of columns, cut where they are larger than a limit."""
    cdef const column_t *columns = COLUMN_SET[(s.size + s.record_count) % COLUMN_SETS]
    cdef run_t *runs
    cdef int64_t count = 0, at = 0
    cdef size_t i
    cdef const char *wrong = NULL
    if s.record_count == 0:
        return NULL
    runs = <run_t *>malloc(s.part_count * sizeof(run_t))
    for i in range(s.part_count):
        if s.parts[i].count:
            memset(&runs[count], 0, sizeof(run_t))
            runs[count].records = s.records + s.parts[i].first
            runs[count].count = <int64_t>s.parts[i].count
            runs[count].part = &s.parts[i]
            runs[count].batch = &s.batches[s.parts[i].batch]
            runs[count].topic, runs[count].topic_size = <const uint8_t *>b"topic", 5
            runs[count].file, runs[count].file_size = <const uint8_t *>b"f", 1
            runs[count].name_size = 5
            runs[count].position = 7
            runs[count].partition = 3
            count += 1
    while wrong == NULL and at < <int64_t>s.record_count:
        wrong = _check_some(runs, count, &at, 1000 if options & 1 else MAX_COLUMN_BYTES, columns)
    free(runs)
    return wrong


cdef const char *_check_some(const run_t *runs, int64_t count, int64_t *at, int64_t limit,
                             const column_t *columns) noexcept nogil:
    """The columns of as many records from `at` on as the limit allows, as `RecordColumns` fills them."""
    cdef const char *wrong
    cdef ArrowArray array
    cdef span_t span
    cdef sizes_t sizes
    cdef int64_t skipped = 0
    cdef int state
    while skipped + runs.count <= at[0]:
        skipped += runs.count
        runs += 1
        count -= 1
    span.runs, span.run_count, span.first = runs, count, at[0] - skipped
    _measure(span.runs, span.run_count, span.first, limit, True, &sizes)
    span.rows = sizes.rows
    if span.rows == 0:
        return b"not one record fits into columns"
    _drop_unused_runs(&span)
    at[0] += span.rows
    state = _fill_columns(&array, columns, COLUMNS_OF_A_SET, &span, &sizes)
    if state == FILL_TIMESTAMP:
        return NULL
    if state != FILL_OK:
        return b"columns cannot be filled"
    wrong = _check_filled(&array, columns, &span)
    array.release(&array)
    return wrong
