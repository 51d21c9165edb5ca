# The compiled front of the producers: send() and send_many(), as their users call them.
#
# The last keywords of send() are those of other clients, which it refuses with what to do instead; its signature, for
# people and tools, is written by hand without them. A `**keywords` would make a dict in every call.

cdef extern from "quick_calls.h":
    void kw_stand_before_send(object cls, object (*quick)(object, PyObject *, PyObject *, PyObject *, PyObject *),
                              PyObject *key, PyObject *partition) noexcept


cdef class ProducerBase:
    """The base of every producer; the constructor sets `_accumulator`."""

    cdef Accumulator _sent_to             # None in one that was not initialised, and in one that serializes
    cdef Accumulator _serialized_to       # in one that serializes; so send() of the others need not ask
    cdef object _serialize
    cdef object _intercept

    @property
    def _accumulator(self):
        """Where records wait. For the package's own use."""
        return self._serialized_to if self._sent_to is None else self._sent_to

    @_accumulator.setter
    def _accumulator(self, Accumulator accumulator not None):
        self._sent_to = accumulator

    def _serialize_by(self, serialize not None):
        """From now on what is sent are the (value, key, headers) that `serialize(topic, value, key, headers)` returns.
        For the package's own use."""
        self._serialize = serialize
        self._take_the_long_way()

    def _intercept_by(self, intercept not None):
        """From now on `intercept(send, topic, value, key, partition, timestamp, headers, nowait)` sends, by that `send`
        of the same arguments. For the package's own use."""
        self._intercept = intercept
        self._take_the_long_way()

    cdef int _take_the_long_way(self) except -1:
        if self._sent_to is not None:
            self._serialized_to = self._sent_to
            self._sent_to = None
        return 0

    @cython.embedsignature(False)
    def send(self, topic, value, *, key=None, partition=None, timestamp=None, headers=(), bint nowait=False,
             callback=None, on_delivery=None, timestamp_ms=None):
        """send($self, topic, value, *, key=None, partition=None, timestamp=None, headers=(), nowait=False)\n--\n
        Hands one record over for delivery and returns its Delivery at once.

        value and key are bytes-like or None; a record without `partition` goes where the setting `partitioner` says: by
        default where its key's murmur2 hash leads, as with Apache's client, and without a key to a partition that
        changes with every batch. timestamp is int milliseconds, a datetime (a naive one is local time, as everywhere in
        Python), or None for now, which is between the call and its return; headers are a sequence of (str, bytes or
        None).
        Blocks up to max_block_ms while `buffer_memory` is used up (then KafkaTimeoutError), or raises BufferFull with
        nowait. Raises LimitError for a record above max_request_size and ConfigError for a name that no topic can have;
        everything later goes to the Delivery.
        """
        if callback is not None or on_delivery is not None or timestamp_ms is not None:
            refuse_foreign_keyword(callback, on_delivery)
        if self._sent_to is None:
            return self._send_otherwise(topic, value, key, partition, timestamp, headers, nowait)
        return self._sent_to.send(topic, value, key, partition, timestamp, headers, nowait)

    cdef object _send_otherwise(self, object topic, object value, object key, object partition, object timestamp,
                                object headers, bint nowait):
        if self._intercept is None:
            return self._send_serialized(topic, value, key, partition, timestamp, headers, nowait)
        return self._intercept(self._send_serialized, topic, value, key, partition, timestamp, headers, nowait)

    def _send_serialized(self, object topic, object value, object key, object partition, object timestamp,
                         object headers, bint nowait):
        """Sends one record, whose value, key and headers are serialized first if that was asked for."""
        if self._serialized_to is None:
            raise RuntimeError("the producer was not initialised")
        if self._serialize is not None:
            value, key, headers = self._serialize(topic, value, key, headers)
        return self._serialized_to.send(topic, value, key, partition, timestamp, headers, nowait)

    def send_many(self, topic, items, *, partition=None, bint nowait=False):
        """Hands many records over and returns the list of their Deliveries, in order.

        items: an iterable of bytes (values), (value, key), (value, key, timestamp, headers) or Records; or columns,
        that is anything with `__arrow_c_array__` or `__arrow_c_stream__`, such as a table of pyarrow, pandas, Polars or
        DuckDB: value, and optionally key, timestamp and headers as in Records.to_arrow(). A warning names columns that
        are not used. Raises what `send` raises; records handed over before that are on their way, and a BufferFull or
        KafkaTimeoutError has their Deliveries as `deliveries`.
        """
        cdef list deliveries = []
        cdef Accumulator accumulator = self._accumulator
        if accumulator is None:
            raise RuntimeError("the producer was not initialised")
        try:
            if hasattr(items, "__arrow_c_array__") or hasattr(items, "__arrow_c_stream__"):
                accumulator.send_arrow(topic, items, partition, nowait, deliveries)
            elif self._sent_to is None:
                self._send_objects(topic, items, partition, nowait, deliveries)
            else:
                self._send_items(topic, items, partition, nowait, deliveries)
        except (_errors.BufferFull, _errors.KafkaTimeoutError) as error:
            error.deliveries = deliveries
            raise
        return deliveries

    cdef int _send_items(self, topic, items, partition, bint nowait, list deliveries) except -1:
        cdef tuple fields
        for item in items:
            if PyBytes_Check(item):
                deliveries.append(self._sent_to.send(topic, item, None, partition, None, None, nowait))
            else:
                fields = item_fields(item)
                deliveries.append(self._sent_to.send(topic, fields[0], fields[1], partition, fields[2], fields[3],
                                                     nowait))
        return 0

    cdef int _send_objects(self, topic, items, partition, bint nowait, list deliveries) except -1:
        """As `_send_items`; what is neither a tuple nor a Record is a value, whatever it is."""
        cdef tuple fields
        for item in items:
            fields = item_fields(item) if isinstance(item, (tuple, Record)) else (item, None, None, None)
            deliveries.append(self._send_otherwise(topic, fields[0], fields[1], partition, fields[2], fields[3],
                                                   nowait))
        return 0


