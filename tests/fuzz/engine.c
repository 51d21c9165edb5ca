/* One target's process: libFuzzer, with Python and the instrumented extensions of kwire inside.
 *
 *     KWIRE_FUZZ_TARGET=FAMILY/NAME KWIRE_FUZZ_PYTHON=python engine [libFuzzer's options] [folders of inputs]
 *
 * clang compiles the extensions with guards that count how often each edge of their code runs, and this program brings
 * libFuzzer, which reads them, and the runtimes of the sanitizers: so what is reported is the coverage of kwire's own C,
 * and nothing has to be preloaded. For kwire's Python a trace function counts pairs of consecutive lines (`trace`).
 *
 * An input is a finding if the target raises, takes more than LIMIT_S of CPU, or has had more memory than its budget;
 * the process then aborts, which makes libFuzzer save the input. At a good end the numbers of the run are written to
 * $KWIRE_FUZZ_NUMBERS, and the slowest input beside them. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LIMIT_S 1.0

extern size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
extern int LLVMFuzzerRunDriver(int *count, char ***words, int (*one_input)(const uint8_t *, size_t));
extern int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                                     void (*on_free)(const volatile void *)) __attribute__((weak));
extern size_t __sanitizer_get_allocated_size(const volatile void *block) __attribute__((weak));

static PyObject *run, *mutate; /* the target's functions; mutate may be None */
static long long budget_least = 1 << 20, budget_per_byte = 1 << 10;

/* ---- coverage of Python: read by libFuzzer because of the section's name */

__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t line_pairs[1 << 16];
static const char *traced_folder;
static Py_ssize_t code_slot = -1;
static uintptr_t last_line;

#define FOREIGN 1 /* what the slot of code holds that is not kwire's; else an odd hash of its name */

static uintptr_t hash_of(PyCodeObject *code) {
    const char *text = PyUnicode_AsUTF8(code->co_filename);
    uintptr_t hash = 14695981039346656037u;
    if (text == NULL || strstr(text, traced_folder) == NULL) return FOREIGN;
    for (text = strstr(text, traced_folder); *text; text++) hash = (hash ^ (uint8_t)*text) * 1099511628211u;
    return (hash << 4) | 3;
}

static int on_line(PyObject *unused, PyFrameObject *frame, int what, PyObject *arg) {
    PyCodeObject *code;
    void *known = NULL;
    uintptr_t line;
    if (what != PyTrace_LINE && what != PyTrace_CALL) return 0;
    code = PyFrame_GetCode(frame);
    _PyCode_GetExtra((PyObject *)code, code_slot, &known);
    if (known == NULL) {
        known = (void *)hash_of(code);
        _PyCode_SetExtra((PyObject *)code, code_slot, known);
    }
    Py_DECREF(code);
    if ((uintptr_t)known == FOREIGN)
        return what == PyTrace_CALL ? PyObject_SetAttrString((PyObject *)frame, "f_trace_lines", Py_False) : 0;
    line = ((uintptr_t)known ^ (uintptr_t)PyFrame_GetLineNumber(frame) * 0x9E3779B97F4A7C15u) >> 7;
    line_pairs[(line ^ last_line) % sizeof line_pairs]++;
    last_line = line >> 1;
    return 0;
}

/* ---- memory: all that malloc gave since the input began, less what was freed of it */

static long long held, most_held;

static void on_malloc(const volatile void *block, size_t size) {
    held += (long long)size;
    if (held > most_held) most_held = held;
}

static void on_free(const volatile void *block) {
    if (block != NULL) held -= (long long)__sanitizer_get_allocated_size(block);
}

/* ---- one input */

static struct {
    long long executions, most_memory;
    double slowest_s;
    size_t slowest_size;
    uint8_t *slowest;
} numbers;

static void finding(const char *what) {
    if (PyErr_Occurred()) PyErr_PrintEx(0);
    fprintf(stderr, "== finding: %s\n", what);
    fflush(NULL);
    abort();
}

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int one_input(const uint8_t *data, size_t size) {
    PyObject *given = PyBytes_FromStringAndSize((const char *)data, (Py_ssize_t)size), *got;
    double took;
    char text[200];
    last_line = 0;
    held = most_held = 0;
    took = cpu_s();
    got = PyObject_CallOneArg(run, given);
    took = cpu_s() - took;
    if (got == NULL) finding("what was raised is not an error that the target documents");
    numbers.executions++;
    if (most_held > numbers.most_memory) numbers.most_memory = most_held;
    if (most_held > budget_least + budget_per_byte * (long long)size) {
        snprintf(text, sizeof text, "%lld bytes of memory for an input of %zu", most_held, size);
        finding(text);
    }
    if (took > LIMIT_S) {
        snprintf(text, sizeof text, "%.2f s of CPU for an input of %zu bytes", took, size);
        finding(text);
    }
    if (took > numbers.slowest_s) {
        numbers.slowest = realloc(numbers.slowest, size + 1);
        memcpy(numbers.slowest, data, size);
        numbers.slowest_size = size;
        numbers.slowest_s = took;
    }
    Py_DECREF(got);
    Py_DECREF(given);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    PyObject *made;
    if (mutate == Py_None || seed % 4) return LLVMFuzzerMutate(data, size, most);
    made = PyObject_CallFunction(mutate, "y#nI", data, (Py_ssize_t)size, (Py_ssize_t)most, seed);
    if (made == NULL) finding("the target's mutator raised");
    size = Py_MIN((size_t)PyBytes_GET_SIZE(made), most);
    memcpy(data, PyBytes_AS_STRING(made), size);
    Py_DECREF(made);
    return size;
}

