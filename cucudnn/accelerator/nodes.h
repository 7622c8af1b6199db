/* Nodes, and what is pending of them: graph/node.py. */

/* The slot gets a reference that the caller gives up. Only for objects that nobody else has. */
#define PUT(object, class, slot, value) (SLOT(object, class, slot) = (value))

static PyObject *tick(void) { return Py_TYPE(ticks)->tp_iternext(ticks); }

/* A node without attributes; takes the reference of `inputs`. */
static PyObject *make_node(PyObject *op, PyObject *inputs, PyObject *shape, PyObject *dtype,
                           PyObject *strides, PyObject *device, PyObject *data, PyObject *layout)
{
    PyObject *node = inputs ? PyType_GenericAlloc(Node.type, 0) : NULL;
    PyObject *seq = node ? tick() : NULL;
    if (!seq) {
        Py_XDECREF(inputs);
        Py_XDECREF(node);
        return NULL;
    }
    PUT(node, Node, op, Py_NewRef(op));
    PUT(node, Node, inputs, inputs);
    PUT(node, Node, shape, Py_NewRef(shape));
    PUT(node, Node, dtype, Py_NewRef(dtype));
    PUT(node, Node, strides, Py_NewRef(strides));
    PUT(node, Node, device, Py_NewRef(device));
    PUT(node, Node, attrs, Py_NewRef(no_tuple));
    PUT(node, Node, data, Py_NewRef(data));
    PUT(node, Node, line, Py_NewRef(Py_None));
    PUT(node, Node, layout, Py_NewRef(layout));
    PUT(node, Node, seq, seq);
    PUT(node, Node, needed, Py_NewRef(zero));
    PUT(node, Node, shared, Py_NewRef(Py_False));
    PUT(node, Node, lent, Py_NewRef(Py_None));
    return node;
}

/* Memory as a node, laid out as another. */
static PyObject *stored_as(PyObject *layout, PyObject *data)
{
    return make_node(leaf, Py_NewRef(no_tuple), NODE(layout, shape), NODE(layout, dtype),
                     NODE(layout, strides), NODE(layout, device), data, NODE(layout, layout));
}

static PyObject *new_node(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 8)
        return PyObject_Vectorcall(slow[F_new_node], args, count, NULL);
    return make_node(args[0], Py_NewRef(args[1]), args[2], args[3], args[4], args[5], args[6],
                     args[7]);
}

typedef struct {
    long long seq;
    PyObject *node;
} Numbered;

static int by_number(const void *a, const void *b)
{
    long long x = ((const Numbered *)a)->seq, y = ((const Numbered *)b)->seq;
    return (x > y) - (x < y);
}

static int in_record_order(PyObject *nodes)
{
    Py_ssize_t count = PyList_GET_SIZE(nodes);
    Numbered few[64], *all = count <= 64 ? few : PyMem_New(Numbered, count);
    if (!all) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        all[i].node = PyList_GET_ITEM(nodes, i);
        all[i].seq = PyLong_AsLongLong(NODE(all[i].node, seq));
    }
    qsort(all, count, sizeof *all, by_number);
    for (Py_ssize_t i = 0; i < count; i++)
        PyList_SET_ITEM(nodes, i, all[i].node); /* the same references in another order */
    if (all != few)
        PyMem_Free(all);
    return 0;
}

/* 1 if it was added, 0 if it need not be or was there. */
static int add_pending(PyObject *node, long long since, PyObject *seen, PyObject *found)
{
    if (NODE(node, data) != Py_None)
        return 0;
    if (since >= 0 && PyLong_AsLongLong(NODE(node, seq)) <= since)
        return 0;
    Py_ssize_t before = PySet_GET_SIZE(seen);
    if (PySet_Add(seen, node) < 0)
        return -1;
    return PySet_GET_SIZE(seen) == before ? 0 : PyList_Append(found, node);
}

/* The closure; NULL without an error if it is unusual. */
static PyObject *closure(PyObject *roots, long long since)
{
    PyObject *seen = PySet_New(NULL), *found = PyList_New(0), *iterator, *root;
    if (!seen || !found || !(iterator = PyObject_GetIter(roots)))
        goto failed;
    while ((root = PyIter_Next(iterator))) {
        int code = IS(root, Node) ? add_pending(root, -1, seen, found) : -1;
        Py_DECREF(root);
        if (code < 0) {
            Py_DECREF(iterator);
            goto failed;
        }
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred())
        goto failed;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(found); i++) {
        PyObject *inputs = NODE(PyList_GET_ITEM(found, i), inputs);
        if (!PyTuple_CheckExact(inputs)) /* consumed, or unreadable */
            goto failed;
        Py_INCREF(inputs);
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(inputs); k++)
            if (add_pending(PyTuple_GET_ITEM(inputs, k), since, seen, found) < 0) {
                Py_DECREF(inputs);
                goto failed;
            }
        Py_DECREF(inputs);
    }
    if (in_record_order(found) < 0)
        goto failed;
    Py_DECREF(seen);
    return found;
failed:
    Py_XDECREF(seen);
    Py_XDECREF(found);
    return NULL;
}

static PyObject *pending_closure(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                 PyObject *keywords)
{
    /* an iterator can be gone through once */
    if (count == 1 && !keywords && (PyList_CheckExact(args[0]) || PyAnySet_CheckExact(args[0]))) {
        PyObject *found = closure(args[0], -1);
        if (found || PyErr_Occurred())
            return found;
    }
    return PyObject_Vectorcall(slow[F_pending_closure], args, count, keywords);
}
