/* Byte order: the wire is big-endian, Avro and Protobuf are little-endian, the machine may be either. Nothing else may live here. */
#ifndef KWIRE_ENDIAN_H
#define KWIRE_ENDIAN_H

#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define kw_be16(x) ((uint16_t)(x))
#define kw_be32(x) ((uint32_t)(x))
#define kw_be64(x) ((uint64_t)(x))
#define kw_le32(x) __builtin_bswap32((uint32_t)(x))
#define kw_le64(x) __builtin_bswap64((uint64_t)(x))
#else
#define kw_be16(x) __builtin_bswap16((uint16_t)(x))
#define kw_be32(x) __builtin_bswap32((uint32_t)(x))
#define kw_be64(x) __builtin_bswap64((uint64_t)(x))
#define kw_le32(x) ((uint32_t)(x))
#define kw_le64(x) ((uint64_t)(x))
#endif

#endif
