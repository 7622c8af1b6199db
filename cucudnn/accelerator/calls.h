/* Calls that are repeated: array/recordings.py, lowering/replay.py. */

/* What a list of memory has in some slots. */
static PyObject *items_of(PyObject *slots, PyObject *memory)
{
    Py_ssize_t count = PyTuple_GET_SIZE(slots);
    PyObject *found = PyList_New(count);
    for (Py_ssize_t i = 0; found && i < count; i++) {
        PyObject *item = PyList_GetItem(memory, PyLong_AsSsize_t(PyTuple_GET_ITEM(slots, i)));
        if (item)
            PyList_SET_ITEM(found, i, Py_NewRef(item));
        else
            Py_CLEAR(found);
    }
    return found;
}

/* None, or NULL after an error. */
static PyObject *kernel_again(PyObject *step, PyObject *memory, PyObject *device, PyObject *sizes)
{
    PyObject *slots = SLOT(step, KernelStep, outputs);
    PyObject *read = items_of(SLOT(step, KernelStep, arguments), memory), *done = NULL;
    PyObject *numbers = read ? items_of(SLOT(step, KernelStep, scalars), memory) : NULL;
    PyObject *made = numbers ? allocated(slots, device, sizes) : NULL;
    int code = made ? 0 : -1;
    for (Py_ssize_t i = 0; !code && i < PyTuple_GET_SIZE(slots); i++)
        code = PyList_SetItem(memory, PyLong_AsSsize_t(PyTuple_GET_ITEM(slots, i)),
                              Py_NewRef(PyList_GET_ITEM(made, i)));
    if (!code) {
        PyObject *const call[] = {SLOT(step, KernelStep, call), read, made, numbers};
        done = PyObject_VectorcallMethod(word_run, call, 4, NULL);
    }
    Py_XDECREF(read);
    Py_XDECREF(numbers);
    Py_XDECREF(made);
    return done;
}

static PyObject *run_again(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count == 4 && IS(args[0], KernelStep) && PyList_CheckExact(args[1]))
        return kernel_again(args[0], args[1], args[2], args[3]);
    return PyObject_Vectorcall(slow[F_run_again], args, count, NULL);
}

/* What an argument adds to the key. */
static int give_array(PyObject *x, PyObject *result, PyObject *key)
{
    PyObject *storage = SLOT(x, Array, _storage);
    PyObject *node = storage ? SLOT(storage, Storage, node) : NULL;
    PyObject *nodes = SLOT(result, Given, nodes), *first = SLOT(result, Given, first);
    PyObject *data = node ? NODE(node, data) : Py_None;
    if (!node || SLOT(x, Array, _geometry) != Py_None || NODE(node, shared) != Py_False ||
        data == Py_None)
        return -1;
    PyObject *number = PyLong_FromSsize_t(PyList_GET_SIZE(nodes));
    PyObject *place = number ? PyDict_SetDefault(first, storage, number) : NULL;
    Py_XDECREF(number);
    int64_t address;
    return !place || put_address(data, 0, &address) < 0 ||
                   PyList_Append(key, NODE(node, layout)) < 0 ||
                   PyList_Append(key, NODE(node, device)) < 0 ||
                   PyList_Append(key, SLOT(x, Array, _scalar)) < 0 ||
                   append_number(key, address & 15) < 0 || PyList_Append(key, place) < 0 ||
                   PyList_Append(SLOT(result, Given, arrays), x) < 0 ||
                   PyList_Append(nodes, node) < 0
               ? -1
               : 0;
}

/* Arguments that are whole arrays with values, or numbers that may change; NULL if some are not. */
static PyObject *given_of(PyObject *args, PyObject *free)
{
    PyObject *key = PyList_New(0), *result = key ? PyType_GenericAlloc(Given.type, 0) : NULL;
    if (!result)
        goto failed;
    SLOT(result, Given, first) = PyDict_New();
    if (!SLOT(result, Given, first))
        goto failed;
    static const int lists[] = {Given_arrays,  Given_nodes,   Given_places,
                                Given_numbers, Given_objects, Given_containers};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!(AT(result, Given.at[lists[i]]) = PyList_New(0)))
            goto failed;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        PyObject *x = PyTuple_GET_ITEM(args, i);
        if (IS(x, Array)) {
            if (give_array(x, result, key) < 0)
                goto failed;
            continue;
        }
        PyObject *number = PyFloat_CheckExact(x) ? PyLong_FromSsize_t(i) : NULL;
        int code = !number || PySet_Contains(free, number) <= 0 ||
                   PyList_Append(SLOT(result, Given, places), number) < 0 ||
                   PyList_Append(SLOT(result, Given, numbers), x) < 0 ||
                   PyList_Append(key, Parameter) < 0;
        Py_XDECREF(number);
        if (code)
            goto failed;
    }
    if (!(SLOT(result, Given, key) = PyList_AsTuple(key)))
        goto failed;
    Py_DECREF(key);
    return result;
failed:
    Py_XDECREF(key);
    Py_XDECREF(result);
    return NULL;
}

static PyObject *given(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count == 3 && PyTuple_CheckExact(args[0]) && PyDict_CheckExact(args[1]) &&
        !PyDict_GET_SIZE(args[1]) && PyAnySet_CheckExact(args[2])) {
        PyObject *result = given_of(args[0], args[2]);
        if (result || PyErr_Occurred())
            return result;
    }
    return PyObject_Vectorcall(slow[F_given], args, count, NULL);
}

