/* The functions that are called with every operation, in C.

   What they do is said in Python: each stands in for the function of the same name that is
   decorated with `accelerated`, and hands what is not the usual case to it. So nothing here is
   needed. The tape alone (tape.h) has no other text: it leaves calls for later, or out.

   Attributes of classes with slots are read and written where they lie in the object. What a slot
   holds may be replaced whenever Python runs, which is whenever an object is made (the collector
   calls finalisers) or let go: so what is used after that is held by a reference of its own. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h> /* for the fields of an array; no function of NumPy is called */

#include "told.h"
#include "nodes.h"
#include "lines.h"
#include "locks.h"
#include "handles.h"
#include "addresses.h"
#include "tape.h"
#include "steps.h"
#include "late_calls.h"
#include "exploring.h"
#include "following.h"
#include "attributes.h"
#include "views.h"
#include "recording.h"
#include "operators.h"
#include "signatures.h"
#include "launches.h"
#include "evaluation.h"
#include "replays.h"
#include "endings.h"
#include "guards.h"
#include "calls.h"
#include "memory.h"

/* stand_in(name, function): the function here of that name, which hands to the function of Python
   what it does not do. */
static PyObject *stand_in(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "sO", &name, &function))
        return NULL;
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(name, names[i])) {
            Py_XSETREF(slow[i], Py_NewRef(function));
            return PyObject_GetAttrString(module, name);
        }
    return other_version(name);
}

#define PLAIN(name) {#name, name, METH_NOARGS, NULL}
#define FAST(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
#define KEYWORDS(name)                                                                             \
    {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS, NULL}
#define ENTRY(name, kind) kind(name),

static PyMethodDef functions[] = {
    {"tell", tell, METH_VARARGS, NULL},
    {"stand_in", stand_in, METH_VARARGS, NULL},
    {"operators", put_operators, METH_VARARGS, NULL},
    FUNCTIONS(ENTRY){NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_c", NULL, -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__c(void)
{
#define INTERN(name)                                                                               \
    if (!(word_##name = PyUnicode_InternFromString(#name)))                                        \
        return NULL;
    WORDS(INTERN)
    no_text = PyUnicode_InternFromString("");
    no_tuple = PyTuple_New(0);
    zero = PyLong_FromLong(0);
    blank = PyUnicode_FromString("blank");
    if (!no_text || !no_tuple || !zero || !blank)
        return NULL;
    PyObject *module = PyType_Ready(&Lock_type) < 0 ? NULL : PyModule_Create(&definition);
    if (module && PyModule_AddObjectRef(module, "Lock", (PyObject *)&Lock_type) < 0)
        Py_CLEAR(module);
    return module;
}
