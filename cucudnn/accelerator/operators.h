/* The operators of two operands, and `x[key]`. */

/* Of two operands, with the words that their methods are named by. `1 / x` is Python's. */
#define REFLECTED(each)                                                                            \
    each(add, "add") each(subtract, "sub") each(multiply, "mul") each(floor_divide, "floordiv")    \
        each(remainder, "mod") each(bitwise_and, "and") each(bitwise_or, "or")                     \
            each(bitwise_xor, "xor") each(bitwise_left_shift, "lshift")                            \
                each(bitwise_right_shift, "rshift")
#define ALONE(each)                                                                                \
    each(divide, "truediv") each(equal, "eq") each(not_equal, "ne") each(less, "lt")               \
        each(less_equal, "le") each(greater, "gt") each(greater_equal, "ge")

#define DEFINE(name, word)                                                                         \
    static PyObject *op_##name;                                                                    \
    static PyObject *do_##name(PyObject *self, PyObject *other)                                    \
    {                                                                                              \
        PyObject *const args[] = {op_##name, self, other};                                         \
        return binary(NULL, args, 3);                                                              \
    }
#define DEFINE_REFLECTED(name, word)                                                               \
    static PyObject *reflected_##name(PyObject *self, PyObject *other)                             \
    {                                                                                              \
        PyObject *const args[] = {op_##name, other, self};                                         \
        return binary(NULL, args, 3);                                                              \
    }
REFLECTED(DEFINE)
REFLECTED(DEFINE_REFLECTED)
ALONE(DEFINE)

#define METHOD(method, function) {method, function, METH_O, method "($self, other, /)\n--\n\n"}
#define ROW(name, word) {#name, &op_##name, METHOD("__" word "__", do_##name)},
#define ROW_REFLECTED(name, word) {#name, &op_##name, METHOD("__r" word "__", reflected_##name)},

static struct {
    const char *name;
    PyObject **op;
    PyMethodDef method;
} operators[] = {REFLECTED(ROW) REFLECTED(ROW_REFLECTED) ALONE(ROW)};

/* operators(class, ops): put them in place of the class's. */
static PyObject *put_operators(PyObject *module, PyObject *args)
{
    PyObject *type, *ops;
    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &type, &PyDict_Type, &ops))
        return NULL;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        PyObject *op = PyDict_GetItemString(ops, operators[i].name);
        if (!op)
            return PyErr_Format(PyExc_LookupError, "there is no op %s", operators[i].name);
        *operators[i].op = Py_NewRef(op);
        PyObject *method = PyDescr_NewMethod((PyTypeObject *)type, &operators[i].method);
        int code = method ? PyObject_SetAttrString(type, operators[i].method.ml_name, method) : -1;
        Py_XDECREF(method);
        if (code < 0)
            return NULL;
    }
    if (put_attributes((PyTypeObject *)type) < 0)
        return NULL;
    PyObject *method = PyDescr_NewMethod((PyTypeObject *)type, &subscript);
    int code = method ? PyObject_SetAttrString(type, "__getitem__", method) : -1;
    Py_XDECREF(method);
    if (code < 0)
        return NULL;
    Py_RETURN_NONE;
}
