/* Signatures: lowering/signature.py. */

static int number_them(PyObject *nodes, PyObject *slots)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); i++) {
        PyObject *number = PyLong_FromSsize_t(i);
        int code = number ? PyDict_SetItem(slots, PyList_GET_ITEM(nodes, i), number) : -1;
        Py_XDECREF(number);
        if (code < 0)
            return -1;
    }
    return 0;
}

/* The operands, none of a node that was consumed meanwhile: a finaliser can evaluate and write. */
static PyObject *inputs_of(PyObject *node)
{
    PyObject *inputs = NODE(node, inputs);
    return PyTuple_CheckExact(inputs) ? inputs : no_tuple;
}

/* The first byte that is read of a stored memory of which only parts are; 0 for others. */
static Py_ssize_t start_of(PyObject *node, PyObject *starts)
{
    PyObject *start = PyDict_GetItemWithError(starts, node);
    return start ? PyLong_AsSsize_t(start) : 0;
}

/* Append what a node has beside its operands: of a view the distance from where reading starts. */
static int append_attrs(PyObject *parts, PyObject *node, PyObject *starts)
{
    PyObject *attrs = NODE(node, attrs), *number, *moved;
    if (NODE(node, op) != view || !PyDict_GET_SIZE(starts))
        return PyList_Append(parts, attrs);
    Py_ssize_t start = start_of(PyTuple_GET_ITEM(NODE(node, inputs), 0), starts);
    number = PyLong_FromSsize_t(PyLong_AsSsize_t(PyTuple_GET_ITEM(attrs, 0)) - start);
    moved = number ? PyTuple_Pack(1, number) : NULL;
    int code = moved ? PyList_Append(parts, moved) : -1;
    Py_XDECREF(number);
    Py_XDECREF(moved);
    return code;
}

/* What a node adds to the key. */
static int sign_node(PyObject *node, PyObject *asked, PyObject *starts, PyObject *slots,
                     PyObject *order, PyObject *parts)
{
    int wanted = PySet_Contains(asked, node);
    if (wanted < 0 || append_number(parts, wanted ? -2 : -1) < 0 ||
        PyList_Append(parts, NODE(node, op)) < 0 || PyList_Append(parts, NODE(node, layout)) < 0 ||
        append_attrs(parts, node, starts) < 0)
        return -1;
    PyObject *inputs = inputs_of(node);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(inputs); k++) {
        PyObject *child = PyTuple_GET_ITEM(inputs, k);
        PyObject *slot = PyDict_GetItemWithError(slots, child);
        if (slot) {
            if (PyList_Append(parts, slot) < 0)
                return -1;
            continue;
        }
        PyObject *number = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(PyList_GET_SIZE(order));
        int code = !number || PyDict_SetItem(slots, child, number) < 0 ||
                   PyList_Append(order, child) < 0 || PyList_Append(parts, number) < 0;
        Py_XDECREF(number);
        if (code)
            return -1;
    }
    return 0;
}

/* What a stored node or a number adds to the key. */
static int sign_leaf(PyObject *node, PyObject *starts, int absorbs, PyObject *parts)
{
    if (PyList_Append(parts, NODE(node, layout)) < 0)
        return -1;
    if (NODE(node, op) == scalar) {
        PyObject *value = absorbs ? PyObject_CallOneArg(constant, NODE(node, data)) : NULL;
        int code = !absorbs ? 0 : value ? PyList_Append(parts, value) : -1;
        Py_XDECREF(value);
        return code;
    }
    int64_t address;
    if (put_address(NODE(node, data), start_of(node, starts), &address) < 0 ||
        PyList_Append(parts, NODE(node, shared)) < 0)
        return -1;
    return append_number(parts, address & 15);
}

/* Whether something is written, or cannot be read. */
static int is_special(PyObject *nodes)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); i++) {
        PyObject *node = PyList_GET_ITEM(nodes, i), *op = NODE(node, op),
                 *inputs = NODE(node, inputs);
        if (op == update || !PyTuple_CheckExact(inputs) ||
            (op == view && (PyTuple_GET_SIZE(NODE(node, attrs)) != 1 ||
                            !PyLong_CheckExact(PyTuple_GET_ITEM(NODE(node, attrs), 0)))))
            return 1;
    }
    return 0;
}

/* Whether a library's call may do what follows it, which can depend on what a number is. */
static int is_absorbing(PyObject *nodes)
{
    PyObject *device = NODE(PyList_GET_ITEM(nodes, 0), device);
    if (PyUnicode_CompareWithASCIIString(device, "cpu") == 0)
        return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); i++) {
        int code = PySet_Contains(absorbing, NODE(PyList_GET_ITEM(nodes, i), op));
        if (code)
            return code;
    }
    return 0;
}

