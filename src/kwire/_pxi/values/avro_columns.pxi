# Avro values in a binary column, straight into Arrow columns: no object per value.
#
#   null                     nothing             record     its fields, one after the other
#   boolean                  a byte, 0 or 1      enum       int, the symbol's place
#   int, long                zigzag varint       union      long, the branch's place, then its value
#   float, double            little-endian       array      blocks: long count, items; a count below zero is followed
#   bytes, string            long size, bytes               by a long, the block's size; a count of zero ends it
#   fixed                    its bytes           map        blocks of string key and value, as an array's
# Source: Apache Avro specification, "Binary encoding", "Schema resolution".
#
# `kwire.columns.avro_plan` resolves the writer's schema with the reader's into steps, one for each part of the writer's
# schema: what to read, and the column that it goes to (none: it is read over). The steps are a tree, but that what is
# read over may be recursive. Bytes are trusted in nothing: each length is compared with the bytes left, each count with
# the least that so many items take; items without bytes, and values that few bytes stand for, have budgets.

cdef extern from "decimals.h" nogil:
    bint kw_decimal_from_bytes(uint8_t *out, const uint8_t *p, size_t size, int precision)

cdef enum AvroOp:
    AVRO_NULL = 0
    AVRO_BOOLEAN = 1
    AVRO_INT = 2
    AVRO_LONG = 3
    AVRO_FLOAT = 4
    AVRO_DOUBLE = 5
    AVRO_BYTES = 6
    AVRO_TEXT = 7
    AVRO_FIXED = 8
    AVRO_DECIMAL_BYTES = 9
    AVRO_DECIMAL_FIXED = 10
    AVRO_ENUM = 11
    AVRO_RECORD = 12
    AVRO_ARRAY = 13
    AVRO_MAP = 14
    AVRO_UNION = 15
    AVRO_MEMBER = 16               # a branch of a union that is a struct with a field for each branch
    AVRO_CONSTANT = 17             # a field that the writer did not have: the reader's default
    AVRO_REFUSE = 18

cdef tuple _AVRO_OPS = (
    "null", "boolean", "int", "long", "float", "double", "bytes", "text", "fixed", "decimal_bytes", "decimal_fixed",
    "enum", "record", "array", "map", "union", "member", "constant", "refuse",
)

cdef enum NumberStore:
    STORE_NONE = 0
    STORE_I32 = 1
    STORE_I64 = 2
    STORE_F32 = 3
    STORE_F64 = 4

cdef enum:
    MAX_STEPS = 50000
    MAX_STEP_DEPTH = 3 * MAX_VALUE_DEPTH
    MAX_BYTES_HINT = 4096

cdef int64_t EMPTY_ITEMS_EACH = 1 << 12
cdef int64_t EMPTY_ITEMS_FREE = 1 << 22
cdef int64_t CELLS_FREE = 1 << 24


ctypedef struct avro_step_t:
    int op
    int node                       # the column; -1: the value is read over
    int store
    int n_children
    const int *children            # steps
    int64_t size                   # bytes of a fixed; digits of a decimal; factor of a number; member; an item's minimum
    int64_t fixed_size             # bytes of a fixed decimal
    const uint8_t *bytes           # a constant in Avro's encoding
    int64_t n_bytes
    datum_t *symbols               # of an enum; size -1: the reader's enum lacks it
    int n_symbols


ctypedef struct avro_t:
    reader_t r
    const avro_step_t *steps
    node_t *nodes
    int64_t empty_items            # how many more there may be in this value
    int64_t empty_items_left       # and in all
    int64_t cells                  # how many more may be made of few bytes
    int depth
    int fault_step
    int64_t unknown_id


