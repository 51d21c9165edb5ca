# The plan by which texts become columns: what a field of JSON or CSV is for each column of a layout, and how it is put
# there.
#
#   column                  JSON                                       CSV
#   boolean                 true, false                                the same in any case of letters
#   int8 .. int64           a number without fraction and exponent     the same, or with a plus
#   float, double           a number; NaN, Infinity, -Infinity, also   a number, also with a plus, or none before or
#                           as strings, and "+INF", "-INF"             after the point; NaN, Inf, Infinity
#   decimal                 a number, or a string of one               a number; commas in it do not count
#   string                  a string; any other value as it is         any
#   binary                  a string of base64                         any, its bytes
#   date, timestamps        a string, see text_values.h; for a         a text, see text_values.h
#                           timestamp also a number of seconds
#   list, struct, map       an array, an object, an object             none
# Decimals are rounded half up to their scale.
# Sources: RFC 8259; RFC 4180; Spark's documentation of from_json and from_csv.

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *text, char **end, void *overflow) except? -1.0

cdef extern from "text_values.h" nogil:
    bint kw_int_of_text(int64_t *out, const uint8_t *p, size_t size)
    bint kw_is_number(const uint8_t *p, size_t size)
    bint kw_is_exact(uint64_t mantissa)
    double kw_with_point(uint64_t mantissa, unsigned fraction, bint negative)
    bint kw_double_of_text(double *out, const uint8_t *p, size_t size)
    bint kw_decimal_of_text(uint8_t *out, const uint8_t *p, size_t size, int precision, int scale)
    int64_t kw_bytes_of_base64(uint8_t *out, const uint8_t *p, size_t size)
    bint kw_date_of_text(int32_t *out, const uint8_t *p, size_t size)
    bint kw_timestamp_of_text(int64_t *out, bint *has_zone, const uint8_t *p, size_t size)

cdef enum TextKind:
    TEXT_BOOLEAN = 0
    TEXT_INT8 = 1
    TEXT_INT16 = 2
    TEXT_INT32 = 3
    TEXT_INT64 = 4
    TEXT_FLOAT = 5
    TEXT_DOUBLE = 6
    TEXT_DECIMAL = 7
    TEXT_STRING = 8
    TEXT_BINARY = 9
    TEXT_DATE = 10
    TEXT_TIMESTAMP = 11
    TEXT_TIMESTAMP_NTZ = 12
    TEXT_LIST = 13
    TEXT_MAP = 14
    TEXT_STRUCT = 15

cdef enum:
    TEXT_TYPE = 78                 # a value of another kind than its column
    TEXT_RANGE = 79                # a value that its column cannot hold
    TEXT_FULL = 80                 # a column of 2 GiB; or no memory, which is no fault of the value
    TEXT_CELLS = 81                # a few bytes that would become very many values
    SHORT_NUMBER = 64
    KEY_ROOM = 16                  # bytes that can be read after a key

cdef int64_t MAX_SECONDS = INT64_MAX // 1000000

cdef dict _TEXT_KINDS = {
    "b": (TEXT_BOOLEAN, "BOOLEAN"), "c": (TEXT_INT8, "TINYINT"), "s": (TEXT_INT16, "SMALLINT"),
    "i": (TEXT_INT32, "INT"), "l": (TEXT_INT64, "BIGINT"), "f": (TEXT_FLOAT, "FLOAT"), "g": (TEXT_DOUBLE, "DOUBLE"),
    "u": (TEXT_STRING, "STRING"), "z": (TEXT_BINARY, "BINARY"), "tdD": (TEXT_DATE, "DATE"),
    "tsu:UTC": (TEXT_TIMESTAMP, "TIMESTAMP"), "tsu:": (TEXT_TIMESTAMP_NTZ, "TIMESTAMP_NTZ"),
    "+l": (TEXT_LIST, "ARRAY"), "+m": (TEXT_MAP, "MAP"), "+s": (TEXT_STRUCT, "STRUCT"),
}
cdef dict _TEXT_FAULT_TEXTS = {
    TEXT_FULL: "a column would be larger than 2 GiB",
    TEXT_CELLS: "few bytes that stand for very many values",
}


ctypedef struct text_node_t:       # what JSON is for a column; its children are those of the layout's node
    int kind
    int precision
    int scale
    int64_t least                  # of integers
    int64_t most
    const uint8_t *name
    size_t name_size
    const uint8_t *as_key          # `"name":`, if the name needs no escape in JSON
    int64_t key_size               # its bytes, else more than any text has
    unsigned key_mask              # a bit for each of them, KEY_ROOM at most


