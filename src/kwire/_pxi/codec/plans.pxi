# The interpreter of message plans: one small loop decodes and encodes every Kafka message in every version.
#
# A plan is the wire layout of one struct in one version: an array of ops, each with the slot of the Python instance and
# its wire type. The messages themselves are defined by the schema; this file knows none of them.
#
#   struct          its fields in order, then (flexible versions) the tagged fields
#   tagged fields   uvarint count, then per field, ascending by tag: uvarint tag, uvarint size, `size` bytes
#   nullable struct int8 -1 (null) or 1, then the struct; as a tagged field uvarint 0 (null) or 1
#   records         as bytes: a nullable span, passed through as it is
#   rest            the same without a length: all remaining bytes of the message, so only its last field
#   short array     an array with an int16 count (the formats before Kafka 0.8)
#   uuid            16 bytes, big-endian
# Sources: the protocol guide ("Protocol Primitive Types"), KIP-482 (flexible versions), KIP-893 (nullable structs).
#
# Slots are accessed by the offsets in the class's own member descriptors. `Layout` checks each descriptor once, and
# every instance is checked against its class before an offset is used. Recursion follows the schema, never the data: a
# plan deeper than MAX_DEPTH is refused when it is made.
#
# A value may run Python code while it is compared or encoded (__eq__, __index__, __buffer__) and change the message
# that holds it. Hence every value is held while it is used, and nothing read before is assumed to be unchanged.

cdef extern from *:
    """
    static int kw_sequences_equal(PyObject *left, PyObject *right);
    /* A list and a tuple of equal values are equal. */
    static int kw_values_equal(PyObject *left, PyObject *right) {
        int equal;
        if (left == right) return 1;
        if (!(PyList_Check(left) || PyTuple_Check(left)) || !(PyList_Check(right) || PyTuple_Check(right)))
            return PyObject_RichCompareBool(left, right, Py_EQ);
        if (Py_EnterRecursiveCall(" while comparing fields of a message")) return -1;
        equal = kw_sequences_equal(left, right);
        Py_LeaveRecursiveCall();
        return equal;
    }
    /* Comparing two values may run code that changes the lists: sizes are read before each, and both values held. */
    static int kw_sequences_equal(PyObject *left, PyObject *right) {
        Py_ssize_t size = PySequence_Fast_GET_SIZE(left);
        Py_ssize_t i;
        for (i = 0; size == PySequence_Fast_GET_SIZE(right) && size == PySequence_Fast_GET_SIZE(left); i++) {
            PyObject *one, *other;
            int equal;
            if (i >= size) return 1;
            one = Py_NewRef(PySequence_Fast_GET_ITEM(left, i));
            other = Py_NewRef(PySequence_Fast_GET_ITEM(right, i));
            equal = kw_values_equal(one, other);
            Py_DECREF(one);
            Py_DECREF(other);
            if (equal <= 0) return equal;
        }
        return 0;
    }
    """
    bint values_equal "kw_values_equal"(object left, object right) except -1
    Py_ssize_t size_of_list_or_tuple "PySequence_Fast_GET_SIZE"(object items) noexcept

cdef enum:
    MAX_DEPTH = 16              # Kafka's deepest message has 5
    MAX_STRING = 0x7FFF         # Java's limit, for compact strings too
    MAX_TAG = 0x7FFFFFFE        # Java refuses 2^31 - 1
    MIN_GATHERED = 1024          # below this, a copy costs less than one more buffer in the gather list
    MIN_USUAL_SIZE = 512
    MAX_USUAL_SIZE = 64 * 1024
    KEPT_INTS = 16               # a power of two
    LONGEST_KEPT_INTS = 16
    KEPT_LONGS = 8               # a power of two

cdef enum Kind:
    KIND_BOOL = 0
    KIND_I8 = 1
    KIND_I16 = 2
    KIND_I32 = 3
    KIND_I64 = 4
    KIND_U16 = 5
    KIND_U32 = 6
    KIND_F64 = 7
    KIND_UUID = 8
    KIND_STRING = 9
    KIND_BYTES = 10
    KIND_RECORDS = 11
    KIND_STRUCT = 12
    KIND_ARRAY = 13
    KIND_REST = 14