@cython.final
cdef class AvroPlan:
    """How values of one writer's schema go into the columns of `layout`: AvroPlan(layout, steps), the root step first.

    A step is (operation, node or -1, (child step, ...), size, detail, place): `place` names it in faults; `detail` is a
    constant's bytes, an enum's symbols (None: refused), a fixed decimal's size, or why a value is refused. Immutable.
    """

    cdef ColumnLayout layout
    cdef avro_step_t *steps
    cdef int *children
    cdef int count
    cdef list kept                 # what the steps point to
    cdef list places
    cdef dict refusals

    def __cinit__(self, ColumnLayout layout not None, steps):
        # As plain tuples: sizes and contents must agree.
        cdef list given = [(op, node, tuple(children), size, detail, place)
                           for op, node, children, size, detail, place in steps]
        cdef int used = 0, i
        self.layout = layout
        self.count = len(given)
        self.kept = []
        self.places = [str(step[5]) for step in given]
        self.refusals = {}
        if not 0 < self.count <= MAX_STEPS:
            raise _errors.ConfigError(f"an Avro schema with {self.count} parts; up to {MAX_STEPS} are possible")
        self.steps = <avro_step_t *>calloc(<size_t>self.count, sizeof(avro_step_t))
        self.children = <int *>malloc(max(sum([len(step[2]) for step in given]), 1) * sizeof(int))
        if self.steps == NULL or self.children == NULL:
            raise _errors.LimitError("out of memory for an Avro plan")
        for i in range(self.count):
            used = self._take(i, given[i], used)

    def __dealloc__(self):
        cdef int i
        if self.steps != NULL:
            for i in range(self.count):
                free(self.steps[i].symbols)
        free(self.steps)
        free(self.children)

    cdef int _take(self, int number, tuple given, int used) except -1:
        cdef avro_step_t *step = &self.steps[number]
        cdef int child
        op, step.node, children, step.size, detail, _ = given
        step.op = _AVRO_OPS.index(op)
        step.children = self.children + used
        for child in children:
            if not 0 <= child < self.count:
                raise _errors.ConfigError(f"step {number}: there is no step {child}")
            self.children[used] = child
            used += 1
        step.n_children = len(children)
        if step.op == AVRO_CONSTANT:
            self.kept.append(detail)
            step.bytes = <const uint8_t *>PyBytes_AS_STRING(<bytes?>detail)
            step.n_bytes = len(<bytes>detail)
        elif step.op == AVRO_ENUM:
            self._take_symbols(step, detail)
        elif step.op == AVRO_DECIMAL_FIXED:
            step.fixed_size = detail
        elif step.op == AVRO_REFUSE:
            self.refusals[number] = str(detail)
        self._check(number, step)
        return used

    cdef int _take_symbols(self, avro_step_t *step, object symbols) except -1:
        cdef list texts = [None if symbol is None else PyUnicode_AsUTF8String(symbol) for symbol in symbols]
        cdef int i
        self.kept.append(texts)
        step.n_symbols = len(texts)
        step.symbols = <datum_t *>malloc(max(step.n_symbols, 1) * sizeof(datum_t))
        if step.symbols == NULL:
            step.n_symbols = 0
            raise _errors.LimitError("out of memory for an Avro plan")
        for i in range(step.n_symbols):
            step.symbols[i].size = -1
            if texts[i] is not None:
                step.symbols[i].size = len(<bytes>texts[i])
                step.symbols[i].data = <const uint8_t *>PyBytes_AS_STRING(<bytes>texts[i])
        return 0

    cdef int _check(self, int number, avro_step_t *step) except -1:
        """Nothing that a plan says may write outside of a column."""
        cdef bint fits = -1 <= step.node < self.layout.count
        cdef node_t *node = &self.layout.nodes[max(step.node, 0)] if fits else NULL
        cdef bint single = step.op in (AVRO_ARRAY, AVRO_MAP, AVRO_MEMBER, AVRO_CONSTANT)
        if not fits or step.size < 0 or step.fixed_size < 0 or single and step.n_children != 1:
            raise _errors.ConfigError(f"step {number} of an Avro plan cannot be")
        if step.node < 0:
            if step.op == AVRO_MEMBER:
                raise _errors.ConfigError(f"step {number} of an Avro plan needs a column")
            return 0
        if step.op in (AVRO_INT, AVRO_LONG, AVRO_FLOAT, AVRO_DOUBLE):
            step.store = self._store_of(step.node)
            fits = (step.store == STORE_F64 or step.op == AVRO_INT or step.op == AVRO_FLOAT and step.store == STORE_F32
                    or step.op == AVRO_LONG and step.store != STORE_I32) and step.store != STORE_NONE
        elif step.op == AVRO_BOOLEAN:
            fits = node.kind == NODE_BOOL
        elif step.op in (AVRO_BYTES, AVRO_TEXT, AVRO_FIXED, AVRO_ENUM):
            fits = node.kind == NODE_BYTES
        elif step.op in (AVRO_DECIMAL_BYTES, AVRO_DECIMAL_FIXED):
            fits = node.width == 16 and 0 < step.size <= 38
        elif step.op == AVRO_RECORD:
            fits = node.kind == NODE_STRUCT
        elif step.op == AVRO_MEMBER:
            fits = node.kind == NODE_STRUCT and step.size < node.n_children
        elif step.op == AVRO_ARRAY:
            fits = node.kind == NODE_LIST
        elif step.op == AVRO_MAP:
            fits = node.kind == NODE_LIST and self._is_map(&self.layout.nodes[node.children[0]])
        if not fits:
            raise _errors.ConfigError(f"step {number} of an Avro plan does not fit its column")
        return 0

    cdef bint _is_map(self, const node_t *entry) noexcept:
        return (entry.kind == NODE_STRUCT and entry.n_children == 2
                and self.layout.nodes[entry.children[0]].kind == NODE_BYTES)

    cdef int _store_of(self, int number):
        cdef node_t *node = &self.layout.nodes[number]
        cdef bytes format = self.layout.formats[number]
        if format == b"f" or format == b"g":
            return STORE_F32 if format == b"f" else STORE_F64
        if node.kind == NODE_FIXED and (node.width == 4 or node.width == 8):
            return STORE_I32 if node.width == 4 else STORE_I64
        return STORE_NONE

    cdef tuple described(self, const value_fault_t *fault):
        """(row, byte, place in the schema, reason)"""
        text = self.refusals.get(fault.step) if fault.fault == VALUE_REFUSED else None
        return fault.row, fault.at, self.places[fault.step], text or value_fault_text(fault.fault)


