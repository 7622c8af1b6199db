/* Endings of tapes: array/endings.py. */

/* The call whose memory the result of a call shows; INPUTS_VIEW if that is an input's. */
static int base_of_call(int which)
{
    while (tape.calls[which].step->base >= 0)
        which = tape.calls[which].step->base;
    return tape.calls[which].step->base == INPUTS_VIEW ? INPUTS_VIEW : which;
}

/* The calls that arrays come from, a view's operand in place of a view, in order, as a tuple; NULL,
   perhaps without an error, if one comes from none. */
static PyObject *asked_for(PyObject *const *arrays, Py_ssize_t count)
{
    PyObject *asked = PyTuple_New(count);
    for (Py_ssize_t i = 0; asked && i < count; i++) {
        int which = tape.count - 1;
        while (which >= 0 && (tape.mode == EXPLORING ? held_by(tape.calls[which].handle)
                                                     : tape.calls[which].handle) != arrays[i])
            which--;
        int base = which < 0 ? INPUTS_VIEW : base_of_call(which);
        PyObject *number = base < 0 ? NULL : PyLong_FromLong(base);
        if (number)
            PyTuple_SET_ITEM(asked, i, number);
        else
            Py_CLEAR(asked);
    }
    return asked;
}

static int is_asked(PyObject *asked, int which)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(asked); i++)
        if (PyLong_AsLong(PyTuple_GET_ITEM(asked, i)) == which)
            return 1;
    return 0;
}

/* Whether an array that is not asked for may be held: 1, or 2 if it was computed on the way, where
   it was not stored; 0 if nothing is known of it. */
static int is_kept(PyObject *kept, int which)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kept); i++) {
        PyObject *entry = PyTuple_GET_ITEM(kept, i); /* call, computed or not */
        if (PyLong_AsLong(PyTuple_GET_ITEM(entry, 0)) == which)
            return PyTuple_GET_ITEM(entry, 1) == Py_True ? 2 : 1;
    }
    return 0;
}

/* Which calls are still to be made: whose arrays somebody holds, and what these need, but for what is
   asked for. 2 where an evaluation would have computed it. 0 if something else is held than was. */
static int see_kept(PyObject *asked, PyObject *kept, char *needed)
{
    memset(needed, 0, tape.count);
    for (int i = tape.count - 1; i >= 0; i--) {
        const Step *step = tape.calls[i].step;
        int is_held = Py_REFCNT(tape.calls[i].handle) > 1;
        if (!(needed[i] || is_held))
            continue;
        if (is_asked(asked, i)) {
            needed[i] = 0;
            continue;
        }
        needed[i] = is_held && step->base == NO_VIEW ? is_kept(kept, i) : 1;
        if (!needed[i])
            return 0;
        for (int k = 0; k < step->count; k++)
            if (step->operands[k].kind == RESULT)
                needed[step->operands[k].index] = 1;
    }
    return 1;
}

/* Make the calls that are still to be made. */
static int make_kept(const char *needed)
{
    size_t generation = tape.generation;
    for (int i = 0; generation == tape.generation && i < tape.count; i++) {
        if (!needed[i] || !IS_BLANK(tape.calls[i].handle))
            continue;
        if (make(i) < 0)
            return -1;
        if (generation != tape.generation || needed[i] != 2)
            continue;
        PyObject *storage = SLOT(tape.calls[i].handle, Array, _storage);
        if (storage && add_to(SLOT(storage, Storage, node), &Node, Node_needed, 1) < 0)
            return -1;
    }
    return 0;
}

/* The memory for an ending; NULL, perhaps without an error, if it is not for this, or if a finaliser
   has ended the tape. */
static PyObject *memory_for(PyObject *ending)
{
    PyObject *kept = SLOT(ending, Ending, memory), *arrays = SLOT(ending, Ending, arrays);
    PyObject *numbers = SLOT(ending, Ending, numbers);
    size_t generation = tape.generation;
    PyObject *memory = PyList_GetSlice(kept, 0, PyList_GET_SIZE(kept));
    if (memory && generation != tape.generation)
        Py_CLEAR(memory);
    for (Py_ssize_t i = 0; memory && i < PyTuple_GET_SIZE(arrays); i++) {
        PyObject *entry = PyTuple_GET_ITEM(arrays, i); /* slot, input, last bits of the address */
        PyObject *node = tape.inputs[PyLong_AsLong(PyTuple_GET_ITEM(entry, 1))].node;
        PyObject *data = NODE(node, data);
        int64_t address;
        if (data == Py_None || put_address(data, 0, &address) < 0 ||
            (address & 15) != PyLong_AsLong(PyTuple_GET_ITEM(entry, 2)) ||
            PyList_SetItem(memory, PyLong_AsSsize_t(PyTuple_GET_ITEM(entry, 0)), Py_NewRef(data)) <
                0)
            Py_CLEAR(memory);
    }
    for (Py_ssize_t i = 0; memory && i < PyTuple_GET_SIZE(numbers); i++) {
        PyObject *entry = PyTuple_GET_ITEM(numbers, i); /* slot, call */
        PyObject *number = tape.calls[PyLong_AsLong(PyTuple_GET_ITEM(entry, 1))].number;
        if (!number || PyList_SetItem(memory, PyLong_AsSsize_t(PyTuple_GET_ITEM(entry, 0)),
                                      Py_NewRef(number)) < 0)
            Py_CLEAR(memory);
    }
    return memory;
}

