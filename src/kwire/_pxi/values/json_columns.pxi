# JSON objects into columns, by the names and types of a plan; no Python object per value.
#
# Names that the plan lacks are passed over, but must be JSON; a name that is missing is null, of one that stands twice
# the last counts; null is null everywhere. A value at fault makes its record null in all columns, and no other one.
# Recursion is as deep as the plan. Bounds are checked in json_text.h alone.

cdef extern from "json_text.h" nogil:
    enum:
        KW_JSON_END
        KW_JSON_UNEXPECTED
        KW_JSON_UTF8
        KW_JSON_CONTROL
        KW_JSON_ESCAPE
        KW_JSON_DEEP
        KW_JSON_TRAILING
        KW_JSON_STEP

    ctypedef struct kw_json:
        const uint8_t *at
        const uint8_t *end
        const uint8_t *limit
        const uint8_t *fault_at
        int error

    ctypedef struct kw_json_span:
        const uint8_t *p
        size_t size
        bint escaped

    void kw_json_init(kw_json *j, const uint8_t *text, size_t size, const uint8_t *limit)
    bint kw_json_fail(kw_json *j, int error, const uint8_t *at)
    int kw_json_peek(const kw_json *j)
    const uint8_t *kw_json_blanks(const uint8_t *p, const uint8_t *end)
    int kw_json_next(kw_json *j)
    bint kw_json_expect(kw_json *j, int c)
    bint kw_json_word(kw_json *j, const char *word, size_t size)
    bint kw_json_string(kw_json *j, kw_json_span *out)
    size_t kw_json_unescape(uint8_t *out, const kw_json_span *text)
    bint kw_json_number(kw_json *j, kw_json_span *out, bint *integer)
    bint kw_json_skip(kw_json *j)
    bint kw_json_may_look_ahead(const kw_json *j)
    const uint8_t *kw_json_plain_key(const uint8_t *p, const uint8_t *end, const uint8_t *key, int64_t size,
                                     unsigned mask)
    const uint8_t *kw_json_plain_number(const uint8_t *p, const uint8_t *end, bint *negative, uint64_t *mantissa,
                                        unsigned *fraction)
    const uint8_t *kw_json_plain_string(const uint8_t *p, const uint8_t *end, const uint8_t *limit, uint8_t *out)

cdef enum:
    JSON_SHOWN = 40                # bytes of a value that its fault shows
    JSON_FREE_CELLS = 1 << 20


_TEXT_FAULT_TEXTS.update({
    KW_JSON_END: "the JSON ends early", KW_JSON_UNEXPECTED: "not JSON: {}", KW_JSON_UTF8: "not UTF-8",
    KW_JSON_CONTROL: "a control character in a string", KW_JSON_ESCAPE: "an escape sequence that JSON does not have",
    KW_JSON_DEEP: "more than 1000 arrays and objects inside each other", KW_JSON_TRAILING: "text after the JSON object",
})


ctypedef struct json_t:            # one run over values
    kw_json j
    text_t t
    int64_t cells                  # how many more values may come out of lists and maps
    int fault_node


cdef inline bint _json_full(json_t *c) noexcept nogil:
    return kw_json_fail(&c.j, TEXT_FULL, c.j.at)


cdef bint _json_put_string(json_t *c, int number, const kw_json_span *text) noexcept nogil:
    cdef node_t *node = &c.t.nodes[number]
    if not text.escaped:
        return add_bytes(node, text.p, <int64_t>text.size) or _json_full(c)
    if not node_has_room(node) or not node_reserve_bytes(node, node.used + <int64_t>text.size):
        return _json_full(c)
    add_written(node, <int64_t>kw_json_unescape(node.data + node.used, text))
    return True


cdef bint _json_string(json_t *c, int number, int first) noexcept nogil:
    """A string, or the text of any other value."""
    cdef kw_json_span text
    if first == c'"' or first == c"'":
        return kw_json_string(&c.j, &text) and _json_put_string(c, number, &text)
    text.p = c.j.at
    text.escaped = False
    if not kw_json_skip(&c.j):
        return False
    text.size = <size_t>(c.j.at - text.p)
    return _json_put_string(c, number, &text)


cdef inline bint _json_starts_number(int first) noexcept nogil:
    return c'0' <= first <= c'9' or first == c'-' or first == c'N' or first == c'I'


