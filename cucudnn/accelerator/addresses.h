/* Where buffers begin. */

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
