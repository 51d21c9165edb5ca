# Protobuf messages in a binary column, straight into Arrow columns: no object per message.
#
#   a message   fields in any order, each: varint tag (field number << 3 | wire type), then by the wire type
#   0           varint: int32 int64 uint32 uint64 bool enum; sint32 sint64 as zigzag
#   1, 5        8 or 4 bytes, little-endian: fixed64 sfixed64 double, fixed32 sfixed32 float
#   2           varint size, then: string, bytes, a message, or several numbers of a repeated field ("packed")
#   3, 4        begin and end of a group, a message without its size
# Source: protobuf.dev, "Encoding", "Field Presence"; what Spark's from_protobuf makes of absent fields.
#
# Fields that the plan (protobuf_plan.pxi) does not know, or of another wire type, are read over. The last value of a
# field counts, messages that come twice are merged, a member of a oneof takes away the others: a row is open until its
# message ends, and then what lacks is filled in.

cdef enum:
    MAX_GROUP_DEPTH = 100

cdef int64_t MICROS = 1000000


ctypedef struct proto_t:
    reader_t r
    const proto_message_t *messages
    node_t *nodes
    int64_t cells
    int depth
    int fault_place


# --- reading; a fault is the reader's sticky one ---

cdef inline bint _proto_kept(proto_t *p, bint done) noexcept nogil:
    if not done:
        reader_fail(&p.r, VALUE_FULL)
    return done


cdef inline bint _proto_spend(proto_t *p, int64_t cells) noexcept nogil:
    p.cells -= cells
    if p.cells < 0:
        reader_fail(&p.r, VALUE_CELLS)
    return p.cells >= 0


cdef inline uint64_t _proto_varint(reader_t *r) noexcept nogil:
    cdef uint32_t value
    if read_short_uvarint(r, &value):
        return value
    return read_long_uvarint(r, 10, 0x01)


cdef inline const uint8_t *_proto_sized(reader_t *r, int64_t *size) noexcept nogil:
    """The bytes of a field that says its size; NULL upon a fault."""
    cdef const uint8_t *begin = r.at
    cdef uint64_t claimed = _proto_varint(r)
    if claimed > <uint64_t>(r.end - r.at):
        r.at = begin
        reader_fail(r, FAULT_TRUNCATED)
    size[0] = <int64_t>claimed
    if r.error != FAULT_NONE:
        return NULL
    return read_span(r, <size_t>claimed)


cdef void _proto_skip(reader_t *r, uint32_t tag, int depth) noexcept nogil:
    """Reads over the value of a field that the plan does not have."""
    cdef int64_t size
    cdef uint32_t inner
    if tag & 7 == WIRE_VARINT:
        _proto_varint(r)
    elif tag & 7 == WIRE_64:
        read_span(r, 8)
    elif tag & 7 == WIRE_32:
        read_span(r, 4)
    elif tag & 7 == WIRE_SIZED:
        _proto_sized(r, &size)
    elif tag & 7 != WIRE_GROUP:
        reader_fail(r, VALUE_TAG)
    elif depth >= MAX_GROUP_DEPTH:
        reader_fail(r, VALUE_DEPTH)
    else:
        while True:
            inner = _proto_tag(r)
            if r.error != FAULT_NONE:
                return
            if inner & 7 == WIRE_END_GROUP:
                if inner >> 3 != tag >> 3:
                    reader_fail(r, VALUE_GROUP)
                return
            _proto_skip(r, inner, depth + 1)


cdef inline uint32_t _proto_tag(reader_t *r) noexcept nogil:
    cdef const uint8_t *begin = r.at
    cdef uint32_t tag = read_uvarint(r)
    if r.error == FAULT_NONE and tag >> 3 == 0:
        r.at = begin
        reader_fail(r, VALUE_TAG)
    return tag


cdef inline const proto_field_t *_proto_field(const proto_message_t *message, uint32_t number,
                                              int *next) noexcept nogil:
    """The field of that number, or NULL. Fields mostly come in their order: `next` is where it is looked for first."""
    cdef int low = 0, high = message.n_fields, middle
    if next[0] < message.n_fields and message.fields[next[0]].number == number:
        low = next[0]
    else:
        while low < high:
            middle = (low + high) // 2
            if message.fields[middle].number < number:
                low = middle + 1
            else:
                high = middle
        if low == message.n_fields or message.fields[low].number != number:
            return NULL
    next[0] = low if message.fields[low].flags & FIELD_REPEATED else low + 1
    return &message.fields[low]


