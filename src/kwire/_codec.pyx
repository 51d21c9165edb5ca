# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
# cython: embedsignature=True, embedsignature.format=clinic, binding=False, auto_pickle=False
"""The compiled part of kwire: this file is its table of contents.

`_pxi/codec/` is the codec: bytes only, no schema, no clock, no I/O. `_pxi/client/` holds the compiled halves of the
client. Files are included in the order in which they use each other, layer by layer; tests/test_layers.py reads it here.
"""

# The names are used in the files included below, where cython-lint does not look.
cimport cython  # no-cython-lint
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer  # no-cython-lint
from cpython.bytes cimport PyBytes_FromStringAndSize  # no-cython-lint
from cpython.list cimport PyList_New, PyList_SET_ITEM  # no-cython-lint
from cpython.mem cimport PyMem_Free, PyMem_Malloc  # no-cython-lint
from cpython.ref cimport Py_INCREF  # no-cython-lint
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_DecodeUTF8  # no-cython-lint
from libc.stdint cimport (  # no-cython-lint
    INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t,  # no-cython-lint
    uint8_t, uint16_t, uint32_t, uint64_t,  # no-cython-lint
)
from libc.stddef cimport ptrdiff_t  # no-cython-lint
from libc.stdlib cimport calloc, free, malloc, realloc  # no-cython-lint
from libc.string cimport memcmp, memcpy, memmove, memset  # no-cython-lint

from kwire import errors as _errors  # no-cython-lint

import sys as _sys

# A free-threaded Python turns the GIL on for modules like this one and says so, unless it was told not to.
if hasattr(_sys, "_is_gil_enabled") and not _sys._is_gil_enabled():
    raise ImportError("kwire needs the GIL: leave it on, without PYTHON_GIL=0 and -X gil=0")

# codec: bytes
include "codec/primitives.pxi"
include "codec/slots.pxi"
include "codec/leaves.pxi"
include "codec/tricks.pxi"
include "codec/uuids.pxi"
include "codec/blocks.pxi"
include "codec/framing.pxi"
include "codec/checksums.pxi"
include "codec/output.pxi"
include "codec/containers.pxi"

# codec: records
include "codec/attributes.pxi"
include "codec/builder.pxi"
include "codec/encode.pxi"
include "codec/arrow.pxi"
include "codec/encode_arrow.pxi"
include "codec/arrow_streams.pxi"
include "codec/record_index.pxi"
include "codec/record_batches.pxi"
include "codec/message_sets.pxi"
include "codec/record_scan.pxi"
include "codec/messages_0_7.pxi"
include "codec/records.pxi"
include "codec/column_plan.pxi"
include "codec/columns.pxi"
include "codec/record_columns.pxi"

# codec: messages
include "codec/plans.pxi"
include "codec/plans_decode.pxi"
include "codec/plans_encode.pxi"

# engine
include "client/timers.pxi"
include "client/at_hand.pxi"
include "client/fifo.pxi"
include "client/roll.pxi"
include "client/delivery.pxi"
include "client/batch.pxi"
include "client/partitioning.pxi"
include "client/queues.pxi"
include "client/sequences.pxi"
include "client/sink.pxi"
include "client/send_arguments.pxi"
include "client/accumulator.pxi"
include "client/placing.pxi"
include "client/stretch.pxi"
include "client/sent_rows.pxi"
include "client/consumer_records.pxi"
include "client/versions.pxi"
include "client/traffic.pxi"
include "client/request.pxi"
include "client/connection.pxi"
include "client/node.pxi"
include "client/core.pxi"
include "client/idempotence.pxi"
include "client/produce_request.pxi"
include "client/sender.pxi"

# drivers
include "client/tls_records.pxi"
include "client/connection_socket.pxi"
include "client/reactor_lock.pxi"
include "client/reactor.pxi"
include "client/loop_driver.pxi"

# clients
include "client/producer_hooks.pxi"
include "client/producer.pxi"
include "client/loop_iterator.pxi"
