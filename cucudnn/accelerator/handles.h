/* Handles on what was recorded: array/ndarray.py. */

/* 1 while this thread tries a function, -1 after an error. */
static int tracing(void)
{
    if (PyDict_GetItemWithError(unit, word_has_traced) != Py_True)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *found = PyObject_GetAttr(state, word_tracing);
    Py_XDECREF(found);
    return found ? found == Py_True : -1;
}

static int add_to(PyObject *object, Class *class, int slot, Py_ssize_t more)
{
    Py_ssize_t number = PyLong_AsSsize_t(AT(object, class->at[slot]));
    PyObject *sum = number == -1 && PyErr_Occurred() ? NULL : PyLong_FromSsize_t(number + more);
    if (!sum)
        return -1;
    Py_SETREF(AT(object, class->at[slot]), sum);
    return 0;
}

/* Note that a storage was made. */
static int note(PyObject *book, PyObject *storage)
{
    PyObject *number = tick();
    PyObject *reference = number ? PyWeakref_NewRef(storage, NULL) : NULL;
    PyObject *entry = reference ? PyTuple_Pack(2, number, reference) : NULL;
    Py_XDECREF(number);
    Py_XDECREF(reference);
    if (!entry)
        return -1;
    PyObject *entries = SLOT(book, Log, entries); /* of this moment: pruning puts another there */
    int code = PyList_Append(entries, entry);
    Py_ssize_t count = PyList_GET_SIZE(entries);
    Py_DECREF(entry);
    if (code < 0 || add_to(book, &Log, Log_recorded, 1) < 0)
        return -1;
    if (count <= PyLong_AsSsize_t(SLOT(book, Log, prune_at)))
        return PyErr_Occurred() ? -1 : 0;
    PyObject *done = PyObject_CallMethodNoArgs(book, word_prune);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* A handle on a new storage of a node that is no view, with the recording lock held, as of a line
   of the user. */
static PyObject *handle_at(PyObject *node, int is_scalar, int traced, PyObject *line)
{
    PyObject *storage = PyType_GenericAlloc(Storage.type, 0);
    if (!storage)
        return NULL;
    PUT(storage, Storage, node, Py_NewRef(node));
    PUT(storage, Storage, version, Py_NewRef(zero));
    PUT(storage, Storage, exports, Py_NewRef(zero));
    PyObject *handle = PyType_GenericAlloc(Array.type, 0);
    if (!handle) {
        Py_DECREF(storage);
        return NULL;
    }
    PUT(handle, Array, _storage, storage);
    PUT(handle, Array, _geometry, Py_NewRef(Py_None));
    PUT(handle, Array, _offset, Py_NewRef(zero));
    PUT(handle, Array, _scalar, Py_NewRef(is_scalar ? Py_True : Py_False));
    Py_SETREF(NODE(node, line), Py_NewRef(line));
    if (!traced) {
        PyObject *book = PyObject_GetItem(logs, NODE(node, device));
        int code = book ? note(book, storage) : -1;
        Py_XDECREF(book);
        if (code < 0)
            goto failed;
    }
    return handle;
failed:
    Py_DECREF(handle);
    return NULL;
}

static PyObject *make_handle(PyObject *node, int is_scalar, int traced)
{
    PyObject *line = line_of_user();
    PyObject *handle = line ? handle_at(node, is_scalar, traced, line) : NULL;
    Py_XDECREF(line);
    return handle;
}

static PyObject *wrap(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    int usual_form = (count == 1 || count == 2) && !keywords && IS(args[0], Node);
    PyObject *marked = usual_form && count == 2 ? args[1] : Py_None;
    if (!usual_form || NODE(args[0], op) == view || (marked != Py_None && !PyBool_Check(marked)))
        return PyObject_Vectorcall(slow[F_wrap], args, count, keywords);
    int traced = tracing();
    if (traced < 0)
        return NULL;
    PyObject *node = args[0];
    int is_scalar = marked == Py_None ? !PyObject_Size(NODE(node, shape)) : marked == Py_True;
    return make_handle(node, is_scalar, traced);
}

/* Leave a context of Python's, whatever error is set: -1 after another one. */
static int leave_context(PyObject *context)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *done =
        PyObject_CallMethodObjArgs(context, word___exit__, Py_None, Py_None, Py_None, NULL);
    Py_XDECREF(done);
    if (done) {
        PyErr_Restore(type, value, traceback);
        return 0;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return -1;
}

/* Give a lock up that this thread has, whatever error is set. */
static void give_up(PyObject *lock)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    lock_give_up((Lock *)lock);
    PyErr_Restore(type, value, traceback);
}

static PyObject *give_up_lock(PyObject *result)
{
    give_up(recording);
    return result;
}