cdef dict _KINDS = {
    "bool": KIND_BOOL, "int8": KIND_I8, "int16": KIND_I16, "int32": KIND_I32, "int64": KIND_I64, "uint16": KIND_U16,
    "uint32": KIND_U32, "float64": KIND_F64, "uuid": KIND_UUID, "string": KIND_STRING, "bytes": KIND_BYTES,
    "records": KIND_RECORDS, "struct": KIND_STRUCT, "array": KIND_ARRAY, "rest": KIND_REST,
}
cdef tuple _KIND_NAMES = tuple(_KINDS)
cdef tuple _NO_ARGUMENTS = ()


ctypedef struct op_t:
    int kind
    int element              # kind of an array's elements
    bint nullable
    bint compact
    bint short_count
    bint ignorable
    bint is_tagged
    bint lazy                # the default is a struct, made when it is first read: the slot is empty until then
    uint32_t tag
    Py_ssize_t slot
    int run                  # number of consecutive fields of fixed width from here on, this one included ...
    size_t run_size          # ... how many bytes they take ...
    size_t at                # ... and the offset of this one from the first of them
    size_t min_size          # the minimum size of an element of an array
    PyObject *name           # str          } borrowed: the plan keeps them
    PyObject *fallback       # the default  }
    PyObject *child          # Plan or None }


ctypedef struct kept_ints_t:
    const uint8_t *data
    size_t size
    PyObject *made           # the tuple, owned; NULL when the place is free


ctypedef struct kept_long_t:
    int64_t value
    PyObject *made           # the int, owned; NULL when the place is free


ctypedef struct default_t:
    Py_ssize_t slot
    PyObject *value          # borrowed: the plan keeps it


ctypedef struct walk_t:
    # The position in the message, so that an error can name its field; and the buffers gathered when encoding.
    int depth
    const op_t *op[MAX_DEPTH]
    Py_ssize_t index[MAX_DEPTH]
    # Decoding: arrays of int32 seen before. Replica lists repeat, and a tuple can be shared.
    kept_ints_t kept_ints[KEPT_INTS]
    bint has_kept_ints       # until then the table is not even cleared
    # Decoding: int64 seen before. A partition's last stable offset is nearly always its high watermark.
    kept_long_t kept_longs[KEPT_LONGS]
    # Encoding in the gather form.
    PyObject *cuts           # list of (position in the writer, buffer), or NULL when everything is copied
    Py_ssize_t outside       # bytes in those buffers
    int in_tag


cdef inline void walk_init(walk_t *walk) noexcept:
    walk.depth = 0
    walk.op[0] = NULL
    walk.index[0] = -1
    walk.has_kept_ints = False
    walk.cuts = NULL
    walk.outside = 0
    walk.in_tag = 0


cdef str path_of(const walk_t *walk):
    """"topics[3].partitions[0].error_code"; None outside of any field."""
    cdef list steps = []
    cdef int i
    for i in range(walk.depth + 1):
        if walk.op[i] == NULL:
            break
        steps.append(<object>walk.op[i].name if walk.index[i] < 0 else f"{<object>walk.op[i].name}[{walk.index[i]}]")
    return ".".join(steps) or None


cdef object joined_records(object value):
    if isinstance(value, (list, tuple)):
        return b"".join([memoryview(part) for part in value])
    return value


