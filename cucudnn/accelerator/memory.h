/* Memory of devices: lowering/memory.py, lowering/cuda.py. */

/* A lease on a block, as a buffer; NULL without an error if there is no free block. */
static PyObject *lent(PyObject *free, PyObject *nbytes)
{
    PyObject *size = PyDict_GetItemWithError(block_sizes, nbytes);
    PyObject *blocks = size ? PyDict_GetItemWithError(free, size) : NULL;
    PyObject *block = blocks ? PyObject_CallMethodNoArgs(blocks, word_pop) : NULL;
    if (!block) {
        if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_IndexError))
            PyErr_Clear();
        return NULL;
    }
    PyObject *lease = PyObject_GetAttr(SLOT(block, Block, memory), word_T);
    PyObject *address = SLOT(block, Block, address), *buffer = NULL, *loan = NULL;
    if (lease) {
        PyObject *const both[] = {lease, end};
        loan = PyObject_Vectorcall((PyObject *)Loan.type, both, 2, NULL);
    }
    if (loan) {
        SLOT(loan, Loan, block) = Py_NewRef(block);
        buffer = PyType_GenericAlloc(Buffer.type, 0);
        if (buffer && PyDict_SetItem(loans, address, loan) < 0)
            Py_CLEAR(buffer);
    }
    if (buffer) {
        PUT(buffer, Buffer, address, Py_NewRef(address));
        PUT(buffer, Buffer, nbytes, Py_NewRef(nbytes));
        PUT(buffer, Buffer, owner, Py_NewRef(lease));
    }
    Py_XDECREF(lease);
    Py_XDECREF(loan);
    Py_DECREF(block);
    return buffer;
}

static PyObject *take_block(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *free = count == 2 ? PyObject_GetAttr(args[0], word_free) : NULL;
    PyObject *buffer = free && PyDict_CheckExact(free) ? lent(free, args[1]) : NULL;
    Py_XDECREF(free);
    if (buffer || PyErr_Occurred())
        return buffer;
    return PyObject_Vectorcall(slow[F_take_block], args, count, NULL);
}

static PyObject *end_loan(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *block = count == 1 && IS(args[0], Loan) ? SLOT(args[0], Loan, block) : NULL;
    if (!block || !IS(block, Block) || SLOT(block, Block, is_big) != Py_False)
        return PyObject_Vectorcall(slow[F_end_loan], args, count, NULL);
    Py_INCREF(block);
    if (PyDict_DelItem(loans, SLOT(block, Block, address)) < 0)
        PyErr_Clear(); /* it was not there */
    PyObject *done = PyObject_CallMethodOneArg(SLOT(block, Block, home), word_append, block);
    Py_DECREF(block);
    return done;
}

static PyObject *take_from_pool(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 1 || !cuda_alloc || !PyLong_CheckExact(args[0]) || args[0] == zero)
        return PyObject_Vectorcall(slow[F_take_from_pool], args, count, NULL);
    PyObject *memory = PyObject_CallOneArg(cuda_alloc, args[0]), *buffer = NULL;
    PyObject *address = memory ? PyObject_GetAttr(memory, word_ptr) : NULL;
    if (address && (buffer = PyType_GenericAlloc(Buffer.type, 0))) {
        PUT(buffer, Buffer, address, Py_NewRef(address));
        PUT(buffer, Buffer, nbytes, Py_NewRef(args[0]));
        PUT(buffer, Buffer, owner, Py_NewRef(memory));
    }
    Py_XDECREF(address);
    Py_XDECREF(memory);
    return buffer;
}
