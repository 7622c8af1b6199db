/* Views: array/indexing.py, and what a handle shows. */

static PyObject *numbers_of(const npy_intp *numbers, int count)
{
    PyObject *found = PyTuple_New(count);
    for (int i = 0; found && i < count; i++) {
        PyObject *number = PyLong_FromSsize_t(numbers[i]);
        if (number)
            PyTuple_SET_ITEM(found, i, number);
        else
            Py_CLEAR(found);
    }
    return found;
}

/* The node of a storage's node through another geometry of the same dtype. */
static PyObject *shown(PyObject *base, PyArrayObject *geometry, PyObject *offset)
{
    int ndim = PyArray_NDIM(geometry);
    PyObject *shape = numbers_of(PyArray_DIMS(geometry), ndim), *found = NULL;
    PyObject *strides = shape ? numbers_of(PyArray_STRIDES(geometry), ndim) : NULL;
    PyObject *number = strides ? PyLong_FromLong(PyArray_DESCR(geometry)->type_num) : NULL;
    PyObject *key = number ? PyTuple_Pack(3, number, shape, strides) : NULL;
    PyObject *layout = key ? Py_XNewRef(PyDict_GetItemWithError(layouts, key)) : NULL;
    PyObject *attrs = layout ? PyTuple_Pack(1, offset) : NULL;
    if (attrs) {
        PyObject *inputs = PyTuple_Pack(1, base);
        found = make_node(view, inputs, shape, NODE(base, dtype), strides, NODE(base, device),
                          Py_None, layout);
        if (found)
            Py_SETREF(NODE(found, attrs), Py_NewRef(attrs));
    }
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(number);
    Py_XDECREF(key);
    Py_XDECREF(layout);
    Py_XDECREF(attrs);
    return found;
}

/* The node that a handle shows now; NULL, most often without an error, if that is unusual. */
static PyObject *node_now(PyObject *x, PyObject *device)
{
    PyObject *storage = SLOT(x, Array, _storage), *geometry = SLOT(x, Array, _geometry), *result;
    PyObject *node = storage ? SLOT(storage, Storage, node) : NULL;
    if (!node || !geometry || !SLOT(x, Array, _offset)) /* not made yet */
        return NULL;
    if ((device && NODE(node, device) != device) || NODE(node, shared) != Py_False)
        return NULL;
    if (geometry == Py_None)
        return Py_NewRef(node);
    if (Py_TYPE(geometry) != (PyTypeObject *)array || NODE(node, op) == view ||
        (PyObject *)PyArray_DESCR((PyArrayObject *)geometry) != NODE(node, dtype))
        return NULL;
    PyObject *offset = Py_NewRef(SLOT(x, Array, _offset));
    Py_INCREF(node);
    Py_INCREF(geometry);
    result = shown(node, (PyArrayObject *)geometry, offset);
    Py_DECREF(node);
    Py_DECREF(geometry);
    Py_DECREF(offset);
    return result;
}

/* Whether a part of a key is one of NumPy's basic ones, of Python's own types. */
static int is_basic(PyObject *part)
{
    if (part == Py_None || part == Py_Ellipsis || PyLong_CheckExact(part))
        return 1;
    if (!PySlice_Check(part))
        return 0;
    PySliceObject *s = (PySliceObject *)part;
    return (s->start == Py_None || PyLong_CheckExact(s->start)) &&
           (s->stop == Py_None || PyLong_CheckExact(s->stop)) &&
           (s->step == Py_None || PyLong_CheckExact(s->step));
}

/* Whether a key makes a view: basic, and not an integer for each axis. */
static int makes_view(PyObject *key, Py_ssize_t ndim)
{
    if (!PyTuple_CheckExact(key))
        return is_basic(key) && !(PyLong_CheckExact(key) && ndim == 1);
    Py_ssize_t count = PyTuple_GET_SIZE(key), integers = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!is_basic(PyTuple_GET_ITEM(key, i)))
            return 0;
        integers += PyLong_CheckExact(PyTuple_GET_ITEM(key, i));
    }
    return !(count == ndim && integers == ndim);
}

/* `x[key]` where that is a view; NULL without an error if it is unusual. */
static PyObject *viewed(PyObject *x, PyObject *key)
{
    PyObject *storage = SLOT(x, Array, _storage), *geometry = SLOT(x, Array, _geometry);
    PyObject *node = storage ? SLOT(storage, Storage, node) : NULL, *part, *offset, *handle;
    if (!node || !geometry || SLOT(x, Array, _scalar) != Py_False)
        return NULL;
    if (geometry == Py_None) {
        if (!makes_view(key, PyTuple_GET_SIZE(NODE(node, shape))))
            return NULL;
        PyObject *const args[] = {Py_NewRef(NODE(node, shape)), Py_NewRef(NODE(node, strides)),
                                  Py_NewRef(NODE(node, dtype))};
        geometry = PyObject_Vectorcall(whole_geometry, args, 3, NULL);
        for (int i = 0; i < 3; i++)
            Py_DECREF(args[i]);
    } else if (Py_TYPE(geometry) != (PyTypeObject *)array ||
               !makes_view(key, PyArray_NDIM((PyArrayObject *)geometry)))
        return NULL;
    else
        Py_INCREF(geometry);
    part = geometry ? PyObject_GetItem(geometry, key) : NULL;
    Py_XDECREF(geometry);
    if (!part || Py_TYPE(part) != (PyTypeObject *)array) {
        Py_XDECREF(part);
        return NULL;
    }
    PyArrayObject *area = (PyArrayObject *)part;
    Py_ssize_t distance = (Py_ssize_t)PyArray_BYTES(area) - IMAGINARY;
    for (int i = 0; i < PyArray_NDIM(area); i++)
        if (PyArray_DIM(area, i) == 0)
            distance = 0;
    offset = PyLong_FromSsize_t(distance);
    handle = offset ? PyType_GenericAlloc(Array.type, 0) : NULL;
    if (!handle) {
        Py_DECREF(part);
        Py_XDECREF(offset);
        return NULL;
    }
    PyObject *base = SLOT(x, Array, _base);
    PUT(handle, Array, _storage, Py_NewRef(SLOT(x, Array, _storage)));
    PUT(handle, Array, _base, Py_NewRef(base ? base : x));
    PUT(handle, Array, _geometry, part);
    PUT(handle, Array, _offset, offset);
    PUT(handle, Array, _scalar, Py_NewRef(Py_False));
    return handle;
}

static PyObject *get_item(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return called(F_get_item, args, count);
}

static PyObject *do_get_item(PyObject *self, PyObject *key)
{
    PyObject *const args[] = {self, key};
    return get_item(NULL, args, 2);
}

static PyMethodDef subscript = {"__getitem__", do_get_item, METH_O,
                                "__getitem__($self, key, /)\n--\n\n"};
