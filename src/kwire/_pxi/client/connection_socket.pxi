# A connection's socket, for both drivers, and how many bytes are worth a wake-up.
#
# A broker with TLS writes a large answer one record of at most 16 KiB after the other, each as soon as it is encrypted.
# A driver that is woken by each spends more on waking than on reading, and an answer is of no use before it is whole. So
# while a frame is due, the socket's low-water mark (SO_RCVLOWAT) is what must still come for it, AWAITED_AT_ONCE at most.
#
#   what must still come     the frame's missing bytes; without those of one record where the TLS library waits for the
#                            rest of one. Ciphertext is longer than plaintext, so what is missing comes as more bytes
#                            than the mark, however it is cut into records
#   what is worth a mark     more than WORTH_WAITING bytes, and then all the rest of the frame: a broker writes the heads
#                            of its last partitions as records of their own
#   what comes otherwise     an end or an error wakes at once, whatever the mark; a full receive buffer too. A broker that
#                            stops in the middle of a frame, for an answer of ours in TLS or because it is slow, leaves
#                            less than the mark: after LOOKED_AT_AFTER_S what is there is read
#   without TLS              a broker writes as much as the socket takes, and a mark saves nothing
#   no mark                  is set elsewhere than on Linux 4.18 and later: sockets.h says why

cdef extern from "sockets.h" nogil:
    bint kw_marks_wake()
    void kw_low_water(int fd, int bytes)

cdef enum:
    WORTH_WAITING = 32768
    AWAITED_AT_ONCE = 1048576

cdef double LOOKED_AT_AFTER_S = 0.02
cdef bint MARKS_WAKE = kw_marks_wake()


@cython.nonecheck(True)
cdef class ConnectionSocket:
    """A connection and the number of its socket (-1: it has none)."""

    cdef readonly ConnectionBase connection
    cdef public int fd
    cdef public bint plain                # bytes go between the socket and the core as they are
    cdef int low_water
    cdef bint timed                       # `_look` is due

    def __init__(self, ConnectionBase connection not None):
        self.connection = connection
        self.fd = -1
        self.plain = True
        self.low_water = 1

    cpdef int await_frame(self, CoreBase core, bint cut, double now) except -1:
        """After what came over TLS was handed on: the socket is ready when what must still come is there.

        `cut`: the TLS library may have a part of a record.
        """
        cdef Py_ssize_t due
        if not MARKS_WAKE or self.fd < 0 or not self.connection.open:
            return 0
        due = self.connection.receiver.missing() - (LARGEST_RECORD if cut else 0)
        self._set_low_water(<int>min(due, AWAITED_AT_ONCE) if due > (0 if self.timed else WORTH_WAITING) else 1)
        if self.low_water > 1 and not self.timed:
            self.timed = True
            core.call_at(now + LOOKED_AT_AFTER_S, self._look)
        return 0

    def _look(self, double now):
        """What is there is read, however little."""
        self.timed = False
        if self.fd >= 0:
            self._set_low_water(1)

    cdef void _set_low_water(self, int bytes) noexcept:
        if bytes != self.low_water:
            self.low_water = bytes
            kw_low_water(self.fd, bytes)
