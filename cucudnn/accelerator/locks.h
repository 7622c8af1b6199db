/* A lock that a thread may take several times, as `threading.RLock`.

   Who may have it is decided by who runs, which Python's own lock says: a thread that is woken has
   to look again. With RLock the woken thread has the lock before it runs, so that two threads that
   take it often hand it to one another each time, and a call takes ten times as long. */

typedef struct {
    PyObject_HEAD unsigned long owner; /* if it is taken */
    Py_ssize_t count;                  /* how often it is taken */
    Py_ssize_t waiting;                /* threads */
    int is_open;                       /* the gate: a thread that waits is being woken */
    PyThread_type_lock gate;           /* of threads that wait; closed when it is taken */
} Lock;

static void open_gate(Lock *self)
{
    if (self->waiting && !self->is_open) {
        self->is_open = 1;
        PyThread_release_lock(self->gate);
    }
}

/* Wait until somebody gives the lock up; -1 after an error, which a signal handler may raise. */
static int wait_at_gate(Lock *self)
{
    PyLockStatus status;
    self->waiting++;
    Py_BEGIN_ALLOW_THREADS;
    status = PyThread_acquire_lock_timed(self->gate, -1, 1);
    Py_END_ALLOW_THREADS;
    self->waiting--;
    if (status == PY_LOCK_ACQUIRED)
        self->is_open = 0;
    if (status != PY_LOCK_INTR || PyErr_CheckSignals() == 0)
        return 0;
    if (!self->count) /* perhaps it was this thread that was woken */
        open_gate(self);
    return -1;
}

static int lock_take(Lock *self)
{
    unsigned long thread = PyThread_get_thread_ident();
    while (self->count && self->owner != thread)
        if (wait_at_gate(self) < 0)
            return -1;
    self->owner = thread;
    self->count++;
    return 0;
}

static int lock_give_up(Lock *self)
{
    if (!self->count || self->owner != PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "cannot release un-acquired lock");
        return -1;
    }
    if (--self->count == 0)
        open_gate(self);
    return 0;
}

static PyObject *Lock_acquire(Lock *self, PyObject *none)
{
    return lock_take(self) < 0 ? NULL : Py_NewRef(Py_True);
}

static PyObject *Lock_release(Lock *self, PyObject *none)
{
    return lock_give_up(self) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *Lock_exit(Lock *self, PyObject *const *args, Py_ssize_t count)
{
    return Lock_release(self, NULL);
}

static PyObject *Lock_is_owned(Lock *self, PyObject *none)
{
    return PyBool_FromLong(self->count && self->owner == PyThread_get_thread_ident());
}

static PyObject *Lock_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    Lock *self = (Lock *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->gate = PyThread_allocate_lock();
    if (!self->gate) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    PyThread_acquire_lock(self->gate, NOWAIT_LOCK);
    return (PyObject *)self;
}

static void Lock_dealloc(Lock *self)
{
    if (self->gate) {
        if (!self->is_open)
            PyThread_release_lock(self->gate);
        PyThread_free_lock(self->gate);
    }
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef lock_methods[] = {
    {"acquire", (PyCFunction)Lock_acquire, METH_NOARGS, NULL},
    {"release", (PyCFunction)Lock_release, METH_NOARGS, NULL},
    {"__enter__", (PyCFunction)Lock_acquire, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))Lock_exit, METH_FASTCALL, NULL},
    {"_is_owned", (PyCFunction)Lock_is_owned, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Lock_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "cucudnn.accelerator._c.Lock",
    .tp_basicsize = sizeof(Lock),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = Lock_new,
    .tp_dealloc = (destructor)Lock_dealloc,
    .tp_methods = lock_methods,
};