cdef uint64_t _proto_number(proto_t *p, const proto_field_t *field) noexcept nogil:
    """The bits of a number, as its column has them."""
    cdef const uint8_t *raw
    cdef uint64_t value
    if field.op == PROTO_FIXED32:
        raw = read_span(&p.r, 4)
        return load_le32(raw) if raw != NULL else 0
    if field.op == PROTO_FIXED64:
        raw = read_span(&p.r, 8)
        return load_le64(raw) if raw != NULL else 0
    value = _proto_varint(&p.r)
    if field.op == PROTO_INT32 or field.op == PROTO_ENUM:
        return <uint64_t><int64_t><int32_t>value
    if field.op == PROTO_UINT32:
        return <uint32_t>value
    if field.op == PROTO_SINT32:
        return <uint64_t><int64_t><int32_t>((<uint32_t>value >> 1) ^ (0 - (<uint32_t>value & 1)))
    if field.op == PROTO_SINT64:
        return (value >> 1) ^ (0 - (value & 1))
    return value != 0 if field.op == PROTO_BOOL else value


cdef const symbol_t *_proto_symbol(const proto_field_t *field, int32_t number) noexcept nogil:
    cdef int low = 0, high = field.n_symbols, middle
    while low < high:
        middle = (low + high) // 2
        if field.symbols[middle].number < number:
            low = middle + 1
        else:
            high = middle
    return &field.symbols[low] if low < field.n_symbols and field.symbols[low].number == number else NULL


cdef bint _proto_add_enum(proto_t *p, const proto_field_t *field, node_t *node, int32_t number) noexcept nogil:
    """False when the number has no name, and its field shall be as if it were not there."""
    cdef const symbol_t *symbol = _proto_symbol(field, number)
    cdef uint8_t digits[12]
    cdef int used = 12
    cdef int64_t left = number if number >= 0 else -<int64_t>number
    if symbol != NULL:
        if _proto_spend(p, symbol.text.size >> 6):
            _proto_kept(p, add_bytes(node, symbol.text.data, symbol.text.size))
        return True
    if not field.flags & FIELD_OPEN_ENUM:
        return False
    while used == 12 or left:
        used -= 1
        digits[used] = <uint8_t>(c'0' + left % 10)
        left //= 10
    if number < 0:
        used -= 1
        digits[used] = c'-'
    if not _proto_spend(p, field.text.size >> 6):
        return True
    if _proto_kept(p, add_bytes(node, field.text.data, field.text.size)):
        if _proto_kept(p, node_reserve_bytes(node, node.used + 12)):
            memcpy(node.data + node.used, digits + used, <size_t>(12 - used))
            node.used += 12 - used
            node.offsets[node.length] = <int32_t>node.used
    return True


cdef bint _proto_add_number(proto_t *p, const proto_field_t *field, node_t *node, uint64_t value) noexcept nogil:
    """False when nothing was added: an enum's number without a name."""
    if field.op == PROTO_ENUM:
        return _proto_add_enum(p, field, node, <int32_t>value)
    if node.kind == NODE_BOOL:
        _proto_kept(p, add_bool(node, value))
    elif node.width == 4:
        _proto_kept(p, add_fixed_32(node, <uint32_t>value))
    elif node.width == 8:
        _proto_kept(p, add_fixed_64(node, value))
    elif _proto_kept(p, node_has_room(node)):
        memset(node.data + 16 * node.length, 0, 16)
        memcpy(node.data + 16 * node.length, &value, 8)
        node.length += 1
    return True


