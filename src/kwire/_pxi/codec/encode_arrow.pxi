# Turns columns in Arrow layout into record batches, through the Arrow C Data Interface: no Arrow library is needed, and
# no object per record is made.
#
#   a struct array (a record batch) with the fields, all but `value` optional, others ignored:
#     value, key     binary, large_binary, binary_view, fixed_size_binary, string, large_string, string_view, null
#     timestamp      int64 milliseconds, or timestamp of any unit (cut down to milliseconds); null is -1
#     headers        list, large_list or map of struct<key, value>, key and value typed as above
#   or one array of a type that `value` may have
# Source: "The Arrow C data interface" and "Arrow columnar format" of the Arrow specification.
#
# A producer is not trusted: names, formats, children, buffers, lengths and offsets are checked once before any row is
# read, and each row against the end of its column. Only sizes of buffers that the interface does not state cannot be
# checked. The array is moved out of its capsule, so that no other consumer can free it meanwhile.

cdef int64_t MAX_ARROW_ROWS = 1 << 56

ctypedef struct list_column_t:
    int kind                       # ARROW_NULL: no such column
    const uint8_t *validity
    const uint8_t *index
    int64_t offset
    int64_t end                    # rows of the child
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
    int64_t max                    # the greatest value whose milliseconds fit into an int64


cdef inline int64_t offset_at(int kind, const uint8_t *index, int64_t place) noexcept nogil:
    return (<const int32_t *>index)[place] if kind == ARROW_OFFSETS_32 else (<const int64_t *>index)[place]


cdef int arrow_datum_of_any(const binary_column_t *column, int64_t place, datum_t *out) noexcept nogil:
    """The same for any kind of column; `place` counts from the start of the column, not from its offset."""
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
        if (view[2] < 0 or view[2] >= column.n_variadic or view[3] < 0
                or <int64_t>view[3] + view[0] > column.sizes[view[2]]):
            return ARROW_FAULT_LENGTH
        out.data = column.variadic[view[2]] + view[3]
        return ARROW_OK
    if column.kind == ARROW_FIXED:
        begin = place * column.width
        end = begin + column.width
    else:
        begin = offset_at(column.kind, column.index, place)
        end = offset_at(column.kind, column.index, place + 1)
    if begin < 0 or end < begin or end > column.end or end - begin > MAX_BATCH_BYTES:
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
    if value < -1 or value > column.max:
        return ARROW_FAULT_TIMESTAMP
    if value < 0 or column.divide == 1:
        out[0] = value * column.multiply if value >= 0 else -1
    else:
        out[0] = value // column.divide
    return ARROW_OK


cdef inline int arrow_list(const list_column_t *column, int64_t row, int64_t *begin, int64_t *end) noexcept nogil:
    """The range of the child's elements in row `row`; writes nothing where it is null. Returns an ArrowFault."""
    row += column.offset
    if column.kind == ARROW_NULL or arrow_is_null(column.validity, row):
        return ARROW_OK
    begin[0] = offset_at(column.kind, column.index, row)
    end[0] = offset_at(column.kind, column.index, row + 1)
    if 0 <= begin[0] <= end[0] <= column.end:
        return ARROW_OK
    end[0] = begin[0]
    return ARROW_FAULT_LENGTH


cdef class ArrowValues:
    """The values of one column in Arrow layout, which lives as long as this does."""

    def __cinit__(self, *_):
        self.array.release = NULL

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)