@cython.final
cdef class Layout:
    """The slots of one struct class: names, defaults, and the offset of each value in an instance.

    `fields` is a sequence of (name, kind, default, struct class or None) in declaration order. A struct class means
    that the default is a fresh instance of it, made when the field is first read; its slot is then named `_<name>`.
    """

    cdef readonly tuple names
    cdef readonly tuple defaults
    cdef tuple kinds
    cdef tuple structs
    cdef object cls
    cdef Py_ssize_t *offsets
    cdef Py_ssize_t count
    cdef Py_ssize_t unknown      # offset of the unknown tagged fields: a dict, or NULL when there are none

    def __cinit__(self, cls, fields):
        cdef Py_ssize_t i
        self.offsets = NULL
        if not (isinstance(cls, type) and issubclass(cls, StructBase)):
            raise TypeError("a layout describes a subclass of StructBase")
        self.cls = cls
        self.names = tuple([field[0] for field in fields])
        self.kinds = tuple([_KINDS[field[1]] for field in fields])
        self.defaults = tuple([field[2] for field in fields])
        self.structs = tuple([field[3] for field in fields])
        self.count = len(self.names)
        self.offsets = <Py_ssize_t *>malloc(max(self.count, 1) * sizeof(Py_ssize_t))
        if self.offsets == NULL:
            raise MemoryError
        for i in range(self.count):
            slot_name = self.names[i] if self.structs[i] is None else "_" + self.names[i]
            descriptor = cls.__dict__.get(slot_name)
            self.offsets[i] = kw_slot_offset(<PyObject *>descriptor, <PyObject *>cls)
            if self.offsets[i] < 0:
                raise TypeError(f"{cls.__qualname__}.{slot_name} is not a slot of that class")
            if self.structs[i] is not None:
                setattr(cls, self.names[i], StructField(cls, self.structs[i], self.names[i], self.offsets[i]))
        descriptor = cls.__dict__.get("_unknown_tags")
        self.unknown = kw_slot_offset(<PyObject *>descriptor, <PyObject *>cls)
        if self.unknown < 0:
            raise TypeError(f"{cls.__qualname__} has no slot _unknown_tags")
        if not kw_is_slots_only(<PyObject *>cls, <PyObject *>StructBase, self.count + 1):
            raise TypeError(f"{cls.__qualname__} holds more than its slots")
        kw_use_free_instance(<PyObject *>cls)

    def __dealloc__(self):
        free(self.offsets)

    cdef Py_ssize_t offset_of(self, object name) except -1:
        return self.offsets[self.names.index(name)]

    cdef int fill(self, object instance, dict values) except -1:
        """Sets every field from `values`, or else to its default."""
        cdef Py_ssize_t i
        cdef Py_ssize_t used = 0
        cdef PyObject *value
        for i in range(self.count):
            value = PyDict_GetItemWithError(values, <object>PyTuple_GET_ITEM(self.names, i))
            if value != NULL:
                used += 1
                fill_slot(<PyObject *>instance, self.offsets[i], <object>value)
            elif self.structs[i] is None:
                fill_slot(<PyObject *>instance, self.offsets[i], <object>PyTuple_GET_ITEM(self.defaults, i))
        if used != PyDict_Size(values):
            odd = ", ".join(sorted(set(values) - set(self.names)))
            raise TypeError(f"{type(instance).__qualname__} has no field {odd}; it has {', '.join(self.names) or 'none'}")
        return 0

    cdef object make(self):
        """An instance with its defaults, to be filled by `fill_slot`. The cyclic collector does not track it."""
        cdef object instance = kw_bare_instance(<PyObject *>self.cls)
        cdef Py_ssize_t i
        for i in range(self.count):
            if self.structs[i] is None:
                fill_slot(<PyObject *>instance, self.offsets[i], <object>PyTuple_GET_ITEM(self.defaults, i))
        return instance

    cdef bint equal(self, object left, object right) except -1:
        cdef Py_ssize_t i
        cdef PyObject *a
        cdef PyObject *b
        for i in range(self.count):
            a = slot_of(<PyObject *>left, self.offsets[i])[0]
            b = slot_of(<PyObject *>right, self.offsets[i])[0]
            if a == b:
                continue
            if self.structs[i] is None and (a == NULL or b == NULL):
                return False
            one, other = getattr(left, self.names[i]), getattr(right, self.names[i])
            if <int>self.kinds[i] in (KIND_RECORDS, KIND_REST):
                one, other = joined_records(one), joined_records(other)
            if not values_equal(one, other):
                return False
        return True

    cdef bint is_default(self, object instance) except -1:
        """Whether every field has its default. The schema bounds the depth: a struct of another class is no default."""
        cdef Py_ssize_t i
        cdef PyObject *value
        for i in range(self.count):
            value = slot_of(<PyObject *>instance, self.offsets[i])[0]
            if value == NULL or value == PyTuple_GET_ITEM(self.defaults, i):
                continue
            held = <object>value
            if self.structs[i] is not None and kw_type_check(value, <PyTypeObject *>self.structs[i]):
                if not layout_of(held).is_default(held):
                    return False
            elif not values_equal(held, self.defaults[i]):
                return False
        return self.unknown_tags(instance) is None

    cdef dict unknown_tags(self, object instance):
        """The unknown tagged fields of an instance, or None when there are none."""
        cdef PyObject *tags = slot_of(<PyObject *>instance, self.unknown)[0]
        if tags == NULL:
            return None
        held = <object>tags
        return <dict?>held or None


cdef inline Layout layout_of(object instance):
    cdef Layout layout = type(instance).__layout__
    if layout is None or not kw_type_check(<PyObject *>instance, <PyTypeObject *>layout.cls):
        raise TypeError(f"{type(instance).__qualname__}.__layout__ is not its own")
    return layout


