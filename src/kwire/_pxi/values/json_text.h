/* JSON text, piece by piece: blanks, strings, numbers, literals, and values that are passed over. Plain C.
 *
 * This is the one place where a pointer into JSON is compared with its end: kw_json_peek() returns 0 there, a byte that
 * JSON has inside of strings only, and no other function reads a byte that it has not counted. Sixteen bytes are loaded
 * at once up to `limit`, the end of the buffer that the text lies in; those beyond `end` are not looked at.
 *
 * Accepted beyond the RFC, as Jackson does it for Spark: strings in single quotes, NaN, Infinity and -Infinity.
 * Source: RFC 8259.
 */
#ifndef KWIRE_JSON_TEXT_H
#define KWIRE_JSON_TEXT_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "endian.h"
#include "utf8.h"

#define KW_JSON_DEPTH 1000
#define KW_JSON_STEP 16 /* bytes that are looked at, or copied, at once */
#define KW_JSON_AHEAD 32

enum {
    KW_JSON_END = 60,     /* the text ends too early */
    KW_JSON_UNEXPECTED,   /* a byte that cannot stand here */
    KW_JSON_UTF8,
    KW_JSON_CONTROL,      /* a control character in a string */
    KW_JSON_ESCAPE,
    KW_JSON_DEEP,
    KW_JSON_TRAILING
};

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    const uint8_t *limit; /* to where the buffer can be read */
    const uint8_t *fault_at;
    int error;
} kw_json;

typedef struct {
    const uint8_t *p;
    size_t size;
    int escaped; /* has escape sequences */
} kw_json_span;

static inline void kw_json_init(kw_json *j, const uint8_t *text, size_t size, const uint8_t *limit) {
    j->at = text;
    j->end = text + size;
    j->limit = limit < j->end ? j->end : limit;
    j->fault_at = text;
    j->error = 0;
}

/* Returns 0; the first fault counts. */
static int kw_json_fail(kw_json *j, int error, const uint8_t *at) {
    if (j->error == 0) {
        j->error = at >= j->end && error == KW_JSON_UNEXPECTED ? KW_JSON_END : error;
        j->fault_at = at;
    }
    return 0;
}

static inline int kw_json_peek(const kw_json *j) { return j->at < j->end ? *j->at : 0; }

static inline const uint8_t *kw_json_blanks(const uint8_t *p, const uint8_t *end) {
    while (p < end && *p <= ' ' && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    return p;
}

/* The first byte that is not blank, which is not passed; 0 at the end. */
static inline int kw_json_next(kw_json *j) {
    j->at = kw_json_blanks(j->at, j->end);
    return kw_json_peek(j);
}

/* Passes `c`, after blanks; a fault when it is not there. */
static inline int kw_json_expect(kw_json *j, int c) {
    if (kw_json_next(j) != c) return kw_json_fail(j, KW_JSON_UNEXPECTED, j->at);
    j->at++;
    return 1;
}

static inline int kw_json_word(kw_json *j, const char *word, size_t size) {
    if ((size_t)(j->end - j->at) < size || memcmp(j->at, word, size) != 0)
        return kw_json_fail(j, KW_JSON_UNEXPECTED, j->at);
    j->at += size;
    return 1;
}

/* The first byte from `p` on that is `quote`, a backslash or a control character, or the end. What is before it is
 * copied to `copy`, if that is not NULL, with up to KW_JSON_STEP bytes more. */
static inline const uint8_t *kw_json_unquoted(const uint8_t *p, const uint8_t *end, const uint8_t *limit, uint8_t quote,
                                              unsigned *not_ascii, uint8_t *copy) {
#ifdef __SSE2__
    const __m128i quotes = _mm_set1_epi8((char)quote);
    const __m128i slashes = _mm_set1_epi8('\\');
    const __m128i controls = _mm_set1_epi8(0x1F);
    while (limit - p >= KW_JSON_STEP) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i special = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quotes), _mm_cmpeq_epi8(bytes, slashes)),
                                       _mm_cmpeq_epi8(_mm_min_epu8(bytes, controls), bytes));
        unsigned found = (unsigned)_mm_movemask_epi8(special);
        unsigned high = (unsigned)_mm_movemask_epi8(bytes);
        if (copy != NULL) {
            _mm_storeu_si128((__m128i *)(void *)copy, bytes);
            copy += KW_JSON_STEP;
        }
        if (found) {
            *not_ascii |= high & (found ^ (found - 1));
            p += __builtin_ctz(found);
            return p < end ? p : end;
        }
        *not_ascii |= high;
        p += KW_JSON_STEP;
        if (p >= end) return end;
    }
