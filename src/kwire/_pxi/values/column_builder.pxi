# Columns of any nesting that grow row by row, and leave in Arrow layout: what decoders of values write to.
#
#   format                                               kind             a row
#   n                                                    NODE_NULL        nothing
#   b                                                    NODE_BOOL        a bit
#   c s i l f g tdD tsu:... tDu                          NODE_FIXED       1, 2, 4 or 8 bytes
#   d:precision,scale                                    NODE_FIXED       16 bytes, an integer of the machine's order
#   z u                                                  NODE_BYTES       bytes, and where they end
#   +l +m                                                NODE_LIST        rows of its child, and where they end
#   +s                                                   NODE_STRUCT      a row of each child
# Sources: "Arrow columnar format", "The Arrow C data interface".
#
# A decoder appends to each node once per row of its parent. A row that turns out to be bad is taken back by its number
# alone, wherever the decoder stopped: offsets say how much of the bytes and children is older. Everything here runs
# without the GIL. 2 GiB of bytes, or of child rows, are the maximum of one column: then an append fails.

cdef extern from *:
    int __builtin_popcountll(unsigned long long bits) nogil

cdef enum NodeKind:
    NODE_NULL = 0
    NODE_BOOL = 1
    NODE_FIXED = 2
    NODE_BYTES = 3
    NODE_LIST = 4
    NODE_STRUCT = 5

cdef enum:
    MAX_NODES = 10000
    MAX_NODE_ROWS = 0x7FFFFFFE
    MIN_NODE_ROWS = 64
    MAX_VALUE_DEPTH = 64           # of nested lists, maps and structs

cdef dict _NODE_WIDTHS = {"c": 1, "s": 2, "i": 4, "l": 8, "f": 4, "g": 8, "tdD": 4, "tDu": 8}


ctypedef struct node_t:
    int kind
    int width                      # bytes of a NODE_FIXED row
    const int *children            # their numbers
    int n_children
    int depth
    int64_t cells                  # rows that a null row adds, here and below
    int64_t length
    int64_t room                   # rows
    int64_t used                   # bytes of NODE_BYTES
    int64_t bytes_room
    uint8_t *data
    int32_t *offsets
    uint8_t *validity              # NULL: no null so far
    kw_block *data_block
    kw_block *offsets_block
    kw_block *validity_block
    bint refused                   # there was no memory for more rows