cdef object send_quickly(object producer, PyObject *topic, PyObject *value, PyObject *key, PyObject *partition):
    """`ProducerBase.send` of bytes to an open batch; None where it takes more."""
    if (<ProducerBase>producer)._sent_to is None:
        return None
    return (<ProducerBase>producer)._sent_to.send_bytes(topic, value, key, partition)


cdef str _key_name = _sys.intern("key")
cdef str _partition_name = _sys.intern("partition")
kw_stand_before_send(ProducerBase, send_quickly, <PyObject *>_key_name, <PyObject *>_partition_name)


cdef class LoopProducerBase(ProducerBase):
    """The base of a producer on an event loop; the constructor sets `_accumulator` and `_driver`."""

    cdef public LoopDriverBase _driver

    @cython.embedsignature(False)
    def send(self, topic, value, *, key=None, partition=None, timestamp=None, headers=(), bint nowait=False,
             callback=None, on_delivery=None, timestamp_ms=None):
        """send($self, topic, value, *, key=None, partition=None, timestamp=None, headers=(), nowait=False)\n--\n
        Hands one record over for delivery and returns its Delivery at once; `await` that for the RecordMetadata.

        value and key are bytes-like or None; a record without `partition` goes where the setting `partitioner` says: by
        default where its key's murmur2 hash leads, as with Apache's client, and without a key to a partition that
        changes with every batch. timestamp is int milliseconds, a datetime (a naive one is local time, as everywhere in
        Python), or None for now, which is between the call and its return; headers are a sequence of (str, bytes or
        None).
        Never waits: raises BufferFull while `buffer_memory` is used up, for which `await drain()` waits (so `nowait`
        changes nothing here). Raises LimitError for a record above max_request_size and ConfigError for a name that no
        topic can have; everything later goes to the Delivery.
        """
        if callback is not None or on_delivery is not None or timestamp_ms is not None:
            refuse_foreign_keyword(callback, on_delivery)
        if self._sent_to is None:
            if self._serialized_to is not None:
                self._driver.check_loop()
            return self._send_otherwise(topic, value, key, partition, timestamp, headers, False)
        self._driver.check_loop()
        return self._sent_to.send(topic, value, key, partition, timestamp, headers, False)

    def send_many(self, topic, items, *, partition=None, bint nowait=False):
        """Hands many records over and returns the list of their Deliveries, in order. Never waits, as `send`.

        items: an iterable of bytes (values), (value, key), (value, key, timestamp, headers) or Records; or columns,
        that is anything with `__arrow_c_array__` or `__arrow_c_stream__`, such as a table of pyarrow, pandas, Polars or
        DuckDB: value, and optionally key, timestamp and headers as in Records.to_arrow(). A warning names columns that
        are not used. Raises what `send` raises; records handed over before that are on their way, and a BufferFull has
        their Deliveries as `deliveries`. The loop stands still meanwhile, about 0.2 s for a million records: hand over
        a part at a time where that matters.
        """
        if self._accumulator is None:
            raise RuntimeError("the producer was not initialised")
        self._driver.check_loop()
        return ProducerBase.send_many(self, topic, items, partition=partition)
