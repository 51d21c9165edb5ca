/* Texts, as fields of JSON and CSV have them, to numbers, decimals, dates, times and bytes. Plain C without Python.
 *
 * Each function gets a text that it may not read beyond, and returns whether the text is such a value and fits. What is
 * accepted is what Spark's from_json and from_csv accept with their default options: dates and times as its casts of
 * strings do.
 * Sources: Spark's documentation of the JSON and CSV options and of CAST; H. Hinnant, "chrono-compatible low-level date
 * algorithms": days since 1970-01-01 of the proleptic Gregorian calendar; W. Clinger, "How to read floating point
 * numbers accurately": a decimal of up to 2^53 and a power of ten up to 10^22 are exact, and one operation rounds once.
 */
#ifndef KWIRE_TEXT_VALUES_H
#define KWIRE_TEXT_VALUES_H

#include <float.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} kw_text;

static inline int kw_text_is(const kw_text *t, int c) { return t->at < t->end && *t->at == c; }

static inline int kw_text_digit(const kw_text *t) {
    return t->at < t->end && (uint8_t)(*t->at - '0') < 10 ? *t->at - '0' : -1;
}

/* An integer, with a sign or without; 0 when it is none of int64. */
static int kw_int_of_text(int64_t *out, const uint8_t *p, size_t size) {
    int negative = size > 0 && *p == '-';
    uint64_t value = 0;
    size_t i = (size_t)(negative || (size > 0 && *p == '+'));
    while (size - i > 19 && p[i] == '0') i++;
    if (i == size || size - i > 19) return 0;
    for (; i < size; i++) {
        if ((uint8_t)(p[i] - '0') > 9) return 0;
        value = value * 10 + (uint64_t)(p[i] - '0');
    }
    if (value > (uint64_t)INT64_MAX + (unsigned)negative) return 0;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 1;
}

static const double kw_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Whether a double is this integer exactly. */
static inline int kw_is_exact(uint64_t mantissa) { return mantissa <= UINT64_C(1) << 53; }

/* An exact mantissa with up to 22 of its digits after the point. */
static inline double kw_with_point(uint64_t mantissa, unsigned fraction, int negative) {
    double value = (double)(int64_t)mantissa / kw_powers[fraction];
    return negative ? -value : value;
}

/* `mantissa` times ten to the power of `exponent`, if that can be told by one operation; 0 otherwise. */
static int kw_scaled(double *out, uint64_t mantissa, int exponent) {
#if LDBL_MANT_DIG == 64
    static const long double long_powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                              1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                              1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    long double value;
    uint64_t bits;
#endif
    if (kw_is_exact(mantissa) && exponent >= -22 && exponent <= 22) {
        *out = exponent < 0 ? (double)mantissa / kw_powers[-exponent] : (double)mantissa * kw_powers[exponent];
        return 1;
    }
#if LDBL_MANT_DIG == 64
    /* Rounded to 64 bits, then to 53: that is rounded twice only where the first result lies in the middle of two. */
    if (exponent < -27 || exponent > 27) return 0;
    value = (long double)mantissa;
    value = exponent < 0 ? value / long_powers[-exponent] : value * long_powers[exponent];
    memcpy(&bits, &value, 8);
    if ((bits & 0x7FF) == 0x400) return 0;
    *out = (double)value;
    return 1;
#else
    return 0;
#endif
}

/* What kw_is_number() accepts, if kw_scaled() can tell it; 0 otherwise. */
static int kw_double_of_text(double *out, const uint8_t *p, size_t size) {
    const uint8_t *end = p + size;
    int negative = size > 0 && *p == '-', exponent = 0, given = 0, sign = 1, digits = 0, fraction = 0;
    uint64_t mantissa = 0;
    double value;
    for (p += negative || (size > 0 && *p == '+'); p < end && (*p | 0x20) != 'e'; p++) {
        if (*p == '.') {
            fraction = 1;
            continue;
        }
        mantissa = mantissa * 10 + (uint64_t)(*p - '0');
        digits += mantissa != 0;
        exponent -= fraction;
        if (digits > 19) return 0;
    }
    if (p < end) {
        p++;
        if (*p == '+' || *p == '-') sign = *p++ == '-' ? -1 : 1;
        for (; p < end; p++) {
            given = given * 10 + (*p - '0');
            if (given > 9999) return 0;
        }
        exponent += sign * given;
    }
    if (!kw_scaled(&value, mantissa, exponent)) return 0;
    *out = negative ? -value : value;
    return 1;
}

/* Whether a text is a number as CSV has it: sign, digits with a point anywhere among them, exponent. */
static int kw_is_number(const uint8_t *p, size_t size) {
    kw_text t = {p, p + size};
    int digits = 0;
    if (kw_text_is(&t, '-') || kw_text_is(&t, '+')) t.at++;
    for (; kw_text_digit(&t) >= 0; t.at++) digits = 1;
    if (kw_text_is(&t, '.')) t.at++;
    for (; kw_text_digit(&t) >= 0; t.at++) digits = 1;
    if (!digits || t.at == t.end) return digits;
    if ((*t.at++ | 0x20) != 'e') return 0;
    if (kw_text_is(&t, '-') || kw_text_is(&t, '+')) t.at++;
    digits = t.at < t.end;
    while (kw_text_digit(&t) >= 0) t.at++;
    return digits && t.at == t.end;
}

