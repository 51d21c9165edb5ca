/* XXH32, the checksum inside lz4 frames (descriptor, blocks, content). Plain C without Python.
 *
 * Source: the xxHash specification (Y. Collet, "xxHash fast digest algorithm", XXH32). Little-endian words, four lanes.
 */
#ifndef KWIRE_XXH32_H
#define KWIRE_XXH32_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KW_XXH_1 0x9E3779B1u
#define KW_XXH_2 0x85EBCA77u
#define KW_XXH_3 0xC2B2AE3Du
#define KW_XXH_4 0x27D4EB2Fu
#define KW_XXH_5 0x165667B1u

static inline uint32_t kw_rotate_left(uint32_t value, int by) { return (value << by) | (value >> (32 - by)); }

static inline uint32_t kw_load_le32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint32_t kw_xxh_round(uint32_t lane, const uint8_t *p) {
    return kw_rotate_left(lane + kw_load_le32(p) * KW_XXH_2, 13) * KW_XXH_1;
}

static uint32_t kw_xxh32(uint32_t seed, const uint8_t *p, size_t size) {
    const uint8_t *end = p + size;
    uint32_t hash = seed + KW_XXH_5;
    if (size >= 16) {
        uint32_t a = seed + KW_XXH_1 + KW_XXH_2, b = seed + KW_XXH_2, c = seed, d = seed - KW_XXH_1;
        for (; end - p >= 16; p += 16) {
            a = kw_xxh_round(a, p);
            b = kw_xxh_round(b, p + 4);
            c = kw_xxh_round(c, p + 8);
            d = kw_xxh_round(d, p + 12);
        }
        hash = kw_rotate_left(a, 1) + kw_rotate_left(b, 7) + kw_rotate_left(c, 12) + kw_rotate_left(d, 18);
    }
    hash += (uint32_t)size;
    for (; end - p >= 4; p += 4) hash = kw_rotate_left(hash + kw_load_le32(p) * KW_XXH_3, 17) * KW_XXH_4;
    for (; p < end; p++) hash = kw_rotate_left(hash + *p * KW_XXH_5, 11) * KW_XXH_1;
    hash = (hash ^ (hash >> 15)) * KW_XXH_2;
    hash = (hash ^ (hash >> 13)) * KW_XXH_3;
    return hash ^ (hash >> 16);
}

#endif
