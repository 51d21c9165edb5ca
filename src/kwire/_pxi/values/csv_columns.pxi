# CSV records into columns, by position; no Python object per value.
#
#   record    fields with separators between, maybe a line end after the last: LF or CR LF
#   field     anything without separator and line end; or, if it begins with a quote, all up to the next one, which a
#             separator or the end follows. In it two quotes are one; an escape character before a quote or before
#             itself leaves that one
# A field that is the null text is null, quoted or not. A record has as many fields as are declared. A field at fault
# makes its record null in all columns, and no other one. Sources: RFC 4180; Spark's documentation of from_csv.
#
# Bounds: a field's `p` to `end` is checked where it is cut off, in _csv_field() alone.

cdef extern from "string.h" nogil:
    void *memchr(const void *p, int c, size_t size)

cdef enum:
    CSV_FIELDS = 90                # more or fewer than declared
    CSV_OPEN = 91
    CSV_AFTER_QUOTE = 92
    CSV_LINES = 93
    CSV_UTF8 = 94
    CSV_NO_BYTE = 256              # no quote, no escape: what no byte equals

_TEXT_FAULT_TEXTS.update({
    CSV_OPEN: "a quoted field that does not end", CSV_AFTER_QUOTE: "text after a closing quote",
    CSV_LINES: "more than one line", CSV_UTF8: "not UTF-8",
})


@cython.final
cdef class CsvPlan:
    """How CSV records become columns: CsvPlan(plan, places), `places` being each field's node in the plan, or -1.

    `separator` is one byte; `quote` and `escape` are one byte or none; `null` is the text of a null.
    """

    cdef TextPlan plan
    cdef int *places
    cdef int count
    cdef int separator
    cdef int quote
    cdef int escape
    cdef bytes null

    def __cinit__(self, TextPlan plan not None, places, bytes separator not None=b",",
                  bytes quote not None=b'"', bytes escape not None=b"\\", bytes null not None=b""):
        cdef int i
        cdef list given = [<int>place for place in places]  # what is checked is what is kept
        self.places = NULL
        self.plan = plan
        self.count = len(given)
        if len(separator) != 1 or len(quote) > 1 or len(escape) > 1 or separator in (quote, escape, b"\n", b"\r"):
            raise _errors.ConfigError(f"separator {separator!r}, quote {quote!r} and escape {escape!r} are to be one "
                                      "byte each, the latter two may be none; the separator is neither of them, nor a "
                                      "line end")
        self.separator = separator[0]
        self.quote = quote[0] if quote else CSV_NO_BYTE
        self.escape = escape[0] if escape else CSV_NO_BYTE
        self.null = null
        self.places = <int *>malloc(<size_t>max(self.count, 1) * sizeof(int))
        if self.places == NULL:
            raise _errors.LimitError("out of memory for a plan of CSV")
        if self.count == 0 or sorted(place for place in given if place >= 0) != list(range(1, plan.layout.count)):
            raise _errors.ConfigError("a plan of CSV needs each column of its layout once, and no nested ones")
        for i in range(self.count):
            self.places[i] = given[i]

    def __dealloc__(self):
        free(self.places)

    cdef tuple described(self, ArrowValues rows, const value_fault_t *fault):
        """(row, byte, column, reason)"""
        cdef datum_t datum
        if fault.fault == CSV_FIELDS:
            found = "fewer" if fault.id <= self.count else "more"
            return fault.row, fault.at, "", f"{found} fields than the {self.count} that are declared"
        arrow_datum(&rows.value, fault.row, &datum)
        size = min(fault.id, JSON_SHOWN, datum.size - fault.at)
        shown = (<const char *>datum.data)[fault.at:fault.at + size].decode("utf-8", "replace")
        return self.plan.described(fault, f"{shown}..." if fault.id > size else shown)


ctypedef struct csv_t:             # one run over values
    text_t t
    const int *places
    int count
    int separator
    int quote
    int escape
    const uint8_t *null
    size_t null_size
    uint8_t *scratch               # room for the greatest field, when it has to be written anew
    size_t scratch_size
    const uint8_t *at
    const uint8_t *end
    const uint8_t *p               # the field: what it means, and where it stands
    size_t size
    const uint8_t *begin
    int fault
    int node
    int64_t number                 # of fields, or of bytes at fault


