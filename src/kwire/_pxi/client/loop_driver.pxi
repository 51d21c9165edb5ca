# The hot half of the asyncio driver: one step, and the bytes between transports and the core.
#
# Everything here runs on the thread of the event loop, so there are no locks. Bytes come in through the transport, which
# receives into the core's own blocks. They go out by a gather write to the transport's socket while the transport has
# nothing to write itself; only when the socket is full the transport is given a little, to be told by `resume_writing`
# when it may go on. Bytes not written yet stay in the connection, where they can be taken back.

cdef enum:
    HANDED_OVER = 4096

cdef double RECOVERS_AGAIN_S = 0.1        # after a recovery that was cut itself


@cython.nonecheck(True)
cdef class LoopSocketBase(ConnectionSocket):
    """A connection on an event loop: the compiled half of its BufferedProtocol."""

    cdef readonly LoopDriverBase driver
    cdef public bint paused               # the transport has bytes that the socket did not take

    def __init__(self, LoopDriverBase driver not None, ConnectionBase connection not None):
        ConnectionSocket.__init__(self, connection)
        self.driver = driver

    def get_buffer(self, Py_ssize_t hint):
        """Returns where to receive into."""
        if self.fd < 0:
            return bytearray(MIN_ROOM)  # dropped: nothing that still comes is of use
        return self.connection.receiver.buffer()

    def buffer_updated(self, Py_ssize_t count):
        """So many bytes were received."""
        if self.fd >= 0:
            self.driver._received(self, count)

    # -- for the subclass to define -------------------------------------------------------------------------------

    def hand_over(self, data):
        """Gives the transport bytes to write."""
        raise NotImplementedError

    def write_tls(self, double now):
        """Writes what there is, where the connection is not plain."""
        raise NotImplementedError


