/* Ways that are explored: calls are made as ever, and what they were is kept as steps. */

/* What a weak reference is to, borrowed; NULL if that is gone. */
static PyObject *held_by(PyObject *reference)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *object;
    int code = PyWeakref_GetRef(reference, &object);
    if (code < 0)
        PyErr_Clear();
    if (code > 0)
        Py_DECREF(object); /* others hold it, or it would be gone */
    return code > 0 ? object : NULL;
#else
    PyObject *object = PyWeakref_GET_OBJECT(reference);
    return object == Py_None ? NULL : object;
#endif
}

/* The call of a way that is explored whose result an array is; -1 if there is none. */
static int call_of(PyObject *x)
{
    for (int i = tape.count - 1; i >= 0; i--)
        if (held_by(tape.calls[i].handle) == x)
            return i;
    return -1;
}

static int input_of(PyObject *x)
{
    for (int i = 0; i < tape.inputs_count; i++)
        if (held_by(tape.inputs[i].handle) == x)
            return i;
    return -1;
}

/* Bytes that a node's memory takes. */
static Py_ssize_t bytes_of(PyObject *node)
{
    PyObject *data = NODE(node, data);
    PyObject *nbytes = IS(data, Buffer) ? Py_XNewRef(SLOT(data, Buffer, nbytes)) : NULL;
    Py_ssize_t count = nbytes ? PyLong_AsSsize_t(nbytes) : MOST_BYTES + 1;
    Py_XDECREF(nbytes);
    if (count < 0)
        PyErr_Clear();
    return count < 0 ? MOST_BYTES + 1 : count;
}

/* What an input is, for its first mention. 0 if it can be none. */
static int see_input(PyObject *x, Operand *operand)
{
    PyObject *node = stored_node(x), *geometry = SLOT(x, Array, _geometry);
    if (!node || tape.inputs_count == MOST_INPUTS)
        return 0;
    /* what shows the bytes as another dtype is read with a device's lock, which is not taken while
       recording, as calls on the tape are made */
    if (geometry != Py_None &&
        (Py_TYPE(geometry) != (PyTypeObject *)array ||
         (PyObject *)PyArray_DESCR((PyArrayObject *)geometry) != NODE(node, dtype)))
        return 0;
    int same = first_of(node, tape.inputs_count);
    if (same == tape.inputs_count && (tape.bytes += bytes_of(node)) > MOST_BYTES)
        return 0;
    size_t generation = tape.generation;
    Py_INCREF(node); /* a finaliser may write to it meanwhile, which ends the tape */
    Py_INCREF(geometry);
    PyObject *reference = PyWeakref_NewRef(x, NULL);
    operand->value = reference ? PyTuple_Pack(4, NODE(node, layout), NODE(node, device),
                                              SLOT(x, Array, _scalar), geometry)
                               : NULL;
    int fits = operand->value && generation == tape.generation;
    if (fits) {
        operand->is_new = 1;
        operand->index = tape.inputs_count;
        operand->same = same;
        tape.inputs[tape.inputs_count++] =
            (Input){reference, node, PyLong_AsLongLong(NODE(node, seq))};
    } else {
        Py_XDECREF(reference);
        PyErr_Clear();
    }
    Py_DECREF(geometry);
    Py_DECREF(node);
    return fits;
}

/* What an operand of a call that is explored is. 0 if it can be none. */
static int see_operand(int function, PyObject *x, Operand *operand)
{
    if (!IS(x, Array)) {
        if (!is_constant(x))
            return 0;
        operand->kind = function == F_binary && PyFloat_CheckExact(x) ? NUMBER : CONSTANT;
        operand->value = operand->kind == CONSTANT ? Py_NewRef(x) : NULL;
        return 1;
    }
    operand->index = call_of(x);
    operand->kind = operand->index < 0 ? INPUT : RESULT;
    if (operand->kind == RESULT)
        return 1;
    operand->index = input_of(x);
    return operand->index >= 0 || see_input(x, operand);
}

