# The columns of one or several Records as Python objects: pyarrow, polars, duckdb and Spark take them through the
# PyCapsule interface.
#
# No Arrow library is needed here.


@cython.final
cdef class RecordColumns:
    """The columns of `plan` for `parts`, a sequence of (Records, topic or None, partition).

    A part of a file is (Records, topic or None, partition, file, position): the place of the bytes that were decoded.

    Rows follow the order of the parts. Nothing is filled until one of the Arrow methods is called; each call fills new
    columns. `max_bytes` is the maximum size of a binary column in one Arrow array with more than one row, and Arrow's
    limit of 2 GiB - 1 at most.
    """

    cdef readonly ColumnPlan plan
    cdef list records                # keep the indexes alive
    cdef list names                  # keep the topics' and files' bytes alive
    cdef run_t *runs
    cdef int64_t run_count
    cdef int64_t rows
    cdef int64_t max_bytes

    def __cinit__(self, ColumnPlan plan not None, parts, int64_t max_bytes=MAX_COLUMN_BYTES):
        cdef Records records
        cdef size_t max_runs = 0
        self.plan = plan
        self.records = []
        self.names = []
        self.max_bytes = min(max_bytes, MAX_COLUMN_BYTES)
        self.runs = NULL
        self.run_count = 0
        self.rows = 0
        parts = [tuple(part) for part in parts]       # iterated over once: sizes and contents must agree
        for part in parts:
            records = part[0]
            if records is None:
                raise TypeError("a part without Records")
            if len(part) not in (3, 5):
                raise TypeError(f"a part of {len(part)} items")
            max_runs += records.index.scan.part_count
        self.runs = <run_t *>malloc(max(max_runs, 1) * sizeof(run_t))
        if self.runs == NULL:
            raise _errors.LimitError(f"out of memory for the columns of {max_runs} batches")
        for part in parts:
            self._add(part)

    def __dealloc__(self):
        free(self.runs)

    cdef int _add(self, tuple added) except -1:
        cdef Records records = added[0]
        cdef int32_t partition = added[2]
        cdef int64_t position = 0 if len(added) == 3 else added[4]
        cdef bytes topic_name = _name_bytes(added[1], "topic")
        cdef bytes file_name = _name_bytes(None if len(added) == 3 else added[3], "file")
        cdef const part_t *part
        cdef size_t place = records.start
        cdef size_t end
        cdef run_t *run
        self.records.append(records)
        self.names.append((topic_name, file_name))
        if records.start == records.stop:
            return 0
        part = records.index.part_of(place)
        while place < records.stop:
            end = min(part.first + part.count, records.stop)
            if end > place:
                run = &self.runs[self.run_count]
                run.records = records.index.scan.records + place
                run.count = <int64_t>(end - place)
                run.part = part
                run.batch = records.index.scan.batches + part.batch
                run.topic = <const uint8_t *>PyBytes_AS_STRING(topic_name)
                run.topic_size = len(topic_name)
                run.file = <const uint8_t *>PyBytes_AS_STRING(file_name)
                run.file_size = len(file_name)
                run.name_size = max(run.topic_size, run.file_size)
                run.position = position
                run.partition = partition
                self.run_count += 1
                place = end
            part += 1
        self.rows += <int64_t>(records.stop - records.start)
        return 0

    def __len__(self):
        return self.rows

    def __arrow_c_schema__(self):
        """The schema as a PyCapsule named "arrow_schema"."""
        return self.plan.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema=None):
        """(schema, array) as PyCapsules; LimitError when a column is larger than 2 GiB, which the stream cuts."""
        cdef ArrowArray *array = <ArrowArray *>malloc(sizeof(ArrowArray))
        cdef int64_t done
        if array == NULL:
            raise _errors.LimitError("out of memory for columns")
        try:
            done = self._fill(array, 0)
        except BaseException:
            free(array)
            raise
        capsule = array_capsule(array)
        if done < self.rows:
            raise _errors.LimitError(f"a column of these {self.rows} records is larger than {self.max_bytes} bytes, the "
                                     "most that one Arrow array can hold: take a slice, or the stream "
                                     "(__arrow_c_stream__)")
        return self.plan.__arrow_c_schema__(), capsule

    def __arrow_c_stream__(self, requested_schema=None):
        """A PyCapsule named "arrow_array_stream": as many arrays as the size of the columns needs, at least one."""
        cdef ArrowArrayStream *stream = <ArrowArrayStream *>malloc(sizeof(ArrowArrayStream))
        cdef ArrowArray array
        cdef int64_t done = 0
        if stream == NULL or kw_stream_init(stream) < 0:
            free(stream)
            raise _errors.LimitError("out of memory for a stream of columns")
        capsule = stream_capsule(stream)
        if self.plan.fill_schema(kw_stream_schema(stream)) < 0:
            raise _errors.LimitError("out of memory for a stream of columns")
        while True:
            done = self._fill(&array, done)
            if kw_stream_push(stream, &array) < 0:
                array.release(&array)
                raise _errors.LimitError("out of memory for a stream of columns")
            if done >= self.rows:
                return capsule

    def to_arrow(self):
        """A pyarrow.RecordBatch; LimitError when a column is larger than 2 GiB."""
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError('columns need pyarrow: pip install "kwire[arrow]"', name="pyarrow") from error
        return pyarrow.record_batch(self)

    cdef int64_t _fill(self, ArrowArray *array, int64_t done) except -1:
        """Fills `array` with as many rows from `done` on as fit; returns the number of rows done afterwards."""
        cdef span_t span
        cdef sizes_t sizes
        cdef int64_t skipped = 0
        cdef int64_t i = 0
        cdef int state
        while i < self.run_count and skipped + self.runs[i].count <= done:
            skipped += self.runs[i].count
            i += 1
        with nogil:
            span.runs = self.runs + i
            span.run_count = self.run_count - i
            span.first = done - skipped
            _measure(span.runs, span.run_count, span.first, self.max_bytes, self.plan.wants_headers, &sizes)
            span.rows = sizes.rows
            _drop_unused_runs(&span)
            state = _fill_columns(array, self.plan.columns, self.plan.count, &span, &sizes)
        if state == FILL_MEMORY:
            raise _errors.LimitError(f"out of memory for the columns of {span.rows} records")
        if state == FILL_CHANGED:
            raise_changed_bytes()
        if state == FILL_TIMESTAMP:
            raise _errors.LimitError("a timestamp does not fit into an int64 of the unit asked for: ask for ms",
                                     "timestamp")
        if sizes.rows == 0 and done < self.rows:
            array.release(array)
            raise _errors.LimitError(f"one record is larger than the {MAX_COLUMN_BYTES} bytes of a column")
        return done + sizes.rows


