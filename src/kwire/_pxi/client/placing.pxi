# Where records go that are in a batch already: to partitions that became known, or into smaller batches.
#
# The accumulator's rule of THREADS holds here, too. What these stretches need is not known before they run, so the
# collector is switched off meanwhile, and what calls Python, which decompressing does, comes before.


cdef bint place_by_partitions(Accumulator owner, TopicQueue topic, int count, list available, bint anew,
                              list placed) except -1:
    """Takes the partitions and places what waited for them; `placed` gets the batches of those that are gone.

    False if a callable partitioner has to be asked for records that came while it was asked for others.
    """
    cdef PartitionQueue queue
    cdef bint asks = owner.partition_by is not None and count > 0
    cdef bint collecting
    if asks:
        ask_for_unassigned(owner, topic, count if anew else max(count, topic.known), available)
    collecting = PyGC_Disable()
    try:
        if asks and is_unasked(topic):
            return False
        take_partitions(owner, topic, count, available, anew)
        if topic.partitions:
            place_unassigned(owner, topic)
            for queue in list(topic.unknown_partitions.values()):
                placed.append(place_elsewhere(owner, queue))
    finally:
        if collecting:
            PyGC_Enable()
    return True


cdef int take_partitions(Accumulator owner, TopicQueue topic, int count, list available, bint anew) except -1:
    cdef PartitionQueue queue
    cdef Py_ssize_t known = PyList_GET_SIZE(topic.partitions)
    cdef list partitions = topic.partitions[:count] if anew else topic.partitions[:]
    cdef list gone = topic.partitions[count:] if anew else []
    for number in range(known, count):
        queue = topic.unknown_partitions.pop(number, None)
        partitions.append(queue if queue is not None else owner._new_queue(topic, number))
    if anew:
        for queue in topic.partitions:
            queue._leave_leader()
    for queue in gone:
        topic.unknown_partitions[queue.partition] = queue
    topic.available = [partitions[i] for i in available if i < len(partitions)] or partitions[:]
    topic.partitions = partitions
    if topic.available and topic.sticky not in topic.available:
        owner._next_sticky(topic)
    for queue in [*partitions[known:], *gone]:
        begin_partition(owner, queue)
    return 0


cdef int restore_unplaced(Accumulator owner, TopicQueue topic, Py_ssize_t count) except -1:
    """Decompresses, which calls Python, what may be placed elsewhere once there are `count` partitions."""
    cdef PartitionQueue queue
    cdef Batch batch
    for queue in [*topic.partitions[count:], *topic.unknown_partitions.values()]:
        for batch in queue.waiting.items():
            if not batch.names_partition:
                batch._restore()
    return 0


cdef int ask_for_unassigned(Accumulator owner, TopicQueue topic, int count, list available) except -1:
    """Asks a callable partitioner for the records whose partitions are about to be known, which runs Python.

    What it refuses is noted, to fail when the others are placed. Meanwhile send() may add more: see `is_unasked`.
    """
    cdef PartitionQueue unassigned = topic.unassigned
    cdef tuple numbers = tuple(range(count))
    cdef tuple with_leader = tuple([number for number in available if number < count]) or numbers
    cdef Batch batch
    if unassigned.open is not None:
        owner._close(unassigned)
    for batch in unassigned.waiting.items():
        ask_for_batch(owner, topic, batch, numbers, with_leader)
    return 0


cdef int ask_for_batch(Accumulator owner, TopicQueue topic, Batch batch, tuple numbers, tuple available) except -1:
    cdef int32_t index
    if batch.requested is None:
        batch.requested = {}
    for index, key in enumerate(keys_of(batch)):
        if index < batch.asked or batch.requested.get(index, -1) >= 0:
            continue
        try:
            batch.requested[index] = ask_partitioner(owner.partition_by, topic.name, key, numbers, available)
        except Exception as error:
            if batch.refused is None:
                batch.refused = {}
            batch.refused[index] = refusal_by_partitioner(topic.name, error)
    batch.asked = batch.core.count
    return 0


cdef object refusal_by_partitioner(str topic, object error):
    from traceback import format_exception
    if isinstance(error, _errors.KafkaError):
        return error
    refusal = _errors.ConfigError(f"the partitioner raised {error!r} for a record of {topic}")
    refusal.__cause__ = error
    refusal.add_note("".join(format_exception(error)))  # a result keeps no frames: this is where it was raised
    return refusal


cdef list keys_of(Batch batch):
    """The keys of the records of a closed batch."""
    cdef record_walk_t walk
    cdef record_datum_t record
    cdef list keys = []
    batch._walk(&walk)
    try:
        while walk_next(&walk, &record):
            keys.append(key_of(&record))
        if walk.reader.error != FAULT_NONE:
            raise_read_fault(&walk.reader, "records")
    finally:
        walk_end(&walk)
    return keys


