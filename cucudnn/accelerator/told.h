/* What Python tells: classes with their slots, objects, and the functions of Python. */

#define MOST_SLOTS 15

typedef struct {
    PyTypeObject *type;
    Py_ssize_t at[MOST_SLOTS]; /* of the slots, in bytes */
} Class;

enum {
    N_OP,
    N_INPUTS,
    N_SHAPE,
    N_DTYPE,
    N_STRIDES,
    N_DEVICE,
    N_ATTRS,
    N_DATA,
    N_LINE,
    N_LAYOUT,
    N_SEQ,
    N_NEEDED,
    N_SHARED,
    N_LENT
};
enum { S_NODE, S_VERSION, S_EXPORTS };
enum { A_STORAGE, A_GEOMETRY, A_OFFSET, A_SCALAR, A_BASE };
enum { L_ENTRIES, L_PRUNE_AT, L_RECORDED, L_MADE, L_EVALUATED, L_RUNNING, L_NESTED };
enum { C_PENDING_NODES, C_PENDING_BYTES, C_FUSE };
enum { B_ADDRESS, B_NBYTES, B_OWNER };
enum { K_OUTPUTS, K_NODES, K_INSIDE, K_ARGUMENTS, K_SCALARS, K_CALL, K_BASE };
enum { V_SCHEDULE, V_CALLS, V_SHIFTS, V_SIZES, V_MADE };
enum { R_MEMORY, R_ARRAYS, R_NUMBERS, R_DRAWS, R_WRITTEN, R_OUTPUTS, R_TREE, R_REPLAY };
enum { Y_DEVICE, Y_PLAN, Y_ONLY };
enum { T_LAUNCHES, T_OPERATIONS };
enum { P_TEMPLATE, P_PLACES, P_LETTERS };
enum { G_KEY, G_ARRAYS, G_NODES, G_FIRST, G_PLACES, G_NUMBERS, G_OBJECTS, G_CONTAINERS };
enum { M_ADDRESS, M_MEMORY, M_HOME, M_IS_BIG };

static Class Node, Storage, Array, Log, Settings, Buffer, KernelStep, Packing, Given, Block, Loan,
    Plan, Recording, Replay, Statistics;

static const struct {
    const char *name;
    Class *class;
    const char *slots[MOST_SLOTS];
} classes[] = {
    {"Node",
     &Node,
     {"op", "inputs", "shape", "dtype", "strides", "device", "attrs", "data", "line", "layout",
      "seq", "needed", "shared", "lent"}},
    {"Storage", &Storage, {"node", "version", "exports"}},
    {"ndarray", &Array, {"_storage", "_geometry", "_offset", "_scalar", "_base"}},
    {"Log", &Log, {"entries", "prune_at", "recorded", "made", "evaluated", "running", "nested"}},
    {"Settings", &Settings, {"pending_nodes", "pending_bytes", "fuse"}},
    {"Buffer", &Buffer, {"address", "nbytes", "owner"}},
    {"KernelStep",
     &KernelStep,
     {"outputs", "nodes", "inside", "arguments", "scalars", "call", "base"}},
    {"Plan", &Plan, {"schedule", "calls", "shifts", "sizes", "made"}},
    {"Recording",
     &Recording,
     {"memory", "arrays", "numbers", "draws", "written", "outputs", "tree", "replay"}},
    {"Replay", &Replay, {"device", "plan", "only"}},
    {"Statistics", &Statistics, {"launches", "operations"}},
    {"Packing", &Packing, {"template", "places", "letters"}},
    {"Given",
     &Given,
     {"key", "arrays", "nodes", "first", "places", "numbers", "objects", "containers"}},
    {"_Block", &Block, {"address", "memory", "home", "is_big"}},
    {"_Loan", &Loan, {"block"}},
};

