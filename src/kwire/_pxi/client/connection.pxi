# Requests on a byte stream: the compiled half of engine/connections/connection.py. No I/O, no clock; knows no message.
#
#   frame      size int32, then for a response: correlation id int32, the rest of the header, the message
# Source: the protocol guide ("Network"): a broker answers the requests of one connection in their order and repeats the
# correlation id of each. A Produce request with acks 0 is not answered.

CONNECT = "connect"                       # to the driver: open a socket for the connection
WRITE = "write"                           # to the driver: there are bytes to write
WARN = "warn"                             # to the driver: a text for the log, in place of a connection
CLOSE = "close"                           # to the driver: close the socket, report nothing more about the connection

cdef enum:
    BUFFERS_PER_WRITE = 64

cdef extern from "<sys/uio.h>" nogil:
    cdef struct iovec:
        void *iov_base
        size_t iov_len

cdef extern from "Python.h":
    Py_buffer *PyMemoryView_GET_BUFFER(object view) noexcept


@cython.nonecheck(True)
cdef class ConnectionBase:
    """The two directions of one connection: the base of the engine's Connection.

    `who` names the other end in errors. While it is not `open` there is nothing to write. Requests are encoded by
    `plans` with `header`, and `events` tells the driver that there is something to write.
    """

    cdef public bint open
    cdef public bint wants_write          # the driver was told that there is something to write
    cdef readonly object who
    cdef readonly FrameReceiver receiver
    cdef readonly object in_flight        # deque of Requests that will be answered, oldest first
    cdef readonly int32_t correlation_id  # of the next request
    cdef readonly double received_at      # when bytes last came
    cdef double frame_began_at            # when the first bytes came of the frame that is not whole yet
    cdef readonly Traffic traffic
    cdef object unanswered                # deque of Requests without an answer whose bytes are not all written
    cdef object out                       # deque of buffers of bytes, none empty: bytes, Buffer or memoryview
    cdef object header
    cdef PlanTable plans
    cdef object events
    cdef int64_t written
    cdef int64_t written_goal

    def __init__(self, who, Py_ssize_t max_frame, header=None, PlanTable plans=None, events=None,
                 Traffic traffic=None):
        self.who = who
        self.header = header
        self.plans = plans
        self.events = events
        self.traffic = Traffic() if traffic is None else traffic
        self.receiver = FrameReceiver(max_frame)
        self.in_flight = _deque()
        self.unanswered = _deque()
        self.out = _deque()

    cpdef write_request(self, Request request, int version, double now):
        """Encodes `request` at `version`, queues its bytes and tells the driver to write.

        Raises CodecError if it cannot be encoded so.
        """
        cdef object message = request.message(version)
        cdef object header = self.header
        cdef tuple plans = self.plans.of(request.api_key, version)
        cdef list parts
        header.request_api_key = request.api_key
        header.request_api_version = version
        header.correlation_id = self.correlation_id
        parts = request.encode(<Plan>plans[0], header, <Plan>plans[1], message)
        if ConnectionBase.write(self, request, version, parts, now):
            self.events.append((WRITE, self))

    def write_token(self, Request request not None, bytes token not None, double now):
        """Queues `token` as a frame without a header, and tells the driver to write."""
        cdef int32_t size = <int32_t>kw_be32(<uint32_t>len(token))
        if self.write(request, 0, [PyBytes_FromStringAndSize(<char *>&size, 4) + token], now):
            self.events.append((WRITE, self))

    cpdef bint write(self, Request request, int version, list parts, double now) except -1:
        """Queues the bytes of a request. Returns whether there were none before, so that the driver has to be told."""
        cdef bint news
        for part in parts:
            if not PyBytes_Check(part) and type(part) is not Buffer:
                part = memoryview(part).cast("B")
            if len(part):
                self.out.append(part)
                self.written_goal += len(part)
        self.traffic.note_request(request.api_key)
        request.version = version
        request.sent_at = now
        request.asked = self.who
        request.correlation_id = self.correlation_id
        self.correlation_id = (self.correlation_id + 1) & 0x7FFFFFFF
        if request.expect_response:
            self.in_flight.append(request)
        else:
            request.written_at = self.written_goal
            self.unanswered.append(request)
        news = not self.wants_write
        self.wants_write = True
        return news

    def data_to_send(self):
        """Returns the bytes to write next, as a gather list; `sent` takes them off."""
        if not self.open:
            return []
        if len(self.out) <= BUFFERS_PER_WRITE:
            return list(self.out)
        return [self.out[index] for index in range(BUFFERS_PER_WRITE)]

    cdef int gather(self, iovec *spans) except -1:
        """The same as places in memory; returns how many, BUFFERS_PER_WRITE at most. Valid until `sent`."""
        cdef int count = 0
        if not self.open:
            return 0
        for part in self.out:
            if count == BUFFERS_PER_WRITE:
                break
            if PyBytes_Check(part):
                spans[count].iov_base = PyBytes_AS_STRING(part)
                spans[count].iov_len = <size_t>len(<bytes>part)
            elif type(part) is Buffer:
                spans[count].iov_base = <void *>(<Buffer>part).data
                spans[count].iov_len = <size_t>(<Buffer>part).size
            else:
                spans[count].iov_base = PyMemoryView_GET_BUFFER(part).buf
                spans[count].iov_len = <size_t>PyMemoryView_GET_BUFFER(part).len
            count += 1
        return count

    cpdef sent(self, Py_ssize_t count, double now):
        """`count` of those bytes were written: a request without an answer is done once its last byte is."""
        cdef Py_ssize_t size
        cdef Request request
        if not self.open:
            return
        self.written += count
        self.traffic.bytes_out += count
        while count > 0:
            first = self.out[0]
            size = len(first)
            if count < size:
                self.out[0] = memoryview(first)[count:]
                break
            self.out.popleft()
            count -= size
        self.wants_write = len(self.out) > 0
        while self.unanswered:
            request = <Request>self.unanswered[0]
            if request.written_at > self.written:
                break
            self.unanswered.popleft()
            request.answer(None, now)

    @property
    def unwritten(self):
        """The oldest request without an answer whose bytes are not all written; None if there is none."""
        return self.unanswered[0] if self.unanswered else None

    cpdef Request take_answer(self, Buffer frame):
        """Returns the request that `frame` answers; raises FrameError if that is not the oldest in flight."""
        cdef Request request
        cdef int32_t found
        if self.in_flight and (<Request>self.in_flight[0]).headless:
            return <Request>self.in_flight.popleft()
        if frame.size < 4:
            raise _errors.FrameError(f"{self.who} sent a frame of {frame.size} bytes, too short for a correlation id")
        found = <int32_t>load_u32(frame.data)
        if not self.in_flight:
            raise _errors.FrameError(f"{self.who} sent an answer (correlation id {found}) that no request asked for")
        request = <Request>self.in_flight[0]
        if found != request.correlation_id:
            raise _errors.FrameError(f"{self.who} answered with correlation id {found} where {request.correlation_id} "
                                     "was due")
        self.in_flight.popleft()
        return request

    def drop_requests(self):
        """Takes all requests in flight off the connection, oldest first; the caller has to fail them."""
        cdef list requests = [*self.in_flight, *self.unanswered]
        self.in_flight.clear()
        self.unanswered.clear()
        self.out.clear()
        return requests
