# The versions of each API that a broker offers: the compiled half of engine/connections/versions.py. No I/O, no clock.


@cython.nonecheck(True)
cdef class VersionsBase:
    """The versions that a broker offers: `ranges`, API key -> (oldest, newest)."""

    cdef readonly dict ranges

    def __init__(self, ranges):
        self.ranges = dict(ranges)

    def newest_common(self, int api_key, int oldest, int newest):
        """The newest version that the broker and [oldest, newest] share, or None."""
        cdef int version = self._newest_common(api_key, oldest, newest)
        return None if version < 0 else version

    cdef int _newest_common(self, int api_key, int oldest, int newest) except -2:
        cdef tuple offered = self.ranges.get(api_key)
        cdef int version
        if offered is None:
            return -1
        version = min(newest, <int>offered[1])
        return version if version >= max(oldest, <int>offered[0]) else -1