/* The line of the user; how many frames above the running one it is, or -1. */
static int see_line(Step *step)
{
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    for (int up = 0; frame; up++) {
        PyObject *globals = PyFrame_GetGlobals(frame);
        int ours = is_ours(globals);
        Py_DECREF(globals);
        if (!ours) {
            step->code = (PyObject *)PyFrame_GetCode(frame);
            step->instruction = PyFrame_GetLasti(frame);
            Py_DECREF(frame);
            return up;
        }
        PyFrameObject *back = ours < 0 ? NULL : PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    PyErr_Clear();
    return -1;
}

/* Whether what a call gives depends on nothing but what its operands are: what `x[key]` gives does on
   the values of keys that are arrays. */
static int is_told_by_operands(int function, PyObject *const *args, Py_ssize_t count)
{
    return function != F_get_item || (count == 2 && is_constant(args[1]));
}

/* A step for a call after the last one; NULL if there can be none. */
static Step *see_call(int function, PyObject *const *args, Py_ssize_t count)
{
    if (count > MOST_OPERANDS || tape.count == MOST_CALLS || steps_count == MOST_STEPS ||
        !is_told_by_operands(function, args, count))
        return NULL;
    Step *step = PyMem_Calloc(1, sizeof *step);
    if (!step)
        return NULL;
    steps_count++;
    step->function = function;
    step->base = NO_VIEW;
    size_t generation = tape.generation; /* a finaliser may end the tape: then it has no inputs */
    int fits = (step->frame = see_line(step)) >= 0 && generation == tape.generation;
    for (; fits && step->count < count; step->count++)
        fits = see_operand(function, args[step->count], &step->operands[step->count]);
    if (fits)
        return step;
    free_step(step);
    return NULL;
}

/* Whether two steps are of the same call, with the same calls before. */
static int is_same_step(const Step *a, const Step *b)
{
    if (a->function != b->function || a->count != b->count || a->code != b->code ||
        a->instruction != b->instruction || a->frame != b->frame)
        return 0;
    for (int i = 0; i < a->count; i++) {
        const Operand *x = &a->operands[i], *y = &b->operands[i];
        if (x->kind != y->kind || x->is_new != y->is_new || x->same != y->same ||
            (x->kind != CONSTANT && x->kind != NUMBER && x->index != y->index))
            return 0;
        if (x->kind == CONSTANT && !is_same_value(x->value, y->value))
            return 0;
        if (!x->is_new)
            continue;
        for (int k = 0; k < 3; k++)
            if (!is_same_value(PyTuple_GET_ITEM(x->value, k), PyTuple_GET_ITEM(y->value, k)))
                return 0;
        if (!same_geometry(PyTuple_GET_ITEM(x->value, 3), PyTuple_GET_ITEM(y->value, 3)))
            return 0;
    }
    return 1;
}

/* Put a step among the ways on, in front; what was there before if it is the same. */
static Step *put_step(Step *from, Step *step)
{
    int count = 0;
    for (Step **place = &from->ways; *place; place = &(*place)->other) {
        if (is_same_step(*place, step)) {
            Step *found = *place;
            *place = found->other;
            found->other = from->ways;
            from->ways = found;
            free_step(step);
            return found;
        }
        if (++count == (from == tape.root
                            ? MOST_BEGINNINGS
                            : MOST_WAYS)) { /* the one that was come by least lately */
            Step *old = *place;
            *place = NULL;
            steps_generation++;
            free_steps(old);
            break;
        }
    }
    step->other = from->ways;
    return from->ways = step;
}

/* The node that a binary operation has made of a float, the operand of some place behind the
   operation; NULL if that is no operand of what it made. */
static PyObject *node_of_number(PyObject *made, int place)
{
    PyObject *storage = SLOT(made, Array, _storage);
    PyObject *node = storage ? SLOT(storage, Storage, node) : NULL;
    PyObject *inputs = node ? NODE(node, inputs) : NULL;
    if (!inputs || !PyTuple_CheckExact(inputs) || PyTuple_GET_SIZE(inputs) != 2)
        return NULL;
    PyObject *found = PyTuple_GET_ITEM(inputs, place - 1);
    return NODE(found, op) == scalar && PyFloat_CheckExact(NODE(found, data)) ? found : NULL;
}

/* The node that a call has made of its float, if that is one of its operands as it was given: then
   another float can stand there. Else the float is a constant. */
static PyObject *see_number(Step *step, PyObject *const *args, PyObject *made)
{
    PyObject *node = SLOT(SLOT(made, Array, _storage), Storage, node);
    for (int i = 1; i < step->count; i++) { /* operands come after the operation */
        Operand *operand = &step->operands[i];
        if (operand->kind != NUMBER)
            continue;
        PyObject *found = NODE(node, op) == args[0] ? node_of_number(made, i) : NULL;
        if (found && is_same_value(NODE(found, data), args[i]))
            return found;
        operand->kind = CONSTANT;
        operand->value = Py_NewRef(args[i]);
    }
    return NULL;
}

/* What the tape has of each input and call while a way is explored: a weak reference to the handle,
   and for a call the node made of its float. As a list, with None where there is nothing; NULL if
   that cannot be told. */
static PyObject *seen_on_tape(void)
{
    PyObject *seen = PyList_New(0);
    for (int i = 0; seen && i < tape.inputs_count + tape.count; i++) {
        Call *call = i < tape.inputs_count ? NULL : &tape.calls[i - tape.inputs_count];
        PyObject *handle = call ? call->handle : tape.inputs[i].handle, *number = NULL;
        for (int k = 1; call && k < call->step->count; k++)
            if (call->step->operands[k].kind == NUMBER)
                number = node_of_number(handle, k);
        int fits = !call || !call->number == !number;
        Py_XINCREF(number);
        Py_INCREF(handle);
        PyObject *reference = fits ? PyWeakref_NewRef(handle, NULL) : NULL;
        if (!reference || PyList_Append(seen, reference) < 0 ||
            PyList_Append(seen, number ? number : Py_None) < 0)
            Py_CLEAR(seen);
        Py_XDECREF(reference);
        Py_XDECREF(number);
        Py_DECREF(handle);
    }
    PyErr_Clear();
    return seen;
}

/* Take what was seen, and let go of nothing: the list has what the tape had before. */
static void swap_on_tape(PyObject *seen)
{
    for (int i = 0; i < tape.inputs_count + tape.count; i++) {
        Input *input = i < tape.inputs_count ? &tape.inputs[i] : NULL;
        Call *call = input ? NULL : &tape.calls[i - tape.inputs_count];
        PyObject **handle = input ? &input->handle : &call->handle, *before = *handle;
        if (input)
            input->seq = PyLong_AsLongLong(NODE(input->node, seq));
        *handle = PyList_GET_ITEM(seen, 2 * i);
        PyList_SET_ITEM(seen, 2 * i, before);
        PyObject *number = PyList_GET_ITEM(seen, 2 * i + 1);
        if (call && call->number) {
            PyList_SET_ITEM(seen, 2 * i + 1, call->number);
            call->number = number;
        }
    }
}

/* Explore from the last call on, all being made: as if they had been explored. */
static void see_ways_on(void)
{
    size_t generation = tape.generation;
    tape.off++; /* the collector, and letting go of objects, can run anything and end the tape */
    PyObject *seen = seen_on_tape();
    if (generation == tape.generation) {
        if (seen) {
            swap_on_tape(seen);
            tape.mode = EXPLORING;
            tape.generation++;
        } else
            end_tape();
    }
    Py_XDECREF(seen);
    tape.off--;
}

/* What is known of an array that a call has made. 0 if it cannot be made in another way. */
static int see_result(Step *step, PyObject *const *args, PyObject *made, PyObject **number)
{
    PyObject *storage = SLOT(made, Array, _storage), *geometry = SLOT(made, Array, _geometry);
    PyObject *node = storage ? SLOT(storage, Storage, node) : NULL;
    if (!node || !geometry || Py_REFCNT(made) != 1)
        return 0;
    for (int i = 0; i < step->count; i++)
        if (IS(args[i], Array) && SLOT(args[i], Array, _storage) == storage) {
            const Operand *operand = &step->operands[i];
            step->base = operand->kind == RESULT ? operand->index : INPUTS_VIEW;
        }
    if (step->base == NO_VIEW && (NODE(node, data) != Py_None || geometry != Py_None))
        return 0;
    *number = Py_XNewRef(see_number(step, args, made));
    step->shape =
        geometry == Py_None ? Py_NewRef(NODE(node, shape)) : PyObject_GetAttr(geometry, word_shape);
    step->dtype =
        geometry == Py_None ? Py_NewRef(NODE(node, dtype)) : PyObject_GetAttr(geometry, word_dtype);
    return step->shape && step->dtype;
}

/* Whether a way that begins here is to be explored, of which no step is known. */
static int is_worth_exploring(void)
{
    Step here = {0};
    if (see_line(&here) < 0)
        return 0;
    size_t place = ((uintptr_t)here.code >> 4) * 31 + (unsigned)here.instruction;
    struct Site *site = &sites[place % SITES];
    if (site->code != here.code || site->instruction != here.instruction)
        *site = (struct Site){here.code, here.instruction, 0, 2, 0};
    Py_DECREF(here.code);
    if (++site->seen < site->next)
        return 0;
    if (site->explored < 20)
        site->explored++;
    site->next = site->seen + (1u << site->explored);
    return 1;
}
