/* CRC-32C (Castagnoli) and CRC-32 (ISO-HDLC, zlib's), chosen at run time: processor instructions, else tables.
 *
 *            reflected polynomial   start and final xor   on the wire
 *   CRC-32C  0x82F63B78             0xFFFFFFFF            record batches, magic 2
 *   CRC-32   0xEDB88320             0xFFFFFFFF            messages of 0.7, magic 0 and 1; gzip
 *
 * Both functions take the checksum of what came before (0 at the start) and give the one including the new bytes, as
 * zlib's crc32() does. x86-64: CRC-32C folds 256 bytes at a time by VPCLMULQDQ where there is AVX-512, else it runs
 * three independent lanes of the SSE4.2 instruction and joins them by a carry-less product; CRC-32 folds 64 bytes at a
 * time by PCLMULQDQ (V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel
 * 2009). AArch64: the CRC extension has both polynomials.
 *
 * Plain C without Python. The tables are filled by kw_crc_install(), which the module calls once while it is imported.
 */
#ifndef KWIRE_CRC32C_H
#define KWIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

#define KW_POLYNOMIAL_CRC32C 0x82F63B78u
#define KW_POLYNOMIAL_CRC32 0xEDB88320u

typedef uint32_t (*kw_crc_function)(uint32_t, const uint8_t *, size_t);

static uint32_t kw_table_crc32c[8][256];
static uint32_t kw_table_crc32[8][256];

static void kw_crc_fill_tables(uint32_t tables[8][256], uint32_t polynomial) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? polynomial : 0);
        tables[0][byte] = crc;
    }
    for (int row = 1; row < 8; row++)
        for (int byte = 0; byte < 256; byte++)
            tables[row][byte] = (tables[row - 1][byte] >> 8) ^ tables[0][tables[row - 1][byte] & 0xFF];
}