# --- reading one value; a fault is the reader's sticky one ---

cdef inline bint _kept(avro_t *a, bint done) noexcept nogil:
    if not done:
        reader_fail(&a.r, VALUE_FULL)
    return done


cdef inline void _avro_integer(avro_t *a, const avro_step_t *step, int64_t value) noexcept nogil:
    cdef node_t *node = &a.nodes[step.node]
    cdef float single
    cdef double wide
    cdef uint32_t bits
    cdef uint64_t wide_bits
    if step.size > 1:
        if value > INT64_MAX // step.size or value < INT64_MIN // step.size:
            reader_fail(&a.r, VALUE_RANGE)
            return
        value *= step.size
    if step.store == STORE_I64:
        _kept(a, add_fixed_64(node, <uint64_t>value))
    elif step.store == STORE_I32:
        _kept(a, add_fixed_32(node, <uint32_t>value))
    elif step.store == STORE_F32:
        single = <float>value
        memcpy(&bits, &single, 4)
        _kept(a, add_fixed_32(node, bits))
    else:
        wide = <double>value
        memcpy(&wide_bits, &wide, 8)
        _kept(a, add_fixed_64(node, wide_bits))


cdef inline void _avro_float(avro_t *a, const avro_step_t *step) noexcept nogil:
    cdef const uint8_t *p = read_span(&a.r, 4)
    cdef uint32_t bits
    cdef float single
    cdef double wide
    cdef uint64_t wide_bits
    if p == NULL or step.node < 0:
        return
    bits = load_le32(p)
    if step.store == STORE_F32:
        _kept(a, add_fixed_32(&a.nodes[step.node], bits))
        return
    memcpy(&single, &bits, 4)
    wide = single
    memcpy(&wide_bits, &wide, 8)
    _kept(a, add_fixed_64(&a.nodes[step.node], wide_bits))