@cython.final
cdef class ArrowRecords(ArrowValues):
    """The rows of a record batch in Arrow layout, one by one as record_datum_t, without the GIL."""

    cdef binary_column_t key
    cdef timestamp_column_t timestamp
    cdef list_column_t headers
    cdef header_datum_t *spans
    cdef int64_t span_room
    cdef int64_t when_null
    cdef list unused               # names of columns that no record has

    def __cinit__(self, object source, int64_t when_null=-1):
        cdef tuple capsules
        self.spans = NULL
        self.span_room = 0
        self.when_null = when_null
        self.unused = []
        if source is not None:
            capsules = arrow_capsules(source)
            self._take(<ArrowSchema *>PyCapsule_GetPointer(capsules[0], "arrow_schema"),
                       <ArrowArray *>PyCapsule_GetPointer(capsules[1], "arrow_array"))

    cdef int _take(self, ArrowSchema *schema, ArrowArray *array) except -1:
        """Moves the array here; the schema is not needed afterwards."""
        if schema.release == NULL or array.release == NULL:
            raise _errors.CodecError("the Arrow array has been released: another consumer took it", "batch")
        self.array = array[0]
        array.release = NULL
        self.length = self.array.length
        if arrow_format(schema, "batch") != b"+s":
            self.value = binary_column(schema, &self.array, 0, self.length, "value")
        else:
            self._take_fields(schema)
        return 0

    def __dealloc__(self):
        free(self.spans)

    cdef int _take_fields(self, ArrowSchema *schema) except -1:
        cdef bint has_value = False
        cdef int64_t i, rows
        cdef bytes name
        check_array(&self.array, 0, 1, "batch")
        check_children(schema, &self.array, "batch")
        rows = self.array.offset + self.length
        if has_nulls(&self.array):
            raise _errors.CodecError("a record batch with null rows cannot be written", "batch")
        for i in range(schema.n_children):
            name = arrow_name(schema.children[i])
            has_value = has_value or name == b"value"
            self._take_field(name, schema.children[i], self.array.children[i], rows)
        if not has_value:
            names = [arrow_name(schema.children[i]).decode("utf-8", "replace") for i in range(schema.n_children)]
            raise _errors.CodecError(f"no column named value; columns: {', '.join(names)}", "value")
        return 0

    cdef int _take_field(self, bytes name, ArrowSchema *schema, ArrowArray *array, int64_t rows) except -1:
        """`rows` is how many a column must have: those before the table's offset, too."""
        cdef int64_t offset = self.array.offset
        if name == b"value":
            self.value = binary_column(schema, array, offset, rows, "value")
        elif name == b"key":
            self.key = binary_column(schema, array, offset, rows, "key")
        elif name == b"timestamp":
            self.timestamp = timestamp_column(schema, array, offset, rows)
        elif name == b"headers":
            self.headers = headers_column(schema, array, offset, rows)
        elif name not in (b"offset", b"timestamp_type"):
            self.unused.append(name.decode("utf-8", "replace"))
        return 0

    cdef inline int record(self, int64_t row, record_datum_t *out) noexcept nogil:
        """Points `out` at row `row`; its headers stay valid until the next call. Returns an ArrowFault."""
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

    cdef str field_at_fault(self, int64_t row):
        """The column whose row cannot be read."""
        cdef datum_t datum
        if arrow_datum(&self.value, row, &datum) != ARROW_OK:
            return "value"
        return "key" if arrow_datum(&self.key, row, &datum) != ARROW_OK else "headers"

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


cdef tuple arrow_capsules(object source):
    """(schema, array) of anything with `__arrow_c_array__`, as capsules of the right names."""
    cdef object given
    if not hasattr(source, "__arrow_c_array__"):
        raise TypeError(f"a record batch or array with __arrow_c_array__ is needed, not {type(source).__name__}; "
                        "give a table batch by batch")
    given = source.__arrow_c_array__()
    if (type(given) is not tuple or len(<tuple>given) != 2
            or not PyCapsule_IsValid((<tuple>given)[0], "arrow_schema")
            or not PyCapsule_IsValid((<tuple>given)[1], "arrow_array")):
        raise TypeError(f"{type(source).__name__}.__arrow_c_array__() did not return two capsules, "
                        "\"arrow_schema\" and \"arrow_array\"")
    return <tuple>given


cdef int arrow_refused(str field, str text) except -1:
    raise _errors.CodecError(f"an Arrow array that cannot be: {text}", field)


cdef bytes arrow_name(const ArrowSchema *schema):
    """The specification lets a name be NULL."""
    return b"" if schema.name == NULL else <bytes>schema.name


cdef bytes arrow_format(const ArrowSchema *schema, str field):
    if schema.format == NULL:
        arrow_refused(field, "it has no format")
    return <bytes>schema.format


cdef int check_array(const ArrowArray *array, int64_t rows, int64_t n_buffers, str field) except -1:
    """Checks that it has `n_buffers` buffers and `rows` rows or more, and that no sum overflows."""
    if array.release == NULL:
        arrow_refused(field, "it has been released")
    if array.length < 0 or array.offset < 0 or array.length > MAX_ARROW_ROWS or array.offset > MAX_ARROW_ROWS:
        arrow_refused(field, f"length {array.length}, offset {array.offset}")
    if array.length < rows:
        arrow_refused(field, f"{array.length} rows, where its parent has {rows}")
    if array.n_buffers < n_buffers or n_buffers and array.buffers == NULL:
        arrow_refused(field, f"{array.n_buffers} buffers, where its type has {n_buffers}")
    if n_buffers and array.buffers[0] == NULL and array.null_count > 0:
        arrow_refused(field, f"{array.null_count} nulls without a validity buffer")
    return 0