cdef bint _json_text(json_t *c, int first, kw_json_span *text) noexcept nogil:
    """The text of a string whose value is not a string; escapes, which such a value never needs, make it unreadable."""
    cdef const uint8_t *at = c.j.at
    if first != c'"' and first != c"'":
        return kw_json_fail(&c.j, TEXT_TYPE, at)
    if not kw_json_string(&c.j, text):
        return False
    if text.escaped or text.size == 0:
        return kw_json_fail(&c.j, TEXT_RANGE, at)
    return True


cdef inline bint _json_put(json_t *c, int fault, const uint8_t *at) noexcept nogil:
    """Whether a text was put into its column; if not, what begins at `at` is at fault."""
    return fault == 0 or kw_json_fail(&c.j, fault, at)


cdef bint _json_integer(json_t *c, int number, int first) noexcept nogil:
    cdef kw_json_span text
    cdef bint integer
    cdef const uint8_t *at = c.j.at
    if not _json_starts_number(first):
        return kw_json_fail(&c.j, TEXT_TYPE, at)
    if not kw_json_number(&c.j, &text, &integer):
        return False
    if not integer:
        return kw_json_fail(&c.j, TEXT_TYPE, at)
    return _json_put(c, put_integer(&c.t, number, text.p, text.size), at)


cdef bint _json_floating(json_t *c, int number, int first) noexcept nogil:
    cdef kw_json_span text
    cdef bint integer
    cdef double value
    cdef const uint8_t *at = c.j.at
    if _json_starts_number(first):
        if not kw_json_number(&c.j, &text, &integer):
            return False
        if text.p[text.size - 1] <= c'9':
            return _json_put(c, put_number(&c.t, number, text.p, text.size), at)
    elif not _json_text(c, first, &text):
        return False
    if not not_finite(text.p, text.size, &value):
        return kw_json_fail(&c.j, TEXT_TYPE, at)
    return _json_put(c, put_floating(&c.t.nodes[number], value), at)


cdef bint _json_decimal(json_t *c, int number, int first) noexcept nogil:
    cdef kw_json_span text
    cdef bint integer
    cdef const uint8_t *at = c.j.at
    if _json_starts_number(first):
        if not kw_json_number(&c.j, &text, &integer):
            return False
    elif not _json_text(c, first, &text):
        return False
    return _json_put(c, put_decimal(&c.t, number, text.p, text.size), at)


cdef bint _json_date(json_t *c, int number, int first) noexcept nogil:
    cdef kw_json_span text
    cdef const uint8_t *at = c.j.at
    return _json_text(c, first, &text) and _json_put(c, put_date(&c.t, number, text.p, text.size), at)


cdef bint _json_timestamp(json_t *c, int number, int first) noexcept nogil:
    cdef kw_json_span text
    cdef bint integer
    cdef const uint8_t *at = c.j.at
    if not _json_starts_number(first) or c.t.plan[number].kind == TEXT_TIMESTAMP_NTZ:
        return _json_text(c, first, &text) and _json_put(c, put_timestamp(&c.t, number, text.p, text.size), at)
    if not kw_json_number(&c.j, &text, &integer):
        return False
    if not integer:
        return kw_json_fail(&c.j, TEXT_TYPE, at)
    return _json_put(c, put_seconds(&c.t, number, text.p, text.size), at)


cdef bint _json_boolean(json_t *c, int number, int first) noexcept nogil:
    if first == c't':
        return kw_json_word(&c.j, b"true", 4) and (add_bool(&c.t.nodes[number], True) or _json_full(c))
    if first == c'f':
        return kw_json_word(&c.j, b"false", 5) and (add_bool(&c.t.nodes[number], False) or _json_full(c))
    return kw_json_fail(&c.j, TEXT_TYPE, c.j.at)


cdef bint _json_binary(json_t *c, int number, int first) noexcept nogil:
    cdef node_t *node = &c.t.nodes[number]
    cdef kw_json_span text
    cdef const uint8_t *at = c.j.at
    cdef int64_t size
    if first != c'"' and first != c"'":
        return kw_json_fail(&c.j, TEXT_TYPE, at)
    if not kw_json_string(&c.j, &text):
        return False
    if not node_has_room(node) or not node_reserve_bytes(node, node.used + <int64_t>text.size):
        return _json_full(c)
    if text.escaped:                # `\/`, which some writers make of each slash
        text.size = kw_json_unescape(node.data + node.used, &text)
        text.p = node.data + node.used
    size = kw_bytes_of_base64(node.data + node.used, text.p, text.size)
    if size < 0:
        return kw_json_fail(&c.j, TEXT_RANGE, at)
    add_written(node, size)
    return True


