/* The Python module: checks the sizes of arrays, picks the loops for this processor, releases the lock. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#define MOST_DIMS (1 << 20)
#define LAYOUT 1 /* of the tables and arguments: a caller that was written for another one must not call */

enum { PORTABLE, AVX2, AVX512, LEVELS };
static const char *const names[LEVELS] = {"portable", "avx2", "avx512"};
static int level = PORTABLE;

#if defined(__x86_64__)
#define PICK(name) (level == AVX512 ? name##_avx512 : level == AVX2 ? name##_avx2 : name##_portable)
#else
#define PICK(name) name##_portable
#endif

static int best_level(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
        return AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return AVX2;
#endif
    return PORTABLE;
}

/* Return whether a buffer has that many bytes; otherwise set an error. */
static int has(const Py_buffer *buffer, int64_t bytes, const char *name) {
    if (buffer->len == bytes) return 1;
    PyErr_Format(PyExc_ValueError, "%s must have %lld bytes, not %lld.", name, (long long)bytes, (long long)buffer->len);
    return 0;
}

static void release(Py_buffer *buffers, int count) {
    for (int i = 0; i < count; i++) PyBuffer_Release(buffers + i);
}

static int has_cells(const Py_buffer *b, int64_t dims, int64_t groups) {
    int64_t group = 128 * dims;
    return has(b, groups * group, "nodes") && has(b + 1, groups * 16 * group, "leaves") &&
           has(b + 2, groups * 128 * group, "places") && has(b + 3, groups * 16384, "words");
}

/* Return whether there is a unit vector for each word, or none at all; otherwise set an error. */
static int has_units(const Py_buffer *b, int64_t places, int64_t width) {
    const int32_t *words = b[3].buf;
    int64_t total = width ? b[7].len / (width * 4) : INT32_MAX;
    for (int64_t i = 0; i < places; i++)
        if (words[i] >= total) {
            PyErr_SetString(PyExc_ValueError, "There must be a unit vector for each word.");
            return 0;
        }
    return has(b + 7, width ? total * width * 4 : 0, "units");
}

static PyObject *nearest_in_cells(PyObject *self, PyObject *args) {
    (void)self;
    Py_ssize_t dims;
    int wanted;
    Py_buffer b[9];
    if (!PyArg_ParseTuple(args, "niy*y*y*y*y*y*w*w*w*", &dims, &wanted, b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6, b + 7, b + 8))
        return NULL;
    int is_sane = 0 < dims && dims <= MOST_DIMS && (wanted == 1 || wanted == 2);
    int64_t groups = is_sane ? b[0].len / (128 * (int64_t)dims) : 0;
    int64_t count = b[6].len / 8, room = b[7].len / 4, pairs = -1;
    if (!is_sane || groups < 1 || count > INT32_MAX)
        PyErr_SetString(PyExc_ValueError, "There must be a dimension, a group of nodes, and 1 or 2 words wanted.");
    else if (has_cells(b, dims, groups) && has(b + 4, count * dims * 4, "points") && has(b + 5, count * 8, "moved") &&
             has(b + 6, count * 8, "answers") && has(b + 8, room * 4, "candidates")) {
        Cells cells = {dims, groups, b[0].buf, b[1].buf, b[2].buf, b[3].buf, wanted};
        float *scratch = malloc(((size_t)groups * 528 + 32) * 4); /* bounds of nodes; open leaves, and their bounds */
        if (scratch == NULL)
            PyErr_NoMemory();
        else {
            Py_BEGIN_ALLOW_THREADS
            pairs = PICK(nearest_in_cells)(&cells, b[4].buf, b[5].buf, count, b[6].buf, b[7].buf, b[8].buf, room, scratch,
                                           (int32_t *)scratch + groups * 16, scratch + groups * 272 + 16);
            Py_END_ALLOW_THREADS
            free(scratch);
        }
    }
    release(b, 9);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(pairs);
}

