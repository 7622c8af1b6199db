/* Plans that run again: lowering/replay.py. */

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
    if (!code)
        done = launched(SLOT(step, KernelStep, call), read, made, numbers);
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

/* Whether plans were not forgotten since. */
static int is_of_now(PyObject *replay)
{
    PyObject *edition = PyDict_GetItemWithError(editions, SLOT(replay, Replay, name));
    return !PyErr_Occurred() && PyObject_RichCompareBool(edition ? edition : zero,
                                                         SLOT(replay, Replay, edition), Py_EQ) > 0;
}

/* Run a plan of one kernel that was launched before: 1 if it was run, 0 if it is for Python, perhaps
   with an error. */
static int replayed_kernel(PyObject *replay, PyObject *memory)
{
    PyObject *step = SLOT(replay, Replay, only), *plan = SLOT(replay, Replay, plan), *book;
    if (step == Py_None || !was_launched(SLOT(step, KernelStep, call)))
        return 0;
    book = PyObject_GetItem(logs, SLOT(replay, Replay, name));
    if (book)
        Py_SETREF(SLOT(book, Log, evaluated), Py_NewRef(SLOT(book, Log, recorded)));
    PyObject *done =
        book ? kernel_again(step, memory, SLOT(replay, Replay, device), SLOT(plan, Plan, sizes))
             : NULL;
    int code = done && add_to(statistics, &Statistics, Statistics_launches, 1) == 0 &&
               count_launch(step, book, plan) == 0;
    Py_XDECREF(done);
    Py_XDECREF(book);
    return code;
}

/* Run a plan with the device's lock held; -1 after an error. */
static int replayed(PyObject *replay, PyObject *memory)
{
    if (replayed_kernel(replay, memory))
        return 0;
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Clear(); /* Python meets the error again */
    PyObject *const args[] = {replay, memory};
    PyObject *done = PyObject_Vectorcall(slow[F_run_replay], args, 2, NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static PyObject *run_replay(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !IS(args[0], Replay) || !PyList_CheckExact(args[1]))
        return PyObject_Vectorcall(slow[F_run_replay], args, count, NULL);
    return replayed(args[0], args[1]) < 0 ? NULL : Py_NewRef(Py_None);
}

/* A context in which a device's lock is held and it is its library's current one. */
static PyObject *entered(PyObject *device)
{
    PyObject *context = PyObject_CallMethodNoArgs(device, word_locked), *done = NULL;
    if (context && Py_TYPE(context) == &Lock_type)
        done = lock_take((Lock *)context) < 0 ? NULL : Py_NewRef(Py_None);
    else if (context)
        done = PyObject_CallMethodNoArgs(context, word___enter__);
    if (!done)
        Py_CLEAR(context);
    Py_XDECREF(done);
    return context;
}

/* Leave it; -1 if that failed, and takes an error's place. */
static int left(PyObject *context)
{
    int code = 0;
    if (Py_TYPE(context) == &Lock_type)
        give_up(context);
    else
        code = leave_context(context);
    Py_DECREF(context);
    return code;
}
