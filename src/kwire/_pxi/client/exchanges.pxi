# Requests on a byte stream: what is to be written, what is waited for, and which answer belongs to which request.
#
#   frame      size int32, then for an answer: correlation id int32, the rest of the header, the message
# Source: the protocol guide ("Network"): a broker answers the requests of one connection in their order and repeats the
# correlation id of each. A Produce request with acks 0 is not answered at all.
#
# Needs: framing.pxi, blocks.pxi, delivery.pxi, wires.h (the layout of a gather write). Gives: Request, Channel.
# No I/O and no clock, and neither knows what a message means.

CONNECT = "connect"                       # to the driver: open a socket for the connection
WRITE = "write"                           # to the driver: there are bytes to write
CLOSE = "close"                           # to the driver: close the socket, say no more about this connection

cdef enum:
    BUFFERS_PER_WRITE = 64

cdef extern from "wires.h" nogil:
    cdef struct iovec:
        void *iov_base
        size_t iov_len

cdef extern from "Python.h":
    Py_buffer *PyMemoryView_GET_BUFFER(object view) noexcept


def _ignore_response(message, version, now):
    """Stands where the callback of a request that has ended was, so that what it held is freed."""


def _ignore_error(error, now):
    """Stands where the callback of a request that has ended was, so that what it held is freed."""


@cython.nonecheck(True)
cdef class Request:
    """A request under way, from the moment it is handed over until its answer or its error.

    `build` is the message or a callable that makes it for a version. on_response(message, version, now) or
    on_error(error, now) is called once. A `raw` request is answered with the frame itself (a Buffer that begins with the
    correlation id), not a message. `on_end(request)` is told once that the request needs no more care. `timeout` is in
    seconds.
    """

    cdef readonly int target
    cdef readonly int api_key
    cdef readonly int oldest              # the versions that will do
    cdef readonly int newest
    cdef readonly bint expect_response
    cdef readonly bint long_poll          # the broker may hold the answer back for long
    cdef readonly bint raw
    cdef readonly bint done
    cdef readonly double timeout
    cdef readonly double sent_at
    cdef readonly int version             # at which it was written; -1 before
    cdef dict why_not
    cdef public object deadline_timer     # has cancel(); None without a deadline
    cdef int32_t correlation_id
    cdef int64_t written_at               # place in the stream behind its last byte, where nobody answers
    cdef object build
    cdef object on_response
    cdef object on_error
    cdef object on_end

    def __init__(self, int target, int api_key, build, on_response, on_error, *, versions, bint expect_response=True,
                 bint long_poll=False, double timeout, bint raw=False, on_end=None):
        self.target = target
        self.api_key = api_key
        self.build = build
        self.on_response = on_response
        self.on_error = on_error
        self.oldest = versions[0]
        self.newest = versions[-1]
        self.expect_response = expect_response
        self.long_poll = long_poll
        self.timeout = timeout
        self.raw = raw
        self.on_end = on_end
        self.version = -1

    @property
    def tried(self):
        """address -> why it failed there, while any broker would do."""
        if self.why_not is None:
            self.why_not = {}
        return self.why_not

    cdef object message(self, int version):
        """The message to send at `version`."""
        return self.build(version) if callable(self.build) else self.build

    cdef int _begin(self, int target, int api_key, int newest, double timeout) except -1:
        """For subclasses, in place of the constructor: whatever version up to `newest` will do."""
        self.target = target
        self.api_key = api_key
        self.newest = newest
        self.timeout = timeout
        self.version = -1
        self.expect_response = True
        return 0

    def cancel(self):
        """Neither callback will run; an answer that still comes is thrown away."""
        self._finish()

    cpdef answer(self, message, double now):
        """Ends the request with its answer, unless it has ended."""
        cdef object on_response = self.on_response
        if not self.done:
            self._finish()
            on_response(message, self.version, now)

    cpdef fail(self, error, double now):
        """Ends the request with an error, unless it has ended."""
        cdef object on_error = self.on_error
        if not self.done:
            self._finish()
            on_error(error, now)

    cdef int _finish(self) except -1:
        cdef object timer = self.deadline_timer
        cdef object on_end = self.on_end
        self.done = True
        self.deadline_timer = self.on_end = self.build = None
        self.on_response = _ignore_response
        self.on_error = _ignore_error
        if timer is not None:
            timer.cancel()
        if on_end is not None:
            on_end(self)
        return 0


