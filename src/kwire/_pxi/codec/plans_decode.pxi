# Decodes messages: the reading half of the plan interpreter.
#
# Instances and lists are filled before the cyclic collector tracks them. An instance whose values cannot refer back to
# anything (numbers, text, bytes, tuples of them) stays untracked: a thousand partitions cost the collector nothing.

cdef tuple decode_from(Plan plan, Buffer source, Py_ssize_t start, bint strict):
    cdef reader_t r
    cdef walk_t walk
    reader_init(&r, source.data, source.size)
    walk_init(&walk)
    memset(walk.kept_longs, 0, sizeof(walk.kept_longs))
    if start < 0 or start > source.size:
        raise ValueError(f"a start of {start} in {source.size} bytes")
    r.at += start
    try:
        message = decode_message(plan, &r, &walk, source)
        if strict and r.at != r.end:
            reader_fail(&r, FAULT_TRAILING)
            raise_read_fault(&r, plan.name)
    except MemoryError:
        walk.op[walk.depth] = NULL  # it is set for the fields above, and for this one upon a fault only
        raise _errors.LimitError(f"out of memory for {plan.name}", path_of(&walk), r.at - r.start) from None
    finally:
        forget_kept(&walk)
    return message, r.at - r.start


cdef object decode_message(Plan plan, reader_t *r, walk_t *walk, Buffer source):
    cdef PyObject *made = decode_struct(plan, r, walk, source)
    message = <object>made
    Py_XDECREF(made)
    return message


cdef int decode_fault(reader_t *r, walk_t *walk, const op_t *op) except -1:
    walk.op[walk.depth] = op
    return raise_read_fault(r, path_of(walk))


cdef PyObject *decode_struct(Plan plan, reader_t *r, walk_t *walk, Buffer source) except NULL:
    cdef object made = kw_bare_instance(<PyObject *>plan.cls)
    cdef PyObject *instance = <PyObject *>made
    cdef PyObject *value
    cdef bint leaf = True
    cdef Py_ssize_t i
    cdef op_t *op
    walk.index[walk.depth] = -1
    i = 0
    while i < plan.plain:
        op = &plan.ops[i]
        if op.run and bytes_left(r) >= op.run_size:
            decode_run(op, read_span(r, op.run_size), instance, walk)
            i += op.run
            continue
        value = decode_value(op, op.kind, r, walk, source)
        slot_of(instance, op.slot)[0] = value
        if r.error != FAULT_NONE:
            decode_fault(r, walk, op)
        if op.kind >= KIND_STRUCT and may_refer_back(op, value):
            leaf = False
        i += 1
    for i in range(plan.default_count):
        slot_of(instance, plan.defaults[i].slot)[0] = kw_new_reference(plan.defaults[i].value)
    if plan.flexible and not (r.at < r.end and r.at[0] == 0):
        leaf = decode_tagged(plan, made, r, walk, source) and leaf
    elif plan.flexible:
        r.at += 1
    if not leaf:
        kw_gc_track(instance)
    return new_reference(made)


cdef inline int decode_run(const op_t *first, const uint8_t *span, PyObject *instance, walk_t *walk) except -1:
    """Decodes the fields of fixed width from `first` on from `span`."""
    cdef int i
    for i in range(first.run):
        slot_of(instance, first[i].slot)[0] = fixed_value(first[i].kind, span + first[i].at, walk)
    return 0


cdef inline PyObject *fixed_value(int kind, const uint8_t *p, walk_t *walk) except NULL:
    """A new reference to the value of fixed width at `p`."""
    cdef int64_t number
    if kind == KIND_I32:
        number = <int32_t>load_u32(p)
    elif kind == KIND_I16:
        number = <int16_t>load_u16(p)
    elif kind == KIND_I64:
        number = <int64_t>load_u64(p)
    elif kind == KIND_I8:
        number = <int8_t>p[0]
    elif kind == KIND_U16:
        number = load_u16(p)
    elif kind == KIND_U32:
        number = load_u32(p)
    else:
        return value_of_no_int(kind, p)
    return kw_int(number) if kw_is_kept_int(number) else long_value(number, walk)


cdef PyObject *value_of_no_int(int kind, const uint8_t *p) except NULL:
    if kind == KIND_BOOL:
        return new_reference(p[0] != 0)
    if kind == KIND_UUID:
        return new_reference(uuid_of(p))
    return kw_float(load_f64(p))


cdef PyObject *long_value(int64_t number, walk_t *walk) except NULL:
    """An int that Python does not cache, but that is likely to occur again in this message."""
    cdef kept_long_t *kept = &walk.kept_longs[number & (KEPT_LONGS - 1)]
    if kept.made == NULL or kept.value != number:
        made = kw_int(number)
        Py_XDECREF(kept.made)
        kept.value, kept.made = number, made
    return kw_new_reference(kept.made)


cdef inline bint may_refer_back(const op_t *op, PyObject *value) noexcept:
    return (op.kind == KIND_STRUCT or op.element == KIND_STRUCT) and value != <PyObject *>_NO_ARGUMENTS


