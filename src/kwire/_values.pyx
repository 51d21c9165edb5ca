# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
# cython: embedsignature=True, embedsignature.format=clinic, binding=False, auto_pickle=False
"""The decoders of values: Avro, Protobuf, JSON and CSV in a binary column, into columns in Arrow layout.

This file is their table of contents, as `_codec.pyx` is that of the codec. What they use of the codec is declared in
`_codec.pxd`: the reader and the columns that come in are compiled into them, blocks and arrays are made by the codec.
"""

# The names are used in the files included below, where cython-lint does not look.
cimport cython  # no-cython-lint
from cpython.bytes cimport PyBytes_AS_STRING  # no-cython-lint
from cpython.unicode cimport PyUnicode_AsUTF8String  # no-cython-lint
from libc.stdint cimport (  # no-cython-lint
    INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t,  # no-cython-lint
    uint8_t, uint32_t, uint64_t,  # no-cython-lint
)
from libc.stdlib cimport calloc, free, malloc, realloc  # no-cython-lint
from libc.string cimport memcmp, memcpy, memset  # no-cython-lint

from kwire._codec cimport *  # no-cython-lint

from kwire import errors as _errors  # no-cython-lint
from kwire._codec import ArrowRecords  # no-cython-lint

# values
include "values/column_builder.pxi"
include "values/values.pxi"
include "values/avro_columns.pxi"
include "values/protobuf_plan.pxi"
include "values/protobuf_columns.pxi"
include "values/text_plan.pxi"
include "values/json_columns.pxi"
include "values/csv_columns.pxi"
