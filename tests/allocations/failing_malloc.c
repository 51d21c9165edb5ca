/* malloc and its kin, of which the n-th call of a thread fails: glibc calls these when LD_PRELOAD names this library.
 *
 * Only the thread that asked for it is refused memory. Calls from the libraries that `kw_spare` names are neither
 * counted nor refused: what is written in Rust or C++ ends the process when it gets none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

typedef struct { uintptr_t begin, end; } range;

#define MAX_SPARED 1024
static range spared[MAX_SPARED];
static int spared_count;
static _Atomic long live;
static __thread long left __attribute__((tls_model("initial-exec")));

static int is_spared(uintptr_t caller) {
    for (int i = 0; i < spared_count; i++)
        if (spared[i].begin <= caller && caller < spared[i].end) return 1;
    return 0;
}

static int is_refused(void *caller) {
    return left > 0 && !is_spared((uintptr_t)caller) && --left == 0;
}

static void *given(void *memory) {
    if (memory != NULL) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return memory;
}

static void *refused(void) {
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size) {
    return is_refused(__builtin_return_address(0)) ? refused() : given(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
    return is_refused(__builtin_return_address(0)) ? refused() : given(__libc_calloc(count, size));
}

void *realloc(void *memory, size_t size) {
    if (is_refused(__builtin_return_address(0))) return refused();
    return memory == NULL ? given(__libc_realloc(memory, size)) : __libc_realloc(memory, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (is_refused(__builtin_return_address(0))) return ENOMEM;
    *memory = given(__libc_memalign(alignment, size));
    return *memory == NULL ? ENOMEM : 0;
}

void free(void *memory) {
    if (memory != NULL) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    __libc_free(memory);
}

static int add_range(struct dl_phdr_info *info, size_t size, void *name) {
    (void)size;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, (const char *)name) == NULL) return 0;
    for (int i = 0; i < info->dlpi_phnum && spared_count < MAX_SPARED; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X)) continue;
        spared[spared_count].begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        spared[spared_count].end = spared[spared_count].begin + info->dlpi_phdr[i].p_memsz;
        spared_count++;
    }
    return 0;
}

/* Libraries that are loaded and have `name` in their path are never refused memory. */
void kw_spare(const char *name) { dl_iterate_phdr(add_range, (void *)name); }

/* The n-th call of this thread from now on fails, once. */
void kw_refuse(long n) { left = n; }

/* How many calls were left until that one: 0 when it came. No call fails from now on. */
long kw_stop(void) {
    long was = left;
    left = 0;
    return was;
}

/* Pieces of memory that were given and not freed, in all threads. */
long kw_live(void) { return atomic_load_explicit(&live, memory_order_relaxed); }
