# Requests out to brokers by id, answers in: the compiled half of engine/core.py. No I/O, no clock.


@cython.nonecheck(True)
cdef class CoreBase:
    """Requests out to brokers by id, answers in.

    `plans` reads the answers; where it has none, `decode(frame, api_key, version)` returns (header, message).
    """

    cdef public bint dirty                # a step runs, or one was cut
    cdef public bint closed
    cdef public bint _recovering
    cdef int64_t frames                   # how many came
    cdef readonly double answer_began_at  # when the first bytes came of the answer that is being handled
    cdef readonly object events           # deque of (CONNECT | WRITE | CLOSE, ConnectionBase), (WARN, text)
    cdef readonly object after_step       # deque of callables for the driver to run outside any lock
    cdef readonly Traffic traffic
    cdef readonly Timers _timers
    cdef readonly set _requests           # in flight
    cdef readonly dict _nodes             # id -> NodeBase
    cdef public object cluster            # topics, partitions and leaders: engine/metadata/cluster.py
    cdef PlanTable plans
    cdef object decode
    cdef double usual_timeout

    def __init__(self, PlanTable plans not None, decode, double usual_timeout):
        self.events = _deque()
        self.after_step = _deque()
        self.traffic = Traffic()
        self._timers = Timers()
        self._requests = set()
        self._nodes = {}
        self.plans = plans
        self.decode = decode
        self.usual_timeout = usual_timeout

    def get_timer(self):
        """The moment of the next timer, or None."""
        return self._timers.next_moment()

    def next_due(self):
        """As `get_timer`, at any time and from any thread; the timer may have been cancelled."""
        return self._timers.peek()

    def handle_timer(self, double now):
        """Runs what is due."""
        self._timers.run(now)

    def call_at(self, double when, callback):
        """Runs `callback(now)` when `when` has come; the Timer."""
        return self._timers.call_at(when, callback)

    def request(self, int target, int api_key, message, on_response, on_error, double now, *, timeout=None,
                bint expect_response=True, int purpose=0, versions=None, KnownAnswer known=None):
        """Sends one request; see the text of kwire.engine.core."""
        cdef Request request = Request.__new__(Request)
        cdef double patience = self.usual_timeout if timeout is None else timeout
        if versions is None:
            versions = self.versions_of(api_key)
        request._begin(target, api_key, versions[len(versions) - 1], patience)
        request._ask(message, on_response, on_error, versions[0])
        request.expect_response = expect_response
        request.purpose = purpose
        request.known = known
        self.begin(request, now)
        return request

    cdef int begin(self, Request request, double now) except -1:
        request.among = self._requests
        if self._recovering:
            request.cancel()  # its component asks again when it is told to recover
            return 0
        self._requests.add(request)
        if self.closed:
            request.fail(_errors.ClientClosedError("the client was closed"), now)
            return 0
        node = self._nodes.get(request.target) if request.target >= 0 else None
        if node is not None:
            NodeBase.submit(node, request, now)
        else:
            self.dispatch(request, now)
        return 0

    cpdef received(self, ConnectionBase connection, Py_ssize_t count, double now):
        """`count` bytes were received into the buffer."""
        cdef Request request
        cdef Buffer frame
        cdef list frames
        connection.received_at = now
        if connection.receiver.filled == connection.receiver.begin:
            connection.frame_began_at = now
        connection.traffic.bytes_in += count
        try:
            frames = connection.receiver.received(count)
        except _errors.FrameError as error:
            self.lose_connection(connection, error, now)
            return
        self.frames += PyList_GET_SIZE(frames)
        for frame in frames:
            if not connection.open:
                return
            try:
                request = ConnectionBase.take_answer(connection, frame)
            except _errors.FrameError as error:
                self.lose_mismatched(connection, error, now)
                return
            connection.traffic.note_answer(request.api_key, now - request.sent_at)
            self.answer_began_at = connection.frame_began_at
            connection.frame_began_at = now
            if request.done or request.answer_quickly(frame, now):
                continue
            try:
                message = frame if request.raw else self._read(frame, request)
            except _errors.CodecError as error:
                self.unreadable(connection, request, error, now)
            else:
                request.answer(message, now)
        if connection.receiver.fault is not None and connection.open:
            self.lose_connection(connection, connection.receiver.fault, now)

    cdef int lose_mismatched(self, ConnectionBase connection, error, double now) except -1:
        """Answers and requests no longer match: the requests in flight are lost, and may be sent again."""
        cdef object lost = _errors.ConnectError("connection lost", {str(connection.who): str(error)})
        lost.__cause__ = error
        self.lose_connection(connection, lost, now)
        return 0

    # -- for the subclass to define -------------------------------------------------------------------------------

    def close(self, double now):
        """Closes every connection and fails every request."""
        raise NotImplementedError

    def recover(self, double now):
        """Begins anew after an interrupted step."""
        raise NotImplementedError

    def versions(self, int node_id):
        """The VersionsBase of that broker's connection for data; None without one."""
        raise NotImplementedError

    def connect_error(self):
        """The last error at each address as a ConnectError; None while a broker is connected."""
        raise NotImplementedError

    def why_not_connected(self, double now):
        """The same in words; "" while a broker is connected."""
        raise NotImplementedError

    def dispatch(self, Request request, double now):
        """A request whose target is not a node that is known."""
        raise NotImplementedError

    def lose_connection(self, ConnectionBase connection, error, double now):
        """The bytes that came make no sense: closes the connection."""
        raise NotImplementedError

    def versions_of(self, int api_key):
        """The versions of the API that can be encoded and decoded, in order."""
        raise NotImplementedError

    def unreadable(self, ConnectionBase connection, Request request, error, double now):
        """The answer to `request` cannot be decoded."""
        raise NotImplementedError

    cdef object _read(self, Buffer frame, Request request):
        """The message in an answer. Bytes after it are ignored: a newer broker may say more."""
        cdef KnownAnswer known = request.known
        cdef tuple plans
        if known is not None and (message := known.found(frame, request.version)) is not None:
            return message
        plans = self.plans.of(request.api_key, request.version)
        if plans is None:
            message = self.decode(frame, request.api_key, request.version)[1]
        else:
            _, start = decode_from(<Plan>plans[0], frame, 0, False)
            message, _ = decode_from(<Plan>plans[1], frame, start, False)
        if known is not None:
            known.keep(frame, request.version, message)
        return message