cdef bytes _name_bytes(object name, str kind):
    if name is None:
        return b""
    try:
        return PyUnicode_AsUTF8String(name)
    except UnicodeEncodeError as fault:
        raise _errors.CodecError(f"a {kind} cannot be written as UTF-8: {fault.reason}", kind) from None


cdef void _drop_unused_runs(span_t *span) noexcept nogil:
    cdef int64_t rows = -span.first
    cdef int64_t i = 0
    while i < span.run_count and rows < span.rows:
        rows += span.runs[i].count
        i += 1
    span.run_count = i


cdef tuple _RECORD_COLUMNS = (("offset", "int64"), ("timestamp", "ms"), ("timestamp_type", "int8"), ("key", "binary"),
                              ("value", "binary"), ("headers", "list"))
cdef dict _PLANS = {}


def record_plan(columns=None, *, bint binary_view=False, str timestamp_unit="ms", bint with_place=False):
    """The ColumnPlan of `Records.to_arrow`; `with_place` puts topic and partition first, as in a consumer's result.

    columns: names, in the order wanted, or None for all. timestamp_unit: "ms", "us" or "ns". ConfigError otherwise.
    """
    wanted = None if columns is None else tuple(columns)
    known = (wanted, binary_view, timestamp_unit, with_place)
    plan = _PLANS.get(known)
    if plan is not None:
        return plan
    if timestamp_unit not in ("ms", "us", "ns"):
        raise _errors.ConfigError(f"timestamp_unit={timestamp_unit!r}: 'ms', 'us' and 'ns' would work")
    types = {"topic": "string", "partition": "int32"} if with_place else {}
    types.update(_RECORD_COLUMNS)
    types["timestamp"] = timestamp_unit
    if binary_view:
        types["key"] = types["value"] = "binary_view"
    for name in wanted or ():
        if name not in types:
            raise _errors.ConfigError(f"there is no column {name!r}; there are {', '.join(types)}")
    plan = ColumnPlan([(name, name, types[name]) for name in (types if wanted is None else wanted)])
    if len(_PLANS) < 64:
        _PLANS[known] = plan
    return plan