@cython.final
cdef class TextPlan:
    """How the fields of JSON objects and CSV records become the columns of a layout.

    `zone` says what a timestamp without a zone means: [(time, seconds east of Greenwich before it), ...] and at last
    (None, seconds after that), times being seconds since 1970 on the clocks of the place. Immutable, reusable.
    """

    cdef ColumnLayout layout
    cdef text_node_t *nodes
    cdef int64_t *zone_times
    cdef int64_t *zone_seconds
    cdef int zone_count
    cdef list paths                # of each node, for faults
    cdef list types
    cdef list keys                 # what `as_key` points into

    def __cinit__(self, ColumnLayout layout not None, zone=((None, 0),)):
        cdef int i
        cdef list zones = [(INT64_MAX if time is None else time, seconds) for time, seconds in zone]
        self.layout = layout
        self.zone_count = len(zones)
        self.nodes = <text_node_t *>malloc(<size_t>layout.count * sizeof(text_node_t))
        self.zone_times = <int64_t *>malloc(max(len(zones), 1) * sizeof(int64_t))
        self.zone_seconds = <int64_t *>malloc(max(len(zones), 1) * sizeof(int64_t))
        if self.nodes == NULL or self.zone_times == NULL or self.zone_seconds == NULL:
            raise _errors.LimitError("out of memory for a plan of texts")
        if not zones:
            raise _errors.ConfigError("a time zone without an offset")
        for i in range(self.zone_count):
            self.zone_times[i], self.zone_seconds[i] = zones[i]
        memset(self.nodes, 0, <size_t>layout.count * sizeof(text_node_t))
        self.types = []
        self.keys = []
        for i in range(layout.count):
            self._set_node(&self.nodes[i], layout.names[i], layout.formats[i].decode())
        self.paths = [""] * layout.count
        for i in range(layout.count):
            self._set_paths(i)

    def __dealloc__(self):
        free(self.nodes)
        free(self.zone_times)
        free(self.zone_seconds)

    cdef int _set_node(self, text_node_t *node, bytes name, str format) except -1:
        cdef int bits
        cdef bytes key
        node.name = <const uint8_t *>PyBytes_AS_STRING(name)
        node.name_size = <size_t>len(name)
        node.key_size = INT64_MAX
        if all(byte >= 0x20 and byte not in b'"\\' for byte in name):
            key = b'"%b":' % name + bytes(KEY_ROOM)
            self.keys.append(key)
            node.as_key = <const uint8_t *>PyBytes_AS_STRING(key)
            node.key_size = len(name) + 3
            node.key_mask = <unsigned>((1 << min(node.key_size, <int64_t>KEY_ROOM)) - 1)
        if format.startswith("d:"):
            node.kind = TEXT_DECIMAL
            node.precision, node.scale = [int(part) for part in format[2:].split(",")]
            self.types.append(f"DECIMAL({node.precision},{node.scale})")
            return 0
        if format not in _TEXT_KINDS:
            raise _errors.ConfigError(f"texts cannot be decoded to columns of Arrow format {format!r}")
        node.kind, type_name = _TEXT_KINDS[format]
        self.types.append(type_name)
        if TEXT_INT8 <= node.kind <= TEXT_INT64:
            bits = 8 << (node.kind - TEXT_INT8)
            node.most = INT64_MAX >> (64 - bits)
            node.least = -node.most - 1
        return 0

    cdef int _set_paths(self, int number) except -1:
        """The places of a node's children, as in `orders[].lines[].price`."""
        cdef node_t *node = &self.layout.nodes[number]
        cdef int kind = self.nodes[number].kind
        cdef str before = self.paths[number]
        cdef int i, child
        for i in range(node.n_children):
            child = node.children[i]
            if kind == TEXT_LIST:
                self.paths[child] = f"{before}[]"
            elif kind == TEXT_MAP:
                if self.nodes[self.layout.nodes[child].children[0]].kind != TEXT_STRING:
                    raise _errors.ConfigError(f"{before}: the keys of a MAP in JSON are STRING")
                self.paths[child] = before
            elif number and self.nodes[number - 1].kind == TEXT_MAP and node.children[1] == child:
                self.paths[child] = f"{before}{{}}"
            else:
                name = self.layout.names[child].decode()
                self.paths[child] = f"{before}.{name}" if before else name
        return 0

    cdef tuple described(self, const value_fault_t *fault, str got):
        """(row, byte, place in the schema, reason)"""
        cdef str type_name = self.types[fault.step] if fault.step > 0 else "an object"
        if fault.fault == TEXT_TYPE:
            text = f"expected {type_name}, got {got}"
        elif fault.fault == TEXT_RANGE:
            text = f"{got} cannot be {type_name}"
        else:
            text = _TEXT_FAULT_TEXTS[fault.fault].format(got)
        return fault.row, fault.at, self.paths[max(fault.step, 0)], text


ctypedef struct text_t:            # where texts go
    node_t *nodes
    const text_node_t *plan
    const int64_t *zone_times
    const int64_t *zone_seconds
    int zone_count


cdef void text_init(text_t *t, TextPlan plan, BuiltColumns out) noexcept:
    t.nodes = out.nodes
    t.plan = plan.nodes
    t.zone_times = plan.zone_times
    t.zone_seconds = plan.zone_seconds
    t.zone_count = plan.zone_count


# --- one row of a node from a text; each returns 0 or a fault ---

cdef int put_integer(text_t *t, int number, const uint8_t *p, size_t size) noexcept nogil:
    cdef int64_t value
    return put_int(&t.plan[number], &t.nodes[number], value) if kw_int_of_text(&value, p, size) else TEXT_RANGE


