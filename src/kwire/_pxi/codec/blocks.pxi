# Where kwire's own bytes live: received frames, decompressed batches, columns.
#
# A block holds no Python object and may be released by any thread without the GIL. A borrowed buffer is pinned
# by a foreign block; when its last reference goes, its release waits for the next call that holds the GIL. A Buffer is
# the Python handle: as long as it, or a memoryview of it, is held, the bytes stay valid whatever the client does next.

from cpython.bytes cimport _PyBytes_Resize

cdef extern from "blocks.h" nogil:
    kw_block *kw_block_new(size_t size)
    void kw_block_retain(kw_block *block)
    void kw_block_release(kw_block *block)
    long kw_block_references(kw_block *block)
    bint kw_block_is_foreign(const kw_block *block)
    bint KW_EXACT_BLOCKS
    void kw_keep_end_of_heap()
    void kw_foreign_init(kw_block *block, void *data, size_t capacity)
    bint kw_foreign_waits()
    kw_block *kw_foreign_take()
    int kw_pool_install_fork_handler()
    void kw_pool_let_age()
    void kw_pool_measure(size_t *live, long *live_blocks, size_t *pooled)

if kw_pool_install_fork_handler() != 0:
    raise MemoryError("no memory for the fork handler of the block pool")


ctypedef struct foreign_t:        # a buffer that an object lent
    kw_block block                # first: a pointer to one is a pointer to the other
    Py_buffer view


cdef foreign_t *borrow(object data) except NULL:
    """Borrows the bytes of `data` until the last reference to the block is gone; TypeError without any."""
    cdef foreign_t *made = <foreign_t *>PyMem_Malloc(sizeof(foreign_t))
    if made == NULL:
        raise _errors.LimitError("out of memory for a buffer")
    try:
        PyObject_GetBuffer(data, &made.view, PyBUF_SIMPLE)
    except BufferError as cause:
        PyMem_Free(made)
        raise TypeError(f"contiguous bytes are needed, and this {type(data).__name__} has none: {cause}") from None
    except BaseException:
        PyMem_Free(made)
        raise
    kw_foreign_init(&made.block, made.view.buf, <size_t>made.view.len)
    return made


cdef bint _is_giving_back = False


cdef void give_back_borrowed() noexcept:
    """Releases the buffers whose blocks are free again, perhaps by threads without the GIL.

    That may let go of further ones, which may be nested as deep as a caller likes: they are left to the loop here.
    """
    global _is_giving_back
    cdef kw_block *block
    cdef kw_block *after
    if _is_giving_back:
        return
    _is_giving_back = True
    block = kw_foreign_take()
    while block != NULL:
        after = block.next_free
        _give_back(block)
        block = after if after != NULL else kw_foreign_take()
    _is_giving_back = False


cdef inline void _give_back(kw_block *block) noexcept:
    PyBuffer_Release(&(<foreign_t *>block).view)
    PyMem_Free(block)


cdef kw_block *new_block(size_t size) noexcept nogil:
    return kw_block_new(size)


cdef void release_block(kw_block *block) noexcept nogil:
    kw_block_release(block)


cdef enum:
    LARGE_BYTES = 65536        # bytes objects of which a few are more than glibc keeps free
    BLOCK_OVERHEAD = 128       # bytes of a block beside its content: its head, the allocator's, what holds a foreign one


cdef kw_block *block_of_new_bytes(size_t size):
    """A block that lies in a bytes object without other references yet; NULL when there is no memory for it."""
    if size >= LARGE_BYTES:
        kw_keep_end_of_heap()
    try:
        return &borrow(PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)).block
    except (MemoryError, _errors.LimitError):
        return NULL


cdef object bytes_of_block(kw_block *block, Py_ssize_t size):
    """The bytes object of `block_of_new_bytes`, cut to `size`. The caller has the only reference and loses it."""
    cdef PyObject *made = <PyObject *>(<foreign_t *>block).view.obj
    Py_INCREF(<object>made)
    _give_back(block)
    _PyBytes_Resize(&made, size)
    finished = <object>made
    Py_XDECREF(made)
    return finished


def pool_statistics():
    """Bytes and blocks of the pool: {"live_bytes", "live_blocks", "pooled_bytes"}. For tests and tools."""
    cdef size_t live
    cdef long live_blocks
    cdef size_t pooled
    give_back_borrowed()
    kw_pool_measure(&live, &live_blocks, &pooled)
    return {"live_bytes": live, "live_blocks": live_blocks, "pooled_bytes": pooled}


