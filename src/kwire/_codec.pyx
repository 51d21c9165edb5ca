# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
# cython: embedsignature=True, embedsignature.format=clinic, binding=False, auto_pickle=False
"""The compiled part of kwire: this file is its table of contents.

Each file of `_pxi/` says at its head what it needs and what it gives; they are included in the order in which they
stand on each other. Layer 1: bytes only, no schema; the clocks are those of clock.h, and there are no sockets but in
driving.pxi, the last of them.
"""

# The names are used in the files included below, where cython-lint does not look.
cimport cython  # no-cython-lint
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer  # no-cython-lint
from cpython.bytes cimport PyBytes_FromStringAndSize  # no-cython-lint
from cpython.list cimport PyList_New, PyList_SET_ITEM  # no-cython-lint
from cpython.mem cimport PyMem_Free, PyMem_Malloc  # no-cython-lint
from cpython.ref cimport Py_INCREF  # no-cython-lint
from cpython.unicode cimport PyUnicode_DecodeUTF8  # no-cython-lint
from libc.stdint cimport (  # no-cython-lint
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,  # no-cython-lint
)
from libc.stdlib cimport free, malloc, realloc  # no-cython-lint
from libc.string cimport memcmp, memcpy, memmove, memset  # no-cython-lint

from kwire import errors as _errors  # no-cython-lint

cdef extern from "endian.h" nogil:
    uint16_t kw_be16(uint16_t value)
    uint32_t kw_be32(uint32_t value)
    uint64_t kw_be64(uint64_t value)

include "primitives.pxi"
include "slots.pxi"
include "uuids.pxi"
include "blocks.pxi"
include "cursors.pxi"
include "framing.pxi"
include "checksums.pxi"
include "output.pxi"
include "attributes.pxi"
include "builder.pxi"
include "encode.pxi"
include "encode_arrow.pxi"
include "record_index.pxi"
include "record_batches.pxi"
include "message_sets.pxi"
include "record_scan.pxi"
include "messages_0_7.pxi"
include "views.pxi"
include "consumed.pxi"
include "columns.pxi"
include "record_columns.pxi"
include "plans.pxi"
include "plans_decode.pxi"
include "plans_encode.pxi"
include "delivery.pxi"
include "outgoing.pxi"
include "queues.pxi"
include "lanes.pxi"
include "accumulator.pxi"
include "send_path.pxi"
include "timers.pxi"
include "exchanges.pxi"
include "brokers.pxi"
include "dispatch.pxi"
include "driving.pxi"
