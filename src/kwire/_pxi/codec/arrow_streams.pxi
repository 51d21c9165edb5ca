# Record batches of a stream in Arrow layout, one after the other: tables of pyarrow, pandas, Polars and DuckDB.
#
# Source: "The Arrow C stream interface" of the Arrow specification.
# The stream is moved out of its capsule, and its next batch is requested without the GIL: a stream may compute it on
# threads of its own that run Python.

from libc.string cimport strerror


@cython.final
cdef class ArrowBatches:
    """The batches of anything with `__arrow_c_array__` (one) or `__arrow_c_stream__` (as many as come)."""

    cdef object array_source              # not yet returned
    cdef ArrowArrayStream stream
    cdef ArrowSchema schema

    def __cinit__(self, object source):
        self.stream.release = NULL
        self.schema.release = NULL
        if hasattr(source, "__arrow_c_array__"):
            self.array_source = source
        else:
            self._take_stream(source.__arrow_c_stream__(), type(source).__name__)

    def __dealloc__(self):
        if self.schema.release != NULL:
            self.schema.release(&self.schema)
        if self.stream.release != NULL:
            self.stream.release(&self.stream)

    cdef int _take_stream(self, object capsule, str kind) except -1:
        cdef ArrowArrayStream *stream
        cdef int failed
        if not PyCapsule_IsValid(capsule, "arrow_array_stream"):
            raise TypeError(f"{kind}.__arrow_c_stream__() did not return a capsule \"arrow_array_stream\"")
        stream = <ArrowArrayStream *>PyCapsule_GetPointer(capsule, "arrow_array_stream")
        if stream.release == NULL:
            raise _errors.CodecError("the Arrow stream has been released: another consumer took it", "batch")
        if stream.get_schema == NULL or stream.get_next == NULL:
            raise _errors.CodecError("the Arrow stream has no get_schema or no get_next", "batch")
        self.stream = stream[0]
        stream.release = NULL
        with nogil:
            failed = self.stream.get_schema(&self.stream, &self.schema)
        return self._check(failed)

    cdef int _check(self, int failed) except -1:
        cdef const char *text = NULL
        if failed:
            if self.stream.get_last_error != NULL:
                text = self.stream.get_last_error(&self.stream)
            if text == NULL:
                text = strerror(failed)
            raise _errors.CodecError(f"the Arrow stream failed: {(<bytes>text).decode('utf-8', 'replace')}", "batch")
        return 0

    cdef ArrowRecords next(self, int64_t when_null):
        """The rows of the next batch, or None at the end; `when_null` is the timestamp of a row without one."""
        cdef ArrowRecords rows
        cdef ArrowArray array
        cdef int failed
        if self.array_source is not None:
            rows = ArrowRecords(self.array_source, when_null)
            self.array_source = None
            return rows
        if self.stream.release == NULL:
            return None
        array.release = NULL
        with nogil:
            failed = self.stream.get_next(&self.stream, &array)
        self._check(failed)
        if array.release == NULL:
            return None
        rows = ArrowRecords(None, when_null)
        rows._take(&self.schema, &array)
        return rows