cdef inline bint _json_take_cells(json_t *c, int number) noexcept nogil:
    c.cells -= c.t.nodes[number].cells
    return c.cells >= 0 or kw_json_fail(&c.j, TEXT_CELLS, c.j.at)


cdef bint _json_list(json_t *c, int number, int first) noexcept nogil:
    cdef node_t *node = &c.t.nodes[number]
    cdef int child = node.children[0]
    if first != c'[':
        return kw_json_fail(&c.j, TEXT_TYPE, c.j.at)
    c.j.at += 1
    if kw_json_next(&c.j) == c']':
        c.j.at += 1
        return end_list(c.t.nodes, node) or _json_full(c)
    while True:
        if not _json_take_cells(c, child) or not _json_value(c, child):
            return False
        if kw_json_next(&c.j) == c']':
            c.j.at += 1
            return end_list(c.t.nodes, node) or _json_full(c)
        if not kw_json_expect(&c.j, c','):
            return False


cdef bint _json_key(json_t *c, kw_json_span *key) noexcept nogil:
    """A key and its colon."""
    cdef int first = kw_json_next(&c.j)
    if first != c'"' and first != c"'":
        return kw_json_fail(&c.j, KW_JSON_UNEXPECTED, c.j.at)
    return kw_json_string(&c.j, key) and kw_json_expect(&c.j, c':')


cdef bint _json_map(json_t *c, int number, int first) noexcept nogil:
    cdef node_t *node = &c.t.nodes[number]
    cdef node_t *entries = &c.t.nodes[node.children[0]]
    cdef kw_json_span key
    if first != c'{':
        return kw_json_fail(&c.j, TEXT_TYPE, c.j.at)
    c.j.at += 1
    if kw_json_next(&c.j) == c'}':
        c.j.at += 1
        return end_list(c.t.nodes, node) or _json_full(c)
    while True:
        if not _json_take_cells(c, node.children[0]) or not _json_key(c, &key):
            return False
        if not _json_put_string(c, entries.children[0], &key) or not _json_value(c, entries.children[1]):
            return False
        if not end_struct(entries):
            return _json_full(c)
        if kw_json_next(&c.j) == c'}':
            c.j.at += 1
            return end_list(c.t.nodes, node) or _json_full(c)
        if not kw_json_expect(&c.j, c','):
            return False


cdef int _json_find(const json_t *c, const node_t *node, const uint8_t *name, size_t size, int hint) noexcept nogil:
    """The place among the node's children of the field with that name, looked for from `hint` on; -1 for none."""
    cdef const text_node_t *plan
    cdef int i, place = hint
    for i in range(node.n_children):
        if place >= node.n_children:
            place = 0
        plan = &c.t.plan[node.children[place]]
        if plan.name_size == size and memcmp(plan.name, name, size) == 0:
            return place
        place += 1
    return -1


cdef int _json_find_escaped(json_t *c, const node_t *node, const kw_json_span *key, int hint) noexcept nogil:
    cdef uint8_t *name = <uint8_t *>malloc(max(key.size, <size_t>1))
    cdef int place = -1
    if name == NULL:
        c.t.nodes[0].refused = True
        _json_full(c)
        return -1
    place = _json_find(c, node, name, kw_json_unescape(name, key), hint)
    free(name)
    return place


cdef int _json_field(json_t *c, const node_t *node, int hint) noexcept nogil:
    """Passes a key and its colon; the place of its field, or -1 for a field that is not wanted, or a fault.

    `hint` is where the field is, if this object has its keys in the order of the schema.
    """
    cdef kw_json_span key
    if not _json_key(c, &key):
        return -1
    if key.escaped:
        return _json_find_escaped(c, node, &key, hint)
    return _json_find(c, node, key.p, key.size, hint)


cdef const uint8_t *_json_plain(json_t *c, const uint8_t *p, const text_node_t *plan, node_t *node) noexcept nogil:
    """Puts the value at `p` if it is one as most programs write them, and returns where it ends; else NULL."""
    cdef const uint8_t *after
    cdef uint64_t mantissa
    cdef unsigned fraction
    cdef bint negative
    if node.length >= node.room:
        return NULL
    if plan.kind == TEXT_STRING:
        if node.bytes_room - node.used < c.j.end - p + KW_JSON_STEP:
            return NULL
        after = kw_json_plain_string(p, c.j.end, c.j.limit, node.data + node.used)
        if after != NULL:
            add_written(node, after - p - 2)
        return after
    if TEXT_INT8 <= plan.kind <= TEXT_INT64:
        after = kw_json_plain_number(p, c.j.end, &negative, &mantissa, NULL)
        if after == NULL or put_int(plan, node, -<int64_t>mantissa if negative else <int64_t>mantissa):
            return NULL
        return after
    if plan.kind == TEXT_DOUBLE or plan.kind == TEXT_FLOAT:
        after = kw_json_plain_number(p, c.j.end, &negative, &mantissa, &fraction)
        if after == NULL or not kw_is_exact(mantissa):
            return NULL
        put_floating(node, kw_with_point(mantissa, fraction, negative))
        return after
    return NULL


