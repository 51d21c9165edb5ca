# Columns in Arrow layout into batches, through the Arrow C Data Interface: no Arrow library, no object per record.
#
#   a struct array (a record batch) with the fields, all but `value` optional, others ignored:
#     value, key     binary, large_binary, binary_view, fixed_size_binary, string, large_string, string_view, null
#     timestamp      int64 milliseconds, or timestamp of any unit (cut down to milliseconds); null is -1
#     headers        list, large_list or map of struct<key, value>, key and value typed as above
#   or one array of a type that `value` may have
# Source: "The Arrow C data interface" and "Arrow columnar format" of the Arrow specification.
#
# Needs: builder.pxi, encode.pxi. Gives: ArrowRecords (rows as record_datum_t), encode_arrow.
# The buffers are read where they lie; the capsules are held by ArrowRecords for as long as it lives.

from cpython.pycapsule cimport PyCapsule_GetPointer

cdef extern from *:
    """
    #ifndef ARROW_C_DATA_INTERFACE
    #define ARROW_C_DATA_INTERFACE
    struct ArrowSchema {
        const char *format; const char *name; const char *metadata; int64_t flags; int64_t n_children;
        struct ArrowSchema **children; struct ArrowSchema *dictionary; void (*release)(struct ArrowSchema *);
        void *private_data;
    };
    struct ArrowArray {
        int64_t length; int64_t null_count; int64_t offset; int64_t n_buffers; int64_t n_children;
        const void **buffers; struct ArrowArray **children; struct ArrowArray *dictionary;
        void (*release)(struct ArrowArray *); void *private_data;
    };
    #endif
    """
    ctypedef struct arrow_in_schema "struct ArrowSchema":
        const char *format
        const char *name
        int64_t n_children
        arrow_in_schema **children
        arrow_in_schema *dictionary

    ctypedef struct arrow_in_array "struct ArrowArray":
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void **buffers
        arrow_in_array **children

cdef enum ArrowKind:
    ARROW_NULL = 0
    ARROW_OFFSETS_32 = 1
    ARROW_OFFSETS_64 = 2
    ARROW_VIEWS = 3
    ARROW_FIXED = 4

cdef enum ArrowFault:
    ARROW_OK = 0
    ARROW_FAULT_LENGTH = 100       # offsets that go back
    ARROW_FAULT_HEADER_KEY = 101   # a header that is null, or whose key is
    ARROW_FAULT_TIMESTAMP = 102    # below -1
    ARROW_FAULT_MEMORY = 103


ctypedef struct binary_column_t:
    int kind
    const uint8_t *validity        # NULL: no nulls
    const uint8_t *index           # offsets, views, or the bytes themselves (fixed width)
    const uint8_t *data
    const uint8_t **variadic       # further data buffers of a view column
    int64_t n_variadic
    int64_t offset
    int64_t width


ctypedef struct list_column_t:
    int kind                       # ARROW_NULL: no such column
    const uint8_t *validity
    const uint8_t *index
    int64_t offset
    int64_t most                   # rows of the child
    const uint8_t *pair_validity   # of the structs, which count from `pair_offset`
    int64_t pair_offset
    binary_column_t key
    binary_column_t value


ctypedef struct timestamp_column_t:
    bint present
    const uint8_t *validity
    const int64_t *values
    int64_t offset
    int64_t divide                 # units per millisecond, or 1
    int64_t multiply               # milliseconds per unit, or 1
    int64_t most                   # the greatest value whose milliseconds fit into an int64


cdef inline bint arrow_is_null(const uint8_t *validity, int64_t row) noexcept nogil:
    return validity != NULL and not (validity[row >> 3] >> (row & 7)) & 1


