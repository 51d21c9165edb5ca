# The Python face of the primitives: a Reader over bytes and a Writer into bytes, a method for each type of the wire.
#
# Needs: primitives.pxi, blocks.pxi, uuids.pxi. Gives: Reader, Writer.
# For blobs without a schema (tools, group metadata, tests). Messages go through plans, records through their own parsers.
#
#   tagged fields = count uvarint, then count times (tag uvarint, size uvarint, `size` bytes), tags ascending
# Source: KIP-482.

@cython.final
cdef class Reader:
    """Reads the primitive types of the Kafka protocol from `data`, which may be any contiguous bytes-like object.

    Each `read_*` moves on by what it read and raises TruncatedError or InvalidLengthError, with the byte offset and the
    `field` given, when the bytes do not hold the value; the reader is then of no further use.
    """

    cdef Buffer source
    cdef reader_t at

    def __cinit__(self, data):
        self.source = pin(data)
        reader_init(&self.at, self.source.data, self.source.size)

    @property
    def position(self):
        """Bytes read so far."""
        return self.at.at - self.at.start

    @property
    def remaining(self):
        """Bytes not read yet."""
        return bytes_left(&self.at)

    cdef object _checked(self, object value, object field):
        if self.at.error != FAULT_NONE:
            raise_read_fault(&self.at, field)
        return value

    def read_int8(self, field=None):
        return self._checked(read_i8(&self.at), field)

    def read_int16(self, field=None):
        return self._checked(read_i16(&self.at), field)

    def read_int32(self, field=None):
        return self._checked(read_i32(&self.at), field)

    def read_int64(self, field=None):
        return self._checked(read_i64(&self.at), field)

    def read_uint16(self, field=None):
        return self._checked(read_u16(&self.at), field)

    def read_uint32(self, field=None):
        return self._checked(read_u32(&self.at), field)

    def read_float64(self, field=None):
        return self._checked(read_f64(&self.at), field)

    def read_bool(self, field=None):
        return self._checked(read_i8(&self.at) != 0, field)

    def read_uvarint(self, field=None):
        return self._checked(read_uvarint(&self.at), field)

    def read_varint(self, field=None):
        return self._checked(read_varint(&self.at), field)

    def read_varlong(self, field=None):
        return self._checked(read_varlong(&self.at), field)

    def read_uuid(self, field=None):
        cdef const uint8_t *raw = read_span(&self.at, 16)
        return self._checked(uuid_of(raw) if raw != NULL else None, field)

    def read_string(self, field=None, *, bint compact=False, bint nullable=False):
        """str, or None where `nullable`; bytes that are no UTF-8 raise CorruptError."""
        cdef const uint8_t *begin = self.at.at
        cdef bytes raw = self._span(read_compact_length(&self.at) if compact else read_string_length(&self.at),
                                    nullable, field)
        if raw is None:
            return None
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise _errors.CorruptError("a string that is not UTF-8", field, begin - self.at.start) from None

    def read_bytes(self, field=None, *, bint compact=False, bint nullable=False):
        """bytes, or None where `nullable`."""
        return self._span(read_compact_length(&self.at) if compact else read_bytes_length(&self.at), nullable, field)

    def read_array_count(self, size_t least_size, field=None, *, bint compact=False, bint nullable=False):
        """The count of an array whose elements take `least_size` bytes or more each; None for a null array."""
        cdef int64_t count
        if compact:
            count = read_compact_count(&self.at, least_size)
        else:
            count = read_array_count(&self.at, least_size)
        if count < 0 and not nullable:
            reader_fail(&self.at, FAULT_NULL)
        return self._checked(None if count < 0 else count, field)

    def read_tagged_fields(self, field=None):
        """A tuple of (tag, bytes), tags ascending."""
        cdef int64_t left = read_uvarint(&self.at)
        cdef int64_t last = -1
        cdef int64_t tag, size
        cdef const uint8_t *begin = self.at.at
        cdef const uint8_t *raw
        cdef list found = []
        check_count(&self.at, left, 2, begin)
        while left > 0 and self.at.error == FAULT_NONE:
            begin = self.at.at
            tag = read_uvarint(&self.at)
            size = read_uvarint(&self.at)
            if self.at.error == FAULT_NONE and tag <= last:
                self.at.at = begin
                reader_fail(&self.at, FAULT_TAG_ORDER)
            raw = read_span(&self.at, size)
            if raw != NULL:
                found.append((tag, PyBytes_FromStringAndSize(<const char *>raw, size)))
            last = tag
            left -= 1
        return self._checked(tuple(found), field)

    def expect_end(self, field=None):
        """Raises InvalidLengthError when bytes are left."""
        if bytes_left(&self.at):
            reader_fail(&self.at, FAULT_TRAILING)
        self._checked(None, field)

    cdef bytes _span(self, int64_t length, bint nullable, object field):
        cdef const uint8_t *raw
        if length < 0:
            if not nullable:
                reader_fail(&self.at, FAULT_NULL)
            return self._checked(None, field)
        raw = read_span(&self.at, length)
        return self._checked(PyBytes_FromStringAndSize(<const char *>raw, length) if raw != NULL else None, field)


