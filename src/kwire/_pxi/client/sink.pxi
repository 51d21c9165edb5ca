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
    cdef dict queues                      # PartitionQueue -> None, in the order in which they came
    cdef readonly int max_in_flight
    cdef readonly int in_flight           # requests to that leader
    cdef readonly bint full               # in_flight is max_in_flight
    cdef public double throttled_until    # by the leader
    cdef readonly double retry_at         # when the first backoff ends, as `sendable` found; 0: none

    def __cinit__(self, int32_t node, int max_in_flight):
        self.node = node
        self.max_in_flight = max_in_flight
        self.queues = {}

    def __len__(self):
        return len(self.queues)

    def __repr__(self):
        return f"<sink to broker {self.node}, {self.in_flight} in flight, {len(self.queues)} partitions waiting>"

    cpdef count(self, int more):
        """Adds `more` (or less than 0) to the requests in flight."""
        self.in_flight = max(self.in_flight + more, 0)
        self.full = self.in_flight >= self.max_in_flight

    def add(self, PartitionQueue queue not None):
        """Adds a partition that has something to send and whose leader this is."""
        queue.sink = self
        self.queues[queue] = None

    def empty(self):
        """Removes all partitions and returns them."""
        cdef list queues = list(self.queues)
        self.queues.clear()
        return queues

    cdef bint can_send(self, double now) except -1:
        """Whether `sendable` would return any."""
        cdef PartitionQueue queue
        cdef Batch head
        for queue in self.queues:
            head = queue._head()
            if head is not None and queue.retry_at <= now and not queue.blocked and may_send(queue, head, self):
                return True
        return PyList_GET_SIZE(self.sendable(now)) > 0

    cpdef list sendable(self, double now):
        """Returns the partitions whose first batch can be sent now; forgets those that hold nothing."""
        cdef PartitionQueue queue
        cdef Batch head
        cdef list found = []
        cdef list drained = []
        self.retry_at = 0
        for queue in self.queues:
            head = queue._head()
            if head is None:
                drained.append(queue)
            elif queue.retry_at > now:
                if self.retry_at == 0 or queue.retry_at < self.retry_at:
                    self.retry_at = queue.retry_at
            elif not queue.blocked and may_send(queue, head, self):
                found.append(queue)
        for queue in drained:
            del self.queues[queue]
        return found

    cpdef Batch take(self, PartitionQueue queue, list taken):
        """Moves the partition's first batch to `taken`, in flight from now on; the next one waits its turn."""
        cdef Batch batch = queue.take(taken)
        queue.sequences.is_taken(batch, self.node)
        self.queues.pop(queue, None)
        if queue._head() is not None:
            self.queues[queue] = None
        return batch
