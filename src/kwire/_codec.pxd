# cython: language_level=3
# What kwire._values uses of the codec: declared here, in the files of _pxi/ that are included.

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "endian.h" nogil:
    uint16_t kw_be16(uint16_t value)
    uint32_t kw_be32(uint32_t value)
    uint64_t kw_be64(uint64_t value)
    uint32_t kw_le32(uint32_t value)
    uint64_t kw_le64(uint64_t value)

# seam
include "codec/reader.pxi"
include "codec/arrow_values.pxi"
