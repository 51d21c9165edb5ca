# The hot half of the synchronous driver: the driver role, one step, and the bytes between sockets and the core.
#
# Only this file, connection_socket.pxi and loop_driver.pxi of the extension do I/O; lower layers must not use them.
# `drivers/reactor.py` explains the protocol and holds the rarely executed parts: opening, closing, sleeping, the
# background thread, TLS.
#
# The GIL is kept across a system call that cannot wait and moves less than HELD_BYTES: a thread that releases the GIL
# while another one computes waits up to one switch interval (5 ms) to get it back, and one step makes many such calls.
# Compiled code runs no signal handlers, so a step is cut only where it calls Python, or where it asks (`_turn`, before
# it waits).

from _thread import get_ident as _get_ident

cdef extern from "sockets.h" nogil:
    cdef struct pollfd:
        int fd
        short events
        short revents
    enum:
        POLLIN
        POLLOUT
    ssize_t kw_send(int fd, iovec *spans, int count)
    ssize_t recv(int fd, void *data, size_t size, int flags)
    int kw_poll(pollfd *watched, unsigned long count, double seconds)
    bint kw_would_block(int number)
    int kw_errno "errno"

cdef extern from "Python.h":
    int PyIter_Send(object iterator, object value, PyObject **result) except -1

cdef extern from "clock.h" nogil:
    double kw_fine_seconds()


cdef extern from "string.h" nogil:
    char *strerror(int number)

READS = POLLIN
WRITES = POLLOUT

# A wake-up later than this means that the GIL was contended.
cdef double _late_s = 0.001
LATE_S = _late_s
# A process that runs this much later than it wanted may have been stopped.
cdef double _frozen_s = 0.05
FROZEN_S = _frozen_s
# Upper bound on any sleep: the waiter looks again by itself, in case its waker was interrupted or a signal went to
# another thread.
cdef double _max_sleep_s = 0.1
MAX_SLEEP_S = _max_sleep_s

cdef enum:
    READS_AT_ONCE = 8
    HELD_BYTES = 65536
    WATCHED_AT_FIRST = 16


@cython.nonecheck(True)
cdef class SocketBase(ConnectionSocket):
    """A connection's socket, watched for READS, WRITES, both or neither (0)."""

    cdef public int mask
    cdef public bint connected            # with the TLS handshake done, where there is one