cdef inline int arrow_datum(const binary_column_t *column, int64_t row, datum_t *out) noexcept nogil:
    """Points `out` at row `row`, -1 bytes where it is null. Gives an ArrowFault."""
    cdef const int32_t *offsets
    row += column.offset
    if column.kind != ARROW_OFFSETS_32 or column.validity != NULL:
        return arrow_datum_of_any(column, row, out)
    offsets = <const int32_t *>column.index + row
    out.data = column.data + offsets[0]
    out.size = <int64_t>offsets[1] - offsets[0]
    return ARROW_OK if offsets[0] >= 0 and out.size >= 0 else ARROW_FAULT_LENGTH


cdef int arrow_datum_of_any(const binary_column_t *column, int64_t place, datum_t *out) noexcept nogil:
    """The same for any kind of column; `place` counts from the column's begin, not from its offset."""
    cdef const int32_t *view
    cdef int64_t begin, end
    out.data = NULL
    out.size = -1
    if column.kind == ARROW_NULL or arrow_is_null(column.validity, place):
        return ARROW_OK
    if column.kind == ARROW_VIEWS:
        view = (<const int32_t *>column.index) + 4 * place
        out.size = view[0]
        if view[0] <= 12:
            out.data = <const uint8_t *>(view + 1)
            return ARROW_OK if view[0] >= 0 else ARROW_FAULT_LENGTH
        if view[2] < 0 or view[2] >= column.n_variadic or view[3] < 0:
            return ARROW_FAULT_LENGTH
        out.data = column.variadic[view[2]] + view[3]
        return ARROW_OK
    if column.kind == ARROW_FIXED:
        begin = place * column.width
        end = begin + column.width
    elif column.kind == ARROW_OFFSETS_32:
        begin = (<const int32_t *>column.index)[place]
        end = (<const int32_t *>column.index)[place + 1]
    else:
        begin = (<const int64_t *>column.index)[place]
        end = (<const int64_t *>column.index)[place + 1]
    if begin < 0 or end < begin or end - begin > MOST_BATCH_BYTES:
        return ARROW_FAULT_LENGTH
    out.data = column.data + begin
    out.size = end - begin
    return ARROW_OK


cdef inline int arrow_timestamp(const timestamp_column_t *column, int64_t row, int64_t when_null,
                                int64_t *out) noexcept nogil:
    cdef int64_t value
    row += column.offset
    out[0] = when_null
    if not column.present or arrow_is_null(column.validity, row):
        return ARROW_OK
    value = column.values[row]
    if value < -1 or value > column.most:
        return ARROW_FAULT_TIMESTAMP
    if value < 0 or column.divide == 1:
        out[0] = value * column.multiply if value >= 0 else -1
    else:
        out[0] = value // column.divide
    return ARROW_OK


cdef inline int arrow_list(const list_column_t *column, int64_t row, int64_t *begin, int64_t *end) noexcept nogil:
    """From which element of the child to which row `row` goes; nothing is written where it is null. Gives an ArrowFault."""
    row += column.offset
    if column.kind == ARROW_NULL or arrow_is_null(column.validity, row):
        return ARROW_OK
    if column.kind == ARROW_OFFSETS_32:
        begin[0] = (<const int32_t *>column.index)[row]
        end[0] = (<const int32_t *>column.index)[row + 1]
    else:
        begin[0] = (<const int64_t *>column.index)[row]
        end[0] = (<const int64_t *>column.index)[row + 1]
    if 0 <= begin[0] <= end[0] <= column.most:
        return ARROW_OK
    end[0] = begin[0]
    return ARROW_FAULT_LENGTH