cdef bint _csv_fail(csv_t *c, int fault, const uint8_t *at) noexcept nogil:
    c.fault = fault
    c.begin = at
    return False


cdef bint _csv_room(csv_t *c, size_t size) noexcept nogil:
    cdef uint8_t *moved
    if size <= c.scratch_size:
        return True
    moved = <uint8_t *>realloc(c.scratch, 2 * size)
    if moved == NULL:
        c.t.nodes[0].refused = True
        return False
    c.scratch = moved
    c.scratch_size = 2 * size
    return True


cdef bint _csv_quoted(csv_t *c) noexcept nogil:
    """The field whose opening quote is at the cursor; leaves the cursor after the closing one."""
    cdef const uint8_t *p = c.at + 1
    cdef const uint8_t *begin = p
    cdef uint8_t *out
    if not _csv_room(c, <size_t>(c.end - p) + 1):
        return _csv_fail(c, TEXT_FULL, c.at)
    out = c.scratch
    while p < c.end:
        if p[0] == c.escape and p + 1 < c.end and (p[1] == c.quote or p[1] == c.escape):
            p += 1
        elif p[0] == c.quote:
            if p + 1 >= c.end or p[1] != c.quote:
                break
            p += 1
        out[0] = p[0]
        out += 1
        p += 1
    if p >= c.end:
        return _csv_fail(c, CSV_OPEN, c.at)
    c.at = p + 1
    c.p = c.scratch
    c.size = <size_t>(out - c.scratch)
    if c.size == <size_t>(p - begin):
        c.p = begin
    if c.at < c.end and c.at[0] != c.separator:
        return _csv_fail(c, CSV_AFTER_QUOTE, c.at)
    return True


cdef bint _csv_field(csv_t *c) noexcept nogil:
    """Cuts off the next field; the cursor is left at the separator after it, or at the end."""
    cdef const uint8_t *found
    c.begin = c.at
    if c.at < c.end and c.at[0] == c.quote:
        return _csv_quoted(c)
    found = <const uint8_t *>memchr(c.at, c.separator, <size_t>(c.end - c.at)) if c.at < c.end else NULL
    c.p = c.at
    c.at = found if found != NULL else c.end
    c.size = <size_t>(c.at - c.p)
    found = <const uint8_t *>memchr(c.p, c'\n', c.size) if c.size else NULL
    return found == NULL or _csv_fail(c, CSV_LINES, found)


cdef int _csv_text(csv_t *c, int number, int kind) noexcept nogil:
    if kind == TEXT_STRING and not kw_utf8_is_valid(c.p, c.size):
        return CSV_UTF8
    return 0 if add_bytes(&c.t.nodes[number], c.p, <int64_t>c.size) else TEXT_FULL


cdef bint _csv_is_word(const csv_t *c, const char *word, size_t size) noexcept nogil:
    cdef size_t i
    if c.size != size:
        return False
    for i in range(size):
        if c.p[i] | 0x20 != word[i]:
            return False
    return True


cdef int _csv_boolean(csv_t *c, int number) noexcept nogil:
    cdef bint value = _csv_is_word(c, b"true", 4)
    if not value and not _csv_is_word(c, b"false", 5):
        return TEXT_RANGE
    return 0 if add_bool(&c.t.nodes[number], value) else TEXT_FULL


cdef int _csv_floating(csv_t *c, int number) noexcept nogil:
    cdef double value
    if kw_is_number(c.p, c.size):
        return put_number(&c.t, number, c.p, c.size)
    return put_floating(&c.t.nodes[number], value) if not_finite(c.p, c.size, &value) else TEXT_RANGE


