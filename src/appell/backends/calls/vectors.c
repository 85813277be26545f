/* Batches on vectors of states: a part of crossing.c. */

static const int types[2] = {NPY_DOUBLE, NPY_FLOAT}, sizes[2] = {sizeof(double), sizeof(float)};

/* With the lock of the interpreter. */
static void *room_taken(Width *width)
{
    if (width->rest) return width->idle[--width->rest];
    return aligned_alloc(CACHE_LINE_BYTES, (width->room + CACHE_LINE_BYTES - 1)/CACHE_LINE_BYTES*CACHE_LINE_BYTES);
}

static void room_left(Width *width, void *room)
{
    if (width->rest < IDLE) width->idle[width->rest++] = room;
    else free(room);
}

/* An array (count, *port), plain in every respect. */
static int plain(PyObject *value, const Port *port, int kind, npy_intp count, int flags)
{
    if (!PyArray_CheckExact(value)) return 0;
    PyArrayObject *array = (PyArrayObject *) value;
    if (PyArray_TYPE(array) != types[kind] || PyArray_NDIM(array) != port->nd + 1 || PyArray_DIM(array, 0) != count) return 0;
    for (int k = 0; k < port->nd; k++)
        if (PyArray_DIM(array, k + 1) != port->dims[k]) return 0;
    return PyArray_FLAGSWAP(array, flags);
}

static int overlap(PyObject *value, PyObject *other)
{
    PyArrayObject *a = (PyArrayObject *) value, *b = (PyArrayObject *) other;
    return PyArray_BYTES(a) < PyArray_BYTES(b) + PyArray_NBYTES(b) && PyArray_BYTES(b) < PyArray_BYTES(a) + PyArray_NBYTES(a);
}

/* The arrays that were given for the results, with new references; 0 if they are not plain. */
static int results_given(const Crossing *self, PyObject *given, int kind, npy_intp count, PyObject *const *arguments,
                         PyObject **array)
{
    if (!self->bare && !(PyTuple_CheckExact(given) && PyTuple_GET_SIZE(given) == self->outputs)) return 0;
    for (int k = 0; k < self->outputs; k++) {
        array[k] = self->bare ? given : PyTuple_GET_ITEM(given, k);
        if (!plain(array[k], &self->out[k], kind, count, NPY_ARRAY_CARRAY)) return 0;
        for (int j = 0; j < self->arguments; j++)
            if (overlap(array[k], arguments[j])) return 0;
    }
    for (int k = 0; k < self->outputs; k++) Py_INCREF(array[k]);
    return 1;
}

/* Fresh ones; large ones are parts of one block, which the C library keeps for the next time. 0 with an exception set. */
static int results_fresh(const Crossing *self, int kind, npy_intp count, PyObject **array)
{
    npy_intp bytes = 0, dims[3] = {count};
    for (int k = 0; k < self->outputs; k++) bytes += (count*self->out[k].size*sizes[kind] + CACHE_LINE_BYTES - 1)/CACHE_LINE_BYTES*CACHE_LINE_BYTES;
    const npy_intp whole = bytes + CACHE_LINE_BYTES;
    PyObject *block = bytes < BYTES_WORTH_PLACING ? NULL : PyArray_SimpleNew(1, &whole, NPY_UINT8);
    if (bytes >= BYTES_WORTH_PLACING && !block) return 0;
    char *place = block ? (char *) (((npy_uintp) PyArray_BYTES((PyArrayObject *) block) + CACHE_LINE_BYTES - 1)/CACHE_LINE_BYTES*CACHE_LINE_BYTES) : NULL;
    for (int k = 0; k < self->outputs; k++) {
        const Port *port = &self->out[k];
        for (int j = 0; j < port->nd; j++) dims[j + 1] = port->dims[j];
        PyArray_Descr *type = PyArray_DescrFromType(types[kind]);
        const int flags = block ? NPY_ARRAY_CARRAY : 0;
        array[k] = PyArray_NewFromDescr(&PyArray_Type, type, port->nd + 1, dims, NULL, place, flags, NULL);
        const int held = array[k] && (!block || !PyArray_SetBaseObject((PyArrayObject *) array[k], Py_NewRef(block)));
        if (!held) {
            for (Py_XDECREF(array[k]); k--;) Py_DECREF(array[k]);
            Py_XDECREF(block);
            return 0;
        }
        if (block) place += (count*port->size*sizes[kind] + CACHE_LINE_BYTES - 1)/CACHE_LINE_BYTES*CACHE_LINE_BYTES;
    }
    Py_XDECREF(block);
    return 1;
}

