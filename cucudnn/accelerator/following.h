/* Ways that are followed: calls are written down in place of being made. */

/* Find the root for the settings of now: 1 if calls can be on the tape, -1 after an error. */
static int find_root(void)
{
    PyObject *now;
    if (PyContextVar_Get(settings, NULL, &now) < 0)
        return -1;
    int found = 0, fuses = now && SLOT(now, Settings, fuse) == Py_True;
    while (found < ROOTS && roots[found].settings != now)
        found++;
    for (int i = 0; found == ROOTS && i < ROOTS && roots[i].settings; i++) {
        int same = PyObject_RichCompareBool(now, roots[i].settings, Py_EQ);
        if (same < 0) {
            Py_DECREF(now);
            return -1;
        }
        if (same)
            Py_SETREF(roots[found = i].settings, Py_NewRef(now));
    }
    if (found == ROOTS) { /* in place of the oldest */
        Step *old = roots[ROOTS - 1].step.ways;
        PyObject *before = roots[ROOTS - 1].settings;
        memmove(roots + 1, roots, (ROOTS - 1) * sizeof *roots);
        roots[0].settings = Py_NewRef(now);
        memset(&roots[0].step, 0, sizeof roots[0].step);
        steps_generation++;
        free_steps(old);
        Py_XDECREF(before);
        found = 0;
    }
    tape.root = &roots[found].step;
    Py_XSETREF(tape.settings, now);
    return fuses;
}

/* Write a call on the tape that is a step's; the blank array, or NULL. */
static PyObject *write_down(Step *step, PyObject *const *args)
{
    PyObject *handle = step->spare;
    if (handle)
        step->spare = NULL;
    else {
        size_t generation = tape.generation;
        int count = tape.count;
        tape.off++; /* the collector calls finalisers */
        handle = PyType_GenericAlloc(Array.type, 0);
        tape.off--;
        if (!handle)
            return NULL;
        SLOT(handle, Array, _offset) = Py_NewRef(blank);
        if (generation != tape.generation || count != tape.count) {
            Py_DECREF(handle);
            return NULL;
        }
    }
    Call *call = &tape.calls[tape.count++];
    call->step = step;
    call->handle = Py_NewRef(handle);
    call->number = NULL;
    for (int i = 0; i < step->count; i++) {
        const Operand *operand = &step->operands[i];
        if (operand->kind == NUMBER)
            call->number = Py_NewRef(args[i]);
        else if (operand->kind == INPUT && operand->is_new) {
            Py_INCREF(args[i]);
            tape.inputs_count = operand->index + 1;
        }
    }
    tape.at = step;
    return handle;
}

/* Whether this thread is in a unit or tries a function (array/unit.py): then somebody wants to know
   what is recorded and what is read. */
static int is_in_unit(void)
{
    PyObject *names[] = {word_waiting, word_watch};
    for (int i = 0; i < 2; i++) {
        PyObject *found = PyObject_GetAttr(state, names[i]);
        Py_XDECREF(found);
        if (found != Py_None) {
            PyErr_Clear();
            return 1;
        }
    }
    int traced = tracing();
    PyErr_Clear();
    return traced != 0;
}

/* Begin a tape with a call: 1 if it follows a way, 0 if it does not. */
static int begin_tape(int function, PyObject *const *args, Py_ssize_t count)
{
    tape.fresh = 0;
    tape.off++; /* a finaliser that calls begins none */
    int begins = !is_in_unit() && find_root() > 0;
    Step *step = begins ? way_on(tape.root, function, args, count) : NULL;
    int explores = begins && !step && is_worth_exploring();
    if (explores && steps_count >= MOST_STEPS)
        forget_steps();
    tape.off--;
    if (!begins)
        return 0;
    tape.thread = PyThread_get_thread_ident();
    if (explores)
        tape.mode = EXPLORING;
    else if (step && (step->missed <= MOST_MISSED || !(step->missed & (step->missed - 1))))
        tape.mode = FOLLOWING;
    else if (step)
        step->missed++;
    tape.at = tape.root;
    return tape.mode == FOLLOWING;
}

/* The step of a call after the last one on the tape; NULL if there is none, or if a finaliser has
   ended the tape while it was looked for. */
static Step *next_step(int function, PyObject *const *args, Py_ssize_t count)
{
    size_t generation = tape.generation;
    tape.off++; /* what finalisers call comes not in between */
    Step *step = way_on(tape.at, function, args, count);
    tape.off--;
    return generation == tape.generation ? step : NULL;
}

/* The blank array that a call returns which came like this before; NULL, perhaps without an error,
   if it is to be made. */
static PyObject *on_tape(int function, PyObject *const *args, Py_ssize_t count)
{
    if (tape.mode == IDLE ? !tape.fresh : tape.mode == EXPLORING)
        return NULL;
    if (tape.off || ((Lock *)recording)->count)
        return NULL;
    if (tape.mode == IDLE) {
        if (!begin_tape(function, args, count))
            return NULL;
    } else if (tape.thread != PyThread_get_thread_ident() || !has_same_settings()) {
        leave_tape();
        return NULL;
    }
    if (tape.count < MOST_CALLS) {
        Step *step = next_step(function, args, count);
        PyObject *handle = step ? write_down(step, args) : NULL;
        if (handle)
            return handle;
    }
    if (!PyErr_Occurred())
        make_up(1);
    return NULL;
}

/* Make a call, and see what it is if a way is explored. */
static PyObject *explored_call(int function, PyObject *const *args, Py_ssize_t count)
{
    if (tape.mode != EXPLORING || tape.off || tape.thread != PyThread_get_thread_ident())
        return make_call(function, args, count);
    size_t generation = tape.generation;
    PyObject *number = NULL, *reference = NULL;
    tape.off++; /* what finalisers call is no part of the way, and no step is forgotten */
    Step *step = has_same_settings() ? see_call(function, args, count) : NULL;
    PyObject *made = make_call(function, args, count);
    int goes_on = step && made && generation == tape.generation && IS(made, Array) &&
                  see_result(step, args, made, &number);
    if (goes_on && (reference = PyWeakref_NewRef(made, NULL)) && generation == tape.generation) {
        Step *at = put_step(tape.at, step);
        step = NULL;
        if (generation == tape.generation) {
            tape.at = at;
            tape.calls[tape.count++] = (Call){at, reference, number};
            tape.off--;
            return made;
        }
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(reference);
    Py_XDECREF(number);
    if (step)
        free_step(step);
    if (generation == tape.generation)
        end_tape();
    PyErr_Restore(type, value, traceback);
    tape.off--;
    return made;
}

/* A call: written down, or made. */
static PyObject *called(int function, PyObject *const *args, Py_ssize_t count)
{
    PyObject *handle = on_tape(function, args, count);
    if (handle || PyErr_Occurred())
        return handle;
    return explored_call(function, args, count);
}