cdef void _proto_add_bytes(proto_t *p, const proto_field_t *field, node_t *node, const uint8_t *raw,
                           int64_t size) noexcept nogil:
    cdef int64_t repaired
    if field.op == PROTO_BYTES or kw_utf8_is_valid(raw, <size_t>size):
        _proto_kept(p, add_bytes(node, raw, size))
        return
    if field.flags & FIELD_STRICT_TEXT:
        p.r.at = raw
        reader_fail(&p.r, VALUE_UTF8)
        return
    repaired = <int64_t>kw_utf8_repaired_size(raw, <size_t>size)
    if not _proto_kept(p, add_bytes(node, NULL, 0) and node_reserve_bytes(node, node.used + repaired)):
        return
    repaired = kw_utf8_repair(node.data + node.used, <size_t>(node.bytes_room - node.used), raw, <size_t>size)
    node.used += max(repaired, <int64_t>0)
    node.offsets[node.length] = <int32_t>node.used


cdef void _proto_time(proto_t *p, node_t *node, const uint8_t *raw, int64_t size) noexcept nogil:
    """Seconds and nanos of a Timestamp or Duration."""
    cdef reader_t outer = p.r
    cdef int64_t seconds = 0, micros = 0
    cdef uint32_t tag
    reader_init_at(&p.r, outer.start, raw + size, raw)
    while p.r.at < p.r.end:
        tag = _proto_tag(&p.r)
        if p.r.error != FAULT_NONE:
            break
        if tag == 1 << 3 | WIRE_VARINT:
            seconds = <int64_t>_proto_varint(&p.r)
        elif tag == 2 << 3 | WIRE_VARINT:
            micros = <int32_t>_proto_varint(&p.r) // 1000
        else:
            _proto_skip(&p.r, tag, 0)
    if p.r.error == FAULT_NONE:
        if seconds > INT64_MAX // MICROS - 3000 or seconds < INT64_MIN // MICROS + 3000:
            p.r.at = raw
            reader_fail(&p.r, VALUE_RANGE)
        else:
            _proto_kept(p, add_fixed_64(node, <uint64_t>(seconds * MICROS + micros)))
    outer.error, outer.fault_at = p.r.error, p.r.fault_at
    p.r = outer
    if outer.error != FAULT_NONE:
        p.r.at = p.r.end


cdef void _proto_nested(proto_t *p, const proto_field_t *field, int64_t row) noexcept nogil:
    """A message or a group as row `row` of its columns, begun or gone on with; ended in any case."""
    cdef const uint8_t *end = p.r.end
    cdef const uint8_t *raw
    cdef int64_t size
    if p.depth >= MAX_STEP_DEPTH:
        reader_fail(&p.r, VALUE_DEPTH)
        return
    p.depth += 1
    if field.op == PROTO_GROUP:
        _proto_message(p, field.message, row, field.number)
    else:
        raw = _proto_sized(&p.r, &size)
        if raw != NULL:
            p.r.at = raw
            p.r.end = raw + size
            _proto_message(p, field.message, row, 0)
            p.r.end = end
            if p.r.error != FAULT_NONE:
                p.r.at = end
    p.depth -= 1


cdef void _proto_repeated(proto_t *p, const proto_field_t *field, uint32_t wire, int64_t row) noexcept nogil:
    """One value more of a repeated field, or several packed ones."""
    cdef node_t *list_node = &p.nodes[field.node]
    cdef node_t *node = &p.nodes[list_node.children[0]]
    cdef const uint8_t *end = p.r.end
    cdef const uint8_t *raw
    cdef int64_t size
    list_node.length = row                   # a message that is gone on with has ended its lists
    if field.op == PROTO_MESSAGE or field.op == PROTO_GROUP:
        _proto_nested(p, field, node.length)
    elif field.wire == WIRE_SIZED:
        raw = _proto_sized(&p.r, &size)
        if raw != NULL and field.op == PROTO_TIME:
            _proto_time(p, node, raw, size)
        elif raw != NULL:
            _proto_add_bytes(p, field, node, raw, size)
    elif wire == WIRE_SIZED:
        raw = _proto_sized(&p.r, &size)
        if raw == NULL:
            return
        p.r.at = raw
        p.r.end = raw + size
        while p.r.at < p.r.end:
            _proto_add_number(p, field, node, _proto_number(p, field))
        p.r.end = end
        if p.r.error != FAULT_NONE:
            p.r.at = end
    else:
        _proto_add_number(p, field, node, _proto_number(p, field))