@cython.final
cdef class ArrowRecords:
    """The rows of a record batch in Arrow layout, one by one as record_datum_t, without the GIL."""

    cdef object capsules
    cdef int64_t length
    cdef binary_column_t value
    cdef binary_column_t key
    cdef timestamp_column_t timestamp
    cdef list_column_t headers
    cdef header_datum_t *spans
    cdef int64_t span_room
    cdef int64_t when_null

    def __cinit__(self, object source, int64_t when_null=-1):
        cdef arrow_in_schema *schema
        cdef arrow_in_array *array
        cdef int64_t i
        self.spans = NULL
        self.span_room = 0
        self.when_null = when_null
        if not hasattr(source, "__arrow_c_array__"):
            raise TypeError(f"a record batch or array with __arrow_c_array__ is needed, not {type(source).__name__}; "
                            "give a table batch by batch")
        self.capsules = source.__arrow_c_array__()
        schema = <arrow_in_schema *>PyCapsule_GetPointer(self.capsules[0], "arrow_schema")
        array = <arrow_in_array *>PyCapsule_GetPointer(self.capsules[1], "arrow_array")
        self.length = array.length
        if schema.format != b"+s":
            self.value = binary_column(schema, array, 0, "value")
            return
        if array.n_buffers and has_nulls(array):
            raise _errors.CodecError("a record batch with null rows cannot be written")
        for i in range(schema.n_children):
            self._take_field(schema.children[i], array.children[i], array.offset)
        if self.value.kind == ARROW_NULL and not self._has(schema, b"value"):
            raise _errors.CodecError("no column named value; columns: "
                                     + ", ".join(arrow_names(schema)), "value")

    def __dealloc__(self):
        free(self.spans)

    cdef bint _has(self, arrow_in_schema *schema, bytes name):
        return name.decode() in arrow_names(schema)

    cdef int _take_field(self, arrow_in_schema *schema, arrow_in_array *array, int64_t offset) except -1:
        cdef bytes name = schema.name
        if name == b"value":
            self.value = binary_column(schema, array, offset, "value")
        elif name == b"key":
            self.key = binary_column(schema, array, offset, "key")
        elif name == b"timestamp":
            self.timestamp = timestamp_column(schema, array, offset)
        elif name == b"headers":
            self.headers = headers_column(schema, array, offset)
        return 0

    cdef inline int record(self, int64_t row, record_datum_t *out) noexcept nogil:
        """Points `out` at row `row`; its headers stay valid until the next call. Gives an ArrowFault."""
        cdef int64_t begin = 0, end = 0
        cdef int fault = arrow_datum(&self.value, row, &out.value)
        out.header_count = 0
        out.headers = NULL
        if fault == ARROW_OK:
            fault = arrow_datum(&self.key, row, &out.key)
        if fault == ARROW_OK:
            fault = arrow_timestamp(&self.timestamp, row, self.when_null, &out.timestamp)
        if fault == ARROW_OK:
            fault = arrow_list(&self.headers, row, &begin, &end)
        return fault if begin == end else self._record_headers(begin, end, out)

    cdef int _record_headers(self, int64_t begin, int64_t end, record_datum_t *out) noexcept nogil:
        cdef int64_t i
        cdef int fault
        if self._span_room(end - begin) != ARROW_OK:
            return ARROW_FAULT_MEMORY
        for i in range(begin, end):
            if arrow_is_null(self.headers.pair_validity, i + self.headers.pair_offset):
                return ARROW_FAULT_HEADER_KEY
            fault = arrow_datum(&self.headers.key, i, &self.spans[i - begin].key)
            if fault == ARROW_OK:
                fault = arrow_datum(&self.headers.value, i, &self.spans[i - begin].value)
            if fault != ARROW_OK:
                return fault
            if self.spans[i - begin].key.size < 0:
                return ARROW_FAULT_HEADER_KEY
        out.headers = self.spans
        out.header_count = end - begin
        return ARROW_OK

    cdef int64_t usual_size(self) noexcept nogil:
        """About how many bytes the rows take in a batch."""
        return (arrow_bytes(&self.value, self.length) + arrow_bytes(&self.key, self.length)
                + self.length * USUAL_OVERHEAD)

    cdef int _span_room(self, int64_t count) noexcept nogil:
        cdef header_datum_t *moved
        if count > self.span_room:
            moved = <header_datum_t *>realloc(self.spans, <size_t>count * 2 * sizeof(header_datum_t))
            if moved == NULL:
                return ARROW_FAULT_MEMORY
            self.spans = moved
            self.span_room = count * 2
        return ARROW_OK


