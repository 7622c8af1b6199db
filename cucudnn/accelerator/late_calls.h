/* The calls on the tape, made late: then no array is blank. */

static PyObject *make_call(int function, PyObject *const *args, Py_ssize_t count);

/* Nothing is on the tape. What nobody holds of the blank arrays is used again. */
static void end_tape(void)
{
    int count = tape.count, inputs = tape.inputs_count, held = tape.mode == FOLLOWING;
    Py_ssize_t weak = Array.type->tp_weaklistoffset;
    tape.mode = IDLE;
    tape.count = tape.done = tape.inputs_count = 0;
    tape.bytes = 0;
    tape.at = NULL;
    tape.generation++;
    tape.off++; /* letting go of objects can run anything */
    for (int i = 0; i < count; i++) {
        Call call = tape.calls[i];
        Py_XDECREF(call.number);
        if (held && Py_REFCNT(call.handle) == 1 && IS_BLANK(call.handle) && !call.step->spare &&
            !AT(call.handle, weak))
            call.step->spare = call.handle;
        else
            Py_DECREF(call.handle);
    }
    for (int i = 0; i < inputs; i++)
        Py_DECREF(tape.inputs[i].handle);
    tape.off--;
}

/* Forget all steps. */
static void forget_steps(void)
{
    steps_generation++;
    for (int i = 0; i < ROOTS; i++) {
        Step *old = roots[i].step.ways;
        roots[i].step.ways = NULL;
        free_steps(old);
    }
}

/* A blank array gets what another array has. */
static void fill(PyObject *handle, PyObject *made)
{
    for (int i = Array__storage; i <= Array__base; i++)
        Py_XSETREF(AT(handle, Array.at[i]), Py_XNewRef(AT(made, Array.at[i])));
}

/* What a call on the tape was given; how many, each with a reference. */
static int operands_of(const Call *call, PyObject **args)
{
    const Step *step = call->step;
    for (int i = 0; i < step->count; i++) {
        const Operand *operand = &step->operands[i];
        args[i] = Py_NewRef(operand->kind == CONSTANT ? operand->value
                            : operand->kind == NUMBER ? call->number
                            : operand->kind == RESULT ? tape.calls[operand->index].handle
                                                      : tape.inputs[operand->index].handle);
    }
    return step->count;
}

/* Make a call on the tape, as of its line: its array is blank no more. */
static int make(int which)
{
    Call *call = &tape.calls[which];
    PyObject *handle = Py_NewRef(call->handle), *args[MOST_OPERANDS], *made = NULL;
    size_t generation = tape.generation;
    int count = 0, code = -1;
    tape.off++;
    PyObject *line = line_at(call->step->code, call->step->instruction), *before = line_now;
    if (generation != tape.generation) { /* a finaliser has made it meanwhile */
        code = 0;
    } else if (line) {
        unsigned long thread = line_thread;
        count = operands_of(call, args);
        line_now = line;
        line_thread = PyThread_get_thread_ident();
        made = make_call(call->step->function, args, count);
        line_now = before;
        line_thread = thread;
    }
    tape.off--;
    if (made && (generation != tape.generation || !IS_BLANK(handle)))
        code = 0; /* a finaliser, or another thread, has made it meanwhile */
    else if (made && IS(made, Array) && !IS_BLANK(made)) {
        fill(handle, made);
        code = 0;
    } else if (made)
        PyErr_SetString(PyExc_RuntimeError, "a call on the tape gave no array");
    for (int i = 0; i < count; i++)
        Py_DECREF(args[i]);
    Py_XDECREF(line);
    Py_XDECREF(made);
    Py_DECREF(handle);
    return code;
}

/* Whether the settings are still those of the tape. */
static int has_same_settings(void)
{
    PyObject *now;
    if (PyContextVar_Get(settings, NULL, &now) < 0) {
        PyErr_Clear();
        return 0;
    }
    Py_XDECREF(now);
    return now == tape.settings;
}

/* Make the calls on the tape, so that no array is blank. */
static int make_all(void)
{
    size_t generation = tape.generation;
    int code = 0;
    while (!code && generation == tape.generation && tape.done < tape.count) {
        int which = tape.done;
        code = make(which);
        if (!code && generation == tape.generation && tape.done == which)
            tape.done++;
    }
    return code;
}

/* The same where this thread tries a function: another thread's calls are no part of that. */
static int make_all_untraced(void)
{
    int traced = tracing();
    if (traced <= 0)
        return traced < 0 ? -1 : make_all();
    PyObject *type, *value, *traceback;
    int code = PyObject_SetAttr(state, word_tracing, Py_False) < 0 ? -1 : make_all();
    PyErr_Fetch(&type, &value, &traceback);
    int put_back = PyObject_SetAttr(state, word_tracing, Py_True);
    if (put_back == 0) {
        PyErr_Restore(type, value, traceback);
        return code;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return -1;
}

/* The same with the settings of the tape, whatever those of now are. */
static int make_all_as_set(void)
{
    if (has_same_settings())
        return make_all_untraced();
    PyObject *token = PyContextVar_Set(settings, tape.settings), *type, *value, *traceback;
    int code = token ? make_all_untraced() : -1;
    PyErr_Fetch(&type, &value, &traceback);
    if (token && PyContextVar_Reset(settings, token) < 0)
        PyErr_Clear(); /* it cannot: nobody else knows the token */
    Py_XDECREF(token);
    PyErr_Restore(type, value, traceback);
    return code;
}

static void see_ways_on(void);

/* Make the calls on the tape, and end it, or explore how it goes on. The recording lock is held
   meanwhile, so that they are made in their order, whoever makes them. */
static int make_up(int explores)
{
    if (tape.mode != FOLLOWING)
        return 0;
    if (lock_take((Lock *)recording) < 0)
        return -1;
    size_t generation = tape.generation;
    int code = tape.mode == FOLLOWING ? make_all_as_set() : 0;
    if (!code && tape.mode == FOLLOWING && generation == tape.generation) {
        unsigned missed = tape.count ? ++tape.calls[0].step->missed : 0;
        if (explores && missed && !(missed & (missed - 1)))
            see_ways_on();
        else
            end_tape();
    }
    give_up_lock(NULL);
    return code;
}

static int leave_tape(void) { return make_up(0); }

/* Something that is no call on the tape is about to happen that changes what calls find. */
static PyObject *catch_up(PyObject *module, PyObject *none)
{
    if (tape.mode == EXPLORING)
        end_tape();
    return leave_tape() < 0 ? NULL : Py_NewRef(Py_None);
}