static inline uint64_t kw_load_le64(const uint8_t *p) {
    uint64_t value;
    memcpy(&value, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* `crc` here and in the functions below is the running register, without the xor at start and end. */
static inline uint32_t kw_crc_by_table(uint32_t tables[8][256], uint32_t crc, const uint8_t *p, size_t size) {
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word = kw_load_le64(p) ^ crc;
        crc = tables[7][word & 0xFF] ^ tables[6][(word >> 8) & 0xFF] ^ tables[5][(word >> 16) & 0xFF] ^
              tables[4][(word >> 24) & 0xFF] ^ tables[3][(word >> 32) & 0xFF] ^ tables[2][(word >> 40) & 0xFF] ^
              tables[1][(word >> 48) & 0xFF] ^ tables[0][word >> 56];
    }
    for (; size > 0; p++, size--) crc = (crc >> 8) ^ tables[0][(crc ^ *p) & 0xFF];
    return crc;
}

static uint32_t kw_crc32c_table(uint32_t crc, const uint8_t *p, size_t size) {
    return kw_crc_by_table(kw_table_crc32c, crc, p, size);
}

static uint32_t kw_crc32_table(uint32_t crc, const uint8_t *p, size_t size) {
    return kw_crc_by_table(kw_table_crc32, crc, p, size);
}

#if defined(__x86_64__)

#define KW_LANE_LONG ((size_t)2048)
#define KW_LANE_SHORT ((size_t)256)

/* x^(8n - 33) modulo the polynomial: multiplied with a register, it moves that register over n bytes (see kw_move). */
static uint32_t kw_move_long_1, kw_move_long_2, kw_move_short_1, kw_move_short_2;

static uint32_t kw_power_of_x(size_t exponent) {
    uint32_t value = 0x80000000u;
    while (exponent-- > 0) value = (value >> 1) ^ ((value & 1) ? KW_POLYNOMIAL_CRC32C : 0);
    return value;
}

/* The reflected product has one spare low bit and the instruction multiplies by x^32: together the 33 above. */
__attribute__((target("sse4.2,pclmul"))) static inline uint32_t kw_move(uint32_t crc, uint32_t power) {
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)crc), _mm_cvtsi32_si128((int)power), 0);
    return (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

__attribute__((target("sse4.2,pclmul"))) static inline uint32_t kw_three_lanes(
    uint32_t crc, const uint8_t *p, size_t lane, uint32_t move_1, uint32_t move_2) {
    uint64_t first = crc, second = 0, third = 0;
    for (const uint8_t *end = p + lane; p < end; p += 8) {
        first = _mm_crc32_u64(first, kw_load_le64(p));
        second = _mm_crc32_u64(second, kw_load_le64(p + lane));
        third = _mm_crc32_u64(third, kw_load_le64(p + 2 * lane));
    }
    return kw_move((uint32_t)first, move_2) ^ kw_move((uint32_t)second, move_1) ^ (uint32_t)third;
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t kw_crc32c_hardware(
    uint32_t crc, const uint8_t *p, size_t size) {
    uint64_t wide;
    for (; size >= 3 * KW_LANE_LONG; p += 3 * KW_LANE_LONG, size -= 3 * KW_LANE_LONG)
        crc = kw_three_lanes(crc, p, KW_LANE_LONG, kw_move_long_1, kw_move_long_2);
    for (; size >= 3 * KW_LANE_SHORT; p += 3 * KW_LANE_SHORT, size -= 3 * KW_LANE_SHORT)
        crc = kw_three_lanes(crc, p, KW_LANE_SHORT, kw_move_short_1, kw_move_short_2);
    wide = crc;
    for (; size >= 8; p += 8, size -= 8) wide = _mm_crc32_u64(wide, kw_load_le64(p));
    crc = (uint32_t)wide;
    for (; size > 0; p++, size--) crc = _mm_crc32_u8(crc, *p);
    return crc;
}

__attribute__((target("sse4.2,pclmul"))) static inline __m128i kw_fold(__m128i state, __m128i next, __m128i by) {
    __m128i low = _mm_clmulepi64_si128(state, by, 0x00);
    __m128i high = _mm_clmulepi64_si128(state, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

#define KW_WIDE ((size_t)64)
#define KW_AVX512 __attribute__((target("avx512f,vpclmulqdq,sse4.2,pclmul")))

/* What moves the halves of 16 bytes over so many bytes, as kw_fold takes it: x^(8n + 32) and x^(8n - 32), reflected and
 * one bit up. */
static uint64_t kw_over_256[2], kw_over_64[2], kw_over_48[2], kw_over_32[2], kw_over_16[2];

static void kw_fill_fold(uint64_t by[2], size_t bytes) {
    by[0] = (uint64_t)kw_power_of_x(8 * bytes + 32) << 1;
    by[1] = (uint64_t)kw_power_of_x(8 * bytes - 32) << 1;
}

KW_AVX512 static inline __m512i kw_fold_wide(__m512i state, __m512i next, __m512i by) {
    __m512i low = _mm512_clmulepi64_epi128(state, by, 0x00);
    __m512i high = _mm512_clmulepi64_epi128(state, by, 0x11);
    return _mm512_ternarylogic_epi64(low, high, next, 0x96); /* the xor of three */
}

KW_AVX512 static inline __m512i kw_four_times(const uint64_t by[2]) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)by));
}

/* The register after `size` bytes: 256 or more, and whole 64 bytes. */
KW_AVX512 static uint32_t kw_crc32c_folded(uint32_t crc, const uint8_t *p, size_t size) {
    const __m512i over_256 = kw_four_times(kw_over_256), over_64 = kw_four_times(kw_over_64);
    __m512i a = _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    __m512i b = _mm512_loadu_si512(p + KW_WIDE);
    __m512i c = _mm512_loadu_si512(p + 2 * KW_WIDE);
    __m512i d = _mm512_loadu_si512(p + 3 * KW_WIDE);
    __m128i joined;
    uint64_t wide;
    for (p += 4 * KW_WIDE, size -= 4 * KW_WIDE; size >= 4 * KW_WIDE; p += 4 * KW_WIDE, size -= 4 * KW_WIDE) {
        a = kw_fold_wide(a, _mm512_loadu_si512(p), over_256);
        b = kw_fold_wide(b, _mm512_loadu_si512(p + KW_WIDE), over_256);
        c = kw_fold_wide(c, _mm512_loadu_si512(p + 2 * KW_WIDE), over_256);
        d = kw_fold_wide(d, _mm512_loadu_si512(p + 3 * KW_WIDE), over_256);
    }
    a = kw_fold_wide(kw_fold_wide(kw_fold_wide(a, b, over_64), c, over_64), d, over_64);
    for (; size >= KW_WIDE; p += KW_WIDE, size -= KW_WIDE) a = kw_fold_wide(a, _mm512_loadu_si512(p), over_64);
    joined = _mm512_extracti32x4_epi32(a, 3);
    joined = kw_fold(_mm512_extracti32x4_epi32(a, 2), joined, _mm_loadu_si128((const __m128i *)kw_over_16));
    joined = kw_fold(_mm512_extracti32x4_epi32(a, 1), joined, _mm_loadu_si128((const __m128i *)kw_over_32));
    joined = kw_fold(_mm512_castsi512_si128(a), joined, _mm_loadu_si128((const __m128i *)kw_over_48));
    wide = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(joined));
    return (uint32_t)_mm_crc32_u64(wide, (uint64_t)_mm_extract_epi64(joined, 1));
}