cdef bint has_nulls(const arrow_in_array *array) noexcept nogil:
    """Whether a row is null, by the bits: the count may be -1, not counted yet."""
    cdef const uint8_t *validity = <const uint8_t *>array.buffers[0]
    cdef int64_t row
    if validity == NULL or array.null_count == 0:
        return False
    for row in range(array.offset, array.offset + array.length):
        if arrow_is_null(validity, row):
            return True
    return False


cdef list arrow_names(const arrow_in_schema *schema):
    return [schema.children[i].name.decode("utf-8", "replace") for i in range(schema.n_children)]


cdef int raise_arrow_fault(int fault, int64_t row, int magic) except -1:
    if fault == ARROW_FAULT_LENGTH:
        raise _errors.CodecError(f"row {row}: Arrow offsets that go back or beyond their buffer")
    if fault == ARROW_FAULT_HEADER_KEY:
        raise _errors.CodecError(f"row {row}: a null header, or one without a key", "headers")
    if fault == ARROW_FAULT_TIMESTAMP:
        raise _errors.CodecError(f"row {row}: a timestamp below -1 ms, or too great", "timestamp")
    if fault == ARROW_FAULT_MEMORY:
        raise _errors.LimitError(f"row {row}: out of memory for its headers")
    return raise_build_fault(fault, magic)


cdef int refuse_column(const arrow_in_schema *schema, str field, str wanted) except -1:
    kind = "dictionary" if schema.dictionary != NULL else schema.format.decode("utf-8", "replace")
    raise _errors.CodecError(f"a column of Arrow format {kind!r} cannot be a record's {field}: cast it to {wanted}",
                             field)


cdef binary_column_t binary_column(arrow_in_schema *schema, arrow_in_array *array, int64_t offset,
                                   str field) except *:
    cdef binary_column_t column
    cdef bytes kind = schema.format
    column.kind = ARROW_NULL
    column.validity = column.index = column.data = NULL
    column.variadic = NULL
    column.n_variadic = column.width = 0
    column.offset = offset + array.offset
    if schema.dictionary != NULL:
        refuse_column(schema, field, "binary or string")
    if kind == b"n":
        return column
    if kind in (b"z", b"u"):
        column.kind = ARROW_OFFSETS_32
    elif kind in (b"Z", b"U"):
        column.kind = ARROW_OFFSETS_64
    elif kind in (b"vz", b"vu"):
        column.kind = ARROW_VIEWS
    elif kind.startswith(b"w:"):
        column.kind = ARROW_FIXED
        column.width = int(kind[2:])
    else:
        refuse_column(schema, field, "binary or string")
    column.validity = <const uint8_t *>array.buffers[0]
    column.index = <const uint8_t *>array.buffers[1]
    if column.kind == ARROW_FIXED:
        column.data = column.index
    elif column.kind == ARROW_VIEWS:
        column.variadic = <const uint8_t **>(array.buffers + 2)
        column.n_variadic = array.n_buffers - 3
    else:
        column.data = <const uint8_t *>array.buffers[2]
    return column


cdef timestamp_column_t timestamp_column(arrow_in_schema *schema, arrow_in_array *array, int64_t offset) except *:
    cdef timestamp_column_t column
    cdef bytes kind = schema.format
    column.present = kind != b"n"
    column.validity = NULL
    column.values = NULL
    column.offset = offset + array.offset
    column.divide = column.multiply = column.most = 1
    if not column.present:
        return column
    if kind.startswith(b"tss:"):
        column.multiply = 1000
    elif kind.startswith(b"tsu:"):
        column.divide = 1000
    elif kind.startswith(b"tsn:"):
        column.divide = 1000000
    elif (kind != b"l" and not kind.startswith(b"tsm:")) or schema.dictionary != NULL:
        refuse_column(schema, "timestamp", "int64 milliseconds or timestamp")
    column.most = MOST_OFFSET // column.multiply
    column.validity = <const uint8_t *>array.buffers[0]
    column.values = <const int64_t *>array.buffers[1]
    return column


