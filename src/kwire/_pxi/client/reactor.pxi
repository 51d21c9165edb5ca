# The hot half of the synchronous driver: who may step, one step, and the bytes between sockets and the core.
#
# The only I/O of the extension; whoever stands beneath the drivers may not use it. What it does and why is told in the
# Reactor's text; what is seldom (opening, closing, sleeping, the background thread) is there, too.
#
# The GIL is kept across a system call that cannot wait and moves less than HELD_BYTES: whoever lets go of it beside a
# caller that computes gets it back a switch interval (5 ms) later, and one step makes many such calls. Compiled code
# runs no signal handlers, so a step is cut only where it calls Python, or where it asks (`_turn`, before it waits).

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

cdef extern from "clock.h" nogil:
    double kw_fine_seconds()


cdef extern from "string.h" nogil:
    char *strerror(int number)

READS = POLLIN
WRITES = POLLOUT

cdef double _late_s = 0.001                 # seconds; who gets to run so much later was kept waiting for the interpreter
LATE_S = _late_s
cdef double _frozen_s = 0.05             # seconds; a process that ran so much later may have been stopped
FROZEN_S = _frozen_s
cdef double _max_sleep_s = 0.1                    # seconds after which whoever waits looks for himself: for a step of others
MAX_SLEEP_S = _max_sleep_s                                # that was cut, for a signal that another thread or nobody was told of

cdef enum:
    READS_AT_ONCE = 8
    HELD_BYTES = 65536
    WATCHED_AT_FIRST = 16


@cython.nonecheck(True)
cdef class SocketBase:
    """A connection and the number of its socket (-1: it has none), watched for READS, WRITES, both or neither (0)."""

    cdef readonly ConnectionBase connection
    cdef public int fd
    cdef public int mask
    cdef public bint connected

    def __init__(self, ConnectionBase connection not None):
        self.connection = connection
        self.fd = -1


