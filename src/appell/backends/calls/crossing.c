/* The crossing from Python to a compiled function, at one state or a batch of states, without a copy on the way in.

       call(x_1, …, x_n) -> (y_1, …, y_m)
       call(X_1, …, X_n, out=, dtype=) -> (Y_1, …, Y_m)     where there are vectors of states (vectors.c)

   An x is taken from its own memory if it is an ndarray of float64 in the port's shape, contiguous, aligned and in the
   machine's byte order; a scalar may be a float or an int. So are the X, with the batch first, all as long, and the arrays in
   `out`. The y are fresh arrays. Anything else is the business of `otherwise`, a Python callable with the same arguments.
   Nothing is written to the object after it is made, so threads may share it. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <Python.h>
#include <stddef.h>
#include <stdlib.h>
#include <structmember.h>
#include <numpy/arrayobject.h>

#define PORTS 32    /* inputs, and outputs, at most */
#define SCRATCH 32  /* numbers in the outputs that are not returned */

typedef void batch(ptrdiff_t n, const double *const *in, const ptrdiff_t *stride, double *const *out);

typedef struct {
    int nd;
    npy_intp dims[2], size;
    const double *fixed;  /* an input that was given once and for all, else NULL */
} Port;

#define IDLE 4        /* rooms that are kept for the next call */
/* From batch.py: CACHE_LINE_BYTES, with which rooms and large results begin; BYTES_WORTH_PLACING, of results that are large. */

typedef int lanes(ptrdiff_t n, const void *const *in, const ptrdiff_t *stride, void *const *out, unsigned char *far, void *room);

/* Batches on vectors of doubles, or floats. */
typedef struct {
    lanes *run;       /* NULL until it is opened */
    size_t room;      /* bytes of memory that one call in progress needs */
    npy_intp least;   /* states */
    int rest;         /* how many rooms are idle */
    void *idle[IDLE];
    PyObject *owner;  /* of the machine code */
} Width;

typedef struct {
    PyObject_HEAD
    Width width[2];  /* of doubles, of floats */
} Vectors;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    batch *run;
    int inputs, arguments, outputs, kept;  /* arguments: inputs that are not fixed; kept: outputs that are returned */
    int bare;     /* return the only kept output itself, not a tuple */
    int guarded;  /* the last output is a margin: the result holds where it is positive */
    int patient;  /* long enough to let other threads run */
    int singles;  /* takes one state */
    int takes_out, takes_dtype;  /* keywords of batches */
    npy_intp patience;           /* states in a batch from which on other threads may run */
    Vectors *vectors;            /* NULL: takes no batches */
    PyObject *otherwise, *memory, *owner;  /* memory: of fixed inputs; owner: of the machine code */
    Port in[PORTS], out[PORTS];
} Crossing;

static const ptrdiff_t nowhere[PORTS];
static PyArray_Descr *float64;
static PyObject *vectors_type;