/* Put the arguments into a copy of the recording's memory; NULL without an error if an argument
   has lost its own. */
static PyObject *filled_memory(PyObject *recording, PyObject *given)
{
    PyObject *kept = SLOT(recording, Recording, memory), *arrays, *numbers;
    PyObject *memory = PyList_GetSlice(kept, 0, PyList_GET_SIZE(kept));
    arrays = SLOT(recording, Recording, arrays);
    for (Py_ssize_t i = 0; memory && i < PyList_GET_SIZE(arrays); i++) {
        PyObject *pair = PyList_GET_ITEM(arrays, i);
        PyObject *node =
            PyList_GetItem(SLOT(given, Given, nodes), PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 1)));
        PyObject *data = node ? NODE(node, data) : Py_None;
        if (data == Py_None || PyList_SetItem(memory, PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0)),
                                              Py_NewRef(data)) < 0)
            Py_CLEAR(memory);
    }
    numbers = SLOT(recording, Recording, numbers);
    for (Py_ssize_t i = 0; memory && i < PyList_GET_SIZE(numbers); i++) {
        PyObject *pair = PyList_GET_ITEM(numbers, i);
        PyObject *number = PyList_GetItem(SLOT(given, Given, numbers),
                                          PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 1)));
        if (!number || PyList_SetItem(memory, PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0)),
                                      Py_NewRef(number)) < 0)
            Py_CLEAR(memory);
    }
    return memory;
}

/* Run the only kernel with the device's lock held; the memory afterwards, or NULL. */
static PyObject *memory_after(PyObject *recording, PyObject *given, PyObject *replay)
{
    PyObject *memory = filled_memory(recording, given), *plan = SLOT(replay, Replay, plan);
    PyObject *device = SLOT(replay, Replay, device), *step = SLOT(replay, Replay, only);
    PyObject *done = NULL, *book;
    if (memory)
        done = PyObject_CallMethodOneArg(device, word_prepare, SLOT(plan, Plan, calls));
    if (done && add_to(statistics, &Statistics, Statistics_launches, 1) == 0)
        Py_SETREF(done, kernel_again(step, memory, device, SLOT(plan, Plan, sizes)));
    else
        Py_CLEAR(done);
    if (done) {
        PyObject *name = PyObject_GetAttr(device, word_name);
        book = name ? PyObject_GetItem(logs, name) : NULL;
        if (!book || count_launch(step, book, plan) < 0)
            Py_CLEAR(done);
        Py_XDECREF(name);
        Py_XDECREF(book);
    }
    if (!done)
        Py_CLEAR(memory);
    Py_XDECREF(done);
    return memory;
}

/* Handles on what was computed, as a list. */
static PyObject *handles_on(PyObject *outputs, PyObject *memory)
{
    PyObject *made = PyList_New(0);
    if (!made || lock_take((Lock *)recording) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    for (Py_ssize_t i = 0; made && i < PyList_GET_SIZE(outputs); i++) {
        PyObject *output = PyList_GET_ITEM(outputs, i), *layout = PyTuple_GET_ITEM(output, 1);
        PyObject *data = PyList_GetItem(memory, PyLong_AsSsize_t(PyTuple_GET_ITEM(output, 0)));
        PyObject *node = data ? make_node(leaf, Py_NewRef(no_tuple), NODE(layout, shape),
                                          NODE(layout, dtype), NODE(layout, strides),
                                          NODE(layout, device), data, NODE(layout, layout))
                              : NULL;
        PyObject *handle =
            node ? make_handle(node, PyTuple_GET_ITEM(output, 2) == Py_True, 0) : NULL;
        if (!handle || PyList_Append(made, handle) < 0)
            Py_CLEAR(made);
        Py_XDECREF(node);
        Py_XDECREF(handle);
    }
    return give_up_lock(made);
}

/* The call again; NULL, perhaps without an error, if it is for Python. */
static PyObject *repeated(PyObject *recording, PyObject *given)
{
    PyObject *replay = SLOT(recording, Recording, replay), *context, *done, *memory, *made;
    if (!IS(replay, Replay) || SLOT(replay, Replay, only) == Py_None ||
        PyList_GET_SIZE(SLOT(recording, Recording, draws)) ||
        PyList_GET_SIZE(SLOT(recording, Recording, written)) || tracing())
        return NULL;
    context = PyObject_CallMethodNoArgs(SLOT(replay, Replay, device), word_locked);
    done = context ? PyObject_CallMethodNoArgs(context, word___enter__) : NULL;
    if (!done) {
        Py_XDECREF(context);
        return NULL;
    }
    Py_DECREF(done);
    memory = memory_after(recording, given, replay);
    if (leave_context(context) < 0)
        Py_CLEAR(memory);
    Py_DECREF(context);
    made = memory ? handles_on(SLOT(recording, Recording, outputs), memory) : NULL;
    Py_XDECREF(memory);
    if (!made)
        return NULL;
    PyObject *const args[] = {SLOT(recording, Recording, tree), SLOT(given, Given, arrays), made};
    PyObject *result = PyObject_Vectorcall(filled, args, 3, NULL);
    Py_DECREF(made);
    return result;
}

static PyObject *repeat(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count == 2 && IS(args[0], Recording) && IS(args[1], Given)) {
        PyObject *result = repeated(args[0], args[1]);
        if (result || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)))
            return result;
        PyErr_Clear(); /* Python meets the error again, and knows what to do about it */
    }
    return PyObject_Vectorcall(slow[F_repeat], args, count, NULL);
}