@cython.no_gc
cdef class StructBase:
    """The base of every message and nested struct: constructed by keywords, compared by value.

    Subclasses have `__slots__`, one of them `_unknown_tags`, and a `__layout__`: the work of the schema's metaclass.
    """

    def __init__(self, **fields):
        layout_of(self).fill(self, fields)

    @property
    def unknown_tagged_fields(self):
        """Tagged fields that this library does not know, tag to bytes: kept when decoded, written again."""
        known = layout_of(self).unknown_tags(self)
        if known is None:
            known = {}
            fill_slot(<PyObject *>self, layout_of(self).unknown, known)
        return known

    @unknown_tagged_fields.setter
    def unknown_tagged_fields(self, fields):
        fill_slot(<PyObject *>self, layout_of(self).unknown, dict(fields))

    def __eq__(self, other):
        cdef Layout layout
        if type(self) is not type(other):
            return NotImplemented
        layout = layout_of(self)
        return layout.unknown_tags(self) == layout.unknown_tags(other) and layout.equal(self, other)

    __hash__ = None


@cython.final
cdef class StructField:
    """The attribute of a field whose default is a struct: a fresh default is made when it is first read."""

    cdef object owner
    cdef object struct
    cdef str name
    cdef Py_ssize_t offset

    def __cinit__(self, owner, struct, name, Py_ssize_t offset):
        self.owner = owner
        self.struct = struct
        self.name = name
        self.offset = offset

    cdef int check(self, instance) except -1:
        if not isinstance(instance, self.owner):
            raise TypeError(f"{self.name} is a field of {self.owner.__qualname__}, not of {type(instance).__qualname__}")
        return 0

    def __get__(self, instance, owner):
        cdef PyObject *value
        if instance is None:
            return self
        self.check(instance)
        value = slot_of(<PyObject *>instance, self.offset)[0]
        if value == NULL:
            made = self.struct()
            fill_slot(<PyObject *>instance, self.offset, made)
            return made
        return <object>value

    def __set__(self, instance, value):
        self.check(instance)
        fill_slot(<PyObject *>instance, self.offset, value)


