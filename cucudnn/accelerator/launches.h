/* Launches: lowering/dialect.py, lowering/host.py, lowering/cuda.py. */

#define MOST_WORDS 256

/* A number as a word; -1 if `struct` has to look at it. */
static int put_number(PyObject *number, char letter, int64_t *word)
{
    if (letter == 'q') {
        if (!PyLong_CheckExact(number) && !PyBool_Check(number))
            return -1;
        int overflow;
        *word = PyLong_AsLongLongAndOverflow(number, &overflow);
        return overflow ? -1 : 0;
    }
    if (!PyFloat_CheckExact(number))
        return -1;
    double value = PyFloat_AS_DOUBLE(number);
    if (letter == 'd') {
        memcpy(word, &value, sizeof value);
        return 0;
    }
    float narrow = (float)value;
    if (letter != 'f' || (narrow - narrow != 0 && value - value == 0)) /* too large for a float */
        return -1;
    *word = 0;
    memcpy(word, &narrow, sizeof narrow);
    return 0;
}

/* The words of a launch, as `Packing.packed`; their number, or -1 if it is unusual. */
static Py_ssize_t pack(PyObject *packing, PyObject *read, PyObject *written, PyObject *numbers,
                       int64_t *words)
{
    if (!IS(packing, Packing) || !PyList_CheckExact(read) || !PyList_CheckExact(written) ||
        !PyList_CheckExact(numbers))
        return -1;
    PyObject *template = SLOT(packing, Packing, template);
    PyObject *places = SLOT(packing, Packing, places);
    PyObject *letters = SLOT(packing, Packing, letters);
    if (!PyBytes_CheckExact(template) || !PyTuple_CheckExact(places) ||
        !PyBytes_CheckExact(letters))
        return -1;
    Py_ssize_t count = PyBytes_GET_SIZE(template) / 8, more = PyBytes_GET_SIZE(letters);
    if (count + more > MOST_WORDS || more != PyList_GET_SIZE(numbers))
        return -1;
    memcpy(words, PyBytes_AS_STRING(template), count * 8);
    for (Py_ssize_t i = 0; i + 2 < PyTuple_GET_SIZE(places); i += 3) {
        Py_ssize_t k = PyLong_AsSsize_t(PyTuple_GET_ITEM(places, i));
        Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(places, i + 1));
        int64_t offset = PyLong_AsLongLong(PyTuple_GET_ITEM(places, i + 2));
        PyObject *list = k < PyList_GET_SIZE(read) ? read : written;
        PyObject *buffer = PyList_GetItem(list, list == read ? k : k - PyList_GET_SIZE(read));
        if (!buffer || put_address(buffer, offset, words + at) < 0)
            return -1;
    }
    for (Py_ssize_t i = 0; i < more; i++)
        if (put_number(PyList_GET_ITEM(numbers, i), PyBytes_AS_STRING(letters)[i],
                       words + count + i) < 0)
            return -1;
    return count + more;
}

typedef void (*HostEntry)(void *kernel, const int64_t *words, int64_t count, int64_t grain);
typedef int (*CudaLaunch)(void *kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *stream, void **parameters, void **extra);

/* Whether machine code may be called with the settings of now. */
static int may_be_compiled(void)
{
    PyObject *now;
    if (PyContextVar_Get(settings, NULL, &now) < 0 || !now)
        return 0;
    int code = PyUnicode_CompareWithASCIIString(SLOT(now, Settings, compile), "never") != 0;
    Py_DECREF(now);
    return code;
}

/* What a slot has, if that is a pointer. */
static void *pointer_in(PyObject *number)
{
    void *pointer = number && PyLong_CheckExact(number) ? PyLong_AsVoidPtr(number) : NULL;
    if (!pointer)
        PyErr_Clear();
    return pointer;
}

/* CuPy's current stream; 0 if that cannot be told, or there are several on the device. */
static int put_stream(PyObject *device, void **stream)
{
    PyObject *streams = PyObject_GetAttr(device, word_streams);
    int one = streams == Py_None;
    Py_XDECREF(streams);
    PyObject *now = one && current_stream ? PyObject_CallNoArgs(current_stream) : NULL;
    PyObject *number = now ? PyObject_GetAttr(now, word_ptr) : NULL;
    Py_XDECREF(now);
    if (number)
        *stream = PyLong_AsVoidPtr(number);
    int code = number && !PyErr_Occurred();
    Py_XDECREF(number);
    PyErr_Clear();
    return code;
}

