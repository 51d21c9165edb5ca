# One partition leader: which partitions have something for it, and how many requests are in flight to it.
#
# Every step of the sender asks for every partition whether its batch may be sent, so that is compiled. While a sink is
# `full`, send() does not call the sender for it, because the next response does.


@cython.final
@cython.nonecheck(True)
cdef class Sink:
    """The partitions that wait for the leader with id `node` (-1: no leader is known).

    At most `max_in_flight` requests may be in flight to it.
    """

    cdef readonly int32_t node
    cdef Roll queues                      # of PartitionQueue
    cdef readonly int max_in_flight
    cdef readonly int in_flight           # requests to that leader
    cdef readonly bint full               # in_flight is max_in_flight
    cdef public double throttled_until    # by the leader
    cdef readonly double retry_at         # when the first backoff ends, as `sendable` found; 0: none

    def __cinit__(self, int32_t node, int max_in_flight):
        self.node = node
        self.max_in_flight = max_in_flight
        self.queues = roll_of(number_queue)

    def __len__(self):
        return self.queues.count

    def __repr__(self):
        return f"<sink to broker {self.node}, {self.in_flight} in flight, {self.queues.count} partitions waiting>"

    cpdef count(self, int more):
        """Adds `more` (or less than 0) to the requests in flight."""
        self.in_flight = max(self.in_flight + more, 0)
        self.full = self.in_flight >= self.max_in_flight

    def add(self, PartitionQueue queue not None):
        """Adds a partition that has something to send and whose leader this is."""
        if queue.sink is not self:
            queue._leave_sink()
            queue.sink = self
        self.enrol(queue)

    cdef inline int enrol(self, PartitionQueue queue) except -1:
        """The same for one whose sink this is."""
        if queue.number == NOT_ENROLLED:
            self.queues.enter(queue)
        return 0

    def empty(self):
        """Removes all partitions and returns them."""
        cdef list queues = self.queues.items()
        cdef PartitionQueue queue
        for queue in queues:
            self.queues.strike(queue, queue.number)
        return queues

    cdef bint can_send(self, double now) except -1:
        """Whether `sendable` would return any."""
        cdef PyObject *place
        cdef PartitionQueue queue
        cdef Batch head
        cdef int64_t number
        for number in range(self.queues.begin, self.queues.end):
            place = self.queues.at(number)
            if place == <PyObject *>None:
                continue
            queue = <PartitionQueue>place
            head = queue._head()
            if head is not None and queue.retry_at <= now and not queue.blocked and may_send(queue, head, self):
                return True
        return PyList_GET_SIZE(self.sendable(now)) > 0

    cpdef list sendable(self, double now):
        """Returns the partitions whose first batch can be sent now; forgets those that hold nothing."""
        cdef PyObject *place
        cdef PartitionQueue queue
        cdef Batch head
        cdef int64_t number
        cdef list found = []
        self.retry_at = 0
        for number in range(self.queues.begin, self.queues.end):
            place = self.queues.at(number)
            if place == <PyObject *>None:
                continue
            queue = <PartitionQueue>place
            head = queue._head()
            if head is None:
                self.queues.strike(queue, number)
            elif queue.retry_at > now:
                if self.retry_at == 0 or queue.retry_at < self.retry_at:
                    self.retry_at = queue.retry_at
            elif not queue.blocked and may_send(queue, head, self):
                found.append(queue)
        return found

    cpdef Batch take(self, PartitionQueue queue, list taken):
        """Moves the partition's first batch to `taken`, in flight from now on; the next one waits its turn."""
        cdef Batch batch
        queue.sequences.is_to_be_taken(queue, queue._head(), self.node)
        batch = queue.take(taken)
        if queue.tried_at != self.node or batch.attempts == 0:
            queue.tried_at = self.node
            queue.tried_elsewhere = batch.attempts
        self.queues.strike(queue, queue.number)
        if queue._head() is not None:
            self.enrol(queue)
        return batch
