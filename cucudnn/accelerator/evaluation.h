/* Evaluations: lowering/evaluate.py. */

/* Whether an extent is zero, or no integer of Python's own. */
static int is_empty(PyObject *shape)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); i++) {
        PyObject *extent = PyTuple_GET_ITEM(shape, i);
        if (!PyLong_CheckExact(extent) || PyLong_AsSsize_t(extent) == 0)
            return 1;
    }
    return 0;
}

/* What is pending where nothing is written, nothing empty and nothing computed before; NULL
   without an error if it is otherwise. */
static PyObject *settled(PyObject *roots)
{
    PyObject *asked = PySet_New(NULL), *nodes = NULL, *result = NULL;
    if (!asked)
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(roots); i++) {
        PyObject *root = PyList_GET_ITEM(roots, i);
        if (NODE(root, data) == Py_None && NODE(root, inputs) != Py_None &&
            PySet_Add(asked, root) < 0)
            goto done;
    }
    if (!(nodes = closure(asked, -1)))
        goto done;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); i++) {
        PyObject *node = PyList_GET_ITEM(nodes, i);
        if (NODE(node, op) == update || PyLong_AsLongLong(NODE(node, needed)) != 0 ||
            is_empty(NODE(node, shape)))
            goto done;
    }
    result = PyTuple_Pack(3, no_writes, nodes, asked);
done:
    Py_DECREF(asked);
    Py_XDECREF(nodes);
    return result;
}

static PyObject *settle(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count == 3 && PyList_CheckExact(args[1])) {
        PyObject *result = settled(args[1]);
        if (result || PyErr_Occurred())
            return result;
    }
    return PyObject_Vectorcall(slow[F_settle], args, count, NULL);
}

/* Append a node to the list of its device. */
static int append_by_device(PyObject *node, PyObject *lists)
{
    PyObject *device = NODE(node, device), *list = PyDict_GetItemWithError(lists, device);
    if (list || PyErr_Occurred())
        return list ? PyList_Append(list, node) : -1;
    list = PyList_New(0);
    int code = list ? PyDict_SetItem(lists, device, list) : -1;
    if (!code)
        code = PyList_Append(list, node);
    Py_XDECREF(list);
    return code;
}

/* An evaluation begins: the first call afterwards can begin a tape. */
static int begin_evaluation(void)
{
    PyObject *done = catch_up(NULL, NULL);
    Py_XDECREF(done);
    tape.fresh = 1;
    return done ? 0 : -1;
}

static PyObject *pending_by_name(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int code = count == 1 && PyList_CheckExact(args[0]) ? 0 : -1;
    PyObject *found = code ? NULL : PyDict_New();
    for (Py_ssize_t i = 0; found && !code && i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *node = PyList_GET_ITEM(args[0], i), *inputs = NODE(node, inputs);
        if (NODE(node, op) == view) {
            code = PyTuple_CheckExact(inputs) && PyTuple_GET_SIZE(inputs) == 1 ? 0 : -1;
            node = code ? node : PyTuple_GET_ITEM(inputs, 0);
        }
        Py_INCREF(node);
        if (!code && NODE(node, data) == Py_None)
            code = append_by_device(node, found);
        Py_DECREF(node);
    }
    if (found && !code && PyDict_GET_SIZE(found))
        code = begin_evaluation();
    if (found && !code)
        return found;
    Py_XDECREF(found);
    if (PyErr_Occurred())
        return NULL;
    return PyObject_Vectorcall(slow[F_pending_by_name], args, count, NULL);
}

/* The data of the nodes in some slots, as a list. */
static PyObject *data_of(PyObject *slots, PyObject *order)
{
    Py_ssize_t count = PyTuple_GET_SIZE(slots);
    PyObject *found = PyList_New(count);
    for (Py_ssize_t i = 0; found && i < count; i++) {
        PyObject *node = PyList_GetItem(order, PyLong_AsSsize_t(PyTuple_GET_ITEM(slots, i)));
        if (node && IS(node, Node)) {
            PyList_SET_ITEM(found, i, Py_NewRef(NODE(node, data)));
            continue;
        }
        if (node)
            PyErr_SetString(PyExc_RuntimeError, "a step needs a node that was let go");
        Py_CLEAR(found);
    }
    return found;
}

/* New memory for the nodes in some slots, as a list. */
static PyObject *allocated(PyObject *slots, PyObject *device, PyObject *sizes)
{
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(slots); i++) {
        PyObject *size = PyList_GetItem(sizes, PyLong_AsSsize_t(PyTuple_GET_ITEM(slots, i)));
        PyObject *buffer = size ? PyObject_CallMethodOneArg(device, word_allocate, size) : NULL;
        if (!buffer || PyList_Append(found, buffer) < 0)
            Py_CLEAR(found);
        Py_XDECREF(buffer);
    }
    return found;
}

/* As node.store. */
static int store(PyObject *node, PyObject *data)
{
    if (NODE(node, data) == Py_None)
        Py_SETREF(NODE(node, data), Py_NewRef(data));
    Py_SETREF(NODE(node, inputs), Py_NewRef(no_tuple));
    return 0;
}

/* None, or NULL after an error. */
static PyObject *kernel_run(PyObject *step, PyObject *order, PyObject *device, PyObject *sizes)
{
    PyObject *slots = SLOT(step, KernelStep, outputs), *done = NULL;
    PyObject *read = data_of(SLOT(step, KernelStep, arguments), order);
    PyObject *numbers = read ? data_of(SLOT(step, KernelStep, scalars), order) : NULL;
    PyObject *made = numbers ? allocated(slots, device, sizes) : NULL;
    if (made)
        done = launched(SLOT(step, KernelStep, call), read, made, numbers);
    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(slots); i++) {
        PyObject *node = PyList_GetItem(order, PyLong_AsSsize_t(PyTuple_GET_ITEM(slots, i)));
        if (node) {
            Py_INCREF(node);
            store(node, PyList_GET_ITEM(made, i));
            Py_DECREF(node);
        } else
            Py_CLEAR(done);
    }
    Py_XDECREF(read);
    Py_XDECREF(numbers);
    Py_XDECREF(made);
    return done;
}