cdef inline void _avro_bytes(avro_t *a, const avro_step_t *step, int64_t size) noexcept nogil:
    """The bytes, text or decimal of `size` bytes."""
    cdef const uint8_t *p
    if size < 0:
        reader_fail(&a.r, FAULT_LENGTH)
        return
    p = read_span(&a.r, <size_t>size)
    if p == NULL or step.node < 0:
        return
    if step.op == AVRO_TEXT and not kw_utf8_is_valid(p, <size_t>size):
        a.r.at = p
        reader_fail(&a.r, VALUE_UTF8)
    elif step.op == AVRO_DECIMAL_BYTES or step.op == AVRO_DECIMAL_FIXED:
        _avro_decimal(a, step, p, size)
    else:
        _kept(a, add_bytes(&a.nodes[step.node], p, size))


cdef void _avro_decimal(avro_t *a, const avro_step_t *step, const uint8_t *p, int64_t size) noexcept nogil:
    cdef node_t *node = &a.nodes[step.node]
    if not _kept(a, node_has_room(node)):
        return
    if kw_decimal_from_bytes(node.data + 16 * node.length, p, <size_t>size, <int>step.size):
        node.length += 1
    else:
        a.r.at = p
        reader_fail(&a.r, VALUE_DECIMAL)


cdef inline void _avro_boolean(avro_t *a, const avro_step_t *step) noexcept nogil:
    cdef const uint8_t *p = read_span(&a.r, 1)
    if p == NULL:
        return
    if p[0] > 1:
        a.r.at = p
        reader_fail(&a.r, VALUE_BOOLEAN)
    elif step.node >= 0:
        _kept(a, add_bool(&a.nodes[step.node], p[0]))


cdef void _avro_enum(avro_t *a, const avro_step_t *step) noexcept nogil:
    cdef const uint8_t *begin = a.r.at
    cdef int32_t place = read_varint(&a.r)
    if a.r.error != FAULT_NONE:
        return
    if place < 0 or place >= step.n_symbols or step.node >= 0 and step.symbols[place].size < 0:
        a.r.at = begin
        reader_fail(&a.r, VALUE_SYMBOL)
    elif step.node >= 0 and _spend_cells(a, step.symbols[place].size >> 6):
        _kept(a, add_bytes(&a.nodes[step.node], step.symbols[place].data, step.symbols[place].size))


cdef inline bint _spend_cells(avro_t *a, int64_t cells) noexcept nogil:
    a.cells -= cells
    if a.cells < 0:
        reader_fail(&a.r, VALUE_CELLS)
    return a.cells >= 0


cdef inline bint _spend_empty_items(avro_t *a, int64_t count) noexcept nogil:
    if count > a.empty_items:
        reader_fail(&a.r, VALUE_EMPTY_ITEMS)
        return False
    a.empty_items -= count
    return True


cdef inline void _avro_add_null(avro_t *a, int number) noexcept nogil:
    cdef int64_t cells = a.nodes[number].cells
    if cells == 1 or _spend_cells(a, cells):
        _kept(a, add_null(a.nodes, number))


cdef void _avro_record(avro_t *a, const avro_step_t *step) noexcept nogil:
    cdef int i
    if step.size == 0 and not _spend_empty_items(a, 1 + step.n_children):
        return
    for i in range(step.n_children):
        if not _avro_value(a, step.children[i]):
            return
    if step.node >= 0:
        _kept(a, end_struct(&a.nodes[step.node]))


cdef int64_t _avro_block(avro_t *a, int64_t min_size, const uint8_t **end) noexcept nogil:
    """How many items the next block has, 0 after the last one or upon a fault; `end` is where it says that it ends."""
    cdef const uint8_t *begin = a.r.at
    cdef int64_t count = read_varlong(&a.r)
    cdef int64_t size
    end[0] = NULL
    if count < 0:
        size = read_varlong(&a.r)
        if a.r.error != FAULT_NONE:
            return 0
        if count == INT64_MIN or size < 0 or size > a.r.end - a.r.at:
            a.r.at = begin
            reader_fail(&a.r, FAULT_LENGTH if size < 0 or count == INT64_MIN else FAULT_TRUNCATED)
            return 0
        count = -count
        end[0] = a.r.at + size
    if a.r.error != FAULT_NONE:
        return 0
    if min_size == 0:
        return count if _spend_empty_items(a, count) else 0
    if count > (a.r.end - a.r.at) // min_size:
        a.r.at = begin
        reader_fail(&a.r, FAULT_COUNT)
        return 0
    return count


