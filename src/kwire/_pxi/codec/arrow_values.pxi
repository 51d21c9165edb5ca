# Columns in Arrow layout as the decoders of values meet them: one that comes in, read value by value, and those that go
# out, in blocks.
#
# Blocks are made and released by `_codec` alone, which has their pool, and so are the arrays that hold them.

cdef extern from "block.h" nogil:
    ctypedef struct kw_block:
        size_t capacity
        kw_block *next_free

    uint8_t *kw_block_data(kw_block *block)

cdef extern from "arrow_abi.h" nogil:
    struct ArrowSchema:
        const char *format
        const char *name               # may be NULL
        int64_t n_children
        ArrowSchema **children
        ArrowSchema *dictionary
        void (*release)(ArrowSchema *) noexcept nogil

    struct ArrowArray:
        int64_t length
        int64_t null_count             # -1: not counted yet
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void **buffers
        ArrowArray **children
        void (*release)(ArrowArray *) noexcept nogil

    enum:
        KW_ARROW_NULLABLE

cdef extern from "utf8.h" nogil:
    bint kw_utf8_is_valid(const uint8_t *p, size_t size)
    size_t kw_utf8_repaired_size(const uint8_t *p, size_t size)
    int64_t kw_utf8_repair(uint8_t *out, size_t room, const uint8_t *p, size_t size)

cdef enum:
    MAX_COLUMN_BYTES = 0x7FFFFFFF

cdef enum ArrowKind:
    ARROW_NULL = 0
    ARROW_OFFSETS_32 = 1
    ARROW_OFFSETS_64 = 2
    ARROW_VIEWS = 3
    ARROW_FIXED = 4

cdef enum ArrowFault:
    ARROW_OK = 0
    ARROW_FAULT_LENGTH = 100       # offsets that go back or beyond the end
    ARROW_FAULT_HEADER_KEY = 101   # a header that is null, or whose key is
    ARROW_FAULT_TIMESTAMP = 102    # below -1
    ARROW_FAULT_MEMORY = 103


ctypedef struct datum_t:
    const uint8_t *data
    int64_t size                 # -1: null


ctypedef struct binary_column_t:
    int kind
    const uint8_t *validity        # NULL: no nulls
    const uint8_t *index           # offsets, views, or the bytes themselves (fixed width)
    const uint8_t *data
    const uint8_t **variadic       # the data buffers of a view column ...
    const int64_t *sizes           # ... and their sizes
    int64_t n_variadic
    int64_t offset
    int64_t width
    int64_t end                    # of the data, by the last offset


cdef class ArrowValues:
    cdef ArrowArray array          # moved out of its capsule, to be released here
    cdef int64_t length
    cdef binary_column_t value


cdef kw_block *new_block(size_t size) noexcept nogil
cdef void release_block(kw_block *block) noexcept nogil
cdef int init_schema(ArrowSchema *schema, const char *format, const char *name, int64_t flags,
                     int64_t n_children) noexcept nogil
cdef int init_array(ArrowArray *array, int64_t length, int64_t n_buffers, int64_t n_children,
                    int64_t max_blocks) noexcept nogil
cdef void hold_block(ArrowArray *array, kw_block *block) noexcept nogil
cdef object schema_capsule(ArrowSchema *schema)
cdef object array_capsule(ArrowArray *array)
cdef int arrow_datum_of_any(const binary_column_t *column, int64_t place, datum_t *out) noexcept nogil
cdef int64_t arrow_bytes(const binary_column_t *column, int64_t rows) noexcept nogil


cdef inline void clear_bit(uint8_t *bits, int64_t row) noexcept nogil:
    bits[row >> 3] = <uint8_t>(bits[row >> 3] & ~(1 << (row & 7)))


cdef inline bint arrow_is_null(const uint8_t *validity, int64_t row) noexcept nogil:
    return validity != NULL and not (validity[row >> 3] >> (row & 7)) & 1


cdef inline int arrow_datum(const binary_column_t *column, int64_t row, datum_t *out) noexcept nogil:
    """Points `out` at row `row`, -1 bytes where it is null. Returns an ArrowFault."""
    cdef const int32_t *offsets
    row += column.offset
    if column.kind != ARROW_OFFSETS_32 or column.validity != NULL:
        return arrow_datum_of_any(column, row, out)
    offsets = <const int32_t *>column.index + row
    out.data = column.data + offsets[0]
    out.size = <int64_t>offsets[1] - offsets[0]
    # Without a sign, offsets below zero are beyond every end.
    if <uint32_t>offsets[0] <= <uint32_t>offsets[1] and <uint32_t>offsets[1] <= <uint32_t>column.end:
        return ARROW_OK
    return ARROW_FAULT_LENGTH