cdef void _proto_single(proto_t *p, const proto_field_t *field, int64_t row) noexcept nogil:
    cdef node_t *node = &p.nodes[field.node]
    cdef const uint8_t *raw
    cdef uint64_t value
    cdef int64_t size
    if field.op == PROTO_MESSAGE or field.op == PROTO_GROUP:
        if p.messages[field.message].node >= 0 and node.length > row:
            if arrow_is_null(node.validity, row):
                node_truncate(p.nodes, field.node, row)
            node.length = row
        _proto_nested(p, field, row)
        return
    if field.wire == WIRE_SIZED:
        raw = _proto_sized(&p.r, &size)
        if raw == NULL:
            return
        if node.length > row:
            node_truncate(p.nodes, field.node, row)
        if field.op == PROTO_TIME:
            _proto_time(p, node, raw, size)
        elif size or field.flags & FIELD_KEEPS_ZERO:
            _proto_add_bytes(p, field, node, raw, size)
        return
    value = _proto_number(p, field)
    if field.op == PROTO_ENUM and not field.flags & FIELD_OPEN_ENUM and _proto_symbol(field, <int32_t>value) == NULL:
        return                               # it does not take away an earlier value
    if node.length > row:
        node_truncate(p.nodes, field.node, row)
    if value or field.flags & FIELD_KEEPS_ZERO:
        _proto_add_number(p, field, node, value)


cdef void _proto_clear_oneof(proto_t *p, const proto_message_t *message, const proto_field_t *field,
                             int64_t row) noexcept nogil:
    """Takes away what other members of the field's oneof have."""
    cdef int i
    for i in range(message.n_fields):
        if message.fields[i].oneof == field.oneof and &message.fields[i] != field:
            node_truncate(p.nodes, message.fields[i].node, row)


cdef void _proto_message(proto_t *p, int number, int64_t row, uint32_t group) noexcept nogil:
    """Fields up to the end of the bytes, or of the group of that number, as row `row` of the message's columns."""
    cdef const proto_message_t *message = &p.messages[number]
    cdef const proto_field_t *field
    cdef uint32_t tag
    cdef int next = 0
    while p.r.at < p.r.end or group:
        tag = _proto_tag(&p.r)
        if p.r.error != FAULT_NONE:
            return
        if tag & 7 == WIRE_END_GROUP:
            if tag >> 3 != group:
                reader_fail(&p.r, VALUE_GROUP)
                return
            break
        field = _proto_field(message, tag >> 3, &next)
        if field == NULL or not _proto_fits(field, tag & 7):
            _proto_skip(&p.r, tag, 0)
        elif field.flags & FIELD_REPEATED:
            _proto_repeated(p, field, tag & 7, row)
        else:
            if field.oneof >= 0:
                _proto_clear_oneof(p, message, field, row)
            _proto_single(p, field, row)
        if p.r.error != FAULT_NONE:
            if p.fault_place < 0 and field != NULL:
                p.fault_place = field.place
            return
    _proto_end(p, message, row)


cdef inline bint _proto_fits(const proto_field_t *field, uint32_t wire) noexcept nogil:
    if wire == <uint32_t>field.wire:
        return True
    return wire == WIRE_SIZED and field.flags & FIELD_REPEATED and field.op < PROTO_BYTES


cdef void _proto_end(proto_t *p, const proto_message_t *message, int64_t row) noexcept nogil:
    """Fills in what row `row` lacks, and ends it."""
    cdef const proto_field_t *field
    cdef node_t *node
    cdef int i
    if not _proto_spend(p, message.n_fields):
        return
    for i in range(message.n_fields):
        field = &message.fields[i]
        node = &p.nodes[field.node]
        if node.length > row:
            continue
        if field.flags & FIELD_REPEATED:
            _proto_kept(p, end_list(p.nodes, node))
        elif field.flags & FIELD_REQUIRED:
            reader_fail(&p.r, VALUE_REQUIRED)
            if p.fault_place < 0:
                p.fault_place = field.place
        elif field.flags & FIELD_HAS_DEFAULT:
            _proto_default(p, field, node, row)
        elif node.cells == 1 or _proto_spend(p, node.cells):
            _proto_kept(p, add_null(p.nodes, field.node))
    if message.node >= 0:
        _proto_kept(p, end_struct(&p.nodes[message.node]))