static PyObject *run_kernel(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count == 4 && IS(args[0], KernelStep))
        return kernel_run(args[0], args[1], args[2], args[3]);
    return PyObject_Vectorcall(slow[F_run_kernel], args, count, NULL);
}

/* The only step of a plan, if that launches a kernel that writes to new memory; borrowed. */
static PyObject *only_kernel(PyObject *plan)
{
    PyObject *schedule = SLOT(plan, Plan, schedule);
    if (!PyList_CheckExact(schedule) || PyList_GET_SIZE(schedule) != 1)
        return NULL;
    PyObject *pair = PyList_GET_ITEM(schedule, 0);
    PyObject *step = PyTuple_CheckExact(pair) ? PyTuple_GET_ITEM(pair, 0) : NULL;
    if (!step || !IS(step, KernelStep) || PyLong_AsLong(SLOT(step, KernelStep, base)) >= 0)
        return NULL;
    return step;
}

/* Count a launch of a step, and what was computed in it. */
static int count_launch(PyObject *step, PyObject *book, PyObject *plan)
{
    Py_ssize_t made = PyLong_AsSsize_t(SLOT(plan, Plan, made));
    Py_ssize_t nodes = PyTuple_GET_SIZE(SLOT(step, KernelStep, nodes));
    return add_to(statistics, &Statistics, Statistics_operations, nodes) < 0 ||
                   add_to(book, &Log, Log_made, made) < 0
               ? -1
               : 0;
}

/* Nodes that were computed and not stored were needed once more. */
static int count_needed(PyObject *slots, PyObject *order)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(slots); i++) {
        PyObject *node = PyList_GetItem(order, PyLong_AsSsize_t(PyTuple_GET_ITEM(slots, i)));
        if (!node || add_to(node, &Node, Node_needed, 1) < 0)
            return -1;
    }
    return 0;
}

/* The plan of a signature, if it has one kernel alone and was made for the same places; NULL,
   most often without an error, if not. */
static PyObject *usual_plan(PyObject *cache, PyObject *signed_graph)
{
    PyObject *key = PyTuple_GET_ITEM(signed_graph, 0);
    PyObject *plan = PyObject_CallMethodOneArg(cache, word_get, key);
    if (!plan)
        return NULL;
    int usual_one = IS(plan, Plan) && only_kernel(plan);
    if (usual_one) {
        PyObject *shifts = PyTuple_GET_ITEM(signed_graph, 3);
        usual_one = PyObject_RichCompareBool(shifts, SLOT(plan, Plan, shifts), Py_EQ);
    }
    if (usual_one <= 0)
        Py_CLEAR(plan);
    return plan;
}

/* 1 if all was computed, 0 if it is for Python, -1 after an error. */
static int ran(PyObject *device, PyObject *roots, PyObject *book, PyObject *cache)
{
    PyObject *all = settled(roots), *graph = NULL, *plan = NULL, *done = NULL;
    int code = all ? 0 : PyErr_Occurred() ? -1 : 0;
    if (!all)
        return code;
    PyObject *nodes = PyTuple_GET_ITEM(all, 1);
    if (!PyList_GET_SIZE(nodes)) {
        Py_DECREF(all);
        return 1;
    }
    if (!is_special(nodes) && (graph = signed_(nodes, PyTuple_GET_ITEM(all, 2))))
        plan = usual_plan(cache, graph);
    if (plan)
        done = PyObject_CallMethodOneArg(device, word_prepare, SLOT(plan, Plan, calls));
    if (done && SLOT(book, Log, nested) == Py_False) {
        PyObject *step = only_kernel(plan), *order = PyTuple_GET_ITEM(graph, 1);
        code = add_to(statistics, &Statistics, Statistics_launches, 1);
        Py_SETREF(done, code < 0 ? NULL : kernel_run(step, order, device, SLOT(plan, Plan, sizes)));
        if (done)
            code = count_needed(SLOT(step, KernelStep, inside), order) < 0 ||
                           count_launch(step, book, plan) < 0
                       ? -1
                       : 1;
    }
    if (PyErr_Occurred())
        code = -1;
    Py_XDECREF(done);
    Py_XDECREF(plan);
    Py_XDECREF(graph);
    Py_DECREF(all);
    return code;
}

static PyObject *run_usual(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 4 || !PyList_CheckExact(args[1]) || !IS(args[2], Log) || args[3] == Py_None)
        return PyObject_Vectorcall(slow[F_run_usual], args, count, NULL);
    PyObject *book = args[2];
    Py_SETREF(SLOT(book, Log, evaluated), Py_NewRef(SLOT(book, Log, recorded)));
    if (add_to(book, &Log, Log_running, 1) < 0)
        return NULL;
    Py_SETREF(SLOT(book, Log, nested), Py_NewRef(Py_False));
    int code = ran(args[0], args[1], book, args[3]);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    add_to(book, &Log, Log_running, -1);
    Py_SETREF(SLOT(book, Log, nested), Py_NewRef(Py_True));
    if (code < 0 && PyErr_GivenExceptionMatches(type, PyExc_Exception)) {
        /* Python meets the error again, and says where what failed was recorded */
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        Py_RETURN_FALSE;
    }
    PyErr_Restore(type, value, traceback);
    return code < 0 ? NULL : Py_NewRef(code ? Py_True : Py_False);
}