@cython.nonecheck(True)
cdef class Channel:
    """The two directions of one connection: the base of the engine's Connection.

    `who` names the other end in errors. While it is not `open` there is nothing to write. Requests are written by
    `plans` under `header`, and `events` is where the driver is told that there is something to write.
    """

    cdef public bint open
    cdef public bint wants_write          # the driver was told that there is something to write
    cdef readonly object who
    cdef readonly FrameReceiver receiver
    cdef readonly object in_flight        # deque of Requests that will be answered, oldest first
    cdef readonly int32_t correlation_id  # of the next request
    cdef object unanswered                # deque of Requests with bytes still to write that nobody answers
    cdef object out                       # deque of buffers of bytes, none empty: bytes, Buffer or memoryview
    cdef object header
    cdef PlanTable plans
    cdef object events
    cdef int64_t written
    cdef int64_t written_goal

    def __init__(self, who, Py_ssize_t max_frame, header=None, PlanTable plans=None, events=None):
        self.who = who
        self.header = header
        self.plans = plans
        self.events = events
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
        header.request_api_key = request.api_key
        header.request_api_version = version
        header.correlation_id = self.correlation_id
        if self.write(request, version, encode_frame_parts(<Plan>plans[0], header, <Plan>plans[1], message), now):
            self.events.append((WRITE, self))

    cdef bint ends_in_long_poll(self) except -1:
        """Whether the request sent last may be held back by the broker, and with it all behind it."""
        return len(self.in_flight) > 0 and (<Request>self.in_flight[len(self.in_flight) - 1]).long_poll

    cpdef bint write(self, Request request, int version, list parts, double now) except -1:
        """Queues the bytes of a request: whether there were none before, so that the driver is to be told."""
        cdef bint news
        for part in parts:
            if not PyBytes_Check(part) and type(part) is not Buffer:
                part = memoryview(part).cast("B")
            if len(part):
                self.out.append(part)
                self.written_goal += len(part)
        request.version = version
        request.sent_at = now
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
        """The bytes to write next, as a gather list; what was written is told by `sent`."""
        if not self.open:
            return []
        if len(self.out) <= BUFFERS_PER_WRITE:
            return list(self.out)
        return [self.out[index] for index in range(BUFFERS_PER_WRITE)]

    cdef int gather(self, iovec *spans) except -1:
        """The same as places in memory, at most BUFFERS_PER_WRITE of them: how many. Valid until `sent`."""
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
        """`count` of those bytes were written: requests that nobody answers are done once their last byte is."""
        cdef Py_ssize_t size
        cdef Request request
        if not self.open:
            return
        self.written += count
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
        """The oldest request that nobody answers and whose bytes are not all written; None if there is none."""
        return self.unanswered[0] if self.unanswered else None

    cpdef Request take_answer(self, Buffer frame):
        """The request that `frame` answers; raises FrameError if it is not the oldest one under way."""
        cdef Request request
        cdef int32_t found
        if frame.size < 4:
            raise _errors.FrameError(f"{self.who} sent a frame of {frame.size} bytes, too short for a correlation id")
        found = <int32_t>load_u32(frame.data)
        if not self.in_flight:
            raise _errors.FrameError(f"{self.who} sent an answer (correlation id {found}) that nobody asked for")
        request = <Request>self.in_flight[0]
        if found != request.correlation_id:
            raise _errors.FrameError(f"{self.who} answered with correlation id {found} where {request.correlation_id} "
                                     "was due")
        self.in_flight.popleft()
        return request

    def drop_requests(self):
        """All requests under way, oldest first, taken off the connection: for whoever has to fail them."""
        cdef list requests = [*self.in_flight, *self.unanswered]
        self.in_flight.clear()
        self.unanswered.clear()
        self.out.clear()
        return requests
