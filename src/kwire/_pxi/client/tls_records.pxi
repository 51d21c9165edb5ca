# What a TLS library decrypts, into one place: the loop over TLS's records, each of which takes a call. No I/O.
#
#   record     at most 16 KiB of plaintext. Kafka cuts 32 KiB into three: 16367, 16367 and 34 bytes
# Source: RFC 8446, section 5.1; what Kafka 4.4 sends.

cdef enum:
    LARGEST_RECORD = 16384

cdef object READ_AT_ONCE = LARGEST_RECORD


@cython.final
cdef class TlsRecords:
    """Reads by `read`, of an SSLObject, what lies in its MemoryBIO `incoming`.

    It is the buffer into which `read` is to decrypt: what is left of the room, while `read_into` runs.
    """

    cdef readonly Py_ssize_t count        # bytes that the last `read_into` brought, also where it raised
    cdef object read
    cdef object incoming
    cdef uint8_t *rest
    cdef Py_ssize_t left

    def __cinit__(self):
        self.rest = NULL
        self.left = 0

    def __init__(self, read, incoming):
        self.read = read
        self.incoming = incoming

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.rest, self.left, 0, flags)

    def __releasebuffer__(self, Py_buffer *view):
        pass

    def read_into(self, room):
        """Decrypts into `room` what is there and fits; returns whether the other side has ended TLS.

        Raises what `read` raises: an SSLWantReadError where what is there ends with a part of a record.
        """
        cdef Py_buffer whole
        cdef Py_ssize_t taken
        self.count = 0
        PyObject_GetBuffer(room, &whole, PyBUF_WRITABLE)
        self.rest = <uint8_t *>whole.buf
        self.left = whole.len
        try:
            while self.left > 0:
                taken = self.read(READ_AT_ONCE, self)
                if taken <= 0:
                    return True
                self.rest += taken
                self.left -= taken
                self.count += taken
                if not self.incoming.pending:
                    break
        finally:
            self.rest = NULL
            self.left = 0
            PyBuffer_Release(&whole)
        return False
