# The sequence numbers of an idempotent producer, for each partition: the whole policy. No I/O, no clock.
#
# A broker keeps the epoch and the last five batches of each producer id in a partition. It takes the batch that follows
# the last one, answers a repeat of one of the five as it did the first time, and refuses all others
# (OUT_OF_ORDER_SEQUENCE_NUMBER). Where it has no state of the producer, it takes any sequence. Hence:
#
#   1  A batch that was on a wire keeps its sequence until the broker's answers prove that the log does not have it.
#   2  Batches that are sent again go before all new ones, and each after the one before it in the order of their
#      sequences. So five batches at most are unanswered, and a broker that has one of them recognises it.
#   3  The first batch of an epoch, at another leader, or after a try that failed, goes alone until it is acknowledged,
#      because that leader may have no state. No batch follows one that is in flight at another leader.
#
#   state        reached when                                a batch with a sequence   a new batch
#   STEADY       at first                                    as rules 2 and 3 allow    as rules 2 and 3 allow
#   UNRESOLVED   a batch with a sequence failed: the log     alone, oldest first       waits
#                may have it or not
#   GAP          a refusal proved that the log lacks the     waits                     waits
#                sequence before this one
#
#   UNRESOLVED -> STEADY   the last sequence that was assigned is acknowledged: the log has all before it
#   UNRESOLVED -> GAP      the oldest batch with a sequence is refused
#   UNRESOLVED, GAP -> STEADY
#                          nothing is in flight, and in UNRESOLVED no batch with a sequence waits: the partition begins
#                          again at 0 under another epoch, which shuts out requests of the old one that still arrive; so
#                          do the batches that wait, none of which can be in the log
#
# A refusal is proof only for the oldest batch with a sequence; the others were refused because they came too early. A
# batch that is refused although a later one was acknowledged fails: the broker lost its state in between, and the batch
# would be out of order, or twice, in the log. So does a part of a batch that was split after a try without an answer: a
# broker recognises the batch, but not its parts. The epoch is the partition's: others keep theirs, which brokers allow as
# they keep the state of each partition by itself. (KIP-360, and TransactionManager of the Java client.)

cpdef enum:
    STEADY = 0
    UNRESOLVED = 1
    GAP = 2

cdef enum:
    SEQUENCE_MASK = 0x7FFFFFFF
    HALF_OF_ALL_SEQUENCES = 0x40000000


