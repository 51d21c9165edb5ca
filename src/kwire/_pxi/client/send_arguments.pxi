# The arguments of send() and send_many(): checked, converted, or refused by an error that names the argument.


cdef int64_t NO_STAMP = -2  # the timestamp of a record whose caller gave none; -1 is one that can be given


cdef inline bytes key_of(const record_datum_t *record):
    """The key as an object; None where there is none."""
    if record.key.size < 0:
        return None
    return PyBytes_FromStringAndSize(<const char *>record.key.data, <Py_ssize_t>record.key.size)


cdef inline bint lend_bytes(PyObject *value, datum_t *out) noexcept:
    """Points `out` at the bytes of a bytes object, or at a null for None and NULL; False for what else there may be."""
    if value == NULL or value == <PyObject *>None:
        out.data = NULL
        out.size = -1
        return True
    if not PyBytes_Check(<object>value):
        return False
    out.data = <const uint8_t *>PyBytes_AS_STRING(<object>value)
    out.size = PyBytes_GET_SIZE(<object>value)
    return True


cdef int32_t partition_number(object partition) except -2:
    cdef int64_t number = -1
    if PyLong_CheckExact(partition) or (PyIndex_Check(partition) and not isinstance(partition, bool)):
        try:
            number = partition
        except OverflowError:
            pass
    if not 0 <= number <= 0x7FFFFFFF:
        raise _errors.ConfigError(f"partition={partition!r}: expected an int from 0, or None to have one chosen")
    return <int32_t>number


cdef int refuse_foreign_keyword(object callback, object on_delivery) except -1:
    """The TypeError for a keyword of other clients' send()."""
    if callback is None and on_delivery is None:
        raise TypeError("send() got an unexpected keyword argument 'timestamp_ms': it is timestamp= here, int "
                        "milliseconds or a datetime")
    name = "on_delivery" if callback is None else "callback"
    raise TypeError(f"send() got an unexpected keyword argument {name!r}: it returns a Delivery, "
                    f"send(...).add_done_callback(f) calls f(delivery)")


cdef int warn_of_columns(list names) except -1:
    from warnings import warn
    warn(f"send_many() takes the columns value, key, timestamp and headers; not used: {', '.join(names)}")
    return 0


cdef inline bint looks_like_seconds(int64_t timestamp) noexcept nogil:
    """Whether it is of 2001 to 2286 as seconds; as milliseconds that is early in 1970."""
    return 1000000000 <= timestamp and timestamp < 10000000000LL


cdef int check_topic_name(str name) except -1:
    """The broker's own rule for topic names, so that a name it would refuse fails at once and by name."""
    if not name or len(name) > 249 or name in (".", "..") or not all(
            [c.isascii() and (c.isalnum() or c in "._-") for c in name]):
        raise _errors.ConfigError(f"topic {name!r}: expected 1 to 249 of the characters a-z A-Z 0-9 . _ -, and not "
                                  "'.' or '..' alone")
    return 0
