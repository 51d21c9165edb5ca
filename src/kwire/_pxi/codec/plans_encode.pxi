# Encodes messages: the writing half of the plan interpreter.
#
# Every value is checked against its wire type, and an error names the field. A field that does not exist in the version
# must have its default or be ignorable (Apache's own rule). In the gather form a records field of MIN_GATHERED bytes or
# more is not copied: the frame is a list of buffers.

cdef int encode_fault(walk_t *walk, const op_t *op, str text) except -1:
    walk.op[walk.depth] = op
    raise _errors.CodecError(text, path_of(walk))


cdef int wrong_type(walk_t *walk, const op_t *op, int kind, object value) except -1:
    return encode_fault(walk, op, f"needs {_KIND_NAMES[kind]}, not {type(value).__name__}")


def encode_frame(Plan header_plan not None, header, Plan plan not None, message):
    """Size, header and message as one bytes object."""
    return encode_to_bytes(header_plan, header, plan, message)


cpdef list encode_frame_parts(Plan header_plan, header, Plan plan, message):
    """Size, header and message as a list of buffers to send in order; large records fields are not copied."""
    cdef writer_t w
    cdef walk_t walk
    cdef list cuts = []
    cdef list parts = []
    cdef Py_ssize_t begin = 0
    cdef Py_ssize_t cut
    if header_plan is None or plan is None:
        raise TypeError("two plans are needed, of the header and of the message")
    walk_init(&walk)
    walk.cuts = <PyObject *>cuts
    try:
        encode_all(&w, &walk, header_plan, header, plan, message)
        for cut, buffer in cuts:
            parts.append(PyBytes_FromStringAndSize(<const char *>w.start + begin, cut - begin))
            parts.append(buffer)
            begin = cut
        if begin < <Py_ssize_t>written(&w):
            parts.append(PyBytes_FromStringAndSize(<const char *>w.start + begin, <Py_ssize_t>written(&w) - begin))
    finally:
        writer_free(&w)
    return parts


cdef bytes encode_to_bytes(Plan header_plan, object header, Plan plan, object message):
    cdef writer_t w
    cdef walk_t walk
    walk_init(&walk)
    try:
        encode_all(&w, &walk, header_plan, header, plan, message)
        return PyBytes_FromStringAndSize(<const char *>w.start, written(&w))
    finally:
        writer_free(&w)


cdef int encode_all(writer_t *w, walk_t *walk, Plan header_plan, object header, Plan plan, object message) except -1:
    """With a header plan: size, header, message; without: the message alone."""
    if writer_init(w, plan.usual_size) < 0:
        raise_write_fault(w)
    if header_plan is not None:
        write_i32(w, 0)
        encode_struct(header_plan, header, w, walk)
    encode_struct(plan, message, w, walk)
    if w.error != FAULT_NONE:
        raise_write_fault(w)
    if written(w) > plan.usual_size:
        plan.usual_size = min(written(w), <size_t>MAX_USUAL_SIZE)
    if header_plan is not None:
        store_frame_size(w.start, <int64_t>written(w) + walk.outside, plan.name)
    return 0


cdef int store_frame_size(uint8_t *frame, int64_t size, str name) except -1:
    """The first field of a frame of `size` bytes."""
    if size - 4 > 0x7FFFFFFF:
        raise _errors.LimitError(f"{name} takes {size - 4} bytes; a frame holds at most {0x7FFFFFFF}")
    store_u32(frame, <uint32_t>(size - 4))
    return 0