def let_pool_age():
    """What the pool does by itself now and then: gives a part of the blocks back that nobody asked for since. For tests."""
    kw_pool_let_age()


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class Hold:
    """One reference to a block, given back when this object goes. Buffers of the same bytes share it."""

    cdef kw_block *block

    def __dealloc__(self):
        kw_block_release(self.block)
        if kw_foreign_waits():
            give_back_borrowed()


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Buffer:
    """Bytes that stay valid as long as this object lives: a span of a block, or of a foreign buffer that is pinned.

    Supports the buffer protocol (read-only), `len()`, `bytes()` and slicing (a Buffer of the same bytes, no copy).
    """

    # A fetch makes one Buffer per partition: hence neither __cinit__ nor __dealloc__, and no atomic count for each.
    cdef Hold hold
    cdef kw_block *block             # that of `hold`
    cdef const uint8_t *data
    cdef Py_ssize_t size

    def __init__(self):
        raise TypeError("Buffers are made by kwire; hand any bytes-like object to the functions that take one")

    def __len__(self):
        return self.size

    def __bytes__(self):
        return PyBytes_FromStringAndSize(<const char *>self.data, self.size)

    def __getitem__(self, item):
        cdef Py_ssize_t start, stop, step
        if not isinstance(item, slice):
            return memoryview(self)[item]
        start, stop, step = item.indices(self.size)
        if step != 1:
            raise ValueError("a Buffer is cut in steps of one")
        return buffer_slice(self, start, max(stop - start, 0))

    def __eq__(self, other):
        try:
            return memoryview(self) == memoryview(other)
        except TypeError:
            return NotImplemented

    __hash__ = None

    def __repr__(self):
        return f"<kwire Buffer of {self.size} bytes>"

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <void *>self.data, self.size, 1, flags)

    def __releasebuffer__(self, Py_buffer *view):
        pass


cdef inline Buffer _buffer_on(Hold hold, kw_block *block, const uint8_t *data, Py_ssize_t size):
    cdef Buffer made = Buffer.__new__(Buffer)
    made.hold = hold
    made.block = block
    made.data = data
    made.size = size
    return made


cdef Buffer buffer_of_block(kw_block *block, const uint8_t *data, Py_ssize_t size):
    """A Buffer that takes one more reference to `block`."""
    cdef Hold hold = Hold.__new__(Hold)
    kw_block_retain(block)
    hold.block = block
    return _buffer_on(hold, block, data, size)


cdef Buffer buffer_slice(Buffer whole, Py_ssize_t start, Py_ssize_t size):
    return _buffer_on(whole.hold, whole.block, whole.data + start, size)


cdef Buffer pin(object data):
    """Any contiguous bytes-like object as a Buffer, without a copy; a Buffer is given back as it is."""
    cdef Hold hold
    cdef foreign_t *foreign
    if type(data) is Buffer:
        return exact(<Buffer>data)
    if kw_foreign_waits():
        give_back_borrowed()
    hold = Hold.__new__(Hold)
    foreign = borrow(data)
    hold.block = &foreign.block
    return exact(_buffer_on(hold, hold.block, <const uint8_t *>foreign.view.buf, foreign.view.len))


cdef inline Buffer exact(Buffer data):
    """`data` itself; in a build with exact blocks a copy that ends where its block ends, unless the bytes may change."""
    if not KW_EXACT_BLOCKS or data.block == NULL or may_change(data):
        return data
    return copied(data)


cdef Buffer copied(Buffer data):
    """A copy in a block of its own."""
    cdef kw_block *block = kw_block_new(<size_t>data.size)
    if block == NULL:
        raise _errors.LimitError(f"out of memory for a copy of {data.size} bytes")
    memcpy(kw_block_data(block), data.data, <size_t>data.size)
    try:
        return buffer_of_block(block, kw_block_data(block), data.size)
    finally:
        kw_block_release(block)


cdef inline bint may_change(Buffer buffer):
    """Whether the owner of the bytes may write to them."""
    return buffer.block != NULL and kw_block_is_foreign(buffer.block) and not (<foreign_t *>buffer.block).view.readonly
