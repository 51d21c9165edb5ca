/* The usual calls of a method, without what Cython does for each of its arguments: a reference for every keyword that is
 * left out, taken and given back, costs a fifth of a send().
 *
 * A quick function stands in front of the method that Cython compiled. It takes pointers to what was given, NULL for the
 * rest, and returns None where the call takes more: then the method itself is called, with the arguments as they came.
 * So signature, docstring and errors are the method's. KWIRE_PLAIN (tricks.h) does without.
 */
#ifndef KWIRE_QUICK_CALLS_H
#define KWIRE_QUICK_CALLS_H

#include <Python.h>

#include "tricks.h"

typedef PyObject *(*kw_quick_send)(PyObject *self, PyObject *topic, PyObject *value, PyObject *key, PyObject *partition);
typedef PyObject *(*kw_whole_method)(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);

static struct { kw_quick_send quick; kw_whole_method whole; PyObject *key, *partition; } kw_send_calls;

static PyObject *kw_send_method(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    PyObject *key = NULL, *partition = NULL, *made;
    Py_ssize_t i, named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (count != 2) goto whole;
    for (i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (name == kw_send_calls.key) key = args[2 + i];
        else if (name == kw_send_calls.partition) partition = args[2 + i];
        else goto whole;
    }
    made = kw_send_calls.quick(self, args[0], args[1], key, partition);
    if (made != Py_None) return made;
    Py_DECREF(made);
whole:
    return kw_send_calls.whole(self, args, count, names);
}

/* The compiled method of that name in `cls`; NULL where it is none that takes its arguments so. */
static PyMethodDef *kw_method_of(PyObject *cls, const char *name) {
    PyObject *found = PyDict_GetItemString(((PyTypeObject *)cls)->tp_dict, name);
    PyMethodDef *method;
    if (KW_PLAIN || found == NULL || Py_TYPE(found) != &PyMethodDescr_Type) return NULL;
    method = ((PyMethodDescrObject *)found)->d_method;
    return method->ml_flags == (METH_FASTCALL | METH_KEYWORDS) ? method : NULL;
}

static void kw_stand_before_send(PyObject *cls, kw_quick_send quick, PyObject *key, PyObject *partition) {
    PyMethodDef *method = kw_method_of(cls, "send");
    if (method == NULL) return;
    kw_send_calls.quick = quick;
    kw_send_calls.whole = (kw_whole_method)(void (*)(void))method->ml_meth;
    kw_send_calls.key = key;
    kw_send_calls.partition = partition;
    method->ml_meth = (PyCFunction)(void (*)(void))kw_send_method;
}

#endif
