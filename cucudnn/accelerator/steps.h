/* Steps of the tape: calls that came before, and which of them a call is. */

static void free_step(Step *step)
{
    for (int i = 0; i < step->count; i++)
        Py_XDECREF(step->operands[i].value);
    Py_XDECREF(step->code);
    Py_XDECREF(step->shape);
    Py_XDECREF(step->dtype);
    Py_XDECREF(step->spare);
    Py_XDECREF(step->endings);
    PyMem_Free(step);
    steps_count--;
}

/* Forget steps and all that came after them. Nothing may be on the tape. */
static void free_steps(Step *step)
{
    while (step) { /* children before what is beside, without recursion */
        if (step->ways) {
            Step *last = step->ways;
            while (last->other)
                last = last->other;
            last->other = step->other;
            step->other = step->ways;
            step->ways = NULL;
        }
        Step *next = step->other;
        free_step(step);
        step = next;
    }
}

/* The same plain value: of Python's own types, compared as a kernel would see it. */
static int is_same_value(PyObject *a, PyObject *b)
{
    if (a == b)
        return 1;
    if (Py_TYPE(a) != Py_TYPE(b))
        return 0;
    if (PySlice_Check(a)) {
        PySliceObject *s = (PySliceObject *)a, *t = (PySliceObject *)b;
        return is_same_value(s->start, t->start) && is_same_value(s->stop, t->stop) &&
               is_same_value(s->step, t->step);
    }
    if (PyTuple_CheckExact(a)) {
        Py_ssize_t count = PyTuple_GET_SIZE(a);
        if (count != PyTuple_GET_SIZE(b))
            return 0;
        for (Py_ssize_t i = 0; i < count; i++)
            if (!is_same_value(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
                return 0;
        return 1;
    }
    if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) {
        int code = PyObject_RichCompareBool(a, b, Py_EQ);
        if (code < 0)
            PyErr_Clear();
        return code > 0;
    }
    if (PyFloat_CheckExact(a)) {
        double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
        return !memcmp(&x, &y, sizeof x);
    }
    return 0;
}

/* Whether a value can be a constant: it never changes, and equal ones can be told. */
static int is_constant(PyObject *x)
{
    if (x == Py_None || x == Py_Ellipsis || PyBool_Check(x) || PyLong_CheckExact(x) ||
        PyUnicode_CheckExact(x) || PyFloat_CheckExact(x) || Py_TYPE(x) == (PyTypeObject *)Op)
        return 1;
    if (PySlice_Check(x)) {
        PySliceObject *s = (PySliceObject *)x;
        return is_constant(s->start) && is_constant(s->stop) && is_constant(s->step);
    }
    if (!PyTuple_CheckExact(x))
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(x); i++)
        if (!is_constant(PyTuple_GET_ITEM(x, i)))
            return 0;
    return 1;
}

/* The node whose memory a handle shows, if it has its memory and nobody else can write to it. */
static PyObject *stored_node(PyObject *x)
{
    PyObject *storage = SLOT(x, Array, _storage);
    PyObject *node = storage ? SLOT(storage, Storage, node) : NULL;
    if (!node || NODE(node, data) == Py_None || NODE(node, shared) != Py_False ||
        !SLOT(x, Array, _geometry) || !SLOT(x, Array, _scalar))
        return NULL;
    return node;
}

static int same_geometry(PyObject *a, PyObject *b)
{
    if (a == b)
        return 1;
    if (Py_TYPE(a) != (PyTypeObject *)array || Py_TYPE(b) != (PyTypeObject *)array)
        return 0;
    PyArrayObject *g = (PyArrayObject *)a, *h = (PyArrayObject *)b;
    int ndim = PyArray_NDIM(g);
    return ndim == PyArray_NDIM(h) && PyArray_DESCR(g) == PyArray_DESCR(h) &&
           PyArray_BYTES(g) == PyArray_BYTES(h) &&
           !memcmp(PyArray_DIMS(g), PyArray_DIMS(h), ndim * sizeof(npy_intp)) &&
           !memcmp(PyArray_STRIDES(g), PyArray_STRIDES(h), ndim * sizeof(npy_intp));
}

/* The first of the inputs that has the same memory; `count` if there is none. */
static int first_of(PyObject *node, int count)
{
    int i = 0;
    while (i < count && tape.inputs[i].node != node)
        i++;
    return i;
}

/* Whether an array is as a step's input was that is mentioned for the first time. */
static int is_such_input(const Operand *operand, PyObject *x)
{
    PyObject *node = stored_node(x), *as = operand->value;
    if (!node)
        return 0;
    PyObject *layout = PyTuple_GET_ITEM(as, 0);
    return (NODE(node, layout) == layout || is_same_value(NODE(node, layout), layout)) &&
           is_same_value(NODE(node, device), PyTuple_GET_ITEM(as, 1)) &&
           SLOT(x, Array, _scalar) == PyTuple_GET_ITEM(as, 2) &&
           same_geometry(SLOT(x, Array, _geometry), PyTuple_GET_ITEM(as, 3));
}

/* Whether the frame so many above the running one is at an instruction. */
static int is_at(int up, PyObject *code, int instruction)
{
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    for (; frame && up; up--) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    if (!frame)
        return 0;
    PyObject *found = (PyObject *)PyFrame_GetCode(frame);
    int same = found == code && PyFrame_GetLasti(frame) == instruction;
    Py_DECREF(found);
    Py_DECREF(frame);
    return same;
}

/* Whether a call is the one that a step is. New inputs are put behind those that are there. */
static int is_call_of(const Step *step, int function, PyObject *const *args, Py_ssize_t count)
{
    if (step->function != function || step->count != count)
        return 0;
    for (int i = 0; i < count; i++) {
        const Operand *operand = &step->operands[i];
        PyObject *x = args[i];
        switch (operand->kind) {
        case CONSTANT:
            if (!is_same_value(operand->value, x))
                return 0;
            break;
        case NUMBER:
            if (!PyFloat_CheckExact(x))
                return 0;
            break;
        case RESULT:
            if (tape.calls[operand->index].handle != x)
                return 0;
            break;
        default:
            if (!IS(x, Array))
                return 0;
            if (!operand->is_new) {
                if (tape.inputs[operand->index].handle != x)
                    return 0;
                break;
            }
            if (!is_such_input(operand, x))
                return 0;
            PyObject *node = stored_node(x);
            if (first_of(node, operand->index) != operand->same)
                return 0;
            tape.inputs[operand->index].handle = x;
            tape.inputs[operand->index].node = node;
        }
    }
    return is_at(step->frame, step->code, step->instruction);
}

/* The step of a call after the last one, which is then the first of the ways on. */
static Step *way_on(Step *from, int function, PyObject *const *args, Py_ssize_t count)
{
    for (Step **place = &from->ways; *place; place = &(*place)->other) {
        Step *step = *place;
        if (!is_call_of(step, function, args, count))
            continue;
        if (place != &from->ways) {
            *place = step->other;
            step->other = from->ways;
            from->ways = step;
        }
        return step;
    }
    return NULL;
}