cdef void _avro_blocks(avro_t *a, const avro_step_t *step) noexcept nogil:
    """The items of an array or the entries of a map."""
    cdef const uint8_t *end
    cdef int64_t i, count = _avro_block(a, step.size, &end)
    while count:
        for i in range(count):
            if step.op == AVRO_MAP and not _avro_key(a, step):
                return
            if not _avro_value(a, step.children[0]):
                return
            if step.op == AVRO_MAP and step.node >= 0:
                _kept(a, end_struct(&a.nodes[a.nodes[step.node].children[0]]))
        if end != NULL and a.r.at != end:
            reader_fail(&a.r, VALUE_BLOCK)
            return
        count = _avro_block(a, step.size, &end)
    if step.node >= 0 and a.r.error == FAULT_NONE:
        _kept(a, end_list(a.nodes, &a.nodes[step.node]))


cdef bint _avro_key(avro_t *a, const avro_step_t *step) noexcept nogil:
    cdef int64_t size = read_varlong(&a.r)
    cdef const uint8_t *p
    if size < 0:
        reader_fail(&a.r, FAULT_LENGTH)
        return False
    p = read_span(&a.r, <size_t>size)
    if a.r.error != FAULT_NONE:
        return False
    if step.node < 0:
        return True
    if not kw_utf8_is_valid(p, <size_t>size):
        a.r.at = p
        reader_fail(&a.r, VALUE_UTF8)
        return False
    return _kept(a, add_bytes(&a.nodes[a.nodes[a.nodes[step.node].children[0]].children[0]], p, size))


cdef inline void _avro_union(avro_t *a, const avro_step_t *step) noexcept nogil:
    cdef const uint8_t *begin = a.r.at
    cdef int64_t branch = read_varlong(&a.r)
    if a.r.error != FAULT_NONE:
        return
    if branch < 0 or branch >= step.n_children:
        a.r.at = begin
        reader_fail(&a.r, VALUE_BRANCH)
        return
    _avro_value(a, step.children[branch])


cdef void _avro_member(avro_t *a, const avro_step_t *step) noexcept nogil:
    cdef node_t *node = &a.nodes[step.node]
    cdef int i
    if not _spend_cells(a, node.cells):
        return
    for i in range(node.n_children):
        if i == step.size:
            _avro_value(a, step.children[0])
        else:
            _kept(a, add_null(a.nodes, node.children[i]))
    _kept(a, end_struct(node))


cdef void _avro_constant(avro_t *a, const avro_step_t *step) noexcept nogil:
    cdef reader_t before = a.r
    cdef int fault
    if step.n_bytes > 16 and not _spend_cells(a, step.n_bytes >> 4):
        return
    reader_init(&a.r, step.bytes, <size_t>step.n_bytes)
    _avro_value(a, step.children[0])
    fault = a.r.error
    a.r = before
    if fault != FAULT_NONE:
        reader_fail(&a.r, fault)


