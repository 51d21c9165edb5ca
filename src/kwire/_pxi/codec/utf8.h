/* UTF-8 that may be broken, made whole: each ill-formed sequence becomes U+FFFD, as Python's "replace" does it (the
 * longest well-formed beginning of a character counts as one sequence). Plain C without Python.
 *
 * Source: The Unicode Standard, table 3-7 "Well-Formed UTF-8 Byte Sequences", and its section on U+FFFD substitution.
 */
#ifndef KWIRE_UTF8_H
#define KWIRE_UTF8_H

#include <stdint.h>
#include <string.h>

/* The length of the character at `p`, or minus the number of bytes to replace; `size` is at least 1. */
static inline int kw_utf8_step(const uint8_t *p, size_t size) {
    uint8_t lead = p[0], low = 0x80, high = 0xBF;
    int length;
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4) return -1;
    length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    for (int i = 1; i < length; i++) {
        if ((size_t)i >= size || p[i] < low || p[i] > high) return -i;
        low = 0x80;
        high = 0xBF;
    }
    return length;
}

static int kw_utf8_is_valid(const uint8_t *p, size_t size) {
    const uint8_t *begin = p;
    uint64_t word;
    while (size >= 8) {
        memcpy(&word, p, 8);
        if (word & UINT64_C(0x8080808080808080)) break;
        p += 8;
        size -= 8;
    }
    if (size < 8 && p > begin) { /* the last eight bytes, some of which have been seen */
        memcpy(&word, p + size - 8, 8);
        if (!(word & UINT64_C(0x8080808080808080))) return 1;
    }
    while (size > 0) {
        int step = kw_utf8_step(p, size);
        if (step < 0) return 0;
        p += step;
        size -= (size_t)step;
    }
    return 1;
}

static size_t kw_utf8_repaired_size(const uint8_t *p, size_t size) {
    size_t repaired = 0;
    while (size > 0) {
        int step = kw_utf8_step(p, size);
        int used = step < 0 ? -step : step;
        repaired += step < 0 ? 3 : (size_t)step;
        p += used;
        size -= (size_t)used;
    }
    return repaired;
}

/* Writes the repaired text into `room` bytes at `out`; returns how many it takes, or -1 when they are more than that.
 * The bytes may change meanwhile: nothing but `room` bounds what is written. */
static int64_t kw_utf8_repair(uint8_t *out, size_t room, const uint8_t *p, size_t size) {
    uint8_t *begin = out, *end = out + room;
    while (size > 0) {
        int step = kw_utf8_step(p, size);
        int used = step < 0 ? -step : step;
        if (end - out < (step < 0 ? 3 : step)) return -1;
        if (step < 0) {
            memcpy(out, "\xEF\xBF\xBD", 3);
            out += 3;
        } else {
            memcpy(out, p, (size_t)used);
            out += used;
        }
        p += used;
        size -= (size_t)used;
    }
    return out - begin;
}

#endif
