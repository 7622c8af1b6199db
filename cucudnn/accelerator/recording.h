/* Elementwise operations: array/apply.py, array/ndarray.py. */

/* The operand of a node: another node, or a number as one of its kind. */
static PyObject *operand_of(PyObject *x, PyObject *number)
{
    if (IS(x, Node))
        return Py_NewRef(x);
    if (!PyTuple_Check(number))
        return NULL;
    PyObject *convert = PyTuple_GET_ITEM(number, 1);
    PyObject *value = convert == Py_None ? Py_NewRef(x) : PyObject_CallOneArg(convert, x);
    if (!value)
        return NULL;
    PyObject *leaf = make_node(scalar, Py_NewRef(no_tuple), no_tuple, PyTuple_GET_ITEM(number, 0),
                               no_tuple, no_text, value, PyTuple_GET_ITEM(number, 2));
    Py_DECREF(value);
    return leaf;
}

/* What a key of recipes has of an operand. */
static PyObject *kind_of(PyObject *x)
{
    return IS(x, Node) ? NODE(x, layout) : (PyObject *)Py_TYPE(x);
}

/* The node of an elementwise op of one or two operands (b may be NULL), one at least a node, both
   on the device; NULL without an error if it is unusual. */
static PyObject *elementwise(PyObject *op, PyObject *a, PyObject *b, PyObject *device)
{
    PyObject *key =
        b ? PyTuple_Pack(3, op, kind_of(a), kind_of(b)) : PyTuple_Pack(2, op, kind_of(a));
    PyObject *found = key ? PyDict_GetItemWithError(usual, key) : NULL;
    Py_XDECREF(key);
    if (!found || !PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != 5)
        return NULL;
    Py_INCREF(found);
    PyObject *number = PyTuple_GET_ITEM(found, 4), *node = NULL, *inputs;
    PyObject *first = operand_of(a, number), *second = first && b ? operand_of(b, number) : NULL;
    if (first && (second || !b)) {
        inputs = b ? PyTuple_Pack(2, first, second) : PyTuple_Pack(1, first);
        node = make_node(op, inputs, PyTuple_GET_ITEM(found, 0), PyTuple_GET_ITEM(found, 1),
                         PyTuple_GET_ITEM(found, 2), device, Py_None, PyTuple_GET_ITEM(found, 3));
    }
    Py_XDECREF(first);
    Py_XDECREF(second);
    Py_DECREF(found);
    return node;
}

/* 1 if an object is one of Python's own integers, of 64 bits. */
static int put_integer(PyObject *object, int64_t *value)
{
    int overflow;
    if (!object || !PyLong_CheckExact(object))
        return 0;
    *value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

/* Whether operations are fused, and `keep_budget` has nothing to do; -1 after an error. */
static int has_room(PyObject *device)
{
    PyObject *now, *book = PyDict_GetItemWithError(logs, device);
    if (!book || PyContextVar_Get(settings, NULL, &now) < 0)
        return PyErr_Occurred() ? -1 : 0;
    int64_t made, recorded, bytes, nodes;
    int room = now && SLOT(now, Settings, fuse) == Py_True &&
               put_integer(SLOT(book, Log, made), &made) &&
               put_integer(SLOT(book, Log, recorded), &recorded) &&
               put_integer(SLOT(now, Settings, pending_bytes), &bytes) &&
               put_integer(SLOT(now, Settings, pending_nodes), &nodes) &&
               (made < SMALL || made < bytes >> 2) && recorded < nodes;
    Py_XDECREF(now);
    return room;
}

/* Whether an operand still has the version that was read; a finaliser may have written. */
static int is_current(PyObject *x, PyObject *node)
{
    if (!IS(x, Array))
        return 1;
    PyObject *base = NODE(node, op) == view ? PyTuple_GET_ITEM(NODE(node, inputs), 0) : node;
    return SLOT(SLOT(x, Array, _storage), Storage, node) == base;
}

/* Record an elementwise op with the recording lock held. */
static PyObject *recorded_locked(PyObject *op, PyObject *x, PyObject *y)
{
    PyObject *a = NULL, *b = NULL, *node = NULL, *handle = NULL, *device = NULL;
    if (IS(x, Array)) {
        if (!(a = node_now(x, NULL)))
            return NULL;
        device = Py_NewRef(NODE(a, device));
    }
    if (y && IS(y, Array)) {
        if (!(b = node_now(y, device)))
            goto done;
        if (!device)
            device = Py_NewRef(NODE(b, device));
    }
    if (!a)
        a = Py_NewRef(x);
    if (y && !b)
        b = Py_NewRef(y);
    if (has_room(device) > 0 && (node = elementwise(op, a, b, device)) && is_current(x, a) &&
        (!y || is_current(y, b)))
        handle = make_handle(node, !PyTuple_GET_SIZE(NODE(node, shape)), 0);
done:
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(device);
    Py_XDECREF(node);
    return handle;
}

/* A number that is taken as it is by every op it is usual with. */
static int is_plain(PyObject *op, PyObject *x)
{
    if (PyFloat_CheckExact(x))
        return 1;
    return PyLong_CheckExact(x) && !PySet_Contains(careful, op);
}

/* Record an elementwise op; NULL without an error, and with nothing done, if it is unusual. */
static PyObject *recorded(PyObject *op, PyObject *x, PyObject *y)
{
    int array_x = IS(x, Array), array_y = y && IS(y, Array);
    if (!(array_x || array_y) || !(array_x || is_plain(op, x)) ||
        (y && !(array_y || is_plain(op, y))) || tracing())
        return NULL;
    if (lock_take((Lock *)recording) < 0)
        return NULL;
    return give_up_lock(recorded_locked(op, x, y));
}

static PyObject *make_call(int function, PyObject *const *args, Py_ssize_t count)
{
    PyObject *handle = NULL;
    if (function == F_binary && count == 3)
        handle = recorded(args[0], args[1], args[2]);
    else if (function == F_unary && count == 2)
        handle = recorded(args[0], args[1], NULL);
    else if (function == F_get_item && count == 2 && IS(args[0], Array))
        handle = viewed(args[0], args[1]);
    if (handle || PyErr_Occurred())
        return handle;
    return PyObject_Vectorcall(slow[function], args, count, NULL);
}

#define CALLED(name)                                                                               \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count)               \
    {                                                                                              \
        return called(F_##name, args, count);                                                      \
    }
CALLED(unary)
CALLED(binary)
CALLED(product)
CALLED(variance)

#define CALLED_BY_NAMES(name)                                                                      \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count,               \
                          PyObject *keywords)                                                      \
    {                                                                                              \
        return keywords ? PyObject_Vectorcall(slow[F_##name], args, count, keywords)               \
                        : called(F_##name, args, count);                                           \
    }
CALLED_BY_NAMES(reduction)
CALLED_BY_NAMES(mean)
