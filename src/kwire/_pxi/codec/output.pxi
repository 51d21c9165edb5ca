# A block that grows while something is written into it from Python, and then becomes a Buffer.
#
# For the decompressors, whose libraries write into a writable memoryview; nothing is copied when the size was known
# from the start.

@cython.final
cdef class OutputBlock:
    """Room to decompress into. `OutputBlock(capacity)` in bytes; LimitError when there is no memory."""

    cdef kw_block *block
    cdef readonly Py_ssize_t size

    def __cinit__(self, Py_ssize_t capacity):
        self.size = 0
        self.block = kw_block_new(<size_t>max(capacity, 0))
        if self.block == NULL:
            raise _errors.LimitError(f"out of memory for {capacity} decompressed bytes")

    def __dealloc__(self):
        kw_block_release(self.block)

    def room(self, Py_ssize_t size):
        """A writable memoryview of exactly `size` bytes after what is written already."""
        cdef WritableSpan span
        if size < 0:
            raise ValueError("room for a negative number of bytes")
        if <Py_ssize_t>self.block.capacity - self.size < size:
            self._grow(size)
        span = WritableSpan.__new__(WritableSpan)
        kw_block_retain(self.block)
        span.block = self.block
        span.data = kw_block_data(self.block) + self.size
        span.size = size
        return memoryview(span)

    def advance(self, Py_ssize_t count):
        """`count` bytes of the room are written."""
        if count < 0 or count > <Py_ssize_t>self.block.capacity - self.size:
            raise ValueError("more bytes than there was room for")
        self.size += count

    def write(self, data):
        """Appends a copy of `data`."""
        cdef Buffer source = pin(data)
        self.append(source.data, <size_t>source.size)

    cdef int append(self, const uint8_t *data, size_t size) except -1:
        if self.block.capacity - <size_t>self.size < size:
            self._grow(<Py_ssize_t>size)
        memcpy(kw_block_data(self.block) + self.size, data, size)
        self.size += <Py_ssize_t>size
        return 0

    def finish(self):
        """Returns what was written as a Buffer; moved to a smaller block when half of this one would stay empty."""
        cdef kw_block *fitting
        if <size_t>self.size < self.block.capacity // 2 and self.block.capacity > MIN_TRIMMED:
            fitting = kw_block_new(<size_t>self.size)
            if fitting != NULL:
                memcpy(kw_block_data(fitting), kw_block_data(self.block), self.size)
                kw_block_release(self.block)
                self.block = fitting
        return buffer_of_block(self.block, kw_block_data(self.block), self.size)

    cdef int _grow(self, Py_ssize_t more) except -1:
        cdef size_t wanted = max(<size_t>self.size + <size_t>more, 2 * self.block.capacity)
        cdef kw_block *larger = kw_block_new(wanted)
        if larger == NULL:
            raise _errors.LimitError(f"out of memory for {wanted} decompressed bytes")
        memcpy(kw_block_data(larger), kw_block_data(self.block), self.size)
        kw_block_release(self.block)
        self.block = larger
        return 0


cdef size_t MIN_TRIMMED = 1024