cdef int encode_struct(Plan plan, object instance, writer_t *w, walk_t *walk) except -1:
    cdef Py_ssize_t i
    cdef op_t *op
    cdef PyObject *value
    if not kw_type_check(<PyObject *>instance, <PyTypeObject *>plan.cls):
        raise _errors.CodecError(f"needs {plan.cls.__qualname__}, not {type(instance).__qualname__}",
                                 parent_path(walk) or plan.name)
    walk.index[walk.depth] = -1
    i = 0
    while i < plan.plain:
        op = &plan.ops[i]
        if op.run:
            encode_run(op, instance, w, walk)
            i += op.run
            continue
        value = slot_of(<PyObject *>instance, op.slot)[0]
        held = <object>value if value != NULL else missing_value(walk, op, instance)
        encode_value(op, op.kind, held, w, walk)
        i += 1
    for i in range(plan.plain + plan.tagged, plan.total):
        op = &plan.ops[i]
        if not op.ignorable and not has_default(op, slot_of(<PyObject *>instance, op.slot)[0]):
            encode_fault(walk, op, f"version {plan.version} of {plan.name} has no such field (versions "
                                   f"{plan.versions[<object>op.name]} have), and its value is not the default")
    if plan.flexible:
        encode_tagged(plan, instance, w, walk)
    elif plan.layout.unknown_tags(instance) is not None:
        raise _errors.CodecError(f"version {plan.version} of {plan.name} cannot carry tagged fields",
                                 parent_path(walk) or plan.name)
    return 0


cdef inline int encode_run(const op_t *first, object instance, writer_t *w, walk_t *walk) except -1:
    """Encodes the fields of fixed width from `first` on."""
    cdef uint8_t *span = write_span(w, first.run_size)
    cdef const op_t *op
    cdef PyObject *value
    cdef int i
    if span == NULL:
        return raise_write_fault(w)
    for i in range(first.run):
        op = &first[i]
        value = slot_of(<PyObject *>instance, op.slot)[0]
        if value == NULL or not store_plain(op.kind, value, span + op.at):
            store_slot(op, instance, span + op.at, walk)
    return 0


cdef int store_slot(const op_t *op, object instance, uint8_t *p, walk_t *walk) except -1:
    """Holds the value while it is written: its own code may replace it in the message."""
    cdef PyObject *value = slot_of(<PyObject *>instance, op.slot)[0]
    held = <object>value if value != NULL else missing_value(walk, op, instance)
    return store_checked(op, op.kind, held, p, walk)


cdef inline bint store_plain(int kind, PyObject *value, uint8_t *p) noexcept:
    """Writes the values that nearly all fields of fixed width have; False for any other, valid or not."""
    cdef int64_t number
    if not kw_is_short_int(value, &number):
        return False
    if kind == KIND_I32:
        store_u32(p, <uint32_t>number)
    elif kind == KIND_I64:
        store_u64(p, <uint64_t>number)
    elif kind == KIND_I16 and -32768 <= number <= 32767:
        store_u16(p, <uint16_t>number)
    elif kind == KIND_I8 and -128 <= number <= 127:
        p[0] = <uint8_t>number
    else:
        return False
    return True


cdef int store_checked(const op_t *op, int kind, object value, uint8_t *p, walk_t *walk) except -1:
    """Writes any value of fixed width; raises for a wrong type and for a value out of range."""
    if kind == KIND_BOOL:
        if value is not True and value is not False:
            wrong_type(walk, op, kind, value)
        p[0] = value is True
    elif kind == KIND_I8:
        p[0] = <uint8_t>checked_int(op, kind, value, walk, -128, 127)
    elif kind == KIND_I16:
        store_u16(p, <uint16_t>checked_int(op, kind, value, walk, -32768, 32767))
    elif kind == KIND_I32:
        store_u32(p, <uint32_t>checked_int(op, kind, value, walk, -2147483648, 2147483647))
    elif kind == KIND_I64:
        store_u64(p, <uint64_t>checked_int(op, kind, value, walk, INT64_MIN, INT64_MAX))
    elif kind == KIND_U16:
        store_u16(p, <uint16_t>checked_int(op, kind, value, walk, 0, 65535))
    elif kind == KIND_U32:
        store_u32(p, <uint32_t>checked_int(op, kind, value, walk, 0, 4294967295))
    elif kind == KIND_UUID:
        store_uuid(op, value, p, walk)
    else:
        store_float(op, value, p, walk)
    return 0


cdef int store_uuid(const op_t *op, object value, uint8_t *p, walk_t *walk) except -1:
    if value is _no_uuid and value is not None:
        memset(p, 0, 16)
        return 0
    if not isinstance(value, uuid_class()):
        wrong_type(walk, op, KIND_UUID, value)
    content = bytes_of_uuid(value)
    if not kw_is_bytes(content) or kw_bytes_size(content) != 16:
        encode_fault(walk, op, f"a {type(value).__name__} whose `bytes` are not 16 bytes")
    memcpy(p, kw_bytes_data(content), 16)
    return 0


