# Between a producer and its reactor: how send() and a Delivery get the engine to run.

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

    def _too_late(self, Delivery delivery not None, timeout, now):
        """Returns the error for a delivery that was waited for in vain: it says what the batch waits for."""
        cdef Batch batch = delivery._follow().batch
        why = self.reactor.core.why_not_connected(now)
        if not why and batch is not None:
            why = self.sender.why_waiting(batch)
        error = _errors.KafkaTimeoutError(f"{delivery!r}: not delivered within {timeout:g} s; {why}")
        error.__cause__ = self.reactor.core.connect_error()
        return error