cdef bint decode_tagged(Plan plan, object made, reader_t *r, walk_t *walk, Buffer source) except -1:
    """Returns whether the instance can stay untracked by the collector."""
    cdef bint leaf = True
    cdef int64_t count, tag
    cdef int64_t before = -1
    cdef int64_t i
    cdef uint32_t size
    cdef const uint8_t *begin
    cdef op_t *op = NULL
    begin = r.at
    count = check_count(r, read_uvarint(r), 2, begin)
    for i in range(count):
        begin = r.at
        tag = read_uvarint(r)
        if r.error == FAULT_NONE and (tag <= before or tag > MAX_TAG):
            r.at = begin
            reader_fail(r, FAULT_TAG_ORDER)
        size = read_uvarint(r)
        if r.error == FAULT_NONE and size > bytes_left(r):
            reader_fail(r, FAULT_TRUNCATED)
        if r.error != FAULT_NONE:
            break
        before = tag
        op = tagged_op(plan, <uint32_t>tag)
        if op == NULL:
            unknown = PyBytes_FromStringAndSize(<const char *>read_span(r, size), size)
            (<StructBase>made).unknown_tagged_fields[tag] = unknown
        else:
            leaf = decode_known_tag(op, size, made, r, walk, source) and leaf
    if r.error != FAULT_NONE:
        walk.op[walk.depth] = NULL
        raise_read_fault(r, (path_of(walk) + "." if path_of(walk) else "") + "tagged fields")
    return leaf


cdef op_t *tagged_op(Plan plan, uint32_t tag) noexcept:
    cdef Py_ssize_t i
    for i in range(plan.plain, plan.plain + plan.tagged):
        if plan.ops[i].tag == tag:
            return &plan.ops[i]
    return NULL


cdef bint decode_known_tag(op_t *op, uint32_t size, object made, reader_t *r, walk_t *walk, Buffer source) except -1:
    cdef const uint8_t *whole_end = r.end
    r.end = r.at + size
    cdef PyObject **slot = slot_of(<PyObject *>made, op.slot)
    cdef PyObject *before = slot[0]
    slot[0] = decode_value(op, op.kind, r, walk, source)
    Py_XDECREF(before)
    if r.error == FAULT_NONE and r.at != r.end:
        reader_fail(r, FAULT_TAG_SIZE)
    if r.error != FAULT_NONE:
        decode_fault(r, walk, op)
    r.end = whole_end
    return not may_refer_back(op, slot[0])


cdef inline PyObject *decode_value(const op_t *op, int kind, reader_t *r, walk_t *walk, Buffer source) except NULL:
    """A new reference. After a fault of the reader the value is meaningless: check `r.error`."""
    cdef const uint8_t *span
    if kind == KIND_STRING:
        return decode_string(op, r, walk)
    if kind == KIND_ARRAY:
        return decode_array(op, r, walk, source)
    if kind == KIND_RECORDS or kind == KIND_BYTES:
        return decode_bytes(op, kind, r, source)
    if kind == KIND_STRUCT:
        return decode_nested(op, r, walk, source)
    if kind == KIND_REST:
        return decode_rest(r, source)
    span = read_span(r, fixed_width(kind))
    return fixed_value(kind, span, walk) if span != NULL else new_reference(None)


cdef PyObject *null_value(const op_t *op, int kind, reader_t *r, const uint8_t *begin) noexcept:
    """None; a fault at `begin` when the field is not nullable, or for an element of an array, which never is."""
    if r.error == FAULT_NONE and (not op.nullable or op.kind != kind):
        r.at = begin
        reader_fail(r, FAULT_NULL)
    return new_reference(None)


cdef PyObject *decode_string(const op_t *op, reader_t *r, walk_t *walk) except NULL:
    cdef const uint8_t *begin = r.at
    cdef int64_t length = read_compact_length(r) if op.compact else read_string_length(r)
    cdef const uint8_t *span
    cdef PyObject *value
    if length < 0:
        return null_value(op, KIND_STRING, r, begin)
    if length > MAX_STRING:
        r.at = begin
        reader_fail(r, FAULT_LENGTH)
        return new_reference(None)
    span = read_span(r, length)
    value = kw_text_or_null(<const char *>span, length, NULL)
    return value if value != NULL else odd_text(op, r, walk, span, length)


cdef PyObject *odd_text(const op_t *op, reader_t *r, walk_t *walk, const uint8_t *span, int64_t length) except NULL:
    """Decodes invalid text once more, for the reason of the error."""
    PyErr_Clear()
    try:
        return kw_text(<const char *>span, length, NULL)
    except UnicodeDecodeError as cause:
        walk.op[walk.depth] = op
        raise _errors.CorruptError(f"text that is not UTF-8: {cause.reason}", path_of(walk),
                                   span - r.start + <Py_ssize_t>cause.start) from None


