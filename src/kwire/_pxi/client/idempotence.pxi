# The producer id and epoch of an idempotent producer: the compiled half of engine/producer/idempotence.py. No I/O, no clock.

# The states of the producer's id; nothing is sent in the states WANTED and ASKING.
cdef object _off = "off", _wanted = "wanted", _asking = "asking", _known = "known", _refused = "refused"
OFF, WANTED, ASKING, KNOWN, REFUSED = _off, _wanted, _asking, _known, _refused


@cython.nonecheck(True)
cdef class IdempotenceBase:
    """Producer id and epoch: the base of Idempotence. `state` is one of OFF, WANTED, ASKING, KNOWN and REFUSED."""

    cdef public object state
    cdef public bint not_offered          # by the brokers asked so far
    cdef public int64_t producer_id
    cdef public int16_t epoch
    cdef public object error              # why there is none, where `state` is REFUSED; else None

    # -- for the subclass to define -------------------------------------------------------------------------------

    def ask(self, double now):
        """Asks any broker for an id, unless that was done or must wait."""
        raise NotImplementedError

    def may_ask_again(self, int node):
        """Whether that broker offers what others did not."""
        raise NotImplementedError

    def ask_again(self, int node, double now):
        """Asks that broker."""
        raise NotImplementedError
