# The plan by which Protobuf messages become columns: a table of fields for each type of message, made by
# `kwire.columns.protobuf_plan` and checked here against the columns, so that reading need not check it.

cdef enum ProtobufOp:
    PROTO_INT32 = 0                # of a varint: the lower 32 bits
    PROTO_INT64 = 1
    PROTO_UINT32 = 2               # in a column of 64 bits; else as int32
    PROTO_SINT32 = 3
    PROTO_SINT64 = 4
    PROTO_BOOL = 5
    PROTO_ENUM = 6                 # as text
    PROTO_FIXED32 = 7
    PROTO_FIXED64 = 8
    PROTO_BYTES = 9
    PROTO_TEXT = 10
    PROTO_MESSAGE = 11
    PROTO_GROUP = 12
    PROTO_TIME = 13                # seconds and nanos, as microseconds

cdef tuple _PROTOBUF_OPS = (
    "int32", "int64", "uint32", "sint32", "sint64", "bool", "enum", "fixed32", "fixed64", "bytes", "text", "message",
    "group", "time",
)

cdef enum WireType:
    WIRE_VARINT = 0
    WIRE_64 = 1
    WIRE_SIZED = 2
    WIRE_GROUP = 3
    WIRE_END_GROUP = 4
    WIRE_32 = 5

cdef enum ProtobufFlag:
    FIELD_REPEATED = 1
    FIELD_REQUIRED = 2
    FIELD_KEEPS_ZERO = 4           # else a zero is as if the field were not there
    FIELD_HAS_DEFAULT = 8
    FIELD_OPEN_ENUM = 16           # a number without a name gets one; else it is as if the field were not there
    FIELD_STRICT_TEXT = 32         # text that is not UTF-8 is a fault; else it is repaired

cdef enum:
    MAX_PROTOBUF_FIELDS = 50000
    MAX_PATH = 16


ctypedef struct symbol_t:
    int32_t number
    datum_t text


ctypedef struct proto_field_t:
    uint32_t number
    int op
    int wire
    int flags
    int node                       # the column; of a repeated field, the list
    int message                    # its type's place in the plan
    int oneof                      # -1: none; fields of a oneof have the same number here
    int place                      # for faults
    uint64_t default               # of a number, its bits
    datum_t text                   # default of bytes or text; of an enum, what names of unknown numbers begin with
    symbol_t *symbols
    int n_symbols


ctypedef struct proto_message_t:
    int node                       # -1: its only field fills the column of the field that it is in
    bint has_oneofs
    int n_fields
    proto_field_t *fields          # by number


