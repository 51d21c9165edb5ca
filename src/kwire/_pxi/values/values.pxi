# What the decoders of values share: the faults of one value beside those of reader.pxi, and the frame before it.
#
#   Confluent's wire format: int8 0, int32 the schema's id, then the value
# Source: Confluent's documentation, "Wire format" of Schema Registry.

cdef enum ValueFault:
    VALUE_UTF8 = 30                # text that is not UTF-8
    VALUE_BOOLEAN = 31
    VALUE_BRANCH = 32              # a union's branch that is not there
    VALUE_SYMBOL = 33              # an enum's symbol that is not there
    VALUE_REFUSED = 34             # a value that the reader's schema has no place for; the plan says why
    VALUE_RANGE = 35               # a time that does not fit into int64 microseconds
    VALUE_DECIMAL = 36
    VALUE_BLOCK = 37               # a block whose size is not that of its items
    VALUE_EMPTY_ITEMS = 38         # more items that take no bytes than anybody means
    VALUE_CELLS = 39               # a few bytes that would become very many values
    VALUE_FULL = 40                # a column of 2 GiB; or no memory, which is no fault of the value
    VALUE_DEPTH = 41
    VALUE_FRAME = 42
    VALUE_SCHEMA_ID = 43
    VALUE_TAG = 44                 # a field number or wire type that cannot be
    VALUE_GROUP = 45
    VALUE_MESSAGE_INDEX = 46
    VALUE_REQUIRED = 47

cdef dict _VALUE_FAULT_TEXTS = {
    VALUE_UTF8: "text that is not UTF-8",
    VALUE_BOOLEAN: "a boolean that is neither 0 nor 1",
    VALUE_BRANCH: "a union has no branch of this number",
    VALUE_SYMBOL: "the enum has no symbol of this number, or the reader's schema does not have it",
    VALUE_REFUSED: "the reader's schema has no place for this value",
    VALUE_RANGE: "a time beyond what int64 microseconds hold",
    VALUE_DECIMAL: "a decimal without bytes, or with more digits than its precision",
    VALUE_BLOCK: "a block whose size is not that of its items",
    VALUE_EMPTY_ITEMS: "very many items that take no bytes",
    VALUE_CELLS: "few bytes that stand for very many values",
    VALUE_FULL: "a column would be larger than 2 GiB",
    VALUE_DEPTH: "values nested too deeply",
    VALUE_FRAME: "no schema id before it: it begins with other bytes than 0 and an id",
    VALUE_SCHEMA_ID: "the schema of its id is not known",
    VALUE_TAG: "a field number or wire type that cannot be",
    VALUE_GROUP: "a group that does not end, or ends another one",
    VALUE_MESSAGE_INDEX: "a message of another type",
    VALUE_REQUIRED: "a required field is missing",
    FAULT_LENGTH: "a length or count below zero",
    FAULT_TRAILING: "bytes left over after the value",
    FAULT_COUNT: "more items claimed than the bytes left can hold",
}

cdef enum:
    FRAME_SIZE = 5


ctypedef struct value_fault_t:
    int64_t row
    int64_t at                     # the byte within the value
    int fault
    int step                       # of the plan, or -1
    int plan                       # the place of the plan among those given
    int64_t id                     # of a schema that is not known


ctypedef struct value_faults_t:
    value_fault_t *faults
    int64_t count
    int64_t room


cdef bint add_fault(value_faults_t *all, value_fault_t fault) noexcept nogil:
    cdef value_fault_t *moved
    if all.count == all.room:
        moved = <value_fault_t *>realloc(all.faults, <size_t>(2 * all.room + 16) * sizeof(value_fault_t))
        if moved == NULL:
            return False
        all.faults = moved
        all.room = 2 * all.room + 16
    all.faults[all.count] = fault
    all.count += 1
    return True


cdef str value_fault_text(int fault):
    return _VALUE_FAULT_TEXTS.get(fault) or fault_kind_and_text(fault)[1]


cdef inline int64_t read_frame(reader_t *r) noexcept nogil:
    """The schema's id before a value; a fault when there is none."""
    cdef const uint8_t *p = r.at
    if r.end - r.at < FRAME_SIZE or p[0] != 0:
        reader_fail(r, VALUE_FRAME)
        return -1
    r.at += FRAME_SIZE
    return load_u32(p + 1)


cdef int raise_arrow_row(int64_t row) except -1:
    raise _errors.CodecError(f"row {row}: Arrow offsets that go back or beyond their buffer", "value")


def framed_ids(values):
    """The schema ids before the values of a binary column, each once; values without one count for nothing."""
    cdef ArrowValues rows = ArrowRecords(values)
    cdef set ids = set()
    cdef datum_t datum
    cdef reader_t r
    cdef int64_t row, id, last = -1
    for row in range(rows.length):
        if arrow_datum(&rows.value, row, &datum) != ARROW_OK:
            raise_arrow_row(row)
        if datum.size < 0:
            continue
        reader_init(&r, datum.data, <size_t>datum.size)
        id = read_frame(&r)
        if id != last and id >= 0:
            ids.add(id)
            last = id
    return ids
