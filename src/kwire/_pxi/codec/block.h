/* A reference-counted block of bytes as all extensions see it. Its pool, which makes and frees it, is in blocks.h and in
 * one extension only.
 */
#ifndef KWIRE_BLOCK_H
#define KWIRE_BLOCK_H

#include <stddef.h>
#include <stdint.h>

typedef struct kw_block {
    int references; /* each is an object's: memory ends before they do */
    int is_cut;     /* a piece of a sheet: blocks.h */
    size_t capacity;
    struct kw_block *next_free;
    uint8_t *data; /* after this head, which keeps them 16-aligned (Arrow asks for 8), or another object's */
} kw_block;

static inline uint8_t *kw_block_data(kw_block *block) { return block->data; }

#endif
