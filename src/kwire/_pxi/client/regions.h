/* Memory for Deliveries, of which callers may keep millions. Python's own allocator takes 48 bytes for each, and a page
 * fault for every 85 that are new: on a virtual machine an eighth of what it costs to send them and to look at them.
 *
 * A region is 2 MiB for which the system is asked to use one large page, cut into places; that of the first
 * few thousand is small and of usual pages. A place that was freed is the next to be taken. A region without any in use
 * goes back to the system, but for one, so that none comes and goes with each record. Guarded by the GIL. KWIRE_PLAIN
 * (tricks.h) and KWIRE_EXACT_BLOCKS (blocks.h) do without.
 */
#ifndef KWIRE_REGIONS_H
#define KWIRE_REGIONS_H

#include <Python.h>

#include "blocks.h"
#include "tricks.h"

#define KW_REGION KW_HUGE_PAGE
#define KW_FIRST_REGION ((size_t)256 << 10)
#define KW_PLACE ((size_t)40)

typedef struct kw_region {
    struct kw_region *next, *before; /* of those that have room */
    size_t in_use;
    void *freed;                     /* places, each with the next one in its first bytes */
    char *fresh, *end;               /* what was never taken */
} kw_region;

static kw_region *kw_regions, *kw_first_region, *kw_empty_region;

static inline int kw_region_has_room(const kw_region *region) {
    return region->freed != NULL || region->fresh + KW_PLACE <= region->end;
}

static void kw_region_link(kw_region *region) {
    region->before = NULL;
    region->next = kw_regions;
    if (kw_regions != NULL) kw_regions->before = region;
    kw_regions = region;
}

static void kw_region_unlink(kw_region *region) {
    if (region->next != NULL) region->next->before = region->before;
    if (region->before != NULL) region->before->next = region->next;
    else kw_regions = region->next;
}

static kw_region *kw_region_new(void) {
    size_t size = kw_first_region == NULL ? KW_FIRST_REGION : KW_REGION;
    kw_region *made = (kw_region *)kw_map(size);
    if (made == NULL) return NULL;
    made->in_use = 0;
    made->freed = NULL;
    made->fresh = (char *)(made + 1);
    made->end = (char *)made + size;
    if (kw_first_region == NULL) kw_first_region = made;
    kw_region_link(made);
    return made;
}

static PyObject *kw_region_take(PyTypeObject *cls, Py_ssize_t count) {
    kw_region *region = kw_regions;
    void *place;
    (void)count;
    if (region == NULL && (region = kw_region_new()) == NULL) return PyErr_NoMemory();
    place = region->freed;
    if (place != NULL) {
        region->freed = *(void **)place;
    } else {
        place = region->fresh;
        region->fresh += KW_PLACE;
    }
    region->in_use++;
    if (region == kw_empty_region) kw_empty_region = NULL;
    if (!kw_region_has_room(region)) kw_region_unlink(region);
    memset(place, 0, KW_PLACE);
    return PyObject_Init((PyObject *)place, cls);
}

static void kw_region_give_back(void *place) {
    kw_region *region = (kw_region *)((uintptr_t)place & ~(uintptr_t)(KW_REGION - 1));
    if (!kw_region_has_room(region)) kw_region_link(region);
    *(void **)place = region->freed;
    region->freed = place;
    if (--region->in_use > 0 || region == kw_first_region) return;
    if (kw_empty_region == NULL) {
        kw_empty_region = region;
    } else {
        kw_region_unlink(region);
        munmap(region, KW_REGION);
    }
}

/* Instances of this class live in regions from now on: small ones of a type that is no object of the heap, which the
 * collector does not track. */
static void kw_use_regions(PyObject *cls) {
    PyTypeObject *type = (PyTypeObject *)cls;
    if (KW_PLAIN || KW_EXACT_BLOCKS || PyType_IS_GC(type) || type->tp_flags & Py_TPFLAGS_HEAPTYPE
        || type->tp_itemsize != 0 || (size_t)type->tp_basicsize > KW_PLACE) return;
    type->tp_alloc = kw_region_take;
    type->tp_free = kw_region_give_back;
}

#endif
