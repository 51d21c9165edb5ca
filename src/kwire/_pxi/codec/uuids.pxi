# Converts between uuid.UUID objects and their sixteen bytes.
#
# The module `uuid` is imported on first use: importing it takes three times as long as importing the codec. Its
# constructor takes twice as long as the rest of a message of twenty fields, so an instance is made as `copy` makes one,
# by its two slots; where a Python has other slots, the constructor is called.
#
#   uuid   16 bytes, big-endian
# Source: the protocol guide ("Protocol Primitive Types").

cdef object _uuid_class = None
cdef object _no_uuid = None
cdef object _uuid_is_unsafe = None       # SafeUUID.unknown, which every UUID has that was not made by the system
cdef Py_ssize_t _uuid_int_slot = -1
cdef Py_ssize_t _uuid_safe_slot = -1


cdef object uuid_class():
    global _uuid_class, _no_uuid, _uuid_is_unsafe, _uuid_int_slot, _uuid_safe_slot
    if _uuid_class is None:
        from uuid import UUID, SafeUUID
        _uuid_int_slot = slot_offset(UUID, "int")
        _uuid_safe_slot = slot_offset(UUID, "is_safe")
        _uuid_is_unsafe = SafeUUID.unknown
        _no_uuid = UUID(int=0)
        _uuid_class = UUID
    return _uuid_class


def no_uuid():
    """The UUID of sixteen zero bytes, the protocol's "none": always the same object."""
    uuid_class()
    return _no_uuid


cdef object new_uuid(uint64_t high, uint64_t low):
    cls = uuid_class()
    if high == 0 and low == 0:
        return _no_uuid
    number = (kw_uint64(high) << 64) | kw_uint64(low)
    if _uuid_int_slot < 0 or _uuid_safe_slot < 0:
        return cls(int=number)
    made = kw_instance(<PyTypeObject *>cls, 0)
    fill_slot(<PyObject *>made, _uuid_int_slot, number)
    fill_slot(<PyObject *>made, _uuid_safe_slot, _uuid_is_unsafe)
    return made


cdef object uuid_of(const uint8_t *raw):
    """The UUID of sixteen bytes."""
    return new_uuid(load_u64(raw), load_u64(raw + 8))


cdef object bytes_of_uuid(object value):
    """What its property `bytes` returns; of a UUID of no subclass without the two calls of Python that this takes."""
    cdef PyObject *found = NULL
    cdef uint8_t raw[16]
    if type(value) is uuid_class() and _uuid_int_slot >= 0:
        found = slot_of(<PyObject *>value, _uuid_int_slot)[0]
    if found == NULL or type(<object>found) is not int:
        return value.bytes
    number = <object>found
    store_u64(raw, kw_as_uint64(number >> 64))
    store_u64(raw + 8, kw_low_uint64(number))
    return PyBytes_FromStringAndSize(<char *>raw, 16)