cdef bint _avro_value(avro_t *a, int number) noexcept nogil:
    """Reads what step `number` says; False after a fault."""
    cdef const avro_step_t *step = &a.steps[number]
    cdef int64_t value
    if step.op == AVRO_LONG:
        value = read_varlong(&a.r)
        if step.node >= 0:
            _avro_integer(a, step, value)
    elif step.op == AVRO_INT:
        value = read_varint(&a.r)
        if step.node >= 0:
            _avro_integer(a, step, value)
    elif step.op == AVRO_BYTES or step.op == AVRO_TEXT or step.op == AVRO_DECIMAL_BYTES:
        _avro_bytes(a, step, read_varlong(&a.r))
    elif step.op == AVRO_DOUBLE:
        _avro_double(a, step)
    elif step.op == AVRO_FLOAT:
        _avro_float(a, step)
    elif step.op == AVRO_BOOLEAN:
        _avro_boolean(a, step)
    elif step.op == AVRO_NULL:
        if step.node >= 0:
            _avro_add_null(a, step.node)
    elif step.op == AVRO_FIXED:
        _avro_bytes(a, step, step.size)
    elif step.op == AVRO_DECIMAL_FIXED:
        _avro_bytes(a, step, step.fixed_size)
    elif step.op == AVRO_ENUM:
        _avro_enum(a, step)
    else:
        _avro_nested(a, step)
    if a.r.error == FAULT_NONE:
        return True
    if a.fault_step < 0:
        a.fault_step = number
    return False


cdef inline void _avro_double(avro_t *a, const avro_step_t *step) noexcept nogil:
    cdef const uint8_t *p = read_span(&a.r, 8)
    if p != NULL and step.node >= 0:
        _kept(a, add_fixed_64(&a.nodes[step.node], load_le64(p)))


cdef void _avro_nested(avro_t *a, const avro_step_t *step) noexcept nogil:
    if a.depth >= MAX_STEP_DEPTH:
        reader_fail(&a.r, VALUE_DEPTH)
        return
    a.depth += 1
    if step.op == AVRO_UNION:
        _avro_union(a, step)
    elif step.op == AVRO_RECORD:
        _avro_record(a, step)
    elif step.op == AVRO_ARRAY or step.op == AVRO_MAP:
        _avro_blocks(a, step)
    elif step.op == AVRO_MEMBER:
        _avro_member(a, step)
    elif step.op == AVRO_CONSTANT:
        _avro_constant(a, step)
    else:
        reader_fail(&a.r, VALUE_REFUSED)
    a.depth -= 1


# --- a column of values ---

ctypedef struct framed_plan_t:
    int64_t id
    const avro_step_t *steps


@cython.final
cdef class _AvroPlans:
    """The plans that values may need, found by the schema's id; or the one that all need."""

    cdef framed_plan_t *plans
    cdef list objects
    cdef int count
    cdef bint framed

    def __cinit__(self, plans):
        cdef AvroPlan plan
        cdef int i
        self.framed = not isinstance(plans, AvroPlan)
        found = sorted(plans.items()) if self.framed else [(0, plans)]
        self.count = len(found)
        self.objects = []
        self.plans = <framed_plan_t *>malloc(max(self.count, 1) * sizeof(framed_plan_t))
        if self.plans == NULL:
            raise _errors.LimitError("out of memory for Avro plans")
        for i in range(self.count):
            self.plans[i].id, plan = found[i]
            if plan is None:
                raise TypeError("an AvroPlan is needed, not None")
            self.plans[i].steps = plan.steps
            self.objects.append(plan)

    def __dealloc__(self):
        free(self.plans)

    cdef int check_layout(self, ColumnLayout layout) except -1:
        cdef AvroPlan plan
        for plan in self.objects:
            if plan.layout is not layout:
                raise _errors.ConfigError("an Avro plan of another layout of columns")
        return 0

    cdef tuple described(self, const value_fault_t *fault):
        """(row, byte, place in the schema, reason)"""
        cdef AvroPlan plan
        if fault.fault == VALUE_SCHEMA_ID:
            return fault.row, fault.at, "", f"the schema of its id {fault.id} is not known"
        if fault.step < 0:
            return fault.row, fault.at, "", value_fault_text(fault.fault)
        plan = self.objects[fault.plan]
        return plan.described(fault)

    cdef int place_of(self, int64_t id) noexcept nogil:
        """-1 when there is no plan for it."""
        cdef int low = 0, high = self.count, middle
        while low < high:
            middle = (low + high) // 2
            if self.plans[middle].id < id:
                low = middle + 1
            else:
                high = middle
        return low if low < self.count and self.plans[low].id == id else -1