cdef int store_float(const op_t *op, object value, uint8_t *p, walk_t *walk) except -1:
    if not isinstance(value, (float, int)):
        wrong_type(walk, op, KIND_F64, value)
    try:
        store_f64(p, float(value))
    except OverflowError:
        encode_fault(walk, op, f"{shown_int(value)} does not fit float64")
    return 0


cdef str parent_path(walk_t *walk):
    walk.op[walk.depth] = NULL
    return path_of(walk)


cdef object missing_value(walk_t *walk, const op_t *op, object instance):
    if op.lazy:
        return getattr(instance, <object>op.name)
    encode_fault(walk, op, "was deleted from its message")


cdef bint has_default(const op_t *op, PyObject *value) except -1:
    if value == NULL or value == op.fallback:
        return True
    held = <object>value
    if op.lazy:
        return isinstance(held, StructBase) and layout_of(held).is_default(held)
    return values_equal(held, <object>op.fallback)


cdef int encode_tagged(Plan plan, object instance, writer_t *w, walk_t *walk) except -1:
    """Reads each slot once and holds its value: the code of one value may change other fields of the message."""
    cdef dict unknown = plan.layout.unknown_tags(instance)
    cdef list fields = None
    cdef PyObject *value
    cdef Py_ssize_t i
    for i in range(plan.plain, plan.plain + plan.tagged):
        value = slot_of(<PyObject *>instance, plan.ops[i].slot)[0]
        if value == NULL or value == plan.ops[i].fallback:
            continue
        held = <object>value
        if not has_default(&plan.ops[i], value):
            if fields is None:
                fields = []
            fields.append((plan.ops[i].tag, i, held))
    if unknown is not None:
        fields = sorted((fields or []) + checked_unknown(plan, unknown, walk))
    if fields is None:
        write_i8(w, 0)
        return 0
    write_uvarint(w, len(fields))
    for tag, i, held in fields:
        write_uvarint(w, tag)
        if i < 0:
            write_uvarint(w, kw_bytes_size(held))
            write_raw(w, kw_bytes_data(held), kw_bytes_size(held))
        else:
            encode_sized(&plan.ops[i], held, w, walk)
    return 0


cdef list checked_unknown(Plan plan, dict unknown, walk_t *walk):
    """[(tag, -1, bytes)]"""
    cdef list checked = []
    for tag, content in unknown.items():
        if type(tag) is not int or not 0 <= tag <= MAX_TAG or not kw_is_bytes(content):
            raise _errors.CodecError("unknown tagged fields are int tags (0 to 2^31 - 2) with bytes",
                                     parent_path(walk) or plan.name)
        if tagged_op(plan, tag) != NULL:
            raise _errors.CodecError(f"tag {tag} is a known field", parent_path(walk) or plan.name)
        checked.append((tag, -1, content))
    return checked


cdef int encode_sized(const op_t *op, object value, writer_t *w, walk_t *walk) except -1:
    """A tagged field: its size comes first but is known last, and rarely needs more than one byte."""
    cdef size_t at = written(w)
    cdef size_t size
    cdef int head
    write_i8(w, 0)
    walk.in_tag += 1
    encode_value(op, op.kind, value, w, walk)
    walk.in_tag -= 1
    if w.error != FAULT_NONE:
        return 0
    size = written(w) - at - 1
    head = uvarint_size(size)
    if head > 1 and write_span(w, head - 1) != NULL:
        memmove(w.start + at + head, w.start + at + 1, size)
    if w.error == FAULT_NONE:
        put_uvarint(w.start + at, size)
    return 0


