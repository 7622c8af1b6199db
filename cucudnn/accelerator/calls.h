/* Calls that are repeated: array/recordings.py, lowering/replay.py. */

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

/* Put what pairs of slot and number say into memory. */
static int put_pairs(PyObject *memory, PyObject *pairs, PyObject *const *objects, int are_nodes)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); i++) {
        PyObject *pair = PyList_GET_ITEM(pairs, i);
        PyObject *object = objects[PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 1))];
        if (are_nodes)
            object = NODE(object, data);
        if (object == Py_None || PyList_SetItem(memory, PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0)),
                                                Py_NewRef(object)) < 0)
            return -1;
    }
    return 0;
}

/* Put the arguments into a copy of the recording's memory; NULL, perhaps without an error, if an
   argument has lost its own. */
static PyObject *filled_memory(PyObject *recording, PyObject *given)
{
    PyObject *kept = SLOT(recording, Recording, memory);
    PyObject *nodes = SLOT(given, Given, nodes), *numbers = SLOT(given, Given, numbers);
    PyObject *memory = PyList_GetSlice(kept, 0, PyList_GET_SIZE(kept));
    if (memory && (put_pairs(memory, SLOT(recording, Recording, arrays),
                             PySequence_Fast_ITEMS(nodes), 1) < 0 ||
                   put_pairs(memory, SLOT(recording, Recording, numbers),
                             PySequence_Fast_ITEMS(numbers), 0) < 0))
        Py_CLEAR(memory);
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
        PyObject *node = data ? stored_as(layout, data) : NULL;
        PyObject *handle =
            node ? make_handle(node, PyTuple_GET_ITEM(output, 2) == Py_True, 0) : NULL;
        if (!handle || PyList_Append(made, handle) < 0)
            Py_CLEAR(made);
        Py_XDECREF(node);
        Py_XDECREF(handle);
    }
    return give_up_lock(made);
}

/* Whether what is returned is the first of the arrays that are made, and nothing else. */
static int is_first(PyObject *tree)
{
    return Py_TYPE(tree) == (PyTypeObject *)Place && PyTuple_GET_ITEM(tree, 0) == Py_True &&
           PyTuple_GET_ITEM(tree, 1) == zero && PyTuple_GET_ITEM(tree, 2) == Py_None;
}

/* The call again; NULL, perhaps without an error, if it is for Python. */
static PyObject *repeated(PyObject *recording, PyObject *given)
{
    PyObject *replay = SLOT(recording, Recording, replay), *context, *memory, *made;
    if (!IS(replay, Replay) || PyList_GET_SIZE(SLOT(recording, Recording, draws)) ||
        PyList_GET_SIZE(SLOT(recording, Recording, written)) || tracing())
        return NULL;
    if (!(context = entered(SLOT(replay, Replay, device))))
        return NULL;
    memory = filled_memory(recording, given);
    if (memory && replayed(replay, memory) < 0)
        Py_CLEAR(memory);
    if (left(context) < 0)
        Py_CLEAR(memory);
    made = memory ? handles_on(SLOT(recording, Recording, outputs), memory) : NULL;
    Py_XDECREF(memory);
    if (!made)
        return NULL;
    PyObject *const args[] = {SLOT(recording, Recording, tree), SLOT(given, Given, arrays), made};
    PyObject *result = is_first(args[0]) ? Py_NewRef(PyList_GET_ITEM(made, 0))
                                         : PyObject_Vectorcall(filled, args, 3, NULL);
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

/* The recording of a call with such arguments, if it depends on nothing but constants that are what
   they were. NULL, perhaps with an error, if Python has to look. */
static PyObject *recording_for(PyObject *recorded, PyObject *given)
{
    PyObject *now, *recordings = SLOT(recorded, Recorded, recordings);
    PyObject *list = PyDict_GetItemWithError(recordings, SLOT(given, Given, key));
    if (!list || PyList_GET_SIZE(list) != 1 || PyContextVar_Get(settings, NULL, &now) < 0)
        return NULL;
    /* held: checks are Python, and another thread may forget it meanwhile */
    PyObject *found = Py_NewRef(PyList_GET_ITEM(list, 0)), *guards = SLOT(found, Recording, guards);
    int fits = now && SLOT(found, Recording, settings) == now &&
               SLOT(now, Settings, fuse) == Py_True && IS(guards, Guards) &&
               !PyList_GET_SIZE(SLOT(guards, Guards, arrays)) &&
               is_of_now(SLOT(found, Recording, replay));
    Py_XDECREF(now);
    if (!fits || all_hold(guards) <= 0)
        Py_CLEAR(found);
    return found;
}

#define MOST_ARGUMENTS 16

/* What arguments are, without an object for it. */
typedef struct {
    PyObject *nodes[MOST_ARGUMENTS], *storages[MOST_ARGUMENTS], *numbers[MOST_ARGUMENTS];
    Py_ssize_t arrays, floats;
} Arguments;

/* Whether an array is as the next five items of a key say. */
static int is_array_of(PyObject *x, PyObject *const *key, Arguments *arguments)
{
    PyObject *node = stored_node(x), *storage = SLOT(x, Array, _storage);
    Py_ssize_t first = 0;
    int64_t address;
    if (!node || SLOT(x, Array, _geometry) != Py_None)
        return 0;
    while (first < arguments->arrays && arguments->storages[first] != storage)
        first++;
    arguments->nodes[arguments->arrays] = node;
    arguments->storages[arguments->arrays++] = storage;
    return NODE(node, layout) == key[0] && NODE(node, device) == key[1] &&
           SLOT(x, Array, _scalar) == key[2] && put_address(NODE(node, data), 0, &address) == 0 &&
           (address & 15) == PyLong_AsLong(key[3]) && first == PyLong_AsSsize_t(key[4]);
}

/* Whether arguments are those of a key, as `given` makes it. */
static int are_arguments_of(PyObject *args, PyObject *key, Arguments *arguments)
{
    Py_ssize_t at = 0, length = PyTuple_GET_SIZE(key);
    arguments->arrays = arguments->floats = 0;
    if (PyTuple_GET_SIZE(args) > MOST_ARGUMENTS)
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        PyObject *x = PyTuple_GET_ITEM(args, i), *const *items = &PyTuple_GET_ITEM(key, at);
        if (IS(x, Array)) {
            if (at + 5 > length || !is_array_of(x, items, arguments))
                return 0;
            at += 5;
        } else {
            if (!PyFloat_CheckExact(x) || at == length || items[0] != Parameter)
                return 0;
            arguments->numbers[arguments->floats++] = x;
            at++;
        }
    }
    return at == length;
}