cdef int _csv_put(csv_t *c, int number) noexcept nogil:
    """The field as one row of the node; 0 or a fault."""
    cdef int kind = c.t.plan[number].kind
    if c.size == c.null_size and memcmp(c.p, c.null, c.size) == 0:
        return 0 if add_null(c.t.nodes, number) else TEXT_FULL
    if kind == TEXT_STRING or kind == TEXT_BINARY:
        return _csv_text(c, number, kind)
    if TEXT_INT8 <= kind <= TEXT_INT64:
        return put_integer(&c.t, number, c.p, c.size)
    if kind == TEXT_DOUBLE or kind == TEXT_FLOAT:
        return _csv_floating(c, number)
    if kind == TEXT_DECIMAL:
        return put_decimal(&c.t, number, c.p, c.size)
    if kind == TEXT_BOOLEAN:
        return _csv_boolean(c, number)
    if kind == TEXT_DATE:
        return put_date(&c.t, number, c.p, c.size)
    return put_timestamp(&c.t, number, c.p, c.size)


cdef bint _csv_fields(csv_t *c, const datum_t *datum) noexcept nogil:
    """One value, which is one record."""
    cdef int place
    c.at = datum.data
    c.end = datum.data + datum.size
    if datum.size and (c.end - 1)[0] == c'\n':
        c.end -= 1
        if c.end > c.at and (c.end - 1)[0] == c'\r':
            c.end -= 1
    for place in range(c.count):
        c.node = c.places[place]
        c.number = 0
        if not _csv_field(c):
            return False
        c.number = c.at - c.begin
        c.fault = _csv_put(c, c.node) if c.node >= 0 else 0
        if c.fault:
            return False
        if place + 1 < c.count:
            if c.at == c.end:
                c.number = place + 1
                return _csv_fail(c, CSV_FIELDS, c.end)
            c.at += 1
    c.number = c.count + 1
    return c.at == c.end or _csv_fail(c, CSV_FIELDS, c.at)


cdef int64_t _csv_rows(ArrowValues rows, csv_t *c, value_faults_t *faults) noexcept nogil:
    """All rows; returns -1, or the row that cannot be read, or -2 without memory."""
    cdef datum_t datum
    cdef value_fault_t fault
    cdef int64_t row
    memset(&fault, 0, sizeof(value_fault_t))
    for row in range(rows.length):
        if arrow_datum(&rows.value, row, &datum) != ARROW_OK:
            return row
        if datum.size >= 0:
            if _csv_fields(c, &datum):
                if not end_struct(&c.t.nodes[0]):
                    return -2
                continue
            fault.row = row
            fault.at = c.begin - datum.data
            fault.fault = c.fault
            fault.step = c.node
            fault.id = c.number
            if not add_fault(faults, fault):
                return -2
        if not null_row(c.t.nodes, row):
            return -2
    return -1


def decode_csv(values, CsvPlan plan not None):
    """The CSV records of a binary column (anything with `__arrow_c_array__`) as BuiltColumns.

    A null is null in all columns. A value that cannot be decoded is one of the result's `faults`. Runs without the GIL.
    """
    cdef ArrowValues rows = ArrowRecords(values)
    cdef BuiltColumns out = BuiltColumns(plan.plan.layout)
    cdef int64_t size = arrow_bytes(&rows.value, rows.length)
    cdef value_faults_t faults
    cdef csv_t c
    cdef int64_t result, i
    memset(&faults, 0, sizeof(value_faults_t))
    memset(&c, 0, sizeof(csv_t))
    text_init(&c.t, plan.plan, out)
    c.places = plan.places
    c.count = plan.count
    c.separator = plan.separator
    c.quote = plan.quote
    c.escape = plan.escape
    c.null = <const uint8_t *>PyBytes_AS_STRING(plan.null)
    c.null_size = <size_t>len(plan.null)
    try:
        with nogil:
            if out.reserve(0, rows.length, size // max(plan.count, 2)):
                result = _csv_rows(rows, &c, &faults)
            else:
                result = -2
        if result == -2 or out.was_refused():
            raise _errors.LimitError(f"out of memory for the columns of {rows.length} values")
        if result >= 0:
            raise_arrow_row(result)
        for i in range(faults.count):
            out.faults.append(plan.described(rows, &faults.faults[i]))
    finally:
        free(c.scratch)
        free(faults.faults)
    return out
