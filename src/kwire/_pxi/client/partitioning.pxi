# How a producer chooses partitions by itself: the hashes of keys, and which of them, or what else, is used.
#
#   partitioner        a key                   an empty key      no key
#   default            murmur2                 murmur2           sticky           Java; librdkafka's murmur2_random
#   uniform_sticky     sticky                  sticky            sticky           Java with partitioner.ignore.keys
#   round_robin        in turn                 in turn           in turn          Java's RoundRobinPartitioner
#   random             random                  random            random           librdkafka, these and all below
#   consistent         CRC-32                  CRC-32            as an empty one
#   consistent_random  CRC-32                  sticky            sticky           its default
#   murmur2            murmur2                 murmur2           as an empty one
#   fnv1a              FNV-1a                  FNV-1a            as an empty one
#   fnv1a_random       FNV-1a                  FNV-1a            sticky
#
# sticky: one partition for a batch, then another one. Hashes count all partitions; sticky, in turn and random take those
# that have a leader, or all where none has. A callable is asked for each record: see `ask_partitioner`.

cdef enum:
    BY_DEFAULT = 0
    BY_UNIFORM_STICKY
    BY_ROUND_ROBIN
    BY_RANDOM
    BY_CONSISTENT
    BY_CONSISTENT_RANDOM
    BY_MURMUR2
    BY_FNV1A
    BY_FNV1A_RANDOM
    BY_CALLABLE

cdef int32_t ANY_PARTITION = -2  # in the place of a requested one: the callable leaves it to the producer

cdef dict PARTITIONERS = {
    "default": BY_DEFAULT,
    "murmur2_random": BY_DEFAULT,
    "uniform_sticky": BY_UNIFORM_STICKY,
    "round_robin": BY_ROUND_ROBIN,
    "random": BY_RANDOM,
    "consistent": BY_CONSISTENT,
    "consistent_random": BY_CONSISTENT_RANDOM,
    "murmur2": BY_MURMUR2,
    "fnv1a": BY_FNV1A,
    "fnv1a_random": BY_FNV1A_RANDOM,
}


cdef int partitioner_of(object given) except -1:
    if callable(given):
        return BY_CALLABLE
    if given not in PARTITIONERS:
        raise _errors.ConfigError(f"partitioner={given!r}: expected one of {', '.join(PARTITIONERS)}, or a callable")
    return PARTITIONERS[given]


cdef uint32_t murmur2_of(const uint8_t *data, size_t size) noexcept nogil:
    """The hash by which the Java client chooses the partition of a key (org.apache.kafka.common.utils.Utils)."""
    cdef uint32_t m = 0x5BD1E995
    cdef uint32_t h = <uint32_t>0x9747B28C ^ <uint32_t>size
    cdef uint32_t k
    cdef size_t i
    for i in range(size // 4):
        k = (data[4 * i] | <uint32_t>data[4 * i + 1] << 8
             | <uint32_t>data[4 * i + 2] << 16 | <uint32_t>data[4 * i + 3] << 24)
        k *= m
        k ^= k >> 24
        k *= m
        h = (h * m) ^ k
    i = size & ~<size_t>3
    if size & 3 == 3:
        h ^= <uint32_t>data[i + 2] << 16
    if size & 3 >= 2:
        h ^= <uint32_t>data[i + 1] << 8
    if size & 3 >= 1:
        h = (h ^ data[i]) * m
    h ^= h >> 13
    h *= m
    return h ^ (h >> 15)


def murmur2(key):
    """Java's murmur2 of a key (bytes-like) as an unsigned int; `& 0x7fffffff % partitions` is its partition."""
    cdef Buffer data = pin(key)
    return murmur2_of(data.data, <size_t>data.size)


cdef uint32_t fnv1a_of(const uint8_t *data, size_t size) noexcept nogil:
    """FNV-1a, the absolute value of it as an int of 32 bits."""
    cdef uint32_t h = 0x811C9DC5
    cdef size_t i
    for i in range(size):
        h = (h ^ data[i]) * <uint32_t>0x01000193
    return h if h <= 0x7FFFFFFF else <uint32_t>0 - h


cdef uint32_t key_hash(int partitioner, const datum_t *key) noexcept nogil:
    """The hash of a key, or of an empty one in the place of none."""
    cdef size_t size = <size_t>key.size if key.size > 0 else 0
    if partitioner == BY_CONSISTENT or partitioner == BY_CONSISTENT_RANDOM:
        return kw_crc32(0, key.data, size)
    if partitioner == BY_FNV1A or partitioner == BY_FNV1A_RANDOM:
        return fnv1a_of(key.data, size)
    return murmur2_of(key.data, size) & 0x7FFFFFFF


cdef inline bint hashes(int partitioner, const datum_t *key) noexcept nogil:
    """Whether the key, or that there is none, decides the partition."""
    if partitioner == BY_CONSISTENT or partitioner == BY_MURMUR2 or partitioner == BY_FNV1A:
        return True
    if partitioner == BY_CONSISTENT_RANDOM:
        return key.size > 0
    return partitioner == BY_FNV1A_RANDOM and key.size >= 0


cdef inline uint64_t mixed(uint64_t number) noexcept nogil:
    """SplitMix64 of a counter: numbers that look random."""
    number = (number + 1) * <uint64_t>0x9E3779B97F4A7C15
    number = (number ^ (number >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    number = (number ^ (number >> 27)) * <uint64_t>0x94D049BB133111EB
    return number ^ (number >> 31)


cdef int32_t ask_partitioner(object partitioner, str topic, bytes key, tuple numbers, tuple available) except -1:
    """The partition that a callable chooses; ANY_PARTITION where it returns None. Runs Python.

    It is called as those of kafka-python and aiokafka are: partitioner(key, all_partitions, available_partitions).
    """
    cdef int64_t number = -1
    chosen = partitioner(key, numbers, available)
    if chosen is None:
        return ANY_PARTITION
    if PyIndex_Check(chosen) and not isinstance(chosen, bool):
        try:
            number = PyNumber_Index(chosen)
        except OverflowError:
            pass
    if not 0 <= number < len(numbers):
        raise _errors.ConfigError(f"the partitioner returned {chosen!r} for a record of {topic}, which has the "
                                  f"partitions 0 to {len(numbers) - 1}: expected one of them, or None to have one chosen")
    return <int32_t>number