static uint32_t kw_crc32c_wide(uint32_t crc, const uint8_t *p, size_t size) {
    size_t folded = size >= 4 * KW_WIDE ? size / KW_WIDE * KW_WIDE : 0;
    if (folded > 0) crc = kw_crc32c_folded(crc, p, folded);
    return kw_crc32c_hardware(crc, p + folded, size - folded);
}

static int kw_crc_wide_present(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}

/* Takes in the last `rest` (1 to 15) bytes: the remainder moves up by as many, and what falls out of it is folded. At
 * least 16 bytes lie in front of `end`. */
__attribute__((target("sse4.2,pclmul"))) static inline __m128i kw_fold_rest(
    __m128i state, const uint8_t *end, size_t rest, __m128i by_16) {
    static const uint8_t places[48] = {
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    __m128i to_end = _mm_loadu_si128((const __m128i *)(places + rest));
    __m128i to_begin = _mm_loadu_si128((const __m128i *)(places + 16 + rest));
    __m128i old = _mm_cmplt_epi8(to_end, _mm_setzero_si128());
    __m128i last = _mm_loadu_si128((const __m128i *)(end - 16));
    __m128i next = _mm_or_si128(_mm_shuffle_epi8(state, to_begin), _mm_andnot_si128(old, last));
    return kw_fold(_mm_shuffle_epi8(state, to_end), next, by_16);
}

/* With the paper's constants for 0xEDB88320, reflected: the remainder is cut down to 64 bits and, by Barrett's reduction
 * with the polynomial and its inverse, to 32. */
__attribute__((target("sse4.2,pclmul"))) static inline uint32_t kw_reduce(__m128i state, __m128i by_16) {
    const __m128i by_8 = _mm_set_epi64x(0, 0x0163CD6124);
    const __m128i polynomial = _mm_set_epi64x(0x01F7011641, 0x01DB710641);
    const __m128i low_half = _mm_set_epi64x(0, 0xFFFFFFFF);
    __m128i quotient;
    state = _mm_xor_si128(_mm_srli_si128(state, 8), _mm_clmulepi64_si128(state, by_16, 0x10));
    state = _mm_xor_si128(_mm_srli_si128(state, 4),
                          _mm_clmulepi64_si128(_mm_and_si128(state, low_half), by_8, 0x00));
    quotient = _mm_clmulepi64_si128(_mm_and_si128(state, low_half), polynomial, 0x10);
    quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_half), polynomial, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(state, quotient), 1);
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t kw_crc32_hardware(
    uint32_t crc, const uint8_t *p, size_t size) {
    const __m128i by_64 = _mm_set_epi64x(0x01C6E41596, 0x0154442BD4);
    const __m128i by_16 = _mm_set_epi64x(0x00CCAA009E, 0x01751997D0);
    __m128i a, b, c, d;
    if (size < 16) return kw_crc32_table(crc, p, size);
    a = _mm_xor_si128(_mm_loadu_si128((const __m128i *)p), _mm_cvtsi32_si128((int)crc));
    if (size >= 64) {
        b = _mm_loadu_si128((const __m128i *)(p + 16));
        c = _mm_loadu_si128((const __m128i *)(p + 32));
        d = _mm_loadu_si128((const __m128i *)(p + 48));
        for (p += 64, size -= 64; size >= 64; p += 64, size -= 64) {
            a = kw_fold(a, _mm_loadu_si128((const __m128i *)p), by_64);
            b = kw_fold(b, _mm_loadu_si128((const __m128i *)(p + 16)), by_64);
            c = kw_fold(c, _mm_loadu_si128((const __m128i *)(p + 32)), by_64);
            d = kw_fold(d, _mm_loadu_si128((const __m128i *)(p + 48)), by_64);
        }
        a = kw_fold(kw_fold(kw_fold(a, b, by_16), c, by_16), d, by_16);
    } else {
        p += 16;
        size -= 16;
    }
    for (; size >= 16; p += 16, size -= 16) a = kw_fold(a, _mm_loadu_si128((const __m128i *)p), by_16);
    if (size > 0) a = kw_fold_rest(a, p + size, size, by_16);
    return kw_reduce(a, by_16);
}