@cython.final
cdef class ColumnLayout:
    """The columns that a decoder fills: ColumnLayout([(name, Arrow format, (child, ...)), ...]), the root first.

    Children are given by their numbers in the list, which are greater than their parent's. The root is a struct whose
    children are the columns. Immutable, reusable; ConfigError for a tree that is not one.
    """

    cdef node_t *nodes             # without rows: what a builder starts from
    cdef int *children
    cdef int count
    cdef int byte_columns          # how many of them share the bytes of what is decoded
    cdef list names                # as bytes
    cdef list formats

    def __cinit__(self, nodes):
        cdef list given = [(PyUnicode_AsUTF8String(name), str(format), tuple(children))
                           for name, format, children in nodes]
        cdef int i, child, used = 0
        self.nodes = NULL
        self.children = NULL
        self.count = len(given)
        if not 0 < self.count <= MAX_NODES:
            raise _errors.ConfigError(f"{self.count} columns, nested ones included; from 1 to {MAX_NODES} are possible")
        self.names = [name for name, _, _ in given]
        self.formats = [(<str>format).encode() for _, format, _ in given]
        self.nodes = <node_t *>malloc(<size_t>self.count * sizeof(node_t))
        self.children = <int *>malloc(<size_t>self.count * sizeof(int))
        if self.nodes == NULL or self.children == NULL:
            raise _errors.LimitError("out of memory for a layout of columns")
        memset(self.nodes, 0, <size_t>self.count * sizeof(node_t))
        for i in range(self.count):
            self.nodes[i].children = self.children + used
            for child in given[i][2]:
                if not i < child < self.count or used >= self.count - 1:
                    raise _errors.ConfigError(f"node {i}: {child} cannot be its child")
                self.children[used] = child
                self.nodes[i].n_children += 1
                used += 1
            self._set_kind(&self.nodes[i], given[i][1])
            self.byte_columns += self.nodes[i].kind == NODE_BYTES
        self._check_tree(used)

    def __dealloc__(self):
        free(self.nodes)
        free(self.children)

    cdef int _set_kind(self, node_t *node, str format) except -1:
        cdef int children = 0
        if format == "+s":
            node.kind = NODE_STRUCT
            children = node.n_children
        elif format in ("+l", "+m"):
            node.kind = NODE_LIST
            children = 1
        elif format in ("n", "b"):
            node.kind = NODE_NULL if format == "n" else NODE_BOOL
        elif format in ("z", "u"):
            node.kind = NODE_BYTES
        else:
            node.kind = NODE_FIXED
            node.width = 16 if format.startswith("d:") else 8 if format.startswith("tsu:") \
                else _NODE_WIDTHS.get(format, 0)
            if node.width == 0:
                raise _errors.ConfigError(f"columns of Arrow format {format!r} cannot be built")
        if node.n_children != children:
            raise _errors.ConfigError(f"a column of Arrow format {format!r} cannot have {node.n_children} children")
        return 0

    cdef int _check_tree(self, int used) except -1:
        """Each node but the root is the child of one; a null row's cells are added up from the leaves."""
        cdef int i, n
        cdef int64_t cells
        cdef node_t *child
        if self.nodes[0].kind != NODE_STRUCT or used != self.count - 1 or len(set(self._numbers(used))) != used:
            raise _errors.ConfigError("the nodes of a layout are not one tree below a struct")
        for i in range(self.count):
            for n in range(self.nodes[i].n_children):
                child = &self.nodes[self.nodes[i].children[n]]
                child.depth = self.nodes[i].depth + 1
                if child.depth > MAX_VALUE_DEPTH:
                    raise _errors.ConfigError(f"columns are nested more than {MAX_VALUE_DEPTH} deep")
        for i in range(self.count - 1, -1, -1):
            cells = 1
            if self.nodes[i].kind == NODE_STRUCT:
                for n in range(self.nodes[i].n_children):
                    cells += self.nodes[self.nodes[i].children[n]].cells
            self.nodes[i].cells = cells
        return 0

    cdef list _numbers(self, int used):
        return [self.children[i] for i in range(used)]

    def __len__(self):
        return self.count

    def __arrow_c_schema__(self):
        """The schema of the columns as a PyCapsule named "arrow_schema"."""
        cdef ArrowSchema *schema = <ArrowSchema *>malloc(sizeof(ArrowSchema))
        if schema == NULL or self._fill_schema(schema, 0, False) < 0:
            free(schema)
            raise _errors.LimitError("out of memory for a schema")
        return schema_capsule(schema)

    cdef int _fill_schema(self, ArrowSchema *schema, int number, bint required):
        """`required`: an entry of a map, or its key, which Arrow wants not to be nullable."""
        cdef node_t *node = &self.nodes[number]
        cdef bytes format = self.formats[number]
        cdef bytes name = self.names[number]
        cdef int i
        if init_schema(schema, format, name, 0 if required else KW_ARROW_NULLABLE, node.n_children) < 0:
            return -1
        for i in range(node.n_children):
            if self._fill_schema(schema.children[i], node.children[i],
                                 format == b"+m" or required and format == b"+s" and i == 0) < 0:
                schema.release(schema)
                return -1
        return 0


# --- appending; each returns False when the column is full, or there is no memory: `refused` says so ---