/* Whether a call of a kernel was launched before, and needs nothing but its words. */
static int was_launched(PyObject *call)
{
    return (IS(call, HostCall) && pointer_in(SLOT(call, HostCall, pointer))) ||
           (IS(call, CudaCall) && pointer_in(SLOT(call, CudaCall, pointer)));
}

/* Launch such a kernel: 1 if it was done, 0 if it is for Python, perhaps with an error. */
static int launch_known(PyObject *call, PyObject *read, PyObject *made, PyObject *numbers)
{
    int64_t words[MOST_WORDS];
    void *stream;
    if (IS(call, HostCall)) {
        void *kernel = pointer_in(SLOT(call, HostCall, pointer));
        if (!kernel || !host_entry || !may_be_compiled() ||
            pack(SLOT(call, HostCall, packing), read, made, numbers, words) < 0)
            return 0;
        ((HostEntry)PyLong_AsVoidPtr(host_entry))(kernel, words,
                                                  PyLong_AsLongLong(SLOT(call, HostCall, units)),
                                                  PyLong_AsLongLong(SLOT(call, HostCall, grain)));
        return 1;
    }
    if (!IS(call, CudaCall))
        return 0;
    void *kernel = pointer_in(SLOT(call, CudaCall, pointer)), *parameters[] = {words};
    if (!kernel || !cuda_launch || !put_stream(SLOT(call, CudaCall, device), &stream) ||
        pack(SLOT(call, CudaCall, packing), read, made, numbers, words) < 0)
        return 0;
    CudaLaunch launch = (CudaLaunch)PyLong_AsVoidPtr(cuda_launch);
    return !launch(kernel, (unsigned)PyLong_AsUnsignedLongMask(SLOT(call, CudaCall, blocks)), 1, 1,
                   (unsigned)PyLong_AsUnsignedLongMask(SLOT(call, CudaCall, threads)), 1, 1, 0,
                   stream, parameters, NULL);
}

/* Launch a kernel; None, or NULL after an error. */
static PyObject *launched(PyObject *call, PyObject *read, PyObject *made, PyObject *numbers)
{
    if (launch_known(call, read, made, numbers))
        Py_RETURN_NONE;
    PyErr_Clear(); /* Python meets the error again */
    PyObject *const args[] = {call, read, made, numbers};
    return PyObject_VectorcallMethod(word_run, args, 4, NULL);
}

static PyObject *run_on_host(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int64_t words[MOST_WORDS];
    if (count != 7 || !host_entry || pack(args[0], args[1], args[2], args[3], words) < 0) {
        if (PyErr_Occurred())
            return NULL;
        return PyObject_Vectorcall(slow[F_run_on_host], args, count, NULL);
    }
    HostEntry entry = (HostEntry)PyLong_AsVoidPtr(host_entry);
    void *kernel = PyLong_AsVoidPtr(args[4]);
    int64_t units = PyLong_AsLongLong(args[5]), grain = PyLong_AsLongLong(args[6]);
    if (PyErr_Occurred())
        return NULL;
    entry(kernel, words, units, grain);
    Py_RETURN_NONE;
}

static PyObject *launch_on_cuda(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int64_t words[MOST_WORDS];
    if (count != 8 || !cuda_launch || pack(args[0], args[1], args[2], args[3], words) < 0) {
        if (PyErr_Occurred())
            return NULL;
        return PyObject_Vectorcall(slow[F_launch_on_cuda], args, count, NULL);
    }
    CudaLaunch launch = (CudaLaunch)PyLong_AsVoidPtr(cuda_launch);
    void *kernel = PyLong_AsVoidPtr(args[4]), *stream = PyLong_AsVoidPtr(args[7]);
    unsigned blocks = (unsigned)PyLong_AsUnsignedLongMask(args[5]);
    unsigned threads = (unsigned)PyLong_AsUnsignedLongMask(args[6]);
    if (PyErr_Occurred())
        return NULL;
    void *parameters[] = {words}; /* by value, as one struct */
    return PyLong_FromLong(
        launch(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL));
}
