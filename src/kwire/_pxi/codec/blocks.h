/* Reference-counted blocks of bytes and their bounded pool, plain C: no Python object, no GIL, any thread.
 *
 * A block is one allocation: this head, then `capacity` bytes, from 256 on rounded up to quarters of a power of two.
 * Released blocks of 256 bytes to 56 MiB (a fetch is 50 MiB at most, unless it is set otherwise) are kept for reuse, at
 * most KW_POOL_MOST bytes in all: fresh memory costs a page fault for each 4 KiB, more than the work on it, and small
 * blocks by the thousand are what malloc is slow with. Of those that nobody asked for in KW_POOL_AGES_S a part goes back
 * to the system, so that what one burst needed is not kept for ever; a part only, as to free many pages takes long.
 * Once there is a megabyte of blocks, new ones of 16 to 256 KiB are cut from sheets of 2 MiB, for each of which the
 * system is asked to use one large page: hundreds of page faults less, and addresses that are found sooner. The pages of a
 * piece that goes back to the system do so at once, its addresses with the last piece of its sheet. From the first one on
 * the sheet has usual pages, or the system would soon make one large page of what is left of it, and fill the holes.
 *
 * The pool is dropped after fork() in the child, which cannot know what the parent's other threads were doing with it.
 *
 * A foreign block has no bytes of its own: it stands for a buffer that another object lent, and points to its bytes.
 * Its owner embeds it, and takes it back from the list of released ones when it holds the GIL, which giving a buffer
 * back needs.
 *
 * With KWIRE_EXACT_BLOCKS defined, each block has exactly the size that was asked for and none is kept for reuse, so
 * that a sanitizer sees the first byte that is read or written outside of one.
 */
#ifndef KWIRE_BLOCKS_H
#define KWIRE_BLOCKS_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "block.h"
#include "clock.h"
#include "tricks.h"

#ifdef KWIRE_EXACT_BLOCKS
#define KW_EXACT_BLOCKS 1
#else
#define KW_EXACT_BLOCKS 0
#endif

#define KW_POOL_LEAST ((size_t)256)
#define KW_POOL_SMALL 32   /* so many of the classes are below 64 KiB */
#define KW_POOL_CLASSES 72 /* (4..7) * 64 bytes << 0..17 = 256 bytes .. 56 MiB */
#define KW_POOL_MOST ((size_t)64 << 20)
#define KW_POOL_AGES_S 10
#define KW_POOL_PART 8     /* an eighth of what is kept goes back at once, as far as it lay idle */
#define KW_POOL_GLANCE 64  /* after so many releases the clock is read */
#define KW_LARGE ((size_t)1 << 20)
#define KW_HUGE_PAGE ((size_t)2 << 20)
#define KW_CUT_LEAST ((size_t)16 << 10)
#define KW_CUT_MOST ((size_t)256 << 10)
#define KW_CUT_FROM KW_LARGE /* bytes of blocks, held or kept */
#define KW_LINE 64
#if defined(MADV_HUGEPAGE) && !KW_PLAIN
#define KW_CUTS 1
#else
#define KW_CUTS 0
#endif

typedef struct {
    long pieces; /* those in use or kept, and one while more are cut */
    int has_holes;
    size_t used;
} kw_sheet;

typedef struct {
    pthread_mutex_t lock;
    kw_block *free_list[KW_POOL_CLASSES];
    size_t kept[KW_POOL_CLASSES]; /* the lengths of the lists */
    size_t idle[KW_POOL_CLASSES]; /* the least of that since the pool aged */
    double aged_at;
    unsigned releases;
    size_t pooled;
    kw_sheet *sheet;    /* from which pieces are cut */
    size_t live;        /* bytes in blocks that somebody holds */
    long live_blocks;
} kw_block_pool;

static kw_block_pool kw_pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static kw_block *kw_released_foreign = NULL;

static inline int kw_block_is_foreign(const kw_block *block) { return block->data != (const uint8_t *)(block + 1); }

/* The power of two of which a quarter is the step between the capacities around `size`; size >= KW_POOL_LEAST. */
static inline size_t kw_octave(size_t size) { return (size_t)1 << (63 - __builtin_clzll((unsigned long long)size)); }

