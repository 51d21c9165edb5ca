# The queues of the accumulator: a topic, its partitions, and which batches wait for each.
#
# A batch is in one place of one queue (open, waiting, in flight), and each move is one stretch, by the rule THREADS in
# accumulator.pxi: an interrupt finds it before or after, never between.

cdef inline bint comes_before(Batch one, Batch other):
    """Opened before it; parts of a split in the order of their records."""
    return one.order < other.order or (one.order == other.order and one.first_index < other.first_index)


@cython.final
@cython.nonecheck(True)
cdef class PartitionQueue:
    """The batches of one partition; partition -1 is for the unassigned records of a topic."""

    cdef readonly TopicQueue topic
    cdef readonly int32_t partition
    cdef Batch open
    cdef Sink sink                        # to its leader; None until that is looked up
    cdef int64_t number                   # in `sink.queues`
    cdef Fifo waiting                     # of Batch
    cdef Batch first_in_flight            # a chain, in the order of their taking
    cdef Batch last_in_flight
    cdef bint in_ready                    # in Accumulator.ready
    cdef size_t expected                  # bytes that the last batch took: room to begin the next with
    cdef public double retry_at           # nothing is sent before
    cdef readonly int tried_at            # the leader that was sent to last
    cdef readonly int tried_elsewhere     # how often that batch had been sent to other leaders
    cdef public bint blocked              # nothing is sent until it is cleared: not yet part of the transaction
    cdef readonly Sequences sequences

    def __repr__(self):
        return f"<queue of {self.topic.name}-{self.partition}>"

    @property
    def name(self):
        return self.topic.name

    @property
    def everything(self):
        """Its batches that are not in flight, oldest first, the open one last."""
        cdef list found = self.waiting.items()
        if self.open is not None:
            found.append(self.open)
        return found

    @property
    def in_flight(self):
        """Its batches in flight, a copy."""
        cdef Batch batch = self.first_in_flight
        cdef list found = []
        while batch is not None:
            found.append(batch)
            batch = batch.next_in_flight
        return found

    def is_first(self, Batch batch):
        """Whether no batch that was opened before it is in flight or waiting."""
        cdef Batch other = self.first_in_flight
        while other is not None:
            if comes_before(other, batch):
                return False
            other = other.next_in_flight
        return self.waiting.is_empty() or not comes_before(<Batch>self.waiting.first(), batch)

    @property
    def head(self):
        """The batch to send next, or None: the oldest closed one, else the open one if it is due."""
        return self._head()

    cdef Batch _head(self):
        if not self.waiting.is_empty():
            return <Batch>self.waiting.first()
        if self.open is not None and self.open.due:
            return self.open
        return None

    cdef inline bint _is_held_up(self) noexcept:
        """Whether its sink is full: the next response looks here anyway."""
        return self.sink is not None and self.sink.full

    cpdef Batch take(self, list taken):
        """Moves the head to `taken` and counts it as in flight; it is closed from now on."""
        cdef bint is_open = self.waiting.is_empty()
        cdef Batch batch = self.open if is_open else <Batch>self.waiting.first()
        taken.append(batch)
        batch.left_behind = False
        if self.last_in_flight is None:
            self.first_in_flight = batch
        else:
            self.last_in_flight.next_in_flight = batch
        self.last_in_flight = batch
        if is_open:
            self.topic.owner._close_batch(self)
        else:
            self.waiting.drop_first()
        return batch

    def reenqueue(self, Batch batch):
        """Puts back a batch in flight that is to be sent again, before all that were opened after it."""
        self._insert(batch)
        self.forget(batch)
        self.sequences.acknowledged_by = -1
        self._leave_sink()
        self.topic.owner._mark_ready(self)

    cdef int _leave_leader(self) except -1:
        """Its next leader may have no state of the producer, whatever the last one still answers."""
        cdef Batch batch = self.first_in_flight
        while batch is not None:
            batch.left_behind = True
            batch = batch.next_in_flight
        self.sequences.acknowledged_by = -1
        return self._leave_sink()

    cdef int _leave_sink(self) except -1:
        """Its leader may have changed."""
        if self.sink is not None:
            self.sink.queues.strike(self, self.number)
            self.sink = None
        return 0

    cdef int _insert(self, Batch batch) except -1:
        """Inserts it into `waiting`, in the order of opening."""
        cdef Py_ssize_t place = 0
        while place < self.waiting.count and not comes_before(batch, <Batch>self.waiting.at(place)):
            place += 1
        self.waiting.insert(place, batch)
        return 0

    cdef bint forget(self, Batch batch):
        """No longer in flight; whether it was."""
        cdef Batch before = None
        cdef Batch found = self.first_in_flight
        while found is not None and found is not batch:
            before = found
            found = found.next_in_flight
        if found is None:
            return False
        if before is None:
            self.first_in_flight = batch.next_in_flight
        else:
            before.next_in_flight = batch.next_in_flight
        if self.last_in_flight is batch:
            self.last_in_flight = before
        batch.next_in_flight = None
        return True

    cdef int _remove(self, Batch batch) except -1:
        if self.forget(batch):
            return 0
        if batch is self.open:
            self.topic.owner._close_batch(self)
        else:
            self.waiting.remove(batch)
        return 0