/* Run what was run at an ending, with the device's lock held; the memory afterwards. */
static PyObject *memory_of(PyObject *ending)
{
    PyObject *replay = SLOT(ending, Ending, replay), *memory = NULL;
    size_t generation = tape.generation;
    if (IS(replay, Replay) && is_of_now(replay) && (memory = memory_for(ending)) &&
        (replayed(replay, memory) < 0 || generation != tape.generation))
        Py_CLEAR(memory);
    return memory;
}

/* The arrays that were asked for get what was computed. With the recording lock held. */
static int give_results(PyObject *ending, PyObject *memory)
{
    PyObject *outputs = SLOT(ending, Ending, outputs);
    size_t generation = tape.generation; /* finalisers may make the calls meanwhile */
    for (Py_ssize_t i = 0; generation == tape.generation && i < PyTuple_GET_SIZE(outputs); i++) {
        PyObject *output = PyTuple_GET_ITEM(outputs, i); /* slot, call, layout, scalar or not */
        Call *call = &tape.calls[PyLong_AsLong(PyTuple_GET_ITEM(output, 1))];
        PyObject *layout = PyTuple_GET_ITEM(output, 2);
        PyObject *data = PyList_GetItem(memory, PyLong_AsSsize_t(PyTuple_GET_ITEM(output, 0)));
        PyObject *line = line_at(call->step->code, call->step->instruction), *handle = NULL;
        PyObject *node = data && line ? stored_as(layout, data) : NULL;
        if (node)
            handle = handle_at(node, PyTuple_GET_ITEM(output, 3) == Py_True, 0, line);
        if (handle && generation == tape.generation && IS_BLANK(call->handle))
            fill(call->handle, handle);
        Py_XDECREF(line);
        Py_XDECREF(node);
        Py_XDECREF(handle);
        if (!handle)
            return -1;
    }
    return 0;
}

/* 1 if the arrays that are asked for were computed, -1 after an error. */
static int ended_by(PyObject *ending, PyObject *asked)
{
    char needed[MOST_CALLS];
    size_t generation = tape.generation;
    if (PyObject_RichCompareBool(SLOT(ending, Ending, asked), asked, Py_EQ) <= 0 ||
        !see_kept(asked, SLOT(ending, Ending, kept), needed))
        return 0;
    PyObject *context = entered(SLOT(SLOT(ending, Ending, replay), Replay, device)), *memory = NULL;
    if (context) {
        if (generation == tape.generation)
            memory = memory_of(ending);
        if (left(context) < 0)
            Py_CLEAR(memory);
    }
    int code = memory ? lock_take((Lock *)recording) : -1;
    if (!code) {
        if (generation == tape.generation)
            code = give_results(ending, memory);
        /* with the lock, as whoever leaves the tape: one line at a time is in place of the user's */
        if (!code && generation == tape.generation)
            code = make_kept(needed);
        give_up_lock(NULL);
    }
    Py_XDECREF(memory);
    return code < 0 ? (PyErr_Occurred() ? -1 : 0) : 1;
}

/* The same by any of the endings here. */
static int ended(PyObject *asked)
{
    PyObject *endings = Py_XNewRef(tape.at->endings);
    size_t generation = tape.generation;
    int code = 0;
    tape.off++;
    for (Py_ssize_t i = 0; endings && !code && i < PyList_GET_SIZE(endings); i++) {
        PyObject *ending = Py_NewRef(PyList_GET_ITEM(endings, i));
        if (generation == tape.generation)
            code = ended_by(ending, asked);
        Py_DECREF(ending);
    }
    tape.off--;
    Py_XDECREF(endings);
    return code;
}

/* Whether nothing is to be computed for an array. */
static int is_there(PyObject *x)
{
    PyObject *storage = IS(x, Array) ? SLOT(x, Array, _storage) : NULL;
    return storage && NODE(SLOT(storage, Storage, node), data) != Py_None;
}

/* Whether somebody holds a blank array: a weak reference may have given one away since it was looked
   who holds any. */