cdef bint _json_fields(json_t *c, node_t *node) noexcept nogil:
    """The fields of an object, of which `{` has been passed, to the end of it; there is at least one.

    What is as it is expected, keys in the order of the schema among it, is passed by pointers, the rest by `c.j`.
    """
    cdef node_t *nodes = c.t.nodes
    cdef const text_node_t *plans = c.t.plan
    cdef const uint8_t *end = c.j.end
    cdef const uint8_t *p = c.j.at
    cdef const uint8_t *after
    cdef int64_t row = node.length
    cdef int expected = node.n_children if kw_json_may_look_ahead(&c.j) else 0
    cdef int child, place, hint = 0, found = 0
    while True:
        after = NULL
        place = hint
        if hint < expected:
            child = node.children[hint]
            after = kw_json_plain_key(p, end, plans[child].as_key, plans[child].key_size, plans[child].key_mask)
        if after == NULL:
            c.j.at = p
            place = _json_field(c, node, hint)
            if c.j.error:
                return False
            after = c.j.at
        p = kw_json_blanks(after, end)
        if place < 0:
            c.j.at = p
            if not kw_json_skip(&c.j):
                return False
            p = c.j.at
        else:
            child = node.children[place]
            hint = place + 1
            if nodes[child].length > row:
                node_truncate(nodes, child, row)
            else:
                found += 1
            after = _json_plain(c, p, &plans[child], &nodes[child]) if expected else NULL
            if after == NULL:
                c.j.at = p
                if not _json_value(c, child):
                    return False
                after = c.j.at
            p = after
        if p < end and p[0] == c',':
            p = kw_json_blanks(p + 1, end)
            continue
        c.j.at = p
        if kw_json_next(&c.j) == c'}':
            c.j.at += 1
            return found == node.n_children or _json_fill(c, node)
        if not kw_json_expect(&c.j, c','):
            return False
        p = c.j.at


cdef bint _json_fill(json_t *c, const node_t *node) noexcept nogil:
    """Nulls for the fields that an object lacks."""
    cdef int i
    for i in range(node.n_children):
        if c.t.nodes[node.children[i]].length == node.length and not add_null(c.t.nodes, node.children[i]):
            return _json_full(c)
    return True


cdef bint _json_struct(json_t *c, int number, int first) noexcept nogil:
    cdef node_t *node = &c.t.nodes[number]
    if first != c'{':
        return kw_json_fail(&c.j, TEXT_TYPE, c.j.at)
    c.j.at += 1
    if kw_json_next(&c.j) == c'}':
        c.j.at += 1
        if not _json_fill(c, node):
            return False
    elif not _json_fields(c, node):
        return False
    return end_struct(node) or _json_full(c)


cdef bint _json_value(json_t *c, int number) noexcept nogil:
    """The next value, whatever it is, as one row of the node; a fault is the innermost node's."""
    cdef int first = kw_json_next(&c.j)
    cdef const uint8_t *after
    cdef bint done
    if first != c'n' and kw_json_may_look_ahead(&c.j):
        after = _json_plain(c, c.j.at, &c.t.plan[number], &c.t.nodes[number])
        if after != NULL:
            c.j.at = after
            return True
    if first == 0:
        done = kw_json_fail(&c.j, KW_JSON_UNEXPECTED, c.j.at)
    elif first == c'n':
        done = kw_json_word(&c.j, b"null", 4) and (add_null(c.t.nodes, number) or _json_full(c))
    else:
        done = _json_of_kind(c, c.t.plan[number].kind, number, first)
    if not done and c.fault_node < 0:
        c.fault_node = number
    return done