static const double *number(PyObject *value, double *place)
{
    if (PyFloat_Check(value)) {
        *place = PyFloat_AS_DOUBLE(value);
        return place;
    }
    if (!PyLong_CheckExact(value)) return NULL;
    *place = PyLong_AsDouble(value);
    if (*place == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    return place;
}

static inline const double *numbers(PyObject *value, const Port *port, double *place)
{
    if (!PyArray_CheckExact(value)) return port->nd ? NULL : number(value, place);
    PyArrayObject *array = (PyArrayObject *) value;
    if (PyArray_TYPE(array) != NPY_DOUBLE || PyArray_NDIM(array) != port->nd || !PyArray_ISCARRAY_RO(array)) return NULL;
    for (int k = 0; k < port->nd; k++)
        if (PyArray_DIM(array, k) != port->dims[k]) return NULL;
    return PyArray_DATA(array);
}

static int opened(const Crossing *self, PyObject **array, double **out, double *scratch)
{
    for (int k = 0; k < self->kept; k++) {
        Py_INCREF(float64);
        array[k] = PyArray_NewFromDescr(&PyArray_Type, float64, self->out[k].nd, self->out[k].dims, NULL, NULL, 0, NULL);
        if (!array[k]) {
            while (k--) Py_DECREF(array[k]);
            return 0;
        }
        out[k] = PyArray_DATA((PyArrayObject *) array[k]);
    }
    for (int k = self->kept; k < self->outputs; scratch += self->out[k++].size) out[k] = scratch;
    return 1;
}

static PyObject *together(const Crossing *self, PyObject **array)
{
    if (self->bare) return array[0];
    PyObject *result = PyTuple_New(self->kept);
    for (int k = 0; k < self->kept; k++)
        if (result) PyTuple_SET_ITEM(result, k, array[k]);
        else Py_DECREF(array[k]);
    return result;
}

#include "vectors.c"

static PyObject *cross(PyObject *callable, PyObject *const *arguments, size_t nargsf, PyObject *keywords)
{
    const Crossing *self = (const Crossing *) callable;
    const double *in[PORTS];
    double *out[PORTS], scalars[PORTS], scratch[SCRATCH];
    PyObject *array[PORTS];
    int taken = 0;
    if (PyVectorcall_NARGS(nargsf) != self->arguments) goto otherwise;
    if (keywords || !self->singles) goto batch;
    for (int k = 0; k < self->inputs; k++) {
        const Port *port = &self->in[k];
        in[k] = port->fixed ? port->fixed : numbers(arguments[taken++], port, scalars + k);
        if (!in[k]) goto batch;
    }
    if (!opened(self, array, out, scratch)) return NULL;
    if (self->patient) {
        Py_BEGIN_ALLOW_THREADS
        self->run(1, in, nowhere, out);
        Py_END_ALLOW_THREADS
    } else
        self->run(1, in, nowhere, out);
    if (!self->guarded || *out[self->outputs - 1] > 0) return together(self, array);
    for (int k = 0; k < self->kept; k++) Py_DECREF(array[k]);
    goto otherwise;
batch:
    if (self->vectors) {
        PyObject *results = many(self, arguments, keywords);
        if (results || PyErr_Occurred()) return results;
    }
otherwise:
    if (self->otherwise) return PyObject_Vectorcall(self->otherwise, arguments, nargsf, keywords);
    PyErr_SetString(PyExc_ReferenceError, "this function is being taken down");
    return NULL;
}

/* shape: a tuple of at most two lengths */
static int shaped(PyObject *shape, Port *port)
{
    port->size = 1;
    port->nd = (int) PyTuple_GET_SIZE(shape);
    if (port->nd > 2) {
        PyErr_SetString(PyExc_ValueError, "a port has at most two dimensions");
        return 0;
    }
    for (int k = 0; k < port->nd; k++) {
        port->dims[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k));
        if (port->dims[k] < 0) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a length is negative");
            return 0;
        }
        port->size *= port->dims[k];
    }
    return 1;
}

/* ports: a tuple of shapes or, for inputs that are fixed, arrays; returns how many, or -1 */
static int listed(PyObject *ports, Port *list)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(ports);
    if (count > PORTS) {
        PyErr_SetString(PyExc_ValueError, "too many ports");
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *item = PyTuple_GET_ITEM(ports, k);
        if (PyArray_CheckExact(item) && PyArray_ISCARRAY_RO((PyArrayObject *) item)
            && PyArray_TYPE((PyArrayObject *) item) == NPY_DOUBLE)
            list[k].fixed = PyArray_DATA((PyArrayObject *) item);
        else if (!PyTuple_CheckExact(item)) {
            PyErr_SetString(PyExc_TypeError, "a port is a shape, or a contiguous array of float64");
            return -1;
        } else if (!shaped(item, &list[k]))
            return -1;
    }
    return (int) count;
}

static int filled(Crossing *self, PyObject *address, PyObject *inputs, PyObject *outputs)
{
    npy_intp scratch = 0;
    self->run = (batch *) PyLong_AsVoidPtr(address);
    if (!self->run) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "there is no function at 0");
        return 0;
    }
    if ((self->inputs = listed(inputs, self->in)) < 0 || (self->outputs = listed(outputs, self->out)) < 0) return 0;
    for (int k = 0; k < self->inputs; k++) self->arguments += !self->in[k].fixed;
    for (int k = self->kept; k < self->outputs; k++) scratch += self->out[k].size;
    if (self->kept < 0 || self->kept > self->outputs || scratch > SCRATCH || (self->bare && self->kept != 1)
        || (self->guarded && (self->kept == self->outputs || self->out[self->outputs - 1].size != 1))) {
        PyErr_SetString(PyExc_ValueError, "these outputs cannot be returned in this way");
        return 0;
    }
    if (self->vectors && (self->guarded || self->kept != self->outputs || self->arguments != self->inputs)) {
        PyErr_SetString(PyExc_ValueError, "a batch has all outputs and no fixed inputs");
        return 0;
    }
    return 1;
}

