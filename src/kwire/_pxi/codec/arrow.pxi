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


cdef object schema_capsule(ArrowSchema *schema):
    return PyCapsule_New(schema, b"arrow_schema", _drop_schema_capsule)


cdef object array_capsule(ArrowArray *array):
    return PyCapsule_New(array, b"arrow_array", _drop_array_capsule)


cdef void _drop_schema_capsule(object capsule) noexcept:
    cdef ArrowSchema *schema = <ArrowSchema *>PyCapsule_GetPointer(capsule, b"arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef void _drop_array_capsule(object capsule) noexcept:
    cdef ArrowArray *array = <ArrowArray *>PyCapsule_GetPointer(capsule, b"arrow_array")
    if array.release != NULL:
        array.release(array)
    free(array)