@cython.final
@cython.nonecheck(True)
cdef class Sequences:
    """The producer id, the epoch and the sequence numbers of one partition."""

    cdef readonly int64_t producer_id     # -1: none yet
    cdef readonly int16_t producer_epoch
    cdef readonly int32_t next_sequence
    cdef readonly int32_t last_acknowledged   # the last sequence of the newest acknowledged batch; -1: none
    cdef int acknowledged_by              # the leader that acknowledged the last batch that went alone; -1: it has not
    cdef readonly int state

    def __cinit__(self):
        self.producer_id = -1
        self.producer_epoch = -1
        self.last_acknowledged = -1
        self.acknowledged_by = -1

    def __repr__(self):
        state = ("steady", "unresolved", "gap")[self.state]
        return f"<sequences of {self.producer_id}/{self.producer_epoch}, next {self.next_sequence}, {state}>"

    cdef inline bint owns(self, Batch batch) noexcept:
        """Whether the batch has a sequence of this epoch."""
        return (batch.base_sequence >= 0 and batch.producer_id == self.producer_id
                and batch.producer_epoch == self.producer_epoch)

    cpdef int assign(self, Batch batch) except -1:
        """Gives a batch that has no sequence the next one."""
        if batch.base_sequence < 0:
            batch.set_producer_state(self.producer_id, self.producer_epoch, self.next_sequence)
            self.next_sequence = (self.next_sequence + batch.core.count) & SEQUENCE_MASK
        return 0

    cpdef int begin(self, int64_t producer_id, int16_t producer_epoch) except -1:
        """Numbers from 0 on under that producer id and epoch."""
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.next_sequence = 0
        self.last_acknowledged = -1
        self.acknowledged_by = -1
        self.state = STEADY
        return 0

    cdef inline int is_to_be_taken(self, PartitionQueue queue, Batch head, int node) noexcept:
        """The head goes to that leader: alone if that leader acknowledged none before, or not the one before it."""
        if self.acknowledged_by != node or (head.base_sequence >= 0 and not self.continues(queue, head)):
            self.acknowledged_by = -1
        return 0

    cdef inline bint continues(self, PartitionQueue queue, Batch again) noexcept:
        """Whether a batch that is sent again is the next after those in flight and those that are acknowledged.

        Not so a part whose refusal would be taken for the end of it.
        """
        cdef Batch last = queue.last_in_flight
        cdef int32_t before = self.last_acknowledged
        if again.may_be_within:
            return False
        if last is not None:
            before = last_sequence(last) if self.owns(last) else -1
        return before >= 0 and self.owns(again) and (before + 1) & SEQUENCE_MASK == again.base_sequence

    cpdef int acknowledge(self, Batch batch, int node) noexcept:
        """That leader (-1: not known which) has the batch, which may have failed here meanwhile."""
        cdef int32_t last
        if not self.owns(batch):
            return 0
        last = last_sequence(batch)
        if self.last_acknowledged < 0 or is_at_or_after(last, self.last_acknowledged):
            self.last_acknowledged = last
        if self.state == UNRESOLVED and self._is_complete():
            self.state = STEADY
        if not batch.batch_result.done and not batch.left_behind:
            self.acknowledged_by = node
        return 0

    cpdef fail(self, Batch batch):
        """The batch ends without being acknowledged: whether the log has it is not known."""
        if self.state == STEADY and self.owns(batch) and not self._is_complete():
            self.state = UNRESOLVED

    cdef inline bint _is_complete(self) noexcept:
        """Whether the last sequence that was assigned is acknowledged."""
        return (self.last_acknowledged + 1) & SEQUENCE_MASK == self.next_sequence

    cpdef bint is_overtaken(self, Batch batch) except -1:
        """Whether a later batch was acknowledged."""
        return (self.owns(batch) and self.last_acknowledged >= 0
                and is_at_or_after(self.last_acknowledged, last_sequence(batch)))

    cpdef refuse(self, PartitionQueue queue, Batch batch):
        """The broker refused the sequence of the batch: proof of a gap if nothing before it is on its way."""
        if self.owns(batch) and queue.is_first(batch):
            self.state = GAP

    cpdef bint needs_epoch(self, PartitionQueue queue) except -1:
        """Whether nothing goes on without another epoch."""
        if self.state == STEADY or queue.first_in_flight is not None:
            return False
        return self.state == GAP or queue.waiting.is_empty() or (<Batch>queue.waiting.first()).base_sequence < 0

    def rewind(self):
        """The batches after the last acknowledged one were refused, so the log lacks them: their numbers are free."""
        self.next_sequence = (self.last_acknowledged + 1) & SEQUENCE_MASK
        self.state = STEADY

    cpdef renew(self, PartitionQueue queue, int64_t producer_id, int16_t producer_epoch):
        """Begins again, with all that waits; nothing is in flight."""
        cdef Batch batch
        for batch in queue.waiting.items():
            if batch.base_sequence >= 0:
                batch.set_producer_state(-1, -1, -1)
        self.begin(producer_id, producer_epoch)


cdef inline int32_t last_sequence(Batch batch) noexcept:
    return (batch.base_sequence + batch.core.count - 1) & SEQUENCE_MASK


cdef inline bint is_at_or_after(int32_t one, int32_t other) noexcept:
    """Sequences begin at 0 again after 2**31 - 1."""
    return ((one - other) & SEQUENCE_MASK) < HALF_OF_ALL_SEQUENCES


cdef bint may_send(PartitionQueue queue, Batch head, Sink sink) noexcept:
    """Whether `head`, the partition's next batch, may go to the sink now.

    Without sequences the order is kept where one request may be in flight: then nothing of the partition may be in
    flight, be it to another leader.
    """
    cdef Sequences sequences = queue.sequences
    if queue.first_in_flight is None:
        return sequences.state == STEADY or (sequences.state == UNRESOLVED and head.base_sequence >= 0)
    if sink.max_in_flight == 1 or sequences.state != STEADY:
        return False
    if head.base_sequence >= 0:
        return sequences.acknowledged_by == sink.node and sequences.continues(queue, head)
    return queue.last_in_flight.base_sequence < 0 or sequences.acknowledged_by == sink.node
