/* Reference-counted blocks of bytes and their bounded pool, plain C: no Python object, no GIL, any thread.
 *
 * A block is one allocation: this head, then `capacity` bytes. Sizes are rounded up to powers of two from 4 KiB;
 * released blocks of 64 KiB to 8 MiB are kept for reuse, at most POOL_MOST bytes in all. The pool is dropped after
 * fork() in the child, which cannot know what the parent's other threads were doing with it.
 */
#ifndef KWIRE_BLOCKS_H
#define KWIRE_BLOCKS_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define KW_POOL_CLASSES 8 /* 64 KiB << 0..7 = 64 KiB .. 8 MiB */
#define KW_POOL_LEAST ((size_t)65536)
#define KW_POOL_MOST ((size_t)64 << 20)

typedef struct kw_block {
    long references;
    size_t capacity;
    struct kw_block *next_free;
    uint64_t pad; /* keeps the bytes 16-aligned; Arrow asks for 8 */
} kw_block;

typedef struct {
    pthread_mutex_t lock;
    kw_block *free_list[KW_POOL_CLASSES];
    size_t pooled;
    size_t live;        /* bytes in blocks that somebody holds */
    long live_blocks;
} kw_block_pool;

static kw_block_pool kw_pool = {PTHREAD_MUTEX_INITIALIZER, {0}, 0, 0, 0};

static inline uint8_t *kw_block_data(kw_block *block) { return (uint8_t *)(block + 1); }

static inline int kw_pool_class(size_t capacity) {
    int class_ = 0;
    size_t size = KW_POOL_LEAST;
    if (capacity < KW_POOL_LEAST || (capacity & (capacity - 1)) != 0) return -1;
    while (size < capacity) {
        size <<= 1;
        class_++;
    }
    return class_ < KW_POOL_CLASSES ? class_ : -1;
}

static inline size_t kw_round_capacity(size_t size) {
    size_t capacity = 4096;
    if (size > (KW_POOL_LEAST << (KW_POOL_CLASSES - 1))) return (size + 4095) & ~(size_t)4095;
    while (capacity < size) capacity <<= 1;
    return capacity;
}

/* A block of at least `size` bytes with one reference, or NULL. Its bytes are not cleared. */
static kw_block *kw_block_new(size_t size) {
    kw_block *block = NULL;
    size_t capacity = kw_round_capacity(size);
    int class_ = kw_pool_class(capacity);
    if (capacity < size) return NULL;
    pthread_mutex_lock(&kw_pool.lock);
    if (class_ >= 0 && (block = kw_pool.free_list[class_]) != NULL) {
        kw_pool.free_list[class_] = block->next_free;
        kw_pool.pooled -= capacity;
    }
    kw_pool.live += capacity;
    kw_pool.live_blocks++;
    pthread_mutex_unlock(&kw_pool.lock);
    if (block == NULL) block = (kw_block *)malloc(sizeof(kw_block) + capacity);
    if (block == NULL) {
        pthread_mutex_lock(&kw_pool.lock);
        kw_pool.live -= capacity;
        kw_pool.live_blocks--;
        pthread_mutex_unlock(&kw_pool.lock);
        return NULL;
    }
    block->references = 1;
    block->capacity = capacity;
    block->next_free = NULL;
    return block;
}

static inline void kw_block_retain(kw_block *block) {
    if (block != NULL) __atomic_add_fetch(&block->references, 1, __ATOMIC_RELAXED);
}

static inline long kw_block_references(kw_block *block) {
    return __atomic_load_n(&block->references, __ATOMIC_ACQUIRE);
}

static void kw_block_release(kw_block *block) {
    int class_, keep = 0;
    if (block == NULL || __atomic_sub_fetch(&block->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    class_ = kw_pool_class(block->capacity);
    pthread_mutex_lock(&kw_pool.lock);
    kw_pool.live -= block->capacity;
    kw_pool.live_blocks--;
    if (class_ >= 0 && kw_pool.pooled + block->capacity <= KW_POOL_MOST) {
        block->next_free = kw_pool.free_list[class_];
        kw_pool.free_list[class_] = block;
        kw_pool.pooled += block->capacity;
        keep = 1;
    }
    pthread_mutex_unlock(&kw_pool.lock);
    if (!keep) free(block);
}

/* The child's copy of the pool may be locked or half-changed: forget it. Its blocks are lost to the child, once. */
static void kw_pool_after_fork_in_child(void) {
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    int i;
    kw_pool.lock = fresh;
    for (i = 0; i < KW_POOL_CLASSES; i++) kw_pool.free_list[i] = NULL;
    kw_pool.pooled = 0;
}

static int kw_pool_install_fork_handler(void) { return pthread_atfork(NULL, NULL, kw_pool_after_fork_in_child); }

#endif