static int is_blank_held(void)
{
    for (int i = 0; i < tape.count; i++)
        if (Py_REFCNT(tape.calls[i].handle) > 1 && IS_BLANK(tape.calls[i].handle))
            return 1;
    return 0;
}

/* rerun(*arrays): whether they are there, or were computed as they were before at this point. */
static PyObject *rerun(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Py_ssize_t there = 0;
    while (there < count && is_there(args[there]))
        there++;
    if (there == count && !is_in_unit())
        Py_RETURN_TRUE;
    if (tape.mode != FOLLOWING || tape.off)
        Py_RETURN_FALSE;
    int code = 0;
    size_t generation = tape.generation;
    if (tape.thread == PyThread_get_thread_ident() && tape.count && !tape.done &&
        has_same_settings()) {
        tape.off++; /* for finalisers */
        PyObject *asked = asked_for(args, count);
        tape.off--;
        code = asked ? ended(asked) : PyErr_Occurred() ? -1 : 0;
        Py_XDECREF(asked);
    }
    if (code < 0 && !PyErr_ExceptionMatches(PyExc_Exception))
        return NULL;
    PyErr_Clear(); /* the evaluation that follows meets the error again */
    if (code > 0 && generation == tape.generation && !is_blank_held()) {
        tape.calls[0].step->missed = 0;
        end_tape();
        tape.fresh = 1;
        Py_RETURN_TRUE;
    }
    if (make_up(1) < 0)
        return NULL;
    Py_RETURN_FALSE;
}

/* Where a way that was explored has ended last. Another thread may end one before what was learned of
   this one is kept: then the ticket is another. */
static struct {
    Step *step;
    size_t generation;
    Py_ssize_t ticket;
} last;

/* explored(*arrays): the calls that they come from, the numbers of the nodes that were there before,
   for each call the node of its float or None, and its array or None if nobody holds it or it is a
   view; and a ticket. None if no way was explored. */
static PyObject *explored(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (tape.mode != EXPLORING || tape.off || tape.thread != PyThread_get_thread_ident())
        Py_RETURN_NONE;
    tape.off++; /* a finaliser may end the tape, but begins none */
    PyObject *asked = tape.count ? asked_for(args, count) : NULL, *result = NULL;
    PyObject *inputs = asked ? PyList_New(0) : NULL, *numbers = asked ? PyList_New(0) : NULL;
    PyObject *held = asked ? PyList_New(0) : NULL;
    for (int i = 0; inputs && i < tape.inputs_count; i++)
        if (append_number(inputs, tape.inputs[i].seq) < 0)
            Py_CLEAR(inputs);
    for (int i = 0; numbers && i < tape.count; i++)
        if (PyList_Append(numbers, tape.calls[i].number ? tape.calls[i].number : Py_None) < 0)
            Py_CLEAR(numbers);
    for (int i = 0; held && i < tape.count; i++) {
        PyObject *handle = held_by(tape.calls[i].handle);
        if (PyList_Append(held, handle && tape.calls[i].step->base == NO_VIEW ? handle : Py_None) <
            0)
            Py_CLEAR(held);
    }
    PyObject *ticket = PyLong_FromSsize_t(last.ticket + 1);
    if (inputs && numbers && held && ticket)
        result = PyObject_CallFunctionObjArgs(Explored, asked, inputs, numbers, held, ticket, NULL);
    Py_XDECREF(ticket);
    Py_XDECREF(held);
    Py_XDECREF(asked);
    Py_XDECREF(inputs);
    Py_XDECREF(numbers);
    last.step = tape.at;
    last.generation = steps_generation;
    last.ticket++;
    end_tape();
    tape.off--;
    return result || PyErr_Occurred() ? result : Py_NewRef(Py_None);
}

/* learned(ending, ticket): keep it at the end of the way that was explored. */
static PyObject *learned(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    /* before the step is looked at: the collector calls finalisers, and other threads run */
    PyObject *fresh = PyList_New(0);
    if (!fresh)
        return NULL;
    Step *step = last.step;
    if (count != 2 || !IS(args[0], Ending) || !step || last.generation != steps_generation ||
        PyLong_AsSsize_t(args[1]) != last.ticket) {
        Py_DECREF(fresh);
        Py_RETURN_NONE;
    }
    last.step = NULL;
    if (!step->endings)
        step->endings = Py_NewRef(fresh);
    Py_SETREF(fresh, Py_NewRef(step->endings)); /* what goes may take the step along */
    int code = PyList_Insert(fresh, 0, args[0]) < 0
                   ? -1
                   : PyList_SetSlice(fresh, MOST_ENDINGS, PY_SSIZE_T_MAX, NULL);
    Py_DECREF(fresh);
    return code < 0 ? NULL : Py_NewRef(Py_None);
}
