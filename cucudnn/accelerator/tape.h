/* The tape: calls that come as they came before are written down in place of being recorded.

   From one evaluation to the next a loop makes the same calls, on the results of one another. The
   first times each is made as ever, and what it was is kept: a step, with the steps that came after
   it. When a call comes again after the same calls, it is only written on the tape, and what it
   returns is a *blank* array: a handle without a storage. If then the same array is asked for as
   before, what was run then runs again, on the operands of now (an ending, array/endings.py), and
   nothing is recorded at all.

   Who wants to know more of a blank array, or is about to write, to evaluate or to look for what is
   pending, has the calls on the tape made before, in their order and as of their lines. So no array
   changes while there are calls on the tape.

   There is one tape, of the thread that called last. */

#define MOST_OPERANDS 5
#define MOST_CALLS 2048
#define MOST_INPUTS 64
#define MOST_BYTES (64 << 20) /* of inputs: the tape keeps them alive until it ends */
#define MOST_WAYS 8           /* on from a step */
#define MOST_BEGINNINGS 64
#define MOST_STEPS 50000
#define MOST_ENDINGS 4 /* of a step */
#define ROOTS 4
#define MOST_MISSED 6 /* tapes after one another, of which none came to an ending */
#define SITES 256     /* where tapes begin, which are remembered */

/* An operand: a constant; a float, which may change; the result of a call on the tape; an array from
   before, of which the first mention says what it is. */
enum { CONSTANT, NUMBER, RESULT, INPUT };

typedef struct {
    int kind, index;  /* of the call, or among the inputs */
    int is_new, same; /* the first mention; the first input of the same memory */
    PyObject *value;  /* the constant; of an input (layout, device, scalar or not, geometry) */
} Operand;

typedef struct Step Step;
struct Step {
    int function, count, frame; /* frames between the call and the user's line */
    Operand operands[MOST_OPERANDS];
    PyObject *code; /* of the user's line */
    int instruction;
    PyObject *shape, *dtype; /* of the result */
    int base;                /* of a view: the call that made what it shows, or INPUTS_VIEW */
    PyObject *spare;         /* a blank array that nobody holds any more */
    PyObject *endings;       /* a list, or NULL */
    unsigned missed;         /* of a first step: tapes after one another that came to no ending */
    Step *ways, *other;      /* the first that came after it; the next that came in its place */
};

enum { NO_VIEW = -1, INPUTS_VIEW = -2 };

typedef struct {
    Step *step;
    PyObject *handle; /* blank; while a way is explored, a weak reference */
    PyObject *number; /* the float; while a way is explored, the node made of it; or NULL */
} Call;

typedef struct {
    PyObject *handle; /* while a way is explored, a weak reference */
    PyObject *node;   /* whose memory it shows; not held */
    long long seq;    /* of the node, while a way is explored */
} Input;

static struct {
    enum { IDLE, FOLLOWING, EXPLORING } mode;
    unsigned long thread;
    int off;         /* calls are made as ever: the tape itself makes them, or somebody pauses */
    int fresh;       /* nothing has been called since an evaluation */
    int count, done; /* calls on the tape, and how many of them have been made */
    int inputs_count;
    size_t generation; /* goes up whenever the tape ends */
    Py_ssize_t bytes;
    Step *root, *at; /* before the first call, and the last call's */
    PyObject *settings;
    Call calls[MOST_CALLS];
    Input inputs[MOST_INPUTS];
} tape;

/* Where tapes begin. A site is explored again and again less often while nothing comes of it. */
static struct Site {
    PyObject *code; /* not held: another one at its address is explored once more or less */
    int instruction;
    unsigned seen, next, explored;
} sites[SITES];

/* Before the first call, by settings. */
static struct {
    PyObject *settings;
    Step step;
} roots[ROOTS];

static int steps_count;
static size_t steps_generation; /* goes up whenever steps are forgotten */
static PyObject *blank;         /* marks a blank array in its place of the offset */

#define IS_BLANK(x) (SLOT(x, Array, _offset) == blank && !SLOT(x, Array, _storage))

/* --- steps ----------------------------------------------------------------------------------- */

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

/* --- the tape -------------------------------------------------------------------------------- */

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

/* --- ways that are explored ------------------------------------------------------------------- */

static PyObject *held_by(PyObject *reference)
{
    PyObject *object = PyWeakref_GET_OBJECT(reference);
    return object == Py_None ? NULL : object;
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
