# Between a producer and its driver: how send() and a Delivery get the engine to run.
#
# Threads wait here, for a Delivery and for room, without the door of their client: that costs a twentieth of a wait.

from cpython.float cimport PyFloat_CheckExact

cdef double QUICK_S = 0.05


@cython.final
@cython.nonecheck(True)
cdef class ProducerHooks:
    """Runs the engine for send() and for Deliveries that are waited for. Does not refer to the Producer itself."""

    cdef ReactorBase reactor
    cdef SenderBase sender
    cdef Accumulator accumulator
    cdef object pump
    cdef object send_all
    cdef object seconds                   # what a user gave as a timeout, as a float; raises ConfigError
    cdef double max_block
    cdef int64_t answered                 # requests, as `let_drain` saw last, and ...
    cdef int64_t depth                    # ... how many times as much may be queued since, as none of them came

    def __init__(self, ReactorBase reactor not None, SenderBase sender not None, Accumulator accumulator not None,
                 seconds not None, double max_block):
        self.reactor = reactor
        self.sender = sender
        self.accumulator = accumulator
        self.pump = sender.pump
        self.send_all = sender.send_all
        self.seconds = seconds
        self.max_block = max_block
        self.depth = 1
        accumulator.on_attention = self.on_attention
        accumulator.wait_for = self.wait_for
        accumulator.wait_for_room = self.wait_for_room
        accumulator.let_drain = self.let_drain
        accumulator.wait_for_partitions = self.wait_for_partitions

    def on_attention(self):
        """Something can be sent, or is to be timed."""
        try:
            self.reactor._call(self.pump, True)
        except _errors.ConcurrentUseError:  # a log handler or a finalizer sends: its record goes with the next step
            self.accumulator.after_step.append(self.on_attention)

    def wait_for(self, Delivery delivery not None, timeout):
        """Drives until the delivery's result is known; raises KafkaTimeoutError after `timeout` seconds."""
        cdef Batch batch = decider_of(delivery).batch
        if timeout is not None and not (PyFloat_CheckExact(timeout) and <double>timeout >= 0):
            timeout = self.seconds(timeout)
        if batch is not None and not batch.closed:
            self.reactor._call(_partial(self.sender.expedite, delivery), True)
        if not self.reactor.wait(delivery.done, timeout) and not decider_of(delivery).done:
            raise self.reactor._call(_partial(self._too_late, delivery, timeout), False)

    def wait_for_room(self, int64_t size, double since):
        """Drives until a record of that size fits; raises KafkaTimeoutError `max_block` seconds after `since`."""
        has_room = _partial(self._has_room, size)
        self.reactor._call(self.send_all, True)
        if not self.reactor.wait(has_room, max(since + self.max_block - kw_fine_seconds(), 0.0)) and not has_room():
            raise self.reactor._call(self._no_room, True)

    def let_drain(self):
        """Drives a moment where brokers answer quickly and are as busy as may be.

        What is queued beyond that is delivered no sooner, takes memory, and is no longer in the processor's caches when
        it is sent. Where answers are slow, or do not come, `buffer_memory` is there to be filled.
        """
        cdef SenderBase sender = self.sender
        if self.answered != sender.answered:
            self.answered = sender.answered
            self.depth = 1
        if sender.answer_s > QUICK_S or not sender.is_crowded(self.depth):
            return
        try:
            if not self.reactor.wait(self._has_drained, QUICK_S):
                self.depth *= 2
        except _errors.ConcurrentUseError:  # a callback sends
            pass

    def _has_drained(self):
        return not self.sender.is_crowded(self.depth)

    def _has_room(self, int64_t size):
        """Whether a record of that size fits, or nothing is taken any more."""
        cdef Accumulator accumulator = self.accumulator
        return accumulator.used + size <= accumulator.buffer_memory or accumulator.why_closed is not None

    def _no_room(self, now):
        return self.sender.no_room(self.max_block)

    def wait_for_partitions(self, TopicQueue topic not None):
        """Drives until the topic's partitions are known, or the records that waited for them have failed."""
        self.reactor.wait(_partial(self._is_placed, topic), None)

    def _is_placed(self, TopicQueue topic not None):
        return topic.known > 0 or (topic.unassigned.waiting.is_empty() and topic.unassigned.open is None)

    def expedite(self, Delivery delivery not None):
        """A task waits for the delivery: ends its batch's linger, once for the whole batch."""
        cdef Batch batch = decider_of(delivery).batch
        if batch is not None and not batch.closed and not batch.awaited:
            batch.awaited = True
            self.reactor._call(_partial(self.sender.expedite, delivery), True)

    def _too_late(self, Delivery delivery not None, timeout, now):
        """Returns the error for a delivery that was waited for in vain: it says what the batch waits for."""
        cdef Batch batch = decider_of(delivery).batch
        why = self.reactor.core.why_not_connected(now)
        if not why and batch is not None:
            why = self.sender.why_waiting(batch)
        error = _errors.KafkaTimeoutError(f"{delivery!r}: not delivered within {timeout:g} s; {why}")
        error.__cause__ = self.reactor.core.connect_error()
        return error


