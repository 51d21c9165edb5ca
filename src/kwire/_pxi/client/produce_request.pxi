# One Produce request: the batches it carries while it is in flight, and how its message is filled in.
#
#   Produce v0, v1   message sets of magic 0        v2   message sets of magic 1 (KIP-32)
#   v3 and later     one batch of magic 2 per partition (KIP-98); zstd from v7 on (KIP-110)
#   v12 and later    in a transaction, adds its partitions to it (KIP-890)
#   v13 and later    topics by id (KIP-516)

cdef enum:
    PRODUCE_KEY = 0
    FIRST_WITH_MAGIC_1 = 2
    FIRST_WITH_MAGIC_2 = 3
    FIRST_WITH_ZSTD = 7
    FIRST_WITH_TOPIC_IDS = 13
    ROOM_FOR_THE_REST = 512               # bytes of a request beside its batches


@cython.final
@cython.nonecheck(True)
cdef class PendingProduce(Request):
    """One Produce request: has its batches from the moment it is written until its response."""

    cdef readonly Sink sink
    cdef readonly list batches
    cdef readonly dict topic_ids          # of its topics, at versions that name them so
    cdef SenderBase sender
    cdef double then                     # when the request was made

    cdef object message(self, int version):
        """Takes the batches as the request is written, at most one of each partition."""
        return self.sender._build(self, version)

    cpdef answer(self, message, double now):
        """Ends the request with its response, None with acks=0."""
        if not self.done:
            self._finish()
            self.sender._on_answer(self, message, now)

    cpdef fail(self, error, double now):
        """Ends the request with an error."""
        if not self.done:
            self._finish()
            self.sender._on_error(self, error, now)

    cdef dict by_place(self):
        """Returns {(topic name or id, as the response has it, partition): batch}.

        An id stands there as its number: to hash and compare a UUID is a call of Python each.
        """
        cdef Batch batch
        cdef dict found = {}
        for batch in self.batches:
            topic = batch.batch_result.topic
            found[self.topic_ids[topic].int if self.topic_ids else topic, batch.batch_result.partition] = batch
        return found


@cython.final
@cython.nonecheck(True)
cdef class ProduceRequestWriter:
    """Fills in Produce requests, slot by slot: a hundred partitions are a hundred small messages."""

    cdef Layout request
    cdef Layout topic
    cdef Layout partition
    cdef Py_ssize_t transactional_id
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
        self.transactional_id = self.request.offset_of("transactional_id")
        self.acks = self.request.offset_of("acks")
        self.timeout = self.request.offset_of("timeout_ms")
        self.topics = self.request.offset_of("topic_data")
        self.name = self.topic.offset_of("name")
        self.topic_id = self.topic.offset_of("topic_id")
        self.partitions = self.topic.offset_of("partition_data")
        self.index = self.partition.offset_of("index")
        self.records = self.partition.offset_of("records")

    cdef object fill(self, PendingProduce call, list sealed):
        """The request for the batches of the call, whose bytes are `sealed`, in the same order."""
        cdef object made = self.request.make()
        cdef Batch batch
        cdef dict by_topic = {}
        cdef list topics = []
        cdef list partitions
        cdef Py_ssize_t i
        for i in range(PyList_GET_SIZE(call.batches)):
            batch = <Batch>call.batches[i]
            partitions = <list>by_topic.get(batch.batch_result.topic)
            if partitions is None:
                partitions = by_topic[batch.batch_result.topic] = []
                row = self.topic.make()
                fill_slot(<PyObject *>row, self.name, batch.batch_result.topic)
                fill_slot(<PyObject *>row, self.partitions, partitions)
                if call.topic_ids:
                    fill_slot(<PyObject *>row, self.topic_id, call.topic_ids[batch.batch_result.topic])
                topics.append(row)
            row = self.partition.make()
            fill_slot(<PyObject *>row, self.index, batch.batch_result.partition)
            fill_slot(<PyObject *>row, self.records, sealed[i])
            partitions.append(row)
        if call.sender.transactional_id is not None:
            fill_slot(<PyObject *>made, self.transactional_id, call.sender.transactional_id)
        fill_slot(<PyObject *>made, self.acks, call.sender._acks)
        fill_slot(<PyObject *>made, self.timeout, call.sender._timeout_ms)
        fill_slot(<PyObject *>made, self.topics, topics)
        return made