cdef void _proto_default(proto_t *p, const proto_field_t *field, node_t *node, int64_t row) noexcept nogil:
    if field.op == PROTO_MESSAGE or field.op == PROTO_GROUP:
        _proto_end(p, &p.messages[field.message], row)
    elif field.op == PROTO_TIME:
        _proto_kept(p, add_fixed_64(node, 0))
    elif field.wire == WIRE_SIZED:
        if _proto_spend(p, field.text.size >> 6):
            _proto_kept(p, add_bytes(node, field.text.data, field.text.size))
    elif not _proto_add_number(p, field, node, field.default):
        _proto_kept(p, add_null(p.nodes, field.node))


# --- a column of messages ---

cdef bint _proto_path(reader_t *r, const int32_t *path, int size) noexcept nogil:
    """Whether the message indexes after the schema's id are these; a count of zero stands for the one index 0."""
    cdef const uint8_t *begin = r.at
    cdef int64_t count = read_varlong(r)
    cdef int32_t i, index
    cdef bint same = count == size or count == 0 and size == 1 and path[0] == 0
    if r.error == FAULT_NONE and count:
        for i in range(size if same else 0):
            index = read_varint(r)
            same = same and index == path[i]
    if r.error == FAULT_NONE and not same:
        r.at = begin
        reader_fail(r, VALUE_MESSAGE_INDEX)
    return r.error == FAULT_NONE


cdef bint _proto_row(proto_t *p, ProtobufPlan plan, const datum_t *datum, int64_t row) noexcept nogil:
    reader_init(&p.r, datum.data, <size_t>datum.size)
    p.fault_place = -1
    p.depth = 0
    if plan.framed:
        read_frame(&p.r)
        if p.r.error != FAULT_NONE or not _proto_path(&p.r, plan.path, plan.path_size):
            return False
    _proto_message(p, 0, row, 0)
    return p.r.error == FAULT_NONE


cdef int64_t _proto_rows(ArrowValues rows, ProtobufPlan plan, proto_t *p, value_faults_t *faults) noexcept nogil:
    """All rows; returns -1, or the row that cannot be read, or -2 without memory."""
    cdef datum_t datum
    cdef value_fault_t fault
    cdef int64_t row, cells
    memset(&fault, 0, sizeof(value_fault_t))
    for row in range(rows.length):
        if arrow_datum(&rows.value, row, &datum) != ARROW_OK:
            return row
        cells = p.cells
        if datum.size >= 0:
            if _proto_row(p, plan, &datum, row):
                continue
            p.cells = cells
            fault.row = row
            fault.at = p.r.fault_at - datum.data
            fault.fault = p.r.error
            fault.step = p.fault_place
            if not add_fault(faults, fault):
                return -2
        if not null_row(p.nodes, row):
            return -2
    return -1


def decode_protobuf(values, ColumnLayout layout not None, ProtobufPlan plan not None):
    """The Protobuf messages of a binary column (anything with `__arrow_c_array__`) as BuiltColumns.

    A null is null in all columns. A message that cannot be decoded is one of the result's `faults`. Runs without the
    GIL.
    """
    cdef ArrowValues rows = ArrowRecords(values)
    cdef BuiltColumns out = BuiltColumns(layout)
    cdef int64_t size = arrow_bytes(&rows.value, rows.length)
    cdef value_faults_t faults
    cdef proto_t p
    cdef int64_t result, i
    if plan.layout is not layout:
        raise _errors.ConfigError("a Protobuf plan of another layout of columns")
    memset(&faults, 0, sizeof(value_faults_t))
    memset(&p, 0, sizeof(proto_t))
    p.messages = plan.messages
    p.nodes = out.nodes
    p.cells = CELLS_FREE + 256 * size + 4 * rows.length * layout.nodes[0].cells
    try:
        with nogil:
            if out.reserve(0, rows.length, min(size // max(layout.byte_columns, 1), rows.length * MAX_BYTES_HINT)):
                result = _proto_rows(rows, plan, &p, &faults)
            else:
                result = -2
        if result == -2 or out.was_refused():
            raise _errors.LimitError(f"out of memory for the columns of {rows.length} messages")
        if result >= 0:
            raise_arrow_row(result)
        for i in range(faults.count):
            out.faults.append(plan.described(&faults.faults[i]))
    finally:
        free(faults.faults)
    return out
