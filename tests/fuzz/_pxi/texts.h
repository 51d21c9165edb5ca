/* Plain ways to read the texts that text_values.h and utf8.h read: for comparison, by the C library where it can. Plain C
 * without Python. Each says whether the text is such a value, as the function of kwire's does that it is held against.
 */
#ifndef KWIRE_FUZZ_TEXTS_H
#define KWIRE_FUZZ_TEXTS_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PLAIN_MOST 512 /* bytes of a text that are compared */

static int plain_digits(const char **at) {
    int count = 0;
    while (**at >= '0' && **at <= '9') (*at)++, count++;
    return count;
}

static int plain_int(int64_t *out, const char *text) {
    const char *at = text + (*text == '+' || *text == '-');
    if (!plain_digits(&at) || *at) return 0;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0;
}

static int plain_is_number(const char *at) {
    int digits;
    at += *at == '+' || *at == '-';
    digits = plain_digits(&at);
    at += *at == '.';
    digits += plain_digits(&at);
    if (digits && (*at == 'e' || *at == 'E')) {
        at++;
        at += *at == '+' || *at == '-';
        digits = plain_digits(&at);
    }
    return digits && !*at;
}

/* By the digits alone: shifted by the exponent, cut where the scale says, and rounded there. */
static int plain_decimal(uint8_t *out, const char *text, int precision, int scale) {
    char digits[2 * PLAIN_MOST];
    int count = 0, points = 0, after = 0, negative = *text == '-';
    long exponent = 0, cut;
    const char *at = text + (*text == '+' || *text == '-');
    unsigned __int128 value = 0, limit = 1;
    for (; *at && *at != 'e' && *at != 'E'; at++) {
        if (*at == ',') continue;
        if (*at == '.' && points++ == 0) continue;
        if (*at < '0' || *at > '9') return 0;
        digits[count++] = *at;
        after += points;
    }
    if (!count) return 0;
    if (*at) {
        const char *begin = ++at;
        at += *at == '+' || *at == '-';
        if (!plain_digits(&at) || *at) return 0;
        exponent = strtol(begin, NULL, 10);
        if (exponent > 100000) exponent = 100000;
        if (exponent < -100000) exponent = -100000;
    }
    cut = count - after + exponent + scale; /* so many digits stand before the place where it is rounded */
    while (precision-- > 0) limit *= 10;
    for (long i = 0; i < cut && (i < count || value != 0); i++) {
        if (value >= limit / 10) return 0;
        value = value * 10 + (unsigned)(i < count ? digits[i] - '0' : 0);
    }
    if (cut >= 0 && cut < count && digits[cut] >= '5') value++;
    if (value >= limit) return 0;
    if (negative) value = ~value + 1;
    memcpy(out, &value, 16);
    return 1;
}

/* A date that the C library finds the day of; `text` is trimmed. */
static int plain_date(int64_t *days, const char *text) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    struct tm tm = {0};
    long parts[3] = {0, 1, 1}, year;
    int count = 0, size, leap;
    const char *at = text + (*text == '+' || *text == '-');
    for (; count < 3; count++) {
        const char *begin = at;
        size = plain_digits(&at);
        if (count == 0 ? size < 4 || size > 7 : size < 1 || size > 2) return 0;
        parts[count] = strtol(begin, NULL, 10);
        if (count < 2 && *at != '-') break;
        at += count < 2;
    }
    if (*at && (count < 3 || (*at != ' ' && *at != 'T'))) return 0;
    year = *text == '-' ? -parts[0] : parts[0];
    leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (parts[1] < 1 || parts[1] > 12 || parts[2] < 1) return 0;
    if (parts[2] > lengths[parts[1] - 1] + (parts[1] == 2 && leap)) return 0;
    tm.tm_year = (int)year - 1900;
    tm.tm_mon = (int)parts[1] - 1;
    tm.tm_mday = (int)parts[2];
    *days = timegm(&tm) / 86400;
    return *days >= INT32_MIN && *days <= INT32_MAX;
}

/* The instant as a text that says it in full. */
static int plain_instant(char *out, size_t size, int64_t micros) {
    time_t seconds = micros / 1000000 - (micros % 1000000 < 0);
    struct tm tm;
    if (gmtime_r(&seconds, &tm) == NULL) return 0;
    return snprintf(out, size, "%s%04d-%02d-%02d %02d:%02d:%02d.%06dZ", tm.tm_year + 1900 < 0 ? "-" : "",
                    abs(tm.tm_year + 1900), tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                    (int)(micros - seconds * 1000000));
}

static size_t plain_base64(char *out, const uint8_t *p, size_t size) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *begin = out;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = (uint32_t)p[i] << 16 | (i + 1 < size ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < size ? p[i + 2] : 0);
        *out++ = letters[bits >> 18];
        *out++ = letters[bits >> 12 & 63];
        *out++ = i + 1 < size ? letters[bits >> 6 & 63] : '=';
        *out++ = i + 2 < size ? letters[bits & 63] : '=';
    }
    return (size_t)(out - begin);
}

/* By what each character stands for: the shortest form, no surrogates, nothing beyond U+10FFFF. */
static int plain_is_utf8(const uint8_t *p, size_t size) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t i = 0;
    while (i < size) {
        int length = p[i] < 0x80 ? 1 : p[i] >> 5 == 6 ? 2 : p[i] >> 4 == 14 ? 3 : p[i] >> 3 == 30 ? 4 : 0;
        uint32_t c = length == 1 ? p[i] : length ? p[i] & (0xFFu >> (length + 1)) : 0;
        if (!length || (size_t)length > size - i) return 0;
        for (int n = 1; n < length; n++) {
            if (p[i + (size_t)n] >> 6 != 2) return 0;
            c = c << 6 | (p[i + (size_t)n] & 63);
        }
        if (c < least[length] || c > 0x10FFFF || c >> 11 == 27) return 0;
        i += (size_t)length;
    }
    return 1;
}

#endif
