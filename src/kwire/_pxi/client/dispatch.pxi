# From batches that are ready to requests, and from answers to fates: the hot half of the producer's sender.
#
#   Produce v0, v1   message sets of magic 0        v2   message sets of magic 1 (KIP-32)
#   v3 and later     one batch of magic 2 per partition (KIP-98); zstd from v7 on (KIP-110)
#   v13 and later    topics by id (KIP-516)
#
# Needs: accumulator.pxi, lanes.pxi, brokers.pxi. Gives: ProducerState (the base of Identity), ProduceCall,
# Dispatch (the base of Sender).
# No I/O and no clock. What is seldom, errors above all, is in the subclass, in Python.

# What is known of the producer's id; nothing goes out before that is settled.
cdef object _off = "off", _wanted = "wanted", _asking = "asking", _known = "known", _refused = "refused"
OFF, WANTED, ASKING, KNOWN, REFUSED = _off, _wanted, _asking, _known, _refused

cdef enum:
    PRODUCE_KEY = 0
    FIRST_WITH_MAGIC_1 = 2
    FIRST_WITH_MAGIC_2 = 3
    FIRST_WITH_ZSTD = 7
    FIRST_WITH_TOPIC_IDS = 13
    ROOM_FOR_THE_REST = 512               # of a request: what is neither a batch nor counted


@cython.nonecheck(True)
cdef class ProducerState:
    """Who an idempotent producer is: the base of Identity. `state` is one of OFF, WANTED, ASKING, KNOWN and REFUSED."""

    cdef public object state
    cdef public bint not_offered          # by the brokers asked so far
    cdef public int64_t producer_id
    cdef public int16_t epoch


@cython.final
@cython.nonecheck(True)
cdef class ProduceCall(Request):
    """One Produce request: the batches it took, from the moment it is written until its answer."""

    cdef readonly Lane lane
    cdef readonly list batches
    cdef readonly dict topic_ids          # of its topics, at versions that name them so
    cdef Dispatch sender
    cdef double then                      # when it was begun

    cdef object message(self, int version):
        """Takes the batches as the request is written: at most one per partition."""
        return self.sender._build(self, version)

    cpdef answer(self, message, double now):
        """The answer, None where none is asked for."""
        if not self.done:
            self._finish()
            self.sender._on_answer(self, message, now)

    cpdef fail(self, error, double now):
        """There will be no answer."""
        if not self.done:
            self._finish()
            self.sender._on_error(self, error, now)

    cdef dict by_place(self):
        """(topic as the answer names it, partition) -> Batch."""
        cdef Batch batch
        return {((self.topic_ids[batch.fate.topic] if self.topic_ids else batch.fate.topic), batch.fate.partition): batch
                for batch in self.batches}