/* Key, recording and `free` of the last call, if this one is to be repeated from it. */
static PyObject *last_for(PyObject *recorded, PyObject *args, Arguments *arguments)
{
    PyObject *last = SLOT(recorded, Recorded, last), *now;
    if (!last || last == Py_None || PyTuple_GET_ITEM(last, 2) != SLOT(recorded, Recorded, free) ||
        !are_arguments_of(args, PyTuple_GET_ITEM(last, 0), arguments) ||
        PyContextVar_Get(settings, NULL, &now) < 0)
        return NULL;
    Py_INCREF(last); /* checks are Python, and another thread may put another one there meanwhile */
    PyObject *found = PyTuple_GET_ITEM(last, 1);
    int fits = SLOT(found, Recording, settings) == now &&
               is_of_now(SLOT(found, Recording, replay)) &&
               all_hold(SLOT(found, Recording, guards)) > 0;
    Py_XDECREF(now);
    if (!fits)
        Py_CLEAR(last);
    return last;
}

/* The same call as the last one, with other arrays and numbers. */
static PyObject *repeated_directly(PyObject *recorded, PyObject *args)
{
    Arguments arguments;
    PyObject *last = last_for(recorded, args, &arguments), *context = NULL, *memory = NULL;
    PyObject *found = last ? PyTuple_GET_ITEM(last, 1) : NULL, *made = NULL, *result = NULL;
    if (found)
        context = entered(SLOT(SLOT(found, Recording, replay), Replay, device));
    if (context) {
        PyObject *kept = SLOT(found, Recording, memory);
        memory = PyList_GetSlice(kept, 0, PyList_GET_SIZE(kept));
        /* others may have written to them while this thread waited, or a finaliser just now */
        if (memory &&
            (!are_arguments_of(args, PyTuple_GET_ITEM(last, 0), &arguments) ||
             put_pairs(memory, SLOT(found, Recording, arrays), arguments.nodes, 1) < 0 ||
             put_pairs(memory, SLOT(found, Recording, numbers), arguments.numbers, 0) < 0 ||
             replayed(SLOT(found, Recording, replay), memory) < 0))
            Py_CLEAR(memory);
        if (left(context) < 0)
            Py_CLEAR(memory);
    }
    if (memory)
        made = handles_on(SLOT(found, Recording, outputs), memory);
    if (made)
        result = Py_NewRef(PyList_GET_ITEM(made, 0));
    Py_XDECREF(made);
    Py_XDECREF(memory);
    Py_XDECREF(last);
    return result;
}

/* Whether a recording can be repeated without more ado. */
static int is_direct(PyObject *found)
{
    return is_first(SLOT(found, Recording, tree)) &&
           !PyList_GET_SIZE(SLOT(found, Recording, draws)) &&
           !PyList_GET_SIZE(SLOT(found, Recording, written)) &&
           IS(SLOT(found, Recording, replay), Replay);
}

/* A call by its key. */
static PyObject *repeated_by_key(PyObject *recorded, PyObject *args)
{
    PyObject *given = given_of(args, SLOT(recorded, Recorded, free)), *result = NULL;
    PyObject *found = given ? recording_for(recorded, given) : NULL;
    if (found)
        result = repeated(found, given);
    if (result && is_direct(found)) {
        PyObject *last =
            PyTuple_Pack(3, SLOT(given, Given, key), found, SLOT(recorded, Recorded, free));
        if (last)
            Py_XSETREF(SLOT(recorded, Recorded, last), last);
        else
            Py_CLEAR(result);
    }
    Py_XDECREF(found);
    Py_XDECREF(given);
    return result;
}

static PyObject *call_recorded(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *result = NULL, *r = args[0];
    if (count == 3 && IS(r, Recorded) && PyTuple_CheckExact(args[1]) &&
        PyDict_CheckExact(args[2]) && !PyDict_GET_SIZE(args[2]) &&
        PyAnySet_CheckExact(SLOT(r, Recorded, free)) &&
        !PyUnicode_GET_LENGTH(SLOT(r, Recorded, never)) && !tracing()) {
        result = repeated_directly(r, args[1]);
        if (!result && !PyErr_Occurred())
            result = repeated_by_key(r, args[1]);
        if (result && add_to(r, &Recorded, Recorded_repeated, 1) == 0) {
            Py_SETREF(SLOT(r, Recorded, unused), Py_NewRef(zero));
            return result;
        }
        Py_XDECREF(result);
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
            return NULL;
        PyErr_Clear(); /* Python meets the error again, and knows what to do about it */
    }
    return PyObject_Vectorcall(slow[F_call_recorded], args, count, NULL);
}