@cython.final
cdef class Writer:
    """Writes the primitive types of the Kafka protocol; `bytes(writer)` is what was written.

    A value that does not fit its type raises InvalidLengthError, and nothing of it is written.
    """

    cdef writer_t at

    def __cinit__(self):
        if writer_init(&self.at, 256) < 0:
            raise_write_fault(&self.at)

    def __dealloc__(self):
        writer_free(&self.at)

    def __bytes__(self):
        return PyBytes_FromStringAndSize(<const char *>self.at.start, written(&self.at))

    def __len__(self):
        return written(&self.at)

    cdef int _check(self) except -1:
        if self.at.error != FAULT_NONE:
            raise_write_fault(&self.at)
        return 0

    cdef int64_t _within(self, object value, object least, object most, str kind) except? -1:
        if not isinstance(value, int) or not least <= value <= most:
            raise _errors.InvalidLengthError(f"{value!r} is not an {kind} ({least} to {most})")
        return <int64_t>value

    def write_int8(self, value):
        write_i8(&self.at, <int8_t>self._within(value, -128, 127, "int8"))
        self._check()

    def write_int16(self, value):
        write_i16(&self.at, <int16_t>self._within(value, -32768, 32767, "int16"))
        self._check()

    def write_int32(self, value):
        write_i32(&self.at, <int32_t>self._within(value, -2147483648, 2147483647, "int32"))
        self._check()

    def write_int64(self, value):
        write_i64(&self.at, self._within(value, -9223372036854775808, 9223372036854775807, "int64"))
        self._check()

    def write_uint16(self, value):
        write_u16(&self.at, <uint16_t>self._within(value, 0, 65535, "uint16"))
        self._check()

    def write_uint32(self, value):
        write_u32(&self.at, <uint32_t>self._within(value, 0, 4294967295, "uint32"))
        self._check()

    def write_float64(self, double value):
        write_f64(&self.at, value)
        self._check()

    def write_bool(self, value):
        write_i8(&self.at, 1 if value else 0)
        self._check()

    def write_uvarint(self, value):
        write_uvarint(&self.at, <uint32_t>self._within(value, 0, 4294967295, "uint32"))
        self._check()

    def write_varint(self, value):
        write_varint(&self.at, <int32_t>self._within(value, -2147483648, 2147483647, "int32"))
        self._check()

    def write_varlong(self, value):
        write_varlong(&self.at, self._within(value, -9223372036854775808, 9223372036854775807, "int64"))
        self._check()

    def write_uuid(self, value):
        cdef bytes raw = value.bytes
        write_raw(&self.at, <const char *>raw, 16)
        self._check()

    def write_string(self, value, *, bint compact=False):
        """`value` is a str or None (null); more than 32,767 bytes of UTF-8 raise InvalidLengthError unless compact."""
        cdef bytes raw = None if value is None else value.encode("utf-8")
        if not compact and raw is not None and len(raw) > 32767:
            raise _errors.InvalidLengthError(f"a string of {len(raw)} bytes does not fit an int16 length")
        if compact:
            write_uvarint(&self.at, 0 if raw is None else <uint32_t>(len(raw) + 1))
        else:
            write_i16(&self.at, -1 if raw is None else <int16_t>len(raw))
        if raw is not None:
            write_raw(&self.at, <const char *>raw, len(raw))
        self._check()

    def write_bytes(self, value, *, bint compact=False):
        """`value` is bytes-like or None (null)."""
        cdef Buffer raw = None if value is None else pin(value)
        if raw is not None and raw.size > 2147483646:
            raise _errors.InvalidLengthError(f"{raw.size} bytes do not fit an int32 length")
        self.write_array_count(None if raw is None else raw.size, compact=compact)
        if raw is not None:
            write_raw(&self.at, raw.data, raw.size)
        self._check()

    def write_array_count(self, count, *, bint compact=False):
        """`count` is an int or None (a null array)."""
        cdef int64_t known = -1 if count is None else self._within(count, 0, 2147483646, "int32")
        if compact:
            write_uvarint(&self.at, <uint32_t>(known + 1))
        else:
            write_i32(&self.at, <int32_t>known)
        self._check()

    def write_tagged_fields(self, fields=()):
        """`fields` are (tag, bytes-like), in any order; a tag given twice raises InvalidLengthError."""
        cdef list ordered = sorted(fields, key=lambda pair: pair[0])
        cdef Buffer raw
        for i in range(1, len(ordered)):
            if ordered[i][0] == ordered[i - 1][0]:
                raise _errors.InvalidLengthError(f"tag {ordered[i][0]} is given twice")
        write_uvarint(&self.at, <uint32_t>len(ordered))
        for tag, content in ordered:
            raw = pin(content)
            self.write_uvarint(tag)
            write_uvarint(&self.at, <uint32_t>raw.size)
            write_raw(&self.at, raw.data, raw.size)
        self._check()