cdef bint is_unasked(TopicQueue topic) except -1:
    """Whether records wait for a partition that the callable partitioner has not been asked for."""
    cdef Batch batch
    cdef Py_ssize_t at
    if topic.unassigned.open is not None:
        return True
    for at in range(topic.unassigned.waiting.count):
        batch = <Batch>topic.unassigned.waiting.at(at)
        if batch.asked < batch.core.count:
            return True
    return False


cdef int begin_partition(Accumulator owner, PartitionQueue queue) except -1:
    """A partition that becomes known, or is not known any more: what it holds has lingered."""
    if queue.open is not None:
        queue.open.due = True
    if queue.open is not None or not queue.waiting.is_empty():
        owner._mark_ready(queue)
    return 0


cdef int place_unassigned(Accumulator owner, TopicQueue topic) except -1:
    cdef PartitionQueue unassigned = topic.unassigned
    cdef Batch batch
    if unassigned.open is not None:
        owner._close(unassigned)
    while not unassigned.waiting.is_empty():
        batch = <Batch>unassigned.waiting.first()
        unassigned.waiting.drop_first()
        place_batch(owner, batch)
    return 0


cdef list place_elsewhere(Accumulator owner, PartitionQueue queue):
    """Chooses other partitions for the records of one that is gone with its log, but for those that name it.

    Returns the batches that it held.
    """
    cdef list batches
    cdef Batch batch
    if queue.open is not None and not queue.open.names_partition:
        owner._close(queue)
    batches = queue.waiting.items()
    queue.waiting.empty()
    for batch in batches:
        if batch.names_partition:
            queue.waiting.append(batch)
    for batch in batches:
        if not batch.names_partition:
            place_batch(owner, batch)
    return batches


cdef int place_batch(Accumulator owner, Batch whole) except -1:
    """Copies records to where their keys and the sticky partition lead, and redirects their result there.

    Some may be on their way when there is no memory for the next one: that and all after it fail.
    """
    cdef list redirects = None
    cdef Redirect left = None
    cdef BatchResult failed = whole.batch_result
    cdef int32_t placed = 0
    try:
        left = nowhere(owner, whole)
        redirects = [left]
        place_records(owner, whole, redirects, &placed)
        left.first = placed
        left.result.done = True
        whole.batch_result.redirect(redirects)
    except Exception as error:
        if placed > 0:
            failed = left.result
            failed.count = whole.core.count - placed
            left.first = placed
            whole.batch_result.redirect(redirects)
        owner._settle(failed, -1, -1, error, True)
    if whole.batch_result.redirects is not None:
        owner._chain(whole.batch_result)
    owner._release(whole)
    return 0


cdef Redirect nowhere(Accumulator owner, Batch whole):
    """Where records of it go that are to fail, whatever the memory is then."""
    cdef Redirect made = Redirect.__new__(Redirect)
    made.result = result_within(owner, whole)
    return made


cdef BatchResult result_within(Accumulator owner, Batch whole):
    """For records of it that have no batch any more."""
    cdef BatchResult made = owner._new_result()
    made.topic = whole.batch_result.topic
    made.partition = whole.batch_result.partition
    return made


cdef int place_records(Accumulator owner, Batch whole, list redirects, int32_t *placed) except -1:
    cdef record_walk_t walk
    cdef record_datum_t record
    cdef Batch target
    cdef BatchResult refused
    cdef int32_t requested
    whole._walk(&walk)
    try:
        while walk_next(&walk, &record):
            if whole.refused is not None and placed[0] in whole.refused:
                refused = result_within(owner, whole)
                refused.count = 1
                owner.refused.append((refused, whole.refused[placed[0]]))
                note_redirect(redirects, placed[0], refused, 0)
            else:
                requested = -1 if whole.requested is None else whole.requested.get(placed[0], -1)
                target = scatter_one(owner, whole, &record, requested, redirects, placed[0])
                if whole.is_stamped(placed[0]):
                    target.note_stamp(target.core.count - 1)
            placed[0] += 1
        if walk.reader.error != FAULT_NONE:
            raise_read_fault(&walk.reader, "records")
    finally:
        walk_end(&walk)
    return 0