static int kw_crc_hardware_present(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

static void kw_crc_fill_constants(void) {
    kw_move_long_1 = kw_power_of_x(8 * KW_LANE_LONG - 33);
    kw_move_long_2 = kw_power_of_x(16 * KW_LANE_LONG - 33);
    kw_move_short_1 = kw_power_of_x(8 * KW_LANE_SHORT - 33);
    kw_move_short_2 = kw_power_of_x(16 * KW_LANE_SHORT - 33);
    kw_fill_fold(kw_over_256, 256);
    kw_fill_fold(kw_over_64, 64);
    kw_fill_fold(kw_over_48, 48);
    kw_fill_fold(kw_over_32, 32);
    kw_fill_fold(kw_over_16, 16);
}

static kw_crc_function kw_crc32c_fastest(void) {
    return kw_crc_wide_present() ? kw_crc32c_wide : kw_crc32c_hardware;
}

#elif defined(__aarch64__)

#if defined(__clang__)
#define KW_ARM_CRC __attribute__((target("crc")))
#else
#define KW_ARM_CRC __attribute__((target("+crc")))
#endif

KW_ARM_CRC static uint32_t kw_crc32c_hardware(uint32_t crc, const uint8_t *p, size_t size) {
    for (; size >= 8; p += 8, size -= 8) crc = __crc32cd(crc, kw_load_le64(p));
    for (; size > 0; p++, size--) crc = __crc32cb(crc, *p);
    return crc;
}

KW_ARM_CRC static uint32_t kw_crc32_hardware(uint32_t crc, const uint8_t *p, size_t size) {
    for (; size >= 8; p += 8, size -= 8) crc = __crc32d(crc, kw_load_le64(p));
    for (; size > 0; p++, size--) crc = __crc32b(crc, *p);
    return crc;
}

static int kw_crc_hardware_present(void) {
#if defined(__APPLE__)
    return 1;
#elif defined(__linux__)
    return (getauxval(AT_HWCAP) & (1UL << 7)) != 0; /* HWCAP_CRC32 */
#else
    return 0;
#endif
}

static void kw_crc_fill_constants(void) {}

static kw_crc_function kw_crc32c_fastest(void) { return kw_crc32c_hardware; }

#else

static uint32_t kw_crc32c_hardware(uint32_t crc, const uint8_t *p, size_t size) {
    return kw_crc32c_table(crc, p, size);
}

static uint32_t kw_crc32_hardware(uint32_t crc, const uint8_t *p, size_t size) {
    return kw_crc32_table(crc, p, size);
}

static int kw_crc_hardware_present(void) { return 0; }

static void kw_crc_fill_constants(void) {}

static kw_crc_function kw_crc32c_fastest(void) { return kw_crc32c_hardware; }

#endif

static kw_crc_function kw_crc32c_chosen = kw_crc32c_table;
static kw_crc_function kw_crc32_chosen = kw_crc32_table;

/* Returns whether the instructions are in use now; without `wide`, no AVX-512 among them. */
static int kw_crc_use_hardware(int wanted, int wide) {
    int hardware = wanted && kw_crc_hardware_present();
    kw_crc32c_chosen = !hardware ? kw_crc32c_table : wide ? kw_crc32c_fastest() : kw_crc32c_hardware;
    kw_crc32_chosen = hardware ? kw_crc32_hardware : kw_crc32_table;
    return hardware;
}

static void kw_crc_install(void) {
    kw_crc_fill_tables(kw_table_crc32c, KW_POLYNOMIAL_CRC32C);
    kw_crc_fill_tables(kw_table_crc32, KW_POLYNOMIAL_CRC32);
    kw_crc_fill_constants();
    kw_crc_use_hardware(1, 1);
}

static inline uint32_t kw_crc32c(uint32_t crc, const uint8_t *data, size_t size) {
    return ~kw_crc32c_chosen(~crc, data, size);
}

static inline uint32_t kw_crc32(uint32_t crc, const uint8_t *data, size_t size) {
    return ~kw_crc32_chosen(~crc, data, size);
}

#endif