/* The place among the free lists of blocks of this capacity; -1 when they are not kept. */
static inline int kw_pool_class(size_t capacity) {
    size_t octave;
    int class_;
    if (capacity < KW_POOL_LEAST || KW_EXACT_BLOCKS) return -1;
    octave = kw_octave(capacity);
    if (capacity % (octave / 4) != 0) return -1;
    class_ = 4 * (__builtin_ctzll((unsigned long long)octave) - 8) + (int)(capacity / (octave / 4) - 4);
    return class_ < KW_POOL_CLASSES ? class_ : -1;
}

static inline size_t kw_round_capacity(size_t size) {
    size_t step;
    if (KW_EXACT_BLOCKS) return size;
    if (size > KW_POOL_MOST) return (size + 4095) & ~(size_t)4095;
    if (size > KW_POOL_LEAST) {
        step = kw_octave(size) / 4;
        return (size + step - 1) / step * step;
    }
    return (size + 63) & ~(size_t)63; /* millions of decompressed batches may be small */
}

/* Takes a kept block of this class off its list; NULL when there is none. With the lock held. */
static inline kw_block *kw_pool_pop(int class_) {
    kw_block *block = kw_pool.free_list[class_];
    if (block == NULL) return NULL;
    kw_pool.free_list[class_] = block->next_free;
    kw_pool.pooled -= block->capacity;
    kw_pool.kept[class_]--;
    if (kw_pool.kept[class_] < kw_pool.idle[class_]) kw_pool.idle[class_] = kw_pool.kept[class_];
    return block;
}

/* Takes a kept block of this class, or of the next ones up to twice the size where new memory is many pages; NULL when
 * there is none. With the lock held. */
static kw_block *kw_pool_take(int class_) {
    int most = class_ < KW_POOL_SMALL ? class_ : class_ + 4 < KW_POOL_CLASSES ? class_ + 4 : KW_POOL_CLASSES - 1;
    for (; class_ <= most; class_++) {
        kw_block *block = kw_pool_pop(class_);
        if (block != NULL) return block;
    }
    return NULL;
}

/* Memory for which the system is asked to use large pages: 512 times fewer page faults. To be freed by free(). */
static void *kw_allocate_huge(size_t size) {
#ifdef MADV_HUGEPAGE
    void *memory;
    if (posix_memalign(&memory, KW_HUGE_PAGE, size) != 0) return NULL;
    madvise(memory, size / KW_HUGE_PAGE * KW_HUGE_PAGE, MADV_HUGEPAGE);
    return memory;
#else
    return malloc(size);
#endif
}

/* So many whole pages that begin at a multiple of KW_HUGE_PAGE, of large ones where there are; to be given back by munmap().
 * malloc would keep some for itself. */
static void *kw_map(size_t size) {
    char *begin, *whole = (char *)mmap(NULL, size + KW_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (whole == (char *)MAP_FAILED) return NULL;
    begin = (char *)(((uintptr_t)whole + KW_HUGE_PAGE - 1) & ~(uintptr_t)(KW_HUGE_PAGE - 1));
    if (begin > whole) munmap(whole, (size_t)(begin - whole));
    if (begin < whole + KW_HUGE_PAGE) munmap(begin + size, (size_t)(whole + KW_HUGE_PAGE - begin));
#ifdef MADV_HUGEPAGE
    if (size >= KW_HUGE_PAGE) madvise(begin, size, MADV_HUGEPAGE);
#endif
    return begin;
}

static void kw_sheet_release(kw_sheet *sheet) {
    if (__atomic_sub_fetch(&sheet->pieces, 1, __ATOMIC_ACQ_REL) == 0) munmap(sheet, KW_HUGE_PAGE);
}

/* A new block that is a piece of a sheet; NULL where blocks are not cut, or without memory. With the lock held. */
static kw_block *kw_pool_cut(size_t capacity) {
    kw_sheet *sheet = kw_pool.sheet;
    size_t size = (sizeof(kw_block) + capacity + KW_LINE - 1) & ~(size_t)(KW_LINE - 1);
    kw_block *block;
    if (!KW_CUTS || capacity < KW_CUT_LEAST || capacity > KW_CUT_MOST || kw_pool.live + kw_pool.pooled < KW_CUT_FROM)
        return NULL;
    if (sheet == NULL || sheet->used + size > KW_HUGE_PAGE) {
        if ((sheet = (kw_sheet *)kw_map(KW_HUGE_PAGE)) == NULL) return NULL;
        sheet->pieces = 1;
        sheet->has_holes = 0;
        sheet->used = KW_LINE;
        if (kw_pool.sheet != NULL) kw_sheet_release(kw_pool.sheet);
        kw_pool.sheet = sheet;
    }
    block = (kw_block *)((char *)sheet + sheet->used);
    sheet->used += size;
    __atomic_add_fetch(&sheet->pieces, 1, __ATOMIC_RELAXED);
    block->capacity = capacity;
    block->is_cut = 1;
    return block;
}

static void kw_piece_free(kw_block *block) {
    kw_sheet *sheet = (kw_sheet *)((uintptr_t)block & ~(uintptr_t)(KW_HUGE_PAGE - 1));
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)block + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)(block + 1) + block->capacity) & ~(page - 1);
#ifdef MADV_NOHUGEPAGE
    if (!__atomic_exchange_n(&sheet->has_holes, 1, __ATOMIC_RELAXED)) madvise(sheet, KW_HUGE_PAGE, MADV_NOHUGEPAGE);
