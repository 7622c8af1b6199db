/* Where buffers begin, and numbers. */

/* Where a buffer begins, and some bytes more. */
static int put_address(PyObject *buffer, int64_t offset, int64_t *word)
{
    PyObject *address = IS(buffer, Buffer) ? Py_XNewRef(SLOT(buffer, Buffer, address))
                                           : PyObject_GetAttr(buffer, word_address);
    if (!address)
        return -1;
    *word = (int64_t)PyLong_AsUnsignedLongLongMask(address) + offset;
    Py_DECREF(address);
    return PyErr_Occurred() ? -1 : 0;
}

/* Append a number that is made for it. */
static int append_number(PyObject *parts, Py_ssize_t number)
{
    PyObject *object = PyLong_FromSsize_t(number);
    int code = object ? PyList_Append(parts, object) : -1;
    Py_XDECREF(object);
    return code;
}
