/* Decimals as Avro writes them, big-endian two's complement of any length, to the 16 bytes of Arrow's. Plain C.
 *
 * Source: Apache Avro specification, "Decimal"; "Arrow columnar format", decimals.
 */
#ifndef KWIRE_DECIMALS_H
#define KWIRE_DECIMALS_H

#include <stdint.h>
#include <string.h>

/* 0 when the integer has no bytes or more than `precision` digits (38 at most). */
static int kw_decimal_from_bytes(uint8_t *out, const uint8_t *p, size_t size, int precision) {
    unsigned __int128 value, limit = 1;
    int negative = size > 0 && p[0] >= 0x80;
    if (size == 0) return 0;
    value = negative ? ~(unsigned __int128)0 : 0;
    for (; size > 16; size--)
        if (*p++ != (negative ? 0xFF : 0)) return 0;
    if ((p[0] >= 0x80) != negative && size == 16) return 0;
    for (; size > 0; size--) value = value << 8 | *p++;
    while (precision-- > 0) limit *= 10;
    if ((negative ? ~value + 1 : value) >= limit) return 0;
    memcpy(out, &value, 16);
    return 1;
}

#endif
