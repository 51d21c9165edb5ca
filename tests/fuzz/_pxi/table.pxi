# The targets by their names, for the engine: each says what is wrong with what kwire made of an input, or NULL.

from cpython.pycapsule cimport PyCapsule_New

include "drawn.pxi"
include "filled.pxi"
include "scans.pxi"
include "written.pxi"
include "streams.pxi"
include "decoded.pxi"
include "read_texts.pxi"

ctypedef const char *(*compiled_t)(const uint8_t *data, size_t size) except? NULL


cdef object _capsule(compiled_t function):
    return PyCapsule_New(<void *>function, NULL, NULL)


FUNCTIONS = {
    "record-sets": _capsule(record_sets),
    "record-batches": _capsule(record_batches),
    "message-sets": _capsule(message_sets),
    "written": _capsule(written_records),
    "varints": _capsule(varints),
    "streams": _capsule(streams),
    "checksums": _capsule(checksums),
    "avro-values": _capsule(avro_values),
    "protobuf-values": _capsule(protobuf_values),
    "json-values": _capsule(json_values),
    "csv-values": _capsule(csv_values),
    "texts": _capsule(texts),
}