cdef void number_queue(PyObject *queue, int64_t number) noexcept:
    (<PartitionQueue>queue).number = number


@cython.final
@cython.nonecheck(True)
cdef class TopicQueue:
    """A topic that records were sent to."""

    cdef readonly str name
    cdef Accumulator owner
    cdef list partitions                  # PartitionQueue by number, as far as the topic's partitions are known
    cdef dict unknown_partitions          # partition number -> PartitionQueue, for numbers not known yet
    cdef readonly PartitionQueue unassigned
    cdef list available                   # PartitionQueues to choose from without a key
    cdef PartitionQueue sticky
    cdef int64_t sticky_bytes
    cdef uint64_t turn                    # how many records were placed: for partitioners that count
    cdef list numbered                    # the list `available` that `numbers` and `available_numbers` are of
    cdef tuple numbers                    # what a callable partitioner is given
    cdef tuple available_numbers
    cdef public object topic_id           # of the topic that `partitions` are of; None: not known
    cdef bint is_dropped                  # the accumulator has forgotten it: records go to another one of the name
    cdef readonly int64_t pending_batches  # batches whose result is not known
    cdef readonly double used_at          # when the newest of its batches was opened
    cdef readonly int64_t batches_written  # into requests, again after an error, too
    cdef readonly int64_t records_written
    cdef readonly int64_t bytes_written
    cdef readonly int64_t bytes_gathered  # the same before compression
    cdef readonly int64_t largest_written  # in bytes
    cdef readonly double queued_s         # seconds from the opening of batches until they were written, together
    cdef readonly double longest_queued_s
    cdef public int64_t records_retried
    cdef readonly int64_t records_failed

    cdef void note_written(self, Batch batch, int64_t size, double now):
        """The batch is part of a request, with so many bytes."""
        cdef double queued = max(now - batch.created_at, 0.0)
        self.batches_written += 1
        self.records_written += batch.core.count
        self.bytes_written += size
        self.bytes_gathered += <int64_t>batch.core.used
        self.largest_written = max(self.largest_written, size)
        self.queued_s += queued
        self.longest_queued_s = max(self.longest_queued_s, queued)

    cdef void add_counts(self, TopicQueue other):
        """Counts what that one has written, too."""
        self.batches_written += other.batches_written
        self.records_written += other.records_written
        self.bytes_written += other.bytes_written
        self.bytes_gathered += other.bytes_gathered
        self.largest_written = max(self.largest_written, other.largest_written)
        self.queued_s += other.queued_s
        self.longest_queued_s = max(self.longest_queued_s, other.longest_queued_s)
        self.records_retried += other.records_retried
        self.records_failed += other.records_failed

    @property
    def known(self):
        """The number of its partitions; 0 while that is not known."""
        return len(self.partitions)

    cdef int number_partitions(self) except -1:
        """Makes `numbers` and `available_numbers` anew if the partitions have changed."""
        cdef list partitions = self.partitions
        cdef list available = self.available
        cdef tuple numbers, of_available
        cdef PartitionQueue queue
        if self.numbered is not available:
            numbers = tuple(range(len(partitions)))
            of_available = tuple([queue.partition for queue in available])
            self.numbers = numbers
            self.available_numbers = of_available
            self.numbered = available
        return 0

    @property
    def queues(self):
        """Every queue that may hold records."""
        return [*self.partitions, *self.unknown_partitions.values(), self.unassigned]

    @property
    def has_unassigned(self):
        """Whether records wait for partitions that are not known."""
        cdef PartitionQueue queue
        for queue in [*self.unknown_partitions.values(), self.unassigned]:
            if queue.open is not None or not queue.waiting.is_empty():
                return True
        return False