cdef bint _grow_block(node_t *node, kw_block **block, uint8_t **data, size_t used, size_t size) noexcept nogil:
    cdef kw_block *grown = new_block(size)
    if grown == NULL:
        node.refused = True
        return False
    if used:
        memcpy(kw_block_data(grown), data[0], used)
    release_block(block[0])
    block[0] = grown
    data[0] = kw_block_data(grown)
    return True


cdef inline size_t _bits_size(int64_t rows) noexcept nogil:
    return <size_t>((rows + 63) // 64 * 8)


cdef bint _grow_validity(node_t *node, int64_t room) noexcept nogil:
    """Room for `room` rows, none of them null where it is new."""
    cdef size_t used = _bits_size(node.room) if node.validity != NULL else 0
    if not _grow_block(node, &node.validity_block, &node.validity, used, _bits_size(room)):
        return False
    memset(node.validity + used, 0xFF, _bits_size(room) - used)
    return True


cdef bint node_reserve(node_t *node, int64_t room) noexcept nogil:
    """Room for `room` rows in all."""
    cdef uint8_t *offsets = <uint8_t *>node.offsets
    cdef bint done = True
    if room <= node.room:
        return True
    if room > MAX_NODE_ROWS:
        return False
    if node.kind == NODE_FIXED:
        done = _grow_block(node, &node.data_block, &node.data, <size_t>(node.length * node.width),
                           <size_t>(room * node.width))
    elif node.kind == NODE_BOOL:
        done = _grow_block(node, &node.data_block, &node.data, _bits_size(node.room), _bits_size(room))
        if done:
            memset(node.data + _bits_size(node.room), 0, _bits_size(room) - _bits_size(node.room))
    elif node.kind == NODE_BYTES or node.kind == NODE_LIST:
        done = _grow_block(node, &node.offsets_block, &offsets, <size_t>(node.length + 1) * 4 if node.room else 0,
                           <size_t>(room + 1) * 4)
        node.offsets = <int32_t *>offsets
        if done and node.room == 0:
            node.offsets[0] = 0
    if done and node.validity != NULL:
        done = _grow_validity(node, room)
    if done:
        node.room = room
    return done


cdef bint _node_grow(node_t *node) noexcept nogil:
    if node.length >= MAX_NODE_ROWS:
        return False
    return node_reserve(node, min(max(2 * node.room, <int64_t>MIN_NODE_ROWS), <int64_t>MAX_NODE_ROWS))


cdef inline bint node_has_room(node_t *node) noexcept nogil:
    """Whether there is room for one more row now."""
    return node.length < node.room or _node_grow(node)


cdef bint node_reserve_bytes(node_t *node, int64_t size) noexcept nogil:
    """Room for `size` bytes in all, of a NODE_BYTES."""
    if size <= node.bytes_room:
        return True
    if size > MAX_COLUMN_BYTES:
        return False
    size = min(max(size, 2 * node.bytes_room), <int64_t>MAX_COLUMN_BYTES)
    if not _grow_block(node, &node.data_block, &node.data, <size_t>node.used, <size_t>size):
        return False
    node.bytes_room = size
    return True


cdef inline bint add_bytes(node_t *node, const uint8_t *p, int64_t size) noexcept nogil:
    if not node_has_room(node):
        return False
    if size > node.bytes_room - node.used and not node_reserve_bytes(node, node.used + size):
        return False
    if size:
        memcpy(node.data + node.used, p, <size_t>size)
    add_written(node, size)
    return True


cdef inline void add_written(node_t *node, int64_t size) noexcept nogil:
    """The row of a NODE_BYTES whose bytes have been written after those of the others; there is room for it."""
    node.used += size
    node.length += 1
    node.offsets[node.length] = <int32_t>node.used


cdef inline bint add_fixed_32(node_t *node, uint32_t value) noexcept nogil:
    if not node_has_room(node):
        return False
    (<uint32_t *>node.data)[node.length] = value
    node.length += 1
    return True


cdef inline bint add_fixed_64(node_t *node, uint64_t value) noexcept nogil:
    if not node_has_room(node):
        return False
    (<uint64_t *>node.data)[node.length] = value
    node.length += 1
    return True


cdef inline bint add_bool(node_t *node, bint value) noexcept nogil:
    cdef uint8_t bit
    if not node_has_room(node):
        return False
    bit = <uint8_t>(1 << (node.length & 7))
    if value:
        node.data[node.length >> 3] |= bit
    else:
        node.data[node.length >> 3] &= ~bit
    node.length += 1
    return True


cdef inline bint end_list(const node_t *nodes, node_t *node) noexcept nogil:
    """The row of a NODE_LIST whose elements have been appended to its child."""
    if not node_has_room(node):
        return False
    node.length += 1
    node.offsets[node.length] = <int32_t>nodes[node.children[0]].length
    return True


cdef inline bint end_struct(node_t *node) noexcept nogil:
    """The row of a NODE_STRUCT whose children have theirs."""
    if not node_has_room(node):
        return False
    node.length += 1
    return True


cdef bint add_null(node_t *nodes, int number) noexcept nogil:
    cdef node_t *node = &nodes[number]
    cdef int i
    if not node_has_room(node):
        return False
    if node.kind == NODE_STRUCT:
        for i in range(node.n_children):
            if not add_null(nodes, node.children[i]):
                return False
    elif node.kind == NODE_FIXED:
        memset(node.data + node.length * node.width, 0, <size_t>node.width)
    elif node.kind == NODE_BOOL:
        clear_bit(node.data, node.length)
    elif node.kind == NODE_BYTES:
        node.offsets[node.length + 1] = <int32_t>node.used
    elif node.kind == NODE_LIST:
        node.offsets[node.length + 1] = node.offsets[node.length]
    if node.kind != NODE_NULL:
        if node.validity == NULL and not _grow_validity(node, node.room):
            return False
        clear_bit(node.validity, node.length)
    node.length += 1
    return True


cdef void node_truncate(node_t *nodes, int number, int64_t length) noexcept nogil:
    """Takes back all rows of the node and below that do not belong to its first `length` ones."""
    cdef node_t *node = &nodes[number]
    cdef int64_t row
    cdef int i
    length = min(length, node.length)
    if node.validity != NULL:
        for row in range(length, node.length):
            node.validity[row >> 3] |= <uint8_t>(1 << (row & 7))
    node.length = length
    if node.kind == NODE_BYTES:
        node.used = node.offsets[length] if node.room else 0
    elif node.kind == NODE_LIST:
        node_truncate(nodes, node.children[0], node.offsets[length] if node.room else 0)
    elif node.kind == NODE_STRUCT:
        for i in range(node.n_children):
            node_truncate(nodes, node.children[i], length)


# --- the way out ---

cdef int64_t _count_nulls(const node_t *node) noexcept nogil:
    cdef const uint64_t *words = <const uint64_t *>node.validity
    cdef int64_t valid = 0, row
    cdef int64_t i
    if node.kind == NODE_NULL:
        return node.length
    if words == NULL:
        return 0
    for i in range(node.length // 64):
        valid += __builtin_popcountll(words[i])
    for row in range(node.length // 64 * 64, node.length):
        valid += (node.validity[row >> 3] >> (row & 7)) & 1
    return node.length - valid


cdef inline void _move_block(ArrowArray *array, kw_block **block) noexcept nogil:
    if block[0] != NULL:
        hold_block(array, block[0])
        block[0] = NULL


cdef int move_node(ArrowArray *array, node_t *nodes, int number) noexcept nogil:
    """Makes `array` the node's, which owns nothing any more; -1 without memory, and then `array` holds nothing.

    A child that has not as many rows as its parent needs, which a decoder's plan would have to be wrong for, is -1, too.
    """
    cdef node_t *node = &nodes[number]
    cdef int64_t buffers = (0 if node.kind == NODE_NULL else 1 if node.kind == NODE_STRUCT
                            else 3 if node.kind == NODE_BYTES else 2)
    cdef int i
    if not node_reserve(node, 1) or node.kind == NODE_BYTES and not node_reserve_bytes(node, 1):
        return -1                  # not all consumers like a NULL buffer in an array without rows
    if init_array(array, node.length, buffers, node.n_children, 3) < 0:
        return -1
    array.null_count = _count_nulls(node)
    if node.kind != NODE_NULL:
        array.buffers[0] = node.validity if array.null_count else NULL
    if node.kind == NODE_BYTES or node.kind == NODE_LIST:
        array.buffers[1] = node.offsets
    if node.kind == NODE_BYTES:
        array.buffers[2] = node.data
    elif node.kind == NODE_FIXED or node.kind == NODE_BOOL:
        array.buffers[1] = node.data
    _move_block(array, &node.data_block)
    _move_block(array, &node.offsets_block)
    _move_block(array, &node.validity_block)
    for i in range(node.n_children):
        if (nodes[node.children[i]].length < (node.length if node.kind == NODE_STRUCT else node.offsets[node.length])
                or move_node(array.children[i], nodes, node.children[i]) < 0):
            array.children[i].release = NULL
            array.release(array)
            return -1
    return 0


@cython.final
cdef class BuiltColumns:
    """The columns that a decoder has filled, for `pyarrow.record_batch`; they can be taken once.

    `faults` are the rows that could not be decoded, in order: (row, byte, place in the schema, reason). Such a row is
    null in all columns.
    """

    cdef ColumnLayout layout
    cdef node_t *nodes
    cdef bint taken
    cdef readonly list faults

    def __cinit__(self, ColumnLayout layout not None):
        self.layout = layout
        self.faults = []
        self.nodes = <node_t *>malloc(<size_t>layout.count * sizeof(node_t))
        if self.nodes == NULL:
            raise _errors.LimitError("out of memory for columns")
        memcpy(self.nodes, layout.nodes, <size_t>layout.count * sizeof(node_t))

    def __dealloc__(self):
        cdef int i
        if self.nodes == NULL:
            return
        for i in range(self.layout.count):
            release_block(self.nodes[i].data_block)
            release_block(self.nodes[i].offsets_block)
            release_block(self.nodes[i].validity_block)
        free(self.nodes)

    cdef bint was_refused(self) noexcept nogil:
        """Whether there was no memory for some row, which is not that row's fault."""
        cdef int i
        for i in range(self.layout.count):
            if self.nodes[i].refused:
                return True
        return False

    cdef bint reserve(self, int number, int64_t rows, int64_t bytes_each) noexcept nogil:
        """Room for as many rows in the node and in what has one row for each of them."""
        cdef node_t *node = &self.nodes[number]
        cdef int i
        if not node_reserve(node, max(rows, <int64_t>1)):
            return False
        if node.kind == NODE_BYTES and not node_reserve_bytes(node, max(bytes_each, <int64_t>1)):
            return False
        if node.kind == NODE_STRUCT:
            for i in range(node.n_children):
                if not self.reserve(node.children[i], rows, bytes_each):
                    return False
        return True

    def __len__(self):
        return self.nodes[0].length

    def __arrow_c_schema__(self):
        """The schema as a PyCapsule named "arrow_schema"."""
        return self.layout.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema=None):
        """(schema, array) as PyCapsules. CodecError the second time: the columns are gone."""
        cdef ArrowArray *array
        cdef object schema = self.layout.__arrow_c_schema__()
        cdef bint moved
        if self.taken:
            raise _errors.CodecError("these columns have been taken already")
        array = <ArrowArray *>malloc(sizeof(ArrowArray))
        moved = array != NULL and move_node(array, self.nodes, 0) == 0
        self.taken = True
        if not moved:
            free(array)
            raise _errors.LimitError("out of memory for columns")
        return schema, array_capsule(array)