cdef inline int put_int(const text_node_t *plan, node_t *node, int64_t value) noexcept nogil:
    if value < plan.least or value > plan.most:
        return TEXT_RANGE
    if not node_has_room(node):
        return TEXT_FULL
    if node.width == 8:
        (<int64_t *>node.data)[node.length] = value
    elif node.width == 4:
        (<int32_t *>node.data)[node.length] = <int32_t>value
    elif node.width == 2:
        (<int16_t *>node.data)[node.length] = <int16_t>value
    else:
        (<int8_t *>node.data)[node.length] = <int8_t>value
    node.length += 1
    return 0


cdef inline int put_floating(node_t *node, double value) noexcept nogil:
    if not node_has_room(node):
        return TEXT_FULL
    if node.width == 8:
        (<double *>node.data)[node.length] = value
    else:
        (<float *>node.data)[node.length] = <float>value
    node.length += 1
    return 0


cdef int put_number(text_t *t, int number, const uint8_t *p, size_t size) noexcept nogil:
    """`p` is a number by `kw_is_number`."""
    cdef double value
    if not kw_double_of_text(&value, p, size) and not _long_double(p, size, &value):
        t.nodes[number].refused = True
        return TEXT_FULL
    return put_floating(&t.nodes[number], value)


cdef bint _long_double(const uint8_t *p, size_t size, double *out) noexcept nogil:
    """Any number, correctly rounded; False without memory."""
    cdef char short[SHORT_NUMBER]
    cdef char *copy = short
    cdef bint done = True
    if size >= SHORT_NUMBER:
        copy = <char *>malloc(size + 1)
        if copy == NULL:
            return False
    memcpy(copy, p, size)
    copy[size] = 0
    with gil:
        try:
            out[0] = PyOS_string_to_double(copy, NULL, NULL)
        except MemoryError:
            done = False
    if copy != short:
        free(copy)
    return done


cdef inline bint _is_word(const uint8_t *p, size_t size, const char *word, size_t word_size) noexcept nogil:
    return size == word_size and memcmp(p, word, size) == 0


cdef bint not_finite(const uint8_t *p, size_t size, double *out) noexcept nogil:
    """Whether the text is a word for a number that is not finite, with or without a sign."""
    cdef double zero = 0.0
    cdef bint negative = size > 0 and p[0] == c'-'
    if _is_word(p, size, b"NaN", 3):
        out[0] = zero / zero
        return True
    if negative or size > 0 and p[0] == c'+':
        p += 1
        size -= 1
    if not (_is_word(p, size, b"Infinity", 8) or _is_word(p, size, b"INF", 3) or _is_word(p, size, b"Inf", 3)):
        return False
    out[0] = -1.0 / zero if negative else 1.0 / zero
    return True


cdef int put_decimal(text_t *t, int number, const uint8_t *p, size_t size) noexcept nogil:
    cdef const text_node_t *plan = &t.plan[number]
    cdef node_t *node = &t.nodes[number]
    if not node_has_room(node):
        return TEXT_FULL
    if not kw_decimal_of_text(node.data + 16 * node.length, p, size, plan.precision, plan.scale):
        return TEXT_RANGE
    node.length += 1
    return 0


cdef int put_date(text_t *t, int number, const uint8_t *p, size_t size) noexcept nogil:
    cdef int32_t days
    if not kw_date_of_text(&days, p, size):
        return TEXT_RANGE
    return 0 if add_fixed_32(&t.nodes[number], <uint32_t>days) else TEXT_FULL


cdef int64_t _seconds_east(const text_t *t, int64_t seconds) noexcept nogil:
    """How far east of Greenwich the place is where clocks show `seconds`, then."""
    cdef int low = 0, high = t.zone_count - 1, middle
    while low < high:
        middle = (low + high) // 2
        if t.zone_times[middle] <= seconds:
            low = middle + 1
        else:
            high = middle
    return t.zone_seconds[low]


cdef int put_seconds(text_t *t, int number, const uint8_t *p, size_t size) noexcept nogil:
    """A timestamp from a number of seconds."""
    cdef int64_t seconds
    if not kw_int_of_text(&seconds, p, size) or not -MAX_SECONDS <= seconds <= MAX_SECONDS:
        return TEXT_RANGE
    return 0 if add_fixed_64(&t.nodes[number], <uint64_t>(seconds * 1000000)) else TEXT_FULL


cdef int put_timestamp(text_t *t, int number, const uint8_t *p, size_t size) noexcept nogil:
    cdef bint is_local = t.plan[number].kind == TEXT_TIMESTAMP_NTZ
    cdef bint has_zone
    cdef int64_t micros, seconds
    if not kw_timestamp_of_text(&micros, &has_zone, p, size) or is_local and has_zone:
        return TEXT_RANGE
    if not has_zone and not is_local:
        seconds = micros // 1000000 - (micros % 1000000 < 0)
        micros -= _seconds_east(t, seconds) * 1000000
    return 0 if add_fixed_64(&t.nodes[number], <uint64_t>micros) else TEXT_FULL