/* A decimal: sign, digits with a point anywhere among them, exponent; commas between digits are left out. Its 16 bytes,
 * rounded half up to `scale` digits after the point; 0 when it is none or has more than `precision` digits (up to 38).
 */
static int kw_decimal_of_text(uint8_t *out, const uint8_t *p, size_t size, int precision, int scale) {
    kw_text t = {p, p + size};
    const uint8_t *digits, *digits_end;
    int negative = kw_text_is(&t, '-'), sign = 1, any = 0, fraction = 0;
    int64_t exponent = 0, given = 0, kept, seen = 0;
    unsigned __int128 value = 0, limit = 1;
    int rounds = 0;
    if (negative || kw_text_is(&t, '+')) t.at++;
    digits = t.at;
    for (; t.at < t.end && (*t.at | 0x20) != 'e'; t.at++) {
        if (*t.at == '.' && !fraction) {
            fraction = 1;
        } else if (*t.at != ',') {
            if (kw_text_digit(&t) < 0) return 0;
            any = 1;
            exponent -= fraction;
        }
    }
    digits_end = t.at;
    if (!any) return 0;
    if (t.at < t.end) {
        t.at++;
        if (kw_text_is(&t, '-')) sign = -1;
        if (sign < 0 || kw_text_is(&t, '+')) t.at++;
        if (t.at == t.end) return 0;
        for (; t.at < t.end; t.at++) {
            if (kw_text_digit(&t) < 0) return 0;
            if (given < 1000000000) given = given * 10 + kw_text_digit(&t);
        }
        exponent += sign * given;
    }
    /* The digits from the first that is not 0 on; `kept` of them stand before the place where it is rounded. */
    for (p = digits; p < digits_end && (*p == '0' || *p == '.' || *p == ','); p++) {
    }
    kept = exponent + scale;
    for (const uint8_t *q = p; q < digits_end; q++) kept += *q != '.' && *q != ',';
    if (p == digits_end) kept = 0;
    if (kept > precision) return 0;
    for (; p < digits_end && seen <= kept; p++) {
        if (*p == '.' || *p == ',') continue;
        if (seen < kept) {
            value = value * 10 + (unsigned)(*p - '0');
        } else {
            rounds = *p >= '5';
        }
        seen++;
    }
    for (; seen < kept; seen++) value *= 10;
    value += (unsigned)rounds;
    while (precision-- > 0) limit *= 10;
    if (value >= limit) return 0;
    if (negative) value = ~value + 1;
    memcpy(out, &value, 16);
    return 1;
}

/* Base64 of the standard alphabet, padded; its bytes, at most as many as the text has. -1 when it is none. */
static int64_t kw_bytes_of_base64(uint8_t *out, const uint8_t *p, size_t size) {
    uint8_t *begin = out;
    const uint8_t *end = p + size;
    uint32_t bits = 0;
    int have = 0;
    if (size % 4 != 0) return -1;
    if (size > 0 && end[-1] == '=') end--;
    if (size > 0 && end[-1] == '=') end--;
    for (; p < end; p++) {
        int c = *p;
        int six = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
        if (six < 0) return -1;
        bits = bits << 6 | (uint32_t)six;
        have += 6;
        if (have >= 8) {
            have -= 8;
            *out++ = (uint8_t)(bits >> have);
        }
    }
    return (bits & ((1u << have) - 1)) == 0 ? out - begin : -1;
}