#endif
    for (; p < end; p++) {
        if (*p == quote || *p == '\\' || *p < 0x20) break;
        *not_ascii |= *p & 0x80u;
        if (copy != NULL) *copy++ = *p;
    }
    return p;
}

static const uint8_t *kw_json_not_utf8(const uint8_t *p, const uint8_t *end) {
    while (p < end) {
        int step = kw_utf8_step(p, (size_t)(end - p));
        if (step < 0) return p;
        p += step;
    }
    return NULL;
}

/* --- pieces as most programs write them. Each returns where its piece ends, or NULL for anything else, which is no
 * fault: the functions below look again. KW_JSON_AHEAD bytes can be read from each place of the text. --- */

/* Whether they may be called. */
static inline int kw_json_may_look_ahead(const kw_json *j) { return j->limit - j->end >= KW_JSON_AHEAD; }

/* `key` is a key with its quotes and its colon, and can be read to KW_JSON_STEP bytes at least. `mask` has a bit for each
 * of its bytes, at most that many. */
static inline const uint8_t *kw_json_plain_key(const uint8_t *p, const uint8_t *end, const uint8_t *key, int64_t size,
                                               unsigned mask) {
    int64_t compared = 0;
    if (end - p < size) return NULL;
#ifdef __SSE2__
    __m128i here = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i there = _mm_loadu_si128((const __m128i *)(const void *)key);
    if (~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(here, there)) & mask) return NULL;
    compared = KW_JSON_STEP;
#else
    (void)mask;
#endif
    if (compared < size && memcmp(p + compared, key + compared, (size_t)(size - compared)) != 0) return NULL;
    return p + size;
}

/* Up to eight digits, as one number; `count` says how many there are. Eight bytes are read: a byte is a digit if it is
 * below 10 after the exclusive or, and neighbours are then made one number, three times. */
static inline uint64_t kw_json_eight_digits(const uint8_t *p, unsigned *count) {
    uint64_t digits, others;
    unsigned first;
    memcpy(&digits, p, 8);
    digits = kw_le64(digits) ^ UINT64_C(0x3030303030303030);
    others = ((digits + UINT64_C(0x7676767676767676)) | digits) & UINT64_C(0x8080808080808080);
    *count = 8;
    if (others) {
        first = (unsigned)__builtin_ctzll(others); /* 8 * count + 7 */
        *count = first >> 3;
        if (*count == 0) return 0;
        digits <<= 71 - first;
    }
    digits = digits * 10 + (digits >> 8);
    return ((digits & UINT64_C(0xFF000000FF)) * UINT64_C(0xF424000000064) +
            (digits >> 16 & UINT64_C(0xFF000000FF)) * UINT64_C(0x271000000001)) >> 32;
}

static const uint64_t kw_json_powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* A number of up to 15 digits before the point and, where there may be a `fraction`, 7 after it, 18 in all, without an
 * exponent: `mantissa` is its digits without the point. */
static inline const uint8_t *kw_json_plain_number(const uint8_t *p, const uint8_t *end, int *negative,
                                                  uint64_t *mantissa, unsigned *fraction) {
    const uint8_t *first = p + (*p == '-');
    unsigned count, more;
    *negative = *p == '-';
    *mantissa = kw_json_eight_digits(first, &count);
    p = first + count;
    if (count == 8) {
        uint64_t others = kw_json_eight_digits(p, &more);
        if (more == 8) return NULL;
        *mantissa = *mantissa * kw_json_powers[more] + others;
        p += more;
    }
    if (count == 0 || (*first == '0' && p - first > 1)) return NULL;
    if (fraction != NULL) {
        *fraction = 0;
        if (*p == '.') {
            uint64_t others = kw_json_eight_digits(++p, fraction);
            if (*fraction == 0 || *fraction == 8) return NULL;
            *mantissa = *mantissa * kw_json_powers[*fraction] + others;
            p += *fraction;
            if (p - first > 19) return NULL;
        }
    }
    return p < end && *p != '.' && (*p | 0x20) != 'e' ? p : NULL;
}