@cython.nonecheck(True)
cdef class ReactorBase:
    """The right to step, and the step."""

    cdef readonly CoreBase core
    cdef readonly ReactorLock _lock             # guards the core and everything here
    cdef readonly dict _links             # ConnectionBase -> SocketBase
    cdef readonly object _resolved        # deque of what look-ups found
    cdef public object _waiters             # deque of locks that sleepers wait at
    cdef public object _driver            # thread that has the token, or None
    cdef public object _polling_until      # until when it selects; None while it does not
    cdef public object _thread            # in the background
    cdef readonly set _in_callbacks       # threads that run callbacks
    cdef public int64_t _steps
    cdef public double _last_active
    cdef public bint _closed
    cdef public bint _is_copy             # made by another process, of which this is a fork
    cdef readonly bint _background
    cdef public int _wake_fd              # readable when somebody wants the driver to look; -1 before it is opened
    cdef pollfd *watched                  # what the token's holder selects, and whose it is
    cdef Py_ssize_t watched_room
    cdef list watched_wires

    def __cinit__(self):
        self.watched = NULL

    def __dealloc__(self):
        free(self.watched)

    def __init__(self, CoreBase core not None, bint background):
        self.core = core
        self._lock = ReactorLock()
        self._links = {}
        self._resolved = _deque()
        self._waiters = _deque()
        self._in_callbacks = set()
        self._background = background
        self._wake_fd = -1
        self.watched_wires = []

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

        Raises ConcurrentUseError inside a callback.
        """
        cdef double now, deadline
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
        """With the token: one turn, which ends by `deadline`."""
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
        """Whoever sleeps looks again. Bells are C: nothing gets between the look and the ring."""
        while self._waiters:
            self._waiters.popleft().release()
        return 0

    cdef int _prepare(self, double deadline, double now) except -1:
        """With the token and the lock, before a turn: settles what is selected, and until when."""
        if self.core.dirty:
            self._begin(now)
            self._end(now)
        if self._wake_fd < 0:
            self._open()
        self._watch_all()
        self._polling_until = min(self.core._timers._next(), deadline)
        return 0

    cdef int _watch_all(self) except -1:
        cdef SocketBase wire
        cdef Py_ssize_t count = 1
        cdef Py_ssize_t room = len(self._links) + 1
        cdef void *moved
        if room > self.watched_room:
            room = max(2 * room, WATCHED_AT_FIRST)
            moved = realloc(self.watched, <size_t>room * sizeof(pollfd))
            if moved == NULL:
                raise MemoryError
            self.watched = <pollfd *>moved
            self.watched_room = room
        self.watched_wires.clear()
        self.watched[0] = pollfd(self._wake_fd, POLLIN, 0)
        for wire in self._links.values():
            if wire.fd >= 0 and wire.mask:
                self.watched[count] = pollfd(wire.fd, <short>wire.mask, 0)
                self.watched_wires.append(wire)
                count += 1
        return 0

    cdef int _turn(self, me, double now) except -1:
        """With the token, prepared: selects until something is ready, a timer is due or the deadline has come; then
        handles it. The token is given up where callbacks are to be run."""
        cdef unsigned long count = <unsigned long>PyList_GET_SIZE(self.watched_wires) + 1
        cdef double awake = FOR_EVER
        cdef int ready = self._select(me, count, now, &awake)
        cdef Py_ssize_t i
        self._lock.take()
        try:
            if self._closed or self._driver != me:
                return 0  # a signal handler drove meanwhile: what was selected is no more what is watched
            now = kw_fine_seconds()
            if ready < 0 or (ready == 0 and now - awake > _frozen_s):
                ready = kw_poll(self.watched, count, 0)  # what came meanwhile goes before timers
            self._begin(now)
            if ready > 0:
                if self.watched[0].revents:
                    self._drain_wake()
                for i in range(1, <Py_ssize_t>count):
                    if self.watched[i].revents:
                        self._handle(<SocketBase>self.watched_wires[i - 1], &self.watched[i], now)
            if self._resolved:
                self._take_resolved(now)
            if now - awake > _late_s and self._background:
                self._run_early(now)
            else:
                self.core._timers.run(now)
            self._end(now)
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
        """How many of `watched` are ready; -1 where a signal came. Its handler may drive, which takes the token away.

        `awake`: when it was over, if it waited.
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
        if self.core.dirty:
            for wire in list(self._links.values()):
                self._drop(wire)
            self.core.recover(now)
        self.core.dirty = True
        return 0

    cdef int _end(self, double now) except -1:
        """Does what the core wants done; from here on the core is whole."""
        cdef object events = self.core.events
        while events:
            kind, connection = events.popleft()
            wire = self._links.get(connection)
            if kind is CONNECT:
                self._connect(connection, now)
            elif wire is None:
                if kind is WARN:
                    self._on_warning(connection)
            elif kind is WRITE:
                self._write(<SocketBase>wire, now)
            else:
                self._drop(wire)
        self.core.dirty = False
        return 0

    # -- bytes ----------------------------------------------------------------------------------------------------

    cdef int _handle(self, SocketBase wire, const pollfd *found, double now) except -1:
        if wire.fd != found.fd:
            return 0  # closed while others held the lock
        if not wire.connected:
            self._connected(wire, now)
            return 0
        if found.revents & ~POLLOUT:
            self._read(wire, now)
        if found.revents & POLLOUT:
            self._write(wire, now)
        return 0

    cdef int _read(self, SocketBase wire, double now) except -1:
        """What has come, as far as READS_AT_ONCE go."""
        cdef FrameReceiver receiver = wire.connection.receiver
        cdef uint8_t *room
        cdef Py_ssize_t size, count
        cdef int fd, number, turn
        for turn in range(READS_AT_ONCE):
            fd = wire.fd
            if fd < 0 or not wire.connection.open:
                return 0
            try:
                size = receiver.room(&room, LEAST_ROOM)
            except _errors.FrameError as error:
                self._lost(wire, str(error), now)
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
                    self._lost(wire, words_of_errno(number), now)
                return 0
            if count == 0:
                self._lost(wire, "the broker closed the connection", now)
                return 0
            self.core.received(wire.connection, count, now)
            if count < size:
                return 0
        return 0

    cdef int _write(self, SocketBase wire, double now) except -1:
        """What there is to write, as far as the socket takes it."""
        cdef iovec spans[BUFFERS_PER_WRITE]
        cdef Py_ssize_t taken, total
        cdef int count, i, number
        cdef int fd = wire.fd
        if fd < 0 or not wire.connected:
            return 0
        while (count := wire.connection.gather(spans)) > 0:
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
                    self._watch(wire, POLLIN | POLLOUT)
                else:
                    self._lost(wire, words_of_errno(number), now)
                return 0
            wire.connection.sent(taken, now)
        return self._watch(wire, POLLIN)

    cpdef int _watch(self, SocketBase wire, int mask) except -1:
        """What is awaited of its socket from now on."""
        if wire.mask != mask:
            wire.mask = mask
            if self._polling_until is not None:
                self.wake()
        return 0


cdef str words_of_errno(int number):
    return strerror(number).decode("utf-8", "replace")
