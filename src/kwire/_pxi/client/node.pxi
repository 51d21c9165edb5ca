# One broker's requests: the compiled half of engine/node.py. No I/O, no clock.


@cython.nonecheck(True)
cdef class NodeBase:
    """The requests to one broker: written at once while there is a connection, kept until then otherwise."""

    cdef public ConnectionBase connection
    cdef public VersionsBase versions            # on that connection; None before the first
    cdef public object _queue             # deque of Requests that wait for a connection
    cdef public Timer _timeout            # by which the oldest request is looked at

    def __init__(self):
        self._queue = _deque()

    cpdef submit(self, Request request, double now):
        """Writes the request, or keeps it until there is a connection."""
        cdef ConnectionBase connection = self.connection
        if connection is None:
            self._queue.append(request)
            self.connect(now)
        elif request.long_poll or not connection.ends_in_long_poll():
            self._write(connection, request, now)
        else:
            self.beside().submit(request, now)

    cdef int _write(self, ConnectionBase connection, Request request, double now) except -1:
        if request.done:
            return 0
        cdef int version = self.versions._newest_common(request.api_key, request.oldest, request.newest)
        if version < 0:
            self.no_version(request, now)
            return 0
        try:
            connection.write_request(request, version, now)
        except _errors.KafkaError as error:
            request.fail(error, now)
            return 0
        if self._timeout is None:
            self.watch(now + request.timeout)
        return 0