static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"address", "inputs", "outputs", "kept", "bare", "guarded", "patient", "otherwise", "owner",
                            "vectors", "singles", "takes_out", "takes_dtype", "patience", NULL};
    PyObject *address, *inputs, *outputs, *otherwise, *owner, *vectors = NULL;
    int kept, bare, guarded, patient, singles = 1, takes_out = 0, takes_dtype = 0;
    Py_ssize_t patience = PY_SSIZE_T_MAX;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!O!O!ipppOO|O!pppn", names, &PyLong_Type, &address, &PyTuple_Type,
                                     &inputs, &PyTuple_Type, &outputs, &kept, &bare, &guarded, &patient, &otherwise, &owner,
                                     (PyTypeObject *) vectors_type, &vectors, &singles, &takes_out, &takes_dtype, &patience))
        return NULL;
    Crossing *self = (Crossing *) type->tp_alloc(type, 0);  /* zeroed */
    if (!self) return NULL;
    self->vectorcall = cross;
    self->kept = kept, self->bare = bare, self->guarded = guarded, self->patient = patient;
    self->otherwise = Py_NewRef(otherwise), self->memory = Py_NewRef(inputs), self->owner = Py_NewRef(owner);
#ifdef Py_GIL_DISABLED
    vectors = NULL;  /* the lock guards their rooms */
#endif
    self->vectors = (Vectors *) Py_XNewRef(vectors), self->singles = singles, self->patience = patience;
    self->takes_out = takes_out, self->takes_dtype = takes_dtype;
    if (!filled(self, address, inputs, outputs)) Py_CLEAR(self);
    return (PyObject *) self;
}

static int traverse(Crossing *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->otherwise);
    Py_VISIT(self->memory);
    Py_VISIT(self->owner);
    return 0;
}

static int clear(Crossing *self)  /* machine code and memory stay for as long as the object can be called */
{
    Py_CLEAR(self->otherwise);
    return 0;
}

static void dealloc(Crossing *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->otherwise);
    Py_CLEAR(self->memory);
    Py_CLEAR(self->owner);
    Py_CLEAR(self->vectors);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *told(Crossing *self, void *name)  /* __name__, __doc__, …: as `otherwise` has them */
{
    return PyObject_GetAttrString(self->otherwise ? self->otherwise : Py_None, name);
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Crossing, vectorcall), READONLY, NULL},
    {"__wrapped__", T_OBJECT_EX, offsetof(Crossing, otherwise), READONLY, NULL},
    {NULL},
};

static PyGetSetDef properties[] = {
    {"__name__", (getter) told, NULL, NULL, "__name__"},
    {"__qualname__", (getter) told, NULL, NULL, "__qualname__"},
    {"__doc__", (getter) told, NULL, NULL, "__doc__"},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, make},           {Py_tp_dealloc, dealloc},   {Py_tp_traverse, traverse},     {Py_tp_clear, clear},
    {Py_tp_members, members},    {Py_tp_getset, properties}, {Py_tp_call, PyVectorcall_Call}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "appell.backends.Crossing",
    .basicsize = sizeof(Crossing),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

static int execute(PyObject *module)
{
    import_array1(-1);
    float64 = PyArray_DescrFromType(NPY_DOUBLE);
    if (!vectors_type) vectors_type = PyType_FromSpec(&vectors_spec);
    PyObject *type = PyType_FromSpec(&spec);
    if (!type || !vectors_type) return -1;
    const int failed = PyModule_AddObjectRef(module, "Crossing", type) || PyModule_AddObjectRef(module, "Vectors", vectors_type);
    Py_DECREF(type);
    return failed || PyModule_AddIntMacro(module, PORTS) || PyModule_AddIntMacro(module, SCRATCH) ? -1 : 0;
}

static PyModuleDef_Slot phases[] = {
    {Py_mod_exec, execute},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "appell_crossing", .m_slots = phases};

PyMODINIT_FUNC PyInit_appell_crossing(void) { return PyModuleDef_Init(&definition); }