@cython.final
cdef class ProtobufPlan:
    """How messages go into the columns of `layout`: ProtobufPlan(layout, messages, path), the root message first.

    A message is (node or -1, fields by number); a field (number, operation, flags, node, message, oneof, default,
    symbols by number, what names of unknown symbols begin with, place). `path`: the indexes that stand before each
    message, with a schema's id; None: nothing does. Immutable.
    """

    cdef ColumnLayout layout
    cdef proto_message_t *messages
    cdef int count
    cdef int field_count
    cdef list kept
    cdef list places
    cdef bint framed
    cdef int32_t path[MAX_PATH]
    cdef int path_size

    def __cinit__(self, ColumnLayout layout not None, messages, path=None):
        cdef list given = list(messages)
        cdef int i
        self.layout = layout
        self.kept = []
        self.places = []
        self.framed = path is not None
        self.path_size = len(path or ())
        if self.path_size > MAX_PATH or self.framed and self.path_size == 0:
            raise _errors.ConfigError(f"a path of {self.path_size} message indexes")
        for i in range(self.path_size):
            self.path[i] = path[i]
        self.messages = <proto_message_t *>malloc(max(len(given), 1) * sizeof(proto_message_t))
        if self.messages == NULL:
            raise _errors.LimitError("out of memory for a Protobuf plan")
        memset(self.messages, 0, max(len(given), 1) * sizeof(proto_message_t))
        self.count = len(given)
        if not self.count:
            raise _errors.ConfigError("a Protobuf plan without messages")
        for i in range(self.count):
            self._take_message(&self.messages[i], given[i][0], list(given[i][1]))
        self._check_nesting()

    def __dealloc__(self):
        cdef int i, n
        if self.messages == NULL:
            return
        for i in range(self.count):
            for n in range(self.messages[i].n_fields):
                free(self.messages[i].fields[n].symbols)
            free(self.messages[i].fields)
        free(self.messages)

    cdef int _take_message(self, proto_message_t *message, int node, list fields) except -1:
        cdef int i
        message.node = node
        self.field_count += len(fields)
        if self.field_count > MAX_PROTOBUF_FIELDS:
            raise _errors.ConfigError(f"a Protobuf message of more than {MAX_PROTOBUF_FIELDS} fields in all")
        if (not -1 <= node < self.layout.count or node >= 0 and self.layout.nodes[node].kind != NODE_STRUCT
                or node < 0 and len(fields) != 1):
            raise _errors.ConfigError(f"a Protobuf message cannot have column {node}")
        message.fields = <proto_field_t *>malloc(max(len(fields), 1) * sizeof(proto_field_t))
        if message.fields == NULL:
            raise _errors.LimitError("out of memory for a Protobuf plan")
        memset(message.fields, 0, max(len(fields), 1) * sizeof(proto_field_t))
        message.n_fields = len(fields)
        for i in range(message.n_fields):
            self._take_field(&message.fields[i], fields[i])
            message.has_oneofs |= message.fields[i].oneof >= 0
            if i and message.fields[i].number <= message.fields[i - 1].number:
                raise _errors.ConfigError("the fields of a Protobuf message are not in the order of their numbers")
        return 0

    cdef int _take_field(self, proto_field_t *field, tuple given) except -1:
        (field.number, op, field.flags, field.node, field.message, field.oneof, default, symbols, unknown,
         place) = given
        field.op = _PROTOBUF_OPS.index(op)
        field.place = len(self.places)
        self.places.append(str(place))
        text = default if isinstance(default, bytes) else PyUnicode_AsUTF8String(unknown)
        self.kept.append(text)
        field.text.data = <const uint8_t *>PyBytes_AS_STRING(<bytes>text)
        field.text.size = len(<bytes>text)
        if isinstance(default, int):
            field.default = <uint64_t>(default & 0xFFFFFFFFFFFFFFFF)
        self._take_symbols(field, list(symbols))
        field.wire = _wire_of(field.op)
        return self._check(field)

    cdef int _take_symbols(self, proto_field_t *field, list symbols) except -1:
        cdef int i
        cdef bytes text
        field.symbols = <symbol_t *>malloc(max(len(symbols), 1) * sizeof(symbol_t))
        if field.symbols == NULL:
            raise _errors.LimitError("out of memory for a Protobuf plan")
        for i in range(len(symbols)):
            text = PyUnicode_AsUTF8String(symbols[i][1])
            self.kept.append(text)
            field.symbols[i].number = symbols[i][0]
            field.symbols[i].text.data = <const uint8_t *>PyBytes_AS_STRING(text)
            field.symbols[i].text.size = len(text)
            if i and field.symbols[i].number <= field.symbols[i - 1].number:
                raise _errors.ConfigError("the symbols of an enum are not in the order of their numbers")
        field.n_symbols = len(symbols)
        return 0

    cdef int _check(self, proto_field_t *field) except -1:
        """Nothing that a plan says may write outside of a column."""
        cdef node_t *node
        cdef bint fits = 0 <= field.node < self.layout.count
        if fits:
            node = &self.layout.nodes[field.node]
            if field.flags & FIELD_REPEATED:
                fits = node.kind == NODE_LIST
                node = &self.layout.nodes[node.children[0]] if fits else node
        if fits and (field.op == PROTO_MESSAGE or field.op == PROTO_GROUP):
            fits = 0 <= field.message < self.count
        elif fits and (field.op == PROTO_BYTES or field.op == PROTO_TEXT or field.op == PROTO_ENUM):
            fits = node.kind == NODE_BYTES
        elif fits and field.op == PROTO_BOOL:
            fits = node.kind == NODE_BOOL
        elif fits:
            fits = (node.kind == NODE_FIXED
                    and (node.width == 8 or node.width == 16 or node.width == 4 and field.op != PROTO_TIME))
        if not fits:
            raise _errors.ConfigError(f"field {field.number} of a Protobuf plan does not fit its column")
        return 0

    cdef int _check_nesting(self) except -1:
        """A message fills the column of its field, so that messages are nested as columns are: not without end."""
        cdef const proto_field_t *field
        cdef const proto_message_t *inner
        cdef int i, n, node
        for i in range(self.count):
            for n in range(self.messages[i].n_fields):
                field = &self.messages[i].fields[n]
                if field.op != PROTO_MESSAGE and field.op != PROTO_GROUP:
                    continue
                node = field.node
                if field.flags & FIELD_REPEATED:
                    node = self.layout.nodes[node].children[0]
                inner = &self.messages[field.message]
                if inner.node != node and (inner.node >= 0 or inner.fields[0].node != node
                                           or inner.fields[0].op == PROTO_MESSAGE or inner.fields[0].op == PROTO_GROUP):
                    raise _errors.ConfigError(f"field {field.number} of a Protobuf plan is of another message")
        if self.messages[0].node != 0:
            raise _errors.ConfigError("the first message of a Protobuf plan is not that of its root")
        return 0

    cdef tuple described(self, const value_fault_t *fault):
        """(row, byte, place in the message, reason)"""
        place = self.places[fault.step] if fault.step >= 0 else ""
        return fault.row, fault.at, place, value_fault_text(fault.fault)


cdef int _wire_of(int op) noexcept:
    if op == PROTO_FIXED32:
        return WIRE_32
    if op == PROTO_FIXED64:
        return WIRE_64
    if op == PROTO_GROUP:
        return WIRE_GROUP
    return WIRE_SIZED if op >= PROTO_BYTES else WIRE_VARINT
