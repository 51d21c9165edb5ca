# Values in a binary column, Avro, Protobuf, JSON and CSV, into the columns of fixed plans: the columns fit each other, a
# value at fault is null in all of them, and the same value makes the same row wherever it stands.
#
# Plans come from the target in Python (`add_plans`), which makes them of the same schemas. Their columns are emptied after
# each input; where blocks are of exact size, they are given back.

cdef enum:
    DECODED_CELLS = 1 << 14
    MAX_DECODED = 50

cdef list _AVRO_PLANS = []
cdef list _PROTOBUF_PLANS = []
cdef list _JSON_PLANS = []
cdef list _CSV_PLANS = []


@cython.final
cdef class _Decoder:
    """One plan, its columns, and the column of values that comes in."""

    cdef object plan
    cdef object found                # the plans that an id chooses, of Avro
    cdef BuiltColumns out
    cdef ArrowValues values
    cdef value_faults_t faults

    def __cinit__(self, ColumnLayout layout, plan, found=None):
        self.plan = plan
        self.found = found
        self.out = BuiltColumns(layout)
        self.values = ArrowValues()
        memset(&self.values.array, 0, sizeof(ArrowArray))


def add_plans(avro, protobuf, json, csv):
    """Lists of plans: (layout, plan) of Avro, such a pair without and one with a frame of Protobuf, a plan of each text."""
    for layout, plan in avro:
        _AVRO_PLANS.append((_Decoder(layout, plan, _AvroPlans(plan)), _Decoder(layout, plan, _AvroPlans({7: plan}))))
    for plain, framed in protobuf:
        _PROTOBUF_PLANS.append((_Decoder(*plain), _Decoder(*framed)))
    for plan in json:
        _JSON_PLANS.append(_Decoder((<TextPlan?>plan).layout, plan))
    for plan in csv:
        _CSV_PLANS.append(_Decoder((<CsvPlan?>plan).plan.layout, plan))


# --- the column that comes in: memory of exact size for each of its buffers ---

ctypedef struct given_t:
    datum_t values[MAX_DECODED]
    int64_t count
    uint8_t *index
    uint8_t *data
    uint8_t *bits
    const uint8_t *lent[1]
    int64_t lent_size[1]


cdef void _draw_values(drawn_t *d, given_t *given) noexcept nogil:
    """What `values._values` draws."""
    cdef uint8_t how = drawn_byte(d)
    given.count = 0
    if how < 192:
        drawn_take(d, drawn_left(d), &given.values[0])
        given.count = 1
        if how >= 128:
            given.values[1].size = -1
            given.values[2] = given.values[3] = given.values[0]
            given.values[2].size //= 2
            given.count = 4
        return
    while drawn_left(d) and given.count < MAX_DECODED:
        drawn_blob_or_none(d, &given.values[given.count])
        given.count += 1


cdef void _add_frames(given_t *given, const uint8_t *frame, int64_t frame_size, uint8_t **memory) noexcept nogil:
    """A frame before each value; `memory` holds them."""
    cdef int64_t i, size = 0
    cdef uint8_t *at
    for i in range(given.count):
        size += frame_size + max(given.values[i].size, 0)
    at = memory[0] = <uint8_t *>malloc(<size_t>max(size, 1))
    for i in range(given.count):
        if given.values[i].size < 0:
            continue
        memcpy(at, frame, <size_t>frame_size)
        memcpy(at + frame_size, given.values[i].data, <size_t>given.values[i].size)
        given.values[i].data = at
        given.values[i].size += frame_size
        at += given.values[i].size


