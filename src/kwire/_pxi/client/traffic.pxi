# What goes over the connections of one client, counted: bytes, requests, and how long their answers took.

cdef enum:
    COUNTED_APIS = 128

ctypedef struct api_count_t:
    int64_t requests
    int64_t answers
    double seconds
    double longest


@cython.final
cdef class Traffic:
    """Counts over all connections of a client, open and closed; never reset."""

    cdef readonly int64_t bytes_in
    cdef readonly int64_t bytes_out
    cdef public int64_t connections_made
    cdef public int64_t connections_lost
    cdef api_count_t counts[COUNTED_APIS]

    cdef inline void note_request(self, int api_key) noexcept:
        if 0 <= api_key < COUNTED_APIS:
            self.counts[api_key].requests += 1

    cdef inline void note_answer(self, int api_key, double seconds) noexcept:
        if 0 <= api_key < COUNTED_APIS:
            self.counts[api_key].answers += 1
            self.counts[api_key].seconds += seconds
            if seconds > self.counts[api_key].longest:
                self.counts[api_key].longest = seconds

    @property
    def by_api(self):
        """API key -> (requests, answers, seconds that these took together, and the longest), of those that were sent."""
        cdef int key
        return {key: (self.counts[key].requests, self.counts[key].answers, self.counts[key].seconds,
                      self.counts[key].longest)
                for key in range(COUNTED_APIS) if self.counts[key].requests}