static void write_numbers(void) {
    const char *path = getenv("KWIRE_FUZZ_NUMBERS");
    char beside[4096];
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    fprintf(file, "{\"executions\": %lld, \"slowest_s\": %.6f, \"slowest_size\": %zu, \"most_memory\": %lld}\n",
            numbers.executions, numbers.slowest_s, numbers.slowest_size, numbers.most_memory);
    fclose(file);
    snprintf(beside, sizeof beside, "%s.slowest", path);
    file = fopen(beside, "w");
    if (file == NULL) return;
    fwrite(numbers.slowest, 1, numbers.slowest_size, file);
    fclose(file);
}

/* ---- what Python sees of this program: the module `fuzz_engine` */

static PyObject *engine_mutate(PyObject *self, PyObject *args) {
    const char *data;
    Py_ssize_t size, most;
    PyObject *made;
    if (!PyArg_ParseTuple(args, "y#n", &data, &size, &most)) return NULL;
    most = Py_MAX(Py_MAX(size, most), 1);
    made = PyBytes_FromStringAndSize(NULL, most);
    if (made == NULL) return NULL;
    memcpy(PyBytes_AS_STRING(made), data, (size_t)size);
    size = (Py_ssize_t)LLVMFuzzerMutate((uint8_t *)PyBytes_AS_STRING(made), (size_t)size, (size_t)most);
    _PyBytes_Resize(&made, size);
    return made;
}

static PyObject *engine_trace(PyObject *self, PyObject *folder) {
    traced_folder = strdup(PyUnicode_AsUTF8(folder));
    code_slot = _PyEval_RequestCodeExtraIndex(NULL);
    PyEval_SetTrace(on_line, NULL);
    Py_RETURN_NONE;
}

static PyObject *engine_set_budget(PyObject *self, PyObject *args) {
    if (!PyArg_ParseTuple(args, "LL", &budget_least, &budget_per_byte)) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef engine_methods[] = {
    {"mutate", engine_mutate, METH_VARARGS, "libFuzzer's own mutation of `data`, to at most `most` bytes."},
    {"trace", engine_trace, METH_O, "Counts lines of Python from now on, of files whose path holds `folder`."},
    {"set_budget", engine_set_budget, METH_VARARGS, "Bytes that an input may take, and for each of its bytes."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef engine_module = {PyModuleDef_HEAD_INIT, "fuzz_engine", NULL, -1, engine_methods};
static PyObject *init_engine(void) { return PyModule_Create(&engine_module); }

/* `python` is the environment's: by it Python finds the packages that are installed there. */
static void start_python(const char *python) {
    PyConfig config;
    PyImport_AppendInittab("fuzz_engine", init_engine);
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0;
    PyConfig_SetBytesString(&config, &config.program_name, python);
    if (PyStatus_Exception(Py_InitializeFromConfig(&config))) exit(3);
    PyConfig_Clear(&config);
}

int main(int count, char **words) {
    PyObject *worker, *functions;
    const char *target = getenv("KWIRE_FUZZ_TARGET"); /* not among the words: libFuzzer starts itself again by these */
    if (target == NULL || getenv("KWIRE_FUZZ_PYTHON") == NULL) {
        fprintf(stderr, "started by python -m tests.fuzz\n");
        return 2;
    }
    start_python(getenv("KWIRE_FUZZ_PYTHON"));
    worker = PyImport_ImportModule("tests.fuzz.worker");
    functions = worker == NULL ? NULL : PyObject_CallMethod(worker, "functions_of", "s", target);
    if (functions == NULL || !PyArg_ParseTuple(functions, "OO", &run, &mutate)) {
        PyErr_Print();
        return 2;
    }
    if (__sanitizer_install_malloc_and_free_hooks != NULL)
        __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    atexit(write_numbers);
    return LLVMFuzzerRunDriver(&count, &words, one_input);
}
