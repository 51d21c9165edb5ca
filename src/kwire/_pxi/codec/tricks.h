/* All that kwire does to memory beyond allocating and freeing it, behind one switch: KWIRE_PLAIN turns everything here
 * off (`KWIRE_PLAIN=1 pip install .`), and nothing but speed may change. `make test-plain` runs the tests that way.
 *
 *   trick                          what it saves                                    what it relies on
 *   instances of messages          of decoding 1,000 partitions about a fifth:      tp_dealloc of a heap type may be
 *   are freed by our tp_dealloc    Python asks each base for its members            replaced; _Py_NewReference revives
 *   and kept for the next ones                                                      memory kept with its GC head
 *   the end of glibc's heap        a page fault per 4 KiB of each poll's values     M_TRIM_THRESHOLD follows the
 *   is kept                                                                         largest piece that was freed
 *   a value in 4,096 of the last   the same for Python's own small objects          an arena is returned only when
 *   poll is kept (tricks.pxi)                                                       its last object goes
 *   Deliveries live in regions     of sending and looking at each about a fifth     tp_alloc and tp_free may be replaced
 *   of large pages (regions.h)
 *   so do blocks of batches        page faults, where many partitions fill          Linux has large pages, or uses small
 *   (sheets, in blocks.h)                                                           ones
 *
 * The kept instances are process-wide and guarded by the GIL. Cython's modules load into one interpreter of a process
 * only. A free-threaded Python, whose objects are laid out otherwise, does without all of it.
 */
#ifndef KWIRE_TRICKS_H
#define KWIRE_TRICKS_H

#include <Python.h>
#include <stdlib.h>

#if defined(KWIRE_PLAIN) || defined(Py_GIL_DISABLED)
#define KW_PLAIN 1
#else
#define KW_PLAIN 0
#endif

static inline size_t kw_slots_of(PyTypeObject *cls) {
    return ((size_t)cls->tp_basicsize - sizeof(PyObject)) / sizeof(PyObject *);
}

/* Every slot is empty, and the collector does not see it yet. */
static PyObject *kw_new_instance(PyTypeObject *cls) {
    PyObject *made = PyObject_GC_New(PyObject, cls);
    if (made != NULL) memset(made + 1, 0, kw_slots_of(cls) * sizeof(PyObject *));
    return made;
}

#if KW_PLAIN

static PyObject *kw_bare_instance(PyObject *cls) { return kw_new_instance((PyTypeObject *)cls); }

static void kw_use_free_instance(PyObject *cls) { (void)cls; }

static void kw_keep_end_of_heap(void) {}

#else

/* Instances of classes that a Layout has checked: slots and nothing else, on a base without members. Python's
 * tp_dealloc asks each base of the class for its members; here they lie side by side. Freed memory is kept for the next
 * instance with as many slots. */
#define KW_MAX_SLOTS 32
#ifdef KWIRE_EXACT_BLOCKS /* none, so that a sanitizer sees the use of one that was freed */
#define KW_MAX_KEPT 0
#else
#define KW_MAX_KEPT 128
#endif
#define KW_MAX_DEPTH 32
static struct { int count; PyObject *kept[KW_MAX_KEPT]; } kw_kept_instances[KW_MAX_SLOTS + 1];

static PyObject *kw_bare_instance(PyObject *cls) {
    size_t slots = kw_slots_of((PyTypeObject *)cls);
    PyObject *made;
    if (slots <= KW_MAX_SLOTS && kw_kept_instances[slots].count > 0) {
        made = kw_kept_instances[slots].kept[--kw_kept_instances[slots].count];
        Py_SET_TYPE(made, (PyTypeObject *)Py_NewRef(cls));
        _Py_NewReference(made);
        return made;
    }
    return kw_new_instance((PyTypeObject *)cls);
}

static void kw_free_instance(PyObject *self);

/* A class derived from a checked one may have more: a __dict__, whose place is in front of the GC head, or weak
 * references. Python has cleared what the derived class added before it calls the tp_dealloc of its base. */
static inline void kw_drop_derived(PyObject *self, PyTypeObject *cls) {
    PyTypeObject *checked = cls;
    PyObject **slot = (PyObject **)(self + 1);
    PyObject **end;
    while (checked->tp_dealloc != kw_free_instance) checked = checked->tp_base;
    for (end = slot + kw_slots_of(checked); slot < end; slot++) Py_CLEAR(*slot);
    cls->tp_free(self);
    Py_DECREF(cls);
}

static inline void kw_drop_instance(PyObject *self) {
    PyTypeObject *cls = Py_TYPE(self);
    size_t slots = kw_slots_of(cls);
    PyObject **slot = (PyObject **)(self + 1);
    PyObject **end = slot + slots;
    if (cls->tp_dealloc != kw_free_instance) {
        kw_drop_derived(self, cls);
        return;
    }
    for (; slot < end; slot++) Py_CLEAR(*slot);
    if (slots <= KW_MAX_SLOTS && kw_kept_instances[slots].count < KW_MAX_KEPT)
        kw_kept_instances[slots].kept[kw_kept_instances[slots].count++] = self;
    else
        PyObject_GC_Del(self);
    Py_DECREF(cls);
}

/* Python's trashcan bounds the C stack where objects hold objects without end; messages are rarely that deep. */
static int kw_depth;
static void kw_free_instance(PyObject *self) {
    PyObject_GC_UnTrack(self);
    if (kw_depth < KW_MAX_DEPTH) {
        kw_depth++;
        kw_drop_instance(self);
        kw_depth--;
        return;
    }
    Py_TRASHCAN_BEGIN(self, kw_free_instance)
    kw_drop_instance(self);
    Py_TRASHCAN_END
}

static void kw_use_free_instance(PyObject *cls) {
    PyTypeObject *type = (PyTypeObject *)cls;
    if (type->tp_finalize == NULL && type->tp_del == NULL) type->tp_dealloc = kw_free_instance;
}

#define KW_FREED_ONCE ((size_t)4 << 20)

/* glibc returns the end of its heap to the system as soon as 128 KiB there are free, unless a large piece was freed
 * before: then it keeps twice as much. Without this, each poll's values would cost megabytes of new memory. */
static void kw_keep_end_of_heap(void) {
    static int done = 0;
    if (!__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED)) {
        void *volatile piece = malloc(KW_FREED_ONCE);
        free(piece);
    }
}

#endif
#endif
