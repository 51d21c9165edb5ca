# Reads and writes the slots of Python classes from C, and declares the C API's constructors of values for them.
#
# A slot is accessed by the offset in the class's own member descriptor. The class of every instance is checked before
# an offset is used.

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Size
from cpython.exc cimport PyErr_Clear
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_New
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject, PyObject_RichCompareBool, PyTypeObject, Py_EQ
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New

cdef extern from *:
    """
    #include <structmember.h>
    static Py_ssize_t kw_slot_offset(PyObject *descriptor, PyObject *owner) {
        PyMemberDef *member;
        if (Py_TYPE(descriptor) != &PyMemberDescr_Type) return -1;
        if ((PyObject *)((PyDescrObject *)descriptor)->d_type != owner) return -1;
        member = ((PyMemberDescrObject *)descriptor)->d_member;
        if (member->type != T_OBJECT_EX) return -1;
        return member->offset;
    }
    /* Whether instances are slots and nothing else, on a base without members. */
    static int kw_is_slots_only(PyObject *cls, PyObject *base, Py_ssize_t slots) {
        PyTypeObject *type = (PyTypeObject *)cls;
        return PyType_IS_GC(type) && type->tp_itemsize == 0 && type->tp_dictoffset == 0 && type->tp_weaklistoffset == 0
            && type->tp_basicsize == ((PyTypeObject *)base)->tp_basicsize + slots * (Py_ssize_t)sizeof(PyObject *)
            && ((PyTypeObject *)base)->tp_basicsize == (Py_ssize_t)sizeof(PyObject);
    }

    /* Python caches the integers from -5 to 256; a table of them saves a call for each. */
    #define KW_MIN_KEPT (-5)
    #define KW_KEPT 262
    static PyObject *kw_kept_ints[KW_KEPT];
    static int kw_fill_kept_ints(void) {
        int i;
        for (i = 0; i < KW_KEPT; i++)
            if ((kw_kept_ints[i] = PyLong_FromLong(KW_MIN_KEPT + i)) == NULL) return -1;
        return 0;
    }
    static inline int kw_is_kept_int(long long value) {
        return (unsigned long long)value - (unsigned long long)KW_MIN_KEPT < KW_KEPT;
    }
    static inline PyObject *kw_int(long long value) {
        return kw_is_kept_int(value) ? Py_NewRef(kw_kept_ints[value - KW_MIN_KEPT]) : PyLong_FromLongLong(value);
    }
    /* Whether `value` is an int of one digit (30 bits), and which: nearly all that messages hold. */
    static inline int kw_is_short_int(PyObject *value, int64_t *number) {
        PyLongObject *digits = (PyLongObject *)value;
        if (!PyLong_CheckExact(value)) return 0;
    #if PY_VERSION_HEX >= 0x030C0000
        if (!PyUnstable_Long_IsCompact(digits)) return 0;
        *number = PyUnstable_Long_CompactValue(digits);
    #else
        if (Py_SIZE(digits) < -1 || Py_SIZE(digits) > 1) return 0;
        *number = (int64_t)Py_SIZE(digits) * digits->ob_digit[0];
    #endif
        return 1;
    }
    """
    Py_ssize_t kw_slot_offset(PyObject *descriptor, PyObject *owner) noexcept
    bint kw_is_slots_only(PyObject *cls, PyObject *base, Py_ssize_t slots) noexcept
    int kw_fill_kept_ints() except -1
    bint kw_is_kept_int(long long value) noexcept
    PyObject *kw_int(long long value) except NULL      # a new reference
    bint kw_is_short_int(PyObject *value, int64_t *number) noexcept

cdef extern from "Python.h":
    void kw_gc_untrack "PyObject_GC_UnTrack"(PyObject *o) noexcept
    void kw_gc_track "PyObject_GC_Track"(PyObject *o) noexcept
    bint kw_gc_is_tracked "PyObject_GC_IsTracked"(PyObject *o) noexcept
    bint kw_type_check "PyObject_TypeCheck"(PyObject *o, PyTypeObject *cls) noexcept
    object kw_instance "PyType_GenericAlloc"(PyTypeObject *cls, Py_ssize_t items)
    # New references, to be stored in a slot, list or tuple at once.
    PyObject *kw_new_reference "Py_NewRef"(PyObject *value) noexcept
    PyObject *kw_float "PyFloat_FromDouble"(double value) except NULL
    PyObject *kw_text "PyUnicode_DecodeUTF8"(const char *data, Py_ssize_t size, const char *errors) except NULL
    PyObject *kw_text_or_null "PyUnicode_DecodeUTF8"(const char *data, Py_ssize_t size, const char *errors) noexcept
    PyObject *kw_bytes "PyBytes_FromStringAndSize"(const char *data, Py_ssize_t size) except NULL
    void kw_set_list_item "PyList_SET_ITEM"(PyObject *list, Py_ssize_t i, PyObject *item) noexcept
    void kw_set_tuple_item "PyTuple_SET_ITEM"(PyObject *tuple, Py_ssize_t i, PyObject *item) noexcept
    object kw_uint64 "PyLong_FromUnsignedLongLong"(unsigned long long value)
    unsigned long long kw_as_uint64 "PyLong_AsUnsignedLongLong"(object value) except? -1
    unsigned long long kw_low_uint64 "PyLong_AsUnsignedLongLongMask"(object value) except? -1
    const char *kw_utf8 "PyUnicode_AsUTF8AndSize"(object text, Py_ssize_t *size) except NULL
    long long kw_long "PyLong_AsLongLongAndOverflow"(object value, int *overflow) except? -1
    bint kw_is_int "PyLong_Check"(object value) noexcept
    bint kw_is_bytes "PyBytes_Check"(object value) noexcept
    const char *kw_bytes_data "PyBytes_AS_STRING"(object value) noexcept
    Py_ssize_t kw_bytes_size "PyBytes_GET_SIZE"(object value) noexcept


kw_fill_kept_ints()


cdef inline Py_ssize_t slot_offset(object cls, str name) noexcept:
    """Offset of the slot `name` in an instance of `cls`; -1 when the class itself has no such slot."""
    descriptor = cls.__dict__.get(name)
    return kw_slot_offset(<PyObject *>descriptor, <PyObject *>cls)


cdef inline PyObject **slot_of(PyObject *instance, Py_ssize_t offset) noexcept:
    return <PyObject **>(<char *>instance + offset)


cdef inline PyObject *new_reference(object value) noexcept:
    Py_INCREF(value)
    return <PyObject *>value


cdef inline void fill_slot(PyObject *instance, Py_ssize_t offset, object value) noexcept:
    cdef PyObject **slot = slot_of(instance, offset)
    cdef PyObject *before = slot[0]
    Py_INCREF(value)
    slot[0] = <PyObject *>value
    Py_XDECREF(before)