#endif
    if (begin < end) madvise((void *)begin, end - begin, MADV_DONTNEED);
    kw_sheet_release(sheet);
}

static void kw_block_free(kw_block *block) {
    if (block->is_cut) kw_piece_free(block);
    else free(block);
}

static kw_block *kw_block_allocate(size_t capacity) {
    kw_block *block;
    if (capacity >= KW_LARGE) kw_keep_end_of_heap();
    block = (kw_block *)(capacity >= KW_HUGE_PAGE ? kw_allocate_huge(sizeof(kw_block) + capacity)
                                                  : malloc(sizeof(kw_block) + capacity));
    if (block != NULL) {
        block->capacity = capacity;
        block->is_cut = 0;
    }
    return block;
}

/* A block of at least `size` bytes with one reference, or NULL. Its bytes are not cleared. */
static kw_block *kw_block_new(size_t size) {
    kw_block *block = NULL;
    size_t capacity = kw_round_capacity(size);
    int class_ = kw_pool_class(capacity);
    if (capacity < size) return NULL;
    if (class_ < 0) block = kw_block_allocate(capacity);
    pthread_mutex_lock(&kw_pool.lock);
    if (class_ >= 0 && (block = kw_pool_take(class_)) == NULL && (block = kw_pool_cut(capacity)) == NULL) {
        pthread_mutex_unlock(&kw_pool.lock);
        block = kw_block_allocate(capacity);
        pthread_mutex_lock(&kw_pool.lock);
    }
    if (block != NULL) {
        kw_pool.live += block->capacity;
        kw_pool.live_blocks++;
    }
    pthread_mutex_unlock(&kw_pool.lock);
    if (block == NULL) return NULL;
    block->references = 1;
    block->next_free = NULL;
    block->data = (uint8_t *)(block + 1);
    return block;
}

static inline void kw_block_retain(kw_block *block) {
    if (block != NULL) __atomic_add_fetch(&block->references, 1, __ATOMIC_RELAXED);
}

static inline long kw_block_references(kw_block *block) {
    return __atomic_load_n(&block->references, __ATOMIC_ACQUIRE);
}

static inline kw_block *kw_pool_drop(int class_, kw_block *dropped) {
    kw_block *block = kw_pool_pop(class_);
    block->next_free = dropped;
    return block;
}

/* Adds kept blocks of other classes to the chain `dropped` until `capacity` more bytes may be kept. Otherwise sizes that
 * nobody asks for any more would keep out those that are asked for. With the lock held. */
static kw_block *kw_pool_make_room(size_t capacity, int class_, kw_block *dropped) {
    for (int other = 0; other < KW_POOL_CLASSES; other++) {
        while (other != class_ && kw_pool.pooled + capacity > KW_POOL_MOST && kw_pool.kept[other] > 0)
            dropped = kw_pool_drop(other, dropped);
    }
    return dropped;
}

/* Adds blocks that lay idle since the last time to the chain `dropped`, large ones first, until they are a part of what
 * is kept. With the lock held. */