@cython.nonecheck(True)
cdef class ReactorBase:
    """The driver role, and one step of the driver."""

    cdef readonly CoreBase core
    cdef readonly ReactorLock _lock       # guards the core and everything here
    cdef readonly dict _sockets           # ConnectionBase -> SocketBase
    cdef readonly object _resolved        # deque of what look-ups found
    cdef public object _waiters           # deque of locks that sleepers wait at
    cdef public object _driver            # thread that drives, or None
    cdef public object _polling_until     # until when it polls; None while it does not
    cdef public object _thread            # in the background
    cdef readonly set _in_callbacks       # threads that run callbacks
    cdef public int64_t _steps
    cdef int64_t news                     # counts steps, but for those that only brought a part of a frame
    cdef public double _last_active
    cdef public bint _closed
    cdef public bint _is_copy             # made by another process, of which this is a fork
    cdef readonly bint _background
    cdef public int _wake_fd              # readable when the driver is to look; -1 before it is opened
    cdef pollfd *watched                  # what the driver polls; `watched_sockets` has the owners
    cdef Py_ssize_t watched_room
    cdef list watched_sockets

    def __cinit__(self):
        self.watched = NULL

    def __dealloc__(self):
        free(self.watched)

    def __init__(self, CoreBase core not None, bint background):
        self.core = core
        self._lock = ReactorLock()
        self._sockets = {}
        self._resolved = _deque()
        self._waiters = _deque()
        self._in_callbacks = set()
        self._background = background
        self._wake_fd = -1
        self.watched_sockets = []

    # -- for the clients ------------------------------------------------------------------------------------------

    def call(self, function, *, bint active=True):
        """Runs `function(now)` with the core to itself, then writes what it left to write. Never blocks on the network.

        An Exception that `function` raises passes through; it must not leave the core half changed. A call that is not
        `active` does not count as one by a caller.
        """
        return self._call(function, active)

    cdef object _call(self, function, bint active):
        cdef double now
        if self._is_copy:
            self._check_entry()
        self._lock.take()
        try:
            now = kw_fine_seconds()
            if active:
                self._last_active = now
            self._begin(now)
            try:
                result = function(now)
            except MemoryError:  # wherever it came: the next step recovers, as after an interrupt
                raise
            except Exception:
                self._end(now)
                raise
            self._end(now)
            if self._background and self._thread is None:
                self._start_background()
            if self._polling_until is not None:
                self._wake_if_polling(self._polling_until)
        finally:
            self._lock.give()
        if self.core.after_step:
            self._run_callbacks()
        return result

    cpdef bint wait(self, done, timeout) except -1:
        """Drives until `done()` (called with the core to itself) or until `timeout` seconds have passed; what it said.

        A part of a frame is nothing new: then `done` is not asked, but for every MAX_SLEEP_S and at the end. Raises
        ConcurrentUseError inside a callback.
        """
        cdef double now, deadline
        cdef double asked_at = -FOR_EVER
        cdef int64_t known = -1
        cdef bint driven
        me = _get_ident()
        if self._is_copy or self._lock._is_mine() or self._in_callbacks:
            self._check_entry()
            self._check_no_callback(me)
        deadline = FOR_EVER if timeout is None else kw_fine_seconds() + <double>timeout
        try:
            while True:
                self._lock.take()
                try:
                    self._last_active = now = kw_fine_seconds()
                    if self.news != known or now - asked_at >= _max_sleep_s or now >= deadline:
                        known, asked_at = self.news, now
                        if done():
                            return True
                    if self._closed or now >= deadline:
                        return False
                    driven = self._driver is not None and self._driver != me
                    if driven:
                        waiter = self._add_waiter()
                    else:
                        self._driver = me
                        self._prepare(min(deadline, now + _max_sleep_s), now)
                finally:
                    self._lock.give()
                if not driven:
                    self._turn(me, now)
                elif self._driver is not None:
                    self._sleep(waiter, deadline - now)
        finally:
            self._let_go(me)

    def run(self, steps, until, otherwise):
        """The result of `steps`, a generator: `wait` does those that are an `until`, `otherwise(step)` the others. It is
        closed where one of them raises.
        """
        cdef PyObject *sent
        cdef int state
        came = None
        try:
            while True:
                state = PyIter_Send(steps, came, &sent)
                step = <object>sent
                Py_XDECREF(sent)
                if state == PYGEN_RETURN:
                    return step
                came = ReactorBase.wait(self, step.done, step.seconds) if type(step) is until else otherwise(step)
        except BaseException:
            steps.close()
            raise

    def poll_once(self):
        """Reads and writes what is ready, without waiting; nothing if another thread drives."""
        me = _get_ident()
        self._check_entry()
        try:
            self._lock.take()
            try:
                if self._closed or (self._driver is not None and self._driver != me):
                    return
                self._driver = me
            finally:
                self._lock.give()
            self._step(me, 0.0)
        finally:
            self._let_go(me)

    def _close_core(self):
        """The core closes its connections; only once."""
        cdef double now
        self._lock.take()
        try:
            if not self._closed:
                now = kw_fine_seconds()
                self._begin(now)
                self.core.close(now)
                self._end(now)
                self._closed = True
        finally:
            self._lock.give()

    # -- one step -------------------------------------------------------------------------------------------------

    def _step(self, me, double deadline):
        """As the driver: one turn, which ends by `deadline`."""
        cdef double now
        self._lock.take()
        try:
            if self._closed or self._driver != me:
                return
            now = kw_fine_seconds()
            self._prepare(deadline, now)
        finally:
            self._lock.give()
        self._turn(me, now)

    cdef int _let_go(self, me) except -1:
        if self._driver == me:
            self._driver = self._polling_until = None
            if self._waiters:
                self._wake_waiters()
        return 0

    cpdef int _wake_waiters(self) except -1:
        """Every sleeper looks again. The locks are C: nothing comes between the look and the release."""
        while self._waiters:
            self._waiters.popleft().release()
        return 0

    cdef int _prepare(self, double deadline, double now) except -1:
        """As the driver, with the lock, before a turn: settles what is polled, and until when."""
        if self.core.dirty:
            self._begin(now)
            self._end(now)
        if self._wake_fd < 0:
            self._open()
        self._watch_all()
        self._polling_until = min(self.core._timers._next(), deadline)
        return 0

    cdef int _watch_all(self) except -1:
        cdef SocketBase sock
        cdef Py_ssize_t count = 1
        cdef Py_ssize_t room = len(self._sockets) + 1
        cdef void *moved
        if room > self.watched_room:
            room = max(2 * room, WATCHED_AT_FIRST)
            moved = realloc(self.watched, <size_t>room * sizeof(pollfd))
            if moved == NULL:
                raise MemoryError
            self.watched = <pollfd *>moved
            self.watched_room = room
        self.watched_sockets.clear()
        self.watched[0] = pollfd(self._wake_fd, POLLIN, 0)
        for sock in self._sockets.values():
            if sock.fd >= 0 and sock.mask:
                self.watched[count] = pollfd(sock.fd, <short>sock.mask, 0)
                self.watched_sockets.append(sock)
                count += 1
        return 0

    cdef int _turn(self, me, double now) except -1:
        """As the driver, prepared: polls until something is ready, a timer is due or the deadline has come; then
        handles it. The role is given up where callbacks are to be run."""
        cdef unsigned long count = <unsigned long>PyList_GET_SIZE(self.watched_sockets) + 1
        cdef double awake = FOR_EVER
        cdef int ready = self._select(me, count, now, &awake)
        cdef bint only_parts              # of frames came
        cdef Py_ssize_t i
        self._lock.take()
        try:
            if self._closed or self._driver != me:
                return 0  # a signal handler drove meanwhile: what was polled is not what is watched now
            now = kw_fine_seconds()
            if ready < 0 or (ready == 0 and now - awake > _frozen_s):
                ready = kw_poll(self.watched, count, 0)  # what came meanwhile goes before timers
            self._begin(now)
            only_parts = ready > 0 and not self._resolved and self.core._timers._next() > now
            if ready > 0:
                if self.watched[0].revents:
                    self._drain_wake()
                    only_parts = False
                for i in range(1, <Py_ssize_t>count):
                    if self.watched[i].revents:
                        if not self._handle(<SocketBase>self.watched_sockets[i - 1], &self.watched[i], now):
                            only_parts = False
            if self._resolved:
                self._take_resolved(now)
            if now - awake > _late_s and self._background:
                self._run_early(now)
                only_parts = False
            else:
                self.core._timers.run(now)
            self._end(now)
            if only_parts:
                self.news -= 1
        finally:
            self._lock.give()
        self._steps += 1
        if self.core.after_step:
            self._driver = None
            if self._waiters:
                self._wake_waiters()
            self._run_callbacks()
        elif self._waiters:
            self._wake_waiters()
        return 0

    cdef int _select(self, me, unsigned long count, double now, double *awake) except -2:
        """Returns how many of `watched` are ready, or -1 if a signal came: its handler may have taken over the role.

        `awake`: when the wait was over, if there was one.
        """
        cdef int ready = -1
        cdef double seconds
        try:
            PyErr_CheckSignals()
            if self._driver != me or self._polling_until is None:
                return -1
            seconds = max(<double>self._polling_until - now, 0.0)
            if seconds > 0:
                with nogil:
                    ready = kw_poll(self.watched, count, seconds)
                    awake[0] = kw_fine_seconds()
            else:
                ready = kw_poll(self.watched, count, 0)
            if ready < 0:
                PyErr_CheckSignals()
        finally:
            if self._driver == me:
                self._polling_until = None
        return ready

    cdef int _begin(self, double now) except -1:
        self.news += 1
        if self.core.dirty:
            for sock in list(self._sockets.values()):
                self._drop(sock)
            self.core.recover(now)
        self.core.dirty = True
        return 0

    cdef int _end(self, double now) except -1:
        """Does what the core wants done; from here on the core is whole."""
        cdef object events = self.core.events
        while events:
            kind, connection = events.popleft()
            sock = self._sockets.get(connection)
            if kind is CONNECT:
                self._connect(connection, now)
            elif sock is None:
                if kind is WARN:
                    self._on_warning(connection)
            elif kind is WRITE:
                self._write(<SocketBase>sock, now)
            else:
                self._drop(sock)
        self.core.dirty = False
        return 0

    # -- bytes ----------------------------------------------------------------------------------------------------

    cdef int _handle(self, SocketBase sock, const pollfd *found, double now) except -1:
        """Returns whether no more than a part of a frame came."""
        cdef int64_t frames = self.core.frames
        cdef bint only_reads = found.revents == POLLIN and not sock.connection.wants_write
        if sock.fd != found.fd:
            return False  # closed while others held the lock
        if not sock.connected:
            self._connected(sock, now)
            return False
        if found.revents & ~POLLOUT:
            self._read(sock, now)
        if found.revents & POLLOUT:
            self._write(sock, now)
        return only_reads and self.core.frames == frames and sock.fd >= 0 and sock.connection.open

    cdef int _read(self, SocketBase sock, double now) except -1:
        """Reads what has come, READS_AT_ONCE times at most."""
        cdef FrameReceiver receiver = sock.connection.receiver
        cdef uint8_t *room
        cdef Py_ssize_t size, count
        cdef int fd, number, turn
        if not sock.plain:
            self._read_tls(sock, now)
            return 0
        for turn in range(READS_AT_ONCE):
            fd = sock.fd
            if fd < 0 or not sock.connection.open:
                return 0
            try:
                size = receiver.room(&room, MIN_ROOM)
            except _errors.FrameError as error:
                self._lost(sock, str(error), now)
                return 0
            if receiver.expects_more_than(HELD_BYTES):
                with nogil:
                    count = recv(fd, room, <size_t>size, 0)
                    number = kw_errno
            else:
                size = min(size, HELD_BYTES)
                count = recv(fd, room, <size_t>size, 0)
                number = kw_errno
            if count < 0:
                if not kw_would_block(number):
                    self._lost(sock, words_of_errno(number), now)
                return 0
            if count == 0:
                self._lost(sock, "the broker closed the connection", now)
                return 0
            CoreBase.received(self.core, sock.connection, count, now)
            if count < size:
                return 0
        return 0

    cdef int _write(self, SocketBase sock, double now) except -1:
        """Writes what there is, as far as the socket takes it."""
        cdef iovec spans[BUFFERS_PER_WRITE]
        cdef Py_ssize_t taken, total
        cdef int count, i, number
        cdef int fd = sock.fd
        if fd < 0 or not sock.connected:
            return 0
        if not sock.plain:
            self._write_tls(sock, now)
            return 0
        while (count := sock.connection.gather(spans)) > 0:
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
            if taken < 0:
                if kw_would_block(number):
                    self._watch(sock, POLLIN | POLLOUT)
                else:
                    self._lost(sock, words_of_errno(number), now)
                return 0
            ConnectionBase.sent(sock.connection, taken, now)
        return ReactorBase._watch(self, sock, POLLIN)

    cpdef int _watch(self, SocketBase sock, int mask) except -1:
        """Sets what is awaited of the socket from now on."""
        if sock.mask != mask:
            sock.mask = mask
            if self._polling_until is not None:
                self.wake()
        return 0

    # -- for the subclass to define -------------------------------------------------------------------------------

    def wake(self):
        """Makes a driver that polls look again; from any thread, also from a signal handler."""
        raise NotImplementedError

    def _check_entry(self):
        """Raises in a forked child, and where the calling thread already holds the lock."""
        raise NotImplementedError

    def _check_no_callback(self, me):
        """Raises inside a callback, where a blocking call would wait for itself."""
        raise NotImplementedError

    def _add_waiter(self):
        """Returns a lock that the next `_wake_waiters` releases. Called with the reactor's lock held."""
        raise NotImplementedError

    def _sleep(self, waiter, double seconds):
        """Waits for that lock, at most `seconds`."""
        raise NotImplementedError

    def _run_callbacks(self):
        """Runs what the core left in `after_step`, outside the lock."""
        raise NotImplementedError

    def _run_early(self, double now):
        """Runs due timers, and what may be done before it is due."""
        raise NotImplementedError

    def _on_warning(self, text):
        """The core has a warning for the log."""
        raise NotImplementedError

    def _start_background(self):
        """Begins the background thread."""
        raise NotImplementedError

    def _wake_if_polling(self, polling_until):
        """Wakes the driver if a timer is due before it would look."""
        raise NotImplementedError

    def _open(self):
        """Makes what `wake` needs: `_wake_fd`."""
        raise NotImplementedError

    def _drain_wake(self):
        """Reads what `wake` wrote."""
        raise NotImplementedError

    def _connect(self, connection, double now):
        """Opens a socket for the connection."""
        raise NotImplementedError

    def _take_resolved(self, double now):
        """Connects what name look-ups found."""
        raise NotImplementedError

    def _connected(self, sock, double now):
        """The socket is ready while it is not connected yet: the attempt has ended, or a handshake continues."""
        raise NotImplementedError

    def _lost(self, sock, reason, double now):
        """The socket failed: closes it and tells the core."""
        raise NotImplementedError

    def _drop(self, sock):
        """Closes the socket; the core knows."""
        raise NotImplementedError

    def _read_tls(self, sock, double now):
        """As `_read`, where the socket is not plain."""
        raise NotImplementedError

    def _write_tls(self, sock, double now):
        """As `_write`, where the socket is not plain."""
        raise NotImplementedError


cdef str words_of_errno(int number):
    return strerror(number).decode("utf-8", "replace")