@cython.nonecheck(True)
cdef class Dispatch:
    """Moves the batches of one accumulator to the leaders of their partitions."""

    cdef readonly Exchanges _core
    cdef readonly Accumulator _accumulator
    cdef readonly int _acks
    cdef readonly int _codec
    cdef readonly object _level
    cdef readonly int _most_in_flight
    cdef readonly int64_t _most_bytes
    cdef readonly int _timeout_ms
    cdef public ProducerState identity
    cdef public object _unplaced
    cdef public dict _waiting_topics      # of `_unplaced`
    cdef public dict _lanes               # node id -> Lane
    cdef public bint _by_topic_id         # every topic's id is known
    cdef readonly dict _hasty             # Delivery -> None: somebody waits for it
    cdef readonly set _unanswered         # nodes that took requests which nobody answers
    cdef readonly set _without_sequences  # PartitionQueues that are kept in a format from before idempotence
    cdef public Timer _deadline
    cdef ProduceForm form

    def __init__(self, core, accumulator, settings, int codec, request):
        self._core = core
        self._accumulator = accumulator
        self._acks = settings.required_acks
        self._codec = codec
        self._level = settings.level
        self._most_in_flight = settings.max_in_flight_requests_per_connection
        self._most_bytes = settings.max_request_size
        self._timeout_ms = settings.request_timeout_ms
        self._lanes = {}
        self._hasty = {}
        self._unanswered = set()
        self._without_sequences = set()
        self.form = ProduceForm(request)

    cpdef pump(self, double now):
        """Sends what is ready and can be sent."""
        cdef Accumulator accumulator = self._accumulator
        cdef PartitionQueue queue
        cdef Lane lane
        if accumulator.unplaced or self._waiting_topics:
            self._wake_at("unplaced", self._unplaced.look(now))
        if self._hasty:
            self._hasten_all()
        if accumulator.lingering:
            self._wake_at("linger", accumulator.expire_linger(now))
        if self._deadline is None and accumulator.pending:
            self._await_deadline()
        if self.identity.state is _wanted or self.identity.state is _asking:
            if accumulator.pending:
                self.identity.ask(now)
            return
        for queue in accumulator.line_up():
            self._enlist(queue, now)
        for lane in self._lanes.values():
            if lane.queues:
                self._send_to(lane, now)

    def hasten(self, Delivery delivery, double now):
        """Somebody waits for this record: its batch need not linger unless its leader is busy with requests of ours."""
        if not delivery._follow().done:
            self._hasty[delivery] = None
            self.pump(now)

    cdef int _send_to(self, Lane lane, double now) except -1:
        cdef ProduceCall call
        cdef int before
        if lane.node < 0:
            return 0
        if self.identity.not_offered and self.identity.may_ask_again(lane.node):
            self.identity.ask_again(lane.node, now)
            return 0
        if self.identity.state is _refused:
            self._give_up(lane, self.identity.error)
            return 0
        if lane.quiet_until > now:
            self._wake_at(f"quiet {lane.node}", lane.quiet_until)
            return 0
        while not lane.full and lane.can_send(now) and self._may_send(lane):
            call = self._new_call(lane, now)
            before = lane.under_way
            lane.count(1)
            self._core.begin(call, now)
            if not call.batches and lane.under_way == before:
                return 0
        if lane.retry_at > now:
            self._wake_at(f"retry {lane.node}", lane.retry_at)
        return 0

    cdef ProduceCall _new_call(self, Lane lane, double now):
        cdef ProduceCall call = ProduceCall.__new__(ProduceCall)
        call._begin(lane.node, PRODUCE_KEY, FIRST_WITH_TOPIC_IDS if self._by_topic_id else FIRST_WITH_TOPIC_IDS - 1,
                    self._core.usual_timeout)
        call.expect_response = self._acks != 0
        call.sender = self
        call.lane = lane
        call.batches = []
        call.topic_ids = {}
        call.then = now
        return call

    cdef bint _may_send(self, Lane lane) except -1:
        """One request at a time as long as there is no connection: it takes its batches when it is written."""
        return lane.under_way == 0 or self._core.versions(lane.node) is not None

    # -- one request ----------------------------------------------------------------------------------------------

    cdef object _build(self, ProduceCall call, int version):
        cdef PartitionQueue queue
        cdef Batch batch
        cdef Buffer data
        cdef list sealed = []
        cdef int64_t room = self._most_bytes - ROOM_FOR_THE_REST
        if self.identity.not_offered and self.identity.may_ask_again(call.lane.node):
            raise self.nothing_to_send(call.lane)
        for queue in call.lane.sendable(call.then):
            if sealed and queue._head().bytes_to_send() > room:
                break
            if version >= FIRST_WITH_TOPIC_IDS and not self._knows_id(queue.topic.name, call):
                continue
            batch = call.lane.take(queue, call.batches)
            data = self._seal(batch, call, version)
            if data is not None:
                sealed.append(data)
                room -= data.size
        if not sealed:
            raise self.nothing_to_send(call.lane)
        return self.form.fill(call, sealed)

    cdef bint _knows_id(self, str topic, ProduceCall call) except -1:
        if topic not in call.topic_ids:
            topic_id = self._core.cluster.topic_id(topic)
            if topic_id == no_uuid():
                return False
            call.topic_ids[topic] = topic_id
        return True

    cdef Buffer _seal(self, Batch batch, ProduceCall call, int version):
        """The bytes of a batch that was taken; None if it turned out unsendable."""
        cdef int magic = 2 if version >= FIRST_WITH_MAGIC_2 else 1 if version == FIRST_WITH_MAGIC_1 else 0
        if magic < 2 and batch.has_headers:
            call.batches.remove(batch)
            self._without_headers(batch, call.lane, magic)
            return None
        try:
            if self._codec == ZSTD_CODEC and version < FIRST_WITH_ZSTD:
                raise _errors.UnknownCodecError(
                    f"broker {call.lane.node} speaks Produce {version}, and zstd begins with version {FIRST_WITH_ZSTD} "
                    "(Kafka 2.1): use lz4, snappy or gzip", "compression")
            if magic == 2 and self.identity.state is _known:
                self._give_sequence(batch.queue, batch, call.then)
            return batch.seal(magic, self._codec, self._level)
        except _errors.KafkaError as error:
            call.batches.remove(batch)
            self._fail(batch, error)
            return None

    cdef int _give_sequence(self, PartitionQueue queue, Batch batch, double now) except -1:
        cdef ProducerState identity = self.identity
        if self._without_sequences and queue in self._without_sequences:
            queue.needs_new_epoch = False
            batch.restamp(-1, -1, -1)
        elif queue.needs_new_epoch:
            queue.needs_new_epoch = False
            identity.next_epoch(now)
            queue.give_sequence(batch, identity.producer_id, identity.epoch)
        elif queue.producer_id == identity.producer_id:
            queue.give_sequence(batch, queue.producer_id, queue.producer_epoch)
        else:
            queue.give_sequence(batch, identity.producer_id, identity.epoch)
        return 0

    # -- its end --------------------------------------------------------------------------------------------------

    cdef int _on_answer(self, ProduceCall call, response, double now) except -1:
        cdef Batch batch
        cdef dict left
        call.lane.count(-1)
        if response is None:
            self._unanswered.add(call.lane.node)
            for batch in call.batches:
                self._accumulator.settle(batch, -1, -1, None)
        else:
            left = call.by_place()
            for topic in response.responses:
                name = topic.topic_id if call.topic_ids else topic.name
                for row in topic.partition_responses:
                    batch = left.pop((name, row.index), None)
                    if batch is None or batch.fate.done:
                        continue
                    if row.error_code == 0:
                        self._accumulator.settle(batch, row.base_offset, row.log_append_time_ms, None)
                    else:
                        self._on_no_success(batch, row, now)
            for batch in left.values():
                if not batch.fate.done:
                    self._on_no_success(batch, None, now)
            if response.throttle_time_ms > 0:
                call.lane.quiet_until = now + response.throttle_time_ms / 1000
        self._reset_stalled(call)
        self.pump(now)
        return 0

    cpdef int _reset_stalled(self, ProduceCall call) except -1:
        """A queue that waited for its last batch in flight may go on; it is listed anew only if it has a head."""
        cdef Batch batch
        cdef PartitionQueue queue
        for batch in call.batches:
            queue = batch.queue
            if queue.needs_new_epoch and not queue.in_flight and queue._head() is not None:
                self._list_anew(queue)
        return 0


