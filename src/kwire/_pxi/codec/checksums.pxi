# The checksums of the wire, for the parsers and builders and for Python.

cdef extern from "crc32c.h" nogil:
    void kw_crc_install()
    bint kw_crc_use_hardware(bint wanted, bint wide)
    uint32_t kw_crc32c(uint32_t crc, const uint8_t *data, size_t size)
    uint32_t kw_crc32(uint32_t crc, const uint8_t *data, size_t size)

cdef extern from "xxh32.h" nogil:
    uint32_t kw_xxh32(uint32_t seed, const uint8_t *data, size_t size)

kw_crc_install()


def crc32c(data, uint32_t value=0):
    """CRC-32C of `data` (any bytes-like object) as an int below 2**32, going on from `value`, as zlib.crc32 does."""
    cdef Buffer buffer = pin(data)
    with nogil:
        value = kw_crc32c(value, buffer.data, <size_t>buffer.size)
    return value


def crc32(data, uint32_t value=0):
    """CRC-32 (zlib's) of `data` (any bytes-like object) as an int below 2**32, going on from `value`."""
    cdef Buffer buffer = pin(data)
    with nogil:
        value = kw_crc32(value, buffer.data, <size_t>buffer.size)
    return value


def xxh32(data):
    """XXH32 of `data` (any bytes-like object) with seed 0, as lz4 frames use it."""
    cdef Buffer buffer = pin(data)
    cdef uint32_t value
    with nogil:
        value = kw_xxh32(0, buffer.data, <size_t>buffer.size)
    return value


def use_hardware_crc(bint wanted, bint wide=True):
    """Chooses between processor instructions and tables for both checksums; returns whether instructions are in use.

    Without `wide`, AVX-512 is not among them. The fastest are chosen by themselves where the
    processor has them; this is for tests and measurements.
    """
    return bool(kw_crc_use_hardware(wanted, wide))