cdef int check_children(const ArrowSchema *schema, const ArrowArray *array, str field) except -1:
    cdef int64_t i
    if schema.n_children < 0 or array.n_children != schema.n_children:
        arrow_refused(field, f"{array.n_children} child arrays, where its type has {schema.n_children}")
    for i in range(schema.n_children):
        if (schema.children == NULL or schema.children[i] == NULL
                or array.children == NULL or array.children[i] == NULL):
            arrow_refused(field, f"child {i} is NULL")
    return 0


cdef bint has_nulls(const ArrowArray *array) noexcept nogil:
    """Whether a row is null, by the bits: the count may be -1, not counted yet."""
    cdef const uint8_t *validity = <const uint8_t *>array.buffers[0]
    cdef int64_t row
    if validity == NULL or array.null_count == 0:
        return False
    for row in range(array.offset, array.offset + array.length):
        if arrow_is_null(validity, row):
            return True
    return False


cdef int raise_arrow_fault(ArrowRecords rows, int fault, int64_t row, int magic, bint is_named=True) except -1:
    """Raises the fault of a row; whether its number is named, too."""
    where = f"row {row}: " if is_named else ""
    if fault == ARROW_FAULT_LENGTH:
        raise _errors.CodecError(where + "Arrow offsets that go back or beyond their buffer",
                                 rows.field_at_fault(row))
    if fault == ARROW_FAULT_HEADER_KEY:
        raise _errors.CodecError(where + "a null header, or one without a key", "headers")
    if fault == ARROW_FAULT_TIMESTAMP:
        raise _errors.CodecError(where + "a timestamp below -1 ms, or too great", "timestamp")
    if fault == ARROW_FAULT_MEMORY:
        raise _errors.LimitError(where + "out of memory for its headers", "headers")
    return raise_build_fault(fault, magic)


cdef int refuse_column(const ArrowSchema *schema, str field, str wanted) except -1:
    kind = "dictionary" if schema.dictionary != NULL else schema.format.decode("utf-8", "replace")
    raise _errors.CodecError(f"a column of Arrow format {kind!r} cannot be a record's {field}: cast it to {wanted}",
                             field)


cdef int binary_kind(const ArrowSchema *schema, str field) except -1:
    """The ArrowKind of a column of binary or text; CodecError for any other type."""
    cdef bytes kind = arrow_format(schema, field)
    if schema.dictionary == NULL:
        if kind == b"n":
            return ARROW_NULL
        if kind in (b"z", b"u"):
            return ARROW_OFFSETS_32
        if kind in (b"Z", b"U"):
            return ARROW_OFFSETS_64
        if kind in (b"vz", b"vu"):
            return ARROW_VIEWS
        if kind.startswith(b"w:"):
            return ARROW_FIXED
    return refuse_column(schema, field, "binary or string")


cdef binary_column_t binary_column(ArrowSchema *schema, ArrowArray *array, int64_t offset, int64_t rows,
                                   str field) except *:
    """A column of which `rows` rows are read at most, from `offset` on."""
    cdef binary_column_t column
    memset(&column, 0, sizeof(binary_column_t))
    column.kind = binary_kind(schema, field)
    check_array(array, rows, 0 if column.kind == ARROW_NULL else 2 if column.kind == ARROW_FIXED else 3, field)
    column.offset = offset + array.offset
    if column.kind == ARROW_NULL:
        return column
    column.validity = <const uint8_t *>array.buffers[0]
    column.index = <const uint8_t *>array.buffers[1]
    if column.kind == ARROW_FIXED:
        set_fixed_width(&column, schema, array.offset + rows, field)
    elif column.index == NULL and rows:
        arrow_refused(field, "its buffer of offsets or views is NULL")
    elif column.kind == ARROW_VIEWS:
        set_view_buffers(&column, array, field)
    elif rows:
        column.data = <const uint8_t *>array.buffers[2]
        column.end = offset_at(column.kind, column.index, array.offset + rows)
        if column.end < 0 or column.data == NULL and column.end > 0:
            arrow_refused(field, f"{column.end} bytes, and a data buffer that is "
                          + ("NULL" if column.data == NULL else "not"))
    return column


cdef int set_fixed_width(binary_column_t *column, const ArrowSchema *schema, int64_t rows, str field) except -1:
    cdef bytes digits = (<bytes>schema.format)[2:]
    if not digits.isdigit() or len(digits) > 10:
        refuse_column(schema, field, "binary or string")
    column.width = int(digits)
    if column.width and rows > MAX_OFFSET // column.width:
        arrow_refused(field, f"{rows} rows of {column.width} bytes")
    column.data = column.index
    column.end = column.width * rows
    if column.data == NULL and column.end > 0:
        arrow_refused(field, f"{column.end} bytes, and a data buffer that is NULL")
    return 0