cdef list_column_t headers_column(arrow_in_schema *schema, arrow_in_array *array, int64_t offset) except *:
    cdef list_column_t column
    cdef bytes kind = schema.format
    cdef arrow_in_schema *pair
    cdef arrow_in_array *pairs
    cdef int key = 0, value = 1
    column.kind = ARROW_NULL
    if kind == b"n":
        return column
    if kind not in (b"+l", b"+L", b"+m") or schema.children[0].format != b"+s" or schema.children[0].n_children != 2:
        refuse_column(schema, "headers", "list<struct<key: string, value: binary>>")
    column.kind = ARROW_OFFSETS_64 if kind == b"+L" else ARROW_OFFSETS_32
    column.validity = <const uint8_t *>array.buffers[0]
    column.index = <const uint8_t *>array.buffers[1]
    column.offset = offset + array.offset
    pair = schema.children[0]
    pairs = array.children[0]
    column.most = pairs.length
    column.pair_validity = <const uint8_t *>pairs.buffers[0]
    column.pair_offset = pairs.offset
    if pair.children[0].name == b"value" and pair.children[1].name == b"key":
        key, value = 1, 0
    column.key = binary_column(pair.children[key], pairs.children[key], pairs.offset, "header key")
    column.value = binary_column(pair.children[value], pairs.children[value], pairs.offset, "header value")
    return column


cdef int64_t arrow_bytes(const binary_column_t *column, int64_t rows) noexcept nogil:
    """About how many bytes the rows have, as far as that can be seen without a look at each."""
    cdef int64_t begin = 0, end = 0
    if column.kind == ARROW_FIXED:
        return rows * column.width
    if column.kind == ARROW_OFFSETS_32:
        begin = (<const int32_t *>column.index)[column.offset]
        end = (<const int32_t *>column.index)[column.offset + rows]
    elif column.kind == ARROW_OFFSETS_64:
        begin = (<const int64_t *>column.index)[column.offset]
        end = (<const int64_t *>column.index)[column.offset + rows]
    return end - begin if begin >= 0 and end >= begin else 0


cdef int fill_from_arrow(builder_t *core, ArrowRecords rows, int64_t *row) noexcept nogil:
    """All rows into the builder; at a fault, `row` says where."""
    cdef record_datum_t record
    cdef int64_t i
    cdef int fault
    for i in range(rows.length):
        fault = rows.record(i, &record)
        if fault == ARROW_OK:
            fault = builder_append(core, &record)
        if fault != ARROW_OK:
            row[0] = i
            return fault
    return ARROW_OK


def encode_arrow(batch, **options):
    """`encode` for columns: anything with `__arrow_c_array__`, such as a pyarrow.RecordBatch, as one batch of bytes.

    Columns `value` (required), `key`, `timestamp` and `headers` as in `Records.to_arrow()`, other columns are ignored;
    or one binary or string array, the values. `options` are those of BatchBuilder but max_bytes. The rows are read
    without the GIL. Raises CodecError for a column type that cannot be meant, and whatever `encode` raises.
    """
    cdef BatchBuilder builder
    if "max_bytes" in options:
        raise TypeError("encode_arrow writes all rows; max_bytes is an option of BatchBuilder")
    builder = BatchBuilder(**options)
    cdef ArrowRecords rows = ArrowRecords(batch)
    cdef int64_t row = 0
    cdef int fault
    builder._expect(rows.usual_size())
    with nogil:
        fault = fill_from_arrow(&builder.core, rows, &row)
    if fault != ARROW_OK:
        raise_arrow_fault(fault, row, builder.core.magic)
    return builder._finish()
