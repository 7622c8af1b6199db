/* The user's line: array/caller.py. */

#define MODULES 64 /* names of modules that are remembered */

static struct {
    PyObject *name; /* held, so that no other object gets its address */
    int is_ours;
} modules[MODULES];

/* Whether a module is this package's, by its globals; -1 after an error. */
static int is_ours(PyObject *globals)
{
    PyObject *name = PyDict_GetItemWithError(globals, word___name__);
    if (!name)
        return PyErr_Occurred() ? -1 : 0;
    size_t place = ((uintptr_t)name >> 4) % MODULES;
    if (modules[place].name == name)
        return modules[place].is_ours;
    if (!PyUnicode_CheckExact(name))
        return 0;
    Py_ssize_t size = PyUnicode_GET_LENGTH(package), length = PyUnicode_GET_LENGTH(name);
    int begins = (int)PyUnicode_Tailmatch(name, package, 0, length, -1);
    if (begins < 0)
        return -1;
    int ours = begins && (length == size || PyUnicode_READ_CHAR(name, size) == '.');
    Py_XSETREF(modules[place].name, Py_NewRef(name));
    modules[place].is_ours = ours;
    return ours;
}

/* In place of the line of the user, in a thread: of a call that is made later than it was called. */
static PyObject *line_now;
static unsigned long line_thread;

static PyObject *line_at(PyObject *code, int instruction)
{
    PyObject *number = PyLong_FromLong(instruction);
    PyObject *line = number ? PyTuple_Pack(2, code, number) : NULL;
    Py_XDECREF(number);
    return line;
}

static PyObject *line_of_user(void)
{
    if (line_now && line_thread == PyThread_get_thread_ident())
        return Py_NewRef(line_now);
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame) {
        PyObject *globals = PyFrame_GetGlobals(frame);
        int ours = is_ours(globals);
        Py_DECREF(globals);
        if (!ours) {
            PyObject *code = (PyObject *)PyFrame_GetCode(frame);
            PyObject *line = line_at(code, PyFrame_GetLasti(frame));
            Py_DECREF(code);
            Py_DECREF(frame);
            return line;
        }
        PyFrameObject *back = ours < 0 ? NULL : PyFrame_GetBack(frame);
        Py_DECREF(frame);
        if (PyErr_Occurred())
            return NULL;
        frame = back;
    }
    Py_RETURN_NONE;
}

static PyObject *user_line(PyObject *module, PyObject *none) { return line_of_user(); }
