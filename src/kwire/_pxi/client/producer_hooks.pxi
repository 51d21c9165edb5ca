# Between a producer and its driver: how send() and a Delivery get the engine to run.

from cpython.float cimport PyFloat_CheckExact


@cython.final
@cython.nonecheck(True)
cdef class ProducerHooks:
    """Runs the engine for send() and for Deliveries that are waited for. Does not refer to the Producer itself."""

    cdef ReactorBase reactor
    cdef SenderBase sender
    cdef Accumulator accumulator
    cdef object pump
    cdef object seconds                   # what a user gave as a timeout, as a float; raises ConfigError

    def __init__(self, ReactorBase reactor not None, SenderBase sender not None, Accumulator accumulator not None,
                 seconds not None):
        self.reactor = reactor
        self.sender = sender
        self.accumulator = accumulator
        self.pump = sender.pump
        self.seconds = seconds
        accumulator.on_attention = self.on_attention
        accumulator.wait_for = self.wait_for

    def on_attention(self):
        """Something can be sent, or is to be timed."""
        try:
            self.reactor._call(self.pump, True)
        except _errors.ConcurrentUseError:  # a log handler or a finalizer sends: its record goes with the next step
            self.accumulator.after_step.append(self.on_attention)

    def wait_for(self, Delivery delivery not None, timeout):
        """Drives until the delivery's result is known; raises KafkaTimeoutError after `timeout` seconds."""
        cdef Batch batch = delivery._follow().batch
        if timeout is not None and not (PyFloat_CheckExact(timeout) and <double>timeout >= 0):
            timeout = self.seconds(timeout)
        if batch is not None and not batch.closed:
            self.reactor._call(_partial(self.sender.expedite, delivery), True)
        if not self.reactor.wait(delivery.done, timeout) and not delivery._follow().done:
            raise self.reactor._call(_partial(self._too_late, delivery, timeout), False)

    def expedite(self, Delivery delivery not None):
        """A task waits for the delivery: ends its batch's linger, once for the whole batch."""
        cdef Batch batch = delivery._follow().batch
        if batch is not None and not batch.closed and not batch.awaited:
            batch.awaited = True
            self.reactor._call(_partial(self.sender.expedite, delivery), True)

    def _too_late(self, Delivery delivery not None, timeout, now):
        """Returns the error for a delivery that was waited for in vain: it says what the batch waits for."""
        cdef Batch batch = delivery._follow().batch
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
        cdef Batch batch = delivery._follow().batch
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
            future.set_result(None)

    def wait_for(self, Delivery delivery not None, timeout):
        """Refuses to wait: the loop would not turn meanwhile."""
        if timeout is not None and timeout == 0:
            raise _errors.KafkaTimeoutError(f"{delivery!r}: not delivered yet")
        raise _errors.ConcurrentUseError(f"{delivery!r}: its result is not known yet, and to wait for it here would stop "
                                         "the event loop: await the delivery")

    def wait_for_room(self, int64_t size, double since):
        """Refuses to wait, as above."""
        self.wanted = size
        raise _errors.BufferFull(
            f"{self.accumulator.used} of buffer_memory={self.accumulator.buffer_memory} bytes wait to be delivered: "
            "await drain() between sends")