cdef bint _avro_row(avro_t *a, _AvroPlans plans, const datum_t *datum, int *place) noexcept nogil:
    """One value into the columns; False after a fault. `place` is that of the plan, kept from value to value."""
    cdef int64_t id
    cdef int64_t empty_items = min(a.empty_items_left, EMPTY_ITEMS_EACH + 16 * datum.size)
    reader_init(&a.r, datum.data, <size_t>datum.size)
    a.fault_step = -1
    a.empty_items = empty_items
    if plans.framed:
        id = read_frame(&a.r)
        if a.r.error != FAULT_NONE:
            return False
        if place[0] < 0 or plans.plans[place[0]].id != id:
            place[0] = plans.place_of(id)
            if place[0] < 0:
                a.unknown_id = id
                reader_fail(&a.r, VALUE_SCHEMA_ID)
                return False
            a.steps = plans.plans[place[0]].steps
    if not _avro_value(a, 0):
        return False
    if a.r.at != a.r.end:
        reader_fail(&a.r, FAULT_TRAILING)
        return False
    a.empty_items_left -= empty_items - a.empty_items
    return True


cdef bint null_row(node_t *nodes, int64_t row) noexcept nogil:
    """Makes row `row`, of which some columns may have parts, one of nulls."""
    cdef int i
    node_truncate(nodes, 0, row)
    for i in range(nodes[0].n_children):
        if not add_null(nodes, nodes[0].children[i]):
            return False
    return end_struct(&nodes[0])


cdef int64_t _avro_rows(ArrowValues rows, _AvroPlans plans, avro_t *a, value_faults_t *faults) noexcept nogil:
    """All rows; returns -1, or the row that cannot be read, or -2 without memory."""
    cdef datum_t datum
    cdef value_fault_t fault
    cdef int64_t row, cells
    cdef int place = -1
    if not plans.framed:
        a.steps = plans.plans[0].steps
    for row in range(rows.length):
        if arrow_datum(&rows.value, row, &datum) != ARROW_OK:
            return row
        cells = a.cells
        if datum.size >= 0:
            if _avro_row(a, plans, &datum, &place):
                continue
            a.cells = cells
            fault.row = row
            fault.at = a.r.fault_at - datum.data
            fault.fault = a.r.error
            fault.step = a.fault_step
            fault.plan = max(place, 0)
            fault.id = a.unknown_id
            if not add_fault(faults, fault):
                return -2
        if not null_row(a.nodes, row):
            return -2
    return -1


def decode_avro(values, ColumnLayout layout not None, plans):
    """The Avro values of a binary column (anything with `__arrow_c_array__`) as BuiltColumns.

    plans: an AvroPlan for all values; or a dict of schema id to AvroPlan, for values with an id before them. A null is
    null in all columns. A value that cannot be decoded is one of the result's `faults`. Runs without the GIL.
    """
    cdef ArrowValues rows = ArrowRecords(values)
    cdef _AvroPlans found = _AvroPlans(plans)
    cdef BuiltColumns out = BuiltColumns(layout)
    cdef int64_t size = arrow_bytes(&rows.value, rows.length)
    cdef value_faults_t faults
    cdef avro_t a
    cdef int64_t result, i
    found.check_layout(layout)
    memset(&faults, 0, sizeof(value_faults_t))
    memset(&a, 0, sizeof(avro_t))
    a.nodes = out.nodes
    a.empty_items_left = EMPTY_ITEMS_FREE + 16 * size + 64 * rows.length
    a.cells = CELLS_FREE + 256 * size + 4 * rows.length * layout.nodes[0].cells
    try:
        with nogil:
            if out.reserve(0, rows.length, min(size // max(layout.byte_columns, 1), rows.length * MAX_BYTES_HINT)):
                result = _avro_rows(rows, found, &a, &faults)
            else:
                result = -2
        if result == -2 or out.was_refused():
            raise _errors.LimitError(f"out of memory for the columns of {rows.length} values")
        if result >= 0:
            raise_arrow_row(result)
        for i in range(faults.count):
            out.faults.append(found.described(&faults.faults[i]))
    finally:
        free(faults.faults)
    return out