cdef int set_view_buffers(binary_column_t *column, const ArrowArray *array, str field) except -1:
    """The last buffer holds the sizes of the data buffers."""
    cdef int64_t i
    column.variadic = <const uint8_t **>(array.buffers + 2)
    column.n_variadic = array.n_buffers - 3
    column.sizes = <const int64_t *>array.buffers[array.n_buffers - 1]
    if column.n_variadic and column.sizes == NULL:
        arrow_refused(field, "views without the sizes of their buffers")
    for i in range(column.n_variadic):
        if column.sizes[i] < 0 or column.variadic[i] == NULL and column.sizes[i] > 0:
            arrow_refused(field, f"data buffer {i} of {column.sizes[i]} bytes"
                          + (" is NULL" if column.variadic[i] == NULL else ""))
    return 0


cdef timestamp_column_t timestamp_column(ArrowSchema *schema, ArrowArray *array, int64_t offset,
                                         int64_t rows) except *:
    cdef timestamp_column_t column
    cdef bytes kind = arrow_format(schema, "timestamp")
    memset(&column, 0, sizeof(timestamp_column_t))
    column.present = kind != b"n"
    column.offset = offset + array.offset
    column.divide = column.multiply = 1
    check_array(array, rows, 2 if column.present else 0, "timestamp")
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
    column.max = MAX_OFFSET // column.multiply
    column.validity = <const uint8_t *>array.buffers[0]
    column.values = <const int64_t *>array.buffers[1]
    if column.values == NULL and rows:
        arrow_refused("timestamp", "its buffer of values is NULL")
    return column


cdef list_column_t headers_column(ArrowSchema *schema, ArrowArray *array, int64_t offset, int64_t rows) except *:
    cdef list_column_t column
    cdef bytes kind = arrow_format(schema, "headers")
    memset(&column, 0, sizeof(list_column_t))
    column.kind = ARROW_NULL
    if kind == b"n":
        return column
    if kind not in (b"+l", b"+L", b"+m"):
        refuse_column(schema, "headers", "list<struct<key: string, value: binary>>")
    check_array(array, rows, 2, "headers")
    check_children(schema, array, "headers")
    column.kind = ARROW_OFFSETS_64 if kind == b"+L" else ARROW_OFFSETS_32
    column.validity = <const uint8_t *>array.buffers[0]
    column.index = <const uint8_t *>array.buffers[1]
    column.offset = offset + array.offset
    if column.index == NULL and rows:
        arrow_refused("headers", "its buffer of offsets is NULL")
    if (schema.n_children != 1 or arrow_format(schema.children[0], "headers") != b"+s"
            or schema.children[0].n_children != 2):
        refuse_column(schema, "headers", "list<struct<key: string, value: binary>>")
    take_pairs(&column, schema.children[0], array.children[0])
    return column


cdef int take_pairs(list_column_t *column, ArrowSchema *schema, ArrowArray *array) except -1:
    """The structs of key and value that the lists are made of."""
    cdef int key = 0, value = 1
    cdef int64_t rows
    check_array(array, 0, 1, "headers")
    check_children(schema, array, "headers")
    rows = array.offset + array.length
    column.end = array.length
    column.pair_validity = <const uint8_t *>array.buffers[0]
    column.pair_offset = array.offset
    if arrow_name(schema.children[0]) == b"value" and arrow_name(schema.children[1]) == b"key":
        key, value = 1, 0
    column.key = binary_column(schema.children[key], array.children[key], array.offset, rows, "header key")
    column.value = binary_column(schema.children[value], array.children[value], array.offset, rows, "header value")
    return 0


cdef int64_t arrow_bytes(const binary_column_t *column, int64_t rows) noexcept nogil:
    """About how many bytes the rows have, as far as that can be seen without a look at each."""
    cdef int64_t begin, end
    if column.kind == ARROW_FIXED:
        return rows * column.width
    if rows == 0 or column.kind == ARROW_NULL or column.kind == ARROW_VIEWS:
        return 0
    begin = offset_at(column.kind, column.index, column.offset)
    end = offset_at(column.kind, column.index, column.offset + rows)
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
    without the GIL. Raises CodecError for a column type that cannot be a record's and for an array that contradicts its
    schema, and whatever `encode` raises.
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
        raise_arrow_fault(rows, fault, row, builder.core.magic)
    return builder._finish()