cdef int part_batch(Accumulator owner, Batch whole, int64_t max_bytes, object refusal=None,
                    bint by_timestamp=False) except -1:
    """Copies records into batches of at most that many bytes at the head of the same queue, with consecutive sequences
    where `whole` had one, and redirects their result there. With `refusal` records with headers fail with it, or
    (by_timestamp) those whose timestamp the caller gave. Without memory for all of it nothing changes.
    """
    cdef list redirects
    cdef list made = []
    cdef Redirect refused
    cdef Batch part
    cdef bint collecting
    whole._restore()
    collecting = PyGC_Disable()
    try:
        refused = nowhere(owner, whole)
        redirects = [refused]
        try:
            part_records(owner, whole, max_bytes, None if refusal is None else refused.result, by_timestamp,
                         redirects, made)
            for part in made:
                whole.queue._insert(part)
            if made:
                owner._mark_ready(whole.queue)
        except BaseException:
            for part in made:
                whole.queue._remove(part)
                owner._release(part)
            raise
        refused.first = whole.core.count
        whole.queue.forget(whole)
        whole.batch_result.redirect(redirects)
        owner._chain(whole.batch_result)
        owner._settle(refused.result, -1, -1, refusal if refused.result.count else None, refused.result.count > 0)
        owner._release(whole)
    finally:
        if collecting:
            PyGC_Enable()
    owner.announce()
    return 0


cdef int part_records(Accumulator owner, Batch whole, int64_t max_bytes, BatchResult refused, bint by_timestamp,
                      list redirects, list made) except -1:
    """`refused`, if any, is the result of records that are in no part."""
    cdef record_walk_t walk
    cdef record_datum_t record
    cdef Batch target = None
    cdef int32_t index = 0
    whole._walk(&walk)
    try:
        while walk_next(&walk, &record):
            if refused is not None and (whole.is_stamped(index) if by_timestamp else record.header_count > 0):
                refused.count += 1
                note_redirect(redirects, index, refused, 0)
            else:
                if target is None or (
                        <int64_t>target.core.used + builder_record_size(&target.core, &record) > max_bytes):
                    target = part_of_batch(owner, whole, index, made)
                add_record(owner, target, &record, redirects, index)
                target.names_partition = whole.names_partition
                if whole.is_stamped(index):
                    target.note_stamp(target.core.count - 1)
            index += 1
        if walk.reader.error != FAULT_NONE:
            raise_read_fault(&walk.reader, "records")
    finally:
        walk_end(&walk)
    return 0


cdef Batch scatter_one(Accumulator owner, Batch whole, record_datum_t *record, int32_t requested, list redirects,
                       int32_t index):
    """Appends the record where its key or the sticky partition leads, or to the one that was requested."""
    cdef TopicQueue topic = whole.queue.topic
    cdef PartitionQueue queue = queue_for(owner, topic, record, requested)
    cdef Batch batch = queue.open
    if batch is not None and (
            <int64_t>batch.core.used + builder_record_size(&batch.core, record) > owner.batch_size):
        owner._close(queue)
        queue = queue_for(owner, topic, record, requested)
        batch = queue.open
    if batch is not None:
        add_record(owner, batch, record, redirects, index)
    else:
        batch = owner._new_batch()
        try:
            add_record(owner, batch, record, redirects, index)
            owner._open(queue, batch)
        except BaseException:
            owner._release(batch)
            raise
        batch.created_at = whole.created_at
        batch.due = True
        owner._mark_ready(queue)
    if requested >= 0:
        batch.names_partition = True
    topic.turn += 1
    if queue is topic.sticky:
        topic.sticky_bytes += builder_record_size(&batch.core, record)
    return batch


cdef PartitionQueue queue_for(Accumulator owner, TopicQueue topic, record_datum_t *record, int32_t requested):
    cdef PartitionQueue queue
    if owner.partition_by is not None and requested < 0:
        requested = ANY_PARTITION
    queue = owner._choose(topic, record, requested)
    if queue is None:
        owner._add_unknown_partition(topic, requested)
        queue = owner._choose(topic, record, requested)
    return queue


cdef Batch part_of_batch(Accumulator owner, Batch whole, int32_t index, list made):
    cdef Batch part = owner._new_batch()
    made.append(part)
    owner._adopt(whole.queue, part, whole.created_at)
    part.closed = True
    part.order = whole.order
    part.first_index = whole.first_index + index
    part.attempts = whole.attempts
    part.last_error = whole.last_error
    part.may_be_written = whole.may_be_written
    if whole.base_sequence >= 0:
        part.may_be_within = whole.may_be_within or whole.may_be_written
        part.producer_id = whole.producer_id
        part.producer_epoch = whole.producer_epoch
        part.base_sequence = (whole.base_sequence + index) & 0x7FFFFFFF
    return part


cdef int add_record(Accumulator owner, Batch batch, record_datum_t *record, list redirects, int32_t index) except -1:
    cdef int64_t size = builder_record_size(&batch.core, record)
    cdef int fault = builder_append(&batch.core, record)
    if fault != BUILD_OK:
        raise_build_fault(fault, 2)
    batch.has_headers = batch.has_headers or record.header_count > 0
    batch.accounted += size
    owner.used += size
    note_redirect(redirects, index, batch.batch_result, batch.core.count - 1)
    return 0