@cython.final
cdef class Plan:
    """The wire layout of one struct class at one version.

    `fields` holds one tuple per field of the class: (name, kind, element kind or None, present, nullable, compact,
    ignorable, tag or None, default, child Plan or None, the versions as text, short count), in wire order. Errors call
    the message `name`.
    """

    cdef readonly object cls
    cdef readonly str name
    cdef readonly int version
    cdef readonly bint flexible
    cdef readonly int height           # of the tree of plans under this one, itself included
    cdef readonly Py_ssize_t min_size  # the minimum size of an instance
    cdef Layout layout
    cdef size_t usual_size             # initial room for encoding: the largest size so far, within bounds
    cdef op_t *ops                     # first the fields in wire order, then the tagged ones by tag, then the absent
    cdef Py_ssize_t plain
    cdef Py_ssize_t tagged
    cdef Py_ssize_t total
    cdef default_t *defaults           # of the fields after the plain ones, without the lazy ones
    cdef Py_ssize_t default_count
    cdef tuple fields
    cdef dict versions

    def __cinit__(self, cls, str name, int version, bint flexible, fields):
        cdef Py_ssize_t at = 0
        self.ops = NULL
        self.defaults = NULL
        self.cls = cls
        self.name = name
        self.version = version
        self.flexible = flexible
        self.layout = cls.__layout__
        if self.layout.cls is not cls:
            raise TypeError(f"{cls.__qualname__} has no layout of its own")
        present = [field for field in fields if field[3]]
        absent = [field for field in fields if not field[3]]
        plain = [field for field in present if field[7] is None]
        tagged = sorted([field for field in present if field[7] is not None], key=lambda field: field[7])
        self.fields = tuple(plain + tagged + absent)
        self.versions = {field[0]: field[10] for field in fields}
        self.plain, self.tagged, self.total = len(plain), len(tagged), len(self.fields)
        self.ops = <op_t *>malloc(max(self.total, 1) * sizeof(op_t))
        self.defaults = <default_t *>malloc(max(self.total, 1) * sizeof(default_t))
        if self.ops == NULL or self.defaults == NULL:
            raise MemoryError
        self.height = 1
        self.usual_size = MIN_USUAL_SIZE
        self.min_size = 1 if flexible else 0
        for field in self.fields:
            self._set_op(&self.ops[at], field)
            if at < self.plain:
                self.min_size += min_size(&self.ops[at], self.ops[at].kind)
            at += 1
        self._find_runs()
        self._find_defaults()
        if self.height > MAX_DEPTH:
            raise TypeError(f"{name} is {self.height} structs deep; {MAX_DEPTH} is the most")

    cdef int _set_op(self, op_t *op, tuple field) except -1:
        cdef Plan child
        op.name = PyTuple_GET_ITEM(field, 0)
        op.kind = _KINDS[field[1]]
        op.element = _KINDS[field[2]] if field[2] is not None else -1
        op.nullable, op.compact, op.ignorable, op.short_count = field[4], field[5], field[6], field[11]
        op.is_tagged = field[7] is not None
        op.tag = field[7] if op.is_tagged else 0
        op.fallback = PyTuple_GET_ITEM(field, 8)
        op.child = PyTuple_GET_ITEM(field, 9)
        op.slot = self.layout.offset_of(field[0])
        op.lazy = op.kind == KIND_STRUCT and <object>op.fallback is not None
        if (op.kind == KIND_STRUCT or op.element == KIND_STRUCT) and field[3]:
            child = <Plan?>field[9]
            self.height = max(self.height, child.height + 1)
        op.min_size = min_size(op, op.element) if op.kind == KIND_ARRAY and field[3] else 0
        return 0

    cdef void _find_runs(self) noexcept:
        """Consecutive fields of fixed width are read and written with one check of the bounds."""
        cdef Py_ssize_t i
        cdef op_t *first = NULL
        for i in range(self.total):
            self.ops[i].run = 0
            if i >= self.plain or fixed_width(self.ops[i].kind) == 0:
                first = NULL
                continue
            if first == NULL:
                first = &self.ops[i]
                first.run_size = 0
            self.ops[i].at = first.run_size
            first.run += 1
            first.run_size += fixed_width(self.ops[i].kind)

    cdef void _find_defaults(self) noexcept:
        cdef Py_ssize_t i
        self.default_count = 0
        for i in range(self.plain, self.total):
            if not self.ops[i].lazy:
                self.defaults[self.default_count].slot = self.ops[i].slot
                self.defaults[self.default_count].value = self.ops[i].fallback
                self.default_count += 1

    def __dealloc__(self):
        free(self.ops)
        free(self.defaults)

    def encode(self, message):
        """The bytes of `message`, which must be an instance of `cls`."""
        return encode_to_bytes(None, None, self, message)

    def decode(self, data, bint strict=True, Py_ssize_t start=0):
        """The message in `data` from `start` on; `strict` refuses trailing bytes. Error offsets count from 0."""
        return decode_from(self, pin(data), start, strict)[0]

    def decode_prefix(self, data, Py_ssize_t start=0):
        """(the message in `data` from `start` on, the position after it)."""
        return decode_from(self, pin(data), start, False)


@cython.final
cdef class PlanTable:
    """The plans of a frame, header first, by API key and version: `find(api_key, version)` is called on first use.

    It returns (Plan, Plan), or None where plans alone do not suffice.
    """

    cdef object find
    cdef dict known

    def __init__(self, find):
        self.find = find
        self.known = {}

    cdef tuple of(self, int api_key, int version):
        cdef int key = api_key << 8 | version
        found = self.known.get(key, self)
        if found is self:
            found = self.known[key] = self.find(api_key, version)
        return <tuple?>found if found is not None else None


cdef inline size_t fixed_width(int kind) noexcept:
    """The size of every value of a kind; 0 where sizes differ."""
    if kind == KIND_BOOL or kind == KIND_I8:
        return 1
    if kind == KIND_I16 or kind == KIND_U16:
        return 2
    if kind == KIND_I32 or kind == KIND_U32:
        return 4
    if kind == KIND_I64 or kind == KIND_F64:
        return 8
    return 16 if kind == KIND_UUID else 0


cdef size_t min_size(const op_t *op, int kind) noexcept:
    if kind == KIND_STRUCT:
        if op.nullable and op.kind == KIND_STRUCT:
            return 1
        return max((<Plan>op.child).min_size, 1)
    if fixed_width(kind):
        return fixed_width(kind)
    if kind == KIND_REST:
        return 0
    if op.compact:
        return 1
    return 2 if kind == KIND_STRING or op.short_count else 4
