/* Refuses memory to the extensions where they ask for it: their n-th request from now on fails, as if there was none.
 *
 * The builds of the fuzzer and of its coverage include this file ahead of everything else. What their code calls to get
 * memory, in C or of Python, is counted, and may fail as it does without memory. Nothing below it is refused anything:
 * Python's own code, its interpreter's and that of other libraries always gets what it needs. `refusing.py` asks. */
#ifndef KW_REFUSING_H
#define KW_REFUSING_H
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include "Python.h"
#include "structmember.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h> /* declares posix_memalign once more */
#endif

static __thread long kw_refusals_after, kw_refusals_left; /* of this thread alone */

/* Request `n` of this thread, from 1 on, and the `count - 1` ones that follow fail. */
__attribute__((visibility("default"))) void kw_refuse(long n, long count) {
    kw_refusals_after = n;
    kw_refusals_left = n > 0 ? count : 0;
}

/* Whether any request was refused; none is from now on. */
__attribute__((visibility("default"))) int kw_refuse_no_more(void) {
    int came = kw_refusals_after <= 0;
    kw_refusals_after = kw_refusals_left = 0;
    return came;
}

static int kw_is_refused(void) {
    if (kw_refusals_left == 0 || --kw_refusals_after > 0) return 0;
    kw_refusals_left--;
    errno = ENOMEM;
    return 1;
}

static int kw_is_refused_by_python(void) {
    if (!kw_is_refused()) return 0;
    PyErr_NoMemory();
    return 1;
}

static inline int kw_refuse_resize(PyObject **made) {
    Py_CLEAR(*made);
    PyErr_NoMemory();
    return -1;
}

#define KW_OR_NULL(call) (kw_is_refused() ? NULL : (call))
#define KW_OR_NONE(call) (kw_is_refused_by_python() ? NULL : (call))
#define KW_OR_FAIL(call) (kw_is_refused_by_python() ? -1 : (call))

#define malloc(...) KW_OR_NULL(malloc(__VA_ARGS__))
#define calloc(...) KW_OR_NULL(calloc(__VA_ARGS__))
#define realloc(...) KW_OR_NULL(realloc(__VA_ARGS__))
#define posix_memalign(...) (kw_is_refused() ? ENOMEM : posix_memalign(__VA_ARGS__))
#define PyMem_Malloc(...) KW_OR_NULL(PyMem_Malloc(__VA_ARGS__))
#define PyMem_Realloc(...) KW_OR_NULL(PyMem_Realloc(__VA_ARGS__))

#define PyBytes_FromStringAndSize(...) KW_OR_NONE(PyBytes_FromStringAndSize(__VA_ARGS__))
#define _PyBytes_Resize(made, size) (kw_is_refused() ? kw_refuse_resize(made) : _PyBytes_Resize(made, size))
#define PyCapsule_New(...) KW_OR_NONE(PyCapsule_New(__VA_ARGS__))
#define PyDict_Copy(...) KW_OR_NONE(PyDict_Copy(__VA_ARGS__))
#define PyDict_New(...) KW_OR_NONE(PyDict_New(__VA_ARGS__))
#define PyDict_SetItem(...) KW_OR_FAIL(PyDict_SetItem(__VA_ARGS__))
#define PyFloat_FromDouble(...) KW_OR_NONE(PyFloat_FromDouble(__VA_ARGS__))
#define PyList_Append(...) KW_OR_FAIL(PyList_Append(__VA_ARGS__))
#define PyList_AsTuple(...) KW_OR_NONE(PyList_AsTuple(__VA_ARGS__))
#define PyList_New(...) KW_OR_NONE(PyList_New(__VA_ARGS__))
#define PyLong_FromLong(...) KW_OR_NONE(PyLong_FromLong(__VA_ARGS__))
#define PyLong_FromLongLong(...) KW_OR_NONE(PyLong_FromLongLong(__VA_ARGS__))
#define PyLong_FromSsize_t(...) KW_OR_NONE(PyLong_FromSsize_t(__VA_ARGS__))
#define PyLong_FromUnsignedLong(...) KW_OR_NONE(PyLong_FromUnsignedLong(__VA_ARGS__))
#define PyMemoryView_FromObject(...) KW_OR_NONE(PyMemoryView_FromObject(__VA_ARGS__))
#define PyObject_Call(...) KW_OR_NONE(PyObject_Call(__VA_ARGS__))
#define PyObject_GetIter(...) KW_OR_NONE(PyObject_GetIter(__VA_ARGS__))
#define PyObject_Repr(...) KW_OR_NONE(PyObject_Repr(__VA_ARGS__))
#define PyObject_SetAttr(...) KW_OR_FAIL(PyObject_SetAttr(__VA_ARGS__))
#define PyObject_Vectorcall(...) KW_OR_NONE(PyObject_Vectorcall(__VA_ARGS__))
#define PyObject_VectorcallDict(...) KW_OR_NONE(PyObject_VectorcallDict(__VA_ARGS__))
#define PyObject_VectorcallMethod(...) KW_OR_NONE(PyObject_VectorcallMethod(__VA_ARGS__))
#define PySequence_List(...) KW_OR_NONE(PySequence_List(__VA_ARGS__))
#define PySequence_Tuple(...) KW_OR_NONE(PySequence_Tuple(__VA_ARGS__))
#define PySet_Add(...) KW_OR_FAIL(PySet_Add(__VA_ARGS__))
#define PySet_New(...) KW_OR_NONE(PySet_New(__VA_ARGS__))
#define PySlice_New(...) KW_OR_NONE(PySlice_New(__VA_ARGS__))
#define PyTuple_New(...) KW_OR_NONE(PyTuple_New(__VA_ARGS__))
#define PyTuple_Pack(...) KW_OR_NONE(PyTuple_Pack(__VA_ARGS__))
#define PyUnicode_AsASCIIString(...) KW_OR_NONE(PyUnicode_AsASCIIString(__VA_ARGS__))
#define PyUnicode_AsUTF8String(...) KW_OR_NONE(PyUnicode_AsUTF8String(__VA_ARGS__))
#define PyUnicode_Concat(...) KW_OR_NONE(PyUnicode_Concat(__VA_ARGS__))
#define PyUnicode_DecodeASCII(...) KW_OR_NONE(PyUnicode_DecodeASCII(__VA_ARGS__))
#define PyUnicode_DecodeUTF8(...) KW_OR_NONE(PyUnicode_DecodeUTF8(__VA_ARGS__))
#define PyUnicode_FromStringAndSize(...) KW_OR_NONE(PyUnicode_FromStringAndSize(__VA_ARGS__))
#define PyUnicode_New(...) KW_OR_NONE(PyUnicode_New(__VA_ARGS__))

#endif