static PyObject *nearest_in_coded_cells(PyObject *self, PyObject *args) {
    (void)self;
    Py_ssize_t dims;
    int wanted;
    float step;
    Py_buffer b[13];
    if (!PyArg_ParseTuple(args, "nify*y*y*y*y*y*y*y*y*y*w*w*w*", &dims, &wanted, &step, b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6,
                          b + 7, b + 8, b + 9, b + 10, b + 11, b + 12))
        return NULL;
    int is_sane = 0 < dims && dims <= 64 && (wanted == 1 || wanted == 2) && step > 0.0f;
    int64_t groups = is_sane ? b[0].len / (128 * (int64_t)dims) : 0, nodes = groups * 16;
    int64_t count = b[10].len / 8, room = b[11].len / 4, pairs = -1;
    if (!is_sane || groups < 1 || count > INT32_MAX || level == PORTABLE)
        PyErr_SetString(PyExc_ValueError, "There must be 1 to 64 dimensions, a step, a group of nodes, 1 or 2 words wanted, and AVX2.");
    else if (has_cells(b, dims, groups) && has(b + 4, nodes * 256 * ((dims + 3) / 4 * 4), "codes") &&
             has(b + 5, nodes * 1024, "corrections") && has(b + 6, nodes * dims * 4, "centres") &&
             has(b + 7, nodes * 12, "about") && has(b + 8, count * dims * 4, "points") &&
             has(b + 9, count * 8, "moved") && has(b + 10, count * 8, "answers") && has(b + 12, room * 4, "candidates")) {
        float *scratch = malloc((size_t)nodes * 8 * CODED_POINTS);
        if (scratch == NULL) PyErr_NoMemory();
#if defined(__x86_64__)
        else {
            CodedCells coded = {{dims, groups, b[0].buf, b[1].buf, b[2].buf, b[3].buf, wanted}, b[4].buf, b[5].buf, b[6].buf,
                                b[7].buf, step};
            Py_BEGIN_ALLOW_THREADS
            pairs = (level == AVX512 ? nearest_in_coded_cells_avx512 : nearest_in_coded_cells_avx2)(
                &coded, b[8].buf, b[9].buf, count, b[10].buf, b[11].buf, b[12].buf, room, scratch,
                scratch + nodes * CODED_POINTS);
            Py_END_ALLOW_THREADS
        }
#endif
        free(scratch);
    }
    release(b, 13);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(pairs);
}