/* A string in double quotes without escapes, copied to `out`, which has room for the rest of the text and KW_JSON_STEP
 * bytes more. */
static inline const uint8_t *kw_json_plain_string(const uint8_t *p, const uint8_t *end, const uint8_t *limit,
                                                  uint8_t *out) {
    unsigned not_ascii = 0;
    const uint8_t *begin = p + 1, *close;
    if (p >= end || *p != '"') return NULL;
    close = kw_json_unquoted(begin, end, limit, '"', &not_ascii, out);
    if (close >= end || *close != '"' || (not_ascii && kw_json_not_utf8(begin, close) != NULL)) return NULL;
    return close + 1;
}

/* --- pieces as they may be --- */

static int kw_json_hex(uint8_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The length of the escape sequence at `p`, 0 for none that there is. */
static int kw_json_escape_size(const uint8_t *p, const uint8_t *end) {
    if (end - p < 2) return 0;
    if (p[1] != 'u') return memchr("\"\\/bfnrt'", p[1], 9) != NULL ? 2 : 0;
    if (end - p < 6) return 0;
    for (int i = 2; i < 6; i++)
        if (kw_json_hex(p[i]) < 0) return 0;
    return 6;
}

/* Passes the string at the cursor, which stands at its quote. What is between the quotes is checked, not decoded. */
static int kw_json_string(kw_json *j, kw_json_span *out) {
    uint8_t quote = *j->at;
    const uint8_t *begin = j->at + 1, *p = begin, *bad;
    unsigned not_ascii = 0;
    out->escaped = 0;
    for (;;) {
        int size;
        p = kw_json_unquoted(p, j->end, j->limit, quote, &not_ascii, NULL);
        if (p >= j->end) return kw_json_fail(j, KW_JSON_END, j->end);
        if (*p == quote) break;
        if (*p != '\\') return kw_json_fail(j, KW_JSON_CONTROL, p);
        size = kw_json_escape_size(p, j->end);
        if (size == 0) return kw_json_fail(j, KW_JSON_ESCAPE, p);
        out->escaped = 1;
        p += size;
    }
    if (not_ascii && (bad = kw_json_not_utf8(begin, p)) != NULL) return kw_json_fail(j, KW_JSON_UTF8, bad);
    out->p = begin;
    out->size = (size_t)(p - begin);
    j->at = p + 1;
    return 1;
}

static unsigned kw_json_unit(const uint8_t *p) {
    return (unsigned)(kw_json_hex(p[2]) << 12 | kw_json_hex(p[3]) << 8 | kw_json_hex(p[4]) << 4 | kw_json_hex(p[5]));
}

static uint8_t *kw_json_put_utf8(uint8_t *out, unsigned c) {
    if (c < 0x80) {
        *out++ = (uint8_t)c;
        return out;
    }
    if (c < 0x800) {
        *out++ = (uint8_t)(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *out++ = (uint8_t)(0xE0 | c >> 12);
        } else {
            *out++ = (uint8_t)(0xF0 | c >> 18);
            *out++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        }
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    }
    *out++ = (uint8_t)(0x80 | (c & 0x3F));
    return out;
}

/* Writes what a string of kw_json_string() means, at most as many bytes as it has, and returns how many. A surrogate
 * without its other half becomes U+FFFD. */
static size_t kw_json_unescape(uint8_t *out, const kw_json_span *text) {
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const uint8_t *p = text->p, *end = p + text->size;
    uint8_t *begin = out;
    while (p < end) {
        const char *letter;
        unsigned c;
        if (*p != '\\') {
            *out++ = *p++;
            continue;
        }
        if (p[1] != 'u') {
            letter = memchr(from, p[1], 5);
            *out++ = letter != NULL ? (uint8_t)to[letter - from] : p[1];
            p += 2;
            continue;
        }
        c = kw_json_unit(p);
        p += 6;
        if (c >= 0xD800 && c < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
            unsigned low = kw_json_unit(p);
            if (low >= 0xDC00 && low < 0xE000) {
                c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
                p += 6;
            }
        }
        out = kw_json_put_utf8(out, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
    }
    return (size_t)(out - begin);
}

static inline int kw_json_digits(kw_json *j) {
    const uint8_t *begin = j->at;
    while (j->at < j->end && (uint8_t)(*j->at - '0') < 10) j->at++;
    return j->at > begin;
}

/* Passes a number, or a word for one that is not finite; `integer` says that it has neither fraction nor exponent. */
static int kw_json_number(kw_json *j, kw_json_span *out, int *integer) {
    int c;
    out->p = j->at;
    out->escaped = 0;
    *integer = 1;
    if (kw_json_peek(j) == '-') j->at++;
    c = kw_json_peek(j);
    if (c == 'I' || c == 'N') {
        *integer = 0;
        if (!(c == 'I' ? kw_json_word(j, "Infinity", 8) : kw_json_word(j, "NaN", 3))) return 0;
        out->size = (size_t)(j->at - out->p);
        return 1;
    }
    if (c == '0') {
        j->at++;
    } else if (!kw_json_digits(j)) {
        return kw_json_fail(j, KW_JSON_UNEXPECTED, j->at);
    }
    if (kw_json_peek(j) == '.') {
        *integer = 0;
        j->at++;
        if (!kw_json_digits(j)) return kw_json_fail(j, KW_JSON_UNEXPECTED, j->at);
    }
    if ((kw_json_peek(j) | 0x20) == 'e') {
        *integer = 0;
        j->at++;
        if (kw_json_peek(j) == '+' || kw_json_peek(j) == '-') j->at++;
        if (!kw_json_digits(j)) return kw_json_fail(j, KW_JSON_UNEXPECTED, j->at);
    }
    out->size = (size_t)(j->at - out->p);
    return 1;
}

/* Passes a value that is not an object or array; `c` is its first byte. */
static int kw_json_skip_scalar(kw_json *j, int c) {
    kw_json_span span;
    int integer;
    switch (c) {
    case '"':
    case '\'': return kw_json_string(j, &span);
    case 't': return kw_json_word(j, "true", 4);
    case 'f': return kw_json_word(j, "false", 5);
    case 'n': return kw_json_word(j, "null", 4);
    default: return kw_json_number(j, &span, &integer);
    }
}

/* Passes `"key" :`, where a key must be. */
static int kw_json_skip_key(kw_json *j) {
    kw_json_span span;
    int c = kw_json_next(j);
    if (c != '"' && c != '\'') return kw_json_fail(j, KW_JSON_UNEXPECTED, j->at);
    return kw_json_string(j, &span) && kw_json_expect(j, ':');
}

/* Passes whatever value comes next, and checks that it is one. */
static int kw_json_skip(kw_json *j) {
    uint8_t is_object[KW_JSON_DEPTH];
    int depth = 0, c;
    for (;;) {
        c = kw_json_next(j);
        if (c == '{' || c == '[') {
            if (depth == KW_JSON_DEPTH) return kw_json_fail(j, KW_JSON_DEEP, j->at);
            j->at++;
            is_object[depth++] = c == '{';
            if (kw_json_next(j) != (c == '{' ? '}' : ']')) {
                if (c == '{' && !kw_json_skip_key(j)) return 0;
                continue;
            }
        } else if (!kw_json_skip_scalar(j, c)) {
            return 0;
        }
        for (;;) {
            if (depth == 0) return 1;
            c = kw_json_next(j);
            if (c != (is_object[depth - 1] ? '}' : ']')) break;
            j->at++;
            depth--;
        }
        if (!kw_json_expect(j, ',')) return 0;
        if (is_object[depth - 1] && !kw_json_skip_key(j)) return 0;
    }
}

#endif