static kw_block *kw_pool_age(kw_block *dropped) {
    size_t aim = kw_pool.pooled - kw_pool.pooled / KW_POOL_PART;
    for (int class_ = KW_POOL_CLASSES - 1; class_ >= 0; class_--) {
        for (size_t idle = kw_pool.idle[class_]; idle > 0 && kw_pool.pooled >= aim; idle--)
            dropped = kw_pool_drop(class_, dropped);
        kw_pool.idle[class_] = kw_pool.kept[class_];
    }
    return dropped;
}

static int kw_pool_is_due(void) {
    double now;
    if (++kw_pool.releases % KW_POOL_GLANCE != 0) return 0;
    now = kw_coarse_seconds();
    if (now - kw_pool.aged_at < KW_POOL_AGES_S) return 0;
    kw_pool.aged_at = now;
    return 1;
}

static void kw_block_free_chain(kw_block *block) {
    while (block != NULL) {
        kw_block *next = block->next_free;
        kw_block_free(block);
        block = next;
    }
}

/* A block that its owner embeds, with one reference. */
static inline void kw_foreign_init(kw_block *block, void *data, size_t capacity) {
    block->references = 1;
    block->is_cut = 0;
    block->capacity = capacity;
    block->next_free = NULL;
    block->data = (uint8_t *)data;
}

static void kw_foreign_push(kw_block *block) {
    block->next_free = __atomic_load_n(&kw_released_foreign, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&kw_released_foreign, &block->next_free, block, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
}

static inline int kw_foreign_waits(void) { return __atomic_load_n(&kw_released_foreign, __ATOMIC_RELAXED) != NULL; }

/* All foreign blocks that were released, as a chain over next_free; they are the caller's now. */
static inline kw_block *kw_foreign_take(void) {
    return __atomic_exchange_n(&kw_released_foreign, NULL, __ATOMIC_ACQUIRE);
}

static void kw_block_release(kw_block *block) {
    kw_block *dropped = NULL;
    int class_;
    if (block == NULL || __atomic_sub_fetch(&block->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (kw_block_is_foreign(block)) {
        kw_foreign_push(block);
        return;
    }
    class_ = kw_pool_class(block->capacity);
    pthread_mutex_lock(&kw_pool.lock);
    kw_pool.live -= block->capacity;
    kw_pool.live_blocks--;
    if (class_ >= 0 && kw_pool.pooled + block->capacity > KW_POOL_MOST)
        dropped = kw_pool_make_room(block->capacity, class_, dropped);
    if (class_ >= 0 && kw_pool.pooled + block->capacity <= KW_POOL_MOST) {
        block->next_free = kw_pool.free_list[class_];
        kw_pool.free_list[class_] = block;
        kw_pool.kept[class_]++;
        kw_pool.pooled += block->capacity;
    } else {
        block->next_free = dropped;
        dropped = block;
    }
    if (kw_pool_is_due()) dropped = kw_pool_age(dropped);
    pthread_mutex_unlock(&kw_pool.lock);
    kw_block_free_chain(dropped);
}

static void kw_pool_let_age(void) {
    kw_block *dropped;
    pthread_mutex_lock(&kw_pool.lock);
    dropped = kw_pool_age(NULL);
    pthread_mutex_unlock(&kw_pool.lock);
    kw_block_free_chain(dropped);
}

static void kw_pool_measure(size_t *live, long *live_blocks, size_t *pooled) {
    pthread_mutex_lock(&kw_pool.lock);
    *live = kw_pool.live;
    *live_blocks = kw_pool.live_blocks;
    *pooled = kw_pool.pooled;
    pthread_mutex_unlock(&kw_pool.lock);
}

/* The child's copy of the pool may be locked or half-changed: forget it. Its blocks are lost to the child, once. */
static void kw_pool_after_fork_in_child(void) {
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    kw_pool.lock = fresh;
    memset(kw_pool.free_list, 0, sizeof kw_pool.free_list);
    memset(kw_pool.kept, 0, sizeof kw_pool.kept);
    memset(kw_pool.idle, 0, sizeof kw_pool.idle);
    kw_pool.pooled = 0;
    kw_pool.sheet = NULL;
}

static int kw_pool_install_fork_handler(void) { return pthread_atfork(NULL, NULL, kw_pool_after_fork_in_child); }

#endif
