# Texts to numbers, decimals, dates, instants and bytes, and text that may not be UTF-8, against the plain ways of texts.h.

cdef extern from "texts.h" nogil:
    enum:
        PLAIN_MOST
    bint plain_int(int64_t *out, const char *text)
    bint plain_is_number(const char *text)
    bint plain_decimal(uint8_t *out, const char *text, int precision, int scale)
    bint plain_date(int64_t *days, const char *text)
    int plain_instant(char *out, size_t size, int64_t micros)
    size_t plain_base64(char *out, const uint8_t *p, size_t size)
    bint plain_is_utf8(const uint8_t *p, size_t size)
    double strtod(const char *text, char **end)


cdef const char *texts(const uint8_t *data, size_t size) except? NULL:
    cdef drawn_t d = drawn_of(data, size)
    cdef int kind = drawn_byte(&d) % 7
    cdef char plain[PLAIN_MOST]
    size = drawn_left(&d)
    data = d.at
    if kind == 6:
        return _check_utf8(data, size)
    if kind == 5:
        return _check_base64(data, size)
    if size >= PLAIN_MOST or kind != 4 and memchr(data, 0, size) != NULL:
        return NULL
    memcpy(plain, data, size)
    plain[size] = 0
    if kind == 4:
        return _check_instant(data, size)
    if kind == 3:
        return _check_date(data, size, plain)
    if kind == 2:
        return _check_decimal(data, size, plain)
    return _check_number(data, size, plain) if kind else _check_int(data, size, plain)


cdef const char *_check_int(const uint8_t *data, size_t size, const char *plain) noexcept nogil:
    cdef int64_t expected = 0, found = 0
    cdef bint is_int = plain_int(&expected, plain)
    return unless(kw_int_of_text(&found, data, size) == is_int and found == expected or not is_int,
                  b"an integer is read in another way")


cdef const char *_check_number(const uint8_t *data, size_t size, const char *plain) noexcept nogil:
    cdef double expected, found = 0
    cdef bint is_number = kw_is_number(data, size)
    if is_number != plain_is_number(plain):
        return b"a number for one and none for the other"
    if not is_number or not kw_double_of_text(&found, data, size):
        return NULL
    expected = strtod(plain, NULL)
    return unless(memcmp(&found, &expected, 8) == 0, b"a number is read in another way")


cdef const char *_check_decimal(const uint8_t *data, size_t size, const char *plain) noexcept nogil:
    cdef uint8_t found[16]
    cdef uint8_t expected[16]
    cdef int precision = 9, scale = 2
    cdef bint is_decimal
    for _ in range(2):
        is_decimal = plain_decimal(expected, plain, precision, scale)
        if kw_decimal_of_text(found, data, size, precision, scale) != is_decimal:
            return b"a decimal for one and none for the other"
        if is_decimal and memcmp(found, expected, 16) != 0:
            return b"a decimal is read in another way"
        precision, scale = 38, 10
    return NULL


cdef const char *_check_date(const uint8_t *data, size_t size, char *plain) noexcept nogil:
    cdef char *begin = plain
    cdef char *end = plain + size
    cdef int64_t expected = 0
    cdef int32_t found = 0
    cdef bint is_date = kw_date_of_text(&found, data, size)
    while begin < end and <uint8_t>begin[0] <= c' ':
        begin += 1
    while begin < end and <uint8_t>end[-1] <= c' ':
        end -= 1
    end[0] = 0
    if is_date != plain_date(&expected, begin):
        return b"a date for one and none for the other"
    return unless(not is_date or found == expected, b"a date is read in another way")


cdef const char *_check_instant(const uint8_t *data, size_t size) noexcept nogil:
    """Written in full, it is read as the same."""
    cdef char full[64]
    cdef int64_t micros = 0, again = 0
    cdef bint has_zone
    cdef int written
    if not kw_timestamp_of_text(&micros, &has_zone, data, size):
        return NULL
    written = plain_instant(full, sizeof(full), micros)
    if not kw_timestamp_of_text(&again, &has_zone, <const uint8_t *>full, <size_t>written) or not has_zone:
        return b"an instant written in full is none"
    return unless(again == micros, b"an instant written in full is another one")


cdef const char *_check_base64(const uint8_t *data, size_t size) noexcept nogil:
    """What is taken is what would be written of its bytes."""
    cdef uint8_t *found = <uint8_t *>malloc(size + 1)
    cdef char *again = <char *>malloc(size + 4)
    cdef int64_t used = kw_bytes_of_base64(found, data, size)
    cdef const char *wrong = NULL
    if used >= 0 and (plain_base64(again, found, <size_t>used) != size or memcmp(again, data, size) != 0):
        wrong = b"base64 of other bytes"
    free(found)
    free(again)
    return wrong


cdef const char *_check_utf8(const uint8_t *data, size_t size) noexcept nogil:
    cdef size_t repaired = kw_utf8_repaired_size(data, size)
    cdef uint8_t *out = <uint8_t *>malloc(repaired + 1)
    cdef bint is_valid = plain_is_utf8(data, size)
    cdef const char *wrong = NULL
    if kw_utf8_is_valid(data, size) != is_valid:
        wrong = b"UTF-8 for one and none for the other"
    elif <size_t>kw_utf8_repair(out, repaired, data, size) != repaired or not plain_is_utf8(out, repaired):
        wrong = b"a text that is not whole when it is repaired"
    elif is_valid and (repaired != size or memcmp(out, data, size) != 0):
        wrong = b"a whole text that is another one when it is repaired"
    elif repaired and kw_utf8_repair(out, repaired - 1, data, size) != -1:
        wrong = b"a text is repaired without room for it"
    free(out)
    return wrong
