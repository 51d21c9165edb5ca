# From batches that are ready to Produce requests, and from responses to results: the compiled half of engine/producer/sender.py.
#
# No I/O, no clock. Rare events, errors above all, are handled in the subclass.


@cython.nonecheck(True)
cdef class SenderBase:
    """Moves the batches of one accumulator to the leaders of their partitions."""

    cdef readonly CoreBase _core
    cdef readonly Accumulator _accumulator
    cdef readonly int _acks
    cdef readonly int _codec
    cdef readonly object _level
    cdef readonly int _max_in_flight
    cdef readonly int64_t _max_bytes
    cdef readonly int _timeout_ms
    cdef public IdempotenceBase identity
    cdef public object _unknown_topics
    cdef public dict _waiting_topics      # of `_unknown_topics`
    cdef public dict _sinks               # node id -> Sink
    cdef public bint _by_topic_id         # every topic's id is known
    cdef readonly dict _awaited           # Delivery -> None: a thread waits for it
    cdef readonly set _unanswered         # nodes that took requests without a response (acks=0)
    cdef public object _closing           # None, or what close() waits for
    cdef readonly dict _unresolved        # PartitionQueue -> None: its sequences are not steady
    cdef readonly set _without_sequences  # PartitionQueues whose log is in a format from before idempotence
    cdef public Timer _deadline
    cdef ProduceRequestWriter form
    cdef public object transactional_id  # None: not transactional
    cdef public int newest_version        # of Produce
    cdef public bint has_sent             # some batch was taken into a request since this was cleared
    cdef public double first_sent_at      # of the first answered request since `first_answered_at` was cleared
    cdef public double first_answered_at  # 0: there was none
    cdef readonly int64_t answered        # requests so far
    cdef double answer_s                  # how long the last of them took
    cdef public bint needs_turn           # `_take_turn` is to be called at the end of a pump ...
    cdef public bint turns_when_empty     # ... of one that finds everything delivered

    def __init__(self, core, accumulator, settings, int codec, request):
        self._core = core
        self._accumulator = accumulator
        self._acks = settings.required_acks
        self._codec = codec
        self._level = settings.level
        self._max_in_flight = settings.max_in_flight_requests_per_connection
        self._max_bytes = settings.max_request_size
        self._timeout_ms = settings.request_timeout_ms
        self.transactional_id = settings.transactional_id
        self.newest_version = FIRST_WITH_TOPIC_IDS
        self._sinks = {}
        self._awaited = {}
        self._unanswered = set()
        self._unresolved = {}
        self._without_sequences = set()
        self.form = ProduceRequestWriter(request)

    cpdef pump(self, double now):
        """Sends what is ready and can be sent."""
        cdef Accumulator accumulator = self._accumulator
        cdef PartitionQueue queue
        cdef Sink sink
        if accumulator.unknown_topics or self._waiting_topics:
            self._wake_at("unknown topics", self._unknown_topics.look(now))
        if self._awaited:
            self._expedite_all()
        if not accumulator.lingering.is_empty():
            self._wake_at("linger", accumulator.expire_linger(now))
        if self._deadline is None and not accumulator.unfinished.is_empty():
            self._await_deadline()
        if self._unresolved:
            self._resolve_sequences(now)
        if self.identity.state is _wanted or self.identity.state is _asking:
            if not accumulator.unfinished.is_empty():
                self.identity.ask(now)
            return
        for queue in accumulator.route_ready():
            self._route(queue, now)
        if PyList_GET_SIZE(accumulator.held) > 0:
            self._admit(now)
        for sink in self._sinks.values():
            if not sink.queues.is_empty():
                self._send_to(sink, now)
        if self.needs_turn or (self.turns_when_empty and accumulator.unfinished.is_empty()):
            self._take_turn(now)
        if self._closing is not None:
            self._advance_closing(now)

    cpdef send_all(self, double now):
        """Sends what lingers, too."""
        self._accumulator.make_all_due()
        self.pump(now)

    def expedite(self, Delivery delivery, double now):
        """A thread waits for this record: ends its batch's linger as soon as its leader has no request of ours."""
        if not decider_of(delivery).done:
            self._awaited[delivery] = None
            self.pump(now)

    cdef int _send_to(self, Sink sink, double now) except -1:
        cdef PendingProduce call
        cdef int before
        if sink.node < 0:
            return 0
        if self.identity.not_offered and self.identity.may_ask_again(sink.node):
            self.identity.ask_again(sink.node, now)
            return 0
        if self.identity.state is _refused:
            self._give_up(sink, self.identity.error)
            return 0
        if sink.throttled_until > now:
            self._wake_at(f"quiet {sink.node}", sink.throttled_until)
            return 0
        while not sink.full and sink.can_send(now) and self._may_send(sink):
            call = self._new_call(sink, now)
            before = sink.in_flight
            sink.count(1)
            self._core.begin(call, now)
            if not call.batches and sink.in_flight == before:
                return 0
        if sink.retry_at > now:
            self._wake_at(f"retry {sink.node}", sink.retry_at)
        return 0

    cdef bint is_crowded(self, int64_t depth):
        """Whether some broker has as many requests as it may, and `depth` times PLENTY is queued for each busy one."""
        cdef Sink sink
        cdef bint full = False
        cdef int64_t enough = 0
        for sink in self._sinks.values():
            if sink.in_flight > 0:
                enough += depth * PLENTY
                full = full or sink.full
        return full and self._accumulator.queued >= enough

    cdef PendingProduce _new_call(self, Sink sink, double now):
        cdef PendingProduce call = PendingProduce.__new__(PendingProduce)
        call._begin(sink.node, PRODUCE_KEY,
                    min(self.newest_version, FIRST_WITH_TOPIC_IDS if self._by_topic_id else FIRST_WITH_TOPIC_IDS - 1),
                    self._core.usual_timeout)
        call.expect_response = self._acks != 0
        call.sender = self
        call.sink = sink
        call.batches = []
        call.topic_ids = {}
        call.then = now
        return call

    cdef bint _may_send(self, Sink sink) except -1:
        """Without a connection one request at a time: it takes its batches when it is written."""
        return sink.in_flight == 0 or self._core.versions(sink.node) is not None

    # -- one request ----------------------------------------------------------------------------------------------

    cdef object _build(self, PendingProduce call, int version):
        cdef PartitionQueue queue
        cdef TopicQueue known = None
        cdef Batch batch
        cdef Buffer data
        cdef int64_t room = self._max_bytes - ROOM_FOR_THE_REST
        if self.identity.state is _wanted or self.identity.state is _asking or (
                self.identity.not_offered and self.identity.may_ask_again(call.sink.node)):
            raise self.nothing_to_send(call.sink)
        for queue in call.sink.sendable(call.then):
            if call.batches and queue._head().bytes_to_send() > room:
                break
            if version >= FIRST_WITH_TOPIC_IDS and queue.topic is not known:
                if not self._knows_id(queue.topic.name, call):
                    continue
                known = queue.topic
            batch = call.sink.take(queue, call.batches)
            data = self._seal(batch, call, version)
            if data is not None:
                queue.topic.note_written(batch, data.size, call.then)
                room -= data.size
        if not call.batches:
            raise self.nothing_to_send(call.sink)
        self.has_sent = True
        return self.form.made_for(self)

    cdef bint _knows_id(self, str topic, PendingProduce call) except -1:
        if topic not in call.topic_ids:
            topic_id = self._core.cluster.topic_id(topic)
            if topic_id is no_uuid():
                return False
            call.topic_ids[topic] = topic_id
        return True

    cdef Buffer _seal(self, Batch batch, PendingProduce call, int version):
        """The bytes of a batch that was taken; None if it turned out unsendable."""
        cdef int magic = 2 if version >= FIRST_WITH_MAGIC_2 else 1 if version == FIRST_WITH_MAGIC_1 else 0
        if magic < 2 and batch.has_headers:
            call.batches.remove(batch)
            self._without_headers(batch, call.sink, magic)
            return None
        if magic == 0 and batch.has_stamps():
            call.batches.remove(batch)
            self._without_timestamps(batch, call.sink)
            return None
        try:
            if self._codec == ZSTD_CODEC and version < FIRST_WITH_ZSTD:
                raise _errors.UnknownCodecError(
                    f"broker {call.sink.node} speaks Produce {version}, and zstd begins with version {FIRST_WITH_ZSTD} "
                    "(Kafka 2.1): use lz4, snappy or gzip", "compression")
            if magic == 2 and self.identity.state is _known:
                self._assign_sequence(batch.queue, batch)
            return batch.seal(magic, self._codec, self._level)
        except _errors.KafkaError as error:
            call.batches.remove(batch)
            self._fail(batch, error)
            return None

    cdef int _assign_sequence(self, PartitionQueue queue, Batch batch) except -1:
        if self._without_sequences and queue in self._without_sequences:
            batch.set_producer_state(-1, -1, -1)
            return 0
        if queue.sequences.producer_id < 0:
            queue.sequences.begin(self.identity.producer_id, self.identity.epoch)
        return queue.sequences.assign(batch)

    cpdef _leave_unresolved(self, Batch batch):
        """The batch fails: if it had a sequence, the log may or may not have it."""
        if batch.base_sequence >= 0:
            batch.queue.sequences.fail(batch)
            self._unresolved[batch.queue] = None

    # -- its end --------------------------------------------------------------------------------------------------

    cdef int _count_answer(self, PendingProduce call, double now) except -1:
        call.sink.count(-1)
        self.answered += 1
        self.answer_s = now - call.sent_at
        if self.first_answered_at == 0:
            self.first_sent_at, self.first_answered_at = call.sent_at, now
        return 0

    cdef int _on_all_written(self, PendingProduce call, const uint8_t **rows, int32_t throttle_ms, double now) except -1:
        """The response has a row for each batch, where `rows` say, and all were written."""
        cdef Py_ssize_t i
        self._count_answer(call, now)
        for i in range(PyList_GET_SIZE(call.batches)):
            self._on_written(<Batch>call.batches[i], call.sink, <int64_t>load_u64(rows[i] + 6),
                             <int64_t>load_u64(rows[i] + 14) if call.version >= FIRST_WITH_APPEND_TIME else -1)
        self._throttle(call.sink, throttle_ms, now)
        self.pump(now)
        return 0

    cdef int _on_written(self, Batch batch, Sink sink, int64_t base_offset, int64_t append_time) except -1:
        batch.queue.sequences.acknowledge(batch, sink.node)
        if not batch.batch_result.done:
            self._accumulator.complete(batch, base_offset, append_time, None)
        return 0

    cdef int _throttle(self, Sink sink, int32_t throttle_ms, double now) except -1:
        if throttle_ms > 0:
            sink.throttled_until = now + self.throttle_s(throttle_ms)
        return 0

    cdef int _on_answer(self, PendingProduce call, response, double now) except -1:
        cdef Batch batch
        cdef dict left
        self._count_answer(call, now)
        if response is None:
            self._unanswered.add(call.sink.node)
            for batch in call.batches:
                self._accumulator.complete(batch, -1, -1, None)
        else:
            left = call.by_place()
            if response.node_endpoints:
                self._take_endpoints(response.node_endpoints, now)
            for topic in response.responses:
                name = topic.topic_id.int if call.topic_ids else topic.name
                for row in topic.partition_responses:
                    batch = left.pop((name, row.index), None)
                    if batch is None:
                        continue
                    if row.error_code == 0:
                        self._on_written(batch, call.sink, row.base_offset, row.log_append_time_ms)
                    elif not batch.batch_result.done:
                        self._on_no_success(batch, row, now)
            for batch in left.values():
                if not batch.batch_result.done:
                    self._on_no_success(batch, None, now)
            self._throttle(call.sink, response.throttle_time_ms, now)
        self.pump(now)
        return 0

    # -- for the subclass to define -------------------------------------------------------------------------------

    def throttle_s(self, throttle_time_ms):
        """The pause that a response asks for, in seconds."""
        raise NotImplementedError

    def no_room(self, double waited):
        """Returns the error for a record that found no room for `waited` seconds."""
        raise NotImplementedError

    def why_waiting(self, Batch batch):
        """Says in words why the batch is not delivered yet."""
        raise NotImplementedError

    def nothing_to_send(self, Sink sink):
        """The error that ends a request which found no batch."""
        raise NotImplementedError

    def _route(self, PartitionQueue queue, double now):
        """Adds the queue to the sink of its leader."""
        raise NotImplementedError

    def _give_up(self, Sink sink, error):
        """Fails all that waits in the sink."""
        raise NotImplementedError

    def _without_headers(self, Batch batch, Sink sink, int magic):
        """The sink's broker takes no record headers: fails the records of the batch that have some."""
        raise NotImplementedError

    def _without_timestamps(self, Batch batch, Sink sink):
        """The sink's broker stores no timestamps: fails the records of the batch whose timestamp the caller gave."""
        raise NotImplementedError

    def _fail(self, Batch batch, error):
        """Ends the batch with an error."""
        raise NotImplementedError

    def _on_no_success(self, Batch batch, row, double now):
        """The response has an error code for the batch, or (`row` is None) nothing at all."""
        raise NotImplementedError

    def _on_error(self, PendingProduce call, error, double now):
        """There is no response to the request."""
        raise NotImplementedError

    def _wake_at(self, str name, moment):
        """Sets the timer of that name to pump at `moment`; None stops it."""
        raise NotImplementedError

    def _await_deadline(self):
        """Sets `_deadline` to the moment at which the oldest batch fails."""
        raise NotImplementedError

    def _resolve_sequences(self, double now):
        """Begins another epoch for the partitions in `_unresolved` that need one."""
        raise NotImplementedError

    def _take_endpoints(self, rows, double now):
        """Takes in the addresses of leaders that a response names."""
        raise NotImplementedError

    def _admit(self, double now):
        """Partitions in the accumulator's `held` have something to send and are blocked."""
        raise NotImplementedError

    def _take_turn(self, double now):
        """Batches may have ended that a transaction waits for."""
        raise NotImplementedError

    def _advance_closing(self, double now):
        """Something may have ended that `_closing` waits for."""
        raise NotImplementedError

    def _expedite_all(self):
        """Makes the batches due that `_awaited` waits for."""
        raise NotImplementedError
