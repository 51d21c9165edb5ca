# A broker and its connections: the compiled halves of engine/connections/node.py and engine/connections/link.py. No I/O, no clock.

cdef enum:
    PURPOSES = 5


@cython.nonecheck(True)
cdef class LinkBase:
    """The requests of one connection: written at once while its session lasts, kept until then."""

    cdef public ConnectionBase connection
    cdef public VersionsBase versions     # on that connection; None before the first
    cdef public double session_ends       # from then on nothing may be written before the connection logs in again
    cdef public int purpose
    cdef public object _queue             # deque of Requests that wait for a connection
    cdef public Timer _timeout            # by which the oldest request is looked at

    def __init__(self):
        self._queue = _deque()
        self.session_ends = FOR_EVER

    cpdef submit(self, Request request, double now):
        """Writes the request, or keeps it until there is a connection."""
        cdef ConnectionBase connection = self.connection
        if connection is not None and now < self.session_ends:
            self._write(connection, request, now)
            return
        self._queue.append(request)
        if connection is None:
            self.connect(now)
        else:
            self.renew(now)

    cdef int _write(self, ConnectionBase connection, Request request, double now) except -1:
        if request.done:
            return 0
        cdef int version = self.versions._newest_common(request.api_key, request.oldest, request.newest)
        if version < 0:
            self.no_version(request, now)
            return 0
        try:
            ConnectionBase.write_request(connection, request, version, now)
        except _errors.KafkaError as error:
            request.fail(error, now)
            return 0
        # A held JoinGroup has minutes: what follows it on the connection has not.
        if self._timeout is None or now + request.timeout < self._timeout.when:
            self.watch(now + request.timeout)
        return 0

    # -- for the subclass to define -------------------------------------------------------------------------------

    def connect(self, double now):
        """Begins to connect, unless that has begun or must wait."""
        raise NotImplementedError

    def renew(self, double now):
        """The session of the connection has ended: logs in again, unless that has begun."""
        raise NotImplementedError

    def no_version(self, Request request, double now):
        """The broker offers no version of the request that will do: fails it."""
        raise NotImplementedError

    def watch(self, double moment):
        """Sets `_timeout`, in place of one that is set: the oldest request is looked at then."""
        raise NotImplementedError


@cython.nonecheck(True)
cdef class NodeBase:
    """The connections to one broker, by purpose; None where there was no need for one yet."""

    cdef readonly list links

    def __init__(self):
        self.links = [None] * PURPOSES

    cpdef submit(self, Request request, double now):
        """Writes the request on the connection for its purpose, or keeps it until there is one."""
        link = self.links[request.purpose]
        if link is None:
            link = self.make_link(request.purpose)
        LinkBase.submit(link, request, now)

    # -- for the subclass to define -------------------------------------------------------------------------------

    def make_link(self, int purpose):
        """The LinkBase for a purpose that has none, which is put into `links`."""
        raise NotImplementedError