cdef void _make_column(given_t *given, binary_column_t *column, int kind) noexcept nogil:
    """The values as a column of offsets of 32 or 64 bits, or of views, with nulls or, if there are none, without bits."""
    cdef int64_t i, at = 0, size = 0
    cdef int64_t nulls = 0
    for i in range(given.count):
        size += max(given.values[i].size, 0)
        nulls += given.values[i].size < 0
    memset(column, 0, sizeof(binary_column_t))
    given.index = <uint8_t *>malloc(<size_t>(16 * max(given.count, 1) if kind == ARROW_VIEWS else
                                             (given.count + 1) * (8 if kind == ARROW_OFFSETS_64 else 4)))
    given.data = <uint8_t *>malloc(<size_t>max(size, 1))
    given.bits = <uint8_t *>malloc(<size_t>(given.count // 8 + 1)) if nulls else NULL
    if nulls:
        memset(given.bits, 0xFF, <size_t>(given.count // 8 + 1))
    if kind != ARROW_VIEWS:
        _put_offset(given.index, kind, 0, 0)
    for i in range(given.count):
        if given.values[i].size < 0:
            clear_bit(given.bits, i)
        if kind == ARROW_VIEWS:
            _put_view(given.index + 16 * i, given.values[i].data, 0, <int32_t>given.values[i].size, 0)
            if given.values[i].size > VIEW_INLINE:
                (<int32_t *>(given.index + 16 * i))[3] = <int32_t>at
        if given.values[i].size > 0:
            memcpy(given.data + at, given.values[i].data, <size_t>given.values[i].size)
            at += given.values[i].size
        if kind != ARROW_VIEWS:
            _put_offset(given.index, kind, i + 1, at)
    given.lent[0], given.lent_size[0] = given.data, size
    column.kind = kind
    column.validity, column.index, column.data = given.bits, given.index, given.data
    column.variadic, column.sizes, column.n_variadic = given.lent, given.lent_size, 1
    column.end = size


cdef inline void _put_offset(uint8_t *index, int kind, int64_t place, int64_t offset) noexcept nogil:
    if kind == ARROW_OFFSETS_64:
        (<int64_t *>index)[place] = offset
    else:
        (<int32_t *>index)[place] = <int32_t>offset


# --- what came out ---

cdef const char *_check_node(const node_t *nodes, int number, int64_t rows) noexcept nogil:
    """The node has so many rows, and all below it as many as it says."""
    cdef const node_t *node = &nodes[number]
    cdef const char *wrong
    cdef int64_t i
    if node.length != rows or node.length > node.room and rows:
        return b"a column with more or fewer rows than its parent"
    if rows and (node.kind == NODE_BYTES or node.kind == NODE_LIST):
        if node.offsets[0] != 0:
            return b"offsets that do not begin at 0"
        for i in range(rows):
            if node.offsets[i] > node.offsets[i + 1]:
                return b"offsets that go back"
    if node.kind == NODE_BYTES:
        return unless(node.used == (node.offsets[rows] if rows else 0) and node.used <= node.bytes_room,
                      b"offsets that do not end where the bytes do")
    for i in range(node.n_children):
        wrong = _check_node(nodes, node.children[i],
                            rows if node.kind == NODE_STRUCT else node.offsets[rows] if rows else 0)
        if wrong != NULL:
            return wrong
    return NULL


cdef bint _are_same(const node_t *nodes, int number, int64_t a, int64_t b) noexcept nogil:
    """Whether two rows are the same, with all below them."""
    cdef const node_t *node = &nodes[number]
    cdef int64_t i, size
    if arrow_is_null(node.validity, a) or arrow_is_null(node.validity, b):
        return arrow_is_null(node.validity, a) and arrow_is_null(node.validity, b)
    if node.kind == NODE_BOOL:
        return node.data[a >> 3] >> (a & 7) & 1 == node.data[b >> 3] >> (b & 7) & 1
    if node.kind == NODE_FIXED:
        return memcmp(node.data + a * node.width, node.data + b * node.width, <size_t>node.width) == 0
    if node.kind == NODE_STRUCT:
        for i in range(node.n_children):
            if not _are_same(nodes, node.children[i], a, b):
                return False
        return True
    if node.kind == NODE_NULL:
        return True
    size = node.offsets[a + 1] - node.offsets[a]
    if node.offsets[b + 1] - node.offsets[b] != size:
        return False
    if node.kind == NODE_BYTES:
        return size == 0 or memcmp(node.data + node.offsets[a], node.data + node.offsets[b], <size_t>size) == 0
    for i in range(size):
        if not _are_same(nodes, node.children[0], node.offsets[a] + i, node.offsets[b] + i):
            return False
    return True


cdef bint _is_null_row(const node_t *nodes, int64_t row) noexcept nogil:
    cdef int i
    for i in range(nodes[0].n_children):
        if nodes[nodes[0].children[i]].kind != NODE_NULL and not arrow_is_null(
                nodes[nodes[0].children[i]].validity, row):
            return False
    return True


cdef const char *_check_decoded(const node_t *nodes, const given_t *given, const value_faults_t *faults) noexcept nogil:
    cdef const char *wrong = _check_node(nodes, 0, given.count)
    cdef int64_t i, row, last = -1
    if wrong != NULL:
        return wrong
    for i in range(faults.count):
        row = faults.faults[i].row
        if row <= last or row >= given.count or not 0 <= faults.faults[i].at <= given.values[row].size:
            return b"a fault in no row, or outside of its value"
        if not _is_null_row(nodes, row):
            return b"a value at fault that is not null"
        last = row
    for row in range(given.count):
        if given.values[row].size < 0 and not _is_null_row(nodes, row):
            return b"a null that is not null"
    if given.count == 4 and given.values[3].data == given.values[0].data:
        return unless(_are_same(nodes, 0, 0, 3), b"the same value makes two different rows")
    return NULL


cdef void _empty(BuiltColumns out) noexcept nogil:
    cdef node_t *node
    cdef int i
    if not KW_EXACT_BLOCKS:
        node_truncate(out.nodes, 0, 0)
        return
    for i in range(out.layout.count):
        node = &out.nodes[i]
        release_block(node.data_block)
        release_block(node.offsets_block)
        release_block(node.validity_block)
        out.nodes[i] = out.layout.nodes[i]


# --- the targets ---

ctypedef int64_t (*decode_t)(_Decoder decoder, int64_t size, const given_t *given) noexcept


cdef const char *_decoded(_Decoder decoder, uint8_t how, given_t *given, decode_t decode) except? NULL:
    cdef BuiltColumns out = decoder.out
    cdef const char *wrong
    cdef int64_t size = 0, i
    for i in range(given.count):
        size += max(given.values[i].size, 0)
    _make_column(given, &decoder.values.value, ARROW_OFFSETS_32 if how % 5 in (0, 2) else
                 ARROW_VIEWS if how % 5 == 4 else ARROW_OFFSETS_64)
    decoder.values.length = given.count
    memset(&decoder.faults, 0, sizeof(value_faults_t))
    if not out.reserve(0, given.count, min(size // max(out.layout.byte_columns, 1), 4096)):
        wrong = b"no room for columns"
    else:
        wrong = unless(decode(decoder, size, given) == -1, b"a column that is not read to its end")
    if wrong == NULL:
        wrong = _check_decoded(out.nodes, given, &decoder.faults)
    _empty(out)
    free(decoder.faults.faults)
    free(given.index)
    free(given.data)
    free(given.bits)
    return wrong


cdef int64_t _decode_avro(_Decoder decoder, int64_t size, const given_t *given) noexcept:
    cdef avro_t a
    memset(&a, 0, sizeof(avro_t))
    a.nodes = decoder.out.nodes
    a.empty_items_left = DECODED_CELLS
    a.cells = DECODED_CELLS + 256 * size + 4 * given.count * decoder.out.layout.nodes[0].cells
    return _avro_rows(decoder.values, <_AvroPlans>decoder.found, &a, &decoder.faults)


cdef const char *avro_values(const uint8_t *data, size_t size) except? NULL:
    cdef drawn_t d = drawn_of(data, size)
    cdef tuple decoders = _AVRO_PLANS[drawn_byte(&d) % len(_AVRO_PLANS)]
    cdef uint8_t how = drawn_byte(&d)
    cdef uint8_t *memory = NULL
    cdef const char *wrong
    cdef given_t given
    _draw_values(&d, &given)
    if how & 128:
        _add_frames(&given, <const uint8_t *>b"\0\0\0\0\7", 5, &memory)
    wrong = _decoded(decoders[how >> 7], how, &given, _decode_avro)
    free(memory)
    return wrong


cdef int64_t _decode_protobuf(_Decoder decoder, int64_t size, const given_t *given) noexcept:
    cdef ProtobufPlan plan = decoder.plan
    cdef proto_t p
    memset(&p, 0, sizeof(proto_t))
    p.messages = plan.messages
    p.nodes = decoder.out.nodes
    p.cells = DECODED_CELLS + 256 * size + 4 * given.count * decoder.out.layout.nodes[0].cells
    return _proto_rows(decoder.values, plan, &p, &decoder.faults)


cdef const char *protobuf_values(const uint8_t *data, size_t size) except? NULL:
    cdef drawn_t d = drawn_of(data, size)
    cdef tuple decoders = _PROTOBUF_PLANS[drawn_byte(&d) % len(_PROTOBUF_PLANS)]
    cdef uint8_t how = drawn_byte(&d)
    cdef given_t given
    _draw_values(&d, &given)
    return _decoded(decoders[how >> 7], how, &given, _decode_protobuf)


cdef int64_t _decode_json(_Decoder decoder, int64_t size, const given_t *given) noexcept:
    cdef json_t c
    memset(&c, 0, sizeof(json_t))
    text_init(&c.t, <TextPlan>decoder.plan, decoder.out)
    c.cells = DECODED_CELLS + 256 * size
    return _json_rows(decoder.values, &c, &decoder.faults)


cdef const char *json_values(const uint8_t *data, size_t size) except? NULL:
    cdef drawn_t d = drawn_of(data, size)
    cdef _Decoder decoder = _JSON_PLANS[drawn_byte(&d) % len(_JSON_PLANS)]
    cdef uint8_t how = drawn_byte(&d)
    cdef given_t given
    _draw_values(&d, &given)
    return _decoded(decoder, how, &given, _decode_json)


cdef int64_t _decode_csv(_Decoder decoder, int64_t size, const given_t *given) noexcept:
    cdef CsvPlan plan = decoder.plan
    cdef int64_t result
    cdef csv_t c
    memset(&c, 0, sizeof(csv_t))
    text_init(&c.t, plan.plan, decoder.out)
    c.places, c.count = plan.places, plan.count
    c.separator, c.quote, c.escape = plan.separator, plan.quote, plan.escape
    c.null, c.null_size = <const uint8_t *>PyBytes_AS_STRING(plan.null), <size_t>len(plan.null)
    result = _csv_rows(decoder.values, &c, &decoder.faults)
    free(c.scratch)
    return result


cdef const char *csv_values(const uint8_t *data, size_t size) except? NULL:
    cdef drawn_t d = drawn_of(data, size)
    cdef _Decoder decoder = _CSV_PLANS[drawn_byte(&d) % len(_CSV_PLANS)]
    cdef uint8_t how = drawn_byte(&d)
    cdef given_t given
    _draw_values(&d, &given)
    return _decoded(decoder, how, &given, _decode_csv)
