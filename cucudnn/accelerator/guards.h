/* What a call depends on: array/guards.py. */

/* Whether the names of a function stand for what they stood for; -1 after an error. */
static int names_hold(PyObject *named)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(named); i++) {
        PyObject *entry = PyList_GET_ITEM(named, i); /* mapping, name, value */
        PyObject *mapping = PyTuple_GET_ITEM(entry, 0), *value = PyTuple_GET_ITEM(entry, 2);
        if (!PyDict_CheckExact(mapping))
            return 0;
        PyObject *found = PyDict_GetItemWithError(mapping, PyTuple_GET_ITEM(entry, 1));
        if (!found && PyErr_Occurred())
            return -1;
        if ((found ? found : missing) != value)
            return 0;
    }
    return 1;
}

static int functions_hold(PyObject *functions)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(functions); i++) {
        PyObject *entry = PyList_GET_ITEM(functions, i);
        PyFunctionObject *f = (PyFunctionObject *)PyTuple_GET_ITEM(entry, 0);
        PyObject *found[] = {f->func_code, f->func_defaults, f->func_kwdefaults};
        for (int k = 0; k < 3; k++)
            if ((found[k] ? found[k] : Py_None) != PyTuple_GET_ITEM(entry, k + 1))
                return 0;
    }
    return 1;
}

static int cells_hold(PyObject *cells)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cells); i++) {
        PyObject *entry = PyList_GET_ITEM(cells, i);
        PyObject *found = PyCell_GET(PyTuple_GET_ITEM(entry, 0));
        if ((found ? found : missing) != PyTuple_GET_ITEM(entry, 1))
            return 0;
    }
    return 1;
}

/* 1 if everything is as it was, 0 if Python has to see, -1 after an error. */
static int all_hold(PyObject *guards)
{
    int code = names_hold(SLOT(guards, Guards, _named));
    if (code > 0)
        code = functions_hold(SLOT(guards, Guards, _functions));
    if (code > 0)
        code = cells_hold(SLOT(guards, Guards, _cells));
    PyObject *checks = SLOT(guards, Guards, _checks);
    for (Py_ssize_t i = 0; code > 0 && i < PyList_GET_SIZE(checks); i++) {
        PyObject *check = Py_NewRef(PyList_GET_ITEM(checks, i));
        PyObject *result = PyObject_CallNoArgs(check);
        code = result ? result == Py_True : -1;
        Py_DECREF(check);
        Py_XDECREF(result);
    }
    return code;
}

static PyObject *hold(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int code = count == 1 && IS(args[0], Guards) ? all_hold(args[0]) : 0;
    if (code)
        return code < 0 ? NULL : Py_NewRef(Py_True);
    return PyObject_Vectorcall(slow[F_hold], args, count, NULL);
}