static PyObject *answer_in_cells(PyObject *self, PyObject *args) {
    (void)self;
    Py_ssize_t dims, width;
    int candidates;
    Py_buffer b[10];
    if (!PyArg_ParseTuple(args, "nniy*y*y*y*y*y*y*y*y*w*", &dims, &width, &candidates, b, b + 1, b + 2, b + 3, b + 4, b + 5,
                          b + 6, b + 7, b + 8, b + 9))
        return NULL;
    int is_sane = 0 < dims && dims <= MOST_DIMS && 0 <= width && width <= MOST_DIMS && width % 16 == 0, done = 0;
    int64_t groups = is_sane ? b[0].len / (128 * (int64_t)dims) : 0, count = b[9].len / 8;
    if (!is_sane || groups < 1 || groups > 4096 || candidates < 1 || candidates > 256)
        PyErr_SetString(PyExc_ValueError, "There must be a dimension, a group of nodes, and 1 to 256 candidates.");
    else if (has_cells(b, dims, groups) && has(b + 4, groups * 64, "node biases") &&
             has(b + 5, groups * 1024, "leaf biases") && has(b + 6, groups * 16384, "biases") &&
             has_units(b, groups * 4096, width) && has(b + 8, count * dims * 4, "points") &&
             has(b + 9, count * 8, "answers")) {
        Cells cells = {dims, groups, b[0].buf, b[1].buf, b[2].buf, b[3].buf, 1};
        Biases biases = {b[4].buf, b[5].buf, b[6].buf};
        float *scratch = malloc(((size_t)groups * 16 + (size_t)width) * 4);
        if (scratch == NULL)
            PyErr_NoMemory();
        else {
            Py_BEGIN_ALLOW_THREADS
            PICK(answer_in_cells)(&cells, &biases, b[7].buf, width, candidates, b[8].buf, count, b[9].buf, scratch,
                                  scratch + groups * 16);
            Py_END_ALLOW_THREADS
            free(scratch);
            done = 1;
        }
    }
    release(b, 10);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *nearest_by_codes(PyObject *self, PyObject *args) {
    (void)self;
    Py_ssize_t dims;
    int wanted;
    double moved, tolerance;
    Py_buffer b[18];
    if (!PyArg_ParseTuple(args, "niddy*y*y*y*y*y*y*y*y*y*y*y*y*y*y*w*w*w*", &dims, &wanted, &moved, &tolerance, b, b + 1, b + 2, b + 3,
                          b + 4, b + 5, b + 6, b + 7, b + 8, b + 9, b + 10, b + 11, b + 12, b + 13, b + 14, b + 15, b + 16,
                          b + 17))
        return NULL;
    /* With more dimensions, sums of products could leave 32 bits. */
    int is_sane = 0 < dims && dims <= 60000 && b[15].len / 8 <= INT32_MAX && (wanted == 1 || wanted == 2);
    int64_t width = is_sane ? (dims + 63) / 64 * 64 : 64, rows = b[6].len / 4, strips = rows / CODES_STRIP, pairs = -2;
    int64_t count = b[15].len / 8, room = b[16].len / 4;
    if (!is_sane || strips < 1 || rows % CODES_STRIP || level == PORTABLE)
        PyErr_SetString(PyExc_ValueError, "There must be a dimension, full strips, 1 or 2 rows wanted, and AVX2.");
    else if (has(b, rows * width, "codes") && has(b + 1, rows * 4, "corrections") && has(b + 2, strips * 20, "about") &&
             has(b + 3, rows * 4, "errors") && has(b + 4, rows * 4, "sizes") && has(b + 5, rows * 4, "halves") &&
             has(b + 7, dims * width * 4, "rotation") && has(b + 9, count * dims * 8, "points") &&
             has(b + 10, count * 8, "norms") && has(b + 11, count * 8, "factors") &&
             has(b + 12, count * dims * 4, "scaled") && has(b + 13, count * 8, "lengths and shrinks") &&
             has(b + 14, count * 4, "slacks") && has(b + 17, room * 4, "candidates")) {
        int64_t total = b[8].len / (8 * dims);
        const int32_t *order = b[6].buf;
        int32_t last = -1;
        for (int64_t i = 0; i < rows; i++) last = order[i] > last ? order[i] : last;
        int is_inside = has(b + 8, total * dims * 8, "rows") && last < total;
#if defined(__x86_64__)
        if (is_inside) {
            Codes codes = {dims, width, (dims + 3) / 4, strips, b[0].buf, b[1].buf, b[2].buf, b[3].buf, b[4].buf, b[5].buf,
                           order, b[7].buf, b[8].buf, moved, tolerance, wanted};
            const float *lengths = b[13].buf;
            Points points = {b[9].buf, b[10].buf, b[11].buf, b[12].buf, lengths, lengths + count, b[14].buf};
            Py_BEGIN_ALLOW_THREADS
            pairs = (level == AVX512 ? nearest_by_codes_avx512 : nearest_by_codes_avx2)(
                &codes, &points, count, b[15].buf, b[16].buf, b[17].buf, room);
            Py_END_ALLOW_THREADS
        }
#endif
        if (pairs == -1) PyErr_NoMemory();
        if (pairs == -2 && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "The order names a row that is not there.");
    }
    release(b, 18);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(pairs);
}

static PyObject *get_level(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    return PyUnicode_FromString(names[level]);
}

static PyMethodDef methods[] = {
    {"level", get_level, METH_NOARGS, "Return which instructions are used."},
    {"nearest_in_cells", nearest_in_cells, METH_VARARGS, "Find the nearest word of each point, in cells."},
    {"nearest_in_coded_cells", nearest_in_coded_cells, METH_VARARGS, "The same, with 8-bit products as a screen."},
    {"answer_in_cells", answer_in_cells, METH_VARARGS, "Find the likeliest or closest word of each point, in cells."},
    {"nearest_by_codes", nearest_by_codes, METH_VARARGS, "Find the nearest row of each point, by 8-bit products."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernels", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void) {
    const char *forced = getenv("WORDVEIL_KERNELS");
    level = best_level();
    /* A lower level than the best can be forced, for tests. */
    for (int i = 0; forced != NULL && i < level; i++)
        if (strcmp(forced, names[i]) == 0) level = i;
    PyObject *created = PyModule_Create(&module);
    if (created != NULL && PyModule_AddIntConstant(created, "LAYOUT", LAYOUT) < 0) Py_CLEAR(created);
    return created;
}