/* As `_starts` where nothing is written. */
static PyObject *starts_of(PyObject *nodes)
{
    PyObject *starts = PyDict_New(), *whole = PySet_New(NULL);
    int code = starts && whole ? 0 : -1;
    for (Py_ssize_t i = 0; !code && i < PyList_GET_SIZE(nodes); i++) {
        PyObject *node = PyList_GET_ITEM(nodes, i), *inputs = inputs_of(node);
        for (Py_ssize_t k = 0; !code && k < PyTuple_GET_SIZE(inputs); k++) {
            PyObject *child = PyTuple_GET_ITEM(inputs, k);
            if (NODE(child, data) == Py_None || NODE(child, op) == scalar)
                continue;
            if (NODE(node, op) != view) {
                code = PySet_Add(whole, child);
                continue;
            }
            PyObject *offset = PyTuple_GET_ITEM(NODE(node, attrs), 0);
            PyObject *start = PyDict_GetItemWithError(starts, child);
            if (!start || PyLong_AsSsize_t(offset) < PyLong_AsSsize_t(start))
                code = PyErr_Occurred() ? -1 : PyDict_SetItem(starts, child, offset);
        }
    }
    PyObject *child, *iterator = !code && PySet_GET_SIZE(whole) ? PyObject_GetIter(whole) : NULL;
    while (iterator && (child = PyIter_Next(iterator))) {
        if (PyDict_Contains(starts, child) && PyDict_DelItem(starts, child) < 0)
            code = -1;
        Py_DECREF(child);
    }
    Py_XDECREF(iterator);
    Py_XDECREF(whole);
    if (code < 0 || PyErr_Occurred())
        Py_CLEAR(starts);
    return starts;
}

/* Put the starts by slot into `shifts`, and the slots at the end of the key. */
static int append_shifts(PyObject *starts, PyObject *slots, PyObject *shifts, PyObject *parts)
{
    PyObject *node, *start;
    Py_ssize_t at = 0;
    if (!PyDict_GET_SIZE(starts))
        return 0;
    while (PyDict_Next(starts, &at, &node, &start)) {
        PyObject *slot = PyDict_GetItemWithError(slots, node);
        if (!slot && !PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, node);
        if (!slot || PyDict_SetItem(shifts, slot, start) < 0)
            return -1;
    }
    PyObject *keys = PySequence_Tuple(shifts);
    int code = keys ? PyList_Append(parts, keys) : -1;
    Py_XDECREF(keys);
    return code;
}

static PyObject *signed_(PyObject *nodes, PyObject *asked)
{
    Py_ssize_t count = PyList_GET_SIZE(nodes);
    PyObject *slots = PyDict_New(), *parts = PyList_New(0), *shifts = PyDict_New(), *result = NULL;
    PyObject *order = PyList_GetSlice(nodes, 0, count), *key = NULL, *starts = starts_of(nodes),
             *fields;
    int absorbs = is_absorbing(nodes);
    if (!slots || !parts || !shifts || !order || !starts || absorbs < 0 ||
        number_them(nodes, slots) < 0)
        goto done;
    for (Py_ssize_t i = 0; i < count; i++)
        if (sign_node(PyList_GET_ITEM(order, i), asked, starts, slots, order, parts) < 0)
            goto done;
    for (Py_ssize_t i = count; i < PyList_GET_SIZE(order); i++)
        if (sign_leaf(PyList_GET_ITEM(order, i), starts, absorbs, parts) < 0)
            goto done;
    if (append_shifts(starts, slots, shifts, parts) < 0)
        goto done;
    key = PyList_AsTuple(parts);
    fields = key ? PyTuple_Pack(4, key, order, slots, shifts) : NULL;
    fields = fields ? PyTuple_Pack(1, fields) : NULL;
    if (fields) {
        Py_DECREF(PyTuple_GET_ITEM(fields, 0)); /* the outer one has it */
        result = PyTuple_Type.tp_new((PyTypeObject *)Signature, fields, NULL);
        Py_DECREF(fields);
    }
done:
    Py_XDECREF(starts);
    Py_XDECREF(slots);
    Py_XDECREF(parts);
    Py_XDECREF(shifts);
    Py_XDECREF(order);
    Py_XDECREF(key);
    return result;
}

static PyObject *sign(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count == 3 && PyList_CheckExact(args[0]) && PyList_GET_SIZE(args[0]) &&
        PyAnySet_CheckExact(args[1]) && !is_special(args[0]))
        return signed_(args[0], args[1]);
    return PyObject_Vectorcall(slow[F_sign], args, count, NULL);
}
