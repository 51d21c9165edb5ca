# Which columns records become, under which names and in which Arrow types.
#
#   kind            types                                       Arrow
#   offset          int64                                       l
#   timestamp       ms, us, ns (plain integers), timestamp_us   l, tsu:UTC
#   timestamp_type  int8, int32                                 c, i
#   key, value      binary, binary_view                         z, vz
#   headers         list, list_or_null                          +l of +s (key u, value z)
#   topic           string                                      u
#   partition       int32                                       i
#   file            string                                      u
#   position        int64                                       l
#   leader_epoch    int32                                       i
#   producer_id     int64                                       l
#   base_sequence   int32                                       i
# The last five are of the batch: which file it stands in, where it begins there, and what its header says.
# Sources: "Arrow columnar format", "The Arrow C data interface", "The Arrow PyCapsule interface".

cdef enum ColumnKind:
    COLUMN_OFFSET = 0
    COLUMN_TIMESTAMP = 1
    COLUMN_TIMESTAMP_TYPE = 2
    COLUMN_KEY = 3
    COLUMN_VALUE = 4
    COLUMN_HEADERS = 5
    COLUMN_TOPIC = 6
    COLUMN_PARTITION = 7
    COLUMN_FILE = 8
    COLUMN_POSITION = 9
    COLUMN_LEADER_EPOCH = 10
    COLUMN_PRODUCER_ID = 11
    COLUMN_BASE_SEQUENCE = 12

cdef enum ColumnType:
    TYPE_INT64 = 0
    TYPE_MS = 1
    TYPE_US = 2
    TYPE_NS = 3
    TYPE_TIMESTAMP_US = 4
    TYPE_INT8 = 5
    TYPE_INT32 = 6
    TYPE_BINARY = 7
    TYPE_BINARY_VIEW = 8
    TYPE_LIST = 9
    TYPE_LIST_OR_NULL = 10
    TYPE_STRING = 11

cdef tuple _COLUMN_KINDS = (
    "offset", "timestamp", "timestamp_type", "key", "value", "headers", "topic", "partition", "file", "position",
    "leader_epoch", "producer_id", "base_sequence",
)
cdef tuple _COLUMN_TYPES = (
    "int64", "ms", "us", "ns", "timestamp_us", "int8", "int32", "binary", "binary_view", "list", "list_or_null", "string",
)
cdef tuple _TYPES_OF_COLUMN = (
    ("int64",), ("ms", "us", "ns", "timestamp_us"), ("int8", "int32"), ("binary", "binary_view"),
    ("binary", "binary_view"), ("list", "list_or_null"), ("string",), ("int32",), ("string",), ("int64",), ("int32",),
    ("int64",), ("int32",),
)
cdef tuple _COLUMN_FORMATS = (b"l", b"l", b"l", b"l", b"tsu:UTC", b"c", b"i", b"z", b"vz", b"+l", b"+l", b"u")

cdef enum:
    MAX_COLUMNS = 16


ctypedef struct column_t:
    int kind
    int type


@cython.final
cdef class ColumnPlan:
    """Which columns, under which names and in which types: ColumnPlan([(name, kind, type), ...]).

    The kinds and types stand at the head of `column_plan.pxi`; ConfigError names what would work. Immutable, reusable.
    """

    cdef column_t columns[MAX_COLUMNS]
    cdef int count
    cdef bint wants_headers
    cdef readonly tuple names
    cdef list encoded_names

    def __cinit__(self, fields):
        cdef list names = []
        self.encoded_names = []
        self.count = 0
        self.wants_headers = False
        for name, kind, type_name in fields:
            if kind not in _COLUMN_KINDS:
                raise _errors.ConfigError(f"there is no column {kind!r}; there are {', '.join(_COLUMN_KINDS)}")
            self.columns[self.count].kind = _COLUMN_KINDS.index(kind)
            if type_name not in _TYPES_OF_COLUMN[self.columns[self.count].kind]:
                raise _errors.ConfigError(f"column {kind!r} cannot be {type_name!r}; it can be "
                                          f"{' or '.join(_TYPES_OF_COLUMN[self.columns[self.count].kind])}")
            self.columns[self.count].type = _COLUMN_TYPES.index(type_name)
            self.wants_headers |= self.columns[self.count].kind == COLUMN_HEADERS
            self.count += 1
            names.append(name)
            self.encoded_names.append(PyUnicode_AsUTF8String(name))
            if self.count == MAX_COLUMNS:
                raise _errors.ConfigError(f"more than {MAX_COLUMNS - 1} columns")
        self.names = tuple(names)

    def __arrow_c_schema__(self):
        """The schema as a PyCapsule named "arrow_schema"."""
        cdef ArrowSchema *schema = <ArrowSchema *>malloc(sizeof(ArrowSchema))
        if schema == NULL or self.fill_schema(schema) < 0:
            free(schema)
            raise _errors.LimitError("out of memory for a schema")
        return schema_capsule(schema)

    cdef int fill_schema(self, ArrowSchema *schema) except? -1:
        cdef int i
        cdef bytes name
        if kw_schema_init(schema, b"+s", b"", 0, self.count) < 0:
            return -1
        for i in range(self.count):
            name = self.encoded_names[i]
            if _fill_field(schema.children[i], self.columns[i].type, name) < 0:
                schema.release(schema)
                return -1
        return 0


cdef int _fill_field(ArrowSchema *field, int type, bytes name):
    cdef bytes format = _COLUMN_FORMATS[type]
    cdef bint is_list = type == TYPE_LIST or type == TYPE_LIST_OR_NULL
    cdef ArrowSchema *item
    if kw_schema_init(field, format, name, KW_ARROW_NULLABLE, 1 if is_list else 0) < 0:
        return -1
    if not is_list:
        return 0
    item = field.children[0]
    # Spark calls the element of an array so; Arrow's libraries say "item".
    if kw_schema_init(item, b"+s", b"element" if type == TYPE_LIST_OR_NULL else b"item", KW_ARROW_NULLABLE, 2) < 0:
        return -1
    if kw_schema_init(item.children[0], b"u", b"key", KW_ARROW_NULLABLE, 0) < 0:
        return -1
    return kw_schema_init(item.children[1], b"z", b"value", KW_ARROW_NULLABLE, 0)