cdef PyObject *decode_bytes(const op_t *op, int kind, reader_t *r, Buffer source) except NULL:
    cdef const uint8_t *begin = r.at
    cdef int64_t length = read_compact_length(r) if op.compact else read_bytes_length(r)
    cdef const uint8_t *span
    if length < 0:
        return null_value(op, kind, r, begin)
    span = read_span(r, length)
    if kind == KIND_RECORDS:
        return new_reference(buffer_slice(source, span - r.start, length))
    return kw_bytes(<const char *>span, length)


cdef PyObject *decode_rest(reader_t *r, Buffer source) except NULL:
    cdef size_t size = bytes_left(r)
    cdef const uint8_t *span = read_span(r, size)
    return new_reference(buffer_slice(source, span - r.start, size))


cdef PyObject *decode_nested(const op_t *op, reader_t *r, walk_t *walk, Buffer source) except NULL:
    cdef PyObject *value
    if op.nullable and not (read_uvarint(r) > 0 if op.is_tagged else read_i8(r) >= 0) or r.error != FAULT_NONE:
        return new_reference(None)
    walk.op[walk.depth] = op
    walk.index[walk.depth] = -1
    walk.depth += 1
    value = decode_struct(<Plan>op.child, r, walk, source)
    walk.depth -= 1
    return value


cdef PyObject *decode_array(const op_t *op, reader_t *r, walk_t *walk, Buffer source) except NULL:
    cdef const uint8_t *begin = r.at
    cdef int64_t count
    if op.compact:
        count = read_compact_count(r, op.min_size)
    elif op.short_count:
        count = read_short_count(r, op.min_size)
    else:
        count = read_array_count(r, op.min_size)
    if count < 0:
        return null_value(op, KIND_ARRAY, r, begin)
    if count == 0:
        return new_reference(_NO_ARGUMENTS)
    if op.element == KIND_STRUCT:
        return decode_structs(op, count, r, walk, source)
    if op.element == KIND_I32:
        return decode_ints(count, r, walk)
    return decode_scalars(op, count, r, walk, source)


cdef PyObject *decode_structs(const op_t *op, Py_ssize_t count, reader_t *r, walk_t *walk,
                              Buffer source) except NULL:
    cdef list made = PyList_New(count)
    cdef Plan plan = <Plan>op.child
    cdef int depth = walk.depth
    cdef Py_ssize_t i
    kw_gc_untrack(<PyObject *>made)
    walk.op[depth] = op
    for i in range(count):
        walk.index[depth] = i
        walk.depth = depth + 1
        kw_set_list_item(<PyObject *>made, i, decode_struct(plan, r, walk, source))
    walk.depth = depth
    walk.index[depth] = -1
    kw_gc_track(<PyObject *>made)
    return new_reference(made)


cdef PyObject *decode_ints(Py_ssize_t count, reader_t *r, walk_t *walk) except NULL:
    """The count was checked against the remaining bytes, so the span is complete."""
    cdef size_t size = <size_t>count * 4
    cdef const uint8_t *span = read_span(r, size)
    cdef kept_ints_t *kept
    if count > LONGEST_KEPT_INTS:
        return made_ints(span, count)
    if not walk.has_kept_ints:
        memset(walk.kept_ints, 0, sizeof(walk.kept_ints))
        walk.has_kept_ints = True
    kept = &walk.kept_ints[(load_u32(span) + 3 * load_u32(span + size - 4) + <size_t>count) % KEPT_INTS]
    if kept.made == NULL or kept.size != size or memcmp(kept.data, span, size) != 0:
        made = made_ints(span, count)
        Py_XDECREF(kept.made)
        kept.data, kept.size, kept.made = span, size, made
    return kw_new_reference(kept.made)


cdef PyObject *made_ints(const uint8_t *span, Py_ssize_t count) except NULL:
    cdef tuple made = PyTuple_New(count)
    cdef Py_ssize_t i
    kw_gc_untrack(<PyObject *>made)
    for i in range(count):
        kw_set_tuple_item(<PyObject *>made, i, kw_int(<int32_t>load_u32(span + 4 * i)))
    return new_reference(made)


cdef void forget_kept(walk_t *walk) noexcept:
    cdef int i
    for i in range(KEPT_LONGS):
        Py_XDECREF(walk.kept_longs[i].made)
    if walk.has_kept_ints:
        for i in range(KEPT_INTS):
            Py_XDECREF(walk.kept_ints[i].made)


cdef PyObject *decode_scalars(const op_t *op, Py_ssize_t count, reader_t *r, walk_t *walk,
                              Buffer source) except NULL:
    cdef tuple made = PyTuple_New(count)
    cdef int kind = op.element
    cdef Py_ssize_t i
    kw_gc_untrack(<PyObject *>made)
    for i in range(count):
        kw_set_tuple_item(<PyObject *>made, i, decode_value(op, kind, r, walk, source))
        if r.error != FAULT_NONE:
            walk.index[walk.depth] = i
            break
    return new_reference(made)
