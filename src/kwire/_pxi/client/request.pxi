# A request in flight: what is sent, and the callbacks for its response or its error. No I/O, no clock.

cdef enum:
    CORRELATION_BYTES = 4


def _ignore_response(message, version, now):
    """Replaces the callback of a request that has ended, so that what it held is freed."""


def _ignore_error(error, now):
    """Replaces the callback of a request that has ended, so that what it held is freed."""


@cython.final
cdef class KnownAnswer:
    """The last answer to requests that are alike: where the next has the same bytes, but for the correlation id, it is
    the same message, which nobody may change.
    """

    cdef object message
    cdef bytes frame                      # without the correlation id
    cdef int version

    cdef object found(self, Buffer frame, int version):
        """The message, if these are its bytes; else None."""
        if self.frame is None or self.version != version or len(self.frame) != frame.size - CORRELATION_BYTES:
            return None
        if memcmp(frame.data + CORRELATION_BYTES, PyBytes_AS_STRING(self.frame), <size_t>len(self.frame)) != 0:
            return None
        return self.message

    cdef int keep(self, Buffer frame, int version, message) except -1:
        """That is what these bytes mean."""
        self.frame = None  # a step that is cut leaves all of it or nothing
        self.message = message
        self.version = version
        self.frame = PyBytes_FromStringAndSize(<const char *>frame.data + CORRELATION_BYTES,
                                               frame.size - CORRELATION_BYTES)
        return 0


@cython.nonecheck(True)
cdef class Request:
    """A request, from the moment it is submitted until its answer or its error.

    `build` is the message or a callable that makes it for a version. on_response(message, version, now) or
    on_error(error, now) is called once. A `raw` request is answered with the frame itself (a Buffer that begins with
    the correlation id), not a message. `timeout` is in seconds. A request that has ended is taken out of `among`.
    """

    cdef readonly int target
    cdef readonly int api_key
    cdef readonly int oldest              # the versions that will do
    cdef readonly int newest
    cdef readonly bint expect_response
    cdef readonly int purpose             # which of a broker's connections it goes over
    cdef readonly bint headless           # a frame without a header, as its answer is
    cdef readonly bint raw
    cdef readonly bint done
    cdef readonly double timeout
    cdef readonly double sent_at
    cdef readonly object asked            # the other end of the connection that it was written to; None before
    cdef readonly int version             # at which it was written; -1 before
    cdef dict why_not
    cdef int32_t correlation_id
    cdef int64_t written_at               # place in the stream after its last byte, if it has no answer
    cdef object build
    cdef object on_response
    cdef object on_error
    cdef KnownAnswer known                # what its answer may be again; None: that is not asked
    cdef set among                        # those in flight, while it is one of them

    def __init__(self, int target, int api_key, build, on_response, on_error, *, versions, bint expect_response=True,
                 double timeout, bint raw=False, bint headless=False):
        self._begin(target, api_key, versions[len(versions) - 1], timeout)
        self._ask(build, on_response, on_error, versions[0])
        self.expect_response = expect_response
        self.headless = headless
        self.raw = raw

    @property
    def tried(self):
        """Address -> why it failed there, of a request for any broker."""
        if self.why_not is None:
            self.why_not = {}
        return self.why_not

    cdef object message(self, int version):
        """The message to send at `version`."""
        return self.build(version) if callable(self.build) else self.build

    cdef list encode(self, Plan header_plan, object header, Plan plan, object message):
        """The frame of that message, as a list of buffers to send in order."""
        return encode_frame_parts(header_plan, header, plan, message)

    cdef bint answer_quickly(self, Buffer frame, double now) except -1:
        """Ends the request, which has not ended, by an answer that need not be decoded; False if it has to be."""
        return False

    cdef int _begin(self, int target, int api_key, int newest, double timeout) except -1:
        """In place of the constructor, which takes a call of Python: any version up to `newest` will do."""
        self.target = target
        self.api_key = api_key
        self.newest = newest
        self.timeout = timeout
        self.version = -1
        self.expect_response = True
        return 0

    cdef int _ask(self, build, on_response, on_error, int oldest) except -1:
        """The rest of it, where there is no subclass that knows what to send and whom to answer."""
        self.build = build
        self.on_response = on_response
        self.on_error = on_error
        self.oldest = oldest
        return 0

    def cancel(self):
        """Neither callback will run; an answer that still comes is dropped."""
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
        cdef set among = self.among
        self.done = True
        self.among = None
        self.build = None
        self.on_response = _ignore_response
        self.on_error = _ignore_error
        if among is not None:
            among.discard(self)
        return 0
