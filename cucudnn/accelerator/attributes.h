/* What others see of arrays: array/ndarray.py. A blank one is made when its storage is asked for. */

static PyObject *slot_get(PyObject *x, void *offset)
{
    if (IS_BLANK(x) && leave_tape() < 0)
        return NULL;
    PyObject *value = AT(x, (Py_ssize_t)offset);
    if (value)
        return Py_NewRef(value);
    PyErr_SetString(PyExc_AttributeError, "the array is not made yet, or has no such attribute");
    return NULL;
}

static int slot_set(PyObject *x, PyObject *value, void *offset)
{
    /* other values would be seen by the calls on the tape, which were made before */
    if ((IS_BLANK(x) || AT(x, (Py_ssize_t)offset)) && leave_tape() < 0)
        return -1;
    Py_XSETREF(AT(x, (Py_ssize_t)offset), Py_XNewRef(value));
    return 0;
}

/* The step that made a blank array; NULL for another array. */
static Step *step_of(PyObject *x)
{
    for (int i = tape.count - 1; IS_BLANK(x) && tape.mode == FOLLOWING && i >= 0; i--)
        if (tape.calls[i].handle == x)
            return tape.calls[i].step;
    return NULL;
}

/* A blank array's shape or dtype is known. */
static PyObject *described(PyObject *x, void *which)
{
    Step *step = step_of(x);
    if (step)
        return Py_NewRef(which == word_shape ? step->shape : step->dtype);
    PyObject *geometry = slot_get(x, (void *)Array.at[Array__geometry]), *result = NULL;
    PyObject *storage = geometry ? slot_get(x, (void *)Array.at[Array__storage]) : NULL;
    if (storage && geometry != Py_None)
        result = PyObject_GetAttr(geometry, which);
    else if (storage) {
        PyObject *node = SLOT(storage, Storage, node);
        result = Py_NewRef(which == word_shape ? NODE(node, shape) : NODE(node, dtype));
    }
    Py_XDECREF(geometry);
    Py_XDECREF(storage);
    return result;
}

#define PLACE_OF_SLOT(class, slot) {#slot, slot_get, slot_set, NULL, NULL},
static PyGetSetDef array_slots[] = {ARRAY_SLOTS(PLACE_OF_SLOT)};
static PyGetSetDef array_description[] = {{"shape", described, NULL, NULL, NULL},
                                          {"dtype", described, NULL, NULL, NULL}};

static int put_attribute(PyTypeObject *type, PyGetSetDef *attribute)
{
    PyObject *descriptor = PyDescr_NewGetSet(type, attribute);
    int code =
        descriptor ? PyObject_SetAttrString((PyObject *)type, attribute->name, descriptor) : -1;
    Py_XDECREF(descriptor);
    return code;
}

/* Let the attributes of arrays be seen through what knows blank ones. */
static int put_attributes(PyTypeObject *type)
{
    for (size_t i = 0; i < sizeof array_slots / sizeof *array_slots; i++) {
        array_slots[i].closure = (void *)Array.at[i];
        if (put_attribute(type, &array_slots[i]) < 0)
            return -1;
    }
    PyObject *words[] = {word_shape, word_dtype};
    for (int i = 0; i < 2; i++) {
        PyGetSetDef *attribute = &array_description[i];
        PyObject *before = PyObject_GetAttr((PyObject *)type, words[i]);
        PyObject *doc = before ? PyObject_GetAttrString(before, "__doc__") : NULL;
        Py_XDECREF(before);
        if (!doc)
            return -1;
        attribute->doc = PyUnicode_Check(doc) ? PyUnicode_AsUTF8(doc) : NULL; /* kept for ever */
        attribute->closure = words[i];
        if (put_attribute(type, attribute) < 0)
            return -1;
    }
    return 0;
}
