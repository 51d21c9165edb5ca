# The Arrow C Data Interface, as arrow.h has it: streams, and what makes arrays and schemas that go out.

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New

cdef extern from "arrow.h" nogil:
    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream *, ArrowSchema *) noexcept nogil
        int (*get_next)(ArrowArrayStream *, ArrowArray *) noexcept nogil
        const char *(*get_last_error)(ArrowArrayStream *) noexcept nogil
        void (*release)(ArrowArrayStream *) noexcept nogil

    int kw_schema_init(ArrowSchema *schema, const char *format, const char *name, int64_t flags, int64_t n_children)
    int kw_array_init(ArrowArray *array, int64_t length, int64_t n_buffers, int64_t n_children, int64_t max_blocks)
    void kw_array_hold(ArrowArray *array, kw_block *block)
    int kw_stream_init(ArrowArrayStream *stream)
    int kw_stream_push(ArrowArrayStream *stream, ArrowArray *array)
    ArrowSchema *kw_stream_schema(ArrowArrayStream *stream)


cdef int init_schema(ArrowSchema *schema, const char *format, const char *name, int64_t flags,
                     int64_t n_children) noexcept nogil:
    return kw_schema_init(schema, format, name, flags, n_children)


cdef int init_array(ArrowArray *array, int64_t length, int64_t n_buffers, int64_t n_children,
                    int64_t max_blocks) noexcept nogil:
    return kw_array_init(array, length, n_buffers, n_children, max_blocks)


cdef void hold_block(ArrowArray *array, kw_block *block) noexcept nogil:
    kw_array_hold(array, block)


# --- capsules: they take over what they are given, even if there is no memory for one ---

cdef object schema_capsule(ArrowSchema *schema):
    try:
        return PyCapsule_New(schema, b"arrow_schema", _drop_schema_capsule)
    except MemoryError:
        _drop_schema(schema)
        raise


cdef object array_capsule(ArrowArray *array):
    try:
        return PyCapsule_New(array, b"arrow_array", _drop_array_capsule)
    except MemoryError:
        _drop_array(array)
        raise


cdef object stream_capsule(ArrowArrayStream *stream):
    try:
        return PyCapsule_New(stream, b"arrow_array_stream", _drop_stream_capsule)
    except MemoryError:
        _drop_stream(stream)
        raise


cdef void _drop_schema_capsule(object capsule) noexcept:
    _drop_schema(<ArrowSchema *>PyCapsule_GetPointer(capsule, b"arrow_schema"))


cdef void _drop_array_capsule(object capsule) noexcept:
    _drop_array(<ArrowArray *>PyCapsule_GetPointer(capsule, b"arrow_array"))


cdef void _drop_stream_capsule(object capsule) noexcept:
    _drop_stream(<ArrowArrayStream *>PyCapsule_GetPointer(capsule, b"arrow_array_stream"))


cdef void _drop_schema(ArrowSchema *schema) noexcept:
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef void _drop_array(ArrowArray *array) noexcept:
    if array.release != NULL:
        array.release(array)
    free(array)


cdef void _drop_stream(ArrowArrayStream *stream) noexcept:
    if stream.release != NULL:
        stream.release(stream)
    free(stream)
