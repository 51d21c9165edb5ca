/* One target's process: libFuzzer, with Python and the instrumented extensions of kwire inside.
 *
 *     KWIRE_FUZZ_TARGET=FAMILY/NAME KWIRE_FUZZ_PYTHON=python engine [libFuzzer's options] [folders of inputs]
 *
 * clang compiles the extensions with guards that count how often each edge of their code runs, and this program brings
 * libFuzzer, which reads them, and the runtimes of the sanitizers: so what is reported is the coverage of kwire's own C,
 * and nothing has to be preloaded. Of kwire's Python pairs of consecutive lines are counted (`lines.py`).
 *
 * A compiled target (`compiled.py`) is a function in C, which is called without an object of Python for an input.
 *
 * An input is a finding if the target raises, takes more than LIMIT_S of CPU, or has had more memory than its budget, or
 * if a compiled one says that something is wrong, or loses memory; the process then aborts, which makes libFuzzer save
 * the input. At a good end the numbers of the run are written to $KWIRE_FUZZ_NUMBERS, and the slowest input beside them.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LIMIT_S 1.0

extern size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
extern int LLVMFuzzerRunDriver(int *count, char ***words, int (*one_input)(const uint8_t *, size_t));
extern void __sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end);
extern void __sanitizer_cov_pcs_init(const uintptr_t *begin, const uintptr_t *end);
extern int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                                     void (*on_free)(const volatile void *)) __attribute__((weak));
extern size_t __sanitizer_get_allocated_size(const volatile void *block) __attribute__((weak));

static PyObject *run, *mutate; /* the target's functions; mutate may be None */
static const char *(*compiled)(const uint8_t *data, size_t size); /* instead of `run`: what is wrong, or NULL */
static long long budget_least = 1 << 20, budget_per_byte = 1 << 10;

/* ---- coverage of Python: to libFuzzer a module like those that clang instruments. Only targets that are traced have
 * it, as libFuzzer clears and reads all counters for each input. */

#define LINE_PAIRS (1 << 16)

static uint8_t line_pairs[LINE_PAIRS];
static const uintptr_t places[2 * LINE_PAIRS]; /* of each counter the address and whether a function begins: unknown */
static __thread uintptr_t last_line;

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

static double clock_s(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What an input took of the CPU, to 10 ms. The kernel is asked for that, which costs as much as many an input does: so
 * only now and then, and of what was short the time that went by is told, which is no less. */
static double begun_s, asked_at_s, asked_cpu_s;

static void begin_clock(void) {
    begun_s = clock_s(CLOCK_MONOTONIC);
    if (begun_s - asked_at_s < 0.01) return;
    asked_at_s = begun_s;
    asked_cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
}

static double end_clock(void) {
    double passed = clock_s(CLOCK_MONOTONIC) - begun_s;
    return passed < 0.002 ? passed : Py_MIN(passed, clock_s(CLOCK_THREAD_CPUTIME_ID) - asked_cpu_s);
}

/* Whether a compiled target loses memory: each time, since what is made once may be kept. */
static int loses_memory(const uint8_t *data, size_t size) {
    for (int time = 0; held > 0 && time < 3; time++) {
        held = 0;
        compiled(data, size);
    }
    return held > 0;
}

static void feed(const uint8_t *data, size_t size) {
    PyObject *given, *got;
    const char *wrong;
    if (compiled != NULL) {
        wrong = compiled(data, size);
        if (wrong != NULL || PyErr_Occurred()) finding(wrong != NULL ? wrong : "a compiled target raised");
        return;
    }
    given = PyBytes_FromStringAndSize((const char *)data, (Py_ssize_t)size);
    got = PyObject_CallOneArg(run, given);
    if (got == NULL) finding("what was raised is not an error that the target documents");
    Py_DECREF(got);
    Py_DECREF(given);
}

static int one_input(const uint8_t *data, size_t size) {
    double took;
    char text[200];
    last_line = 0;
    held = most_held = 0;
    begin_clock();
    feed(data, size);
    took = end_clock();
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
    if (compiled != NULL && loses_memory(data, size)) finding("memory that is lost with each input");
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

static PyObject *engine_count_line(PyObject *self, PyObject *number) {
    uintptr_t line = (uintptr_t)PyLong_AsSize_t(number);
    line_pairs[(line ^ last_line) % LINE_PAIRS]++;
    last_line = line >> 1;
    Py_RETURN_NONE;
}

static PyObject *engine_add_line_pairs(PyObject *self, PyObject *unused) {
    __sanitizer_cov_8bit_counters_init(line_pairs, line_pairs + LINE_PAIRS);
    __sanitizer_cov_pcs_init(places, places + 2 * LINE_PAIRS);
    Py_RETURN_NONE;
}

static PyObject *engine_set_budget(PyObject *self, PyObject *args) {
    if (!PyArg_ParseTuple(args, "LL", &budget_least, &budget_per_byte)) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef engine_methods[] = {
    {"mutate", engine_mutate, METH_VARARGS, "libFuzzer's own mutation of `data`, to at most `most` bytes."},
    {"add_line_pairs", engine_add_line_pairs, METH_NOARGS, "Makes what count_line counts coverage."},
    {"count_line", engine_count_line, METH_O, "Counts the pair that this line of Python is with the one before it."},
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
    if (PyCapsule_CheckExact(run)) *(void **)&compiled = PyCapsule_GetPointer(run, NULL);
    if (__sanitizer_install_malloc_and_free_hooks != NULL)
        __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    atexit(write_numbers);
    return LLVMFuzzerRunDriver(&count, &words, one_input);
}