cdef inline int encode_value(const op_t *op, int kind, object value, writer_t *w, walk_t *walk) except -1:
    cdef uint8_t *span
    if kind == KIND_STRING:
        return encode_string(op, value, w, walk)
    if kind == KIND_ARRAY:
        return encode_array(op, value, w, walk)
    if kind == KIND_RECORDS:
        return encode_records(op, value, w, walk)
    if kind == KIND_BYTES:
        return encode_bytes(op, value, w, walk)
    if kind == KIND_STRUCT:
        return encode_nested(op, value, w, walk)
    if kind == KIND_REST:
        return encode_rest(op, value, w, walk)
    span = write_span(w, fixed_width(kind))
    return store_checked(op, kind, value, span, walk) if span != NULL else raise_write_fault(w)


cdef int64_t checked_int(const op_t *op, int kind, object value, walk_t *walk, int64_t low,
                         int64_t high) except? -1:
    """Accepts everything that Python accepts as an index: ints, and numpy's integers for example."""
    cdef int overflow = 0
    cdef int64_t number
    try:
        index = PyNumber_Index(value)
    except TypeError:
        wrong_type(walk, op, kind, value)
    number = kw_long(index, &overflow)
    if overflow or number < low or number > high:
        encode_fault(walk, op, f"{shown_int(index)} does not fit {_KIND_NAMES[kind]}")
    return number


cdef int write_length(const op_t *op, int64_t length, int width, writer_t *w) except -1:
    """-1 for null. `width` is the size of the fixed form, 2 or 4 bytes."""
    if op.compact:
        write_uvarint(w, <uint32_t>(length + 1))
    elif width == 2:
        write_i16(w, <int16_t>length)
    else:
        write_i32(w, <int32_t>length)
    return 0


cdef int write_null(const op_t *op, int kind, int width, writer_t *w, walk_t *walk) except -1:
    if not op.nullable or op.kind != kind:
        encode_fault(walk, op, f"None, where this version needs {_KIND_NAMES[kind]}")
    return write_length(op, -1, width, w)


cdef int encode_string(const op_t *op, object value, writer_t *w, walk_t *walk) except -1:
    cdef Py_ssize_t size = 0
    cdef const char *text
    if value is None:
        return write_null(op, KIND_STRING, 2, w, walk)
    if not isinstance(value, str):
        wrong_type(walk, op, KIND_STRING, value)
    try:
        text = kw_utf8(value, &size)
    except UnicodeEncodeError as cause:
        encode_fault(walk, op, f"text that UTF-8 cannot carry: {cause.reason}")
    if size > MAX_STRING:
        encode_fault(walk, op, f"a string of {size} bytes; {MAX_STRING} is the most")
    write_length(op, size, 2, w)
    write_raw(w, text, size)
    return 0


cdef Buffer pinned_field(const op_t *op, int kind, object value, walk_t *walk):
    try:
        return pin(value)
    except TypeError:
        wrong_type(walk, op, kind, value)


cdef inline int check_span(const op_t *op, int64_t size, walk_t *walk) except -1:
    return span_fault(op, size, walk) if size > 0x7FFFFFFE else 0


cdef int span_fault(const op_t *op, int64_t size, walk_t *walk) except -1:
    return encode_fault(walk, op, f"{size} bytes; {0x7FFFFFFE} is the most")


cdef int encode_bytes(const op_t *op, object value, writer_t *w, walk_t *walk) except -1:
    cdef Buffer content
    if value is None:
        return write_null(op, KIND_BYTES, 4, w, walk)
    content = pinned_field(op, KIND_BYTES, value, walk)
    check_span(op, content.size, walk)
    write_length(op, content.size, 4, w)
    write_raw(w, content.data, content.size)
    return 0


cdef int encode_records(const op_t *op, object value, writer_t *w, walk_t *walk) except -1:
    cdef list spans
    cdef Buffer span
    cdef int64_t size = 0
    if value is None:
        return write_null(op, KIND_RECORDS, 4, w, walk)
    spans = pinned_spans(op, value, walk)
    for span in spans:
        size += span.size
    check_span(op, size, walk)
    write_length(op, size, 4, w)
    return write_spans(spans, w, walk)


cdef int encode_rest(const op_t *op, object value, writer_t *w, walk_t *walk) except -1:
    if value is None:
        wrong_type(walk, op, KIND_REST, value)
    return write_spans(pinned_spans(op, value, walk), w, walk)