@cython.nonecheck(True)
cdef class LoopDriverBase:
    """One step, whatever began it: a call of the client, bytes, a timer."""

    cdef readonly CoreBase core
    cdef readonly dict _sockets           # ConnectionBase -> LoopSocketBase
    cdef readonly dict _waiters           # future -> done(): set as soon as it is true after a step
    cdef public object _loop              # None before it is used first
    cdef object running_loop              # returns the loop that runs in this thread, or None
    cdef public unsigned long _thread     # the one in which `_loop` was seen to run last; 0 before
    cdef public bint _closed
    cdef public double _rings_at          # when the timer of the loop rings; endless: it is not set
    cdef public bint _callbacks_due       # `_run_callbacks` is scheduled
    cdef public double turned_at          # when the loop was last known to turn
    cdef bint stepping

    def __init__(self, CoreBase core not None, running_loop):
        self.core = core
        self.running_loop = running_loop
        self._sockets = {}
        self._waiters = {}
        self._rings_at = FOR_EVER

    cpdef int check_loop(self) except -1:
        """Raises unless the event loop that runs is the one that the client belongs to: that of its first use.

        A loop that runs does so where it ran when it was looked at last. To ask which loop runs in this thread is a
        system call before Python 3.12.
        """
        if self._thread == PyThread_get_thread_ident() and self._loop.is_running():
            return 0
        self._thread = 0
        if self._loop is None or self.running_loop() is not self._loop:
            self._belong_to(self.running_loop())
        self._thread = PyThread_get_thread_ident()
        return 0

    cpdef object step(self, function):
        """Runs `function(now)` with the core to itself, then writes what it left to write.

        An Exception that `function` raises passes through; it must not leave the core half changed.
        """
        cdef double now = kw_fine_seconds()
        self._begin(now)
        try:
            try:
                result = function(now)
            except MemoryError:  # wherever it came: the next step recovers, as after an interrupt
                raise
            except Exception:
                self._end(now)
                raise
            self._end(now)
        finally:
            self._leave()
        return result

    cdef int _received(self, LoopSocketBase sock, Py_ssize_t count) except -1:
        cdef double now = kw_fine_seconds()
        self.turned_at = now
        self._begin(now)
        try:
            if sock.fd >= 0:
                self.core.received(sock.connection, count, now)
            self._end(now)
        finally:
            self._leave()
        return 0

    def _on_timer(self, bint in_time):
        """The timer rings. What has come meanwhile goes before timers that are late."""
        cdef double now = kw_fine_seconds()
        cdef double due = self._rings_at
        self._rings_at = FOR_EVER
        if in_time or now - due < _frozen_s:
            self.step(self.core._timers.run)
        else:
            self._rearm()
            self._rings_at = due

    def write_on(self, LoopSocketBase sock not None):
        """The transport has written what it was given."""
        cdef double now = kw_fine_seconds()
        if self.stepping:
            return  # its step writes on
        self._begin(now)
        try:
            self._write(sock, now)
            self._end(now)
        finally:
            self._leave()

    cdef int _begin(self, double now) except -1:
        if self.stepping:
            raise _errors.ConcurrentUseError("a log handler or finalizer uses the client that it interrupts")
        self.stepping = True
        if self.core.dirty:
            try:
                for sock in list(self._sockets.values()):
                    self._drop(sock)
                self.core.recover(now)
            except BaseException:
                self.stepping = False
                self._schedule_recovery(RECOVERS_AGAIN_S)
                raise
        self.core.dirty = True
        return 0

    cdef int _end(self, double now) except -1:
        """Does what the core wants done; from here on the core is whole."""
        cdef object events = self.core.events
        cdef double due
        while events:
            kind, connection = events.popleft()
            sock = self._sockets.get(connection)
            if kind is CONNECT:
                self._connect(connection)
            elif sock is None:
                if kind is WARN:
                    self._on_warning(connection)
            elif kind is WRITE:
                self._write(<LoopSocketBase>sock, now)
            else:
                self._drop(sock)
        self.core.dirty = False
        due = self.core._timers._next()
        if due < self._rings_at:
            self._ring_in(due - now)
            self._rings_at = due
        if self._waiters:
            self._wake_done()
        if self.core.after_step and not self._callbacks_due:
            self._schedule_callbacks()
            self._callbacks_due = True
        return 0

    cdef int _leave(self) except -1:
        self.stepping = False
        if self.core.dirty:
            self._schedule_recovery(0)
        return 0

    cpdef int _wake_done(self) except -1:
        """Wakes those that wait for something that is so by now."""
        for future, done in list(self._waiters.items()):
            if done():
                self._waiters.pop(future, None)
                if not future.done():
                    future.set_result(None)
        return 0

    # -- bytes ----------------------------------------------------------------------------------------------------

    cdef int _write(self, LoopSocketBase sock, double now) except -1:
        """Writes what there is, as far as the socket takes it."""
        cdef iovec spans[BUFFERS_PER_WRITE]
        cdef Py_ssize_t taken, total
        cdef int count, i, number, fd
        if not sock.plain:
            if sock.fd >= 0:
                sock.write_tls(now)
            return 0
        while (fd := sock.fd) >= 0 and not sock.paused and (count := sock.connection.gather(spans)) > 0:
            total = 0
            for i in range(count):
                total += <Py_ssize_t>spans[i].iov_len
            if total > HELD_BYTES:
                with nogil:
                    taken = kw_send(fd, spans, count)
                    number = kw_errno
            else:
                taken = kw_send(fd, spans, count)
                number = kw_errno
            if taken < 0 and kw_would_block(number):
                taken = min(<Py_ssize_t>spans[0].iov_len, HANDED_OVER)
                sock.hand_over(PyBytes_FromStringAndSize(<char *>spans[0].iov_base, taken))
            elif taken < 0:
                self._lost(sock, words_of_errno(number), now)
                return 0
            sock.connection.sent(taken, now)
        return 0

    # -- for the subclass to define -------------------------------------------------------------------------------

    def _belong_to(self, loop):
        """Takes `loop` for its own if it has none yet; raises if it is another, or None."""
        raise NotImplementedError

    def _connect(self, connection):
        """Begins to connect."""
        raise NotImplementedError

    def _drop(self, sock):
        """Closes the socket; the core knows."""
        raise NotImplementedError

    def _lost(self, sock, reason, double now):
        """The socket failed: closes it and tells the core."""
        raise NotImplementedError

    def _on_warning(self, text):
        """The core has a warning for the log."""
        raise NotImplementedError

    def _ring_in(self, double seconds):
        """Sets the timer of the loop, which replaces the one before."""
        raise NotImplementedError

    def _rearm(self):
        """Has the timer ring once more, after the loop has looked at its sockets."""
        raise NotImplementedError

    def _schedule_callbacks(self):
        """Has the loop run what the core left in `after_step`."""
        raise NotImplementedError

    def _schedule_recovery(self, double seconds):
        """An exception cut a step, or the recovery from one: has the loop run another step, so much later."""
        raise NotImplementedError