static int64_t kw_days_of_date(int64_t year, int month, int day) {
    int64_t era, of_era, of_year;
    year -= month <= 2;
    era = (year >= 0 ? year : year - 399) / 400;
    of_era = year - era * 400;
    of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int kw_is_date(int64_t year, int month, int day) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

static kw_text kw_trimmed(const uint8_t *p, size_t size) {
    kw_text t = {p, p + size};
    while (t.at < t.end && *t.at <= ' ') t.at++;
    while (t.at < t.end && t.end[-1] <= ' ') t.end--;
    return t;
}

/* From `least` to `most` digits; -1 for fewer or more. */
static int64_t kw_text_number(kw_text *t, int least, int most) {
    const uint8_t *begin = t->at;
    int64_t value = 0;
    while (kw_text_digit(t) >= 0 && t->at - begin < most) value = value * 10 + (*t->at++ - '0');
    return t->at - begin >= least && kw_text_digit(t) < 0 ? value : -1;
}

/* `[+-]yyyy[-m[m][-d[d]]]`, the days since 1970; `parts` says how many of the three there are. */
static int kw_text_date(kw_text *t, int most_year_digits, int64_t *days, int *parts) {
    int negative = kw_text_is(t, '-');
    int64_t year, month = 1, day = 1;
    if (negative || kw_text_is(t, '+')) t->at++;
    year = kw_text_number(t, 4, most_year_digits);
    if (year < 0) return 0;
    *parts = 1;
    if (kw_text_is(t, '-')) {
        t->at++;
        month = kw_text_number(t, 1, 2);
        *parts = 2;
        if (kw_text_is(t, '-')) {
            t->at++;
            day = kw_text_number(t, 1, 2);
            *parts = 3;
        }
    }
    if (!kw_is_date(negative ? -year : year, (int)month, (int)day)) return 0;
    *days = kw_days_of_date(negative ? -year : year, (int)month, (int)day);
    return 1;
}

/* A date; what follows a whole one after a blank or a T does not matter. */
static int kw_date_of_text(int32_t *out, const uint8_t *p, size_t size) {
    kw_text t = kw_trimmed(p, size);
    int64_t days;
    int parts;
    if (!kw_text_date(&t, 7, &days, &parts)) return 0;
    if (t.at < t.end && (parts < 3 || (*t.at != ' ' && *t.at != 'T'))) return 0;
    if (days < INT32_MIN || days > INT32_MAX) return 0;
    *out = (int32_t)days;
    return 1;
}

/* `Z`, `UTC`, `GMT`, `[+-]h[h][:m[m][:ss]]`, `[+-]hhmm`, and the latter two after UTC, GMT or UT: seconds east. */
static int kw_text_zone(kw_text *t, int64_t *seconds) {
    int negative, after_name = 0;
    int64_t hours, minutes = 0, rest = 0;
    *seconds = 0;
    while (kw_text_is(t, ' ')) t->at++;
    if (t->end - t->at == 1 && *t->at == 'Z') return 1;
    if (t->end - t->at >= 3 && (memcmp(t->at, "UTC", 3) == 0 || memcmp(t->at, "GMT", 3) == 0)) {
        t->at += 3;
        after_name = 1;
    } else if (t->end - t->at >= 2 && memcmp(t->at, "UT", 2) == 0) {
        t->at += 2;
        after_name = 1;
    }
    if (t->at == t->end) return after_name;
    negative = *t->at == '-';
    if (!negative && *t->at != '+') return 0;
    t->at++;
    if (t->end - t->at == 4 && t->at[1] != ':' && t->at[2] != ':') {
        hours = kw_text_number(t, 4, 4);
        minutes = hours % 100;
        hours = hours < 0 ? -1 : hours / 100;
    } else {
        hours = kw_text_number(t, 1, 2);
        if (kw_text_is(t, ':')) {
            t->at++;
            minutes = kw_text_number(t, 1, 2);
        }
        if (kw_text_is(t, ':')) {
            t->at++;
            rest = kw_text_number(t, 2, 2);
        }
    }
    if (t->at < t->end || hours < 0 || minutes < 0 || minutes > 59 || rest < 0 || rest > 59) return 0;
    *seconds = hours * 3600 + minutes * 60 + rest;
    if (*seconds > 18 * 3600) return 0;
    if (negative) *seconds = -*seconds;
    return 1;
}

/* `h[h][:m[m][:s[s][.f...]]]` in microseconds of the day; `whole` says that a zone may follow. */
static int kw_text_time(kw_text *t, int64_t *micros, int *whole) {
    int64_t hour = kw_text_number(t, 1, 2), minute = 0, second = 0, fraction = 0, unit = 100000;
    *whole = 0;
    if (kw_text_is(t, ':')) {
        t->at++;
        minute = kw_text_number(t, 1, 2);
        if (kw_text_is(t, ':')) {
            t->at++;
            second = kw_text_number(t, 1, 2);
            *whole = 1;
            if (kw_text_is(t, '.')) {
                for (t->at++; kw_text_digit(t) >= 0; t->at++) {
                    fraction += kw_text_digit(t) * unit;
                    unit /= 10;
                }
            }
        }
    }
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return 0;
    *micros = ((hour * 60 + minute) * 60 + second) * 1000000 + fraction;
    return 1;
}

/* A date with or without a time, as microseconds since 1970 in the zone that it names; `has_zone` says if it does. */
static int kw_timestamp_of_text(int64_t *out, int *has_zone, const uint8_t *p, size_t size) {
    kw_text t = kw_trimmed(p, size);
    int64_t days, micros = 0, seconds = 0;
    __int128 value;
    int parts, whole = 0;
    *has_zone = 0;
    if (!kw_text_date(&t, 6, &days, &parts)) return 0;
    if (t.at < t.end) {
        if (parts < 3 || (*t.at != ' ' && *t.at != 'T')) return 0;
        t.at++;
        if (!kw_text_time(&t, &micros, &whole)) return 0;
    }
    if (t.at < t.end) {
        if (!whole || !kw_text_zone(&t, &seconds)) return 0;
        *has_zone = 1;
    }
    value = (__int128)days * 86400000000 + micros - (__int128)seconds * 1000000;
    if (value < INT64_MIN || value > INT64_MAX) return 0;
    *out = (int64_t)value;
    return 1;
}

#endif