cdef list pinned_spans(const op_t *op, object value, walk_t *walk):
    """The pinned bytes of a bytes-like object, or of a list or tuple of them, to be written in order."""
    if isinstance(value, (list, tuple)):
        return [pinned_field(op, op.kind, part, walk) for part in value]
    return [pinned_field(op, op.kind, value, walk)]


cdef int write_spans(list spans, writer_t *w, walk_t *walk) except -1:
    cdef Buffer span
    for span in spans:
        if walk.cuts == NULL or walk.in_tag or span.size < MIN_GATHERED:
            write_raw(w, span.data, span.size)
        else:
            (<list>walk.cuts).append((written(w), span))
            walk.outside += span.size
    return 0


cdef int encode_nested(const op_t *op, object value, writer_t *w, walk_t *walk) except -1:
    if op.nullable:
        write_i8(w, 1 if value is not None else 0 if op.is_tagged else -1)
        if value is None:
            return 0
    walk.op[walk.depth] = op
    walk.depth += 1
    encode_struct(<Plan>op.child, value, w, walk)
    walk.depth -= 1
    return 0


cdef int encode_array(const op_t *op, object value, writer_t *w, walk_t *walk) except -1:
    """Reads a list or tuple in place; any other iterable except text and bytes is made a tuple first."""
    cdef object items = value
    cdef Py_ssize_t count
    cdef int width = 2 if op.short_count else 4
    if type(value) is tuple and PyTuple_GET_SIZE(value) == 0:
        return write_length(op, 0, width, w)
    if value is None:
        return write_null(op, KIND_ARRAY, width, w, walk)
    if type(value) is not list and type(value) is not tuple:
        if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
            wrong_type(walk, op, KIND_ARRAY, value)
        items = tuple(value)
    count = size_of_list_or_tuple(items)
    if op.short_count and count > 0x7FFF:
        encode_fault(walk, op, f"{count} elements; {0x7FFF} is the most")
    check_span(op, count, walk)
    write_length(op, count, width, w)
    walk.op[walk.depth] = op
    if op.element == KIND_STRUCT:
        encode_structs(op, items, count, w, walk)
    else:
        encode_scalars(op, items, count, w, walk)
    walk.index[walk.depth] = -1
    return 0


cdef inline PyObject *plain_item(object items, Py_ssize_t i, Py_ssize_t count) noexcept:
    """Borrowed, for use before any Python code runs; NULL where `item_at` is needed."""
    if type(items) is tuple:
        return PyTuple_GET_ITEM(items, i)
    if type(items) is list and PyList_GET_SIZE(items) == count:
        return PyList_GET_ITEM(items, i)
    return NULL


cdef inline object item_at(object items, Py_ssize_t i, Py_ssize_t count):
    """A list may shrink while a value of it runs Python code; the count that was written is then wrong."""
    if type(items) is tuple:
        return <object>PyTuple_GET_ITEM(items, i)
    if PyList_GET_SIZE(items) != count:
        raise _errors.CodecError("a list changed its length while it was encoded")
    return <object>PyList_GET_ITEM(items, i)


cdef int encode_structs(const op_t *op, object items, Py_ssize_t count, writer_t *w, walk_t *walk) except -1:
    cdef int depth = walk.depth
    cdef Py_ssize_t i
    for i in range(count):
        walk.index[depth] = i
        walk.depth = depth + 1
        encode_struct(<Plan>op.child, item_at(items, i, count), w, walk)
    walk.depth = depth
    return 0


cdef int encode_scalars(const op_t *op, object items, Py_ssize_t count, writer_t *w, walk_t *walk) except -1:
    cdef Py_ssize_t i
    cdef int kind = op.element
    cdef size_t width = fixed_width(kind)
    cdef uint8_t *span = write_span(w, count * width)
    cdef PyObject *plain
    if span == NULL:
        return raise_write_fault(w)
    for i in range(count):
        plain = plain_item(items, i, count) if width else NULL
        if plain != NULL and store_plain(kind, plain, span + i * width):
            continue
        walk.index[walk.depth] = i
        if width:
            store_checked(op, kind, item_at(items, i, count), span + i * width, walk)
        else:
            encode_value(op, kind, item_at(items, i, count), w, walk)
    return 0