@cython.final
@cython.nonecheck(True)
cdef class ProduceForm:
    """Fills in Produce requests, slot by slot: a hundred partitions are a hundred small messages."""

    cdef Layout request
    cdef Layout topic
    cdef Layout partition
    cdef Py_ssize_t acks
    cdef Py_ssize_t timeout
    cdef Py_ssize_t topics
    cdef Py_ssize_t name
    cdef Py_ssize_t topic_id
    cdef Py_ssize_t partitions
    cdef Py_ssize_t index
    cdef Py_ssize_t records

    def __init__(self, request):
        self.request = request.__layout__
        self.topic = request.TopicProduceData.__layout__
        self.partition = request.TopicProduceData.PartitionProduceData.__layout__
        self.acks = self.request.offset_of("acks")
        self.timeout = self.request.offset_of("timeout_ms")
        self.topics = self.request.offset_of("topic_data")
        self.name = self.topic.offset_of("name")
        self.topic_id = self.topic.offset_of("topic_id")
        self.partitions = self.topic.offset_of("partition_data")
        self.index = self.partition.offset_of("index")
        self.records = self.partition.offset_of("records")

    cdef object fill(self, ProduceCall call, list sealed):
        """The request for the batches of the call, whose bytes are `sealed`, in the same order."""
        cdef object made = self.request.make()
        cdef Batch batch
        cdef dict by_topic = {}
        cdef list topics = []
        cdef list partitions
        cdef Py_ssize_t i
        for i in range(PyList_GET_SIZE(call.batches)):
            batch = <Batch>call.batches[i]
            partitions = <list>by_topic.get(batch.fate.topic)
            if partitions is None:
                partitions = by_topic[batch.fate.topic] = []
                row = self.topic.make()
                fill_slot(<PyObject *>row, self.name, batch.fate.topic)
                fill_slot(<PyObject *>row, self.partitions, partitions)
                if call.topic_ids:
                    fill_slot(<PyObject *>row, self.topic_id, call.topic_ids[batch.fate.topic])
                topics.append(row)
            row = self.partition.make()
            fill_slot(<PyObject *>row, self.index, batch.fate.partition)
            fill_slot(<PyObject *>row, self.records, sealed[i])
            partitions.append(row)
        fill_slot(<PyObject *>made, self.acks, call.sender._acks)
        fill_slot(<PyObject *>made, self.timeout, call.sender._timeout_ms)
        fill_slot(<PyObject *>made, self.topics, topics)
        return made
