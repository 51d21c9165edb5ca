# The structures of the Arrow C Data Interface, as arrow.h declares them, for columns that come in and that go out.

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New

cdef extern from "arrow.h" nogil:
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

    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream *, ArrowSchema *) noexcept nogil
        int (*get_next)(ArrowArrayStream *, ArrowArray *) noexcept nogil
        const char *(*get_last_error)(ArrowArrayStream *) noexcept nogil
        void (*release)(ArrowArrayStream *) noexcept nogil

    enum:
        KW_ARROW_NULLABLE
    int kw_schema_init(ArrowSchema *schema, const char *format, const char *name, int64_t flags, int64_t n_children)
    int kw_array_init(ArrowArray *array, int64_t length, int64_t n_buffers, int64_t n_children, int64_t max_blocks)
    void kw_array_hold(ArrowArray *array, kw_block *block)
    int kw_stream_init(ArrowArrayStream *stream)
    int kw_stream_push(ArrowArrayStream *stream, ArrowArray *array)
    ArrowSchema *kw_stream_schema(ArrowArrayStream *stream)