/* States whose sines were not computed, one by one with the code for one state; only for doubles. */
static void far_states(const Crossing *self, npy_intp count, const unsigned char *far, const void *const *in,
                       const ptrdiff_t *stride, void *const *out)
{
    const double *from[PORTS];
    double *to[PORTS];
    for (npy_intp i = 0; i < count; i++) {
        if (!far[i]) continue;
        for (int k = 0; k < self->inputs; k++) from[k] = (const double *) in[k] + i*stride[k];
        for (int k = 0; k < self->outputs; k++) to[k] = (double *) out[k] + i*self->out[k].size;
        self->run(1, from, nowhere, to);
    }
}

/* What keywords ask for: 0 if one of them is not ours. */
static int asked(const Crossing *self, PyObject *const *values, PyObject *keywords, int *kind, PyObject **given)
{
    for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); k++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, k), *value = values[k];
        if (self->takes_out && !PyUnicode_CompareWithASCIIString(name, "out")) *given = value == Py_None ? NULL : value;
        else if (!self->takes_dtype || PyUnicode_CompareWithASCIIString(name, "dtype")) return 0;
        else if (value == (PyObject *) &PyFloatArrType_Type) *kind = 1;
        else if (value != (PyObject *) &PyDoubleArrType_Type) return 0;
    }
    return 1;
}

/* The results, NULL with an exception, or NULL without one if this batch is none for vectors. */
static PyObject *many(const Crossing *self, PyObject *const *arguments, PyObject *keywords)
{
    int kind = 0, some, good;
    PyObject *given = NULL, *array[PORTS];
    if (!self->arguments || !PyArray_CheckExact(arguments[0]) || !PyArray_NDIM((PyArrayObject *) arguments[0])) return NULL;
    if (!asked(self, arguments + self->arguments, keywords, &kind, &given)) return NULL;
    Width *width = &self->vectors->width[kind];
    const npy_intp count = PyArray_DIM((PyArrayObject *) arguments[0], 0);
    if (!width->run || count < width->least) return NULL;
    const void *in[PORTS];
    ptrdiff_t stride[PORTS];
    void *out[PORTS];
    for (int k = 0; k < self->inputs; k++) {
        if (!plain(arguments[k], &self->in[k], kind, count, NPY_ARRAY_CARRAY_RO)) return NULL;
        in[k] = PyArray_DATA((PyArrayObject *) arguments[k]);
        stride[k] = self->in[k].size;
    }
    if (given ? !results_given(self, given, kind, count, arguments, array) : !results_fresh(self, kind, count, array)) return NULL;
    for (int k = 0; k < self->outputs; k++) out[k] = PyArray_DATA((PyArrayObject *) array[k]);
    void *room = room_taken(width);
    unsigned char *far = malloc(count);
    if ((good = room && far)) {
        PyThreadState *paused = count < self->patience ? NULL : PyEval_SaveThread();
        some = width->run(count, in, stride, out, far, room);
        good = !some || !kind;
        if (some && good) far_states(self, count, far, in, stride, out);
        if (paused) PyEval_RestoreThread(paused);
    }
    if (room) room_left(width, room);
    free(far);
    if (good) return together(self, array);
    for (int k = 0; k < self->outputs; k++) Py_DECREF(array[k]);
    return NULL;
}

static PyObject *vectors_open(Vectors *self, PyObject *arguments)
{
    int kind;
    PyObject *address, *owner;
    Py_ssize_t room, least;
    if (!PyArg_ParseTuple(arguments, "pO!nnO", &kind, &PyLong_Type, &address, &room, &least, &owner)) return NULL;
    Width *width = &self->width[kind];
    lanes *run = (lanes *) PyLong_AsVoidPtr(address);
    if (!run || room <= 0 || least <= 0 || width->run) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "no function, no room, or open already");
        return NULL;
    }
    width->room = room, width->least = least, width->owner = Py_NewRef(owner);
    width->run = run;
    Py_RETURN_NONE;
}

static void vectors_dealloc(Vectors *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (Width *width = self->width; width < self->width + 2; width++) {
        while (width->rest) free(width->idle[--width->rest]);
        Py_XDECREF(width->owner);
    }
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef vectors_methods[] = {
    {"open", (PyCFunction) vectors_open, METH_VARARGS, "open(floats, address, room, least, owner): batches of `least` states on"},
    {NULL},
};

static PyType_Slot vectors_slots[] = {{Py_tp_dealloc, vectors_dealloc}, {Py_tp_methods, vectors_methods},
                                      {Py_tp_new, PyType_GenericNew}, {0, NULL}};

static PyType_Spec vectors_spec = {
    .name = "appell.backends.Vectors",
    .basicsize = sizeof(Vectors),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = vectors_slots,
};