@cython.final
@cython.nonecheck(True)
cdef class LoopHooks:
    """The same on an event loop: what one turn of the loop sends goes out at its end. Does not refer to the Producer.

    It goes out at the first `await` of a Delivery where the turn before had no other: one task that sends and awaits in
    turn needs no more turns of the loop than a bare exchange would.
    """

    cdef LoopDriverBase driver
    cdef SenderBase sender
    cdef Accumulator accumulator
    cdef object pump
    cdef bint scheduled                   # `at_end_of_turn` is to run
    cdef int awaited                      # in this turn so far
    cdef bint eager                       # one at most was awaited in the turn before
    cdef public int64_t wanted            # bytes of the record that was refused last; drain() waits for so much room

    def __init__(self, LoopDriverBase driver not None, SenderBase sender not None, Accumulator accumulator not None):
        self.driver = driver
        self.sender = sender
        self.accumulator = accumulator
        self.pump = sender.pump
        accumulator.on_attention = self.on_attention
        accumulator.wait_for = self.wait_for
        accumulator.wait_for_room = self.wait_for_room
        accumulator.future_for = self.future_for
        accumulator.settle_future = self.settle_future

    def on_attention(self):
        """Something can be sent, or is to be timed: at the end of this turn of the loop."""
        if not self.scheduled:
            self.driver._loop.call_soon(self.at_end_of_turn)
            self.scheduled = True

    def at_end_of_turn(self):
        """Sends what is to be sent."""
        self.driver.turned_at = kw_fine_seconds()
        self.scheduled = False
        self.eager = self.awaited <= 1
        self.awaited = 0
        self.driver.step(self.pump)

    def future_for(self, Delivery delivery not None):
        """Returns a future for a task that waits; what it waits for does not linger."""
        cdef Batch batch = decider_of(delivery).batch
        self.driver.check_loop()
        if batch is not None and not batch.closed and not batch.due and not batch.awaited:
            batch.awaited = True
            self.sender._awaited[delivery] = None
            self.on_attention()
        self.awaited += 1
        if self.eager and self.scheduled and self.awaited == 1:
            self.driver.step(self.pump)
        return self.driver._loop.create_future()

    def settle_future(self, future):
        """Wakes the task."""
        if not future.done():
            try:
                future.set_result(None)
            except RuntimeError:
                pass  # its loop is closed: nobody waits

    def wait_for(self, Delivery delivery not None, timeout):
        """Refuses to wait: the loop would not turn meanwhile."""
        if timeout is not None and timeout == 0:
            raise _errors.KafkaTimeoutError(f"{delivery!r}: not delivered yet")
        raise _errors.ConcurrentUseError(f"{delivery!r}: its result is not known yet, and to wait for it here would stop "
                                         "the event loop: await the delivery")

    def is_half_free(self, int64_t size):
        """Whether half of `buffer_memory` is free, and room for such a record; or nothing is taken any more."""
        cdef int64_t used = self.accumulator.used
        return self.accumulator.buffer_memory - used >= max(used, size) or self.accumulator.why_closed is not None

    def wait_for_room(self, int64_t size, double since):
        """Refuses to wait, as above."""
        self.wanted = size
        raise _errors.BufferFull(
            f"{self.accumulator.used} of buffer_memory={self.accumulator.buffer_memory} bytes wait to be delivered: "
            "await drain() between sends")
