# Frames from a stream of received bytes, without a copy where the bytes allow it.
#
#   frame = size int32 (not counting itself), then `size` bytes
# Source: the protocol guide ("RequestOrResponse"); the same in every generation from 0.7 on.
#
# The caller receives straight into a block (`buffer`), reports how much came (`received`), and gets Buffers that share
# the block. Small frames share a 256 KiB chunk. A frame that does not fit into what is left moves to a block of its
# size; as the next one is expected to be like it, that one is received into such a block from its first byte on, and
# nothing moves. Sizes of blocks are powers of two up to 16 MiB, so that the pool has one that was used before, whose
# memory the system need not make first; or a quarter more, since of a power of two a fetch asks, and its response has a
# head as well. A block that nothing else holds any more is filled again from its start.

cdef Py_ssize_t CHUNK_SIZE = 256 * 1024
cdef Py_ssize_t MAX_ROUNDED = 16 * 1024 * 1024
cdef Py_ssize_t MIN_ROOM = 16 * 1024

cdef enum:
    TLS_ALERT = 21
    TLS_HANDSHAKE = 22
    HTTP = 0x48545450         # how an answer begins, read as a size


@cython.final
cdef class FrameReceiver:
    """Cuts a byte stream into frames.

    `max_frame` is the greatest frame size in bytes that is believed; a larger or negative one raises FrameError before
    anything is allocated for it, and the stream is of no use any more.
    """

    cdef kw_block *block
    cdef Py_ssize_t begin         # where the first byte not yet handed out lies in the block
    cdef Py_ssize_t filled        # where the received bytes end
    cdef Py_ssize_t usual         # a block so large would have been right for the last frames
    cdef readonly Py_ssize_t max_frame
    cdef readonly object fault    # the FrameError that what follows the frames given so far deserves, or None

    def __cinit__(self, Py_ssize_t max_frame=104857600 * 2):
        self.block = NULL
        self.begin = 0
        self.filled = 0
        self.usual = CHUNK_SIZE
        self.max_frame = max_frame

    def __dealloc__(self):
        kw_block_release(self.block)

    @property
    def pending(self):
        """How many received bytes wait for the rest of their frame."""
        return self.filled - self.begin

    @property
    def looks_like_tls(self):
        """Whether the bytes that wait begin as TLS does: the record of an alert or of a handshake message."""
        cdef uint8_t *data
        if self.filled - self.begin < 3:
            return False
        data = kw_block_data(self.block) + self.begin
        return (data[0] == TLS_ALERT or data[0] == TLS_HANDSHAKE) and data[1] == 3 and data[2] <= 4

    def buffer(self, Py_ssize_t hint=-1):
        """A writable memoryview to receive into, of at least min(hint, what the current frame still needs) bytes."""
        cdef WritableSpan span = WritableSpan.__new__(WritableSpan)
        span.size = self.room(&span.data, MIN_ROOM if hint < 0 else min(MIN_ROOM, hint))
        kw_block_retain(self.block)
        span.block = self.block
        return memoryview(span)

    cdef Py_ssize_t room(self, uint8_t **data, Py_ssize_t min_size) except -1:
        """The same as a place in memory: its size. Valid until `received`.

        At least `min_size` bytes, but what the current frame still needs if its size is known.
        """
        cdef Py_ssize_t need = self._frame_need()
        # A frame whose size is known stays where it fits: to move it for more room would cost its size each time.
        cdef Py_ssize_t wanted = need if self.filled - self.begin >= 4 else max(need, min_size)
        if self.block != NULL and self.filled == self.begin:
            self._begin_anew()
        if self.block == NULL or <Py_ssize_t>self.block.capacity - self.filled < wanted:
            self._move_to_new_block(need)
        data[0] = kw_block_data(self.block) + self.filled
        return <Py_ssize_t>self.block.capacity - self.filled

    cpdef list received(self, Py_ssize_t count):
        """`count` bytes came in: returns the list of frames (Buffers, without their size field) that are now whole.

        Frames that precede a size that cannot be are given; then `fault` is set, and the next call raises it.
        """
        cdef list frames = []
        cdef uint8_t *data
        cdef Py_ssize_t size
        if count < 0 or self.block == NULL or count > <Py_ssize_t>self.block.capacity - self.filled:
            raise ValueError(f"{count} bytes cannot have been received into the buffer given out")
        self.filled += count
        data = kw_block_data(self.block)
        while self.filled - self.begin >= 4:
            try:
                size = self._frame_size()
            except _errors.FrameError as error:
                self.fault = error
                if frames:
                    break
                raise
            if self.filled - self.begin - 4 < size:
                break
            frames.append(exact(buffer_of_block(self.block, data + self.begin + 4, size)))
            self.begin += 4 + size
            self.usual = max(_block_size(4 + size), self.usual // 2)
        return frames

    cdef bint expects_more_than(self, Py_ssize_t size) except -1:
        """Whether the current frame needs more than so many bytes still, or frames beyond a chunk are usual."""
        return self.usual > CHUNK_SIZE or self._frame_need() > size

    cdef Py_ssize_t missing(self) except -1:
        """How many bytes the current frame still needs; 0 while its size is not known."""
        return self._frame_need() if self.filled - self.begin >= 4 else 0

    def feed(self, data):
        """Copies `data` in and returns the frames that are now whole: for transports that own their buffers."""
        cdef Buffer source = pin(data)
        cdef Py_ssize_t taken = 0
        cdef Py_ssize_t room
        frames = []
        while taken < source.size:
            if frames and self.fault is not None:
                break
            self.buffer()
            room = min(<Py_ssize_t>self.block.capacity - self.filled, source.size - taken)
            memcpy(kw_block_data(self.block) + self.filled, source.data + taken, room)
            frames.extend(self.received(room))
            taken += room
        return frames

    cdef Py_ssize_t _frame_size(self) except -1:
        cdef int32_t size = <int32_t>load_u32(kw_block_data(self.block) + self.begin)
        if size < 0:
            raise _errors.FrameError(f"a frame claims a length of {size} bytes: this is not the Kafka protocol, "
                                     "or the listener expects TLS")
        if size > self.max_frame and size == HTTP:
            raise _errors.FrameError("the bytes are those of HTTP: a web server answers at this port, not a Kafka broker")
        if size > self.max_frame:
            raise _errors.FrameError(f"a frame claims {size} bytes, more than the limit of {self.max_frame}: "
                                     "this is not the Kafka protocol, or the limit is too low")
        return size

    cdef Py_ssize_t _frame_need(self) except -1:
        """How many more bytes the current frame needs, as far as its size is known."""
        cdef Py_ssize_t have = self.filled - self.begin
        if self.block == NULL or have == 0:
            return 4
        if have < 4:
            return 4 - have
        return max(4 + self._frame_size() - have, 1)  # less, if its size was written over after it was received

    cdef void _begin_anew(self) noexcept:
        """No byte of the next frame is there: it may go to another place."""
        cdef Py_ssize_t capacity = <Py_ssize_t>self.block.capacity
        if kw_block_references(self.block) == 1 and self.usual <= capacity <= 4 * self.usual:
            self.begin = self.filled = 0
        elif max(capacity, self.usual) > CHUNK_SIZE:
            kw_block_release(self.block)
            self.block = NULL
            self.begin = self.filled = 0

    cdef int _move_to_new_block(self, Py_ssize_t need) except -1:
        cdef Py_ssize_t have = self.filled - self.begin
        cdef kw_block *fresh
        fresh = kw_block_new(<size_t>max(self.usual, _block_size(have + need)))
        if fresh == NULL:
            raise _errors.LimitError(f"out of memory for a frame of {have + need} bytes")
        if have:
            memcpy(kw_block_data(fresh), kw_block_data(self.block) + self.begin, have)
        kw_block_release(self.block)
        self.block = fresh
        self.begin = 0
        self.filled = have
        return 0


cdef Py_ssize_t _block_size(Py_ssize_t needed) noexcept:
    cdef Py_ssize_t size = CHUNK_SIZE
    if needed > MAX_ROUNDED:
        return needed
    while size + size // 4 < needed:
        size *= 2
    return size if needed <= size else size + size // 4


@cython.final
cdef class WritableSpan:
    """The room that a FrameReceiver hands out to be received into."""

    cdef kw_block *block
    cdef uint8_t *data
    cdef Py_ssize_t size

    def __cinit__(self):
        self.block = NULL

    def __dealloc__(self):
        kw_block_release(self.block)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, 0, flags)

    def __releasebuffer__(self, Py_buffer *view):
        pass