cdef inline bint _json_of_kind(json_t *c, int kind, int number, int first) noexcept nogil:
    if kind == TEXT_STRING:
        return _json_string(c, number, first)
    elif kind in (TEXT_INT8, TEXT_INT16, TEXT_INT32, TEXT_INT64):
        return _json_integer(c, number, first)
    elif kind in (TEXT_DOUBLE, TEXT_FLOAT):
        return _json_floating(c, number, first)
    elif kind == TEXT_STRUCT:
        return _json_struct(c, number, first)
    elif kind == TEXT_LIST:
        return _json_list(c, number, first)
    elif kind == TEXT_MAP:
        return _json_map(c, number, first)
    elif kind == TEXT_BOOLEAN:
        return _json_boolean(c, number, first)
    elif kind == TEXT_DECIMAL:
        return _json_decimal(c, number, first)
    elif kind == TEXT_DATE:
        return _json_date(c, number, first)
    elif kind == TEXT_BINARY:
        return _json_binary(c, number, first)
    else:
        return _json_timestamp(c, number, first)


cdef bint _json_row(json_t *c, const datum_t *datum, const uint8_t *limit) noexcept nogil:
    """One value, which is an object and nothing else."""
    cdef int first
    kw_json_init(&c.j, datum.data, <size_t>datum.size, limit)
    c.fault_node = -1
    first = kw_json_next(&c.j)
    if first == 0:
        return kw_json_fail(&c.j, KW_JSON_UNEXPECTED, c.j.at)
    if not _json_struct(c, 0, first):
        return False
    if kw_json_next(&c.j) != 0 or c.j.at != c.j.end:
        return kw_json_fail(&c.j, KW_JSON_TRAILING, c.j.at)
    return True


cdef int64_t _json_rows(ArrowValues rows, json_t *c, value_faults_t *faults) noexcept nogil:
    """All rows; returns -1, or the row that cannot be read, or -2 without memory."""
    cdef const uint8_t *limit = NULL
    cdef datum_t datum
    cdef value_fault_t fault
    cdef int64_t row, cells
    if rows.value.kind == ARROW_OFFSETS_32 or rows.value.kind == ARROW_OFFSETS_64:
        limit = rows.value.data + rows.value.end
    memset(&fault, 0, sizeof(value_fault_t))
    for row in range(rows.length):
        if arrow_datum(&rows.value, row, &datum) != ARROW_OK:
            return row
        cells = c.cells
        if datum.size >= 0:
            if _json_row(c, &datum, limit):
                continue
            c.cells = cells
            fault.row = row
            fault.at = c.j.fault_at - datum.data
            fault.fault = c.j.error
            fault.step = c.fault_node
            if not add_fault(faults, fault):
                return -2
        if not null_row(c.t.nodes, row):
            return -2
    return -1


cdef str _json_shown(ArrowValues rows, const value_fault_t *fault):
    """The value that is at fault, or the beginning of it."""
    cdef datum_t datum
    cdef kw_json j
    cdef const uint8_t *begin
    cdef int64_t size
    arrow_datum(&rows.value, fault.row, &datum)
    begin = datum.data + fault.at
    kw_json_init(&j, begin, <size_t>(datum.size - fault.at), NULL)
    size = (j.at if kw_json_skip(&j) else j.end) - begin
    text = (<const char *>begin)[:min(size, JSON_SHOWN)].decode("utf-8", "replace")
    return f"{text}..." if size > JSON_SHOWN else text


def decode_json(values, TextPlan plan not None):
    """The JSON objects of a binary column (anything with `__arrow_c_array__`) as BuiltColumns.

    A null is null in all columns. A value that cannot be decoded is one of the result's `faults`. Runs without the GIL.
    """
    cdef ArrowValues rows = ArrowRecords(values)
    cdef BuiltColumns out = BuiltColumns(plan.layout)
    cdef int64_t size = arrow_bytes(&rows.value, rows.length)
    cdef value_faults_t faults
    cdef json_t c
    cdef int64_t result, i
    memset(&faults, 0, sizeof(value_faults_t))
    memset(&c, 0, sizeof(json_t))
    text_init(&c.t, plan, out)
    c.cells = JSON_FREE_CELLS + 256 * size
    try:
        with nogil:
            if out.reserve(0, rows.length, size // max(plan.layout.byte_columns, 1)):
                result = _json_rows(rows, &c, &faults)
            else:
                result = -2
        if result == -2 or out.was_refused():
            raise _errors.LimitError(f"out of memory for the columns of {rows.length} values")
        if result >= 0:
            raise_arrow_row(result)
        for i in range(faults.count):
            out.faults.append(plan.described(&faults.faults[i], _json_shown(rows, &faults.faults[i])))
    finally:
        free(faults.faults)
    return out