/* Objects that Python tells, by name. */
#define OBJECTS(each)                                                                              \
    each(ticks) each(scalar) each(update) each(view) each(layouts) /* graph */                     \
        each(settings) each(package) each(recording) each(logs)    /* lowering/log.py */           \
        each(Signature) each(absorbing) each(constant)             /* lowering/signature.py */     \
        each(no_writes) each(host_entry) each(cuda_launch) each(loans) each(end)                   \
            each(block_sizes)                            /* lowering/memory.py */                  \
        each(usual) each(careful) each(unit) each(state) /* array */                               \
        each(array) each(whole_geometry) each(Parameter) each(leaf) each(statistics) each(filled)
#define DECLARE(name) static PyObject *name;
OBJECTS(DECLARE)

static Py_ssize_t SMALL;     /* bytes */
static Py_ssize_t IMAGINARY; /* the address where geometries begin */

static const struct {
    const char *name;
    PyObject **place;
} objects[] = {
#define PLACE(name) {#name, &name},
    OBJECTS(PLACE)};

/* The functions here, and those of Python that they hand what is unusual to. */
#define FUNCTIONS(each)                                                                            \
    each(new_node) each(pending_closure) each(user_line) each(wrap) each(unary) each(binary)       \
        each(get_item) each(sign) each(settle) each(pending_by_name) each(run_kernel)              \
            each(run_usual) each(run_on_host) each(launch_on_cuda) each(given) each(run_again)     \
                each(repeat) each(take_block) each(end_loan)
#define NUMBER(name) F_##name,
enum { FUNCTIONS(NUMBER) COUNT };
#define NAME(name) #name,
static const char *const names[] = {FUNCTIONS(NAME)};
static PyObject *slow[COUNT];

/* Names of attributes. */
#define WORDS(each)                                                                                \
    each(__name__) each(has_traced) each(tracing) each(prune) each(address) each(allocate)         \
        each(run) each(free) each(pop) each(append) each(T) each(get) each(prepare) each(locked)   \
            each(name) each(__enter__) each(__exit__)
#define WORD(name) static PyObject *word_##name;
WORDS(WORD)

static PyObject *no_tuple, *no_text, *zero;

#define SLOT(object, class, slot) (*(PyObject **)((char *)(object) + (class).at[slot]))
#define NODE(object, slot) SLOT(object, Node, N_##slot)
#define IS(object, class) (Py_TYPE(object) == (class).type)

static int learn(Class *class, const char *const *slots, PyObject *type)
{
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "expected a class");
        return -1;
    }
    for (int i = 0; i < MOST_SLOTS && slots[i]; i++) {
        PyObject *member = PyObject_GetAttrString(type, slots[i]);
        if (!member)
            return -1;
        if (Py_TYPE(member) != &PyMemberDescr_Type) {
            PyErr_Format(PyExc_TypeError, "%s of %R is no slot", slots[i], type);
            Py_DECREF(member);
            return -1;
        }
        class->at[i] = ((PyMemberDescrObject *)member)->d_member->offset;
        Py_DECREF(member);
    }
    Py_INCREF(type);
    class->type = (PyTypeObject *)type;
    return 0;
}

static PyObject *other_version(const char *name)
{
    return PyErr_Format(PyExc_ImportError,
                        "cucudnn.accelerator._c was built from another version of the package: it "
                        "knows no %s; install again",
                        name);
}

/* tell(name, object): what an object of Python is, which the functions here need. */
static PyObject *tell(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *object;
    if (!PyArg_ParseTuple(args, "sO", &name, &object))
        return NULL;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(name, classes[i].name)) {
            if (learn(classes[i].class, classes[i].slots, object) < 0)
                return NULL;
            Py_RETURN_NONE;
        }
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (!strcmp(name, objects[i].name)) {
            Py_XSETREF(*objects[i].place, Py_NewRef(object));
            Py_RETURN_NONE;
        }
    if (!strcmp(name, "SMALL") || !strcmp(name, "IMAGINARY")) {
        *(*name == 'S' ? &SMALL : &IMAGINARY) = PyLong_AsSsize_t(object);
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    return other_version(name);
}
